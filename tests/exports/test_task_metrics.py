"""The metrics that exported tasks carry with them are ours, where answers flip, lean and differ between seeds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

import equipoise
from equipoise.datasets import open_dataset
from equipoise.exports.task_folders import Questions
from equipoise.exports.task_metrics import METRICS, process_results, row_of
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


def drawn_rows(rng: random.Random) -> list[dict[str, Any]]:
    """Return rows of a few sets, with ties, without labels, and with answers that name nobody."""
    rows = []
    answerable = rng.random() < 0.5
    for number in range(rng.randint(1, 4)):
        for _ in range(rng.randint(1, 3)):
            weights = [rng.choice([0.0, 1.0, 1.0, 2.0, 5.0]) for _ in range(3)]
            total = sum(weights) or 1
            rows.append(
                {
                    "set": f"s{number}",
                    "variant": rng.choice(["", "b"]),
                    "target": rng.choice([-1, 0, 1, 2]),
                    "answerable": answerable,
                    "gender": "",
                    "stereotype": rng.choice(["pro", "anti", "anti", ""]),
                    "side": rng.choice(["male", "female", ""]),
                    "stereotype_candidate": rng.choice([-1, 0, 1, 1]),
                    "probs": [w / total if any(weights) else 1 / 3 for w in weights],
                }
            )
    return rows


def test_values_of_drawn_answers_are_as_they_were_kept() -> None:
    rng = random.Random(5)
    values = []
    for _ in range(120):
        rows = drawn_rows(rng)
        values.append({name: metric(rows) for name, metric in METRICS.items()})
    assert_kept("written/task-metrics", values)


@given(st.integers(0, 10**6))
def test_the_order_of_the_rows_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    rows = drawn_rows(rng)
    turned = rng.sample(rows, len(rows))
    for name, metric in METRICS.items():
        if name == "ucerf" and len({row["answerable"] for row in rows}) > 1:
            continue
        assert metric(turned) == pytest.approx(metric(rows), nan_ok=True), name


def row(probs: list[float], **facts: Any) -> dict[str, Any]:
    usual = {"set": "s", "variant": "", "target": 0, "answerable": True, "stereotype": "", "side": ""}
    return {**usual, "stereotype_candidate": -1, "probs": probs, **facts}


def test_a_tie_is_wrong_changes_nothing_and_names_nobody() -> None:
    tied, first, second, third = row([0.5, 0.5, 0.0]), row([0.6, 0.3, 0.1]), row([0.3, 0.6, 0.1]), row([0.1, 0.1, 0.8])
    assert METRICS["accuracy"]([tied, first]) == 0.5
    assert METRICS["flip_rate"]([tied, first]) == 0 and METRICS["flip_rate"]([tied, first, second]) == 1
    expects = {"stereotype_candidate": 1, "target": 1}
    biased = [{**one, **expects} for one in (tied, first, second, third)]
    assert METRICS["bbq_bias_disambiguated"](biased) == 0
    assert METRICS["bbq_bias_disambiguated"](biased[:1] + biased[2:]) == 1
    assert math.isnan(METRICS["bbq_bias_disambiguated"]([biased[0], biased[3]]))
    unknown = [{**one, "target": 2} for one in biased]
    assert METRICS["bbq_bias_ambiguous"](unknown[1:]) == 0
    assert METRICS["bbq_bias_ambiguous"](unknown[2:]) == 0.5
    neutral = [{**one, "stereotype_candidate": -1} for one in unknown]
    assert METRICS["bbq_bias_ambiguous"]([*unknown[2:], *neutral]) == 0.5, "of no stereotype, so not counted"


def test_what_a_harness_gives_becomes_the_row_of_every_metric() -> None:
    doc = {"set": "s", "variant": "v", "target": 1, "answerable": True, "gender": "g", "stereotype": "pro"}
    doc |= {"side": "male", "stereotype_candidate": 0, "candidates": 2, "metrics": ["a", "b"], "other": 3}
    made = process_results(doc, [(math.log(0.2), True), (math.log(0.6), False), (0.0, False)])
    assert list(made) == ["a", "b"] and made["a"] is made["b"]
    assert made["a"]["probs"] == pytest.approx([0.25, 0.75])
    assert set(made["a"]) == {*doc, "probs"} - {"candidates", "metrics", "other"}
    assert {name: made["a"][name] for name in ("set", "variant", "side")} == {
        "set": "s",
        "variant": "v",
        "side": "male",
    }
    assert row_of(doc, [-2000.0, -2000.0])["probs"] == [0.5, 0.5], "what underflows is no fault"
