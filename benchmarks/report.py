"""How long does the page of a full-size run take, how large is it, and how quick is it in a browser?

python benchmarks/report.py [--prompts 245700] [--resamples 50] [--chromium /usr/bin/chromium] [--keep FOLDER]

The run is a real one of the planted engine, on the built-in sentences repeated with other beginnings.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from equipoise.datasets.builtin import load_builtin
from equipoise.datasets.dataset import Dataset
from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.scoring.planted.stereotype import PlantedEngine

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SEASONS = ("spring", "summer", "autumn", "winter")


def repeated(prompts: int) -> Dataset:
    """Return that many examples: the built-in pairs again and again, each time with another beginning."""
    base = load_builtin().examples
    examples = []
    for number in range(prompts // len(base) + 1):
        day, season = DAYS[number % 7], SEASONS[number // 7 % 4]
        start = f"On {day} in week {number // 28 + 1} of the {season}, as told: "
        for example in base:
            named = f"{example.set_id}-{number}"
            # The cluster too: else all repetitions of a sentence would be resampled as one.
            copy = replace(example, id=f"{example.id}-{number}", set_id=named, cluster_id=named)
            examples.append(replace(copy, text=start + example.text))
    return Dataset("repeated", tuple(examples[:prompts]), source="the built-in sentences, repeated", licence="CC0-1.0")


def in_browser(page: Path, chromium: str) -> None:
    """Print how long the page takes to its first paint, until its cases are there, and to filter them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        start = time.perf_counter()
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector("html[data-cases=ready]", timeout=60_000)
        ready = time.perf_counter() - start
        paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        tab.fill("#case-search", "nurse")
        tab.select_option("#case-correct", "0")
        tab.select_option("#case-sort", "d-down")
        times = tab.evaluate("performance.getEntriesByName('cases-filter').map((entry) => entry.duration)")
        print(f"first paint {paint:.0f} ms, cases ready {ready:.2f} s, filters {[round(one) for one in times]} ms")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=245_700)
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--chromium")
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary) / "run"
        if not (folder / "manifest.json").is_file():
            start = time.perf_counter()
            engine = PlantedEngine(strength=1.5, bias=0.8, noise=1.0)
            audit(engine, data=repeated(chosen.prompts), out=folder, resamples=chosen.resamples)
            print(f"audit of {chosen.prompts:,} prompts: {time.perf_counter() - start:.1f} s")
        start, busy = time.perf_counter(), time.process_time()
        page = write_run_page(Run(folder))
        wall, cpu = time.perf_counter() - start, time.process_time() - busy
        print(f"page: {wall:.1f} s ({cpu:.1f} s of processor time), {page.stat().st_size / 1e6:.2f} MB")
        if chosen.chromium:
            in_browser(page, chosen.chromium)


if __name__ == "__main__":
    main()
