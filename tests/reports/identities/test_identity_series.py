"""Every picture of identities is of one run, dataset and task: planted runs with different values, side by side."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from planted_identities import PlantedIdentities

import equipoise
from equipoise.reports.identities import views
from equipoise.reports.identities.charts import heatmap_chart, lines_chart
from equipoise.reports.identities.figures import disparity_table, draw, heatmap, lines
from equipoise.reports.identities.radars.figures import places, radar, shared_scale
from equipoise.reports.identities.section import identities
from equipoise.runs import Run
from equipoise.runs.folder import RunFolder

CHOICES = {
    "base": "builtin",
    "limit": 30,
    "attributes": ["age", "non-demographic"],
    "augment": ["R"],
    "resamples": 30,
    "metrics": ["confidence"],
    "progress": False,
}
PENALTIES = {"strict": 0.30, "mild": 0.10}
COT = "next-word-cot"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs of equal name and different penalties, and one with both as two tasks."""
    folder = tmp_path_factory.mktemp("runs")
    for name, penalty in PENALTIES.items():
        # Some neutral markers lose 0.4, for he and she alike: max - min is large, the gap of he and she is 0.05.
        penalties = {"old": penalty, "focused": 0.4}
        engine = PlantedIdentities(confidence=0.4, penalties=penalties, genders={"female": 0.05})
        equipoise.audit(engine, "winoidentity", out=folder / name, **CHOICES)
    first, second = Run(folder / "strict"), Run(folder / "mild")
    both = RunFolder(folder / "both")
    shutil.copytree(first.path, both.path)
    tables = {
        name: pd.concat([first.frame(name), second.frame(name).assign(task=COT)], ignore_index=True)
        for name in ("outcomes.parquet", "pairs.parquet", "measurements.csv")
    }
    with both.held():
        manifest = both.manifest()
        both.commit(tables, replace(manifest, tasks={**manifest.tasks, COT: {}}))
    return folder


def _old(penalty: float) -> float:
    return 0.4 - penalty


@pytest.mark.parametrize("names", [("strict", "mild"), ("both",)])
def test_each_series_has_its_own_values(folder: Path, names: tuple[str, ...]) -> None:
    frames = views.series([Run(folder / name) for name in names])
    assert len(frames) == 2
    for (name, frame), penalty in zip(frames.items(), PENALTIES.values(), strict=True):
        figure = heatmap(frame, "type2", "R", name)
        assert figure.axes[0].get_title().startswith(name)
        labels = [text.get_text() for text in figure.axes[0].texts]
        (image,) = figure.axes[0].get_images()
        row = np.asarray(image.get_array())[labels.index("old masc")]
        assert np.nanmean(row) == pytest.approx(_old(penalty), abs=1e-6)
    ages = next(axes for axes in radar(frames, "type2", "R").axes if axes.get_title() == "age")
    every = list(views.radars(frames, "type2", "R"))
    (view,) = [view for view in every if view.attribute == "age"]
    rim = [spoke.words for spoke in view.rim]
    for line, penalty in zip(ages.get_lines()[: len(frames)], PENALTIES.values(), strict=True):
        (expected,) = np.hypot(*places([_old(penalty)], shared_scale(every, "type2")))
        drawn = np.hypot(*(values[rim.index(("masc:", "old"))] for values in line.get_data()))
        assert drawn == pytest.approx(expected)
    assert [line.get_label() for line in ages.get_lines()[: len(frames)]] == list(frames)
    axes = next(axes for axes in lines(frames, "type2").axes if axes.get_title() == "age")
    assert {round(float(line.get_ydata()[-1]), 6) for line in axes.get_lines() if len(line.get_ydata()) == 2} >= {
        round(_old(penalty), 6) for penalty in PENALTIES.values()
    }


def test_runs_and_tasks_are_named_apart(folder: Path) -> None:
    runs = [Run(folder / name) for name in ("strict", "mild")]
    assert list(views.series(runs)) == ["planted-identities (strict)", "planted-identities (mild)"]
    assert list(views.series([Run(folder / "both")])) == [
        "planted-identities · next-word",
        f"planted-identities · {COT}",
    ]
    files = {path.name for path in draw([Run(folder / "both")], folder / "figures", suffix="svg")}
    assert {f"heatmap-type2-R-planted-identities-{task}.svg" for task in ("next-word", COT)} <= files


def test_the_table_has_each_series_in_its_column_and_the_gap_of_he_and_she_for_neutral_markers(folder: Path) -> None:
    frames = views.series([Run(folder / "both")])
    (table,) = disparity_table(frames).axes[0].tables
    cells = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}
    names = {text: row for (row, column), text in cells.items() if column == -1}
    heads = {text: column for (row, column), text in cells.items() if row == 0}
    for task, penalty in (("next-word", 0.30), (COT, 0.10)):
        column = heads[f"planted-identities · {task}\ntype2"]
        assert float(cells[names["R · age"], column]) == pytest.approx(penalty + 0.05, abs=0.001)
        assert float(cells[names["R · non-demographic (mean of |he - she|)"], column]) == pytest.approx(0.05, abs=0.001)


def test_neutral_markers_come_last_with_their_gap_in_every_table(folder: Path) -> None:
    frame = Run(folder / "strict").parts[0].identities
    rows = list(views.disparities(frame[(frame["type"] == "type2") & (frame["augmentation"] == "R")]))
    assert [row.attribute for row in rows] == ["age", "non-demographic (mean of |he - she|)"]
    assert rows[-1].cells["confidence"].value == pytest.approx(0.05, abs=0.001) and not rows[-1].p


def test_a_heatmap_of_two_tasks_is_refused(folder: Path) -> None:
    both = pd.concat(views.series([Run(folder / "both")]).values())
    with pytest.raises(ValueError, match="of one run, dataset and task"):
        views.heat_table(both, "type2", "R")


def test_radars_and_heatmaps_of_the_page_are_of_their_own_task(folder: Path) -> None:
    run = Run(folder / "both")
    section = identities(run)
    assert section is not None
    chunks = {text.split("<", 1)[0]: text for text in str(section.body).split("<h3>")[1:]}
    for part, penalty in zip(run.parts, PENALTIES.values(), strict=True):
        (chunk,) = [text for title, text in chunks.items() if title.startswith(f"{part}, resolvable")]
        (radar,) = re.findall(r"masc: old (-?[0-9.]+)\.</desc>", chunk)
        (change,) = re.findall(r"old (-[0-9.]+), young \+0\.000\.</desc>", chunk)
        assert float(radar) == pytest.approx(_old(penalty)) and float(change) == pytest.approx(-penalty)
        chart = heatmap_chart(views.heat_table(part.identities, "type2", "R"), "Confidence")
        cells = str(chart).split("</desc>", 1)[1]
        assert cells in chunk


def test_lines_of_the_page_are_of_their_own_run(folder: Path) -> None:
    for name, penalty in PENALTIES.items():
        frame = Run(folder / name).parts[0].identities
        view = next(view for view in views.lines({name: frame}, "type2") if view.attribute == "age")
        chart = str(lines_chart(view, (-1.0, 1.0)))
        others = [f"{_old(other):.3f} [" for other in PENALTIES.values() if other != penalty]
        assert f"{_old(penalty):.3f} [" in chart and not any(text in chart for text in others)
