"""How often does a gate on a drop decide, how often wrongly, and is "about N more sets" what it takes?

python benchmarks/decisions.py [--draws 200] [--sizes 42 79 266 785] [--tables drops requirements]

Draws differences of UCerF between two runs, set by set, from known distributions, and checks them against an allowed
drop as `gate --max-drop` does. A false decision passes a true drop above the bound, or fails one below it. What it
takes is found by drawing further sets from the same world until the gate decides. No sample knows how near the truth is
to the bound, so what is told is right over worlds whose drop may be anything, not in each world by itself. The second
table does the same for requirements on shares, means, ratios and sizes of gaps, whose true values may be anything.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from scipy.special import stdtrit
from shared.options import parsed
from until import KINDS, Kind

from equipoise.measuring.evidence import mean_contest
from equipoise.records import Estimate
from equipoise.stats import bootstrap
from equipoise.stats.paired import Trial, paired_differences
from equipoise.stats.planning import Seen, scaled_more
from equipoise.stats.power import DISCRETENESS

ALLOWED = 0.05
LEVEL = 0.95
Draw = Callable[[np.random.Generator, int], np.ndarray]
Shape = Callable[[float], Draw]


def smooth(drop: float) -> Draw:
    """Return differences that are spread evenly around the drop: two versions of a model."""
    return lambda rng, n: np.clip(rng.normal(drop, 0.1, n), -1, 1)


def rare(size: float) -> Shape:
    """Return differences of 0, but for the few sets that make the whole drop."""
    return lambda drop: lambda rng, n: np.where(rng.random(n) < drop / size, size, 0.0)


WORLDS: dict[str, tuple[Shape, float, float]] = {
    "none, spread 0.1": (smooth, 0.0, 0.0),
    "0.09, spread 0.1": (smooth, 0.09, 0.09),
    "0.04, spread 0.1": (smooth, 0.04, 0.04),
    "0.1, in a tenth of the sets": (rare(1.0), 0.1, 0.1),
    "0.02, in 1 of 40 sets": (rare(0.8), 0.02, 0.02),
    "anything from -0.03 to 0.13, spread 0.1": (smooth, -0.03, 0.13),
    "anything from 0 to 0.15, in few sets": (rare(1.0), 0.0, 0.15),
}
"""Shapes of differences, and the range that the true drop is drawn from."""


def tested(differences: np.ndarray) -> Estimate:
    """Return the difference as a gate tests it."""
    first, second = np.maximum(differences, 0), np.maximum(-differences, 0)
    numbers = np.arange(len(differences))
    contest = mean_contest(first, second, numbers, 1.0)
    trial = Trial(resamples=400, permutations=1, level=LEVEL)
    return paired_differences([contest], clusters=len(differences), trial=trial)[0]


def decision(low: float, high: float) -> bool | None:
    """Return whether a drop is allowed; None where the bound is inside the interval."""
    return True if high <= ALLOWED else False if low > ALLOWED else None


def needed(differences: np.ndarray, draw: Draw, rng: np.random.Generator, most: int) -> float:
    """Return how many more sets of the same world it takes to decide; infinite above `most`."""
    extended = np.concatenate([differences, draw(rng, most)])
    size = len(differences)
    while size < len(extended):
        size = min(len(extended), max(size + 1, int(size * 1.05)))
        if decision(*tested(extended[:size]).ends) is not None:
            return size - len(differences)
    return np.inf


def row(name: str, size: int, draws: int, most: int) -> str:
    """Return a line of the table: a world at one number of sets."""
    shape, low, high = WORLDS[name]
    rng = np.random.default_rng([size, len(name)])
    decided, false, told, took = 0, 0, [], []
    for _ in range(draws):
        truth = rng.uniform(low, high)
        draw = shape(truth)
        differences = draw(rng, size)
        answer = decision(*tested(differences).ends)
        decided += answer is not None
        false += answer is not None and answer != (truth <= ALLOWED)
        if answer is None and len(told) < draws // 4:
            more = Seen(differences, (-1.0, 1.0), LEVEL).more(lambda low, high: (high <= ALLOWED) == (low <= ALLOWED))
            told.append(np.inf if more is None else more)
            took.append(needed(differences, draw, rng, most))
    enough = np.mean(np.array(took) <= np.array(told)) if told else np.nan
    beside = f"{np.median(told):,.0f} | {np.median(took):,.0f} | {enough:.2f} of {len(told)}" if told else "– | – | –"
    return f"| {name} | {size} | {decided / draws:.2f} | {false / draws:.3f} | {beside} |"


REACH = 6
"""True values of requirements are drawn from so many standard errors around the limit."""


def in_a_world(kind: Kind, size: int, rng: np.random.Generator) -> tuple[np.ndarray, Callable[[int], np.ndarray]]:
    """Return the values of sets of a world whose true value may be anything, and what draws more of them."""
    bound = kind.requirement.bound
    off = REACH * kind.deviation(bound) / math.sqrt(size)
    low, high = max(0.0, bound - off), min(0.199 if kind.size else 1.0, bound + off)
    truth = rng.uniform(low, high)

    def draw(count: int) -> np.ndarray:
        sums, counts = kind.draw(rng, (1, count), truth)
        return (sums / counts)[0]

    return draw(size), draw


def required(kind: Kind, units: np.ndarray) -> Estimate:
    """Return the estimate that a full audit has of these sets."""
    if not kind.size:
        return Seen(units, kind.bounds, LEVEL, kind.whole).estimate(len(units))
    counted = len(units) / (DISCRETENESS if len(units) < bootstrap.FEW_UNITS else 1)
    radius = float(stdtrit(counted - 1, (1 + LEVEL) / 2)) * float(units.std(ddof=1)) / math.sqrt(len(units))
    return Estimate.around(abs(float(units.mean())), radius, (0.0, 1.0), level=LEVEL, n=len(units), method="")


def requirement_row(name: str, size: int, draws: int, most: int) -> str:
    """Return a line of the table: a requirement at one number of sets."""
    kind, rng = KINDS[name], np.random.default_rng([size, len(name)])
    bound = kind.requirement.bound

    def decides(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.asarray((low <= bound) == (high <= bound))

    told, took = [], []
    for _ in range(100 * draws):
        units, draw = in_a_world(kind, size, rng)
        estimate = required(kind, units)
        if decides(estimate.low, estimate.high):
            continue
        seen = Seen(units, kind.bounds, LEVEL, kind.whole)
        more = scaled_more(estimate, (0.0, 1.0), decides) if kind.size else seen.more(decides)
        further = np.concatenate([units, draw(most)])
        looks = np.unique((size * 1.05 ** np.arange(1, 300)).astype(int))
        looks = looks[(looks > size) & (looks <= len(further))]
        ends = (required(kind, further[:look]) for look in looks.tolist())
        took.append(next((look - size for look, e in zip(looks, ends, strict=False) if decides(e.low, e.high)), np.inf))
        told.append(np.inf if more is None else more)
        if len(told) == draws:
            break
    ratios = np.array(took) / np.array(told)
    shares = (
        f"{np.median(told):,.0f} | {np.median(took):,.0f} | {np.nanmedian(ratios):.2f} | {np.mean(ratios <= 1):.2f}"
    )
    return f"| {kind.text} | {size} | {len(told)} | {shares} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[42, 79, 266, 785])
    parser.add_argument("--most", type=int, default=5000, help="further sets that are drawn at most")
    parser.add_argument("--tables", nargs="+", default=["drops", "requirements"])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    chosen = parsed(parser, draws=8, sizes=[42], most=200)
    if "drops" in chosen.tables:
        print(f"| drop ({ALLOWED:g} is allowed) | sets | decided | falsely | told: more sets | took | enough |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for name in chosen.worlds:
            for size in chosen.sizes:
                print(row(name, size, chosen.draws, chosen.most), flush=True)
    if "requirements" in chosen.tables:
        print("\n| requirement | sets | undecided | told: more sets | took | took / told, median | enough |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for name in ("flip rate", "accuracy", "UCerF", "accuracy gap"):
            for size in chosen.sizes:
                print(requirement_row(name, size, chosen.draws, 4 * chosen.most), flush=True)


if __name__ == "__main__":
    main()
