"""The page's section on identities: there when markers were asked, with the numbers of the run, and small."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import equipoise
from equipoise.reports.identities.section import identities
from equipoise.reports.identities.views import heat_table
from equipoise.reports.page.html import run_page, write_run_page
from equipoise.runs.run import Run, identity_frame
from equipoise.scoring.planted.identities import PlantedIdentities

Opened = Callable[..., Any]
PRINTED_PAGES = 14
"""A run on WinoIdentity takes at most this many sheets of A4 (docs/reports.md states the budgets)."""
ENGINE = PlantedIdentities(confidence=0.4, penalties={"old": 0.5}, genders={"female": 0.05}, noise=0.05)
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
    return write_run_page(run.path)


@pytest.fixture(scope="module")
def frame(run: Run) -> pd.DataFrame:
    return identity_frame(run.measurements)


def unfolded(tab: Any) -> Any:
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    return tab


def test_the_section_is_there_when_markers_were_asked(run: Run, planted_run: Path) -> None:
    assert identities(run) is not None
    assert identities(Run(planted_run)) is None
    assert 'id="identities"' not in run_page(Run(planted_run))


@pytest.mark.slow
def test_disparities_are_those_of_the_run_and_large_ones_are_marked(
    opened: Opened, page: Path, frame: pd.DataFrame
) -> None:
    tab = opened(page)
    for number, way in enumerate(("R", "C")):
        table = tab.locator("#identities table", has_text="Disparity by attribute").nth(number)
        own = frame[(frame["augmentation"] == way) & (frame["marker"] == "") & (frame["type"] == "type2")]
        for row in table.locator("tbody tr").all():
            found = own[own["attribute"] == row.locator("th").inner_text()].set_index("metric")
            expected = []
            for name in ("confidence", "confidence_pair", "confidence_marked", "accuracy"):
                one = found.loc[f"{name}_disparity"]
                star = "*" if one["value"] > 0.20 else ""
                expected.append(f"{one['value']:.3f}{star} [{one['low']:.3f}, {one['high']:.3f}]")
            p = found.loc["confidence_disparity", "p_corrected"]
            assert row.locator("td").all_inner_texts() == [*expected, f"{p:.4f}"]
        assert table.locator("b.large").count() >= 1 and "*" in table.inner_text()
    assert "“old” (age) lowers confidence by 0." in tab.inner_text("#identities")


def test_a_radar_has_every_subgroup_and_its_interval(opened: Opened, page: Path, frame: pd.DataFrame) -> None:
    tab = opened(page)
    radar = tab.locator("#identities svg[aria-label^='Confidence by age']").first
    titles = radar.locator("g > title").all_text_contents()
    assert titles.pop(0) == "An ideal model: 1 for everybody", "the paper's polygon, for resolvable sentences"
    named = ["fem, no marker", "fem: young", "fem: old", "masc, no marker", "masc: young", "masc: old"]
    assert [title.rsplit(": ", 1)[0] for title in titles] == named
    one = frame[
        (frame["metric"] == "confidence")
        & (frame["augmentation"] == "R")
        & (frame["marker"] == "old")
        & (frame["gender"] == "female")
        & (frame["occupation"] == "")
    ].iloc[0]
    assert titles[2] == f"fem: old: {one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
    assert radar.locator("rect.mark").count() == 2, "squares are the unmarked ones"
    # The ideal polygon is at 1, outside every band; the band of a series reaches from its low ends to its high ends.
    reach = """(shape) => { const [x, y] = RIM.split(" ").map(Number);
        const points = [...shape.getAttribute("d").matchAll(/[ML]([\\d.]+) ([\\d.]+)/g)];
        return points.map((point) => Math.hypot(point[1] - x, point[2] - y)); }"""
    view = radar.get_attribute("viewBox").split()
    ring = radar.locator(".ring").first
    centre = f"'{ring.get_attribute('cx')} {ring.get_attribute('cy')}'"
    assert view[0] == "0"
    ideal = radar.locator(".ideal").first.evaluate(reach.replace("RIM", centre))
    assert max(ideal) - min(ideal) < 0.2, "the same for everybody"
    bands = [r for band in radar.locator(".area").all() for r in band.evaluate(reach.replace("RIM", centre))]
    assert bands and max(bands) < min(ideal)


def test_a_heatmap_says_the_number_that_is_pointed_at(opened: Opened, page: Path, frame: pd.DataFrame) -> None:
    tab = unfolded(opened(page))
    table = heat_table(frame, "type2", "R")
    heat = tab.locator("svg.heat").first
    kept = [row.split(" ") for row in heat.get_attribute("data-values").split(";")]
    known = [[None if one == "" else int(one) / 1000 for one in row] for row in kept]
    assert pd.DataFrame(known).to_numpy(dtype=float) == pytest.approx(table.to_numpy(), abs=6e-4, nan_ok=True)
    left, top, size = map(float, heat.get_attribute("data-cell").split())
    identity, job = "old fem", str(table.columns[3])
    row, column = list(table.index).index(identity), 3
    heat.scroll_into_view_if_needed()
    unit = heat.evaluate("(one) => one.getBoundingClientRect().width / one.viewBox.baseVal.width")
    at = {"x": (left + (column + 0.5) * size) * unit, "y": (top + (row + 0.5) * size) * unit}
    heat.hover(position=at)
    value = table.loc[identity, job]
    expected = "not asked" if pd.isna(value) else f"{value:.3f}"
    assert tab.locator(".readout").first.inner_text() == f"{identity} {job}: {expected}"


def test_a_heatmap_is_walked_with_the_arrow_keys(opened: Opened, page: Path, frame: pd.DataFrame) -> None:
    tab = unfolded(opened(page))
    table = heat_table(frame, "type2", "R")
    heat, readout = tab.locator("svg.heat").first, tab.locator(".readout").first

    def cell(row: int, column: int) -> str:
        value = table.iloc[row, column]
        return f"{table.index[row]} {table.columns[column]}: " + ("not asked" if pd.isna(value) else f"{value:.3f}")

    heat.focus()
    assert readout.inner_text() == cell(0, 0) and heat.locator(".cursor").count() == 1
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowLeft"):
        tab.keyboard.press(key)
    assert readout.inner_text() == cell(1, 1), "the edge holds"
    left, top, size = map(float, heat.get_attribute("data-cell").split())
    cursor = heat.locator(".cursor")
    assert (float(cursor.get_attribute("x")), float(cursor.get_attribute("y"))) == (left + size, top + size)
    tab.keyboard.press("Tab")
    assert heat.locator(".cursor").count() == 0
    assert readout.get_attribute("aria-live") == "polite"


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


def test_lines_are_drawn_where_several_augmentations_were_asked(run: Run) -> None:
    both = identities(run)
    assert both is not None and "Confidence by augmentation, age" in both.body
    rows = run.measurements
    alone = Run(run.path)
    alone.measurements = rows[~rows["group"].str.contains("augmentation=C")]
    one = identities(alone)
    assert one is not None and "Confidence by augmentation" not in one.body and "radar" in one.body


@pytest.mark.slow
def test_a_full_run_adds_little_to_the_page_and_prints_within_its_budget(opened: Opened, tmp_path: Path) -> None:
    choices = {"base": "builtin", "limit": 100, "resamples": 20, "metrics": ["confidence"]}
    equipoise.audit("planted:strength=0.3,bias=0.5,noise=1", "winoidentity", out=tmp_path / "run", **choices)
    run = Run(tmp_path / "run")
    section = identities(run)
    assert section is not None
    heats = re.findall(r'data-columns="([^"]*)" data', section.body)
    assert len(heats) == 3 and all(one.count("\n") == 38 for one in heats)
    assert section.body.count("<svg") == 3 + 3 * 10 + 10 + 3
    # One type of sentences; WinoBias has two, and all of it stays under a megabyte.
    assert len(section.body.encode()) < 450_000
    paper = opened(write_run_page(tmp_path / "run")).pdf(format="A4")
    assert 5 < len(re.findall(rb"/Type\s*/Page\b", paper)) <= PRINTED_PAGES


def test_the_change_from_no_marker_comes_first(opened: Opened, page: Path, frame: pd.DataFrame) -> None:
    tab = opened(page)
    chart = tab.locator("#identities svg.chart").first
    assert chart.get_attribute("aria-label").startswith("Change from no marker")
    by_marker = frame[(frame["augmentation"] == "R") & (frame["marker"] == "old") & (frame["gender"] == "")]
    change = by_marker[by_marker["metric"] == "confidence_change"].iloc[0]
    titles = chart.locator("g > title").all_text_contents()
    p = change["p_corrected"]
    told = f"age, old: {change['value']:+.3f} [{change['low']:+.3f}, {change['high']:+.3f}], p = {p:.4f}"
    assert titles[0] == told, "the largest loss is first"
