"""How often does `--until` settle a requirement wrongly, and how many sets does it ask?

    python benchmarks/until.py [--audits 2000] [--sizes 266 792 2000] [--processes 3] [--tables outcomes powers]

Planted audits of each kind: sets are drawn with a true value at a distance from the limit, in standard errors of a full
audit at the limit, and asked until the requirement is settled, by the same bets, looks and last interval as an audit.
Prints Markdown tables: wrong outcomes (all requirements of an audit together), sets asked as a share of all, and how
often the outcome is the one that asking everything gives. "List" has the true value in the list itself, exactly.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pool

import numpy as np
from shared.options import parsed

from equipoise.measuring.settling import FEWEST_SETS
from equipoise.metrics.requirement import FAILED, PASSED, UNDECIDED, Requirement, parse_requirement
from equipoise.stats import bootstrap, bounded
from equipoise.stats.betting import Units
from equipoise.stats.planning import units_to_settle
from equipoise.stats.power import Contrast, with_true_value
from equipoise.stats.sequential import frequent_looks

LEVEL, RESAMPLES = 0.95, 2000
BLOCK = 200
"""Audits that share resamples: those of a share move in steps, so that one draw of them is off for all alike."""

DISTANCES = (-8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8)
"""Standard errors of the true value above the limit."""

Drawn = tuple[np.ndarray, np.ndarray]
"""Sums and numbers of items of each set: (audits, sets)."""


@dataclass(frozen=True)
class Kind:
    """A planted requirement: how sets are drawn with a true value, and the deviation of a set's mean at a value."""

    text: str
    draw: Callable[[np.random.Generator, tuple[int, int], float], Drawn]
    deviation: Callable[[float], float]
    bounds: tuple[float, float] = (0.0, 1.0)
    most: float = 1.0
    whole: bool = False
    size: bool = False
    """Whether the metric is the size of a difference."""

    @property
    def requirement(self) -> Requirement:
        return parse_requirement(self.text)


def flips(rng: np.random.Generator, shape: tuple[int, int], value: float) -> Drawn:
    return (rng.random(shape) < value).astype(float), np.ones(shape)


def listed_flips(rng: np.random.Generator, shape: tuple[int, int], value: float) -> Drawn:
    """Return a list with exactly this share, in random orders."""
    row = (np.arange(shape[1]) < round(value * shape[1])).astype(float)
    return rng.permuted(np.tile(row, (shape[0], 1)), axis=1), np.ones(shape)


def answers(rng: np.random.Generator, shape: tuple[int, int], value: float) -> Drawn:
    """Return two answers of each set, half of the sets with the same one twice."""
    first, other = (rng.random(shape) < value for _ in range(2))
    second = np.where(rng.random(shape) < 0.5, first, other)
    return first.astype(float) + second, np.full(shape, 2.0)


def alike(rng: np.random.Generator, shape: tuple[int, int], value: float) -> Drawn:
    return rng.beta(20 * value, 20 * (1 - value), shape), np.ones(shape)


def differences(rng: np.random.Generator, shape: tuple[int, int], value: float) -> Drawn:
    chance = rng.random(shape)
    others = np.where(chance > 1 - (0.2 - value) / 2, -1.0, 0.0)
    return np.where(chance < (0.2 + value) / 2, 1.0, others), np.ones(shape)


KINDS = {
    "flip rate": Kind("flip_rate <= 0.10", flips, lambda p: math.sqrt(p * (1 - p)), whole=True),
    "accuracy": Kind("accuracy >= 0.60", answers, lambda p: math.sqrt(0.75 * p * (1 - p)), most=2.0),
    "UCerF": Kind("ucerf >= 0.85", alike, lambda u: math.sqrt(u * (1 - u) / 21)),
    "accuracy gap": Kind(
        "accuracy_gap <= 0.08", differences, lambda g: math.sqrt(0.2 - g * g), bounds=(-1.0, 1.0), size=True
    ),
    "flip rate of a list": Kind("flip_rate <= 0.10", listed_flips, lambda p: math.sqrt(p * (1 - p)), whole=True),
}


@dataclass(frozen=True)
class Outcomes:
    """What came of audits with one requirement: the outcome, the sets asked, and what asking everything gives."""

    outcome: np.ndarray
    asked: np.ndarray
    plain: np.ndarray


def settle(kind: Kind, value: float, audits: int, size: int, together: int, seed: int) -> Outcomes:
    """Return what came of audits whose requirement shares the error with others."""
    rng = np.random.default_rng(seed)
    sums, counts = kind.draw(rng, (audits, size), value)
    level = 1 - (1 - LEVEL) / together
    outcome, when = early(kind, Units(sums, counts, kind.bounds, kind.most, size), (1 - level) / 2)
    looks = np.array([*(look for look in frequent_looks(size) if look >= FEWEST_SETS), size])
    look = looks[np.minimum(np.searchsorted(looks, when), len(looks) - 1)]
    stopped = (when <= size) & (look < size)
    last = np.array(full(kind, sums, counts, level))
    alone = last if together == 1 else np.array(full(kind, sums, counts, LEVEL))
    return Outcomes(np.where(stopped, outcome, last), np.where(stopped, look, size), alone)


