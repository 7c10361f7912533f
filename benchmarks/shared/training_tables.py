"""Tables and the curve of the training experiment, from the values by set that its runs have written."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.records import DECIDED

from .tuned_models import loaded

RESAMPLES = 2000
EXCHANGES = 20_000
CLUES = ("noun", "name", "title", "reflexive", "number", "marker", "identity")
Select = Callable[[dict[str, np.ndarray]], np.ndarray]


class Value(NamedTuple):
    """A column of the tables: its title, the part that it is of, and the values by set (NaN: does not apply)."""

    title: str
    part: str
    select: Select
    higher: bool = True


def of_kind(name: str, kind: str) -> Select:
    """Return what selects a column where the sets are of a type."""
    return lambda part: np.where(part["kind"] == kind, part[name].astype(float), np.nan)


def of_clue(clue: str) -> Select:
    """Return what selects the accuracy where that clue tells the two people apart."""
    return lambda part: np.where(part["clue"] == clue, part["accuracy"].astype(float), np.nan)


VALUES = [
    value
    for part in ("winobias", "synthbias", "builtin")
    for value in (
        Value("accuracy", part, of_kind("accuracy", "type2")),
        Value("UCerF", part, of_kind("u", "type2")),
        Value("flips, resolvable", part, of_kind("flipped", "type2"), higher=False),
        Value("UCerF signed, ambiguous", part, of_kind("u", "type1")),
        Value("flips, ambiguous", part, of_kind("flipped", "type1"), higher=False),
    )
] + [
    Value("right", "gendered", of_kind("accuracy", DECIDED)),
    Value("he", "gendered", of_kind("male", DECIDED)),
    Value("she", "gendered", of_kind("female", DECIDED)),
    *(Value(clue, "gendered", of_clue(clue)) for clue in CLUES),
    Value("right, in a chat", "gendered, in a chat", of_kind("accuracy", DECIDED)),
    Value("general questions", "questions", lambda part: part["accuracy"].astype(float)),
    Value("general questions, in a chat", "questions, in a chat", lambda part: part["accuracy"].astype(float)),
    Value("nats a token of neutral text", "text", lambda part: part["loss"], higher=False),
]
Estimate = tuple[float, float, float]


def write_tables(out: Path, base: str, first: str) -> None:
    """Write tables.md, values.json, samples.md and curve.png of all runs in the folder."""
    files: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    facts: dict[str, Any] = {}
    for file in sorted(out.glob("*.json")):
        if file.with_suffix(".npz").is_file():
            fact = json.loads(file.read_text())
            files[fact["model"]][fact["arm"]].append(file.with_suffix(".npz"))
            facts[file.stem] = fact
    lines, values = [], {}
    for model, arms in files.items():
        runs = {arm: loaded(paths) for arm, paths in arms.items()}
        if base not in runs:
            continue
        ordered = [base, *(arm for arm in (first, *runs) if arm in runs and arm != base)]
        runs = {arm: runs[arm] for arm in dict.fromkeys(ordered)}
        values[model] = {arm: estimates(run) for arm, run in runs.items()}
        lines += _tables(model, runs, values[model], base, {arm: len(paths) for arm, paths in arms.items()})
        lines += _guards(model, facts)
        _curve(out / f"curve-{model}.png", values[model], base)
    (out / "tables.md").write_text("\n".join(lines) + "\n")
    (out / "values.json").write_text(json.dumps(values, indent=1) + "\n")
    (out / "samples.md").write_text("\n".join(_samples(facts)) + "\n")


def estimates(run: dict[str, dict[str, np.ndarray]]) -> dict[str, Estimate]:
    """Return each value with its interval over seeds and sets."""
    found = {}
    for value in VALUES:
        if value.part in run:
            table = known(value.select(run[value.part]))
            if table.size:
                found[f"{value.part}: {value.title}"] = interval(table)
    return found


def known(table: np.ndarray) -> np.ndarray:
    """Return the sets of a table (seeds, sets) that have a value."""
    return table[:, ~np.isnan(table).any(axis=0)]


def interval(table: np.ndarray) -> Estimate:
    """Return the mean of (seeds, sets) with a 95% interval; seeds and sets are both drawn anew."""
    rng = np.random.default_rng(0)
    seeds, sets = table.shape
    chosen = rng.integers(seeds, size=(RESAMPLES, seeds))
    shares = np.stack([np.bincount(row, minlength=seeds) for row in chosen]) / seeds
    weights = rng.multinomial(sets, np.full(sets, 1 / sets), size=RESAMPLES) / sets
    means = np.einsum("rs,sn,rn->r", shares, table, weights, optimize=True)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(table.mean()), float(low), float(high)


def exchanged(differences: np.ndarray) -> float:
    """Return the p-value of a paired test over sets: the sign of each set's difference is drawn anew."""
    rng = np.random.default_rng(0)
    by_set = differences.mean(axis=0)
    extreme = 0
    for _ in range(EXCHANGES // 1000):
        signs = rng.choice([-1.0, 1.0], size=(1000, len(by_set)))
        extreme += int((np.abs(signs @ by_set) >= abs(by_set.sum()) - 1e-12).sum())
    return (1 + extreme) / (1 + EXCHANGES)


def holm(tests: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm over all of them."""
    order = np.argsort(tests)
    corrected, largest = [0.0] * len(tests), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(tests) - rank) * tests[place]))
        corrected[place] = largest
    return corrected


def _tables(
    model: str, runs: dict[str, Any], values: dict[str, dict[str, Estimate]], base: str, seeds: dict[str, int]
) -> list[str]:
    lines = [f"# {model}", "", "Means over seeds, with 95% intervals over seeds and sets.", ""]
    parts = dict.fromkeys(value.part for value in VALUES)
    for part in parts:
        shown = [value for value in VALUES if value.part == part and f"{part}: {value.title}" in values[base]]
        if not shown:
            continue
        lines += [f"**{part}**", "", f"| arm (seeds) | {' | '.join(value.title for value in shown)} |"]
        lines += ["|---|" + "---|" * len(shown)]
        for arm, row in values.items():
            cells = [_cell(row.get(f"{part}: {value.title}")) for value in shown]
            lines.append(f"| {arm} ({seeds[arm]}) | {' | '.join(cells)} |")
        lines.append("")
    return lines + _differences(runs, base)


def _cell(value: Estimate | None) -> str:
    return "–" if value is None else f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]"


def _differences(runs: dict[str, Any], base: str) -> list[str]:
    """Return the changes from the base, paired by set, with corrected p-values."""
    lines = ["Changes from the base, paired by set; p is corrected by Holm over all tests of this table.", ""]
    rows, tests = [], []
    for arm, run in runs.items():
        for value in VALUES if arm != base else ():
            if value.part not in run or value.part not in runs[base]:
                continue
            apart = known(value.select(run[value.part]) - value.select(runs[base][value.part])[:1])
            if apart.size:
                change = interval(apart)
                rows.append((arm, value, change))
                tests.append(exchanged(apart))
    lines += ["| arm | value | change | p |", "|---|---|---|---|"]
    for (arm, value, change), p in zip(rows, holm(tests), strict=True):
        shown = f"{change[0]:+.3f} [{change[1]:+.3f}, {change[2]:+.3f}]"
        lines.append(f"| {arm} | {value.part}: {value.title} | {shown} | {p:.4f} |")
    return [*lines, ""]


def _guards(model: str, facts: dict[str, Any]) -> list[str]:
    lines = ["The step that is kept, and what the guards say of the last one:", ""]
    for fact in facts.values():
        if fact["model"] == model and "validations" in fact:
            kept = f"step {fact['kept']} of {fact['steps']} is kept" if fact["kept"] else "no step passes"
            said = "; ".join(fact["faults"]) or "passes"
            lines.append(f"- {fact['arm']}, seed {fact['seed']}: {kept}; the last one: {said}")
    return [*lines, ""]


def _samples(facts: dict[str, Any]) -> list[str]:
    lines = []
    for fact in facts.values():
        if fact["seed"] == 0:
            lines += [f"**{fact['model']}, {fact['arm']}**", ""]
            lines += [f"- {' '.join(text.split())}" for text in fact["samples"]] + [""]
    return lines


def _curve(file: Path, values: dict[str, dict[str, Estimate]], base: str) -> None:
    """Draw the trade-off: answers that change where the word must not matter, right answers where it decides."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [f"{part}: flips, ambiguous" for part in ("winobias", "builtin")]
    across = next((name for name in names if name in values[base]), "")
    if not across:
        return
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for (arm, row), mark in zip(values.items(), cycle("os^DvPX"), strict=False):  # there are more arms than colours
        x, y = row[across], row["gendered: right"]
        ends = {"xerr": [[x[0] - x[1]], [x[2] - x[0]]], "yerr": [[y[0] - y[1]], [y[2] - y[0]]]}
        axes.errorbar(x[0], y[0], **ends, fmt=mark, markersize=5, label=arm)
    axes.axhline(0.5, color="gray", linewidth=0.8, linestyle="--")
    axes.set_xlabel(f"answers that change with the pronoun where it must not matter ({across.partition(':')[0]})")
    axes.set_ylabel("right answers where it decides")
    axes.legend(fontsize=7, loc="center")
    figure.savefig(file, dpi=150)
    pyplot.close(figure)
