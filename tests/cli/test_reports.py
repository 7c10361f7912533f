"""`equipoise compare` and `gate` on calibration; tests/reports has the other metrics that they take."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from noted import noted, refusal, said

from equipoise.comparing.comparison import Choices
from equipoise.options import PlanOptions
from equipoise.papers.published import published_values
from equipoise.records import EquipoiseError
from equipoise.verdict.gate import Check

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
    printed = forked("gate", "far", *words, cwd=cloze_runs).stdout
    assert f" {drop:.4f} [" in printed and "Only the value was tested." in printed


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the notes of what a comparison is made of; runs are their folders."""
    notes = {}
    gives = {"comparing.datasets.between_datasets": "moved", "comparing.seen.seen_before": "tests"}
    gives |= {"report.comparison_page": "page", "report.comparison_text": "text", "report.datasets_page": "page"}
    gives |= {"report.datasets_text": "text of datasets", "report.write_page": None}
    gives |= {"comparing.comparison.compare": "made"}
    gives |= {"comparing.seen.new_and_published": None}
    for name, value in gives.items():
        notes[name] = noted(monkeypatch, f"equipoise.{name}", value)
    monkeypatch.setattr("equipoise.runs.run.Run", lambda folder: folder)
    return notes


def test_every_option_of_compare_is_handed_on(made: dict[str, Any]) -> None:
    words = ("--out", "o.html", "--intersect", "--where", "a=b", "--metric", "ece", "--correction", "bh", "--seed", "3")
    out, _ = said("compare", "a", "b", *words, "--permutations", "7", "--resamples", "9", "--against", "ucerf-paper")
    chosen = {"intersect": True, "correction": "bh", "permutations": 7, "resamples": 9, "seed": 3, "where": ("a=b",)}
    choices = Choices(**chosen, data=(), metrics=("ece",), alone=True)
    assert made["comparing.comparison.compare"] == [(([Path("a"), Path("b")], choices), {})]
    published = published_values("ucerf")
    assert made["report.comparison_page"] == [(("made", published), {})]
    assert made["report.write_page"] == [((Path("o.html"), "page"), {})]
    assert out == "text\nTo look at the comparison, open o.html in a browser.\n"
    assert made["comparing.seen.new_and_published"] == [(([Path("a"), Path("b")], ()), {})]
    assert said("compare", "a", "b", "--quiet") == ("", "")
    usual = {"intersect": False, "correction": "holm", "permutations": None, "resamples": PlanOptions.resamples}
    assert made["comparing.comparison.compare"][1][0][1] == Choices(**usual, seed=0, where=(), data=(), alone=False)
    assert made["report.write_page"][1] == ((Path("compare.html"), "page"), {})


def test_datasets_of_different_sentences_are_compared_as_such(made: dict[str, Any]) -> None:
    words = ("--data", "winobias", "--data", "synthbias", "--metric", "ece", "--correction", "bh")
    out, _ = said("compare", "a", *words, "--out", "o.html")
    apart = ("winobias", "synthbias")
    assert made["comparing.datasets.between_datasets"] == [
        (([Path("a")], apart), {"metrics": ["ece"], "correction": "bh"})
    ]
    assert made["comparing.seen.seen_before"] == [(([Path("a")], apart), {})]
    assert made["report.datasets_page"] == [(("moved", [Path("a")], "tests"), {})]
    assert made["report.write_page"] == [((Path("o.html"), "page"), {})] and made["comparing.comparison.compare"] == []
    assert out == "text of datasets\nTo look at the comparison, open o.html in a browser.\n"
    assert said("compare", "a", *words, "--quiet") == ("", "")
    said("compare", "a", *words[:4], "--quiet")
    assert made["comparing.datasets.between_datasets"][2][1] == {"metrics": (), "correction": "holm"}


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the notes of a gate that passes."""
    checks = [Check("a", "w", "low", 1, ">=", 0, "passed", of="b")]
    gives = {"gate": checks, "junit": b"xml", "warnings": ["odd"]}
    notes = {name: noted(monkeypatch, f"equipoise.verdict.gate.{name}", value) for name, value in gives.items()}
    return notes | {"end": noted(monkeypatch, "equipoise.cli.reports.end_gate")}


def test_every_option_of_a_gate_is_handed_on(checked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text('[gate]\nrequire = ["ucerf >= 0.8"]\n')
    words = ("--require", "ece <= 0.1", "--config", tmp_path / "g.toml", "--baseline", "old")
    more = (
        "--max-drop",
        "ucerf=0.02",
        "--test-at",
        "low",
        "--undecided",
        "pass",
        "--insist",
        "--junit",
        tmp_path / "out.xml",
    )
    out, err = said("gate", "run", *words, *more)
    named = {"undecided": "pass", "insist": True, "baseline": Path("old"), "max_drop": ["ucerf=0.02"], "test_at": "low"}
    assert checked["gate"] == [((Path("run"), ["ece <= 0.1", "ucerf >= 0.8"]), named)]
    ((checks, name), _) = checked["junit"][0]
    assert checks[0].requirement == "a" and name == "run" and (tmp_path / "out.xml").read_bytes() == b"xml"
    assert checked["warnings"] == [((Path("run"), ["ece <= 0.1"]), {})] and err == "warning: odd\n"
    assert checked["end"] == [((checks,), {"quiet": False})]
    assert [line.split() for line in out.splitlines()] == [["b"], ["required", "value"], ["passed", "a", "–"]]
    assert said("gate", "run", "--quiet")[0] == ""
    usual = {"undecided": "fail", "insist": False, "baseline": None, "max_drop": [], "test_at": "cautious"}
    assert checked["gate"][1] == ((Path("run"), []), usual) and checked["end"][1][1] == {"quiet": True}


def test_a_gate_that_cannot_be_checked_leaves_no_green_file(
    checked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(monkeypatch, "equipoise.verdict.gate.gate", EquipoiseError("no such metric"))
    wrote = noted(monkeypatch, "equipoise.verdict.gate.junit_error", b"error")
    assert refusal("gate", "run") == "no such metric" and wrote == []
    assert refusal("gate", "run", "--junit", tmp_path / "out.xml") == "no such metric"
    assert wrote == [(("no such metric", "run"), {})] and (tmp_path / "out.xml").read_bytes() == b"error"
