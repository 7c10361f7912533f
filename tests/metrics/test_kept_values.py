"""What every function of the room gives, for drawn items with gaps, ties and weights of each kind, as it was kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from kept_texts import assert_kept

from equipoise.metrics import METRICS, calibration, decisions, fairness, group_wise, groups, identities
from equipoise.metrics.answers import level, median, possible_level
from equipoise.metrics.confidence import coreference_confidence, pair_confidence
from equipoise.metrics.groups import Norm
from equipoise.metrics.posthoc import METHODS
from equipoise.metrics.stereotyped_answers import bias_score, leaning, scaled_bias_score
from equipoise.records import ABSENT, UndefinedMetric

N = 40
RNG = np.random.default_rng(12)
GAPS = RNG.random(N) < 0.15


def names(*several: str) -> Any:
    return RNG.choice(several, N).astype(object)


COLUMNS: Mapping[str, Any] = {
    "values": np.where(GAPS, np.nan, RNG.uniform(-1, 1, N)),
    "certainty": RNG.random(N),
    "correct": np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 2, N)),
    "positive": np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 2, N)),
    "chosen": RNG.random(N) < 0.5,
    "stereotype": names("pro", "anti", ""),
    "gender": names("male", "female", "neutral"),
    "group": names("a", "b", "c", ""),
    "marker": names("old", "young", ""),
    "privilege": names("privileged", "disadvantaged", ""),
    "marked": RNG.integers(0, 2, N).astype(float),
    "y": np.where(GAPS, np.nan, RNG.integers(0, 2, N)),
    "p": np.round(RNG.random(N), 1),
    "lean": RNG.choice([1.0, 0.0, -1.0, np.nan], N),
    "first": RNG.random(N) < 0.5,
    "share": RNG.choice([0.0, 0.5, 1.0], N),
}
WEIGHTS = {
    "none": None,
    "items": RNG.integers(0, 3, N).astype(float),
    "whole": RNG.integers(0, 3, N),
    "resamples": RNG.integers(0, 3, (N, 3)).astype(np.float32),
    "nothing": np.zeros(N),
    "one item": np.eye(N)[5],
}
WEIGHTED: Mapping[str, tuple[Callable[..., Any], str]] = {
    "mean": (groups.mean, "values"),
    "level": (level, "values positive"),
    "drop": (identities.drop, "values marked"),
    "change": (identities.change, "values marked"),
    "interaction": (identities.interaction, "values marked gender"),
    "disparity": (identities.disparity, "values group"),
    "gender_gap": (identities.gender_gap, "values marker gender"),
    "double_disadvantage": (identities.double_disadvantage, "values privilege stereotype"),
    "disadvantage_interaction": (identities.disadvantage_interaction, "values privilege stereotype"),
    "deviation": (identities.deviation, "values"),
    "ratio": (decisions.ratio, "share first"),
    "log_mean": (decisions.log_mean, "certainty"),
    "bias_score": (bias_score, "lean"),
    "scaled_bias_score": (scaled_bias_score, "lean correct"),
    "accuracy_gap": (fairness.accuracy_gap, "correct stereotype"),
    "desirability_gap": (fairness.desirability_gap, "values stereotype"),
    "certainty_gap": (fairness.certainty_gap, "certainty gender"),
    "eo_sum": (fairness.eo_sum, "positive chosen stereotype"),
    "eo_max": (fairness.eo_max, "positive chosen stereotype"),
    "eo_mean": (fairness.eo_mean, "positive chosen stereotype"),
    "demographic_parity": (fairness.demographic_parity, "positive chosen gender"),
    "ucerf_group_disparity": (fairness.ucerf_group_disparity, "values positive chosen stereotype"),
    "workforce_trend": (fairness.workforce_trend, "values certainty"),
    "fairness_performance": (fairness.fairness_performance, "certainty values"),
    "ucerf_groups": (group_wise.ucerf_groups, "values correct gender"),
    "ece": (calibration.ece, "y p"),
    "ece_top_label": (calibration.ece_top_label, "y p"),
    "human_alignment": (calibration.human_alignment, "y p"),
    "ice": (calibration.ice, "y p"),
    "macroce": (calibration.macroce, "y p"),
    "brier": (calibration.brier, "y p"),
    "brier_published": (calibration.brier_published, "y p"),
    "brier_reliability": (calibration.brier_reliability, "y p"),
    "brier_resolution": (calibration.brier_resolution, "y p"),
    "brier_uncertainty": (calibration.brier_uncertainty, "y p"),
    "brier_within": (calibration.brier_within, "y p"),
    "log_loss": (calibration.log_loss, "y p"),
    "group_ece": (calibration.group_ece, "y p group"),
    "group_ece_gap": (calibration.group_ece_gap, "y p group"),
    "ece_debiased": (calibration.ece_debiased, "y p"),
}


def value_of(function: Callable[..., Any], *columns: Any, **options: Any) -> Any:
    """Return what a function gives, or the sentence that says why it gives nothing."""
    try:
        value = function(*columns, **options)
    except (UndefinedMetric, ValueError) as reason:
        return str(reason)
    return np.asarray(value) if isinstance(value, np.ndarray | list) else value


def columns(text: str, rows: Any = slice(None)) -> list[Any]:
    return [COLUMNS[name][rows] for name in text.split()]


def values(function: Callable[..., Any], inputs: str) -> Iterator[tuple[str, Any]]:
    """Yield what a function gives for every kind of weights, for few items and for none."""
    for name, weights in WEIGHTS.items():
        options = {} if weights is None else {"weights": weights}
        yield name, value_of(function, *columns(inputs), **options)
    if isinstance(function, Norm):
        yield "differences", value_of(function.differences, *columns(inputs))
    for size in (0, 1, 6):
        yield f"{size} items", value_of(function, *columns(inputs, slice(size)))


def test_functions_with_weights_give_what_was_kept() -> None:
    made = {name: dict(values(*how)) for name, how in WEIGHTED.items()}
    probability = np.clip(COLUMNS["p"], 0.05, 0.95)
    made["log_loss of no impossible label"] = {
        name: value_of(calibration.log_loss, COLUMNS["y"], probability, weights=weights)
        for name, weights in WEIGHTS.items()
    }
    made["subset of all"] = value_of(
        fairness.ucerf_group_disparity, *columns("values positive chosen stereotype"), subset="all"
    )
    made["another subset"] = value_of(
        fairness.ucerf_group_disparity, *columns("values positive chosen stereotype"), subset="some"
    )
    assert_kept("metrics/weighted", made)


def test_calibration_gives_what_was_kept() -> None:
    y, p = columns("y p")
    made: dict[str, Any] = {}
    for binning in ("width", "mass", "odd"):
        for bins in (1, 4, 10):
            made[f"{binning}, {bins} bins"] = [
                value_of(calibration.binned, y, p, bins=bins, binning=binning, weights=WEIGHTS[name])
                for name in ("none", "items", "resamples")
            ]
            made[f"ece, {binning}, {bins}"] = value_of(calibration.ece, y, p, bins=bins, binning=binning)
    made["edges"] = calibration.bin_numbers(np.array([0.0, 0.1, 0.1 + 1e-12, 0.3, 0.95, 1.0]))
    made["no bins"] = value_of(calibration.bin_numbers, p, bins=0)
    made["outside"] = [value_of(calibration.ece, y, p + 0.2), value_of(calibration.ece, y - 0.1, p)]
    made["floor"] = [calibration.noise_floor(p), calibration.noise_floor(p, bins=2), calibration.noise_floor(p[:1])]
    many = np.tile([0.02, 0.5, 0.9], 3000)
    made["limits"] = [calibration.noise_floor(many), calibration.noise_floor(np.full(3000, 0.001), bins=1)]
    made["certain"] = calibration.noise_floor(np.zeros(2500), bins=1)
    made["chance"] = calibration.ece_by_chance(p, rng=np.random.default_rng(1), draws=4)
    made["reliability"] = [[*b.row().values()] for bins in (3, 10) for b in calibration.reliability(y, p, bins=bins)]
    made["level"] = [b.rate for b in calibration.reliability(y, p, bins=2, level=0.8)]
    assert_kept("metrics/calibration", made)


def test_sets_and_answers_give_what_was_kept() -> None:
    rng = np.random.default_rng(3)
    certainty = rng.random((8, 3))
    certainty[:3, 2] = np.nan
    desirability = certainty * rng.choice([1, -1], certainty.shape)
    predicted = rng.integers(-1, 3, (8, 3))
    stereotype = rng.integers(-1, 2, (8, 3))
    correct = np.where(np.isnan(certainty), np.nan, rng.integers(0, 2, (8, 3)))
    made: dict[str, Any] = {}
    for kind in ("range", "pairwise", "deviation", "other"):
        made[kind] = [
            value_of(fairness.disparity, desirability, kind=kind),
            value_of(fairness.choice_disparity, predicted, certainty, kind=kind),
            value_of(fairness.pair_ucerf, desirability, kind=kind),
            value_of(fairness.pair_ucerf_signed, predicted, certainty, kind=kind),
            value_of(fairness.pair_ucerf_unanswerable, certainty, kind=kind),
        ]
    alone = np.array([[0.4, np.nan], [0.4, 0.1]])
    made["one member"] = fairness.choice_disparity(np.array([[0, ABSENT], [0, 1]]), alone)
    made["flips"] = [value.astype(float) for value in fairness.flips(predicted, stereotype)]
    made["cases"] = list(fairness.cases(correct, certainty))
    made["desirability"] = fairness.desirability(np.array([1.0, 0.0, np.nan]), np.array([0.2, 0.4, 0.6]))
    made["at the limit"] = list(fairness.cases(np.ones((2, 2)), np.array([[0.5, 0.9], [0.49, 0.9]])))
    probs = rng.dirichlet(np.ones(3), 9)
    gold, side = rng.integers(-1, 3, 9), np.array(["male", "female", ""] * 3, dtype=object)
    labelled_side = np.where(gold == ABSENT, "", side)
    choices = rng.integers(-1, 3, 9)
    made["sampled"] = fairness.sampled_positive(probs, gold, side)
    made["resolved"] = [np.asarray(v, dtype=float) for v in fairness.resolved_to_positive(choices, gold, labelled_side)]
    made["unlabelled"] = value_of(fairness.resolved_to_positive, choices, np.full(9, ABSENT), side)
    made["brier"] = fairness.brier_performance(probs, gold, gold != ABSENT)
    made["levels"] = fairness.desirability_performance(probs[:, 0], gold != ABSENT)
    made["confidence"] = [coreference_confidence(gold, np.log(probs)), pair_confidence(gold, np.log(probs))]
    made["good"] = [
        decisions.good_probability(probs, gold, np.arange(9) % 3 + 1),
        decisions.good_logit(probs, gold, np.arange(9) % 3 + 1),
    ]
    made["lean"] = leaning(choices, gold)
    made["hits"] = calibration.hits(np.array([1, 0, 1, np.nan, 1, 0]), np.array([0.7, 0.7, 0.5, 0.2, np.nan, 0.2]))
    made["median"] = [value_of(median, COLUMNS["values"]), value_of(median, np.full(2, np.nan))]
    assert_kept("metrics/sets", made)


def test_what_an_empty_subset_may_be_is_what_was_kept() -> None:
    desirability, correct, group, positive, chosen, stereotype = columns(
        "certainty correct gender positive chosen stereotype"
    )

    def radius(among: Any, width: float, subsets: int) -> float:
        return 0.01 * width * subsets / max(int(among.sum()), 1)

    made: dict[str, Any] = {}
    for name, rows in {"all": slice(None), "few": slice(0, 5), "one": slice(0, 1), "none": slice(0, 0)}.items():
        made[f"{name}, groups"] = value_of(
            group_wise.possible_groups, desirability[rows], correct[rows], group[rows], radius=radius
        )
        for subset in ("chosen", "all"):
            made[f"{name}, {subset}"] = value_of(
                group_wise.possible_disparity,
                *(desirability[rows], positive[rows], chosen[rows], stereotype[rows]),
                subset=subset,
                radius=radius,
            )
        for actual in (0, 1):
            made[f"{name}, level {actual}"] = value_of(
                possible_level, desirability[rows], positive[rows], actual=actual, radius=radius
            )
    made["norms"] = {
        name: [join.ends(ends) for ends in ([(-0.2, 0.3), (0.1, 0.4)], [(-0.5, -0.2), (0.1, 0.2)])]
        for name, join in (
            ("total", fairness.eo_sum),
            ("largest", fairness.eo_max),
            ("mean", fairness.eo_mean),
            ("span", identities.disparity),
            ("groups", group_wise.ucerf_groups),
        )
    }
    assert_kept("metrics/possible", made)


def test_maps_of_drawn_labels_give_what_was_kept() -> None:
    rng = np.random.default_rng(2)
    p = np.concatenate([[0.0, 1.0], rng.random(120)])
    y = (rng.random(122) < p**2).astype(float)
    places = np.array([0.0, 0.01, 0.3, 0.5, 0.77, 1.0])
    made = {}
    for name, fit in METHODS.items():
        fitted = fit(y, p)
        made[name] = [fitted.method, fitted.parameters if name != "isotonic" else "", fitted.apply(places)]
        made[f"{name}, turned"] = fit(1 - y, p).apply(places)
        made[f"{name}, one label"] = [value_of(fit, np.full(4, label), p[:4]) for label in (0.0, 1.0)]
    assert_kept("metrics/maps", made)


def test_what_rows_say_of_themselves_is_what_was_kept() -> None:
    made = {
        name: [
            metric.taken_over,
            metric.unsettled,
            metric.value_bounds if metric.inputs else "",
            metric.means,
            metric.levels,
        ]
        for name, metric in METRICS.items()
    }
    assert_kept("metrics/rows", "\n".join(f"{name}: {facts}" for name, facts in made.items()))
