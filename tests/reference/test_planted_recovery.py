"""A bias of known size comes out of every metric as the number that it must be.

The built-in sentences are asked as a real audit asks them; only the model is planted. What is expected is worked out
here from the planted logits with `math` alone, by formulas of this file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pytest

from equipoise.datasets.builtin import load_builtin
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.records import Example, Measurement, Outcomes, RunKey
from equipoise.scoring.planted.stereotype import PlantedEngine
from equipoise.tasks import TaskOptions, open_task
from equipoise.uncertainty import ESTIMATORS

MASS = 0.8
OTHER = -3.0
K = {"next-word": 2, "mcq": 3}


def _entropy(p: Sequence[float]) -> float:
    return -math.fsum(x * math.log(x) for x in p)


def _overlap(p: Sequence[float]) -> float:
    return math.fsum(math.sqrt(x / len(p)) for x in p)


CERTAINTY: dict[str, Callable[[Sequence[float]], float]] = {
    "perplexity": lambda p: (len(p) - math.exp(_entropy(p))) / (len(p) - 1),
    "entropy": lambda p: 1 - _entropy(p) / math.log(len(p)),
    "renyi": lambda p: -2 * math.log(_overlap(p)) / math.log(len(p)),
    "fisher-rao": lambda p: math.acos(_overlap(p)) / math.acos(1 / math.sqrt(len(p))),
    "margin": lambda p: sorted(p)[-1] - sorted(p)[-2],
    "top-probability": lambda p: (len(p) * max(p) - 1) / (len(p) - 1),
}


@dataclass(frozen=True)
class Kind:
    """What a planted model makes of one kind of item: probabilities of the right (stereotypical) one first."""

    p: tuple[float, ...]
    estimator: str

    @property
    def c(self) -> float:
        return CERTAINTY[self.estimator](self.p)

    @property
    def right(self) -> bool:
        return self.p[0] == max(self.p)

    @property
    def d(self) -> float:
        return self.c if self.right else -self.c

    @property
    def perplexity(self) -> float:
        return math.exp(_entropy(self.p))

    @property
    def confidence(self) -> float:
        """Coreference confidence: the raw probability of the right one less that of the other."""
        return MASS * (self.p[0] - self.p[1])

    @property
    def confidence_pair(self) -> float:
        return (self.p[0] - self.p[1]) / (self.p[0] + self.p[1])


def kind(ahead: float, behind: float, k: int, estimator: str) -> Kind:
    logits = [ahead, behind] + [OTHER] * (k - 2)
    total = math.fsum(map(math.exp, logits))
    return Kind(tuple(math.exp(logit) / total for logit in logits), estimator)


def pro_and_anti(strength: float, bias: float, k: int, estimator: str) -> tuple[Kind, Kind]:
    """Return what is made of resolvable items: the right candidate is ahead by the strength, plus or less the bias."""
    pro = kind(strength + bias / 2, -bias / 2, k, estimator)
    anti = kind(strength - bias / 2, bias / 2, k, estimator)
    return pro, anti


@cache
def examples() -> tuple[Example, ...]:
    return load_builtin().examples


@cache
def referents() -> Counter[str]:
    """Return how many resolvable pairs have a male- and how many a female-stereotyped referent."""
    return Counter(e.groups["side"] for e in examples() if e.answerable and e.groups["gender"] == "male")


@cache
def outcomes(task_name: str, planted: tuple[tuple[float, float], ...]) -> Outcomes:
    """Return what engines of these strengths and biases make of the sentences; they take turns, pair by pair."""
    return asked(task_name, [PlantedEngine(strength, bias, OTHER, mass=MASS) for strength, bias in planted])


def asked(task_name: str, engines: Sequence[PlantedEngine], seeds: tuple[int, ...] = (0,)) -> Outcomes:
    task = open_task(task_name, TaskOptions(seeds=seeds))
    turns = {pair: turn for turn, pair in enumerate(dict.fromkeys(example.set_id for example in examples()))}
    for engine in engines:
        engine.prepare(examples())
    prompts, scores = [], []
    for example in examples():
        prompts_of_it = task.prompts(example)
        (answers,) = engines[turns[example.set_id] % len(engines)].score([prompts_of_it])
        prompts += prompts_of_it
        scores += answers
    return task.outcomes(examples(), prompts, scores)


def measured(found: Outcomes, estimators: Sequence[str], **choices: object) -> tuple[list[Measurement], list[str]]:
    plan = Plan(
        list(METRICS.values()),
        [ESTIMATORS[name] for name in estimators],
        **{"by": (), "resamples": 1, **choices},  # type: ignore[arg-type]
    )
    return measure(measured_items(found, plan), plan, RunKey("planted", "builtin", "task"))


def values_of(found: Sequence[Measurement], group: str, estimator: str) -> dict[str, float]:
    """Return the values of a group by metric, those of one estimator without its name."""
    suffix = "" if estimator == "perplexity" else f"_{estimator.replace('-', '_')}"
    here = {one.metric: one.estimate.value for one in found if one.group == group}
    names = {name: name + (suffix if metric.estimated else "") for name, metric in METRICS.items()}
    return {name: here[full] for name, full in names.items() if full in here}


def test_the_closed_forms_cover_every_estimator() -> None:
    # A planted engine has no vocabulary beyond the candidates.
    # Those over wordings, labels or open answers need what a planted engine does not give.
    assert set(CERTAINTY) == {name for name, row in ESTIMATORS.items() if not row.reduction and not row.over}


def case_of(pro: Kind, anti: Kind) -> dict[str, float]:
    """Return the case of the UCerF paper's Fig. 3 that a pair is, as shares."""
    if pro.right and anti.right:
        case = "a" if min(pro.c, anti.c) >= 0.5 else "b"
    else:
        case = "c" if pro.right or anti.right else "d"
    return {f"case_{name}": float(name == case) for name in "abcd"}


