"""Do the tests notice small mistakes? Makes one at a time anywhere in the package, runs tests, and counts survivors.

python benchmarks/mutations.py [--count 150] [--seed 0] [--results results.jsonl] [--only stats media] [--workers 1]

Modules are drawn in a random order, each once before any comes again; then a kind of mistake, then one of that kind.
First every test file is run once without a mistake: which functions it calls, how long it takes, and which of its tests
fail on this machine anyway. Then, for each mistake, the module's own tests come first (tests/test_mirror.py says
which), then those files of its room that call the function, then all others that do, the kept texts and the tests of
the whole package first; all without the slow ones. A mistake is killed when a test fails that passes without it, or
when tests take five times the processor time. Everything runs on copies of the tree. What was tried is kept in the
results, one line each, at once: the same command goes on where it stopped. `--try FILE` tries the mistakes of such a
file again, or those written by hand: module, before and after, as in named_mutations.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import re
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shared.mutants import Mutant, mutants
from shared.options import parsed
from shared.tree import PACKAGE, QUICK, Known, Tree, function_at, in_processes

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutations.toml")
HEAVY = (
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "torch",
    "transformers",
    "pytest",
    "rich.console",
    "typer",
)
"""What takes long to import and is not ours: imported once, and inherited by the process of every mistake."""
KEPT = ("planted_headlines", "kept_texts")
"""What the test files that compare kept texts import."""


class Mistake(NamedTuple):
    """A mutant of a module, with its number in the sample."""

    number: int
    module: str
    mutant: Mutant


def modules(root: Path) -> list[str]:
    """Return the modules of the package by their paths in it; migrations are history."""
    files = (file.relative_to(root / PACKAGE) for file in sorted((root / PACKAGE).rglob("*.py")))
    return [file.as_posix() for file in files if "migrations" not in file.parts]


def drawn(root: Path, count: int, seed: int, only: Sequence[str]) -> Iterator[Mistake]:
    """Yield the sample of a seed: modules in random order, of each one kind, of that one mutant."""
    rng, equivalent = random.Random(seed), tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutation"]
    names = [name for name in modules(root) if not only or name.partition("/")[0] in only]
    number = 0
    while number < count:
        for name in rng.sample(names, len(names)):
            text = (root / PACKAGE / name).read_text(encoding="utf-8")
            by_kind: dict[str, list[Mutant]] = {}
            for mutant in mutants(text):
                if not any(is_listed(row, name, mutant, text) for row in equivalent):
                    by_kind.setdefault(mutant.kind, []).append(mutant)
            mutant = rng.choice(by_kind[rng.choice(sorted(by_kind))]) if by_kind else None
            if mutant is None or not mutant.changes(text):
                continue
            number += 1
            yield Mistake(number, name, mutant)
            if number == count:
                return


def is_listed(row: dict[str, str], module: str, mutant: Mutant, text: str) -> bool:
    """Return whether a row of the list of equivalent mutations is about this mutant."""
    if (row["module"], row["before"], row["after"]) != (module, mutant.before, mutant.after):
        return False
    return row.get("line", "") in text.splitlines()[mutant.line - 1]


def written(root: Path, file: Path) -> Iterator[Mistake]:
    """Yield the mistakes of a file of results, or written by hand; the text before must be there."""
    rows = rows_of(file)
    for number, row in enumerate([row for row in rows if "module" in row and row.get("state") != "killed"], 1):
        text = (root / PACKAGE / row["module"]).read_text(encoding="utf-8")
        same = [m for m in mutants(text) if (m.before, m.after) == (row["before"], row["after"])]
        by_hand = Mutant(
            "by hand",
            text[: text.find(row["before"])].count("\n") + 1,
            row["before"],
            row["after"],
            text.replace(row["before"], row["after"], 1),
        )
        if row["before"] not in text:
            print(f"{row['module']}: {row['before']!r} is not there any more")
            continue
        yield Mistake(number, row["module"], min(same, key=lambda m: abs(m.line - row.get("line", 0)), default=by_hand))


def own_tests(root: Path, module: str) -> list[str]:
    """Return the test files of a module: its mirror, or those that test_mirror.py names instead."""
    sys.path.insert(0, str(root / "tests"))
    mirror = importlib.import_module("test_mirror")
    sys.path.pop(0)
    names = [mirror.mirrored(module)]
    folder = module.rpartition("/")[0]
    for name in re.findall(r"[\w/]*test_\w+\.py", mirror.TESTED_THROUGH.get(module, "")):
        names += [name, f"{folder}/{name}"]
        folder = name.rpartition("/")[0] or folder
    return [f"tests/{name}" for name in dict.fromkeys(names) if (root / "tests" / name).is_file()]


def room_tests(root: Path, module: str) -> list[str]:
    """Return all test files of a module's room: those that name the module first, then its folder's."""
    folder, _, name = module.removesuffix(".py").removesuffix("/__init__").rpartition("/")
    room = root / "tests" / folder.partition("/")[0]
    files = room.rglob("test_*.py") if folder and room.is_dir() else (root / "tests").glob("test_*.py")
    near = re.compile(rf"\b{re.escape(folder.replace('/', '.'))}\.{name}\b|\bimport .*\b{name}\b")

    def distance(file: Path) -> tuple[bool, bool, str]:
        inside = file.parent == root / "tests" / folder
        return not near.search(file.read_text(encoding="utf-8")), not inside, file.as_posix()

    return [file.relative_to(root).as_posix() for file in sorted(files, key=distance)]


def stages(root: Path, mistake: Mistake, known: dict[str, Known], budget: float) -> Iterator[tuple[str, list[str]]]:
    """Yield what is run for a mistake: the module's own tests, its room's, and all others that reach it."""
    own = [name for name in own_tests(root, mistake.module) if name in known]
    yield "own", own
    line = function_at((root / PACKAGE / mistake.module).read_text(encoding="utf-8"), mistake.mutant.line)
    reaching = {name for name, facts in known.items() if facts.usable and (mistake.module, line) in facts.reached}
    room = [
        name for name in room_tests(root, mistake.module) if name in known and name not in own and known[name].usable
    ]
    # What only other processes call is seen in no file: then the whole room is run.
    yield "room", within_budget([name for name in room if name in reaching or not reaching], known, budget)
    rest = sorted(reaching - {*own, *room}, key=lambda name: (nearness(root / name), known[name].seconds, name))
    yield "package", within_budget(rest, known, budget)


def within_budget(names: Sequence[str], known: dict[str, Known], budget: float) -> list[str]:
    """Return the first of some test files that take no longer together than the budget."""
    kept, total = [], 0.0
    for name in names:
        total += known[name].seconds
        if kept and total > budget:
            break
        kept.append(name)
    return kept


def nearness(file: Path) -> int:
    """Return 0 for a test file that compares kept texts of the whole package, 1 for one about either, 2 for others."""
    compares_kept = any(name in file.read_text(encoding="utf-8") for name in KEPT)
    return 2 - compares_kept - (file.parent.name == "tests")


def tried(tree: Tree, mistake: Mistake, known: dict[str, Known], budget: float) -> dict[str, Any]:
    """Return what became of a mistake: killed by its own tests, the room's or the package's, or survived."""
    begun = time.monotonic()
    text = (ROOT / PACKAGE / mistake.module).read_text(encoding="utf-8")
    state, by, where = "survived", "", ""
    for where, names in stages(ROOT, mistake, known, budget):
        if not names:
            continue
        left_out = [f"--deselect={failed}" for name in names for failed in known[name].failed]
        limit = 20 + 5 * sum(known[name].seconds for name in names)
        tree.write(mistake.module, mistake.mutant.source)
        code, by = tree.tests(names, limit, *QUICK, *left_out)
        if code == 5 and where == "own":  # the file has slow tests alone
            code, by = tree.tests(names, limit * 5, *left_out)
        if code not in (0, 5):
            tree.write(mistake.module, text)
            # A failing test counts if it passes without the mistake; running into the limit counts as it is.
            plain = 0 if code is None else tree.tests([by] if "::" in by else names, limit, *left_out)[0]
            state = "killed" if plain == 0 else "broken"
            break
    tree.write(mistake.module, text)
    facts = mistake.mutant._asdict() | {"number": mistake.number, "module": mistake.module, "state": state}
    del facts["source"]
    return facts | {"where": where if by else "", "by": by, "seconds": round(time.monotonic() - begun, 1)}


def tree_hash() -> str:
    """Return a hash of the package and its tests: a sample is of one state of both."""
    files = [file for name in ("src", "tests") for file in sorted((ROOT / name).rglob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return how many were killed, by room and by kind, and each survivor."""
    lines = []
    for title, key in (
        ("room", lambda row: row["module"].rpartition("/")[0].partition("/")[0]),
        ("kind", lambda row: row["kind"]),
    ):
        every, dead = Counter(map(key, rows)), Counter(key(row) for row in rows if row["state"] == "killed")
        lines += [
            f"{title}: " + ", ".join(f"{name or 'root'} {dead[name]}/{every[name]}" for name in sorted(every)),
            "",
        ]
    for row in rows:
        if row["state"] != "killed":
            lines.append(
                f"{row['state']}: {row['module']}:{row['line']} ({row['kind']})  {row['before']!r} -> {row['after']!r}"
            )
    killed = [row for row in rows if row["state"] == "killed"]
    own = sum(row["where"] == "own" for row in killed)
    lines.append(
        f"{len(killed)} of {len(rows)} killed ({len(killed) / max(len(rows), 1):.1%}), {own} by the module's own tests"
    )
    return "\n".join(lines)


