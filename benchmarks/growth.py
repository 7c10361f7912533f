"""How do time, memory and file sizes of a whole audit grow with its data? No model needed: a planted engine answers.

    python benchmarks/growth.py [--case 10000 100000 1000000 synthbias winoidentity] [--page] [--before OTHER/src]

A number is the rows of a user's table; `synthbias` and `winoidentity` need the real sentences (EQUIPOISE_DATA). Each
case is audited, audited again from its kept scores, and measured anew, each in a process of its own. `--before` names
the package folder of another version, which is measured in turn with this one. A command that takes longer than
`--cap` seconds is ended, and its case with it.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from shared.options import parsed

CASES = ("10000", "100000", "1000000", "synthbias", "winoidentity")
VERBS = ("told", "asked", "called", "met", "thanked", "helped", "paid", "hired", "warned", "visited")
ENDS = ("was late", "needed a rest", "had a plan", "was early", "wanted tea", "knew the way", "had the keys")


def write_table(path: Path, rows: int) -> None:
    """Write a table of that many rows: two pronouns a sentence, 45% ambiguous, no sentence twice."""
    from equipoise.datasets.occupations import OCCUPATIONS

    people = itertools.permutations(OCCUPATIONS, 2)
    sentences = itertools.product(VERBS, ENDS, people)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "pronoun", "option_1", "option_2", "gold", "type"))
        for number in range(rows // 2):
            verb, end, (first, second) = next(sentences, (VERBS[0], ENDS[0], ("nurse", "driver")))
            ambiguous = number % 20 < 9
            day = f"on day {number}"
            for pronoun in ("he", "she"):
                text = f"The {first} {verb} the {second} {day} because {pronoun} {end}."
                writer.writerow((text, pronoun, first, second, "" if ambiguous else first, 1 if ambiguous else 2))


class TooLongError(Exception):
    """A command took longer than it may."""


def timed(words: list[str], package: str, cap: float) -> dict[str, float]:
    """Return how long a command of Equipoise took, and the most memory that it held."""
    start = time.perf_counter()
    environment = {**os.environ, **({"PYTHONPATH": package} if package else {})}
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", "equipoise", *words], environment)
    alarm = threading.Timer(cap, os.kill, (child, signal.SIGKILL))
    alarm.start()
    _, status, used = os.wait4(child, 0)
    alarm.cancel()
    if os.waitstatus_to_exitcode(status) == -signal.SIGKILL:
        raise TooLongError(f"{words[0]}: not finished after {cap:.0f} s")
    if status:
        raise SystemExit(f"equipoise {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "GiB": round(used.ru_maxrss / 2**20, 2),
    }


def run(case: str, package: str, *, page: bool, cap: float) -> dict[str, object]:
    """Return what one case took with the package in that folder ("": the installed one), and its files' sizes."""
    made: dict[str, object] = {"case": case, "package": package or "installed"}
    with tempfile.TemporaryDirectory() as scratch:
        folder, data = Path(scratch) / "run", case
        if case.isdigit():
            data = str(Path(scratch) / f"table{case}.csv")
            write_table(Path(data), int(case))
        html = [] if page else ["--no-html"]
        words = ["audit", "planted:noise=1", "--data", data, "--out", str(folder), "--quiet", *html]
        again = ["measure", str(folder), "--quiet", *html]
        try:
            for name, command in (("audit", words), ("again", words), ("measure", again)):
                made[name] = timed(command, package, cap)
        except TooLongError as error:
            return {**made, "ended": str(error)}
        sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir()) if file.stat().st_size > 2**14}
        made["MB"] = {name: round(size / 1e6, 1) for name, size in sizes.items()}
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", default=list(CASES))
    parser.add_argument("--page", action="store_true", help="write report.html, too")
    parser.add_argument("--before", default="", help="package folder of another version, measured in turn")
    parser.add_argument("--cap", type=float, default=960, help="most seconds of a command")
    chosen = parsed(parser, case=["40"])
    for case in chosen.case:
        for package in filter(None, (chosen.before, "this")):
            folder = "" if package == "this" else package
            print(json.dumps(run(case, folder, page=chosen.page, cap=chosen.cap)), flush=True)


if __name__ == "__main__":
    main()
