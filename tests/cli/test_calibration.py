"""`report --as reliability` and `study calibration`: what is handed on, written and said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from noted import noted, refusal, said

from equipoise.cli import calibration
from equipoise.measuring.recalibration import Splits
from equipoise.records.showing import Chart, Finding
from equipoise.runs.run import Run
from equipoise.topics.calibration import reliability_table


@pytest.fixture
def pairs(cloze_runs: tuple[Path, Path], tmp_path: Path) -> Path:
    """Return a copy of a run of labelled sentence pairs, to write into."""
    return Path(shutil.copytree(cloze_runs[0], tmp_path / "pairs"))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notes of what is drawn; each chart is a file of its name."""
    calls: list[Any] = []

    def files(charts: Any, *how: Any, **named: Any) -> list[tuple[str, bytes]]:
        several = list(charts)
        calls.append(([(chart.title, chart.topic) for chart in several], how, named))
        return [(f"{chart.topic}.png", b"png") for chart in several]

    monkeypatch.setattr("equipoise.media.paper.figure_files", files)
    return calls


def test_the_bins_of_a_run_are_printed_written_and_drawn(pairs: Path, drawn: Any) -> None:
    out, _ = said("report", pairs, "--as", "reliability", "--bins", "4")
    run = Run(pairs)
    (part,) = run.parts
    table = reliability_table(part.outcomes, by="", bins=4)
    written = pd.read_csv(pairs / "reliability.csv")
    assert len(written) == len(table) > 0 and {*table.columns, "dataset", "task"} == set(written.columns)
    assert set(written["dataset"]) == {part.dataset} and set(written["task"]) == {"cloze"}
    title = f"{run.name} on {part}"
    ((charts, how, named),) = drawn
    assert {name for name, _ in charts} == {title} and how == (("png",), "page") and named == {"title": True}
    topics = [topic for _, topic in charts]
    assert "workforce" not in topics
    lines = out.splitlines()
    assert lines[0] == title and lines[-1] == f"The bins are in {pairs}/reliability.csv"
    assert lines[-1 - len(topics) : -1] == [f"drawn: {pairs}/figures/{topic}.png" for topic in topics]
    assert {f"figures/{topic}.png" for topic in topics} <= set(Run(pairs).manifest.files)
    assert said("report", pairs, "--as", "reliability", "--quiet") == ("", "")


def test_bins_without_a_drawing_are_enough(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_drawn", lambda charts: {})
    out, _ = said("report", pairs, "--as", "reliability")
    assert out.splitlines()[-1] == f"The bins are in {pairs}/reliability.csv" and "drawn:" not in out


def test_by_is_handed_on_and_a_chart_of_the_workforce_is_called_occupations(
    pairs: Path, drawn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = noted(monkeypatch, "equipoise.topics.calibration.reliability_table", pd.DataFrame())
    monkeypatch.setattr("equipoise.topics.calibration.charts", lambda *_: [Chart("", [], "workforce")])
    out, _ = said("report", pairs, "--as", "reliability", "--by", "gender", "--bins", "7")
    assert asked[0][1] == {"by": "gender", "bins": 7} and out == f"drawn: {pairs}/figures/occupations.png\n"
    assert not (pairs / "reliability.csv").exists()


def test_a_run_without_labels_is_refused(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted(monkeypatch, "equipoise.topics.calibration.reliability_table", pd.DataFrame())
    monkeypatch.setattr("equipoise.topics.calibration.charts", lambda *_: [])
    sentence = f"{pairs} has no sentence pairs with a human label; ask for --task cloze or sentence"
    assert refusal("report", pairs, "--as", "reliability") == sentence


def test_without_matplotlib_nothing_is_drawn_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(calibration.importlib.util, "find_spec", lambda name: None)
    assert calibration._drawn([]) == {}
    assert capsys.readouterr() == ("", "no figures: matplotlib is not installed (pip install 'equipoise[figures]')\n")


def test_every_option_of_a_calibration_is_handed_on(pairs: Path, drawn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"method": ["beta"], "value": [0.5]})
    made = SimpleNamespace(maps=[{"a": 1}], table=table, warnings=["few rows", "odd rows"])
    asked = noted(monkeypatch, "equipoise.measuring.recalibration.recalibrate", made)
    maps = noted(monkeypatch, "equipoise.topics.calibration.maps_charts", [Chart("", [], "maps")])
    monkeypatch.setattr("equipoise.topics.calibration.before_and_after", lambda table: [Finding(f"{len(table)} row")])
    words = ("--method", "platt", "--method", "beta", "--splits", "7", "--seed", "3", "--by", "gender")
    out, _ = said("study", "calibration", pairs, *words)
    (((answers, chosen), _),) = asked
    assert chosen == Splits(splits=7, seed=3, by="gender", methods=("platt", "beta"))
    (answer,) = answers
    assert answer[:2] == (Run(pairs).parts[0].dataset, "cloze") and len(answer) == 3
    assert maps == [((made, Run(pairs).manifest.model, "platt"), {})]
    assert json.loads((pairs / "calibration_maps.json").read_text()) == [{"a": 1}]
    assert (pairs / "calibration_maps.json").read_text() == '[\n {\n  "a": 1\n }\n]\n'
    assert pd.read_csv(pairs / "calibration.csv").equals(table)
    assert [line for line in out.splitlines() if line] == [
        "- 1 row",
        "warning: few rows",
        "warning: odd rows",
        f"drawn: {pairs}/figures/maps.png",
        f"The table is {pairs}/calibration.csv, the maps are {pairs}/calibration_maps.json",
    ]
    assert said("study", "calibration", pairs, "--quiet") == ("", "")
    assert asked[1][0][1] == Splits() and len(drawn) == 2
    said("study", "calibration", pairs, "--quiet", "--no-figures")
    assert len(drawn) == 2
