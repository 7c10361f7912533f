"""How often does an interval hold the truth, at few units and near the bounds? How wide is it?

python benchmarks/coverage.py [--draws 2000] [--sizes 1 2 5 10 30 100]

Draws sets from known distributions, measures them as an audit does, and counts how often the 95% interval of the share
of flips, of a bounded mean (U) and of an absolute gap (accuracy) holds the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from shared.options import parsed

from equipoise.measuring.evidence import Evidence
from equipoise.metrics import METRICS
from equipoise.stats.bootstrap import weight_chunks
from equipoise.stats.resampling import Statistic, evaluate

LEVEL = 0.95
Draw = Callable[[np.random.Generator, int], tuple[str, list[np.ndarray], float]]


def share(p: float) -> Draw:
    return lambda rng, n: ("flip_rate", [(rng.random(n) < p).astype(float)], p)


def mostly_one(p: float, low: float) -> Draw:
    """U is 1 in most sets and `low` in a share p of them: the shape of a model with few, large differences."""
    return lambda rng, n: ("ucerf", [np.where(rng.random(n) < p, low, 1.0)], 1 - p * (1 - low))


def beta(a: float, b: float) -> Draw:
    return lambda rng, n: ("ucerf", [rng.beta(a, b, n)], a / (a + b))


def gap(pro: float, anti: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[str, list[np.ndarray], float]:
        correct = np.concatenate([rng.random(n) < pro, rng.random(n) < anti]).astype(float)
        kinds = np.repeat(np.array(["pro", "anti"], dtype=object), n)
        return "accuracy_gap", [correct, kinds], abs(pro - anti)

    return draw


def jittered(p: float, spread: float) -> Draw:
    """Return values close to 1, but for a share p of them that are 0: what a bootstrap without a 0 cannot foresee."""

    def draw(rng: np.random.Generator, n: int) -> tuple[str, list[np.ndarray], float]:
        near = 1 - spread * rng.random(n)
        return "ucerf", [np.where(rng.random(n) < p, 0.0, near)], (1 - p) * (1 - spread / 2)

    return draw


CASES: dict[str, Draw] = {
    "share 0": share(0.0),
    "share 0.01": share(0.01),
    "share 0.05": share(0.05),
    "share 0.5": share(0.5),
    "share 1": share(1.0),
    "mean 1 (all 1)": beta(1e9, 1),
    "mean 0.995 (5% at 0.9)": mostly_one(0.05, 0.9),
    "mean 0.98 (2% at 0)": mostly_one(0.02, 0.0),
    "mean 0.98 (2% at 0, the rest within 0.001 of 1)": jittered(0.02, 0.001),
    "mean 0.9 (beta 9, 1)": beta(9, 1),
    "mean 0.5 (beta 1/2, 1/2)": beta(0.5, 0.5),
    "gap 0 (0.5, 0.5)": gap(0.5, 0.5),
    "gap 0 (1, 1)": gap(1.0, 1.0),
    "gap 0.1 (0.95, 0.85)": gap(0.95, 0.85),
    "gap 0.6 (0.9, 0.3)": gap(0.9, 0.3),
}


def simulate(draw: Draw, n: int, draws: int, resamples: int) -> tuple[float, float, float]:
    """Return how often the interval holds the truth, its mean width, and its smallest."""
    rng = np.random.default_rng([n, draws])
    chunks = weight_chunks(n, resamples=resamples, seed=0)
    held, widths = 0, []
    for _ in range(draws):
        name, arrays, truth = draw(rng, n)
        metric = METRICS[name]
        statistic = Statistic(metric.function, arrays, np.tile(np.arange(n), len(arrays[0]) // n))
        signed = metric.norm.differences if metric.norm else metric.function
        (samples,) = evaluate([Statistic(signed, arrays, statistic.clusters)], chunks)
        value = float(metric.function(*arrays))
        low, high = Evidence(metric, [statistic], value, 2, LEVEL).estimate(samples).ends
        held += low - 1e-9 <= truth <= high + 1e-9
        widths.append(high - low)
    return held / draws, float(np.mean(widths)), float(np.min(widths))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 5, 10, 30, 100])
    chosen = parsed(parser, draws=10, resamples=50, sizes=[2, 30])
    print("| truth | " + " | ".join(f"n = {n}" for n in chosen.sizes) + " |")
    print("|---|" + "---:|" * len(chosen.sizes))
    worst = 1.0
    for name, draw in CASES.items():
        cells = []
        for n in chosen.sizes:
            covered, width, smallest = simulate(draw, n, chosen.draws, chosen.resamples)
            worst = min(worst, covered)
            assert smallest > 0, f"{name}, n = {n}: an interval of zero width"
            cells.append(f"{covered:.3f} ({width:.2f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(
        f"\ncoverage (mean width) of {100 * LEVEL:g}% intervals, {chosen.draws} draws each; the smallest is {worst:.3f}"
    )


if __name__ == "__main__":
    main()
