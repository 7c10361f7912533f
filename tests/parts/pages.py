"""What tests read off a run's page in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Opened = Callable[..., Any]


def number_of_cases(tab: Any) -> int:
    """Return how many cases the page says that it shows."""
    found = re.match(r"([\d,]+) of", tab.inner_text("#case-count"))
    return int(found.group(1).replace(",", "")) if found else 0


def values(tab: Any, selector: str) -> list[float]:
    """Return the numbers that the elements show."""
    return [float(text) for text in tab.locator(selector).all_text_contents() if text != "–"]
