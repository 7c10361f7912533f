"""What do whole commands take, phase by phase, in processor time and memory, and how does it grow? No model needed.

    python benchmarks/whole.py [--case 10000 100000 1000000 synthbias winoidentity] [--runs 50] [--against OTHER_TREE]

A number is the rows of a user's table; `synthbias`, `winoidentity` and `winobias+synthbias` need the real sentences
(EQUIPOISE_DATA). A planted engine answers, or the model that `--model` names (`--model "smollm2 --dtype bfloat16"`).
Each command is a process of its own: `audit` without a page, the same again from its kept scores, `measure`, `report`,
`compare` of two such runs, `--help`, and a leaderboard of `--runs` small runs. With `--every` come all others that read
a run or a table. `--against` names another checkout, which is measured in turn with this one. A command that takes
longer than `--cap` seconds is ended, and its case with it. Seconds are of the processor, those of copies of the process
included; `clock` is what a user waits. With `--clock` all phases are by the clock. What is in no phase is start:
Python, imports, and the rest. GiB is the most memory that all processes of a command have held together (each page
once), looked at twice a second.
"""

from __future__ import annotations

import argparse
import csv
import functools
import importlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shared.options import parsed

ROOT = Path(__file__).resolve().parent.parent
CASES = ("10000", "100000", "1000000", "synthbias", "winoidentity")
VERBS = ("told", "asked", "called", "met", "thanked", "helped", "paid", "hired", "warned", "visited")
ENDS = ("was late", "needed a rest", "had a plan", "was early", "wanted tea", "knew the way", "had the keys")
BY_CLOCK = "WHOLE_BY_CLOCK"
LOOK_EVERY = 0.5
"""Seconds between two looks at the memory of a command."""

PHASES = ("start", "load", "plan", "score", "measure", "write", "page")
WATCHED = {
    "equipoise.settings:Settings.datasets": "load",
    "equipoise.run:open_engine": "load",
    "equipoise.runs.folder:RunFolder.frame": "load",
    "equipoise.runs.folder:RunFolder.table": "load",
    "equipoise.runs.folder:RunFolder.outcomes_of": "load",
    "equipoise.run:asked_as_needed": "plan",
    "equipoise.scoring.score_store:ScoreStore._score": "score",
    "equipoise.run:measured_tables": "measure",
    "equipoise.runs.folder:RunFolder.commit": "write",
    "equipoise.report:run_page": "page",
    "equipoise.report:comparison_page": "page",
}
"""What is timed -> its phase; a phase within another one counts by itself."""


def processor_time() -> float:
    """Return the processor time of this process, and of its copies that have ended."""
    return sum(os.times()[:4])


class Clock:
    """Adds up the time of each phase."""

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read
        self.spent: Counter[str] = Counter()
        self._stack = ["start"]
        self._last = 0.0 if read is processor_time else read()

    def turn(self, phase: str | None) -> None:
        """Begin a phase within the current one; None ends it."""
        now = self._read()
        self.spent[self._stack[-1]] += now - self._last
        self._last = now
        if phase is None:
            self._stack.pop()
        else:
            self._stack.append(phase)

    def timed(self, function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        """Return the function, timed."""

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            self.turn(phase)
            try:
                return function(*arguments, **named)
            finally:
                self.turn(None)

        return call


def inside(words: Sequence[str], note: Path) -> None:
    """Run a command in this process, and note what each phase took."""
    begun = time.monotonic()
    clock = Clock(time.monotonic if BY_CLOCK in os.environ else processor_time)
    if words[0] in ("audit", "measure", "report", "compare"):
        for place, phase in WATCHED.items():
            module, _, name = place.partition(":")
            if phase == "page" and words[0] not in ("report", "compare"):
                continue  # it would be imported for nothing
            owner: Any = importlib.import_module(module)
            *path, last = name.split(".")
            for part in path:
                owner = getattr(owner, part)
            if hasattr(owner, last):  # another tree may not have it
                setattr(owner, last, clock.timed(getattr(owner, last), phase))
    sys.argv = ["equipoise", *words]
    from equipoise.__main__ import main

    code: Any = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    clock.turn("start")
    facts = {"code": code or 0, "clock": time.monotonic() - begun, **clock.spent}
    note.write_text(json.dumps(facts), encoding="utf-8")


def run(words: Sequence[str], tree: Path, cap: float) -> dict[str, float] | None:
    """Return what each phase of a command took with a tree's package, and its memory; None where it took too long."""
    with tempfile.TemporaryDirectory() as scratch:
        note = Path(scratch) / "note.json"
        command = [sys.executable, __file__, "--inside", str(note), *words]
        environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
        begun, most = time.monotonic(), 0.0
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None:
                most = max(most, held_by(process.pid))
                if time.monotonic() - begun > cap:
                    process.kill()
                    return None
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK_EVERY)
        taken: dict[str, float] = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else {"code": 1}
    if taken.pop("code"):
        raise SystemExit(f"equipoise {' '.join(words)} failed")
    return {**taken, "GiB": most}


