"""The section on identities: there when markers were asked, with the numbers of the run, in every medium."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept
from pages import charts_without_values
from rich.console import Console

import equipoise
from equipoise.comparing.comparison import compare
from equipoise.media.page.html import draw
from equipoise.records import Measurement
from equipoise.records.showing import Cell, Chart, Dot, Finding, Heat, Section, Table
from equipoise.report import comparison_page, run_page, run_tables, run_text, tables, write_run_page
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.scoring.planted import open_planted
from equipoise.stats.paired import is_detected
from equipoise.topics.identities import compared, section
from equipoise.topics.identities import sections as topic
from equipoise.topics.identities.charts import heatmap, radars
from equipoise.topics.identities.sections import MEASURES, disparity_table, extremes, overall

Opened = Callable[..., Any]
PRINTED_PAGES = 14
"""A run on WinoIdentity takes at most this many sheets of A4 (docs/reports.md states the budgets)."""
ENGINE = open_planted("lead=0.4,lead:old=-0.5,lead:female=-0.05,sentence=0.1,noise=0.05")
MARKERS = """
[age]
privileged = ["young"]
disadvantaged = ["old"]

[faith]
privileged = ["calm"]
disadvantaged = [{}]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, hostile: str) -> Run:
    """Return a run with markers of the user's, one of which is an attack."""
    folder = tmp_path_factory.mktemp("identities")
    (folder / "mine.toml").write_text(MARKERS.format(json.dumps(hostile)), encoding="utf-8")
    choices = {"base": "builtin", "limit": 30, "markers": str(folder / "mine.toml"), "augment": ["R", "C"]}
    equipoise.audit(ENGINE, "winoidentity", out=folder / "run", resamples=40, metrics=["confidence"], **choices)
    return Run(folder / "run")


@pytest.fixture(scope="module")
def page(run: Run) -> Path:
    return write_run_page(run)


def unfolded(tab: Any) -> Any:
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    return tab


def section_of(run: Run) -> Section:
    found = section(run)
    assert found is not None
    return found


def test_the_section_is_there_when_markers_were_asked(run: Run, planted_run: Path) -> None:
    assert section_of(run).id == "identities"
    assert section(Run(planted_run)) is None
    assert 'id="identities"' not in run_page(Run(planted_run))


@pytest.mark.parametrize("way", ["R", "C"])
def test_disparities_are_those_of_the_run_and_detected_ones_are_marked(run: Run, way: str) -> None:
    measured = run.parts[0].measured
    table = disparity_table(run.parts[0], "type2", way)
    assert table.rows[0].cells[0] == "age", "the largest first"
    marked = []
    for row in table.rows:
        attribute, *cells, p = row.cells
        at = {"type": "type2", "augmentation": way, "attribute": str(attribute)}
        own = [measured.get(f"{name}_disparity", **at) for name in MEASURES]
        assert own[0] is not None and p == own[0].estimate.p_corrected
        first = cells[0]
        assert isinstance(first, Cell) == is_detected(own[0].estimate), "one rule, as for sentences"
        if isinstance(first, Cell):
            assert first.content == own[0] and first.strong and first.after == "*"
            marked.append(attribute)
        assert cells[1:] == own[1:], "what is not tested has no mark"
    assert "age" in marked


def test_means_without_and_with_markers_are_those_of_the_run(run: Run) -> None:
    table = overall(run.parts[0], "type2")
    assert [row.cells[0] for row in table.rows] == [
        "no marker",
        "marker on the referent (R)",
        "contrasting markers (C)",
    ]
    assert table.columns[-1].title == "drop from no marker" and table.rows[0].cells[-1] is None
    marked = table.rows[1].cells[1]
    assert isinstance(marked, Measurement)
    assert marked == run.parts[0].measured.get("confidence", type="type2", augmentation="R")


def test_the_least_and_the_most_confident_are_named(run: Run) -> None:
    (finding,) = extremes(run.parts[0], "type2", "R")
    values = [row.value for row in finding.rests_on]
    assert finding.text.startswith("Mean confidence is lowest for old female ") and values[0] == min(values)
    assert values[3] == max(values) and finding.state == "note"


