"""A paper's tables hold the numbers of their own run, task and model: planted runs side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.papers.experiments import PAPERS, write_suite
from equipoise.papers.published import published
from equipoise.papers.tables import DOUBTFUL, NOTHING, paper_tables, parts_of, write_tables
from equipoise.records import EquipoiseError
from equipoise.runs import Run
from equipoise.runs.run import Part
from equipoise.suites.cells import cells
from planted_identities import PlantedIdentities

QUICK = {"resamples": 30, "limit": 30, "progress": False, "metrics": ["ucerf", "accuracy", "confidence", "perplexity"]}


def table(paper: str, place: str, parts: dict[tuple[str, str, str], Part]) -> list[dict[str, str]]:
    (chosen,) = [t for t in paper_tables(PAPERS[paper], parts) if t.name == f"{paper}-{place}".lower()]
    return [dict(zip(chosen.columns, row, strict=True)) for row in chosen.rows]


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
        assert row["paper: Pythia-1B"] == printed
    assert len(values) == 4
    cot = table("ucerf", "Table 6", parts)
    assert {row["here: first"] for row in cot} == {NOTHING}


def test_doubtful_cells_are_marked_and_explained(parts: dict[tuple[str, str, str], Part], tmp_path: Path) -> None:
    rows = table("ucerf", "Table 5", parts)
    marked = {(r["type"], r["metric"]) for r in rows if r["paper: Falcon-40B-Instruct"].endswith(DOUBTFUL)}
    assert marked == {("type1", "ucerf"), ("type2", "ucerf")}
    files = {path.name: path for path in write_tables(PAPERS["ucerf"], parts, tmp_path)}
    assert "are exchanged" in files["ucerf-table-5.md"].read_text(encoding="utf-8")


def test_identities_have_their_augmentation_and_attribute(tmp_path: Path) -> None:
    engine = PlantedIdentities(confidence=0.4, penalties={"old": 0.3}, genders={"female": 0.05})
    choices = {"base": "builtin", "attributes": ["age", "race"], "augment": ["R"], **QUICK}
    run = equipoise.audit(engine, "winoidentity", out=tmp_path, **choices)
    parts = {("planted", "winoidentity", "next-word"): Run(run.path).parts[0]}
    rows = {
        (row["type"], row["marker on"], row["attribute"]): row["here: planted"]
        for row in table("winoidentity", "Table 4", parts)
    }
    assert float(rows["type2", "R", "age"].split()[0]) == pytest.approx(0.35, abs=0.001)
    assert float(rows["type2", "R", "race"].split()[0]) == pytest.approx(0.05, abs=0.001)
    assert rows["type2", "NR", "age"] == rows["type2", "R", "religion"] == NOTHING
    spread = [row for row in table("winoidentity", "Table 3", parts) if row["metric"] == "confidence_deviation"]
    assert any(row["here: planted"].endswith(")") for row in spread)


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_is_a_suite_whose_cells_can_run(name: str, tmp_path: Path) -> None:
    suite = write_suite(name, ["planted:bias=1"], tmp_path, limit=2)
    asked = {(row.dataset, row.task) for row in published() if row.paper == name and row.place in PAPERS[name].places}
    assert asked <= {(data, task) for data in suite.data for task in suite.tasks}
    assert suite.settings["limit"] == 2


def test_cells_of_data_that_is_here_have_no_problem(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    real_data("gender-ece")
    suite = write_suite("gender-ece", ["planted:bias=1"], tmp_path, limit=2)
    assert [cell.problem for cell in cells(suite) if cell.problem] == []


def test_an_unknown_paper_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="unknown paper 'ucref'; did you mean 'ucerf'"):
        write_suite("ucref", ["smollm2"], tmp_path)


def test_tables_are_made_from_runs_that_exist(parts: dict[tuple[str, str, str], Part], tmp_path: Path) -> None:
    first = next(iter(parts.values())).run
    made = parts_of([first])
    assert list(made) == [(first.name, "builtin", "next-word")]
    with pytest.raises(EquipoiseError, match=r"two runs are of .* on builtin as next-word; name only one"):
        parts_of([first, Run(first.path)])
    command = ["paper", "ucerf", "--run", str(first.path), "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0 and (tmp_path / "tables" / "ucerf-table-4.md").is_file()
