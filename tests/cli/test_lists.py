"""`equipoise list metrics`: a list that fits the terminal."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from noted import said
from plug_in import write_plug_in

from equipoise import runs
from equipoise.catalog import names, summary
from equipoise.scoring.opening import list_engines
from equipoise.tasks import TASKS

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_the_metrics_are_listed(forked: Command, tmp_path: Path) -> None:
    lines = forked("list", "metrics", cwd=tmp_path).stdout.splitlines()
    assert lines[0].split()[:2] == ["metric", "better"]
    assert {"ucerf", "eo_sum", "accuracy_gap"} <= {line.split()[0] for line in lines[1:]}


def test_no_metric_is_broken_in_a_narrow_terminal(forked: Command, tmp_path: Path) -> None:
    wide = forked("list", "metrics", cwd=tmp_path).stdout.splitlines()[1:]
    lines = forked("list", "metrics", cwd=tmp_path, COLUMNS="80").stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [line.split()[0] for line in wide]
    assert max(map(len, lines)) <= 80


def test_everything_that_can_be_named_is_listed() -> None:
    engines, tasks = said("list", "engines")[0].splitlines(), said("list", "tasks")[0].splitlines()
    assert [line.split()[0] for line in engines[1:]] == [f"{scheme}:" for scheme, _ in list_engines()]
    assert engines[0].split() == ["engine", "what", "it", "is"] and tasks[0].split() == ["task", "what", "it", "asks"]
    assert [line.split()[0] for line in tasks[1:]] == list(names(TASKS, kind="task"))
    assert all(summary(line.split()[0], TASKS, kind="task").split()[-1] in line for line in tasks[1:])


def test_a_metric_that_cannot_be_loaded_is_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plug_in(tmp_path, "equipoise-lost", "[equipoise.metrics]\nlost = equipoise_no_such_module:LOST\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    listed = said("list", "metrics")[0]
    assert "ucerf" in listed and "No module named 'equipoise_no_such_module'" in " ".join(listed.split())
    assert [line.split()[0] for line in listed.splitlines()[-4:] if line[0] != " "][-1] == "lost"


def test_the_schema_is_printed_as_it_is() -> None:
    file = Path(runs.__file__).with_name("measurements.schema.json")
    assert said("list", "schema")[0] == file.read_text(encoding="utf-8")
    assert said("list")[0].startswith("Usage: ")
