"""A paper's tables hold the numbers of their own run, task and model: planted runs side by side."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept, outline
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.media.cells import NOTHING, estimate_of, words
from equipoise.papers import tables
from equipoise.papers.experiments import PAPERS, UCERF
from equipoise.papers.published import Published, published
from equipoise.papers.tables import _case_study, _ordinal, _ranked_by, paper_tables, parts_of, write_tables
from equipoise.records import EquipoiseError, Estimate, Measurement, group_label
from equipoise.records.showing import Cell, Content, Table
from equipoise.runs import Run
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import name_in_suite
from equipoise.runs.measurements import measurements_frame
from equipoise.runs.run import Part
from equipoise.scoring.planted import open_planted
from equipoise.topics.published import DOUBTFUL

QUICK = {"resamples": 30, "limit": 30, "progress": False, "metrics": ["ucerf", "accuracy", "confidence", "perplexity"]}


def table(paper: str, place: str, parts: dict[tuple[str, str, str], Part]) -> list[dict[str, str]]:
    (chosen,) = [t for t in paper_tables(PAPERS[paper], parts) if t.name == f"{paper}-{place}".lower()]
    return texts(chosen)


def texts(table: Table) -> list[dict[str, str]]:
    """Return the rows of a table as texts by column, values with their n."""
    return [
        {column.title: with_n(cell) for column, cell in zip(table.columns, row.cells, strict=True)}
        for row in table.rows
    ]


def with_n(cell: Content) -> str:
    estimate = estimate_of(cell)
    return words(cell) + (f" (n = {estimate.n:,})" if estimate else "")


RANK = re.compile(r" (\d+(st|nd|rd|th)|\(\d+(–\d+)?\))(?= \(n|$)")


def unranked(text: str) -> str:
    """Return a cell without the rank after its value."""
    return RANK.sub("", text)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Part]:
    """Return runs of two planted models as two tasks each, all with different UCerF, under WinoBias's name."""
    folder = tmp_path_factory.mktemp("runs")
    parts = {}
    for number, (model, task) in enumerate((m, t) for m in ("first", "second") for t in ("next-word", "mcq")):
        engine = f"planted:strength={1 + number},bias={0.5 + 0.5 * number}"
        run = equipoise.audit(engine, task=task, out=folder / f"{model}-{task}", **QUICK)
        parts[model, "winobias", task] = run.parts[0]
    return parts


def test_each_cell_is_of_its_own_model_and_task(parts: dict[tuple[str, str, str], Part]) -> None:
    values = set()
    for place, task in (("Table 4", "next-word"), ("Table 5", "mcq")):
        (row,) = [r for r in table("ucerf", place, parts) if (r["type"], r["metric"]) == ("type2", "ucerf")]
        for model in ("first", "second"):
            measured = parts[model, "winobias", task].measured.get("ucerf", type="type2")
            assert measured is not None
            assert (
                row[f"here: {model}"].startswith(f"{measured.value:.3f} [")
                and f"(n = {measured.n})" in row[f"here: {model}"]
            )
            values.add(f"{measured.value:.3f}")
        printed = next(
            n.printed
            for n in published()
            if (n.place, n.model, n.type, n.metric) == (place, "Pythia-1B", "type2", "ucerf")
        )
        assert unranked(row["paper: Pythia-1B"]) == printed
    assert len(values) == 4
    cot = table("ucerf", "Table 6", parts)
    assert {row["here: first"] for row in cot} == {NOTHING}


def test_doubtful_cells_are_marked_and_explained(parts: dict[tuple[str, str, str], Part], tmp_path: Path) -> None:
    rows = table("ucerf", "Table 5", parts)
    marked = {(r["type"], r["metric"]) for r in rows if unranked(r["paper: Falcon-40B-Instruct"]).endswith(DOUBTFUL)}
    assert marked == {("type1", "ucerf"), ("type2", "ucerf")}
    files = {path.name: path for path in write_tables(PAPERS["ucerf"], parts, tmp_path)}
    assert "are exchanged" in files["ucerf-table-5.md"].read_text(encoding="utf-8")