def test_a_terminal_shows_the_sentences_and_both_tables(run: Run, planted_run: Path) -> None:
    out = io.StringIO()
    Console(file=out, width=250).print(run_text(run))
    printed = out.getvalue()
    marked = [line for line in printed.splitlines() if re.search(r"\] \*", line)]
    # Where he and she differ by 0.05, every attribute's identities do.
    assert [line.split()[0] for line in marked] == ["age", "faith"] * 2
    assert (
        "*: the identities differ: p < 0.05 after correction for all claims of the run" in printed
        and "Confidence without and with markers" in printed
    )
    assert "“old” (age) lowers confidence by 0." in printed and "Mean confidence is lowest for old female" in printed
    out = io.StringIO()
    Console(file=out, width=250).print(run_text(Run(planted_run)))
    assert "Identities" not in out.getvalue()


def test_papers_get_a_table_for_each_type_and_augmentation(run: Run) -> None:
    names = [table.name for table in tables(run) if table.topic == "disparities"]
    assert names == [f"disparities-winoidentity-builtin-next-word-type2-{way}" for way in ("R", "C")]
    files = dict(run_tables(run, formats=("csv",)))
    lines = files[f"{names[0]}.csv"].decode().splitlines()
    assert lines[0].startswith("attribute,confidence ↓,") and lines[0].endswith(",n,corrected p")
    assert lines[1].startswith("age,") and '] *",' in lines[1]


def test_lines_are_drawn_where_several_augmentations_were_asked(run: Run) -> None:
    def topics(of: Run) -> set[str]:
        return {chart.topic for chart in section_of(of).every(Chart)}

    alone = Run(run.path)
    alone.measurements = run.measurements[~run.measurements["group"].str.contains("augmentation=C")]
    assert topics(run) - topics(alone) == {"lines"} and "radar" in topics(alone)


def test_the_change_from_no_marker_comes_first(run: Run) -> None:
    (part,) = section_of(run).shown
    assert isinstance(part, Section) and isinstance(part.shown[0], Finding)
    first = next(part.every(Chart))
    assert first.topic == "changes"
    dot = next(first.panels[0].marks_of(Dot))
    assert dot.label.startswith("age, old, p = "), "the largest loss is first"


def test_radars_and_maps_of_the_page_are_of_their_own_part(run: Run, page: Path, opened: Opened) -> None:
    tab = opened(page)
    radar = tab.locator("#identities svg[aria-label^='Mean confidence by identity'][aria-label*=': age.']").first
    titles = radar.locator("g > title").all_text_contents()
    assert titles.pop(0) == "An ideal model: 1 for everybody", "the paper's polygon, for resolvable sentences"
    named = ["fem: no marker", "fem: young", "fem: old", "masc: no marker", "masc: young", "masc: old"]
    assert [title.rsplit(": ", 1)[0] for title in titles] == named
    own = run.parts[0].measured.get(
        "confidence", type="type2", augmentation="R", attribute="age", marker="old", gender="female"
    )
    assert titles[2] == f"fem: old: {own}"


def cell_words(run: Run, row: int, column: int) -> str:
    """Return what the page says of a cell of its first map."""
    chart = heatmap(run.parts[0], "type2", "R")
    assert chart is not None
    (panel,) = chart.panels
    value = next(cell.value for cell in panel.marks_of(Heat) if (cell.x, cell.y) == (column, row))
    number = "not asked" if value != value else f"{value:.3f}"
    return f"{panel.y.names[row]} {panel.x.names[column]}: {number}"


def test_a_map_says_the_number_that_is_pointed_at(opened: Opened, page: Path, run: Run) -> None:
    tab = unfolded(opened(page))
    chart = heatmap(run.parts[0], "type2", "R")
    assert chart is not None
    heat = tab.locator("svg.heat").first
    kept = [row.split(" ") for row in heat.get_attribute("data-values").split(";")]
    known = pd.DataFrame([[None if one == "" else int(one) / 1000 for one in row] for row in kept])
    table = pd.DataFrame([row.cells[1:] for row in chart.table().rows])
    assert known.to_numpy(dtype=float) == pytest.approx(table.to_numpy(dtype=float), abs=6e-4, nan_ok=True)
    left, top, wide, tall = map(float, heat.get_attribute("data-cell").split())
    row, column = list(chart.panels[0].y.names).index("old fem"), 3
    heat.scroll_into_view_if_needed()
    unit = heat.evaluate("(one) => one.getBoundingClientRect().width / one.viewBox.baseVal.width")
    heat.hover(position={"x": (left + (column + 0.5) * wide) * unit, "y": (top + (row + 0.5) * tall) * unit})
    assert tab.locator(".readout").first.inner_text() == cell_words(run, row, column)


