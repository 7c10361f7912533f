"""The outcomes of a run made again from its scores: who was asked, by which tasks, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.records import RunError, RunKey
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.settings import Settings
from equipoise.verification.kept_answers import _asked, kept_answers, kept_tasks, why_without_scores


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    few = {"metrics": ["accuracy"], "by": [], "resamples": 5, "limit": 4, "task": ["next-word", "mcq"]}
    return audit("planted:noise=1", ["builtin", "gendered"], out=tmp_path_factory.mktemp("kept") / "run", **few)


def changed(run: Run, *, rows: Any = None, stranger: int = -1, **manifest: Any) -> Run:
    """Return a run whose manifest says something else, or that has these rows of its outcomes, one of a stranger."""
    other = Run(run.folder)
    other.manifest = replace(run.manifest, **manifest)
    if rows is not None:
        table = run.table("outcomes.parquet").take(rows)
        ids = table["example_id"].to_pylist()
        if stranger >= 0:
            ids[stranger] = "stranger"
        other._arrow["outcomes.parquet", ()] = table.set_column(
            table.column_names.index("example_id"), "example_id", [ids]
        )
    return other


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


KEY = RunKey("planted", "builtin", "mcq")


def test_who_was_asked(run: Run) -> None:
    every = [name for name, data in zip(run.examples["id"], run.examples["dataset"], strict=True) if data == "builtin"]
    assert ids(_asked(run, KEY)) == every and len(every) == 8
    notes = [f"2 sentences were left out: {every[2]}, {every[3]}", "another note"]
    assert ids(_asked(changed(run, notes=notes), KEY)) == [*every[:2], *every[4:]]
    assert ids(_asked(changed(run, notes=["were left out: nobody"]), KEY)) == every


def test_a_sample_was_asked_in_its_own_order(run: Run) -> None:
    outcomes = run.outcomes
    chosen = ((outcomes["dataset"] == "builtin") & (outcomes["task"] == "mcq")).to_numpy()
    drawn, others = np.flatnonzero(chosen)[::-1][:3], np.flatnonzero(~chosen)
    tasks = {**run.manifest.tasks, "mcq": {**run.manifest.tasks["mcq"], "samples": {"builtin": {}}}}
    rows = np.concatenate([others, drawn])
    sampled = changed(run, rows=rows, tasks=tasks)
    expected = list(dict.fromkeys(outcomes["example_id"].iloc[drawn]))
    assert ids(_asked(sampled, KEY)) == expected
    assert len(_asked(sampled, replace(KEY, task="next-word"))) == 8
    assert len(_asked(sampled, replace(KEY, dataset="gendered"))) >= 8
    strange = changed(run, rows=np.concatenate([rows, drawn[:1]]), stranger=len(others), tasks=tasks)
    assert ids(_asked(strange, KEY)) == [*expected[1:], expected[0]]
