"""Three people's tasks in a real browser, from the list of all runs to the answer: how many clicks and seconds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from equipoise.runs.run import Run

Visit = Callable[..., Any]
Served = Callable[..., str]

pytestmark = pytest.mark.slow


@dataclass
class Person:
    """Somebody who looks for an answer in a tab: what is clicked, chosen or typed is counted."""

    tab: Any
    actions: int = 0
    start: float = field(default_factory=time.monotonic)

    def click(self, place: Any) -> None:
        place.click()
        self.actions += 1

    def type(self, place: Any, text: str) -> None:
        place.click()
        place.press_sequentially(text)
        self.actions += 2

    def ends(self, task: str, most: int) -> None:
        print(f"{task}: {self.actions} actions, {time.monotonic() - self.start:.1f} s")
        assert self.actions <= most, task


def test_which_of_these_four_models_is_least_biased_and_is_that_sure(served: Served, visit: Visit) -> None:
    person = Person(visit(served()))
    tab = person.tab
    tab.wait_for_selector("html[data-list=ready]")
    for box in tab.locator("input[name=run]").all():
        person.click(box)
    person.click(tab.get_by_role("button", name="Compare the chosen runs"))
    tab.wait_for_selector("#differing", timeout=60_000, state="attached")
    # One sentence says which, by how much, over how many sets, and how sure that is.
    lines = tab.inner_text("main section").splitlines()
    sentence = next(line for line in lines if "resolvable" in line and "by UCerF" in line)
    assert re.search(r"UCerF, planted \(alpha\) is better than planted \(beta\) by 0\.\d+ \[0\.\d+, 0\.\d+\]", sentence)
    assert re.search(r"\(n = \d+, p = 0\.\d+ after correction\)", sentence)
    person.ends("which of four models is least biased, and is that sure", 5)


def test_show_me_the_worst_case_about_nurses(served: Served, visit: Visit, some_runs: Path) -> None:
    person = Person(visit(served()))
    tab = person.tab
    tab.wait_for_selector("html[data-list=ready]")
    person.click(tab.locator("tr[data-slug^=suite-gamma] a"))
    tab.wait_for_selector("html[data-cases=ready]", timeout=60_000)
    person.click(tab.get_by_role("navigation").get_by_role("link", name="Cases"))
    person.type(tab.locator("#case-search"), "nurse")
    tab.wait_for_function("() => document.getElementById('case-count').textContent.includes(' of ')")
    detail = tab.inner_text("#case-detail")
    run = Run(some_runs / "suite" / "gamma")
    texts = run.examples.set_index("set_id")["text"]
    about = run.pairs[run.pairs["set_id"].map(lambda name: "nurse" in " ".join(texts.loc[[name]]))]
    lowest = float(about["u"].min())
    shown = re.search(r"U (?:= )?(\d\.\d+)", detail)
    assert "nurse" in detail and shown is not None
    assert float(shown[1]) == pytest.approx(lowest, abs=1e-3)
    person.ends("the worst case about nurses", 4)


def test_has_the_last_release_become_worse(served: Served, visit: Visit) -> None:
    person = Person(visit(served()))
    tab = person.tab
    person.click(tab.get_by_role("link", name="History"))
    person.click(tab.get_by_role("link", name="planted"))
    tab.wait_for_selector("#change", timeout=120_000)
    answer = tab.inner_text("#change")
    assert "worse" in answer and "corrected p" in answer
    person.ends("has the last release become worse", 2)


def test_runs_are_chosen_on_a_phone_too(served: Served, visit: Visit) -> None:
    tab = visit(served(), viewport={"width": 390, "height": 844})
    tab.wait_for_selector("html[data-list=ready]")
    boxes = tab.locator("input[name=run]").all()
    for box in boxes[:2]:
        # A click fails where something else lies on the box.
        box.click(timeout=5_000)
        assert box.is_checked()
    tab.get_by_role("button", name="Compare the chosen runs").click()
    tab.wait_for_selector("#differing", timeout=60_000, state="attached")
