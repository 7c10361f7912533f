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
