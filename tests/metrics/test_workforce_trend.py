"""The trend of U over the imbalance of the workforce."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.datasets.occupations import workforce_imbalance
from equipoise.metrics.fairness import workforce_trend
from equipoise.records import UndefinedMetric


def test_it_is_the_slope_of_the_least_squares_line() -> None:
    rng = np.random.default_rng(0)
    imbalance = rng.uniform(0, 1, 50)
    u = 0.9 - 0.3 * imbalance + rng.normal(0, 0.05, 50)
    u[3], imbalance[4] = np.nan, np.nan
    known = ~np.isnan(u) & ~np.isnan(imbalance)
    expected = np.polyfit(imbalance[known], u[known], 1)[0]
    assert float(workforce_trend(u, imbalance)) == pytest.approx(expected)
    weights = rng.integers(0, 3, (50, 2)).astype(float)
    weighted = np.polyfit(imbalance[known], u[known], 1, w=np.sqrt(weights[known, 1]))[0]
    assert workforce_trend(u, imbalance, weights=weights)[1] == pytest.approx(weighted)
    with pytest.raises(UndefinedMetric, match="of an empty group, or over workforces of the same imbalance"):
        workforce_trend(u, np.full(50, 0.5))


@pytest.mark.parametrize("sets", [2, 50, 2000])
def test_workforces_that_differ_by_a_rounding_error_have_no_trend(sets: int) -> None:
    # A variance of exactly 1e-6 is the limit, whatever the number of sets.
    u, imbalance = np.linspace(0, 1, sets), np.repeat([0.0, 0.002], sets // 2)
    with pytest.raises(UndefinedMetric, match="of the same imbalance"):
        workforce_trend(u, 0.999 * imbalance)
    assert float(workforce_trend(u, 1.001 * imbalance)) > 0
    if sets == 2:
        with pytest.raises(UndefinedMetric):
            workforce_trend(u, imbalance)


def test_a_run_has_it_with_an_interval_and_no_occupation_by_itself(tmp_path: Path) -> None:
    metrics = ["ucerf", "workforce_trend"]
    run = equipoise.audit("planted:bias=1", limit=60, out=tmp_path, resamples=60, metrics=metrics, progress=False)
    measured = run.parts[0].measured
    row = measured.get("workforce_trend", type="type2")
    assert row is not None and row.low < row.value < row.high and row.n > 10
    assert not any("occupation" in group for group in measured.groups_of("workforce_trend"))
    assert not any("workforce_trend" in note for note in run.manifest.notes)
    assert workforce_imbalance(np.array(["carpenter", "unicorn"], dtype=object))[0] > 0.9