def test_identities_have_their_augmentation_and_attribute(tmp_path: Path) -> None:
    engine = open_planted("lead=0.4,lead:old=-0.3,lead:female=-0.05")
    choices = {"base": "builtin", "attributes": ["age", "race"], "augment": ["R"], **QUICK}
    run = equipoise.audit(engine, "winoidentity", out=tmp_path, **choices)
    parts = {("planted", "winoidentity", "next-word"): Run(run.path).parts[0]}
    rows = {
        (row["type"], row["marker on"], row["attribute"]): row["here: planted"]
        for row in table("winoidentity", "Table 4", parts)
    }
    assert float(rows["type2", "R", "age"].split()[0]) == pytest.approx(0.35, abs=0.001)
    assert float(rows["type2", "R", "race"].split()[0]) == pytest.approx(0.05, abs=0.001)
    bold = {
        tuple(row.cells[2:5])
        for place in paper_tables(PAPERS["winoidentity"], parts)
        if place.name == "winoidentity-table 4"
        for row in place.rows
        if isinstance(row.cells[-1], Cell) and row.cells[-1].strong
    }
    assert bold == {("type2", "R", "age")}, "only values above 0.2 are bold, as in the paper"
    assert rows["type2", "NR", "age"] == rows["type2", "R", "religion"] == NOTHING
    spread = [row for row in table("winoidentity", "Table 3", parts) if row["metric"] == "confidence_deviation"]
    assert any(row["here: planted"].endswith(")") for row in spread)


