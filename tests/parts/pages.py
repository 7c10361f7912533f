"""What tests read off a run's page in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Opened = Callable[..., Any]


def number_of_cases(tab: Any) -> int:
    """Return how many cases the page says that it shows."""
    found = re.match(r"([\d,]+) of", tab.inner_text("#case-count"))
    return int(found.group(1).replace(",", "")) if found else 0


def values(tab: Any, selector: str) -> list[float]:
    """Return the numbers that the elements show."""
    return [float(text) for text in tab.locator(selector).all_text_contents() if text != "–"]


def walked(tab: Any, most: int = 1000) -> Iterator[Any]:
    """Yield the chosen case of the browser, then each next one: the arrow keys walk through the list."""
    tab.focus("#case-list")
    for number in range(min(most, int(tab.locator("#case-list [role=option]").first.get_attribute("aria-setsize")))):
        tab.keyboard.press("ArrowDown" if number else "Home")
        yield tab.locator("#case-detail .case")


def charts_without_values(tab: Any) -> list[str]:
    """Return the names of the charts of a page that have no table of their numbers; every table is then open."""
    script = """() => {
      for (const box of document.querySelectorAll("details")) box.open = true;
      return new Promise((done) => setTimeout(() => done(
        [...document.querySelectorAll("svg.chart")].filter((chart) => {
          const box = chart.closest(".several, .map") || chart.closest("figure");
          return !box || !box.querySelector(".values tbody tr th[scope=row]");
        }).map((chart) => chart.getAttribute("aria-label"))
      ), 0));
    }"""
    return list(tab.evaluate(script))
