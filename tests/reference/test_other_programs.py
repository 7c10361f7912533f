"""Metrics, tests and estimators give what scikit-learn, fairlearn, statsmodels, krippendorff and scipy give.

Each case draws other data in every run. Weights are whole numbers, so that a program without weights can be given
copies of the rows. docs/decisions/mutations.md lists what is compared where, and what no other program has.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn import calibration as their_calibration
from sklearn import linear_model
from sklearn import metrics as theirs

from equipoise import uncertainty
from equipoise.builder.verdict.summary import krippendorff_alpha
from equipoise.metrics import calibration, fairness, identities, posthoc
from equipoise.stats import adjusted, attribution, components, paired, separation, signs

seeds = st.integers(0, 2**32 - 1)


def program(name: str) -> ModuleType:
    """Return another program's module; where it is not installed, skip (in CI: fail)."""
    if os.environ.get("CI") == "true":
        return __import__(name, fromlist=["_"])
    module: ModuleType = pytest.importorskip(
        name, reason=f"needs {name.partition('.')[0]}, which requirements.lock has"
    )
    return module


class Drawn(NamedTuple):
    """Labels, probabilities of 1, groups and weights of some items."""

    y: np.ndarray
    p: np.ndarray
    group: np.ndarray
    weights: np.ndarray

    @property
    def copied(self) -> np.ndarray:
        """The numbers of the rows, each as often as its weight says."""
        return np.repeat(np.arange(len(self.y)), self.weights.astype(int))


def drawn(seed: int, *, groups: tuple[str, ...] = ("pro", "anti")) -> Drawn:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 80))
    p = np.round(rng.uniform(0.005, 0.995, n), 3)
    p[p == 0.5] = 0.501  # a tie is no answer here, and the label 1 there
    group = rng.choice(groups, n).astype(object)
    items = Drawn((rng.random(n) < p).astype(float), p, group, rng.integers(0, 4, n).astype(float))
    kept = items.weights > 0
    assume(all(len(set(items.y[kept & (group == name)])) == 2 for name in groups))
    return items


Pair = tuple[Callable[..., Any], Callable[..., float]]
ITEMS: dict[str, Pair] = {
    "brier": (calibration.brier, lambda y, p, w: theirs.brier_score_loss(y, p, sample_weight=w)),
    "log_loss": (calibration.log_loss, lambda y, p, w: theirs.log_loss(y, p, sample_weight=w)),
    "human_alignment": (
        calibration.human_alignment,
        lambda y, p, w: theirs.accuracy_score(y, p > 0.5, sample_weight=w),
    ),
    "ice": (
        calibration.ice,
        lambda y, p, w: theirs.mean_absolute_error((p > 0.5) == y, np.maximum(p, 1 - p), sample_weight=w),
    ),
    "brier_uncertainty": (
        calibration.brier_uncertainty,
        lambda y, p, w: theirs.brier_score_loss(y, np.full(len(y), np.average(y, weights=w)), sample_weight=w),
    ),
}


@pytest.mark.parametrize("name", ITEMS)
@given(seed=seeds)
def test_scores_of_probabilities_are_those_of_scikit_learn(name: str, seed: int) -> None:
    ours, expected = ITEMS[name]
    y, p, _, weights = drawn(seed)
    assert ours(y, p) == pytest.approx(expected(y, p, np.ones(len(y))), rel=1e-9)
    assert ours(y, p, weights=weights) == pytest.approx(expected(y, p, weights), rel=1e-9)


