"""How quick is the viewer over many runs, one of them large, and its box to ask, and how much memory does it take?

    python benchmarks/view.py [--runs 500] [--prompts 250000] [--times 5] [--keep FOLDER] [--model smollm2]

A real `equipoise view` is asked by Chromium. Its runs are planted: one on the built-in sentences, repeated, and copies
of a small one. With a model, words of a sentence are changed in the box, and its answers compared with `equipoise ask`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from report import WORDS, repeated
from shared.machine import chromium, opened
from shared.options import parsed

from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.view.ask_box import FIRST
from equipoise.view.index import slug_of

LARGE, SMALL = "large", "run-000"
CHANGED = ("tired", "early", "cold", "happy", "angry", "ill", "lost", "busy", "free", "new", "here")
"""What a sentence ends in, one after the other."""

SENTENCE = "The nurse told the farmer that she was {}."


def fill(folder: Path, chosen: argparse.Namespace) -> None:
    """Make the runs that are not there yet."""
    if not (folder / LARGE / "manifest.json").is_file():
        data = repeated(chosen.prompts)
        write_run_page(audit("planted:strength=1.5,bias=0.8,noise=1", data, out=folder / LARGE, resamples=20))
    if not (folder / SMALL / "manifest.json").is_file():
        write_run_page(audit("planted:strength=1.5,bias=0.4,noise=1", out=folder / SMALL, resamples=100))
    for number in range(1, chosen.runs - 1):
        copy = folder / f"run-{number:03}"
        if not copy.is_dir():
            shutil.copytree(folder / SMALL, copy, copy_function=os.link)
            # Not a link: each run's own file has its own time.
            (copy / "manifest.json").unlink()
            shutil.copyfile(folder / SMALL / "manifest.json", copy / "manifest.json")


@contextmanager
def viewing(folder: Path, model: str) -> Iterator[tuple[str, int]]:
    """Serve the folder by a command of its own, and give the address and the process."""
    command = [sys.executable, "-m", "equipoise", "view", str(folder), "--port", "0", "--quiet"]
    start = time.perf_counter()
    with subprocess.Popen(
        [*command, *(["--model", model] if model else [])], stdout=subprocess.PIPE, text=True
    ) as going:
        try:
            assert going.stdout is not None
            found = re.search(r"http://\S+/", going.stdout.readline())
            assert found is not None, "the viewer does not say where it is"
            print(f"start, until the address is printed: {time.perf_counter() - start:.2f} s")
            yield found[0], going.pid
        finally:
            going.kill()


def peak(process: int) -> int:
    """Return the most memory that a process has had, in MB; 0 where the system does not say."""
    status = Path(f"/proc/{process}/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.is_file() else None
    return int(found[1]) // 1000 if found else 0


def worked(process: int) -> float:
    """Return the processor time that a process has had, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tell(what: str, seconds: list[float]) -> None:
    """Print the median and the largest of some times."""
    print(f"{what}: median {1000 * median(seconds):.0f} ms, most {1000 * max(seconds):.0f} ms (n = {len(seconds)})")


def open_often(tab: Any, what: str, address: str, ready: str, times: int) -> None:
    """Print how long it takes each time to open an address: until something is painted, and until it is ready."""
    painted, seconds = [], []
    for _ in range(times):
        start = time.perf_counter()
        tab.goto(address)
        tab.wait_for_selector(ready, timeout=120_000)
        seconds.append(time.perf_counter() - start)
        painted.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000)
    tell(f"{what}, painted", painted)
    tell(f"{what}, ready", seconds)


def typed(tab: Any, box: str, words: tuple[str, ...]) -> list[float]:
    """Return how long the page takes for each letter that is typed into a box."""
    taken = """([box, text]) => { const field = document.querySelector(box); field.value = text;
    const start = performance.now(); field.dispatchEvent(new Event("input", {bubbles: true}));
    document.body.offsetHeight; return performance.now() - start; }"""
    texts = [word[:end] for word in words for end in range(1, len(word) + 1)]
    return [tab.evaluate(taken, [box, text]) / 1000 for text in texts]


def look(browser: Any, address: str, process: int, folder: Path, times: int) -> None:
    """Print the times of the list, of runs and of filters, and the memory of the viewer."""
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    open_often(tab, "list", address, "html[data-list=ready]", times)
    tell("filter of the list, a letter", typed(tab, "[name=q]", ("planted", "run-01", "difference found")))
    for what in (SMALL, LARGE):
        place = f"{address}run-{slug_of(folder / what, folder)}.html"
        open_often(tab, f"run ({what})", place, "html[data-cases=ready]", times)
    tab.evaluate("performance.clearMeasures()")
    for word in WORDS:
        tab.fill("#case-search", "")
        tab.locator("#case-search").press_sequentially(word)
    measures = tab.evaluate("performance.getEntriesByName('cases-filter').map((entry) => entry.duration)")
    tell("filter of the large run's cases, a letter", [value / 1000 for value in measures])
    print(f"memory of the viewer: {peak(process)} MB at most")


def ask(browser: Any, address: str, process: int, model: str, words: tuple[str, ...]) -> None:
    """Print how long a changed word takes until its bars are drawn, and how far they are from `equipoise ask`."""
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(f"{address}ask.html")
    ready = "sentence => document.documentElement.dataset.sentence === sentence"
    tab.wait_for_function(ready, arg=FIRST, timeout=600_000)
    seconds: list[float] = []
    before = worked(process)
    for word in words:
        sentence = SENTENCE.format(word)
        with tab.expect_response("**/ask.json", timeout=600_000) as heard:
            tab.fill("#ask-sentence", sentence)
        shown = heard.value.json()["answers"]
        tab.wait_for_function(ready, arg=sentence, timeout=600_000)
        seconds.append(tab.evaluate("Number(document.documentElement.dataset.asked)") / 1000)
    tell(f"a changed word in Ask ({model}), from the key to the bars", seconds)
    print(f"processor time of the viewer for it: {1000 * (worked(process) - before) / len(words):.0f} ms a word")
    # One sentence: several at once share a pass through the model, and differ by the rounding of that.
    command = [sys.executable, "-m", "equipoise", "ask", sentence, "--model", model, "--json", "--quiet"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    known = {answer["text"]: answer["probabilities"] for answer in shown}
    apart = [abs(a - b) for row in printed for a, b in zip(known[row["text"]], row["probs"], strict=True)]
    print(f"probabilities of the page and of equipoise ask: at most {max(apart):.1e} apart (n = {len(apart)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--prompts", type=int, default=250_000, help="of the large run")
    parser.add_argument("--times", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--words", type=int, default=len(CHANGED), help="how many words are changed")
    parser.add_argument("--model", default="smollm2", help="the model to ask; '' leaves it out")
    parser.add_argument("--chromium", default=chromium())
    parser.add_argument("--keep", type=Path, help="a folder for the runs, which can be used again")
    chosen = parsed(parser, runs=4, prompts=200, times=1, words=2, model="planted:bias=1")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (chosen.keep or Path(temporary) / "runs").resolve()
        fill(folder, chosen)
        if not chosen.chromium:
            print("without Chromium nothing is timed")
            return
        with opened(chosen.chromium) as browser:
            with viewing(folder, "") as (address, process):
                look(browser, address, process, folder, chosen.times)
            if chosen.model:
                with viewing(folder / SMALL, chosen.model) as (address, process):
                    ask(browser, address, process, chosen.model, CHANGED[: chosen.words])


if __name__ == "__main__":
    main()
