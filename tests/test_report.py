"""What is described once is shown everywhere: a chart or a table of one function, in every medium."""

from __future__ import annotations

import io
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from plug_in import write_plug_in
from rich.console import Console

from equipoise import report
from equipoise.media import markdown
from equipoise.records import EquipoiseError, Measurement
from equipoise.records.showing import Axis, Chart, Column, Dot, Finding, Panel, Row, Section, Table
from equipoise.runs.run import Run
from equipoise.topics.leaderboard.pages import Site


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


def test_a_chart_of_one_function_is_on_the_page_in_figures_and_in_notebooks(
    run: Run, value: Measurement, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = report.run_page(run)
    assert '<section id="certainty"' in page and "How sure it is &lt;i&gt;" in page and "<i>" not in page
    assert f"{value}" in page.split('id="certainty"')[1]
    monkeypatch.setattr(report, "TOPICS", (certainties,))
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


@pytest.fixture(scope="module")
def site(board_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Site]:
    out = tmp_path_factory.mktemp("site") / "board"
    return out, report.write_site([board_runs], out, report.SiteOptions(title="Pronouns", sentences=False))


def test_a_site_is_whole_and_every_link_leads_somewhere(site: tuple[Path, Site]) -> None:
    out, made = site
    pages = sorted(out.rglob("*.html"))
    assert {page.parent.name for page in pages} == {"board", "metrics", "models", "datasets", "runs"}
    assert len(list((out / "models").iterdir())) == len(made.models) == 3
    assert len(list((out / "runs").iterdir())) == 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org)", text.split("<main")[1]) or page.parent.name == "runs"
        for address in re.findall(r'href="([^"#]+)', text):
            if not address.startswith(("data:", "http")):
                assert (page.parent / address).is_file(), f"{page.name}: {address}"
    tidy = pd.read_parquet(out / "measurements.parquet")
    assert set(tidy["model"]) == set(made.models)
    assert len(tidy) == sum(len(Run(run.folder).measurements) for run in made.submissions.runs)
    titles = {page.name: re.findall("<title>(.*?)</title>", page.read_text(encoding="utf-8"))[0] for page in pages}
    assert titles["index.html"] == "Pronouns: UCerF" and titles["flip-rate.html"] == "Pronouns: Flip rate"
    assert titles["builtin-40-sentences.html"] == "Pronouns: builtin (40 sentences)"


@pytest.mark.slow
def test_a_reader_sorts_filters_and_chooses(site: tuple[Path, Site], browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site[0] / "index.html").resolve().as_uri())
    page.wait_for_selector("html[data-tables=ready]", timeout=60_000)
    first = ".board tbody tr:not([hidden]) th"
    assert "strength 3" in page.locator(first).first.inner_text()
    page.locator(".board thead th button").nth(1).click()  # ascending: the worst first
    assert "strength 1" in page.locator(first).first.inner_text()
    assert "mass 0.01" in page.locator(first).last.inner_text(), "what is not valid has no value, and comes last"
    assert page.locator(".board thead th").nth(1).get_attribute("aria-sort") == "ascending"
    page.locator(".board thead th button").nth(1).click()
    assert "strength 3" in page.locator(first).first.inner_text()
    assert "mass 0.01" in page.locator(first).last.inner_text()
    page.fill("[data-search]", "strength 3")
    assert page.locator(first).count() == 1
    assert page.locator("[data-count]").inner_text() == "1 model, 4 columns"
    page.select_option("[data-filter=dataset]", "builtin (40 sentences)")
    assert page.locator("[data-count]").inner_text() == "1 model, 2 columns"
    page.select_option("[data-go=estimator]", label="renyi")
    page.wait_for_url("**/metrics/ucerf-renyi.html", timeout=60_000)
    page.wait_for_selector("html[data-tables=ready]", timeout=60_000)
    assert all(url.startswith(("file://", "data:")) for url in asked)
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    for address in ("index.html", *(f"models/{file.name}" for file in (site[0] / "models").iterdir())):
        phone.goto((site[0] / address).resolve().as_uri())
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
    phone.context.close()


def test_no_text_of_a_run_becomes_code_on_a_site(hostile_run: Path, tmp_path: Path) -> None:
    report.write_site([hostile_run], tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script>window.hacked" not in text and "<img src=x" not in text
        assert "&lt;/script&gt;" in text


def test_a_folder_of_somebody_else_is_left_alone_and_a_site_is_replaced(board_runs: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(EquipoiseError, match="holds files that are not a leaderboard"):
        report.write_site([board_runs / "clear"], tmp_path)
    with pytest.raises(EquipoiseError, match="is a file; a site needs a folder"):
        report.write_site([board_runs / "clear"], tmp_path / "notes.txt")
    out = tmp_path / "site"
    bare = report.SiteOptions(sentences=False)
    report.write_site([board_runs / "fewer"], out, bare)
    (out / "old.html").write_text("old")
    steps: list[tuple[str, int, int]] = []
    report.write_site([board_runs / "fewer"], out, bare, progress=lambda *step: steps.append(step))
    assert not (out / "old.html").exists() and (out / "index.html").is_file()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert steps[-1][0] == "writing pages" and steps[-1][1] == steps[-1][2] == len(list(out.rglob("*.html")))


def test_a_site_takes_the_page_of_a_run_unless_sentences_are_left_out(board_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(board_runs / "fewer", folder)
    report.write_run_page(Run(folder))
    page = (folder / "report.html").read_bytes()
    for sentences in (True, False):
        out = tmp_path / f"site-{sentences}"
        report.write_site([folder], out, report.SiteOptions(sentences=sentences))
        (shown,) = (out / "runs").iterdir()
        assert (shown.read_bytes() == page) == sentences


def test_topics_of_other_packages_come_before_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert report.page_topics() == list(report.TOPICS)
    code = "from equipoise.records.showing import Section\ndef first(run):\n    return Section('First')\n"
    code += "def second(run):\n    return Section('Second')\n"
    points = "[equipoise.topics]\nb = equipoise_topics:second\na = equipoise_topics:first\n"
    write_plug_in(tmp_path, "equipoise-topics", points, code)
    monkeypatch.syspath_prepend(str(tmp_path))
    topics = report.page_topics()
    place = report.TOPICS.index(report.background.data)
    assert [topic(None).title for topic in topics[place : place + 2]] == ["First", "Second"]
    assert [*topics[:place], *topics[place + 2 :]] == list(report.TOPICS)
