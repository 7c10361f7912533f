"""A run that a command has just written is handed on, not read again; read from its folder it is the same."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tiny import make_engine

from equipoise import audit, import_results, remeasure
from equipoise.cli import app
from equipoise.records import Outcomes
from equipoise.runs import Run
from equipoise.runs.measurements import measurements_frame
from equipoise.subset import subset_run

FEW: dict[str, Any] = {"limit": 12, "resamples": 20}
_watched: list[tuple[Path, Counter[str]]] = []


def _note_opening(event: str, arguments: tuple[Any, ...]) -> None:
    """Count the files of watched folders that are opened to be read."""
    if event != "open" or not _watched or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    path, mode = Path(os.fsdecode(arguments[0])).absolute(), arguments[1]
    for folder, reads in _watched:
        if path.is_relative_to(folder) and path.is_file() and isinstance(mode, str) and set(mode) <= set("rbt"):
            reads[path.relative_to(folder).as_posix()] += 1


sys.addaudithook(_note_opening)


@contextmanager
def reads_in(folder: Path) -> Iterator[Counter[str]]:
    """Give a count of how often each file of the folder is opened to be read."""
    reads: Counter[str] = Counter()
    _watched.append((folder.absolute(), reads))
    try:
        yield reads
    finally:
        _watched.pop()


def command(*words: str | Path) -> None:
    app([str(word) for word in words], standalone_mode=False)


def test_the_count_sees_what_is_read(tmp_path: Path) -> None:
    audit("planted", out=tmp_path / "run", **FEW)
    with reads_in(tmp_path / "run") as reads:
        run = Run(tmp_path / "run")
        assert len(run.measurements) and len(run.outcomes)
    assert reads == {"manifest.json": 1, "measurements.csv": 1, "outcomes.parquet": 1}


def test_what_a_large_audit_wrote_is_let_go_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = audit("planted:noise=1", out=tmp_path / "kept", **FEW)
    items = len(kept.outcomes)
    for most, is_held in ((items, True), (items - 1, False)):
        monkeypatch.setattr("equipoise.runs.run.MOST_HELD", most)
        for made in (
            lambda: audit("planted:noise=1", out=tmp_path / "kept", **FEW),
            lambda: remeasure(tmp_path / "kept"),
        ):
            with reads_in(tmp_path / "kept") as reads:
                run = made()
                reads.clear()
                assert run.outcomes.equals(kept.outcomes) and run.pairs.equals(kept.pairs)
                assert run.measurements.equals(kept.measurements)
            assert ("outcomes.parquet" in reads) is not is_held
            assert (run.held_outcomes("builtin", "next-word") is not None) is is_held


def test_an_audit_reads_nothing_that_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "planted:noise=1", "--limit", "12", "--resamples", "20", "--task", "next-word", "--task", "mcq"]
    with reads_in(tmp_path / "run") as reads:
        command(*words, "--out", tmp_path / "run")
    printed = capsys.readouterr().out
    assert reads == {"scores.jsonl": 1} and "report.html" in printed, "only the hash of its scores is taken"
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000
    # The same command continues: it reads its scores and, once, the manifest.
    with reads_in(tmp_path / "run") as reads:
        command(*words, "--out", tmp_path / "run", "--quiet")
    old = {"report.html": 1, "verdict.json": 1}
    assert reads == {"manifest.json": 1, "scores.jsonl": 2, **old}, "the old page is hashed and removed"


def test_texts_of_the_model_are_handed_on_too(tmp_path: Path) -> None:
    with reads_in(tmp_path / "run") as reads:
        thought = {"task": "next-word-cot", "answer_turn": "plain", "reasoning_tokens": 4}
        run = audit(make_engine(), out=tmp_path / "run", limit=3, resamples=5, **thought)
        held = list(run.texts())
    assert reads == {"scores.jsonl": 1, "reasoning.jsonl": 1} and len(held) == 6
    assert sorted(held, key=str) == sorted(Run(tmp_path / "run").texts(), key=str)


@pytest.mark.slow
def test_measuring_again_reads_each_table_once_and_a_part_of_a_run_too(tmp_path: Path) -> None:
    audit("planted", out=tmp_path / "run", **FEW)
    with reads_in(tmp_path / "run") as reads:
        command("measure", tmp_path / "run", "--estimator", "renyi", "--resamples", "20", "--quiet")
    assert reads == {"manifest.json": 1, "outcomes.parquet": 1, "examples.parquet": 1}
    with reads_in(tmp_path) as reads:
        command("measure", tmp_path / "run", "--where", "type=type2", "--out", tmp_path / "part", "--quiet")
    assert reads == {"run/manifest.json": 1, "run/outcomes.parquet": 1, "run/examples.parquet": 1}


def test_an_import_reads_nothing_that_it_wrote(tmp_path: Path) -> None:
    table = tmp_path / "theirs.csv"
    rows = [f"i{n},{c},{-1 - n % 3},{int(c == 'a')}" for n in range(20) for c in "ab"]
    table.write_text("\n".join(["item,candidate,logprob,gold", *rows]))
    with reads_in(tmp_path / "run") as reads:
        command("import", table, "--model", "m", "--out", tmp_path / "run", "--resamples", "20")
    assert reads == {}


def _imported(folder: Path) -> Run:
    table = folder / "theirs.csv"
    rows = [f"i{n},{c},{-1 - n % 3},{int(c == 'a')},g{n % 2}" for n in range(20) for c in "ab"]
    table.write_text("\n".join(["item,candidate,logprob,gold,group:g", *rows]))
    return import_results(table, model="m", out=folder / "run", resamples=20)


def _part(folder: Path) -> Run:
    audit("planted:noise=1", out=folder / "whole", **FEW)
    return subset_run(folder / "whole", ["type=type2"], out=folder / "run", resamples=20)


def _measured_again(folder: Path) -> Run:
    audit("planted:noise=1", task=["next-word", "cloze"], out=folder / "run", **FEW)
    return remeasure(folder / "run", estimators=["renyi", "perplexity"], resamples=20)


MADE: dict[str, Callable[[Path], Run]] = {
    "audit": lambda folder: audit(
        "planted:noise=1", data=["builtin", "sentiment"], task=["next-word", "mcq"], out=folder / "run", **FEW
    ),
    "precise": lambda folder: audit(
        "planted:noise=1", until_width=0.2, metrics=["accuracy"], by=[], out=folder / "run", resamples=20
    ),
    "measure": _measured_again,
    "part": _part,
    "import": _imported,
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_handed_on_is_what_would_be_read(name: str, tmp_path: Path) -> None:
    held = MADE[name](tmp_path)
    read = Run(tmp_path / "run")
    assert held.manifest == read.manifest
    for table in ("measurements", "outcomes", "pairs", "examples"):
        pd.testing.assert_frame_equal(getattr(held, table), getattr(read, table), check_exact=True)
    if "looks.csv" in held.manifest.files:
        pd.testing.assert_frame_equal(held.frame("looks.csv"), read.frame("looks.csv"), check_dtype=False)
    assert [str(part) for part in held.parts] == [str(part) for part in read.parts]
    for ours, theirs in zip(held.parts, read.parts, strict=True):
        pd.testing.assert_frame_equal(measurements_frame(ours.measured), measurements_frame(theirs.measured))
        _assert_equal(ours.outcomes, theirs.outcomes)
    assert [key for key, _ in held.answers()] == [key for key, _ in read.answers()]


def _assert_equal(left: Outcomes, right: Outcomes) -> None:
    for field in fields(Outcomes):
        ours, theirs = getattr(left, field.name), getattr(right, field.name)
        if isinstance(ours, dict) or field.name in ("groups", "reductions"):
            assert list(ours) == list(theirs), field.name
            for key in ours:
                np.testing.assert_array_equal(ours[key], theirs[key])
        elif isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert repr(ours) == repr(theirs), field.name
