"""`equipoise compare` and `gate` on calibration; tests/reports has the other metrics that they take."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
QUICK = ("--permutations", "40", "--resamples", "40")


def value_of(run: Path, metric: str, group: str) -> float:
    table = pd.read_csv(run / "measurements.csv").set_index(["metric", "group"])
    return float(table.loc[(metric, group), "value"])


@pytest.fixture(scope="module")
def cloze_runs(forked: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs on the same labelled sentence pairs, `far` from calibrated and `close` to it."""
    folder = tmp_path_factory.mktemp("cloze")
    jobs = ("nurse", "carpenter", "teacher", "mechanic", "librarian")
    starts = [f"On day {number} the {job} came and" for job in jobs for number in range(8)]
    rows = [f"{start} he slept.,{start} she slept.,{number * 7 % 10 < 6:d}" for number, start in enumerate(starts)]
    (folder / "pairs.csv").write_text("\n".join(["sent_more,sent_less,y", *rows]))
    for name, model in (("far", "planted:bias=0,noise=3"), ("close", "planted:bias=3,noise=0.5")):
        words = ("--data", "pairs.csv", "--task", "cloze", "--resamples", "40", "--out", name, "--no-html", "-q")
        ran = forked("audit", model, *words, cwd=folder)
        assert ran.returncode == 0, ran.stderr
    return folder


def test_calibration_is_compared(forked: Command, cloze_runs: Path) -> None:
    result = forked("compare", "far", "close", "--metric", "ece", *QUICK, cwd=cloze_runs)
    assert (result.returncode, result.stderr) == (0, "")
    difference = value_of(cloze_runs / "far", "ece", "all") - value_of(cloze_runs / "close", "ece", "all")
    assert re.search(rf"^ece ↓ +{re.escape(f'{difference:+.3f}')} \[.+, .+\] +40 +0\.\d", result.stdout, re.MULTILINE)
    assert "planted (far) − planted (close) on" in result.stdout and "1 of 1 differences hold" in result.stdout
    assert f"{abs(difference):.3f}" in (cloze_runs / "compare.html").read_text(encoding="utf-8")


def test_a_metric_that_was_asked_for_is_shown_with_its_interval_and_n_even_if_it_does_not_differ(
    forked: Command, cloze_runs: Path
) -> None:
    result = forked("compare", "far", "close", "--metric", "brier_uncertainty", *QUICK, cwd=cloze_runs)
    (row,) = [line.split() for line in result.stdout.splitlines() if line.startswith("brier_uncertainty ")]
    assert row[1] == "+0.000" and row[2].startswith("[-") and row[4:] == ["40", "1.0000"]
    assert "0 of 1 differences hold" in result.stdout
    everything = forked("compare", "far", "close", *QUICK, cwd=cloze_runs).stdout
    assert "brier_uncertainty" not in everything and "differences hold" in everything


@pytest.mark.slow
def test_a_drop_in_calibration_fails_the_gate(forked: Command, cloze_runs: Path) -> None:
    worse = forked("gate", "far", "--baseline", "close", "--max-drop", "ece=0.02", cwd=cloze_runs)
    assert worse.returncode == 1 and "FAILED  drop of ece=0.02" in worse.stdout
    better = forked("gate", "close", "--baseline", "far", "--max-drop", "ece=0.02", cwd=cloze_runs)
    assert better.returncode == 0 and "1 of 1 requirements passed" in better.stdout
    drop = value_of(cloze_runs / "far", "ece", "all") - value_of(cloze_runs / "close", "ece", "all")
    words = ("--baseline", "close", "--max-drop", "ece=0.9", "--test-at", "value")
    assert f"value {drop:.4f}" in forked("gate", "far", *words, cwd=cloze_runs).stdout