def test_tables_are_made_from_runs_that_exist(parts: dict[tuple[str, str, str], Part], tmp_path: Path) -> None:
    first = next(iter(parts.values())).run
    made = parts_of([first])
    assert list(made) == [(first.name, "builtin", "next-word")]
    with pytest.raises(EquipoiseError, match=r"two runs are of .* on builtin as next-word; name only one"):
        parts_of([first, Run(first.path)])
    command = ["study", "paper", "ucerf", "--run", str(first.path), "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0 and (tmp_path / "tables" / "ucerf-table-4.md").is_file()


def test_runs_have_the_names_of_their_suite_or_of_their_folders(tmp_path: Path) -> None:
    runs = [equipoise.audit("planted", out=tmp_path / name, **QUICK) for name in ("alpha", "beta")]
    assert [name for name, _, _ in parts_of(runs)] == [f"{runs[0].manifest.model} ({n})" for n in ("alpha", "beta")]
    for name, run in zip(("alpha", "beta"), runs, strict=True):
        run.name = name_in_suite(f"equipoise suite s.toml --only '{name} / builtin / next-word'")
    assert [name for name, _, _ in parts_of(runs)] == ["alpha", "beta"]


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
    for cell, row in zip(cells, texts(table), strict=True):
        number = first[cell]
        for model in MODELS:
            value = unranked(row[f"here: {model}"])
            if number.metric not in FROM_ITEMS:
                assert value == shown[json.dumps([model, number.dataset, number.task, number.metric, group_of(number)])]
                checked += 1
        for name in dict.fromkeys(n.model for n in printed):
            theirs = [n.printed for n in printed if n.cell == cell and n.model == name]
            assert unranked(row[f"paper: {name}"]).rstrip("†") in (theirs[:1] or [NOTHING])
    assert checked or place == "Fig. 5"


@pytest.mark.parametrize(("metric", "better"), [("flip_rate", "lower"), ("ucerf", "higher")])
def test_the_less_biased_run_ranks_first_whichever_way_is_better(
    metric: str, better: str, planted_run: Path, mild_run: Path
) -> None:
    chosen = {"strong": Run(planted_run).parts[0], "mild": Run(mild_run).parts[0]}
    values = {name: part.measured.get(metric, type="type2") for name, part in chosen.items()}
    ranks = tables._ranks(values, chosen, better)
    assert {name: str(rank) for name, rank in ranks.items()} == {"strong": "2", "mild": "1"}
    assert tables._ranks(values, chosen, "") == {}, "the paper ranks nothing here"
    assert tables._ranks({**values, "other": "–"}, chosen, better) == {}
    assert tables._ranks(values, {**chosen, "mild": None}, better) == {}
    assert tables._ranks({"mild": values["mild"]}, {"mild": chosen["mild"]}, better) == {}


def test_ranks_of_printed_values_are_those_that_the_paper_prints(parts: dict[tuple[str, str, str], Part]) -> None:
    rows = {(r["data"], r["type"], r["metric"]): r for r in table("ucerf", "Fig. 6", parts)}
    accuracy = rows["winobias", "type2", "accuracy"]
    assert accuracy["paper: Pythia-1B"] == "0.746 10th" and accuracy["paper: Falcon-40B-Instruct"] == "0.877 3rd"
    assert rows["synthbias", "type2", "ucerf"]["paper: Pythia-1B"] == "0.815 1st"
    assert rows["winobias", "type2", "perplexity"]["paper: Pythia-1B"] == "1.655 10th"
    assert rows["winobias", "type1", "perplexity"]["paper: Pythia-1B"].startswith("1.691")
    # Those here are ranked among themselves, as far as their intervals settle it.
    ours = [rows["winobias", "type2", "ucerf"][f"here: {model}"] for model in ("first", "second")]
    assert all(words.split("(n")[0].rstrip().endswith(("(1)", "(2)", "(1–2)")) for words in ours)
    odds = [row for row in table("ucerf", "Table 4", parts) if (row["type"], row["metric"]) == ("type2", "perplexity")]
    assert odds[0]["paper: Pythia-1B"] == "1.655", "Table 4 ranks no perplexity where answers are right or wrong"


def test_the_case_study_has_its_row_of_differences() -> None:
    rows = [row for row in table("ucerf", "Fig. 5", {}) if row["group"] == "difference"]
    assert [row["paper: Falcon-40B-Instruct"] for row in rows] == ["0.625", "0.175"]
    printed = {(n.gender, n.metric): n.value for n in published() if n.place == "Fig. 5"}
    for metric in ("tpr", "tpd"):
        assert printed["difference", metric] == pytest.approx(printed["pro", metric] - printed["anti", metric])


@pytest.mark.parametrize("name", PAPERS)
def test_the_printed_tables_are_as_they_were_kept(name: str) -> None:
    told = {}
    for table in paper_tables(PAPERS[name], {}):
        rows = hashlib.sha256(outline([row.cells for row in table.rows]).encode()).hexdigest()[:16]
        told[table.title] = {"columns": table.columns, "rows": f"{len(table.rows)}, {rows}", "notes": list(table.notes)}
        told[table.title]["first"] = table.rows[0].cells
    assert_kept(f"papers/tables-{name}", told)


@pytest.mark.parametrize(
    ("rank", "text"),
    [
        (None, ""),
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (10, "10th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (111, "111th"),
        (122, "122nd"),
    ],
)
def test_ranks_in_words(rank: int | None, text: str) -> None:
    assert _ordinal(rank) == text


@pytest.mark.parametrize(
    ("place", "metric", "type", "better"),
    [
        ("Table 2", "ucerf", "type2", "higher"),
        ("Table 8", "ucerf", "type2", ""),
        ("Table 2", "perplexity", "type1", "higher"),
        ("Table 2", "perplexity", "type2", ""),
        ("Fig. 6", "perplexity", "type2", "lower"),
        ("Fig. 6", "perplexity", "type1", "higher"),
        ("Table 2", "flip_rate", "type2", "lower"),
    ],
)
def test_what_is_ranked_and_by_which_end(place: str, metric: str, type: str, better: str) -> None:
    usual = {field.name: "" for field in fields(Published)}
    assert _ranked_by(Published(**{**usual, "place": place, "metric": metric, "type": type}), UCERF) == better


def case(metric: str, gender: str, rows: list[tuple[str, str, str, str, int, float]]) -> Any:
    columns = ["type", "occupation", "other", "stereotype", "correct", "desirability"]
    part: Any = SimpleNamespace(items=pd.DataFrame(rows, columns=columns))
    usual = {field.name: "" for field in fields(Published)}
    return _case_study(part, Published(**{**usual, "metric": metric, "gender": gender, "type": "type2"}))


def test_the_case_of_nurses_and_physicians_is_counted_by_hand() -> None:
    about = ("type2", "physician", "nurse")
    rows = [
        (*about, "pro", 1, 0.5),
        (*about, "pro", 0, -0.5),
        (*about, "anti", 1, 0.0),
        ("type1", "physician", "nurse", "pro", 1, 1.0),
        ("type2", "cook", "nurse", "pro", 1, 1.0),
        ("type2", "physician", "cook", "anti", 0, 1.0),
    ]
    pro = case("tpr", "pro", rows)
    assert (pro.content, pro.after) == (0.5, "(n = 2)")
    assert case("tpr", "difference", rows) == pytest.approx(0.5 - 1.0)
    sure = case("tpd", "pro", rows)
    assert (sure.content, sure.after) == (0.75, "(n = 1)")
    assert case("tpd", "difference", rows) == pytest.approx(0.75 - 0.5)
    assert case("tpr", "pro", rows[2:]) is None and case("tpr", "difference", rows[2:]) is None


def test_parts_are_named_as_a_suite_would(planted_run: Path, mild_run: Path) -> None:
    one, two = Run(planted_run), Run(mild_run)
    names = [f"planted ({run.path.name})" for run in (one, two)]
    assert list(parts_of([one, two])) == [(name, "builtin", "next-word") for name in names]
    assert list(parts_of([one])) == [("planted", "builtin", "next-word")]
    with pytest.raises(EquipoiseError, match=r"^two runs are of .* on builtin as next-word; name only one of them$"):
        parts_of([one, one])
    marked: Any = SimpleNamespace(
        name="m", path=planted_run, parts=[SimpleNamespace(dataset="winoidentity-builtin", task="t")]
    )
    assert list(parts_of([marked])) == [("m", "winoidentity", "t")]
