"""`equipoise list metrics`: a list that fits the terminal."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

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
