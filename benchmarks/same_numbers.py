"""Does another source tree give the same numbers? Six runs, compared row by row.

python benchmarks/same_numbers.py make TREE FOLDER      # the six runs with TREE/src, into FOLDER (some minutes)
python benchmarks/same_numbers.py compare BEFORE AFTER  # two such folders; exits with 1 where a number differs
python benchmarks/same_numbers.py --smoke               # this tree with itself, on a few planted sentences

The real sentences are found through EQUIPOISE_DATA. The scores of a model depend on the number of threads in their
last digits, so all runs have one thread. "Equal" is to 1e-12. Where the one folder has p-values as
metrics (`confidence_disparity_p`, `…_p_holm`), they are compared with the columns `p` and `p_corrected` of the other.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = {
    "builtin": ["smollm2", "--data", "builtin", "--task", "next-word", "--task", "mcq"],
    "winobias": ["smollm2", "--data", "winobias", "--estimator", "perplexity", "--estimator", "renyi"],
    "synthbias": ["planted:strength=1.5,bias=0.4", "--data", "synthbias"],
    "winoidentity": ["planted", "--data", "winoidentity"],
    "bbq": ["planted:strength=1,bias=0.5", "--data", "bbq"],
    "genderlex": ["smollm2", "--data", "genderlex", "--task", "cloze"],
}
"""Name -> what is audited."""

NOISY = "planted:strength=1,bias=0.7,noise=1"
SMALL = ["--limit", "6", "--resamples", "20"]
SMOKE = {
    "builtin": [NOISY, *SMALL, "--pronouns", "he,she,they"],
    "winoidentity": [NOISY, "--data", "winoidentity", "--base", "builtin", "--attributes", "age", *SMALL],
}
NUMBERS = ("value", "low", "high", "level", "n", "p", "p_corrected")
ENDINGS = {"_p": "p", "_p_holm": "p_corrected"}
"""How a metric's name ended that was a p-value -> the column that holds it now."""

CLOSE = 1e-12
LISTED = 12
"""Differing rows that are listed for each run."""

Key = tuple[str, ...]
Row = Mapping[str, float]


def make(tree: Path, folder: Path, runs: Mapping[str, list[str]]) -> None:
    """Audit everything with the code of a tree."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": str(tree.resolve() / "src")}
    for name, words in runs.items():
        out = folder.resolve() / name
        command = [sys.executable, "-m", "equipoise", "audit", *words, "--no-html", "--out", str(out)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        print(f"{name}: made in {out}", flush=True)


def rows_of(run: Path) -> dict[Key, dict[str, float]]:
    """Return the measurements of a run by metric, dataset, task and group."""
    with (run / "measurements.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    rows: dict[Key, dict[str, float]] = {}
    for line in lines:
        key = (line["metric"], line["dataset"], line["task"], line["group"])
        rows[key] = {name: float(line.get(name) or "nan") for name in NUMBERS}
    for ending, column in ENDINGS.items():
        for metric, *where in [key for key in rows if key[0].endswith(ending)]:
            tested = rows.get((metric.removesuffix(ending), *where))
            # A metric may end in _p by itself, such as one of the estimator p-true would.
            if tested is not None and math.isnan(tested[column]):
                tested[column] = rows.pop((metric, *where))["value"]
    return rows


def differing(before: Row, after: Row) -> Iterator[str]:
    """Yield the columns in which two rows differ."""
    for name in NUMBERS:
        first, second = before[name], after[name]
        is_same = math.isnan(first) if math.isnan(second) else abs(first - second) <= CLOSE * max(1.0, abs(first))
        if not is_same:
            yield name


def compare(before: Path, after: Path) -> int:
    """Print how the runs of two folders differ; return the number of rows that do."""
    faults = 0
    for run in sorted(path.parent.name for path in before.glob("*/measurements.csv")):
        first, second = rows_of(before / run), rows_of(after / run)
        gone, new = [key for key in first if key not in second], [key for key in second if key not in first]
        moved = {key: names for key in first if key in second and (names := [*differing(first[key], second[key])])}
        equal = len(first) - len(gone) - len(moved)
        print(
            f"{run}: {len(first):,} rows, {equal:,} equal, {len(moved):,} moved, {len(gone):,} gone, {len(new):,} new"
        )
        for key, names in list(moved.items())[:LISTED]:
            numbers = (f"{name} {first[key][name]!r} -> {second[key][name]!r}" for name in names)
            print(f"  moved: {' '.join(key)}: {', '.join(numbers)}")
        for words, keys in (("gone", gone), ("new", new)):
            for key in keys[:LISTED]:
                print(f"  {words}: {' '.join(key)}")
        if len(moved) > LISTED:
            columns = Counter(name for names in moved.values() for name in names)
            print(f"  and {len(moved) - LISTED:,} more; by column: {dict(columns)}")
        faults += len(moved) + len(gone) + len(new)
    return faults


def smoke() -> None:
    """Compare this tree with itself, and check that a changed number, a missing and an old row are noticed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, changed = Path(scratch) / "one", Path(scratch) / "changed"
        make(ROOT, folder, SMOKE)
        make(ROOT, changed, {"builtin": SMOKE["builtin"]})
        assert compare(folder, folder) == 0, "the same folder differs from itself"
        (folder / "winoidentity" / "measurements.csv").rename(folder / "unused.csv")
        assert compare(folder, changed) == 0, "two runs of the same tree differ"
        table = changed / "builtin" / "measurements.csv"
        lines = table.read_text(encoding="utf-8").splitlines()
        fields = next(csv.reader([lines[1]]))
        fields[5] = repr(float(fields[5]) + 1e-9)
        with table.open("w", encoding="utf-8", newline="") as file:
            file.write("\n".join([lines[0], *lines[2:], ""]))
            csv.writer(file).writerow(fields)
        assert compare(folder, changed) == 1, "a number that moved by 1e-9 was not noticed"
        table.write_text("\n".join([lines[0], *lines[2:], ""]), encoding="utf-8")
        assert compare(folder, changed) == 1, "a row that is gone was not noticed"
        assert any(not math.isnan(row["p"]) for row in rows_of(folder / "builtin").values()), "nothing was tested"
        table.write_text("\n".join([*_with_old_p_values(lines), ""]), encoding="utf-8")
        assert compare(changed, folder) == 0, "p-values that were rows are not read as columns"


def _with_old_p_values(lines: list[str]) -> Iterator[str]:
    """Yield the lines with p-values as rows of their own, as they once were."""
    header, *rows = csv.reader(lines)
    yield ",".join(header[:-2])
    for row in rows:
        quoted = [f'"{field}"' for field in row[:-2]]
        yield ",".join(quoted)
        for ending, p in zip(ENDINGS, row[-2:], strict=True):
            if p:
                yield ",".join([f'"{row[0]}{ending}"', *quoted[1:5], p, "", "", *quoted[8:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="check this script on a few planted sentences")
    commands = parser.add_subparsers(dest="command")
    making = commands.add_parser("make", help="make the six runs with a source tree")
    making.add_argument("tree", type=Path)
    making.add_argument("folder", type=Path)
    comparing = commands.add_parser("compare", help="compare two folders of runs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    chosen = parser.parse_args()
    if chosen.smoke:
        smoke()
    elif chosen.command == "make":
        make(chosen.tree, chosen.folder, RUNS)
    elif chosen.command == "compare":
        return 1 if compare(chosen.before, chosen.after) else 0
    else:
        parser.error("give make, compare or --smoke")
    return 0


if __name__ == "__main__":
    sys.exit(main())
