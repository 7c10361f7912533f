"""Does the test suite notice small mistakes? Makes one at a time, runs the tests of its room, and counts survivors.

python benchmarks/mutations.py [--sample 60] [--seed 0] [--only metrics stats] [--workers 1]

A mutation changes one comparison, operator, constant or boolean in a file of the rooms below. It is killed if a test of
the room fails, or if they run into the time limit. Each runs on a copy of the package. Mistakes that once went
unnoticed are tried every time. The tests of each room must first pass without a mutation.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from shared.options import parsed

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "metrics": (
        (
            "metrics/fairness.py",
            "metrics/calibration.py",
            "metrics/confidence.py",
            "metrics/groups.py",
            "metrics/sides.py",
            "metrics/identities.py",
        ),
        (
            "tests/metrics",
            "tests/test_invariants.py",
            "tests/measuring/test_sets.py",
            "tests/measuring/test_double_disadvantage.py",
        ),
    ),
    "stats": (
        (
            "stats/bootstrap.py",
            "stats/bounded.py",
            "stats/maximum.py",
            "stats/paired.py",
            "stats/sequential.py",
            "stats/resampling.py",
            "stats/means.py",
        ),
        ("tests/stats/test_pinned_intervals.py", "tests/stats"),
    ),
    "measuring": (
        (
            "measuring/items.py",
            "measuring/cells.py",
            "measuring/measure.py",
            "measuring/evidence.py",
            "measuring/identities.py",
            "measuring/sentences.py",
            "measuring/changes.py",
        ),
        ("tests/measuring/test_pinned.py", "tests/measuring", "tests/stats/test_bounded.py"),
    ),
    "tasks": (
        ("tasks/next_word.py", "tasks/multiple_choice.py", "tasks/pronoun_cloze.py", "tasks/outcomes.py"),
        ("tests/tasks", "tests/datasets/test_classification.py"),
    ),
    "store": (("scoring/score_store.py",), ("tests/scoring/test_score_store.py",)),
    "packing": (("scoring/packing/prefix_tree.py", "scoring/packing/shape.py"), ("tests/scoring/packing",)),
    "datasets": (
        (
            "datasets/winobias.py",
            "datasets/synthbias.py",
            "datasets/identity.py",
            "datasets/user_table.py",
            "datasets/sentence_pairs.py",
        ),
        ("tests/datasets",),
    ),
    "gate": (("verdict/gate.py",), ("tests/verdict/test_gate.py",)),
    "clean": (("builder/verdict/consensus.py", "builder/verdict/cleaning.py"), ("tests/builder/verdict",)),
}
"""Room -> its files, and the tests that should notice."""

KNOWN = (
    ("metrics", "metrics/confidence.py", "/ (referent + other)", "/ (referent + other + 0.1)"),
    ("metrics", "metrics/sides.py", "np.heaviside(p - 0.5, 0.5)", "p > 0.5"),
    (
        "metrics",
        "metrics/sides.py",
        'np.where(p > 0.5, first, np.where(p < 0.5, second, ""))',
        "np.where(p > 0.5, first, second)",
    ),
    (
        "stats",
        "stats/maximum.py",
        "(1 + int((defined >= largest - TIE).sum()))",
        "int((defined >= largest - TIE).sum())",
    ),
    ("stats", "stats/sequential.py", "size <= 0.95 * units", "size <= units"),
    ("tasks", "tasks/next_word.py", "return np.minimum(total, 0.0)", "return total"),
    ("tasks", "tasks/pronoun_cloze.py", 'not in ("gender", "stereotype")', 'not in ("gender",)'),
    ("datasets", "datasets/synthbias.py", '== ["female", "male"]', '!= [""] and len(members) == 2'),
    ("store", "scoring/score_store.py", "os.fsync(self._file.fileno())", "self._file.fileno()"),
)
"""Mistakes that the tests once did not notice: room, file, text before and after. They are always tried."""

EQUIVALENT = {
    ("metrics/calibration.py", "y > 0.5"): "a label is 0 or 1",
    ("metrics/calibration.py", "p > 0.5"): "a tie at exactly 0.5 is handled before",
    ("metrics/calibration.py", "1.0", "np.where(impossible, 1.0"): "an impossible label has no weight, or makes it NaN",
    ("metrics/calibration.py", "rng.random(len(p)) < p"): "a random number is never exactly p",
    ("metrics/calibration.py", "1", ".reshape(len(p), -1)"): "any negative number stands for the missing one",
    ("metrics/fairness.py", "desirability + 1"): "only differences are taken of it",
    ("metrics/fairness.py", "1", "(desirability + 1)"): "only differences are taken of it",
    ("stats/bootstrap.py", "0", "joint * (int(other.max(initial=0)) + 1)"): "any number above all others will do",
    ("stats/bootstrap.py", "1", "joint * (int(other.max(initial=0)) + 1)"): "any number above all others will do",
    ("stats/bootstrap.py", "joint * (int(other.max(initial=0)) + 1) + other"): "either tells all pairs apart",
    ("stats/bootstrap.py", "1", "CHUNK_BYTES //"): "a bound on memory: columns are drawn one by one",
    ("stats/bootstrap.py", "4", "CHUNK_BYTES //"): "a bound on memory: columns are drawn one by one",
    ("stats/bootstrap.py", "0.0", "if deviation > 0"): "without deviation every quantile is the same",
    ("measuring/cells.py", "1", "prepend=-1"): "any number below all others will do",
    ("measuring/items.py", "0", "np.empty(0) for name in"): "without sets no value is read",
    ("stats/means.py", "1", "np.ones((len(table), 1))"): "any defined value will do",
    ("stats/means.py", "1", "width = 1"): "no metric reads the number of resamples",
    ("stats/means.py", "0 < low < step"): "a lower end of exactly 0 is 0 either way",
    ("stats/paired.py", "first.clusters + side * clusters"): "a negative number counts from the end, to the same place",
    ("stats/sequential.py", "means < 0"): "exactly 0 only at the lowest mean, where the search begins",
    (
        "stats/sequential.py",
        "np.log1p(bets * (values - means)).cumsum().max(initial=0.0) < rich",
    ): "never exactly so rich",
    ("stats/sequential.py", "low < high"): "equal only where floor and ceiling are",
    ("stats/bounded.py", "_log_wealth(sides, bets, places) < rich"): "a gambler is never exactly that rich",
    ("stats/bounded.py", "4096", "lru_cache"): "the size of a cache",
    ("stats/bounded.py", "1024", "lru_cache"): "the size of a cache",
    ("stats/resampling.py", "1024", "lru_cache"): "the size of a cache",
    ("stats/resampling.py", "1", "np.ones((len(table), 1))"): "any defined value will do",
    ("stats/resampling.py", "2", "ndim = 2"): "only 1 is told from more",
    ("stats/resampling.py", "2", "2**20"): "a bound on memory",
    ("stats/resampling.py", "20", "2**20"): "a bound on memory",
    ("stats/resampling.py", "128", "2**20"): "a bound on memory",
    ("stats/resampling.py", "1024", "2**20"): "a bound on memory",
    ("stats/resampling.py", "1024 * 2**20"): "a bound on memory",
    ("stats/resampling.py", "0", "bytes: int = 0"): "a bound on memory",
    ("stats/resampling.py", "2", "2 * narrow.nbytes"): "a bound on memory",
    ("stats/resampling.py", "2 * narrow.nbytes"): "a bound on memory",
    ("stats/resampling.py", "sum(batch.bytes for batch in batches.values()) > WAVE_BYTES"): "a bound on memory",
    ("stats/resampling.py", "1", "CHUNK_BYTES //"): "a bound on memory",
    ("stats/resampling.py", "4", "CHUNK_BYTES //"): "a bound on memory",
    ("stats/resampling.py", "16", "digest_size=16"): "a longer name of the same column",
    ("stats/resampling.py", "0", "np.empty((0, 0)"): "a batch without columns has no sums to read",
    ("stats/resampling.py", "1", "self.width = 1"): "no metric reads the number of resamples",
    ("stats/resampling.py", "2", "2 * int(inside.sum())"): "a choice between two ways to the same sums",
    ("stats/resampling.py", "2 * int(inside.sum()) > clusters"): "a choice between two ways to the same sums",
    ("stats/resampling.py", "2 * int(inside.sum())"): "a choice between two ways to the same sums",
    ("verdict/gate.py", "1", "permutations=1"): "a gate uses no p-value",
    ("verdict/gate.py", "1", "max(len(part.items), 1)"): "one item gives one set either way",
    ("verdict/gate.py", "bound < tested.value"): "where they are equal the distance is 0, which is handled next",
    ("scoring/packing/prefix_tree.py", "1", "lengths[:, None], tokens, -1)"): "any number that is not a token will do",
    ("scoring/packing/prefix_tree.py", "1", "numbered = np.full("): "any number below all nodes will do",
    ("scoring/packing/shape.py", "384", "DENSE_ROW_TOKENS"): "how much is computed at once changes no score",
    ("scoring/packing/shape.py", "8192", "GPU_PASS_TOKENS"): "only whole rows count",
    ("scoring/packing/shape.py", "32768", "SMALL_PASS_TOKENS"): "only whole rows count",
    ("scoring/packing/prefix_tree.py", "0", "height: int = 0"): "a pass has at least one row and one token",
    ("builder/verdict/consensus.py", "tally.coherent_no > tally.coherent_yes"): "a tie is no agreement, asked before",
    ("builder/verdict/consensus.py", "tally.first_yes >= tally.first_no"): "both answers of a tie count alike",
    ("builder/verdict/consensus.py", "tally.second_yes >= tally.second_no"): "both answers of a tie count alike",
    ("datasets/synthbias.py", "first[left] < first[right]"): "two names never begin at the same place",
    ("datasets/user_table.py", "1", "if match else -1"): "any negative number says that it is not there",
    ("datasets/user_table.py", "4096", "lru_cache"): "the size of a cache",
    ("datasets/user_table.py", "1", "copies[item.text, item.pronoun, asked] += 1"): "equal steps count the same copies",
    ("datasets/user_table.py", "len(self._known) < 2**16"): "a bound on memory",
    ("datasets/user_table.py", "2", "< 2**16"): "a bound on memory",
    ("datasets/user_table.py", "16", "< 2**16"): "a bound on memory",
    ("datasets/winobias.py", "starts[name] < pronoun_start"): "a name and a pronoun never begin at the same place",
    ("datasets/winobias.py", "starts[line.referent] < starts[other]"): "two names never begin at the same place",
    ("tasks/pronoun_cloze.py", "3", "FORMS[word][: 3"): "there are three forms",
}
"""Mutations that no test could see, so they are not drawn: file, text, and what else is in the line -> why."""

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div}
BOOLEANS = {ast.And: ast.Or, ast.Or: ast.And}


class Mutation(NamedTuple):
    """One change: the file, the line, and the text before and after."""

    room: str
    file: str
    line: int
    before: str
    after: str
    source: str


def mutations(room: str, file: str) -> Iterator[Mutation]:
    """Yield every mutation of a file."""
    path = ROOT / "src" / "equipoise" / file
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for change, undo in _changes(node):
            before = ast.get_source_segment(text, node) or ""
            change()
            try:
                if not _is_equivalent(file, before, text.splitlines()[node.lineno - 1]):
                    yield Mutation(room, file, node.lineno, before, ast.unparse(node), ast.unparse(tree))
            finally:
                undo()


def _is_equivalent(file: str, before: str, line: str) -> bool:
    return any((file, before) == key[:2] and all(text in line for text in key[2:]) for key in EQUIVALENT)


def _changes(node: ast.AST) -> Iterator[tuple[object, object]]:
    """Yield (do, undo) for each way to change a node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield _swap(node.ops, 0, COMPARISONS[type(node.ops[0])]())
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield _set(node, "op", OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _set(node, "op", BOOLEANS[type(node.op)]())
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and not isinstance(node.value, bool):
        yield _set(node, "value", node.value + 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield _set(node, "operand", ast.UnaryOp(node.op, node.operand))


def _swap(items: list[ast.cmpop], place: int, value: ast.cmpop) -> tuple[object, object]:
    old = items[place]
    return lambda: items.__setitem__(place, value), lambda: items.__setitem__(place, old)


def _set(node: ast.AST, name: str, value: object) -> tuple[object, object]:
    old = getattr(node, name)
    return lambda: setattr(node, name, value), lambda: setattr(node, name, old)


def known(room: str, file: str, before: str, after: str) -> Mutation:
    """Return a mutation given as text, which must be in the file once."""
    text = (ROOT / "src" / "equipoise" / file).read_text(encoding="utf-8")
    if text.count(before) != 1:
        raise SystemExit(f"{file}: {before!r} occurs {text.count(before)} times, not once")
    line = text[: text.index(before)].count("\n") + 1
    return Mutation(room, file, line, before, after, text.replace(before, after))


def survives(mutation: Mutation, timeout: float) -> bool:
    """Return whether the tests of the room pass although the file is changed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "equipoise" / mutation.file).write_text(mutation.source, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
        try:
            ended = subprocess.run(
                [*command, *ROOMS[mutation.room][1]], cwd=ROOT, env=environment, capture_output=True, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return False
        return ended.returncode == 0


def _unchanged(room: str) -> Mutation:
    file = ROOMS[room][0][0]
    text = (ROOT / "src" / "equipoise" / file).read_text(encoding="utf-8")
    return Mutation(room, file, 0, "", "", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--workers", type=int, default=1, help="mutations tried at a time, each by a process")
    parser.add_argument("--only", nargs="+", choices=list(ROOMS), default=list(ROOMS))
    chosen = parsed(parser, sample=1, only=["packing"])
    for room, (files, tests) in ROOMS.items():
        missing = [
            path for path in (*(f"src/equipoise/{file}" for file in files), *tests) if not (ROOT / path).exists()
        ]
        if missing:
            raise SystemExit(f"{room}: {', '.join(missing)} do not exist; name the files that do")
    for row in KNOWN:
        known(*row)
    rng = random.Random(chosen.seed)
    by_room = {room: [m for file in ROOMS[room][0] for m in mutations(room, file)] for room in chosen.only}
    share = max(1, chosen.sample // len(by_room))
    sample = [m for several in by_room.values() for m in rng.sample(several, min(share, len(several)))]
    sample += [known(*row) for row in KNOWN if row[0] in chosen.only]
    with ThreadPoolExecutor(chosen.workers) as pool:
        unchanged = [_unchanged(room) for room in chosen.only]
        passing = pool.map(lambda mutation: survives(mutation, chosen.timeout), unchanged)
        for room, passes in zip(chosen.only, passing, strict=True):
            if not passes:
                raise SystemExit(f"the tests of {room} fail without a mutation, so they would kill everything")
        survivors = []
        alive_or_not = pool.map(lambda mutation: survives(mutation, chosen.timeout), sample)
        for number, (mutation, alive) in enumerate(zip(sample, alive_or_not, strict=True), 1):
            survivors += [mutation] if alive else []
            state = "SURVIVED" if alive else "killed"
            where = f"{mutation.file}:{mutation.line}"
            change = f"{mutation.before!r} -> {mutation.after!r}"
            print(f"{number:3} of {len(sample)}  {state:8}  {where}  {change}", flush=True)
    killed = len(sample) - len(survivors)
    print(f"\n{killed} of {len(sample)} killed ({killed / len(sample):.0%})")


if __name__ == "__main__":
    main()
