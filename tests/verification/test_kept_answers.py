"""The outcomes of a run made again from its scores: who was asked, by which tasks, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from equipoise.records import RunError
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.settings import Settings
from equipoise.verification.kept_answers import _asked, kept_answers, kept_tasks, why_without_scores


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    few = {"metrics": ["accuracy"], "by": [], "resamples": 5, "limit": 4, "task": ["next-word", "mcq"]}
    return audit("planted:noise=1", ["builtin", "gendered"], out=tmp_path_factory.mktemp("kept") / "run", **few)


def changed(run: Run, *, outcomes: pd.DataFrame | None = None, **manifest: Any) -> Any:
    """Return a run whose manifest or outcomes say something else."""
    facts = {name: getattr(run.manifest, name) for name in ("model", "engine", "tasks", "settings", "notes")}
    return SimpleNamespace(
        manifest=SimpleNamespace(**{**facts, **manifest}),
        examples=run.examples,
        outcomes=run.outcomes if outcomes is None else outcomes,
        folder=run.folder,
    )


def test_outcomes_come_out_again_part_by_part(run: Run) -> None:
    again = dict(kept_answers(run))
    assert {(key.dataset, key.task) for key in again} == {
        (data, task) for data in ("builtin", "gendered") for task in ("next-word", "mcq")
    }
    for key, outcomes in run.answers():
        assert np.array_equal(again[key].logprobs, outcomes.logprobs)
        assert list(again[key].example_id) == list(outcomes.example_id)


@pytest.mark.parametrize(
    ("engine", "reason"),
    [({}, ""), ({"scores": "none: of another tool"}, "of another tool"), ({"scores": "kept: all"}, "")],
)
def test_why_a_run_has_no_scores(run: Run, engine: Mapping[str, str], reason: str) -> None:
    assert why_without_scores(changed(run, engine=engine)) == reason


def test_a_run_that_does_not_say_whose_scores_it_has_is_refused(run: Run) -> None:
    for engine in ({}, {"identity": []}):
        with pytest.raises(RunError, match=r"^the manifest does not say what its scores belong to; run its audit"):
            list(kept_answers(changed(run, engine=engine)))


def test_a_task_that_is_not_known_is_named(run: Run) -> None:
    tasks = {"mcq": {}, "mind-reading": {}, "next-word": {}, "guessing": {}}
    with pytest.raises(RunError, match=r"^the task mind-reading is unknown here$"):
        kept_tasks(changed(run, tasks=tasks))
    assert list(kept_tasks(changed(run, tasks={"mcq": {}}))) == ["mcq"]
    assert list(kept_tasks(run)) == ["next-word", "mcq"]
    with pytest.raises(RunError, match=r"^the outcomes have a task next-word, the manifest has not$"):
        list(kept_answers(changed(run, tasks={"mcq": {}})))


@pytest.mark.parametrize("name", ["shots", "wordings"])
def test_files_that_are_not_here_are_named(run: Run, name: str, tmp_path: Path) -> None:
    settings = {**run.manifest.settings, name: str(tmp_path)}
    with pytest.raises(RunError, match=r"^the run was asked with .*, which is not a file here$"):
        kept_tasks(changed(run, settings=settings))
    built_in = {**run.manifest.settings, "wordings": "built-in"}
    assert Settings.again(built_in).wordings == "built-in"
    assert list(kept_tasks(changed(run, settings=built_in))) == ["next-word", "mcq"]


def ids(examples: Any) -> list[str]:
    return [example.id for example in examples]


def test_who_was_asked(run: Run) -> None:
    every = [name for name, data in zip(run.examples["id"], run.examples["dataset"], strict=True) if data == "builtin"]
    assert ids(_asked(run, "builtin", "mcq")) == every and len(every) == 8
    notes = [f"2 sentences were left out: {every[2]}, {every[3]}", "another note"]
    assert ids(_asked(changed(run, notes=notes), "builtin", "mcq")) == [*every[:2], *every[4:]]
    assert ids(_asked(changed(run, notes=["were left out: nobody"]), "builtin", "mcq")) == every


def test_a_sample_was_asked_in_its_own_order(run: Run) -> None:
    outcomes = run.outcomes
    chosen = (outcomes["dataset"] == "builtin") & (outcomes["task"] == "mcq")
    drawn = outcomes[chosen][::-1].iloc[:3]
    others = outcomes[(outcomes["dataset"] == "gendered") | (outcomes["task"] == "next-word")]
    tasks = {**run.manifest.tasks, "mcq": {**run.manifest.tasks["mcq"], "samples": {"builtin": {}}}}
    sampled = changed(run, outcomes=pd.concat([others, drawn]), tasks=tasks)
    assert ids(_asked(sampled, "builtin", "mcq")) == list(dict.fromkeys(drawn["example_id"]))
    assert len(_asked(sampled, "builtin", "next-word")) == 8 and len(_asked(sampled, "gendered", "mcq")) >= 8
    strange = pd.concat([others, drawn.assign(example_id="stranger"), drawn])
    assert ids(_asked(changed(run, outcomes=strange, tasks=tasks), "builtin", "mcq")) == list(drawn["example_id"])