def early(kind: Kind, units: Units, error: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what is shown first, and after how many sets; beyond all sets where nothing is."""
    bound, size = kind.requirement.bound, units.sums.shape[-1]

    def first(shown: np.ndarray) -> np.ndarray:
        return np.where(shown > 0, shown, size + 1)

    above, below = first(units.shown_above(bound, error)), first(units.shown_below(bound, error))
    if kind.size:
        above = np.minimum(above, first(units.shown_below(-bound, error)))
        below = np.maximum(below, first(units.shown_above(-bound, error)))
    words = (PASSED, FAILED) if kind.requirement.sign == "<=" else (FAILED, PASSED)
    return np.where(below <= above, *words), np.minimum(above, below)


def resampled(means: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the resampled means of each audit."""
    size = means.shape[1]
    for seed, first in enumerate(range(0, len(means), BLOCK)):
        several = means[first : first + BLOCK]
        chunks = bootstrap.weight_chunks(size, resamples=RESAMPLES, seed=seed)()
        yield from np.hstack([several @ weights.astype(np.float64) / size for weights in chunks])


def full(kind: Kind, sums: np.ndarray, counts: np.ndarray, level: float) -> list[str]:
    """Return what the interval of all sets says: that of every full audit."""
    means, size = sums / counts, sums.shape[1]
    outcomes = []
    for values, drawn in zip(means, resampled(means), strict=True):
        value = float(values.mean())
        if kind.size:
            # As Evidence does: the deviations of the signed difference.
            factor = bootstrap.t_factor(level, (size / 3 if size < bootstrap.FEW_UNITS else size) - 1)
            reach = factor * math.sqrt(size / (size - 1)) * float(np.quantile(np.abs(drawn - value), level))
            ends = max(0.0, abs(value) - reach), abs(value) + reach
        elif bounded.is_enough(values, kind.bounds[1] - kind.bounds[0]):
            ends = bootstrap.percentile(value, drawn, level=level, units=size).ends
        else:
            ends = bounded.mean_interval(values, kind.bounds, level=level, whole=kind.whole).ends
        outcomes.append(kind.requirement.outcome(*ends))
    return outcomes


def truth(kind: Kind, value: float) -> str:
    return kind.requirement.outcome(abs(value) if kind.size else value, abs(value) if kind.size else value)


def cell(asked: tuple[str, int, int, int]) -> list[str] | None:
    """Return a row for one kind, size and distance; None where the value would be outside of what is possible."""
    name, size, distance, audits = asked
    kind, value = KINDS[name], value_at(name, size, distance)
    if value is None:
        return None
    made = settle(kind, value, audits, size, 1, 39)
    right = truth(kind, value)
    wrong = {PASSED: FAILED, FAILED: PASSED}[right]
    shares = [f"{np.mean(made.outcome == word):.1%}" for word in (PASSED, FAILED, UNDECIDED)]
    plain = " / ".join(f"{np.mean(made.plain == word):.0%}" for word in (PASSED, FAILED, UNDECIDED))
    agree = np.mean((made.outcome == made.plain) | (made.outcome == UNDECIDED) | (made.plain == UNDECIDED))
    asked_share = f"{np.mean(made.asked) / size:.0%} (median {np.median(made.asked):.0f})"
    false = f"{np.mean(made.outcome == wrong):.1%}"
    same = f"{np.mean(made.outcome == made.plain):.0%}"
    return [
        name,
        f"{size:,}",
        f"{distance:+d}",
        f"{value:.3f}",
        *shares,
        false,
        asked_share,
        plain,
        same,
        f"{agree:.1%}",
    ]


def together(asked: tuple[int, str, Sequence[int], int]) -> list[str]:
    """Return a row for audits with three requirements, at these distances."""
    size, name, distances, audits = asked
    kinds = [KINDS[known] for known in ("flip rate", "accuracy", "UCerF")]
    values = [
        k.requirement.bound + d * k.deviation(k.requirement.bound) / math.sqrt(size)
        for k, d in zip(kinds, distances, strict=True)
    ]
    made = [
        settle(k, v, audits, size, 3, 100 + number) for number, (k, v) in enumerate(zip(kinds, values, strict=True))
    ]
    rights = [truth(k, v) for k, v in zip(kinds, values, strict=True)]
    passes = np.any([(m.outcome == PASSED) & (r == FAILED) for m, r in zip(made, rights, strict=True)], axis=0)
    fails = np.any([(m.outcome == FAILED) & (r == PASSED) for m, r in zip(made, rights, strict=True)], axis=0)
    at_limit = np.any([m.outcome == PASSED for m, d in zip(made, distances, strict=True) if d == 0] or [passes], axis=0)
    asked_share = np.mean(np.max([m.asked for m in made], axis=0)) / size
    return [
        f"{size:,}",
        name,
        f"{passes.mean():.1%}",
        f"{fails.mean():.1%}",
        f"{at_limit.mean():.1%}",
        f"{asked_share:.0%}",
    ]


PILOTS = (100_000, 300)
"""Sets that the spread is planned from: as good as all, and those of a small run."""


def powers(asked: tuple[str, int, int, int]) -> list[str] | None:
    """Return the power that `plan` predicts for a kind at a size and distance, beside the simulation."""
    name, size, distance, audits = asked
    kind, value = KINDS[name], value_at(name, size, distance)
    if value is None:
        return None
    drawn = kind.draw(np.random.default_rng(40), (audits, size), value)
    power = float(np.mean(np.array(full(kind, *drawn, LEVEL)) == truth(kind, value)))
    contrast = Contrast(kind.requirement.bound, LEVEL, kind.whole, kind.size)
    planned = [contrast.power(seen(kind, value, size, pilot), size) for pilot in PILOTS]
    shown = [f"{share:.1%} ({100 * (share - power):+.1f})" for share in planned]
    return [name, f"{size:,}", f"{distance:+d}", f"{power:.1%}", *shown]


def settled(asked: tuple[str, int, int, int]) -> list[str] | None:
    """Return the sets that `plan` predicts for `--until` at a size and distance, beside the median of those needed."""
    name, size, distance, audits = asked
    kind, value = KINDS[name], value_at(name, size, distance)
    if value is None:
        return None
    # As if there were any number of sets.
    plenty = settle(kind, value, audits // 4, 4 * size, 1, 41)
    median = float(np.median(plenty.asked))
    reached = f"{median:,.0f}" if median < 4 * size else f"over {4 * size:,}"
    needed = units_to_settle(seen(kind, value, size, PILOTS[-1]), kind.requirement.bound, (1 - LEVEL) / 2)
    looks = [look for look in frequent_looks(40 * size) if needed and look >= max(needed, FEWEST_SETS)]
    return [name, f"{size:,}", f"{distance:+d}", f"{looks[0]:,}" if looks else "–", reached]


def value_at(name: str, size: int, distance: int) -> float | None:
    """Return the true value at a distance from the limit; None where it would be outside of what is possible."""
    kind = KINDS[name]
    value = kind.requirement.bound + distance * kind.deviation(kind.requirement.bound) / math.sqrt(size)
    return value if 0.0 <= value < (0.2 if kind.size else 1.0) else None


def seen(kind: Kind, value: float, size: int, pilot: int) -> Units:
    """Return the sets that `plan` takes from an earlier run of that many sets."""
    sums, counts = (part[0] for part in kind.draw(np.random.default_rng(7), (1, pilot), value))
    units = Units(sums, counts, kind.bounds, kind.most, size)
    return with_true_value(units, value, whole=kind.whole or kind.most > 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=2000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[266, 792, 2000])
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=["outcomes", "together", "powers", "settled"])
    chosen = parsed(parser, audits=4, sizes=[120], processes=1)
    singles = [(k, n, d, chosen.audits) for k in KINDS for n in chosen.sizes for d in DISTANCES]
    mixed = {"all at the limit": (0, 0, 0), "all 3 on the good side": (-3, 3, 3), "all 3 on the bad side": (3, -3, -3)}
    mixed |= {"one at the limit, two far": (0, 8, 8), "all 1 on the bad side": (1, -1, -1)}
    several = [(n, name, d, chosen.audits) for n in chosen.sizes for name, d in mixed.items()]
    near = [(k, n, d, chosen.audits) for k, n, d, _ in singles if abs(d) in (2, 3, 4, 6) and "list" not in k]
    tables: dict[str, tuple[str, Callable[..., list[str] | None], Sequence[tuple[object, ...]]]] = {
        "outcomes": (
            "requirement | sets | distance in SE | true value | passed | FAILED | undecided | wrong | asked"
            " | all asked: passed / FAILED / undecided | same | not contrary",
            cell,
            singles,
        ),
        "together": (
            "sets | three requirements | a false pass | a false failure | passed at the limit | asked",
            together,
            several,
        ),
        "powers": (
            f"requirement | sets | distance in SE | power | planned from {PILOTS[0]:,} sets | from {PILOTS[1]}",
            powers,
            near,
        ),
        "settled": (
            f"requirement | sets | distance in SE | sets planned from {PILOTS[1]} | median needed",
            settled,
            [asked for asked in near if asked[1] < 1000],
        ),
    }
    with Pool(chosen.processes) as pool:
        for name in chosen.tables:
            head, row, asked = tables[name]
            print(f"\n| {head} |\n|{'---|' * (head.count('|') + 1)}", flush=True)
            for made in filter(None, pool.imap(row, asked)):
                print("|", " | ".join(made), "|", flush=True)


if __name__ == "__main__":
    main()
