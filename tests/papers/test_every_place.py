"""Every cell of every table of the papers is of its own model, data and task: no two planted numbers are alike."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

import equipoise
from equipoise.papers.experiments import PAPERS
from equipoise.papers.published import Published, published
from equipoise.papers.tables import NOTHING, paper_tables
from equipoise.records import Estimate, Measurement, group_label
from equipoise.runs import Run
from equipoise.runs.folder import RunFolder
from equipoise.runs.measurements import measurements_frame
from equipoise.runs.run import Part

MODELS = ("first", "second")
FROM_ITEMS = ("tpr", "tpd")
"""What is counted from the items of nurses and physicians: tests/reference/test_ucerf_worked_examples.py."""


def group_of(number: Published) -> str:
    """Return the group of a printed number as `measurements.csv` names it."""
    if number.dataset == "bbq":
        return group_label({"category": number.attribute})
    gender = "predicted_gender" if number.paper == "gender-ece" else "gender"
    parts = {"type": number.type, "augmentation": number.augmentation, "attribute": number.attribute}
    return group_label({name: value for name, value in {**parts, gender: number.gender}.items() if value})


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[tuple[str, str, str], Part], dict[str, str]]:
    """Return a run of two models for each data and task of the papers, and what each cell must show, by its address."""
    folder, numbers = tmp_path_factory.mktemp("runs"), count(1)
    choices = {"limit": 2, "resamples": 2, "progress": False, "metrics": ["accuracy"]}
    source = equipoise.audit("planted", out=folder / "source", **choices)
    tables = {name: source.frame(name) for name in ("outcomes.parquet", "pairs.parquet", "examples.parquet")}
    known = [number for number in published() if number.metric not in FROM_ITEMS]
    parts, shown = {}, {}
    for model in MODELS:
        for data, task in dict.fromkeys((number.dataset, number.task) for number in known):
            rows = {}
            for number in known:
                if (number.dataset, number.task) == (data, task) and (number.metric, group_of(number)) not in rows:
                    n = next(numbers)
                    value = Estimate(n / 1000, n / 1000 - 0.001, n / 1000 + 0.001, 0.95, n, "planted")
                    row = Measurement(
                        number.metric, "planted", "builtin", "next-word", group_of(number), value, "neither"
                    )
                    rows[number.metric, group_of(number)] = row
                    text = f"{n / 1000:.3f} [{n / 1000 - 0.001:.3f}, {n / 1000 + 0.001:.3f}] (n = {n:,})"
                    shown[json.dumps([model, data, task, number.metric, group_of(number)])] = text
            here = RunFolder(folder / f"{model}-{data}-{task}")
            here.path.mkdir()
            with here.held():
                here.begin(source.manifest)
                here.commit({**tables, "measurements.csv": measurements_frame(rows.values())}, source.manifest)
            parts[model, data, task] = Run(here.path, name=model).parts[0]
    return parts, shown


@pytest.mark.parametrize(("paper", "place"), [(name, place) for name in PAPERS for place in PAPERS[name].places])
def test_every_cell_is_of_its_own_model_data_and_task(paper: str, place: str, planted, tmp_path: Path) -> None:
    parts, shown = planted
    (table,) = [t for t in paper_tables(PAPERS[paper], parts) if t.name == f"{paper}-{place}".lower()]
    printed = [number for number in published() if (number.paper, number.place) == (paper, place)]
    cells = list(dict.fromkeys(number.cell for number in printed))
    assert len(cells) == len(table.rows)
    first = {number.cell: number for number in reversed(printed)}
    checked = 0
    for cell, row in zip(cells, table.rows, strict=True):
        number = first[cell]
        for model in MODELS:
            value = row[table.columns.index(f"here: {model}")]
            if number.metric not in FROM_ITEMS:
                assert value == shown[json.dumps([model, number.dataset, number.task, number.metric, group_of(number)])]
                checked += 1
        for name in dict.fromkeys(n.model for n in printed):
            texts = [n.printed for n in printed if n.cell == cell and n.model == name]
            assert row[table.columns.index(f"paper: {name}")].rstrip("†") in ([texts[0]] if texts else [NOTHING])
    assert checked or place == "Fig. 5"