def held_by(process: int) -> float:
    """Return the GiB that a process and all that it has started hold together; what they share counts once."""
    started: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            started.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
    family = [process]
    for member in family:
        family += started.get(member, [])
    total = 0
    for member in family:
        with suppress(OSError, ValueError):
            rollup = Path(f"/proc/{member}/smaps_rollup").read_text()
            total += int(rollup.partition("\nPss:")[2].split()[0])
    return total / 2**20


def write_table(path: Path, rows: int) -> None:
    """Write a table of that many rows: each sentence with two pronouns, 45% ambiguous, no sentence twice."""
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


def commands(case: str, folder: Path, model: str, *, every: bool) -> list[tuple[str, list[str]]]:
    """Return the commands of a case by name; its runs go into the folder."""
    names = case.split("+")
    if case.isdigit():
        table = folder.parent / f"table{case}.csv"
        if not table.is_file():
            write_table(table, int(case))
        names = [str(table)]
    data = [word for name in names for word in ("--data", name)]
    first, second = (str(folder / name) for name in ("first", "second"))
    quick = ["--quiet", "--no-html"]
    if model:
        audit = ["audit", *model.split(), *data, "--out", first, "--quiet"]
        measured = [("audit", audit), ("measure", ["measure", first, *quick])]
        return [*measured, ("report", ["report", first, "--quiet"])]
    audit = ["audit", "planted:noise=1", *data, "--out", first, *quick]
    other = ["audit", "planted:noise=1,seed=2", *data, "--out", second, *quick]
    usual = [
        ("audit", audit),
        ("audit again", audit),
        ("measure", ["measure", first, *quick]),
        ("report", ["report", first, "--quiet"]),
        ("(second run)", other),
        ("compare", ["compare", first, second, "--out", str(folder / "compare.html"), "--quiet"]),
    ]
    return [*usual, *further_commands(names[0], data, folder)] if every else usual


def further_commands(name: str, data: list[str], folder: Path) -> list[tuple[str, list[str]]]:
    """Return the other commands that read the first run, or its table."""
    first, third = str(folder / "first"), str(folder / "third")
    suite = folder / "suite.toml"
    models = ["planted:noise=1", "planted:noise=1,seed=2"]
    suite.parent.mkdir(parents=True, exist_ok=True)
    suite.write_text(f"models = {models}\ntask = ['next-word']\ndata = [{name!r}]\nout = {str(folder / 'suite')!r}\n")
    return [
        ("audit with its page", ["audit", "planted:noise=1,seed=3", *data, "--out", third, "--quiet"]),
        ("audit --cluster auto", ["audit", models[1], *data, "--out", f"{third}c", "--cluster", "auto", "--quiet"]),
        ("verify", ["verify", first, "--quiet"]),
        ("gate", ["gate", first, "--require", "ucerf[type=type2] >= 0", "--undecided", "pass", "--insist", "--quiet"]),
        ("report --where", ["report", first, "--where", "gender=female", "--out", f"{first}-part", "--quiet"]),
        ("report --as figures", ["report", first, "--as", "figures", "--out", f"{first}-figures", "--quiet"]),
        ("report --as tables", ["report", first, "--as", "tables", "--out", f"{first}-tables", "--quiet"]),
        ("report --as card", ["report", first, "--as", "card", "--out", f"{first}.md", "--quiet"]),
        ("study estimators", ["study", "estimators", first, "--out", f"{first}-study", "--quiet"]),
        ("leaderboard of both", ["leaderboard", first, third, "--out", str(folder / "site"), "--quiet"]),
        ("suite of two models", ["suite", str(suite), "--quiet"]),
        ("data check", ["data", "check", name]),
        ("data export", ["data", "export", name, "--out", str(folder / "data"), "--private", "--quiet"]),
        ("export lm-eval", ["export", "lm-eval", *data, "--out", str(folder / "tasks")]),
    ]


