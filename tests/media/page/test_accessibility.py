"""Every kind of page in a browser: rules for screen readers (axe), the order of the keyboard, and legible charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.comparing.comparison import Choices, compare
from equipoise.records.showing import Chart
from equipoise.report import COMPARED, SiteOptions, comparison_page, sections, write_page, write_run_page, write_site
from equipoise.run import audit
from equipoise.runs.run import Run

LEAST_TEXT = 11
"""Pixels of a letter in a chart, on a phone of 390 pixels."""

SIZES = """() => [...document.querySelectorAll("svg.chart text")].filter((text) => text.getClientRects().length)
.map((text) => {
  const scale = text.getScreenCTM();
  return [parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b), text.textContent];
}).sort((one, other) => one[0] - other[0])[0]"""
"""The smallest text of all charts that are drawn."""

OPEN = "() => { for (const box of document.querySelectorAll('details')) box.open = true; }"


@pytest.fixture(scope="module")
def identity_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run in which one marker lowers confidence by much."""
    chosen: dict[str, Any] = {"attributes": ["age"], "augment": ["R"], "base": "builtin", "limit": 60, "resamples": 60}
    out = tmp_path_factory.mktemp("identity") / "run"
    return audit("planted:lead=0.4,lead:old=-0.3,noise=0.02", "winoidentity", out=out, **chosen)


@pytest.fixture(scope="module")
def pages(
    planted_run: Path, mild_run: Path, twin_run: Path, cloze_runs: tuple[Path, Path], board_runs: Path,
    identity_run: Run, tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:  # fmt: skip
    """Return a page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    three = [planted_run, mild_run, twin_run]
    compared = compare(three, Choices(permutations=200, resamples=40))
    write_site([board_runs], folder / "board", SiteOptions(sentences=False))
    return {
        "run": write_run_page(Run(planted_run), out=folder / "run.html"),
        "cloze": write_run_page(Run(cloze_runs[0]), out=folder / "cloze.html"),
        "identities": write_run_page(identity_run, out=folder / "identities.html"),
        "comparison": write_page(folder / "compare.html", comparison_page(compared)),
        "leaderboard": folder / "board" / "index.html",
        "dataset": next((folder / "board" / "datasets").iterdir()),
        "model": next((folder / "board" / "models").iterdir()),
    }


KINDS = ("run", "cloze", "identities", "comparison", "leaderboard", "dataset", "model")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_folded_or_open_and_charts_can_be_read(
    browser: Any, pages: dict[str, Path], kind: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(bypass_csp=True, viewport={"width": 390, "height": 844})
    tab = context.new_page()
    tab.goto(pages[kind].resolve().as_uri())
    if kind in ("run", "cloze", "identities"):
        tab.wait_for_selector("html[data-cases=ready]", timeout=60_000)
    strict = {"rules": {"label-content-name-mismatch": {"enabled": True}}}
    for state in ("() => {}", OPEN):
        tab.evaluate(state)
        found = Axe().run(tab, options=strict)
        assert found.violations_count == 0, found.generate_report()
    if tab.locator("svg.chart").count():
        size, text = tab.evaluate(SIZES)
        assert size >= LEAST_TEXT, text
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


FOCUS = "() => { const at = document.activeElement; return at.id || at.className || at.tagName; }"


@pytest.mark.slow
def test_the_tab_key_goes_through_the_cases_in_the_order_of_the_page(browser: Any, pages: dict[str, Path]) -> None:
    tab = browser.new_page()
    tab.goto(pages["run"].resolve().as_uri())
    tab.wait_for_selector("html[data-cases=ready]", timeout=60_000)
    assert tab.evaluate("[...document.querySelectorAll('[tabindex]')].every((node) => node.tabIndex <= 0)")
    tab.focus("#case-search")
    stops = []
    for _ in range(40):
        tab.keyboard.press("Tab")
        stops.append(tab.evaluate(FOCUS))
        if "quiet" in stops[-1]:
            break
    names = ("type", "flip", "occupation", "pronoun", "group", "correct", "sort", "link", "csv", "json", "list")
    assert stops == [f"case-{name}" for name in names] + ["quiet"], "filters, buttons, the list once, the chosen case"
    tab.close()


def test_every_axis_of_numbers_says_what_it_shows(
    planted_run: Path, mild_run: Path, cloze_runs: tuple[Path, Path], identity_run: Run
) -> None:
    compared = [compare(runs, Choices(permutations=20, resamples=20)) for runs in ([planted_run, mild_run], cloze_runs)]
    shown = [*(sections(run) for run in (Run(planted_run), Run(cloze_runs[0]), identity_run))]
    shown += [sections(comparison, COMPARED) for comparison in compared]
    charts = [chart for several in shown for section in several for chart in section.every(Chart)]
    assert len(charts) > 20
    for chart in charts:
        for panel in chart.panels:
            for axis in (panel.x, panel.y):
                is_drawn = not axis.hidden and not axis.names and not panel.polar
                is_squares = chart.topic == "squares"
                assert not is_drawn or is_squares or axis.label or any(axis.ends), f"{chart.title}: {panel.title}"
