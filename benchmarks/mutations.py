"""Do the tests notice small mistakes? Makes one at a time anywhere in the package, runs tests, and counts survivors.

python benchmarks/mutations.py [--count 150] [--seed 0] [--results results.jsonl] [--only stats media] [--workers 1]

Modules are drawn in a random order, each once before any comes again; then a kind of mistake, then one of that kind.
The module's own tests come first (tests/test_mirror.py says which), then those of its room, without the slow ones. A
mistake is killed when a test fails that passes without it, or when the tests run into the time limit. Everything runs
on a copy of the tree. What was tried is kept in the results, one line each: the same command goes on where it stopped.
`--try FILE` tries the mistakes of such a file again, or those written by hand: module, before and after.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import re
import shutil
import signal
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

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/equipoise")
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
LIMITS = {"own": 150.0, "room": 600.0}
"""Seconds for the tests of a module, and for those of its room."""


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
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
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


class Tree:
    """A copy of the tree, in which one module at a time is another."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "tree"
        hidden = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "node_modules", "site", "dist")
        shutil.copytree(ROOT, self.path, ignore=hidden)
        self._output = folder / "output.txt"
        self._edits = 0

    def write(self, module: str, source: str) -> None:
        """Put other code into a module, at a time of its own: Python tells compiled files by the second."""
        file = self.path / PACKAGE / module
        file.write_text(source, encoding="utf-8")
        self._edits += 1
        os.utime(file, (self._edits * 10.0 + 1e9,) * 2)

    def tests(self, names: Sequence[str], limit: float, *options: str) -> tuple[int | None, str]:
        """Return the exit status of pytest (None: the limit) and the first test that failed."""
        child = os.fork()
        if not child:
            self._run([*names, "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", *options])
        end = time.monotonic() + limit
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                found = re.search(
                    r"^(?:FAILED|ERROR) (\S+?\.py(?:::[^\n]*?)?)(?: - |$)",
                    self._output.read_text(errors="replace"),
                    re.M,
                )
                return os.waitstatus_to_exitcode(status), found[1] if found else ""
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None, "the time limit"

    def _run(self, arguments: list[str]) -> None:
        """Run pytest in this process, which was forked for it, and end it."""
        os.setsid()
        assert "equipoise" not in sys.modules, "the package must be imported anew"
        output = os.open(self._output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.chdir(self.path)
        os.environ["PYTHONPATH"] = str(self.path / "src")
        sys.path[:0] = [str(self.path / "src")]
        sys.argv = ["pytest", *arguments]
        code = 3
        try:
            import pytest

            code = int(pytest.main(arguments))
            sys.stdout.flush()
        finally:
            os._exit(code)


def tried(tree: Tree, mistake: Mistake) -> dict[str, Any]:
    """Return what became of a mistake: killed by its own tests or the room's, or survived."""
    begun = time.monotonic()
    text = (ROOT / PACKAGE / mistake.module).read_text(encoding="utf-8")
    own, state, by, where = own_tests(tree.path, mistake.module), "survived", "", ""
    for where, names in (("own", own), ("room", room_tests(tree.path, mistake.module))):
        tree.write(mistake.module, mistake.mutant.source)
        quick: tuple[str, ...] = ("-m", "not slow")
        code, by = tree.tests(names, LIMITS[where], *quick) if names else (0, "")
        if code == 5 and where == "own":  # the file has slow tests alone
            quick = ()
            code, by = tree.tests(names, LIMITS[where])
        if code not in (0, 5):
            tree.write(mistake.module, text)
            # A failing test counts if it passes without the mistake, and the limit if all of them keep within it.
            again = [by] if code is not None and "::" in by else names
            plain, _ = tree.tests(again, LIMITS[where], *(() if "::" in by else quick))
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


def work(mistakes: Sequence[Mistake], results: Path) -> None:
    """Try mistakes one after the other and add what became of them to the results."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Tree(Path(folder))
        for mistake in mistakes:
            row = tried(tree, mistake)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
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
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="show the sample, and try nothing")
    chosen = parsed(parser, count=1, only=["progress.py"])
    with tempfile.TemporaryDirectory() as folder:
        results = (chosen.results or Path(folder) / "results.jsonl").resolve()
        results.touch()
        state = {"seed": chosen.seed, "count": chosen.count, "tree": tree_hash()}
        rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
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
        children = []
        for worker in range(chosen.workers):
            child = os.fork()
            if not child:
                try:
                    work(left[worker :: chosen.workers], results)
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()[1:]]
        print("\n" + summary(sorted(rows, key=lambda row: row["number"])))
        if len(rows) < len(done) + len(left):
            raise SystemExit(f"{len(done) + len(left) - len(rows)} were not tried")


if __name__ == "__main__":
    main()
