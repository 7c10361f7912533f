"""Every state of the viewer in a real browser: what it shows, its address, the keyboard, and screen readers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.view import pages

Visit = Callable[..., Any]
Served = Callable[..., str]


def check(tab: Any) -> None:
    """Fail if axe finds a violation, or the page has not exactly one main heading."""
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(tab)
    assert results.violations_count == 0, results.generate_report()
    assert tab.get_by_role("heading", level=1).count() == 1


def press(tab: Any, key: str, until: str, most: int = 60) -> None:
    """Press a key until the focused element fits a selector."""
    for _ in range(most):
        tab.keyboard.press(key)
        if tab.evaluate("selector => document.activeElement.matches(selector)", until):
            return
    raise AssertionError(f"{until} is not reached with {key}")


def names(tab: Any) -> list[str]:
    return tab.locator("table.runs tbody tr:visible .place").all_inner_texts()


@pytest.mark.slow
def test_the_list_is_filtered_sorted_and_shared_by_its_address(served: Served, visit: Visit) -> None:
    address = served()
    tab = visit(address, bypass_csp=True)
    tab.wait_for_selector("html[data-list=ready]")
    assert sorted(names(tab)) == [f"suite/{name}" for name in ("alpha", "beta", "delta", "gamma")]
    check(tab)
    took = tab.evaluate(
        """() => { const box = document.querySelector("[name=q]"); box.value = "gamma"; const start = performance.now();
        box.dispatchEvent(new Event("input", {bubbles: true})); return performance.now() - start; }"""
    )
    assert names(tab) == ["suite/gamma"] and took < 100
    assert "q=gamma" in tab.url and tab.locator("#count").inner_text() == "1 of 4 runs"
    tab.fill("[name=q]", "")
    tab.get_by_role("button", name="sort by UCerF").click()
    assert names(tab) == [f"suite/{name}" for name in ("delta", "gamma", "beta", "alpha")]
    tab.get_by_role("button", name="sort by UCerF").click()
    tab.select_option("[name=dataset]", "builtin")
    again = visit(tab.url)
    again.wait_for_selector("html[data-list=ready]")
    assert names(again) == names(tab) == [f"suite/{name}" for name in ("alpha", "beta", "gamma", "delta")]
    assert again.locator("[name=dataset]").input_value() == "builtin"


@pytest.mark.slow
def test_a_long_list_is_searched_and_sorted_as_a_whole(
    served: Served, visit: Visit, some_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(pages._environment().globals, "most", 2)
    tab = visit(served(), bypass_csp=True)
    tab.wait_for_selector("html[data-list=ready]")
    assert len(names(tab)) == 2 and tab.locator("#count").inner_text() == "4 runs"
    tab.get_by_role("button", name="sort by UCerF").click()
    assert names(tab) == ["suite/delta", "suite/gamma"], "the first of all, not of those that were shown"
    tab.fill("[name=q]", "alpha")
    assert names(tab) == ["suite/alpha"] and not tab.locator("#more").is_visible()
    tab.fill("[name=q]", "")
    press(tab, "Tab", "#more")
    tab.keyboard.press("Enter")
    assert len(names(tab)) == 4 and "all=1" in tab.url
    assert tab.evaluate("document.activeElement.closest('tr').rowIndex") == 3, "where the reader was"
    again = visit(tab.url)
    again.wait_for_selector("html[data-list=ready]")
    assert names(again) == names(tab)
    check(tab)


@pytest.mark.slow
def test_runs_are_chosen_opened_and_compared_with_the_keyboard_alone(served: Served, visit: Visit) -> None:
    tab = visit(served(), bypass_csp=True)
    tab.wait_for_selector("html[data-list=ready]")
    press(tab, "Tab", "input[name=run]")
    tab.keyboard.press("Space")
    press(tab, "Tab", "input[name=run]")
    tab.keyboard.press("Space")
    assert tab.locator("#picked").inner_text() == "2 chosen."
    press(tab, "Shift+Tab", "button[type=submit]:not([formaction])")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#differing", timeout=30_000)
    assert tab.url.count("run=") == 2 and "sentences differently" in tab.inner_text("#differing")
    check(tab)
    press(tab, "Tab", "nav[aria-label=Viewer] a")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("table.runs")
    press(tab, "Tab", "table.runs a")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("html[data-cases=ready]", timeout=20_000)
    assert tab.get_by_role("heading", level=1).inner_text() == "planted"


LIVE = """
import sys, time
from equipoise.run import audit
audit("planted", out=sys.argv[1], limit=60, progress=lambda what, done, total: time.sleep(0.25 if done else 0))
"""


@pytest.mark.slow
def test_a_run_that_is_still_going_is_followed_to_its_end(
    served: Served, visit: Visit, some_runs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(some_runs / "suite" / "alpha", folder / "old")
    tab = visit(served(folder), bypass_csp=True)
    tab.wait_for_selector("html[data-list=ready]")
    assert names(tab) == ["old"]
    slow = "from equipoise.scoring.planted import PlantedEngine as P\nscore = P.score\n" + (
        "import time\nP.batches = lambda self, prompts: [[n] for n in range(len(prompts))]\n"
        "P.score = lambda self, batches: (time.sleep(0.1) or scores for scores in score(self, batches))\n"
    )
    with subprocess.Popen([sys.executable, "-c", slow + LIVE, str(folder / "new")]) as going:
        tab.wait_for_selector("tr[data-state=running] progress", timeout=60_000)
        assert names(tab)[0] == "new" and tab.locator("#count").inner_text() == "2 runs, 1 still going"
        check(tab)
        before = tab.locator("tr[data-state=running] progress").first.get_attribute("value")
        tab.wait_for_function(
            """before => { const bar = document.querySelector('tr[data-state=running] progress');
            return !bar || bar.value > before }""",
            arg=int(before or 0),
            timeout=30_000,
        )
        # First results: of whole sets, marked as such, without an interval and without a verdict.
        tab.wait_for_selector("tr[data-state=running] .so-far svg", timeout=60_000)
        row = tab.locator("tr[data-state=running]").first
        assert re.search(r"so far, \d+ of 60 sets", row.inner_text())
        assert row.locator(".interval").count() == 0 and row.get_attribute("data-status") == ""
        page = visit(str(row.locator("a").evaluate("link => link.href")), bypass_csp=True)
        assert "still going" in page.inner_text("main") and "so far," in page.inner_text("main")
        check(page)
        tab.wait_for_selector("tr[data-slug^=new][data-state=finished]", timeout=120_000)
        assert going.wait(60) == 0
        page.wait_for_selector("html[data-cases=ready]", timeout=60_000)
    assert tab.locator("tr[data-slug^=new] .dots svg").count() > 0
    assert tab.locator("tr[data-slug^=new] .so-far").count() == 0
    shutil.rmtree(folder / "old")
    tab.wait_for_function("() => !document.querySelector('tr[data-slug^=old]')", timeout=30_000)