def middle_of_possible(pro: Kind, anti: Kind) -> float:
    """Return the middle of what group-wise UCerF can be: a group that is always right has no false positive."""
    total = 0.0
    for right, low in ((True, 0.5), (False, 0.0)):
        known = [(answer.d + 1) / 2 for answer in (pro, anti) if answer.right == right]
        if len(known) == 2:
            total += abs(known[0] - known[1])
        else:
            total += max(known[0] - low, low + 0.5 - known[0]) / 2 if known else 0.25
    return total


def brier(answer: Kind) -> float:
    return ((1 - answer.p[0]) ** 2 + sum(p**2 for p in answer.p[1:])) / 2


SETTINGS = {
    "fair": (2.0, 0.0),
    "leaning": (2.0, 0.5),
    "against the stereotype": (2.0, -0.75),
    "following the stereotype": (0.5, 1.5),
    "mostly wrong": (-1.0, 0.25),
}
every_setting = pytest.mark.parametrize(("strength", "bias"), SETTINGS.values(), ids=list(SETTINGS))
every_task = pytest.mark.parametrize("task", list(K))
every_estimator = pytest.mark.parametrize("estimator", list(CERTAINTY))


@cache
def of_one_engine(task: str, strength: float, bias: float) -> tuple[list[Measurement], list[str]]:
    return measured(outcomes(task, ((strength, bias),)), list(CERTAINTY), by=("gender", "stereotype"))


@pytest.mark.slow
@every_estimator
@every_task
@every_setting
def test_resolvable_sentences_give_the_planted_bias_back(
    task: str, strength: float, bias: float, estimator: str
) -> None:
    pro, anti = pro_and_anti(strength, bias, K[task], estimator)
    male, female = referents()["male"], referents()["female"]
    apart = float(pro.right != anti.right)
    u = 1 - abs(pro.d - anti.d) / 2
    accuracy = (pro.right + anti.right) / 2
    gap = (male - female) / (male + female) * (pro.c - anti.c)
    he, she = male * pro.right + female * (not anti.right), male * anti.right + female * (not pro.right)
    wrong = [answer.c for answer in (pro, anti) if not answer.right]
    expected = {
        "flip_rate": apart,
        "flip_toward": float(pro.right and not anti.right),
        "flip_against": float(anti.right and not pro.right),
        "flip_bias": float(pro.right) - float(anti.right),
        "ucerf": u,
        "workforce_trend": 0.0,  # every set has the same U
        "fp": accuracy * u,
        "fp_sampled": (pro.p[0] + anti.p[0]) / 2 * u,
        "fp_desirability": (pro.d + anti.d + 2) / 4 * u,
        "fp_brier": (1 - (brier(pro) + brier(anti)) / 2) * u,
        "ucerf_group_disparity": middle_of_possible(pro, anti),
        "accuracy": accuracy,
        "accuracy_gap": apart,
        "accuracy_sampled": (pro.p[0] + anti.p[0]) / 2,
        "eo_sum": 2 * apart,
        "eo_sum_sampled": abs(pro.p[0] - anti.p[0]) + abs(pro.p[1] - anti.p[1]),
        "demographic_parity": abs(he - she) / (male + female),
        **({"certainty_wrong": sum(wrong) / len(wrong)} if wrong else {}),
        **case_of(pro, anti),
        "eo_max": apart,
        "eo_mean": apart,
        "perplexity": (pro.perplexity + anti.perplexity) / 2,
        "certainty": (pro.c + anti.c) / 2,
        # he is pro-stereotypical with a male-stereotyped referent, she with a female-stereotyped one
        "certainty_gap": gap,
        "certainty_gap_pooled": gap,
        "desirability": (pro.d + anti.d) / 2,
        "desirability_gap": pro.d - anti.d,
        "desirability_gap_pooled": pro.d - anti.d,
        "ucerf_group_disparity_strict": abs(pro.d - anti.d),
        "candidate_mass": MASS,
        "confidence": (pro.confidence + anti.confidence) / 2,
        "confidence_pair": (pro.confidence_pair + anti.confidence_pair) / 2,
    }
    found = values_of(of_one_engine(task, strength, bias)[0], "type=type2", estimator)
    assert found == pytest.approx(expected, abs=1e-9)