def show(case: str, name: str, tree: str, taken: dict[str, float] | None, cap: float) -> None:
    """Print a row of the table."""
    if taken is None:
        print(f"| {case} | {name} | {tree} | not finished in {cap:.0f} s |", flush=True)
        return
    total = sum(taken.get(phase, 0.0) for phase in PHASES)
    cells = [f"{taken[phase]:.1f}" if phase in taken else "" for phase in PHASES]
    shown = [f"{total:.1f}", *cells, f"{taken['clock']:.1f}", f"{taken['GiB']:.2f}"]
    print(f"| {case} | {name} | {tree} | {' | '.join(shown)} |", flush=True)


def small_runs(folder: Path, count: int) -> Path:
    """Return a folder with that many small runs, each with its page."""
    from equipoise.report import write_run_page
    from equipoise.run import audit

    for seed in range(count):
        made = audit(f"planted:noise=1,seed={seed}", data="builtin", limit=40, resamples=100, out=folder / f"run{seed}")
        write_run_page(made)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", default=list(CASES))
    parser.add_argument("--runs", type=int, default=50, help="runs of the leaderboard; 0: none")
    parser.add_argument("--every", action="store_true", help="all commands that read a run or a table")
    parser.add_argument("--model", default="", help="the model to audit, with its options; default: a planted engine")
    parser.add_argument("--clock", action="store_true", help="phases by the clock instead of processor time")
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn")
    parser.add_argument("--cap", type=float, default=960, help="most seconds of a command")
    chosen = parsed(parser, case=["40"], runs=2)
    if chosen.clock:
        os.environ[BY_CLOCK] = "1"
    trees = {**({"before": chosen.against.resolve()} if chosen.against else {}), "now": ROOT}
    titles = ("case", "command", "tree", "all", *PHASES, "clock", "GiB")
    print(f"| {' | '.join(titles)} |\n|---|---|---|{'---:|' * (len(titles) - 3)}")
    with tempfile.TemporaryDirectory() as scratch:
        for name, tree in trees.items():
            show("", "--help", name, run(["--help"], tree, chosen.cap), chosen.cap)
        if chosen.runs:
            runs = small_runs(Path(scratch) / "small", chosen.runs)
            for name, tree in trees.items():
                words = ["leaderboard", str(runs), "--out", str(Path(scratch) / f"site-{name}"), "--quiet"]
                show(f"{chosen.runs} runs", "leaderboard", name, run(words, tree, chosen.cap), chosen.cap)
        for case in chosen.case:
            going = dict(trees)
            listed = {
                name: commands(case, Path(scratch) / f"{case}-{name}", chosen.model, every=chosen.every)
                for name in trees
            }
            for place, (command, _) in enumerate(listed["now"]):
                for name, tree in list(going.items()):
                    taken = run(listed[name][place][1], tree, chosen.cap)
                    show(case, command, name, taken, chosen.cap)
                    if taken is None:
                        del going[name]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[3:], Path(sys.argv[2]))
    else:
        main()