def test_files() -> list[str]:
    """Return every test file by its path."""
    return [file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "tests").rglob("test_*.py"))]


def learned(names: Sequence[str], workers: int) -> dict[str, Known]:
    """Return what each test file does without a mistake; kept among the temporary files, for one state of the tree."""
    kept = Path(tempfile.gettempdir()) / f"mutations-{tree_hash()}.jsonl"

    def learn(numbers: Iterator[int]) -> None:
        with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
            tree = Tree(ROOT, Path(folder))
            for number in numbers:
                add(kept, {"file": left[number], **tree.learned(left[number], limit=400)})

    kept.touch()
    left = sorted(set(names) - {row["file"] for row in rows_of(kept)})
    if left:
        print(f"Running {len(left)} test files without a mistake ({kept}).", flush=True)
        in_processes(len(left), workers, learn)
    known = {row["file"]: Known.of(row) for row in rows_of(kept) if row["file"] in names}
    failed = [failed for facts in known.values() for failed in facts.failed]
    print(f"{len(known)} test files; {len(failed)} tests fail without a mistake, and do not count.", flush=True)
    return known


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def add(file: Path, row: dict[str, Any]) -> None:
    """Add a row to a file at once, whole: several processes write to it."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")


def work(mistakes: Iterator[Mistake], known: dict[str, Known], results: Path, budget: float) -> None:
    """Try mistakes one after the other and add what became of them to the results."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Tree(ROOT, Path(folder))
        for mistake in mistakes:
            row = tried(tree, mistake, known, budget)
            add(results, row)
            change = f"{row['before'][:60]!r} -> {row['after'][:60]!r}"
            print(
                f"{row['number']:3} {row['state']:8} {row['seconds']:5.0f} s  {row['module']}:{row['line']}  {change}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="keeps what was tried, and goes on from it")
    parser.add_argument(
        "--try", dest="again", type=Path, help="try the mistakes of a file of results that were not killed"
    )
    parser.add_argument("--only", nargs="+", default=[], help="rooms to draw from")
    parser.add_argument("--files", nargs="+", default=[], help="test files to run, instead of all")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--budget",
        type=float,
        default=160.0,
        help="processor seconds that the files of a room take together without a mistake, and those of all others: more"
        " are left out",
    )
    parser.add_argument("--list", action="store_true", help="show the sample, and try nothing")
    chosen = parsed(parser, count=1, only=["progress.py"], files=["tests/test_progress.py"])
    with tempfile.TemporaryDirectory() as folder:
        results = (chosen.results or Path(folder) / "results.jsonl").resolve()
        results.touch()
        state = {"seed": chosen.seed, "count": chosen.count, "tree": tree_hash()}
        rows = rows_of(results)
        if rows and rows[0] != state:
            raise SystemExit(f"{results} is of {rows[0]}, not of {state}")
        if not rows:
            results.write_text(json.dumps(state) + "\n", encoding="utf-8")
        done = {row["number"] for row in rows[1:]}
        every = written(ROOT, chosen.again) if chosen.again else drawn(ROOT, chosen.count, chosen.seed, chosen.only)
        left = [mistake for mistake in every if mistake.number not in done]
        if chosen.list:
            for number, module, mutant in left:
                print(f"{number:3}  {module}:{mutant.line}  {mutant.kind}  {mutant.before!r} -> {mutant.after!r}")
            return
        os.environ["OMP_NUM_THREADS"] = "1"
        for name in HEAVY:
            importlib.import_module(name)
        known = learned(chosen.files or test_files(), chosen.workers)
        in_processes(
            len(left),
            chosen.workers,
            lambda numbers: work((left[n] for n in numbers), known, results, chosen.budget),
        )
        rows = rows_of(results)[1:]
        print("\n" + summary(sorted(rows, key=lambda row: row["number"])))
        if len(rows) < len(done) + len(left):
            raise SystemExit(f"{len(done) + len(left) - len(rows)} were not tried")


if __name__ == "__main__":
    main()
