"""What is described once is shown everywhere: a chart or a table of one function, in every medium."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from equipoise import report
from equipoise.media import markdown
from equipoise.records import Measurement
from equipoise.records.showing import Axis, Chart, Column, Dot, Finding, Panel, Row, Section, Table
from equipoise.runs.run import Run


def certainties(run: Run) -> Section:
    """Return a section as a contributor would write it: one function, no medium."""
    part = run.parts[0]
    rows = [(kind, part.measured.get("certainty", type=kind)) for kind in part.measured.kinds]
    known = [(kind, row) for kind, row in rows if row is not None]
    dots = [Dot(row.estimate, float(place), label=kind) for place, (kind, row) in enumerate(known)]
    panel = Panel(dots, Axis("mean certainty"), Axis.of_names([kind for kind, _ in known]))
    table = Table(
        "Certainty <b>", (Column("type", words=True), Column("certainty")), [Row(row) for row in known], "sure"
    )
    chart = Chart("How sure it is <i>", [panel], "certainties", part.about())
    return Section("Certainty", [Finding("It is sure.", [row for _, row in known]), chart, table], "certainty")


@pytest.fixture
def run(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(report, "TOPICS", (*report.TOPICS, certainties))
    monkeypatch.setattr(report, "IN_TERMINAL", (certainties,))
    return Run(planted_run)


@pytest.fixture
def value(run: Run) -> Measurement:
    found = run.parts[0].measured.get("certainty", type="type1")
    assert found is not None
    return found


def test_a_chart_of_one_function_is_on_the_page_in_figures_and_in_notebooks(run: Run, value: Measurement) -> None:
    page = report.run_page(run)
    assert '<section id="certainty"' in page and "How sure it is &lt;i&gt;" in page and "<i>" not in page
    assert f"{value}" in page.split('id="certainty"')[1]
    for width, inches in (("column", 3.25), ("page", 6.75)):
        files = dict(report.run_figures(run, width=width))
        content = files["certainties-builtin-next-word.pdf"]
        assert float(re.findall(rb"/MediaBox \[ 0 0 ([\d.]+)", content)[0]) == pytest.approx(72 * inches, abs=0.01)
    figure = run.plot.certainties()
    assert value.value in [line.get_xdata()[0] for line in figure.axes[0].get_lines()]
    assert "certainties" in dir(run.plot)


def test_a_table_of_one_function_is_in_every_medium_with_its_n(run: Run, value: Measurement) -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(report.run_text(run))
    files = {name: content.decode() for name, content in report.run_tables(run, formats=("markdown", "latex", "csv"))}
    texts = [console.file.getvalue(), files["sure.md"], files["sure.csv"], markdown.draw(certainties(run))]
    for text in texts:
        assert (f"{value.value:.3f}" in text and f"{value.n}" in text and "Certainty" in text) or "certainty" in text
    assert f"{value.value:.3f}" in files["sure.tex"] and "- It is sure." in texts[0]


def test_a_column_more_is_in_every_medium(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def wider(run: Run) -> Section:
        section = certainties(run)
        (table,) = section.every(Table)
        columns, rows = (*table.columns, Column("seventh")), [Row((*row.cells, 7.5)) for row in table.rows]
        return Section("Certainty", [replace(table, columns=columns, rows=rows)], "certainty")

    monkeypatch.setattr(report, "TOPICS", (wider,))
    monkeypatch.setattr(report, "IN_TERMINAL", (wider,))
    console = Console(file=io.StringIO(), width=80)
    console.print(report.run_text(run))
    shown = [content.decode() for _, content in report.run_tables(run, formats=("markdown", "latex", "csv"))]
    for text in (console.file.getvalue(), report.run_page(run), *shown):
        assert "seventh" in text and "7.500" in text


def test_a_topic_without_anything_to_show_is_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "TOPICS", (lambda run: None, certainties))
    assert [section.id for section in report.sections(run, report.TOPICS)] == ["certainty"]


def test_every_published_name_is_a_file_of_its_own(planted_run: Path, cloze_runs: tuple[Path, Path]) -> None:
    for path in (planted_run, *cloze_runs):
        charts, tables = ([one.name for one in made(Run(path))] for made in (report.charts, report.tables))
        assert len(set(charts)) == len(charts) > 0 and len(set(tables)) == len(tables) > 0
