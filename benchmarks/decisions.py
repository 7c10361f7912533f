"""How often does a gate on a drop decide, how often wrongly, and is "about N more sets" what it takes?

python benchmarks/decisions.py [--draws 200] [--sizes 42 79 266 785] [--tables drops requirements]

Draws differences of UCerF between two runs, set by set, from known distributions, and checks them against an allowed
drop as `gate --max-drop` does. A false decision passes a true drop above the bound, or fails one below it. What it
takes is found by drawing further sets from the same world until the gate decides. No sample knows how near the truth is
to the bound, so what is told is right over worlds whose drop may be anything, not in each world by itself. The second
table does the same for requirements on shares, means, ratios and sizes of gaps, whose true values may be anything.
"Enough" should be 0.50: half of the audits take at most what they are told. "In the range" should be 0.80.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit
from shared.options import parsed
from until import KINDS, Kind

from equipoise.measuring.evidence import mean_contest
from equipoise.records import Estimate
from equipoise.stats import bootstrap
from equipoise.stats.paired import Trial, paired_intervals
from equipoise.stats.planning import More, Seen, scaled_more
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


@dataclass(frozen=True)
class Audit:
    """What an undecided audit was told, and what it took: more sets, infinite where that is beyond what was drawn."""

    told: More
    took: float

    @property
    def ratio(self) -> float:
        """What it took as a share of what it was told."""
        return self.took / (self.told.half or math.inf)

    @property
    def has_range(self) -> bool:
        """Whether it was told a range: sets that are all alike say nothing of how others may differ."""
        return self.told.few != self.told.many

    @property
    def is_in_range(self) -> bool:
        return (self.told.few or math.inf) <= self.took <= (self.told.many or math.inf)


def columns(audits: list[Audit]) -> str:
    """Return the columns of a table on what audits were told: medians, how often it was enough, and the range."""
    if not audits:
        return "0 | – | – | – | – | – | –"
    half, few, many = (
        np.median([getattr(a.told, name) or math.inf for a in audits]) for name in ("half", "few", "many")
    )
    took, ratio = np.median([audit.took for audit in audits]), np.nanmedian([audit.ratio for audit in audits])
    enough = np.mean([audit.took <= (audit.told.half or math.inf) for audit in audits])
    ranged = [audit.is_in_range for audit in audits if audit.has_range]
    inside = f"{np.mean(ranged):.2f} of {len(ranged)}" if ranged else "–"
    return (
        f"{len(audits)} | {half:,.0f} | {took:,.0f} | {ratio:.2f} | {enough:.2f} | {few:,.0f} to {many:,.0f} | {inside}"
    )


COLUMNS = "undecided | told: more sets | took | took / told | enough | told: range | in the range"
CLOSE, LARGE = 0.15, 1000
"""Where Student's interval ends closer to the bound than this, in radii, a look is the gate's own bootstrap; with more
sets than that the two are alike."""


def tested(differences: np.ndarray) -> tuple[float, float]:
    """Return the interval of the difference with which a gate tests it."""
    planned = Seen(differences, (-1.0, 1.0), LEVEL).estimate(len(differences))
    apart = min(abs(end - ALLOWED) for end in planned.ends)
    if apart > CLOSE * planned.width / 2 or len(differences) > LARGE:
        return planned.ends
    first, second = np.maximum(differences, 0), np.maximum(-differences, 0)
    contest = mean_contest(first, second, np.arange(len(differences)), 1.0)
    return paired_intervals([contest], clusters=len(differences), trial=Trial(level=LEVEL))[0].ends


def decision(low: float, high: float) -> bool | None:
    """Return whether a drop is allowed; None where the bound is inside the interval."""
    return True if high <= ALLOWED else False if low > ALLOWED else None


def needed(differences: np.ndarray, draw: Draw, rng: np.random.Generator, most: int) -> float:
    """Return how many more sets of the same world it takes to decide; infinite above `most`."""
    extended = np.concatenate([differences, draw(rng, most)])
    size = len(differences)
    while size < len(extended):
        size = min(len(extended), max(size + 1, int(size * 1.05)))
        if decision(*tested(extended[:size])) is not None:
            return size - len(differences)
    return math.inf


def row(name: str, size: int, draws: int, most: int) -> str:
    """Return a line of the table: a world at one number of sets, drawn until there are enough undecided audits."""
    shape, low, high = WORLDS[name]
    rng = np.random.default_rng([size, len(name)])
    answers, audits = [], []
    while len(answers) < draws or (len(audits) < draws and len(answers) < MOST_DRAWS * draws):
        truth = rng.uniform(low, high)
        draw = shape(truth)
        differences = draw(rng, size)
        answer = decision(*tested(differences))
        answers.append((answer is not None, answer is not None and answer != (truth <= ALLOWED)))
        if answer is None and len(audits) < draws:
            told = Seen(differences, (-1.0, 1.0), LEVEL).more(lambda low, high: (high <= ALLOWED) == (low <= ALLOWED))
            audits.append(Audit(told, needed(differences, draw, rng, most)))
    decided, false = np.mean(answers, axis=0)
    return f"| {name} | {size} | {len(answers)} | {decided:.2f} | {false:.4f} | {columns(audits)} |"


MOST_DRAWS = 30
"""A world that decides nearly always has few undecided audits: so many times the draws are made at most."""

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

    audits: list[Audit] = []
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
        took = next((look - size for look, e in zip(looks, ends, strict=False) if decides(e.low, e.high)), math.inf)
        audits.append(Audit(more, took))
        if len(audits) == draws:
            break
    return f"| `{kind.text}` | {size} | {columns(audits)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[42, 79, 266, 785])
    parser.add_argument("--most", type=int, default=40_000, help="further sets that are drawn at most")
    parser.add_argument("--tables", nargs="+", default=["drops", "requirements"])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    chosen = parsed(parser, draws=8, sizes=[42], most=200)
    if "drops" in chosen.tables:
        print(f"| drop ({ALLOWED:g} is allowed) | sets | draws | decided | falsely | {COLUMNS} |")
        print("|---|" + "---:|" * 11)
        for name in chosen.worlds:
            for size in chosen.sizes:
                print(row(name, size, chosen.draws, chosen.most), flush=True)
    if "requirements" in chosen.tables:
        print(f"\n| requirement | sets | {COLUMNS} |")
        print("|---|" + "---:|" * 8)
        for name in ("flip rate", "accuracy", "UCerF", "accuracy gap"):
            for size in chosen.sizes:
                print(requirement_row(name, size, chosen.draws, chosen.most), flush=True)


if __name__ == "__main__":
    main()