@pytest.mark.parametrize(("binning", "strategy"), [("width", "uniform"), ("mass", "quantile")])
@given(seed=seeds, bins=st.integers(2, 12))
def test_ece_is_that_of_scikit_learn_s_calibration_curve(binning: str, strategy: str, seed: int, bins: int) -> None:
    y, p, _, _ = drawn(seed)
    if binning == "mass":
        # Quantiles of unequal values, with as many in each bin: there is only one way to part them.
        bins = min(bins, 5)
        p = np.unique(p)[: len(np.unique(p)) // bins * bins]
        y = y[: len(p)]
        assume(len(set(y)) == 2)
    shares, means = their_calibration.calibration_curve(y, p, n_bins=bins, strategy=strategy)
    edges = np.linspace(0, 1, bins + 1) if binning == "width" else np.quantile(p, np.linspace(0, 1, bins + 1))
    counts = np.bincount(np.searchsorted(edges[1:-1], p), minlength=bins)
    expected = np.average(np.abs(shares - means), weights=counts[counts > 0])
    assert calibration.ece(y, p, bins=bins, binning=binning) == pytest.approx(expected, rel=1e-9)


@given(seed=seeds)
def test_macroce_is_the_mean_over_hits_and_misses_by_scikit_learn(seed: int) -> None:
    y, p, _, weights = drawn(seed)
    hit = (p > 0.5) == (y > 0.5)
    assume(weights[hit].any() and weights[~hit].any())
    sides = [
        theirs.mean_absolute_error(hit[rows], np.maximum(p, 1 - p)[rows], sample_weight=weights[rows])
        for rows in (hit, ~hit)
    ]
    assert calibration.macroce(y, p, weights=weights) == pytest.approx(np.mean(sides), rel=1e-9)


@given(seed=seeds)
def test_platt_and_temperature_are_scikit_learn_s_regression_without_penalty(seed: int) -> None:
    y, p, _, _ = drawn(seed)
    logit = np.log(p / (1 - p))
    # Labels that a threshold parts have no best slope.
    assume(logit[y == 0].max() > logit[y == 1].min() + 0.5)
    for shifted in (True, False):
        fitted = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000, fit_intercept=shifted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(logit[:, None], y)
        expected = fitted.predict_proba(logit[:, None])[:, 1]
        if fitted.coef_[0, 0] <= 0 and not shifted:
            continue
        ours = (posthoc.fit_platt if shifted else posthoc.fit_temperature)(y, p)
        np.testing.assert_allclose(ours.apply(p), expected, atol=2e-4)


FAIR: dict[str, Callable[..., float]] = {
    "eo_max": lambda f, *a, **k: f.equalized_odds_difference(*a, **k, agg="worst_case"),
    "eo_mean": lambda f, *a, **k: f.equalized_odds_difference(*a, **k, agg="mean"),
    "eo_sum": lambda f, *a, **k: f.true_positive_rate_difference(*a, **k) + f.false_positive_rate_difference(*a, **k),
}


@pytest.mark.parametrize("name", FAIR)
@given(seed=seeds)
def test_equalized_odds_are_those_of_fairlearn(name: str, seed: int) -> None:
    y, p, group, weights = drawn(seed)
    chosen = p > 0.5
    ours = getattr(fairness, name)
    expected = FAIR[name](program("fairlearn.metrics"), y, chosen, sensitive_features=group, sample_weight=weights)
    assert ours(y, chosen, group, weights=weights) == pytest.approx(expected, abs=1e-12)


@given(seed=seeds)
def test_parity_and_gaps_are_those_of_fairlearn(seed: int) -> None:
    metrics = program("fairlearn.metrics")
    y, p, gender, weights = drawn(seed, groups=("male", "female"))
    chosen, given_to = p > 0.5, {"sensitive_features": gender, "sample_weight": weights}
    expected = metrics.demographic_parity_difference(y, chosen, **given_to)
    assert fairness.demographic_parity(y, chosen, gender, weights=weights) == pytest.approx(expected, abs=1e-12)
    y, p, group, weights = drawn(seed)
    frame = metrics.MetricFrame(
        metrics=theirs.accuracy_score,
        y_true=y,
        y_pred=p > 0.5,
        sensitive_features=group,
        sample_params={"sample_weight": weights},
    )
    right = ((p > 0.5) == y).astype(float)
    assert fairness.accuracy_gap(right, group, weights=weights) == pytest.approx(frame.difference(), abs=1e-12)


@given(seed=seeds)
def test_the_rates_of_one_group_are_scikit_learn_s_recall(seed: int) -> None:
    y, p, group, _ = drawn(seed)
    tpr, fpr = (
        [
            theirs.recall_score(y[group == name], (p > 0.5)[group == name], pos_label=1)
            if label
            else 1 - theirs.recall_score(y[group == name], (p > 0.5)[group == name], pos_label=0)
            for name in ("pro", "anti")
        ]
        for label in (1, 0)
    )
    expected = [tpr[0] - tpr[1], fpr[0] - fpr[1]]
    np.testing.assert_allclose(fairness.odds_differences(y, p > 0.5, group), expected, atol=1e-12)


@given(seed=seeds)
def test_the_trend_over_the_workforce_is_scipy_s_regression(seed: int) -> None:
    items = drawn(seed)
    rows = items.copied
    assert fairness.workforce_trend(items.y, items.p) == pytest.approx(stats.linregress(items.p, items.y).slope)
    expected = stats.linregress(items.p[rows], items.y[rows]).slope
    assert fairness.workforce_trend(items.y, items.p, weights=items.weights) == pytest.approx(expected)


@given(seed=seeds)
def test_the_deviation_is_scipy_s(seed: int) -> None:
    items = drawn(seed)
    expected = stats.describe(items.p[items.copied], ddof=0).variance ** 0.5
    assert identities.deviation(items.p, weights=items.weights) == pytest.approx(expected)


@given(seed=seeds, k=st.integers(2, 6))
def test_estimators_are_scipy_s_entropies_and_distances(seed: int, k: int) -> None:
    probs = np.random.default_rng(seed).dirichlet(np.full(k, 0.7), 5)
    uniform = np.full(k, 1 / k)
    np.testing.assert_allclose(uncertainty.entropy(probs), stats.entropy(probs, axis=1, base=2), atol=1e-12)
    np.testing.assert_allclose(uncertainty.perplexity(probs), np.exp(stats.entropy(probs, axis=1)), atol=1e-12)
    # Of order 1, Rényi's divergence is that of Kullback and Leibler.
    relative = np.array([stats.entropy(row, uniform) for row in probs]) / np.log(k)
    np.testing.assert_allclose(uncertainty.renyi_divergence(probs, order=1 + 1e-7), relative, atol=1e-5)


@pytest.mark.slow  # statsmodels takes ten seconds to import
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_and_benjamini_hochberg_are_those_of_statsmodels(p_values: list[float]) -> None:
    multipletests = program("statsmodels.stats.multitest").multipletests
    for ours, method in ((paired.holm, "holm"), (paired.benjamini_hochberg, "fdr_bh")):
        np.testing.assert_allclose(ours(np.array(p_values)), multipletests(p_values, method=method)[1], atol=1e-12)


@given(seed=seeds)
def test_a_sign_test_alone_is_scipy_s_permutation_test(seed: int) -> None:
    units = np.random.default_rng(seed).normal(0.4, 1.0, 9)
    exact = stats.permutation_test((units,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False)
    draws = 4000
    tolerance = 4.5 * (max(exact.pvalue * (1 - exact.pvalue), 1e-3) / draws) ** 0.5
    assert signs.sign_tests(units[None], draws=draws, seed=seed % 1000).p[0] == pytest.approx(
        exact.pvalue, abs=tolerance
    )


@given(seed=seeds)
def test_two_groups_are_told_apart_as_by_scipy_s_permutation_test(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=8)
    values[:4] += 0.7
    groups = np.array(["a"] * 4 + ["b"] * 4, dtype=object)

    def apart(first: np.ndarray, second: np.ndarray) -> float:
        return float(first.mean() - second.mean())

    exact = stats.permutation_test((values[:4], values[4:]), apart, n_resamples=np.inf, vectorized=False).pvalue
    tolerance = 4.5 * (max(exact * (1 - exact), 1e-3) / 2000) ** 0.5
    rows = separation.separations(values, groups, seed=seed % 1000)
    assert [row.corrected for row in rows] == pytest.approx([exact, exact], abs=tolerance)


@pytest.mark.slow  # statsmodels takes ten seconds to import
@given(seed=seeds)
def test_sums_of_squares_are_those_of_statsmodels_anova(seed: int) -> None:
    frames, formulas = program("pandas"), program("statsmodels.formula.api")
    anova = program("statsmodels.stats.anova").anova_lm
    rng = np.random.default_rng(seed)
    first, second = (column.ravel() for column in np.meshgrid(list("abc"), list("wxyz")))
    values = rng.normal(size=12)
    kept = np.sort(rng.permutation(12)[:10])  # cells may be missing
    assume(len(set(first[kept])) == 3 and len(set(second[kept])) == 4)
    table = frames.DataFrame({"value": values[kept], "first": first[kept], "second": second[kept]})
    there = anova(formulas.ols("value ~ C(first) + C(second)", table).fit())["sum_sq"]
    stages = [{"first": first[kept].astype(object)}, {"second": second[kept].astype(object)}]
    ours = attribution.squares(values[kept][:, None], stages)
    expected = [there["C(first)"], there["C(second)"], there["Residual"]]
    np.testing.assert_allclose([ours[name][0] for name in ("first", "second", "rest")], expected, atol=1e-10)


@pytest.mark.slow  # statsmodels takes ten seconds to import
@given(seed=seeds)
def test_components_are_the_mean_squares_of_statsmodels_anova(seed: int) -> None:
    frames, formulas = program("pandas"), program("statsmodels.formula.api")
    anova = program("statsmodels.stats.anova").anova_lm
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(4, 1)) + rng.normal(size=(1, 6)) + rng.normal(size=(4, 6))
    wording, sentence = (np.indices(values.shape)[axis].ravel().astype(str) for axis in (0, 1))
    table = frames.DataFrame({"value": values.ravel(), "wording": wording, "sentence": sentence})
    there = anova(formulas.ols("value ~ C(wording) + C(sentence)", table).fit())["mean_sq"]
    rest = there["Residual"]
    expected = {
        "wording": (there["C(wording)"] - rest) / 6,
        "sentence": (there["C(sentence)"] - rest) / 4,
        "wording × sentence": rest,
    }
    made = components.components(components.Table(values, ("wording", "sentence"), "sentence"), draws=20)
    variances = {component.name: component.variance.value for component in made}
    assert variances == pytest.approx({name: max(value, 0.0) for name, value in expected.items()}, abs=1e-9)


@pytest.mark.slow  # statsmodels takes ten seconds to import
@given(seed=seeds)
def test_an_adjusted_difference_is_the_coefficient_of_statsmodels(seed: int) -> None:
    frames, formulas = program("pandas"), program("statsmodels.formula.api")
    rng = np.random.default_rng(seed)
    n = 60
    first, column = rng.random(n) < 0.5, rng.choice(list("abc"), n)
    both = [set(column[side]) for side in (first, ~first)]
    assume(both[0] == both[1])
    values = first * 0.3 + (column == "a") * 0.5 + rng.normal(size=n)
    ours = adjusted.adjusted_difference(
        values, first, [column.astype(object)], np.arange(n).astype(str).astype(object), level=0.95
    )
    fitted = formulas.ols(
        "value ~ side + C(column)", frames.DataFrame({"value": values, "side": first * 1.0, "column": column})
    ).fit(cov_type="HC2")
    assert ours is not None
    assert (ours.estimate.value, ours.error) == pytest.approx((fitted.params["side"], fitted.bse["side"]), rel=1e-6)


@given(seed=seeds, answers=st.integers(2, 4))
def test_alpha_is_that_of_the_krippendorff_package(seed: int, answers: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 4, (8, answers))
    assume((counts[counts.sum(axis=1) >= 2].sum(axis=0) > 0).sum() >= 2)
    expected = program("krippendorff").alpha(value_counts=counts, level_of_measurement="nominal")
    assert krippendorff_alpha(counts) == pytest.approx(expected, abs=1e-12)