def test_a_map_is_walked_with_the_arrow_keys_and_has_a_table(opened: Opened, page: Path, run: Run) -> None:
    tab = unfolded(opened(page))
    heat, readout = tab.locator("svg.heat").first, tab.locator(".readout").first
    heat.focus()
    assert readout.inner_text() == cell_words(run, 0, 0) and heat.locator(".cursor").count() == 1
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowLeft"):
        tab.keyboard.press(key)
    assert readout.inner_text() == cell_words(run, 1, 1), "the edge holds"
    left, top, wide, tall = map(float, heat.get_attribute("data-cell").split())
    cursor = heat.locator(".cursor")
    assert (float(cursor.get_attribute("x")), float(cursor.get_attribute("y"))) == pytest.approx(
        (left + wide, top + tall)
    )
    tab.keyboard.press("Tab")
    assert heat.locator(".cursor").count() == 0
    assert readout.get_attribute("aria-live") == "polite"
    heads = tab.locator(".map .heat-values").first.locator("thead th").all_inner_texts()
    chart = heatmap(run.parts[0], "type2", "R")
    assert chart is not None and heads == [column.title for column in chart.table().columns]


def test_every_chart_has_its_table(opened: Opened, page: Path) -> None:
    assert charts_without_values(opened(page)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_a_marker_cannot_become_code_and_nothing_is_too_wide(
    opened: Opened, page: Path, width: int, scheme: str
) -> None:
    tab = unfolded(opened(page, viewport={"width": width, "height": 844}, color_scheme=scheme))
    assert tab.evaluate("window.hacked") is None and tab.locator("img").count() == 0
    assert "<script>window.hacked" in tab.inner_text("#identities")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    charts = tab.locator("#identities svg.chart")
    assert all(charts.nth(number).get_attribute("aria-label") for number in range(charts.count()))
    smallest = """() => Math.min(...[...document.querySelectorAll('#identities svg.chart')].map(
        (one) => 11.5 * one.getBoundingClientRect().width / one.viewBox.baseVal.width))"""
    assert tab.evaluate(smallest) > 8.5


@pytest.mark.slow
def test_a_full_run_adds_little_to_the_page_and_prints_within_its_budget(opened: Opened, tmp_path: Path) -> None:
    choices = {"base": "builtin", "limit": 100, "resamples": 20, "metrics": ["confidence"]}
    equipoise.audit("planted:strength=0.3,bias=0.5,noise=1", "winoidentity", out=tmp_path / "run", **choices)
    run = Run(tmp_path / "run")
    body = draw(section_of(run))
    maps = re.findall(r'data-columns="([^"]*)" data', body)
    assert len(maps) == 3 and all(one.count("\n") == 38 for one in maps)
    counts = [chart.topic for chart in section_of(run).every(Chart)]
    assert {topic: counts.count(topic) for topic in counts} == {
        "changes": 1, "disparities": 1, "crossing": 3, "radar": 3, "heatmap": 3, "lines": 1
    }  # fmt: skip
    # One type of sentences; WinoBias has two, and all of it stays under a megabyte.
    assert len(body.encode()) < 500_000
    paper = opened(write_run_page(run)).pdf(format="A4")
    assert 5 < len(re.findall(rb"/Type\s*/Page\b", paper)) <= PRINTED_PAGES


@pytest.mark.slow
def test_runs_are_compared_in_radars_upon_each_other(tmp_path: Path, planted_run: Path, mild_run: Path) -> None:
    folders = []
    for name, cost in (("large", 0.2), ("small", 0.05)):
        engine = open_planted(f"lead=0.4,lead:old=-{cost}")
        choices = {"base": "builtin", "limit": 20, "attributes": ["age"], "augment": ["R"], "metrics": ["confidence"]}
        equipoise.audit(engine, "winoidentity", out=tmp_path / name, resamples=20, progress=False, **choices)
        folders.append(tmp_path / name)
    comparison = compare(folders)
    found = compared(comparison)
    assert found is not None
    (chart,) = found.every(Chart)
    assert chart.name == "radar-winoidentity-builtin-next-word-type2-R"
    (panel,) = chart.panels
    place = list(panel.x.names).index("masc: old")
    values = {dot.label: dot.y.value for dot in panel.marks_of(Dot) if dot.x == place}  # type: ignore[union-attr]
    assert list(values) == comparison.names and list(values.values()) == pytest.approx([0.2, 0.35], abs=1e-6)
    assert [key.label for key in chart.legend][:2] == comparison.names
    assert 'id="identities"' in comparison_page(comparison)
    assert compared(compare([planted_run, mild_run])) is None


def test_every_table_says_what_it_is_of(run: Run) -> None:
    assert all(table.title or table.columns[0].title == "finding" for table in section_of(run).every(Table))


def test_what_is_described_is_as_it_was_kept(run: Run) -> None:
    assert_kept("topics/identities", section(run))


def test_two_runs_share_a_radar_for_each_type_and_way(run: Run) -> None:
    runs = [Run(run.path, name=name) for name in ("one", "other")]
    found = compared(SimpleNamespace(runs=runs))  # type: ignore[arg-type]
    assert found is not None and (found.title, found.id) == ("Identities", "identities")
    (shown,) = found.shown
    assert isinstance(shown, Section)
    (part,) = run.parts
    assert shown.title == f"{part.dataset} · {part.task}"
    named = {one.name: one.parts[0] for one in runs}
    expected = [radars(named, "type2", way) for way in ("R", "C")]
    assert [chart.name for chart in shown.every(Chart)] == [chart.name for chart in expected]
    assert list(shown.every(Chart)) == expected
    assert compared(SimpleNamespace(runs=runs[:1])) is None, "one run alone is not compared"  # type: ignore[arg-type]


def test_what_is_not_there_has_no_section_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = run.parts
    folded = ["Privilege, double disadvantage and coverage: findings with their numbers"]
    folded.append("Mean confidence by side of the occupation, gender and privilege")
    folded.append("Mean confidence by identity and by the occupation that is meant")

    def inner(section: Section) -> list[str]:
        sections = [shown for shown in section.shown if isinstance(shown, Section)]
        return [title for shown in sections for title in (shown.title, *inner(shown))]

    def titles() -> list[str]:
        return [title for title in folded if title in inner(topic._kind(part, "type2"))]

    assert titles() == folded
    monkeypatch.setattr(topic, "heatmap", lambda *_: None)
    assert titles() == folded[:2]
    monkeypatch.setattr(topic, "crossing", lambda *_: None)
    assert titles() == folded[:1]
    monkeypatch.setattr(topic, "answers", lambda *_: ())
    assert titles() == []


def test_a_task_is_told_beside_its_own_with_reasoning(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = run.parts
    given: list[Any] = []
    monkeypatch.setattr(topic, "reasoning", lambda *about: given.append(about) or [Finding("With reasoning.")])
    monkeypatch.setattr(topic, "REASONED", {part.task: part.task})
    shown = topic._kind(part, "type2")
    assert given == [(part.measured, part.measured, "type2")]
    assert "With reasoning." in [str(finding) for finding in shown.every(Finding)]
    monkeypatch.setattr(topic, "REASONED", {})
    topic._kind(part, "type2")
    assert given[1] == (part.measured, None, "type2")


def test_an_attribute_without_a_disparity_has_no_row(run: Run) -> None:
    (part,) = run.parts
    whole = disparity_table(part, "type2", "R")
    less = Measurements(
        row for row in part.measured if (row.metric, row.parts.get("attribute")) != ("confidence_disparity", "faith")
    )
    some: Any = SimpleNamespace(measured=less, run=part.run, about=part.about, title=part.title)
    own = topic.subgroups
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic, "subgroups", lambda _: own(part))
        shown = disparity_table(some, "type2", "R")
    names = [[str(getattr(row.cells[0], "content", row.cells[0])) for row in table.rows] for table in (whole, shown)]
    assert sorted(names[0]) == ["age", "faith"] and names[1] == ["age"]


@pytest.mark.parametrize("count", [5, 6])
def test_six_identities_are_enough_to_name_three_at_each_end(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    subs = [SimpleNamespace(marker=f"m{at}", gender="male") for at in range(count)]
    others = [SimpleNamespace(marker="", gender="male"), SimpleNamespace(marker="x", gender="")]
    values = {id(sub): (at * 7 % 10) / 10 for at, sub in enumerate([*subs, *others])}
    known: Any = SimpleNamespace(
        marked=lambda *_: [*others, *subs],
        confidence=lambda _, sub: SimpleNamespace(value=values[id(sub)]),
    )
    monkeypatch.setattr(topic, "subgroups", lambda _: known)
    said = list(extremes(None, "type2", "R"))  # type: ignore[arg-type]
    if count == 5:
        assert said == []
    else:
        least, most = "m0 male 0.000, m3 male 0.100, m2 male 0.400", "m4 male 0.800, m1 male 0.700, m5 male 0.500"
        (finding,) = said
        assert finding.text == f"Mean confidence is lowest for {least}; highest for {most}. This order is not tested."
        assert [row.value for row in finding.rests_on] == [0.0, 0.1, 0.4, 0.8, 0.7, 0.5]
