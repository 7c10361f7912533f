"""How much does `--until-width` save, and do its intervals hold? Betting sequences against planned looks.

    python benchmarks/stopping.py [--audits 500] [--sizes 780 8000]

500 planted audits of each kind: a population of sets is drawn, asked in random order, and stopped by either rule.
Planned looks are the rule for identity disparities: at each of K looks a normal interval at level 1 - 0.05/K, with the
correction for a finite population. Prints a Markdown table: sets asked on average as a share of all, and coverage.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from shared.options import parsed

from equipoise.stats.sequential import betting_sequence, frequent_looks, planned_looks

LEVEL = 0.95
Values = np.ndarray
Stop = tuple[int, float, float]


def populations() -> dict[str, Callable[[np.random.Generator, int], Values]]:
    """Return the planted populations, as values in [0, 1]."""
    return {
        "UCerF (sd 0.07)": lambda rng, n: 1 - np.abs(rng.normal(0, 0.12, n)).clip(0, 1),
        "flip rate 0.1": lambda rng, n: (rng.random(n) < 0.1).astype(float),
        "accuracy 0.75": lambda rng, n: (rng.random(n) < 0.75).astype(float),
        "accuracy gap 0.05, from -1 to 1": lambda rng, n: rng.choice([0.0, 0.5, 1.0], n, p=[0.03, 0.89, 0.08]),
    }


def betting(values: Values, width: float) -> Stop:
    """Return where a betting sequence stops, and its interval there; widths never grow, so the look is bisected."""
    looks = frequent_looks(len(values))
    low, high = 0, len(looks)
    while low < high:
        middle = (low + high) // 2
        ends = betting_sequence(values[: looks[middle]], len(values), level=LEVEL, target=width)
        low, high = (low, middle) if ends.width < width else (middle + 1, high)
    if low == len(looks):
        return len(values), float(values.mean()), float(values.mean())
    return looks[low], *betting_sequence(values[: looks[low]], len(values), level=LEVEL, target=width).ends


def planned(values: Values, width: float) -> Stop:
    """Return where planned looks stop, and their interval there."""
    looks = planned_looks(len(values))
    z = NormalDist().inv_cdf(1 - (1 - LEVEL) / (2 * max(1, len(looks))))
    for look in looks:
        seen = values[:look]
        reach = z * float(seen.std(ddof=1)) / np.sqrt(look) * np.sqrt(1 - look / len(values))
        if 2 * reach < width:
            return look, float(seen.mean()) - reach, float(seen.mean()) + reach
    return len(values), float(values.mean()), float(values.mean())


def row(name: str, size: int, width: float, audits: int) -> list[str]:
    """Return the cells of one kind of audit."""
    rng = np.random.default_rng(5)
    draw = populations()[name]
    scale = 2.0 if "from -1 to 1" in name else 1.0
    asked: dict[str, list[float]] = {"betting": [], "planned": []}
    covered: dict[str, list[bool]] = {"betting": [], "planned": []}
    for _ in range(audits):
        values = rng.permutation(draw(rng, size))
        for rule, function in (("betting", betting), ("planned", planned)):
            count, low, high = function(values, width / scale)
            asked[rule].append(count / size)
            covered[rule].append(low - 1e-9 <= float(values.mean()) <= high + 1e-9)
    cells = [f"{np.mean(asked[rule]):.0%}, {np.mean(covered[rule]):.1%}" for rule in asked]
    return [name, f"{size:,}", f"{width:g}", *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=[780, 8000])
    chosen = parsed(parser, audits=1, sizes=[300])
    print("| metric | sets | precision | betting: asked, covered | planned looks: asked, covered |")
    print("|---|---|---|---|---|")
    for size in chosen.sizes:
        for name in populations():
            for width in (0.05, 0.02, 0.01):
                print("|", " | ".join(row(name, size, width, chosen.audits)), "|", flush=True)


if __name__ == "__main__":
    main()
