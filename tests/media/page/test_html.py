"""The page in a real browser: what it loads, what it shows, and that no text in it can become code."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept
from markupsafe import Markup
from pages import Opened, charts_without_values, number_of_cases, walked
from sample_charts import EVERY
from sample_sections import SECTIONS

from equipoise import __version__, cores
from equipoise.media.page import html
from equipoise.media.page.elements import web_file
from equipoise.media.page.html import Head, draw
from equipoise.media.palette import style_sheet
from equipoise.records import Estimate
from equipoise.records.showing import Cell, Chart, Column, Finding, Row, Section, Table
from equipoise.report import run_page, sections, write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.tasks.multiple_choice import option_order
from equipoise.topics import cases
from equipoise.topics.flips import set_fates

PRINTED_PAGES = 8
"""A run of one dataset and task takes at most this many sheets of A4 (docs/reports.md states the budgets)."""


@pytest.fixture(scope="module")
def page(planted_run: Path) -> Path:
    return write_run_page(Run(planted_run))


def test_headline_verdict_and_all_sections_are_there(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, run = opened(page), Run(planted_run)
    assert tab.inner_text("h1") == "planted"
    shown = [one.get_attribute("id") for one in tab.locator("main > section").all()]
    assert shown == [section.id for section in sections(run)] and {"findings", "scale", "glossary"} <= set(shown)
    assert not {"calibration", "identities", "categories", "tasks", "answers", "pairs", "parts"} & set(shown)
    gap = run.parts[0].measured.get("desirability_gap", type="type2")
    assert f"{gap.value:.3f} [{gap.low:.3f}, {gap.high:.3f}]" in tab.inner_text("#findings")
    assert "lower against the stereotype" in tab.inner_text("#findings")
    assert run.manifest.command in tab.inner_text("#method")
    assert "wang2025ucerf" in tab.inner_text("#cite") and "hardt2016" in tab.inner_text("#cite")


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!/, 0\\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  const read = "p, dt, dd, th, td, a, h1, h2, h3, label, button, .chart text, mark, .bar-name";
  for (const node of document.querySelectorAll(read)) {
    if (!node.textContent.trim() || node.closest("[hidden], .skip")) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(parse(node.closest("svg") ? style.fill : style.color)), light(parse(behind(node)))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.tagName + "." + node.className]);
  }
  return found.sort((x, y) => x[0] - y[0])[0];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_can_be_read(opened: Opened, page: Path, scheme: str) -> None:
    tab = opened(page, color_scheme=scheme)
    colour = "() => getComputedStyle(document.body).backgroundColor"
    dark = tab.evaluate(colour) != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    worst, where = tab.evaluate(CONTRAST)
    assert worst >= 4.5, where
    tab.click("#theme")
    assert (tab.evaluate(colour) != "rgb(255, 255, 255)") != dark
    assert tab.evaluate(CONTRAST)[0] >= 4.5


@pytest.mark.slow
def test_print_view_hides_what_paper_cannot_do(opened: Opened, page: Path) -> None:
    tab = opened(page, color_scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in (".bar", "#case-form", "#case-browser"):
        assert not tab.locator(hidden).is_visible()
    assert tab.locator("#findings").is_visible() and tab.locator("#case-paper .case").first.is_visible()
    told = tab.locator(".left-out")
    assert told.is_visible() and "all but four cases" in told.inner_text() and "report.html" in told.inner_text()
    assert tab.locator(".case:visible").count() == 5, "the example of the first screen, and four of all cases"
    assert "the first 4 of 80 cases" in tab.inner_text("#case-paper")
    paper = tab.pdf(format="A4")
    assert paper.startswith(b"%PDF") and 2 < len(re.findall(rb"/Type\s*/Page\b", paper)) <= PRINTED_PAGES


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_is_wider_than_the_screen(opened: Opened, page: Path, width: int) -> None:
    tab = opened(page, viewport={"width": width, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    narrowest = "Math.min(...[...document.querySelectorAll('.chart')].map((one) => one.getBoundingClientRect().width))"
    assert tab.evaluate(narrowest) / 440 * 11.5 > 8.5  # pixels of the smallest text in a chart


@pytest.mark.slow
def test_keyboard_and_screen_reader_find_everything(opened: Opened, page: Path) -> None:
    tab = opened(page)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    unlabelled = "[...document.querySelectorAll('input, select')].filter((one) => !one.labels.length).length"
    assert tab.evaluate(unlabelled) == 0
    charts = tab.locator("svg.chart")
    assert charts.count() > 4
    assert all(charts.nth(i).get_attribute("aria-label") for i in range(charts.count()))
    tab.focus("#case-search")
    tab.keyboard.type("nurse")
    assert 0 < number_of_cases(tab) < 80
    assert tab.get_attribute("html", "lang") == "en"


def test_further_metrics_are_folded_and_none_is_lost(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, measured = opened(page), Run(planted_run).parts[0].measured
    known = {row.metric for row in measured if row.group in ("type=type1", "type=type2")}
    over_groups = [row.metric for row in measured if row.group.startswith("by=")]
    names = "[...document.querySelectorAll('#metrics tbody th code')].map((code) => code.textContent)"
    assert over_groups
    assert sorted(tab.evaluate(names)) == sorted([*known, *over_groups]), "each metric once, over groups once a name"
    shown = tab.locator("#metrics tbody th code:visible").all_inner_texts()
    assert {"flip_rate", "ucerf", "accuracy"} <= set(shown) and len(shown) <= 12 < len(known)
    tab.locator("#metrics .more summary").first.click()
    assert set(tab.locator("#metrics tbody th code:visible").all_inner_texts()) == known


def test_every_chart_has_its_numbers_as_a_table(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, (part,) = opened(page), Run(planted_run).parts
    assert charts_without_values(tab) == []
    view = next(set_fates(part))
    shown = tab.locator("#findings .values").first.locator("tbody tr").all_inner_texts()
    assert [int(row.split("\t")[1]) for row in shown] == [count for count in view.counts.values() if count]
    occupations = tab.locator("#occupations .values").first.locator("tbody tr")
    ucerf = part.measured.get("ucerf", type="type2", occupation=occupations.first.locator("th").inner_text())
    assert occupations.first.locator("td").nth(1).inner_text() == f"{ucerf}"


@pytest.mark.slow
def test_hostile_text_stays_text(opened: Opened, hostile_run: Path) -> None:
    tab = opened(write_run_page(Run(hostile_run)))
    assert tab.evaluate("window.hacked") is None
    assert "<script>window.hacked" in tab.inner_text("h1")
    assert "{{7*7}}" in tab.inner_text("h1")
    tab.fill("#case-search", "onerror")
    assert number_of_cases(tab) == 12
    tab.select_option("#case-occupation", index=1)
    tab.select_option("#case-group", index=1)
    assert "</script>" in tab.locator("#case-list .sentence").first.text_content()
    assert tab.locator("img").count() == 0
    assert tab.evaluate("window.hacked") is None


@pytest.mark.slow
def test_three_options_three_pronouns_and_another_estimator(opened: Opened, tmp_path: Path) -> None:
    audit(
        PlantedEngine(noise=0.5),
        task="mcq",
        pronouns=["he", "she", "they"],
        estimators=["renyi"],
        orders=2,
        both=True,
        limit=12,
        resamples=20,
        out=tmp_path / "run",
    )
    tab, run = opened(write_run_page(Run(tmp_path / "run"))), Run(tmp_path / "run")
    sets = run.outcomes.groupby(["set_id", "variant"], sort=False)
    assert "12 sets in 2 option orders" in tab.inner_text("header")
    assert tab.inner_text("#case-count").startswith("12 of 12 sets: 24 cases") and len(sets) == 24
    tab.select_option("#case-sort", "")
    for case, ((set_id, variant), items) in zip(walked(tab, 6), sets, strict=False):
        example = run.examples.set_index("id").loc[items["example_id"].iloc[0]]
        options = [*example["candidates"], "None of the above", "Both of them"]
        order = option_order(items["cluster_id"].iloc[0], int(variant.removeprefix("seed=")), 4)
        shown = ", ".join(f"{'ABCD'[place]} {options[option]}" for place, option in enumerate(order))
        assert f"{variant.replace('=', ' ')}, options: {shown}" in case.locator(".facts-of-case").inner_text(), set_id
    for case, (_, items) in zip(walked(tab), sets, strict=True):
        assert case.locator(".member").count() == len(items)
        shown = [float(one) for one in case.locator(".numbers div:nth-child(3) dd").all_text_contents()]
        assert shown == pytest.approx(items["desirability_renyi"].tolist(), abs=6e-4)
        shown = [float(one) for one in case.locator(".numbers div:nth-child(2) dd").all_text_contents()]
        assert shown == pytest.approx(items["perplexity"].tolist(), abs=6e-4)
        bars = [float(one.strip("<%")) for one in case.locator(".bar-value").all_text_contents()]
        assert bars == pytest.approx([100 * p for probs in items["probs"] for p in probs], abs=0.11)
        names = case.locator(".bar-name").all_text_contents()[2:4]
        assert names == ["None of the above", "Both of them"]


def test_a_page_without_sentences_holds_none(opened: Opened, planted_run: Path, tmp_path: Path) -> None:
    tab = opened(write_run_page(Run(planted_run), out=tmp_path / "bare.html", sentences=False))
    known = set(Run(planted_run).examples["text"])
    shown = tab.locator("#case-list .sentence").all_text_contents()
    assert shown and not known & set(shown)
    assert all("·" in one for one in shown)
    tab.fill("#case-search", "nurse")
    assert number_of_cases(tab) > 0


def test_a_page_made_on_several_cores_is_the_same_page(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = run_page(Run(planted_run))
    monkeypatch.setattr(cores, "wanted", lambda: 3)
    monkeypatch.setattr(cases, "MANY_ITEMS", len(Run(planted_run).outcomes))
    assert run_page(Run(planted_run)) == alone
    monkeypatch.setattr(cases, "MOST_SHARED", 1)
    assert run_page(Run(planted_run)) == alone, "nor does it matter that there is little memory"


def test_a_large_page_is_made_on_all_cores_cases_first(monkeypatch: pytest.MonkeyPatch) -> None:
    shared: list[int] = []

    def shared_out(function: Any, parts: list[Any]) -> list[Any]:
        shared.append(len(parts))
        return [function(part) for part in parts]

    monkeypatch.setattr(cores, "shared_out", shared_out)
    made: list[str] = []

    def section() -> Section:
        made.append("section")
        return Section("Made", [], "made")

    @contextmanager
    def aside(function: Any) -> Iterator[Any]:
        made.append(function())
        yield lambda: made.append("asked") or function()

    monkeypatch.setattr(cores, "aside", aside)
    given = [section, lambda: None, Section("There", [], "there")]
    cases = [lambda: "numbers", lambda: "texts"]
    alone = html.page(Head("m"), given, cases=cases)
    assert not shared and made == ["section"]
    assert html.page(Head("m"), given, cases=cases, shared=lambda: made.append("shared")) == alone
    assert shared == [3] and made[1:] == ["numbers", "texts", "shared", "section", "asked", "asked"]
    assert re.findall('<section id="(.*?)"', alone) == ["made", "there"]
    assert '<script type="application/octet-stream" id="case-data">numbers\ntexts</script>' in alone
    assert "case-data" not in html.page(Head("m"), given).split("<script>")[0]


def test_the_page_is_the_same_twice_and_never_says_fair(planted_run: Path) -> None:
    page = run_page(Run(planted_run))
    assert page == run_page(Run(planted_run))
    assert not re.search(r"\b(un)?fair\b", page.split("case-data")[0], re.IGNORECASE)
    assert "http-equiv" in page and "https://" not in page.split("<main")[0]


@pytest.mark.parametrize(("values", "crowded"), [(3, False), (4, True)])
def test_a_crowded_table_breaks_the_lines_of_its_cells(values: int, crowded: bool) -> None:
    ranked = Cell(Estimate(0.5, 0.4, 0.6, 0.95, 12, ""), after="(1)")
    columns = [Column("metric", words=True), *(Column(f"run {number}") for number in range(values))]
    html = draw(Table("", columns, [Row(("ucerf", *[ranked] * values))]))
    assert ("<table class=many>" in html) == crowded
    # The rank follows its number, not its n.
    assert html.count('0.500 <span class="rank">(1)</span> <span class="interval">[0.400, 0.600]</span>') == values


def readable(page: str) -> str:
    """Return a page without its style, scripts and drawings, one tag a line."""
    plain = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"(?<=>)(?=<)", "\n", plain))


def test_sections_are_drawn_as_they_were_kept() -> None:
    assert_kept("media/page", *(readable(str(draw(section, 2))) for section in SECTIONS))
    head = Head("m <1>", "Audit of", [("Runs", "3")], [("All", "index.html")])
    whole = readable(html.page(head, SECTIONS, cases=[lambda: "packed"], left_out="Left out.")).replace(
        __version__, "VERSION"
    )
    assert_kept("media/whole-page", re.sub(r"sha256-[^']*", "sha256-…", whole))


def test_a_page_is_called_by_its_tab_or_by_what_it_is() -> None:
    def title(**more: str) -> str:
        return re.findall("<title>(.*?)</title>", html.page(Head("m", **more), []))[0]

    assert (title(), title(kicker="Audit of"), title(kicker="Audit of", tab="Tab")) == ("m", "Audit of m", "Tab")


def test_only_the_scripts_of_a_page_may_run() -> None:
    sortable = [Section("", [Table("", (Column("a"),), [], sortable=True)])]
    for shown, scripts in (([], ("page.js",)), (sortable, ("page.js", "tables.js"))):
        page, code = html.page(Head("m"), shown), html.code_of(scripts)
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page and page.count("<script>") == 1 and f"<script>{code}</script>" in page
    assert html.code_of(("tables.js",)) in html.page(Head("m"), [], scripts=("tables.js",))
    assert html.style() == f"{web_file('page.css')}\n{style_sheet()}"


def test_what_is_shown_is_put_into_runs_of_one_kind() -> None:
    chart, several, heat = Chart("", []), Chart("", [], layout="multiples"), EVERY["heatmap"]
    facts, table = Table.of_facts("", []), Table("", (), [])
    shown = [Finding("a"), Finding("b"), Finding("c", state="note"), chart, several, heat, facts, table, Section("")]
    runs = [(kind, len(run)) for kind, run in html.alike(shown)]
    assert runs == [
        *(("finding", 2), ("note", 1), ("chart", 1), ("several", 2), ("facts", 1), ("table", 1), ("section", 1)),
    ]


def test_a_panel_of_a_chart_is_a_chart_of_its_own() -> None:
    chart = EVERY["names"]
    only = html._only(replace(chart, caption="Words."), chart.panels[1])
    assert only == replace(chart, panels=[chart.panels[1]], legend=(), title="Long names: metric 1", caption="")


def test_a_column_is_sorted_by_its_values() -> None:
    words, numbers = Column("", words=True), Column("")
    value = Estimate(0.5, 0.4, 0.6, 0.95, 9, "")
    assert [html._sort_value(cell, numbers) for cell in (value, Cell(value), 0, 1.5, None, float("nan"), "a")] == [
        *("0.5", "0.5", "0", "1.5", "", "", ""),
    ]
    assert html._sort_value(Cell("a"), words) == "a" and html._sort_value(3, words) == "3"


def test_an_estimate_is_told_in_two_parts_and_code_is_marked_once() -> None:
    value = Estimate(0.5, 0.4, 0.6, 0.95, 9, "")
    assert html._number(value, ".2f") == "0.50" and html._interval(value, ".1%") == "[40.0%, 60.0%]"
    assert html._number(value, "points") == "50.0 points"
    assert html._coded(Markup("a `b` &lt; `c d`")) == "a <code>b</code> &lt; <code>c d</code>"


@pytest.mark.parametrize("sortable", [[], [False], [True], [False, True]])
def test_a_page_can_sort_where_one_of_its_tables_can_be_sorted(sortable: list[bool]) -> None:
    tables = [Table("", [Column("a")], [Row(("1",))], sortable=one) for one in sortable]
    drawn = html._drawn(Section("T", tables, "id", "label"))
    assert drawn is not None and drawn[-1] is any(sortable)
    assert drawn[:3] == ("id", "T", "label") and html._drawn(lambda: None) is None


def test_a_table_of_folded_rows_only_has_no_empty_table_above_them() -> None:
    table = Table("T", [Column("a")], [Row(("x",))], shown=0, more="more metrics")
    body = html._drawn(Section("T", [table], "id", "label")).body
    assert body.count("<table") == 1 and "1 more metric" in body
