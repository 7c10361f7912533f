"""No interval or p-value moves unnoticed: what the functions of the room give for drawn data is pinned.

`python tests/stats/test_pinned_intervals.py` prints the numbers again. Change them only where a change is wanted, and
say so under **Numbers** in CHANGELOG.md. Whether the numbers are right is tested in the other files.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from equipoise.metrics.fairness import accuracy_gap
from equipoise.metrics.groups import mean
from equipoise.records import Floats
from equipoise.stats import bootstrap, bounded, maximum, means, paired, resampling, sequential

PINNED = Path(__file__).with_suffix(".json")
RNG_VALUES = np.random.default_rng(5).beta(2, 5, (3, 60))


def numbers() -> dict[str, list[float]]:
    """Return the results of every function, by a name that says how it was called."""
    return {**_bounded(), **_resampled(), **_simultaneous(), **_sequential()}


def _bounded() -> dict[str, list[float]]:
    first, few = RNG_VALUES[0], RNG_VALUES[1, :7]
    return {
        "clopper-pearson": [
            *bounded.clopper_pearson(3, 9, level=0.9).ends,
            *bounded.clopper_pearson(9, 9, level=0.8).ends,
        ],
        "betting": [*_mean(few, 0.9, 3)],
        "jackknife": [*_mean(first, 0.9, 3), *_mean(np.full(400, 0.97), 0.99, 1)],
        "mean": [end for x in (first, few) for end in bounded.mean_interval(3 * x - 1, (-1, 2), level=0.9).ends],
        "hoeffding": [
            bounded.hoeffding_radius([5, 9], 2.0, level=0.9),
            bounded.simultaneous_radius(8, 3, 1, level=0.9),
        ],
        "means": [*_joint(_gap())],
    }


def _resampled() -> dict[str, list[float]]:
    values, others, _ = RNG_VALUES
    clusters = np.arange(60) // 2
    contest = paired.Contest(
        [resampling.Statistic(mean, [values], clusters)], [resampling.Statistic(mean, [others], clusters)], 30, 1.0
    )
    gaps = paired.Contest([_gap()], [_gap(others)], 20, 1.0)
    trial = paired.Trial(resamples=90, permutations=150, level=0.9, seed=4)
    found = [paired.paired_differences([pair], clusters=30, trial=trial)[0] for pair in (contest, gaps)]
    estimates = [
        bootstrap.bootstrap(mean, [values], clusters=clusters, seed=6, resamples=80, level=0.8),
        bootstrap.bootstrap(accuracy_gap, list(_gap().arrays), clusters=clusters, seed=6, resamples=80),
    ]
    samples = np.random.default_rng(8).gamma(2, 1, (200, 2))
    samples[:30, 1] = np.nan
    return {
        "paired": [number for d in found for number in (d.value, d.low, d.high, d.p, d.n)],
        "bootstrap": [number for e in estimates for number in (e.value, e.low, e.high, e.n)],
        "intervals": [
            end
            for column, units in zip(samples.T, (300, 40), strict=True)
            for end in bootstrap.percentile(0.0, column, level=0.9, units=units).ends
        ],
        "t": [bootstrap.t_factor(0.9, 7)],
        "units": [*map(float, bootstrap.resampling_units(np.arange(16_400))[-8:])],
        "corrected": [
            *paired.holm(np.array([0.04, 0.01, 0.3])),
            *paired.benjamini_hochberg(np.array([0.04, 0.01, 0.3])),
        ],
    }


def _simultaneous() -> dict[str, list[float]]:
    values = RNG_VALUES[:, :8].mean(axis=0)
    drawn = values + 0.1 * np.random.default_rng(9).standard_normal((120, 8))
    sizes, range_ = np.ptp(drawn - values, axis=1), float(np.ptp(values))
    radii = [maximum.radius(sizes, level=0.9, shrink=shrink) for shrink in (1.0, 0.7)]
    return {
        "radius": radii,
        "range": [max(0.0, range_ - radii[0]), range_ + radii[0], maximum.p_value(range_, sizes)],
        "absolute": [0.8 * maximum.absolute_radius(values, drawn, level=0.9)],
        "holm": paired.holm(np.array([0.04, 0.01, 0.3, 0.02])).tolist(),
    }


def _sequential() -> dict[str, list[float]]:
    order = sequential.balanced_order(["a", "b", "b"] * 5, np.random.default_rng(1))
    cuts = [(values, level) for values in (RNG_VALUES[0, :30], RNG_VALUES[1]) for level in (0.9, 0.99)]
    return {
        "looks": [*map(float, sequential.planned_looks(900)), *map(float, sequential.frequent_looks(120))],
        "order": [*map(float, order)],
        "sequence": [end for x, level in cuts for end in _sequence(x, level)],
    }


def _mean(values: Floats, level: float, seed: int) -> tuple[float, float]:
    return bounded.mean_interval(values, (0, 1), level=level, seed=seed).ends


def _joint(statistic: resampling.Statistic) -> tuple[float, float]:
    joint = means.joint_interval(statistic, means.units(means.tables(statistic)), 1.0, level=0.9, seed=2)
    assert joint is not None
    return joint.ends


def _sequence(values: Floats, level: float) -> tuple[float, float]:
    return sequential.betting_sequence(values, 90, level=level, target=0.1).ends


def _gap(values: Floats | None = None) -> resampling.Statistic:
    hits = (RNG_VALUES[2] if values is None else values) > 0.25
    kinds = np.array(["pro", "anti", "pro", "anti", "anti"] * 12, dtype=object)
    return resampling.Statistic(accuracy_gap, [hits.astype(float), kinds], np.arange(60) // 2)


def test_drawn_data_give_the_pinned_numbers() -> None:
    pinned, measured = json.loads(PINNED.read_text(encoding="utf-8")), numbers()
    assert measured.keys() == pinned.keys()
    # Resamples are summed in float32, whose last digit depends on the processor.
    moved = {name for name in pinned if measured[name] != pytest.approx(pinned[name], rel=1e-6, abs=1e-7)}
    assert not moved


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps([float(x) for x in row])}" for name, row in numbers().items())
    PINNED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