@every_task
def test_only_certainty_in_wrong_answers_is_undefined_where_all_of_a_group_are_right(task: str) -> None:
    assert {note.split(" ")[0] for note in of_one_engine(task, 2.0, 0.5)[1]} == {
        f"certainty_wrong{'' if name == 'perplexity' else '_' + name.replace('-', '_')}" for name in CERTAINTY
    }


@every_estimator
@every_task
@every_setting
def test_ambiguous_sentences_give_the_planted_bias_back(
    task: str, strength: float, bias: float, estimator: str
) -> None:
    read = kind(bias / 2, -bias / 2, K[task], estimator)
    # he and she are read as different people with the same certainty: all but the signed U are blind to it.
    expected = {
        "flip_rate": float(bias != 0),
        "flip_toward": float(bias > 0),
        "flip_against": float(bias < 0),
        "flip_bias": float(np.sign(bias)),
        "ucerf": 1.0,
        "ucerf_eq3": 1.0,
        "ucerf_signed": 1 - read.c if bias else 1.0,
        "fp": 1 - read.c,
        "perplexity": read.perplexity,
        "certainty": read.c,
        "certainty_gap": 0.0,
        "certainty_gap_pooled": 0.0,
        "candidate_mass": MASS,
    }
    found = values_of(of_one_engine(task, strength, bias)[0], "type=type1", estimator)
    # arccos is steep at the uniform distribution: an error of one unit in the last place there is one of 1e-8.
    loose = estimator == "fisher-rao" and bias == 0
    assert found == pytest.approx(expected, abs=1e-7 if loose else 1e-9)


@every_estimator
@every_task
@every_setting
def test_each_stereotype_group_gives_its_own_probability_back(
    task: str, strength: float, bias: float, estimator: str
) -> None:
    found = of_one_engine(task, strength, bias)[0]
    for name, one in zip(("pro", "anti"), pro_and_anti(strength, bias, K[task], estimator), strict=True):
        expected = {
            "accuracy": float(one.right),
            "accuracy_sampled": one.p[0],
            **({} if one.right else {"certainty_wrong": one.c}),
            "perplexity": one.perplexity,
            "certainty": one.c,
            "desirability": one.d,
            "candidate_mass": MASS,
            "confidence": one.confidence,
            "confidence_pair": one.confidence_pair,
        }
        values = values_of(found, f"stereotype={name},type=type2", estimator)
        assert values == pytest.approx(expected, abs=1e-9)


# --- engines in turn: right, wrong and stereotyped answers side by side, so that every subset has items ---------

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


def test_the_two_halves_of_the_suite_name_every_metric() -> None:
    found, _ = measured(outcomes("next-word", IN_TURN), ("perplexity",))
    named = {name for group in ("type=type1", "type=type2") for name in values_of(found, group, "perplexity")}
    # Identity markers are recovered in tests/measuring/test_identities.py, sentence pairs in
    # tests/tasks/test_pronoun_cloze.py, BBQ in tests/datasets/test_bbq.py, open answers in
    # tests/tasks/test_open_answer.py, pairs of groups in tests/measuring/test_group_pairs.py, "Both of them" in
    # tests/tasks/test_multiple_choice.py, any groups in tests/measuring/test_possible.py; a planted engine has no
    # vocabulary.
    elsewhere = ("markers", "variants", "reductions", "pairs", "labelled pairs", "polarity", "open answers")
    elsewhere += ("both offered",)
    assert named == {
        name
        for name, metric in METRICS.items()
        if metric.applies_to not in elsewhere and metric.unit not in ("identity", "pair", "grouping")
    }


# --- with noise the interval covers ----------------------------------------------------------------------------


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
