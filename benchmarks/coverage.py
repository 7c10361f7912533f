"""How often does an interval hold the truth, at few units and near the bounds? How wide is it?

python benchmarks/coverage.py [--draws 2000] [--sizes 1 2 5 8 12 20 25 30 100] [--only clusters]

Draws sets from known distributions, measures them as an audit does, and counts how often the 95% interval of the share
of flips, of a bounded mean (U) and of an absolute gap (accuracy) holds the truth. Then clusters of 20 to 60 items whose
answers depend on each other (accuracy, BBQ's scores), beside the cluster-robust interval (residuals and Student's t).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit
from shared.options import parsed

from equipoise.measuring.evidence import Evidence
from equipoise.metrics import METRICS
from equipoise.records import UndefinedMetric
from equipoise.stats.bootstrap import weight_chunks
from equipoise.stats.jackknife import left_out_values
from equipoise.stats.resampling import Statistic, evaluate

LEVEL = 0.95


class World(NamedTuple):
    """One draw: the metric, its columns, the cluster of each item, and the truth."""

    metric: str
    arrays: list[np.ndarray]
    clusters: np.ndarray
    truth: float


Draw = Callable[[np.random.Generator, int], World]


def share(p: float) -> Draw:
    return lambda rng, n: World("flip_rate", [(rng.random(n) < p).astype(float)], np.arange(n), p)


def mostly_one(p: float, low: float) -> Draw:
    """U is 1 in most sets and `low` in a share p of them: the shape of a model with few, large differences."""
    return lambda rng, n: World("ucerf", [np.where(rng.random(n) < p, low, 1.0)], np.arange(n), 1 - p * (1 - low))


def beta(a: float, b: float) -> Draw:
    return lambda rng, n: World("ucerf", [rng.beta(a, b, n)], np.arange(n), a / (a + b))


def gap(pro: float, anti: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> World:
        correct = np.concatenate([rng.random(n) < pro, rng.random(n) < anti]).astype(float)
        kinds = np.repeat(np.array(["pro", "anti"], dtype=object), n)
        return World("accuracy_gap", [correct, kinds], np.tile(np.arange(n), 2), abs(pro - anti))

    return draw


def jittered(p: float, spread: float) -> Draw:
    """Return values close to 1, but for a share p of them that are 0: what a bootstrap without a 0 cannot foresee."""

    def draw(rng: np.random.Generator, n: int) -> World:
        near = 1 - spread * rng.random(n)
        return World("ucerf", [np.where(rng.random(n) < p, 0.0, near)], np.arange(n), (1 - p) * (1 - spread / 2))

    return draw


def rates(rng: np.random.Generator, p: float, correlation: float, n: int) -> np.ndarray:
    """Return the share of each cluster: equal, or by a beta distribution with this correlation within clusters."""
    if not correlation or p in (0, 1):
        return np.full(n, p)
    size = 1 / correlation - 1
    return rng.beta(p * size, (1 - p) * size, n)


def clustered(p: float, correlation: float) -> Draw:
    """Right answers in clusters of 20 to 60 items."""

    def draw(rng: np.random.Generator, n: int) -> World:
        clusters = np.repeat(np.arange(n), rng.integers(20, 61, n))
        correct = (rng.random(len(clusters)) < rates(rng, p, correlation, n)[clusters]).astype(float)
        return World("accuracy", [correct], clusters, p)

    return draw


def bbq(named: float, bias: float, correlation: float, *, ambiguous: bool) -> Draw:
    """BBQ's score: a share `named` of the answers names a person, and of these (1 + bias) / 2 the stereotype's."""

    def draw(rng: np.random.Generator, n: int) -> World:
        clusters = np.repeat(np.arange(n), rng.integers(20, 61, n))
        person = rng.random(len(clusters)) < rates(rng, named, correlation, n)[clusters]
        toward = rng.random(len(clusters)) < rates(rng, (1 + bias) / 2, correlation, n)[clusters]
        lean = np.where(person, np.where(toward, 1.0, -1.0), 0.0)
        if ambiguous:  # "unknown" is right, so that (1 - accuracy) s is the share toward less the share against
            return World("bbq_bias_ambiguous", [lean, (lean == 0).astype(float)], clusters, named * bias)
        return World("bbq_bias_disambiguated", [lean], clusters, bias)

    return draw


SETS: dict[str, Draw] = {
    "share 0": share(0.0),
    "share 0.01": share(0.01),
    "share 0.05": share(0.05),
    "share 0.5": share(0.5),
    "share 1": share(1.0),
    "mean 1 (all 1)": beta(1e9, 1),
    "mean 0.995 (5% at 0.9)": mostly_one(0.05, 0.9),
    "mean 0.98 (2% at 0)": mostly_one(0.02, 0.0),
    "mean 0.98 (2% at 0, the rest within 0.001 of 1)": jittered(0.02, 0.001),
    "mean 0.9 (10% at 0)": mostly_one(0.1, 0.0),
    "mean 0.9 (beta 9, 1)": beta(9, 1),
    "mean 0.5 (beta 1/2, 1/2)": beta(0.5, 0.5),
    "gap 0 (0.5, 0.5)": gap(0.5, 0.5),
    "gap 0 (1, 1)": gap(1.0, 1.0),
    "gap 0.1 (0.95, 0.85)": gap(0.95, 0.85),
    "gap 0.6 (0.9, 0.3)": gap(0.9, 0.3),
}
CLUSTERS: dict[str, Draw] = {
    f"accuracy {p:g}, correlation {r:g}": clustered(p, r) for p in (0.02, 0.5, 0.9) for r in (0.02, 0.1, 0.3)
}
CLUSTERS |= {
    f"s_{'AMB' if ambiguous else 'DIS'} {bias:g}, {named:.0%} name a person, correlation {r:g}": bbq(
        named, bias, r, ambiguous=ambiguous
    )
    for ambiguous in (False, True)
    for named, bias in ((0.1, 0.5), (0.3, 0.3), (0.9, 0.0), (1.0, 0.3), (0.9, 0.9))
    for r in (0.02, 0.1, 0.3)
}
CASES = {"sets": SETS, "clusters": CLUSTERS}


class Cell(NamedTuple):
    """How often the interval holds the truth, its mean width and its smallest, and the same of the robust one."""

    covered: float
    width: float
    smallest: float
    robust: float
    robust_width: float


def robust_ends(statistic: Statistic, value: float, n: int) -> tuple[float, float]:
    """Return the cluster-robust interval, by how much each cluster moves the value when it is left out."""
    moved = value - left_out_values([statistic])
    radius = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * float(np.sqrt((moved**2).sum() * (n - 1) / n))
    return value - radius, value + radius


def simulate(draw: Draw, n: int, draws: int, resamples: int, *, robust: bool) -> Cell:
    """Return how the intervals of many draws do."""
    rng = np.random.default_rng([n, draws])
    chunks = weight_chunks(n, resamples=resamples, seed=0)
    held, widths, robust_held, robust_widths = 0, [], 0, []
    for _ in range(draws):
        name, arrays, clusters, truth = draw(rng, n)
        metric = METRICS[name]
        statistic = Statistic(metric.function, arrays, clusters)
        try:
            value = float(metric.function(*arrays))
        except UndefinedMetric:
            continue
        evidence, samples = Evidence(metric, [statistic], value, 2, LEVEL), None
        if evidence.needs_resamples:
            signed = metric.norm.differences if metric.norm else metric.function
            (samples,) = evaluate([Statistic(signed, arrays, clusters)], chunks)
        low, high = evidence.estimate(samples).ends
        held += low - 1e-9 <= truth <= high + 1e-9
        widths.append(high - low)
        if robust:
            low, high = robust_ends(statistic, value, n)
            robust_held += low <= truth <= high
            robust_widths.append(high - low)
    count = len(widths)
    beside = (robust_held / count, float(np.mean(robust_widths))) if robust else (np.nan, np.nan)
    return Cell(held / count, float(np.mean(widths)), float(np.min(widths)), *beside)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 5, 8, 12, 20, 25, 30, 100])
    parser.add_argument("--only", choices=list(CASES), nargs="+", default=list(CASES))
    chosen = parsed(parser, draws=10, resamples=50, sizes=[2, 8, 30])
    worst = 1.0
    for kind in chosen.only:
        print(f"| {kind} | " + " | ".join(f"n = {n}" for n in chosen.sizes) + " |")
        print("|---|" + "---:|" * len(chosen.sizes))
        for name, draw in CASES[kind].items():
            cells = []
            for n in chosen.sizes:
                robust = kind == "clusters" and n > 2
                cell = simulate(draw, n, chosen.draws, chosen.resamples, robust=robust)
                worst = min(worst, cell.covered)
                assert cell.smallest > 0, f"{name}, n = {n}: an interval of zero width"
                beside = f"; {cell.robust:.3f}, x {cell.width / cell.robust_width:.1f}" if robust else ""
                cells.append(f"{cell.covered:.3f} ({cell.width:.2f}{beside})")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        print()
    print(f"coverage (mean width; coverage of the cluster-robust interval, and how much wider than it) of {LEVEL:.0%}")
    print(f"intervals, {chosen.draws} draws each; the smallest coverage is {worst:.3f}")


if __name__ == "__main__":
    main()
