"""The metrics that exported tasks carry with them are ours, where answers flip, lean and differ between seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.exports.task_folders import Questions
from equipoise.exports.task_metrics import METRICS, row_of
from equipoise.tasks import TaskOptions, open_task

LIMITS = {"builtin": 24, "bbq:Religion": 1}
EXACT = 1e-9


@pytest.mark.parametrize(("data", "task"), [("builtin", "next-word"), ("builtin", "mcq"), ("bbq:Religion", "mcq")])
def test_they_agree_with_the_metrics_of_a_run(
    data: str, task: str, real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    if data != "builtin":
        real_data("bbq")
    dataset = open_dataset(data).limited(LIMITS[data])
    engine = "planted:strength=0.4,bias=1,noise=1.5"
    run = equipoise.audit(engine, data=[dataset], task=task, orders=3, resamples=5, by=[], out=tmp_path)
    options = TaskOptions(seeds=(0, 1, 2))
    outcomes = run.parts[0].outcomes
    answers = dict(zip(zip(outcomes.example_id, outcomes.variant, strict=True), outcomes.logprobs, strict=True))
    values = {}
    for part in Questions.of(dataset, open_task(task, options), options).parts:
        rows = []
        for document in part.documents:
            record = {**document.record(), "candidates": len(document.prompt.continuations)}
            rows.append(row_of(record, answers[document.example.id, document.prompt.variant].tolist()))
        kind = part.documents[0].example.groups["type"]
        for name in part.metrics:
            ours = run.parts[0].measured.get(name, type=kind)
            assert ours is not None, name
            values[name, kind] = METRICS[name](rows)
            assert values[name, kind] == pytest.approx(ours.value, abs=EXACT), (name, kind)
    # A metric that is 0 everywhere would agree by accident.
    assert all(any(values[key] for key in values if key[0] == name) for name in {key[0] for key in values})
