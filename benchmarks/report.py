"""How long does the page of a full-size run take, how large is it, and how quick is it in a browser?

    python benchmarks/report.py [--prompts 245700] [--resamples 50] [--keep FOLDER]
    python benchmarks/report.py --page PAGE [--times 5]

The run is a real one of the planted engine, on the built-in sentences repeated with other beginnings.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from shared.machine import chromium, opened
from shared.options import parsed

from equipoise.datasets.builtin import load_builtin
from equipoise.datasets.dataset import Dataset
from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs import Run

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WORDS = ("nurse", "because", "physician she")
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


def in_browser(page: Path, chromium: str, times: int) -> None:
    """Print the first paint, the time until the cases are there, and the time of the filter for each keystroke."""
    paints, readies, filters = [], [], []
    with opened(chromium) as browser:
        for _ in range(times):
            tab = browser.new_page(viewport={"width": 1440, "height": 900})
            tab.goto(page.resolve().as_uri())
            tab.wait_for_selector("html[data-cases=ready]", timeout=120_000)
            readies.append(tab.evaluate("performance.getEntriesByName('cases-filter')[0].startTime"))
            paints.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            tab.evaluate("performance.clearMeasures()")
            for word in WORDS:
                tab.fill("#case-search", "")
                tab.locator("#case-search").press_sequentially(word)
            measures = "performance.getEntriesByName('cases-filter').map((entry) => entry.duration)"
            filters += tab.evaluate(measures)
            tab.close()
    for what, values in (("first paint", paints), ("cases ready", readies), ("filter, a keystroke", filters)):
        print(f"{what}: median {median(values):.0f} ms, most {max(values):.0f} ms (n = {len(values)})")


def made(folder: Path, prompts: int, resamples: int) -> Path:
    """Return the page of a planted run, after printing how long it took and how large it is."""
    if not (folder / "manifest.json").is_file():
        start = time.perf_counter()
        audit("planted:strength=1.5,bias=0.8,noise=1", data=repeated(prompts), out=folder, resamples=resamples)
        print(f"audit of {prompts:,} prompts: {time.perf_counter() - start:.1f} s")
    start, busy = time.perf_counter(), time.process_time()
    page = write_run_page(Run(folder))
    wall, cpu = time.perf_counter() - start, time.process_time() - busy
    print(f"page: {wall:.1f} s ({cpu:.1f} s of processor time), {page.stat().st_size / 1e6:.2f} MB")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, help="a page that exists, instead of one of a planted run")
    parser.add_argument("--prompts", type=int, default=245_700)
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--chromium", default=chromium(), help="opens the page; '' leaves the browser out")
    parser.add_argument("--times", type=int, default=3, help="how often the page is opened")
    parser.add_argument("--keep", type=Path)
    chosen = parsed(parser, prompts=200, resamples=5, times=1)
    with tempfile.TemporaryDirectory() as temporary:
        page = chosen.page or made(chosen.keep or Path(temporary) / "run", chosen.prompts, chosen.resamples)
        if chosen.chromium:
            in_browser(page, chosen.chromium, chosen.times)


if __name__ == "__main__":
    main()
