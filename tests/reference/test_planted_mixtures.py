"""Several planted engines in turn: every metric has a closed form that comes back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pytest
from test_planted_recovery import (
    MASS,
    RECOVERED,
    K,
    Kind,
    asked,
    brier,
    case_of,
    every_estimator,
    every_task,
    examples,
    measured,
    outcomes,
    pro_and_anti,
    values_of,
)

from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.records import RunKey
from equipoise.scoring.planted import PlantedEngine

IN_TURN = ((2.0, 0.5), (-2.0, 0.5), (0.5, 1.5))
"""Strength and bias: right on all, wrong on all, right on pro- and wrong on anti-stereotypical items."""


@dataclass(frozen=True)
class Class:
    """Resolvable items that are alike: how many, of which referent, and what is made of them."""

    count: int
    side: str
    stereotype: Literal["pro", "anti"]
    kind: Kind


@cache
def classes(k: int, estimator: str) -> tuple[Class, ...]:
    turns = {pair: turn for turn, pair in enumerate(dict.fromkeys(example.set_id for example in examples()))}
    counts = Counter(
        (turns[e.set_id] % 3, e.groups["side"]) for e in examples() if e.answerable and e.groups["gender"] == "male"
    )
    return tuple(
        Class(count, side, stereotype, made)
        for (turn, side), count in sorted(counts.items())
        for stereotype, made in zip(("pro", "anti"), pro_and_anti(*IN_TURN[turn], k, estimator), strict=True)
    )


def average(some: Sequence[Class], value: Callable[[Kind], float], stereotype: str = "", side: str = "") -> float:
    chosen = [one for one in some if stereotype in ("", one.stereotype) and side in ("", one.side)]
    return math.fsum(one.count * value(one.kind) for one in chosen) / sum(one.count for one in chosen)


@every_estimator
@every_task
def test_engines_in_turn_give_every_metric_its_closed_form(task: str, estimator: str) -> None:
    every = classes(K[task], estimator)
    chosen = [one for one in every if one.kind.right == (one.side == "male")]

    def contrast(some: Sequence[Class], value: Callable[[Kind], float], side: str = "") -> float:
        return average(some, value, "pro", side) - average(some, value, "anti", side)

    def right(one: Kind) -> float:
        return float(one.right)

    def d(one: Kind) -> float:
        return one.d

    tpr, fpr = abs(contrast(every, right, "male")), abs(contrast(every, right, "female"))
    weights = [one.count for one in every[::2]]
    us = [1 - abs(pro.kind.d - anti.kind.d) / 2 for pro, anti in zip(every[::2], every[1::2], strict=True)]
    u = math.fsum(n * one for n, one in zip(weights, us, strict=True)) / sum(weights)
    he = [one for one in every if (one.stereotype == "pro") == (one.side == "male")]
    she = [one for one in every if one not in he]
    toward, against = (
        math.fsum(
            n * (first.kind.right and not second.kind.right)
            for n, first, second in zip(weights, every[start::2], every[1 - start :: 2], strict=True)
        )
        / sum(weights)
        for start in (0, 1)
    )
    gap = average(he, lambda one: one.c) - average(she, lambda one: one.c)
    he_chose, she_chose = (
        math.fsum(one.count * (one.kind.right == (one.side == "male")) for one in some) / sum(one.count for one in some)
        for some in (he, she)
    )
    kinds_of_sets = [case_of(pro.kind, anti.kind) for pro, anti in zip(every[::2], every[1::2], strict=True)]
    shares = {
        name: math.fsum(n * case[name] for n, case in zip(weights, kinds_of_sets, strict=True)) / sum(weights)
        for name in kinds_of_sets[0]
    }
    expected = {
        "flip_rate": toward + against,
        "flip_toward": toward,
        "flip_against": against,
        "flip_bias": toward - against,
        "ucerf": u,
        "fp": average(every, right) * u,
        "fp_sampled": average(every, lambda one: one.p[0]) * u,
        "fp_desirability": (average(every, d) + 1) / 2 * u,
        "fp_brier": (1 - average(every, brier)) * u,
        "accuracy": average(every, right),
        "accuracy_gap": abs(contrast(every, right)),
        "accuracy_sampled": average(every, lambda one: one.p[0]),
        "eo_sum": tpr + fpr,
        "eo_sum_sampled": abs(contrast(every, lambda one: one.p[0], "male"))
        + abs(contrast(every, lambda one: one.p[1], "female")),
        "demographic_parity": abs(he_chose - she_chose),
        "certainty_wrong": average([one for one in every if not one.kind.right], lambda one: one.c),
        **shares,
        "eo_max": max(tpr, fpr),
        "eo_mean": (tpr + fpr) / 2,
        "perplexity": average(every, lambda one: one.perplexity),
        "certainty": average(every, lambda one: one.c),
        "certainty_gap": gap,
        "certainty_gap_pooled": gap,
        "desirability": average(every, d),
        "desirability_gap": contrast(every, d),
        "desirability_gap_pooled": contrast(every, d),
        "ucerf_group_disparity": (abs(contrast(chosen, d, "male")) + abs(contrast(chosen, d, "female"))) / 2,
        "ucerf_group_disparity_strict": (abs(contrast(every, d, "male")) + abs(contrast(every, d, "female"))) / 2,
        "candidate_mass": MASS,
        "confidence": average(every, lambda one: one.confidence),
        "confidence_pair": average(every, lambda one: one.confidence_pair),
    }
    found, notes = measured(outcomes(task, IN_TURN), (estimator,))
    values = values_of(found, "type=type2", estimator)
    del values["workforce_trend"]  # it depends on which occupations come in turn: tests/metrics/test_workforce_trend.py
    assert values == pytest.approx(expected, abs=1e-9)
    assert min(expected[name] for name in ("eo_sum", "ucerf_group_disparity", "accuracy_gap")) > 0.01
    assert notes == []


def test_the_two_halves_of_the_suite_recover_every_metric_of_the_list() -> None:
    found, _ = measured(outcomes("next-word", IN_TURN), ("perplexity",))
    named = {name for group in ("type=type1", "type=type2") for name in values_of(found, group, "perplexity")}
    # Identity markers are recovered in tests/measuring/test_identities.py, sentence pairs in
    # tests/tasks/test_pronoun_cloze.py, BBQ in tests/datasets/test_bbq.py, open answers in
    # tests/tasks/test_open_answer.py, pairs of groups in tests/measuring/test_group_pairs.py, "Both of them" in
    # tests/tasks/test_multiple_choice.py, any groups in tests/measuring/test_possible.py; a planted engine has no
    # vocabulary.
    assert named == set(RECOVERED)


# --- with noise the interval covers ----------------------------------------------------------------------------


@pytest.mark.slow
def test_with_noise_the_intervals_cover_the_planted_value() -> None:
    strength, bias, noise, seeds = 1.0, 0.8, 1.2, 30
    # Without a third option in reach, the noise on one logit moves the log-odds of the right answer by as much.
    engine = PlantedEngine(strength, bias, other=-60.0, noise=noise)
    found = asked("mcq", [engine], tuple(range(seeds)))
    found = found.take(found.answerable)
    metrics = [METRICS[name] for name in ("ucerf", "accuracy", "certainty", "desirability", "desirability_gap")]
    plan = Plan(metrics, by=(), resamples=300)
    intervals = [
        one
        for one in measure(measured_items(found, plan), plan, RunKey("planted", "builtin", "mcq"))[0]
        if one.group.endswith("type=type2") and "seed=" in one.group
    ]

    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()

    def of_log_odds(shift: float) -> tuple[np.ndarray, np.ndarray]:
        p = 1 / (1 + np.exp(-(shift + noise * nodes)))
        bits = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
        c = (3 - np.exp2(bits)) / 2
        return c, np.where(p > 0.5, c, -c)

    def accuracy(shift: float) -> float:
        return 0.5 * (1 + math.erf(shift / noise / math.sqrt(2)))

    (c_pro, d_pro), (c_anti, d_anti) = of_log_odds(strength + bias), of_log_odds(strength - bias)
    truth = {
        "ucerf": 1 - weights @ np.abs(d_pro[:, None] - d_anti[None, :]) @ weights / 2,
        "accuracy": (accuracy(strength + bias) + accuracy(strength - bias)) / 2,
        "certainty": weights @ (c_pro + c_anti) / 2,
        "desirability": weights @ (d_pro + d_anti) / 2,
        "desirability_gap": weights @ (d_pro - d_anti),
    }
    for name, value in truth.items():
        here = [one.estimate for one in intervals if one.metric == name]
        assert len(here) == seeds
        covered = sum(one.low <= value <= one.high for one in here)
        # Of 30 intervals at 95%, 28.5 are expected to cover; fewer than 25 has a chance of 1 in 200.
        assert covered >= 25, name
        assert all(one.high - one.low < 0.2 for one in here)
