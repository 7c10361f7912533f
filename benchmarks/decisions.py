"""How often does a gate on a drop decide, how often wrongly, and is "about N more sets" what it takes?

python benchmarks/decisions.py [--draws 200] [--sizes 42 79 266 785]

Draws differences of UCerF between two runs, set by set, from known distributions, and checks them against an allowed
drop as `gate --max-drop` does. A false decision passes a true drop above the bound, or fails one below it. What it
takes is found by drawing further sets from the same world until the gate decides.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from shared.options import parsed

from equipoise.measuring.evidence import mean_contest
from equipoise.records import Estimate
from equipoise.stats.paired import Trial, paired_differences
from equipoise.stats.planning import Seen

ALLOWED = 0.05
LEVEL = 0.95
Draw = Callable[[np.random.Generator, int], np.ndarray]


def smooth(drop: float, spread: float) -> Draw:
    """Return differences that are spread evenly around the drop: two versions of a model."""
    return lambda rng, n: np.clip(rng.normal(drop, spread, n), -1, 1)


def rare(drop: float, size: float) -> Draw:
    """Return differences of 0, but for the few sets that make the whole drop."""
    return lambda rng, n: np.where(rng.random(n) < drop / size, size, 0.0)


WORLDS: dict[str, tuple[float, Draw]] = {
    "none, spread 0.1": (0.0, smooth(0.0, 0.1)),
    "0.09, spread 0.1": (0.09, smooth(0.09, 0.1)),
    "0.04, spread 0.1": (0.04, smooth(0.04, 0.1)),
    "0.1, in a tenth of the sets": (0.1, rare(0.1, 1.0)),
    "0.02, in 1 of 40 sets": (0.02, rare(0.02, 0.8)),
}


def tested(differences: np.ndarray) -> Estimate:
    """Return the difference as a gate tests it."""
    first, second = np.maximum(differences, 0), np.maximum(-differences, 0)
    numbers = np.arange(len(differences))
    contest = mean_contest(first, second, numbers, 1.0)
    trial = Trial(resamples=400, permutations=1, level=LEVEL)
    return paired_differences([contest], clusters=len(differences), trial=trial)[0]


def decision(estimate: Estimate) -> bool | None:
    """Return whether a drop is allowed; None where the bound is inside the interval."""
    return True if estimate.high <= ALLOWED else False if estimate.low > ALLOWED else None


def needed(differences: np.ndarray, draw: Draw, rng: np.random.Generator, most: int) -> float:
    """Return how many more sets of the same world it takes to decide; infinite above `most`."""
    extended = np.concatenate([differences, draw(rng, most)])
    size = len(differences)
    while size < len(extended):
        size = min(len(extended), max(size + 1, int(size * 1.05)))
        if decision(tested(extended[:size])) is not None:
            return size - len(differences)
    return np.inf


def row(name: str, size: int, draws: int, most: int) -> str:
    """Return a line of the table: a world at one number of sets."""
    truth, draw = WORLDS[name]
    rng = np.random.default_rng([size, len(name)])
    decided, false, told, took = 0, 0, [], []
    for number in range(draws):
        differences = draw(rng, size)
        answer = decision(tested(differences))
        decided += answer is not None
        false += answer is not None and answer != (truth <= ALLOWED)
        if answer is None and number < draws // 4:
            seen = Seen(differences, (-1.0, 1.0), LEVEL)
            more = seen.more(lambda estimate: decision(estimate) is not None)
            told.append(np.inf if more is None else more)
            took.append(needed(differences, draw, rng, most))
    beside = f"{np.median(told):,.0f} | {np.median(took):,.0f} | {len(told)}" if told else "– | – | 0"
    return f"| {name} | {size} | {decided / draws:.2f} | {false / draws:.3f} | {beside} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[42, 79, 266, 785])
    parser.add_argument("--most", type=int, default=5000, help="further sets that are drawn at most")
    chosen = parsed(parser, draws=8, sizes=[42], most=200)
    print(f"| drop ({ALLOWED:g} is allowed) | sets | decided | falsely | told: more sets | took | of undecided |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in WORLDS:
        for size in chosen.sizes:
            print(row(name, size, chosen.draws, chosen.most), flush=True)


if __name__ == "__main__":
    main()
