"""Measure a page in Chromium: python benchmarks/browser.py PAGE --chromium /usr/bin/chromium.

Prints the first paint, the time until the cases are ready, and the time that the filter takes for each keystroke.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

WORDS = ("nurse", "because", "physician she")


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--times", type=int, default=3, help="how often the page is opened")
    chosen = parser.parse_args()
    paints, readies, filters = [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chosen.chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(chosen.times):
            tab = browser.new_page(viewport={"width": 1440, "height": 900})
            tab.goto(chosen.page.resolve().as_uri())
            tab.wait_for_selector("html[data-cases=ready]", timeout=120_000)
            readies.append(tab.evaluate("performance.getEntriesByName('cases-filter')[0].startTime"))
            paints.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            filters += _keystrokes(tab)
            tab.close()
        browser.close()
    print(f"first paint: median {statistics.median(paints):.0f} ms, most {max(paints):.0f} ms ({len(paints)} times)")
    print(f"cases unpacked: median {statistics.median(readies):.0f} ms after the start")
    print(f"filter: median {statistics.median(filters):.0f} ms, most {max(filters):.0f} ms ({len(filters)} keystrokes)")


def _keystrokes(tab: Any) -> list[float]:
    """Return how long the filter and the drawing of its rows took for each key that was pressed."""
    tab.evaluate("performance.clearMeasures()")
    for word in WORDS:
        tab.fill("#case-search", "")
        tab.locator("#case-search").press_sequentially(word)
    times: list[float] = tab.evaluate("performance.getEntriesByName('cases-filter').map((entry) => entry.duration)")
    return times


if __name__ == "__main__":
    main()
