"""Every page and state of the viewer: rules for screen readers (axe), light and dark, wide and narrow; the Tab key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.view.index import slug_of
from equipoise.view.making import Maker

pytestmark = pytest.mark.slow

Served = Callable[..., str]

STRICT = {"rules": {"label-content-name-mismatch": {"enabled": True}}}

STATES = {
    "the list": "",
    "a search without a hit": "?q=nothing-has-this",
    "runs that are chosen": "?run={alpha}&run={beta}",
    "a run": "run-{alpha}.html",
    "a comparison": "compare.html?run={alpha}&run={beta}",
    "one run to compare": "compare.html?run={alpha}",
    "all histories": "histories.html",
    "a history": "history.html?model=planted",
    "a history of one run": "history.html?run={alpha}",
    "asking without a model": "ask.html",
    "cases to start from": "ask.html?from_run={alpha}",
    "no case to start from": "ask.html?from_run={alpha}&find=nothing-has-this",
    "a page that does not exist": "nothing.html",
}


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(bypass_csp=True)
    yield context.new_page()
    context.close()


def check(tab: Any) -> None:
    """Fail if axe finds a violation, wide or narrow, light or dark, or something is wider than a phone."""
    from axe_playwright_python.sync_playwright import Axe

    assert tab.get_by_role("heading", level=1).count() == 1
    for scheme, width in (("light", 1440), ("dark", 390)):
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.set_viewport_size({"width": width, "height": 900})
        found = Axe().run(tab, options=STRICT)
        assert found.violations_count == 0, found.generate_report()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_in_any_state(served: Served, tab: Any, some_runs: Path, state: str) -> None:
    slugs = {name: slug_of(some_runs / "suite" / name, some_runs) for name in ("alpha", "beta")}
    tab.goto(served() + STATES[state].format(**slugs))
    if state in ("a comparison", "a history"):
        tab.wait_for_selector("section", timeout=120_000)
    check(tab)


def test_axe_finds_nothing_in_an_empty_list_and_while_a_page_is_made(
    served: Served, tab: Any, some_runs: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    tab.goto(served(tmp_path / "empty"))
    assert "no runs here yet" in tab.inner_text("main")
    check(tab)
    maker, free = Maker(), threading.Event()
    maker._worker.submit(free.wait, 120)
    address = served(maker=maker)
    tab.goto(f"{address}run-{slug_of(some_runs / 'suite' / 'alpha', some_runs)}.html")
    assert "is being made" in tab.inner_text("main")
    check(tab)
    free.set()
    tab.wait_for_selector("html[data-cases=ready]", timeout=60_000)


def test_the_tab_key_goes_through_the_list_in_the_order_of_the_page(served: Served, tab: Any) -> None:
    tab.goto(served())
    tab.wait_for_selector("html[data-list=ready]")
    assert tab.evaluate("[...document.querySelectorAll('[tabindex]')].every((node) => node.tabIndex <= 0)")
    places = []
    for _ in range(60):
        tab.keyboard.press("Tab")
        place = tab.evaluate(
            """() => { const at = document.activeElement, all = [...document.querySelectorAll("*")];
            if (at === document.body) return null;
            return [all.indexOf(at), at.className || at.name || at.id || at.textContent]; }"""
        )
        if place is None:
            break
        places.append(place)
    names = [name for _, name in places]
    assert [place for place, _ in places] == sorted(place for place, _ in places), names
    assert names[:2] == ["skip", "Runs"] and names.index("q") < names.index("dataset") < names.index("run")
    assert names.count("run") == 4, "each run has one box to tick"
