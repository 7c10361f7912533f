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

import numpy as np
import pytest

from equipoise.datasets.builtin import load_builtin
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.records import Example, Measurement, Outcomes, RunKey
from equipoise.scoring.planted import PlantedEngine
from equipoise.tasks import TaskOptions, open_task
from equipoise.uncertainty import ESTIMATORS

MASS = 0.8
OTHER = -3.0
K = {"next-word": 2, "mcq": 3}
RECOVERED = (
    *("flip_rate", "flip_toward", "flip_against", "flip_bias", "ucerf", "ucerf_signed", "ucerf_eq3", "fp"),
    *("workforce_trend", "accuracy", "accuracy_sampled", "accuracy_gap", "eo_sum", "eo_sum_sampled"),
    *("demographic_parity", "eo_max", "eo_mean", "perplexity", "certainty", "certainty_wrong", "case_a", "case_b"),
    *("case_c", "case_d", "certainty_gap", "certainty_gap_pooled", "desirability", "desirability_gap"),
    *("desirability_gap_pooled", "confidence", "confidence_pair", "candidate_mass", "ucerf_group_disparity"),
    *("ucerf_group_disparity_strict", "fp_sampled", "fp_desirability", "fp_brier"),
)
"""The metrics whose values are worked out here or in test_planted_mixtures.py; others are tested elsewhere."""


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
        [METRICS[name] for name in RECOVERED],
        [ESTIMATORS[name] for name in estimators],
        **{"by": (), "resamples": 1, **choices},  # type: ignore[arg-type]
    )
    return measure(measured_items(found, plan), plan, RunKey("planted", "builtin", "task"))


def values_of(found: Sequence[Measurement], group: str, estimator: str) -> dict[str, float]:
    """Return the values of a group by metric, those of one estimator without its name."""
    suffix = "" if estimator == "perplexity" else f"_{estimator.replace('-', '_')}"
    here = {one.metric: one.estimate.value for one in found if one.group == group}
    names = {name: name + (suffix if METRICS[name].estimated else "") for name in RECOVERED}
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


def possible_disparity(pro: Kind, anti: Kind) -> tuple[float, float]:
    """Return what group-wise UCerF can be: a group that is always right has no false positive."""
    least = most = 0.0
    for right, low in ((True, 0.5), (False, 0.0)):
        known = [(answer.d + 1) / 2 for answer in (pro, anti) if answer.right == right]
        if len(known) == 2:
            least += abs(known[0] - known[1])
            most += abs(known[0] - known[1])
        else:
            most += max(known[0] - low, low + 0.5 - known[0]) if known else 0.5
    return least, most


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
        "ucerf_group_disparity": math.nan,  # a subset is always empty here
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
    rows = of_one_engine(task, strength, bias)[0]
    assert values_of(rows, "type=type2", estimator) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    suffix = "" if estimator == "perplexity" else f"_{estimator.replace('-', '_')}"
    (row,) = (row for row in rows if (row.metric, row.group) == (f"ucerf_group_disparity{suffix}", "type=type2"))
    least, most = possible_disparity(pro, anti)
    assert row.low <= least + 1e-9 and row.high >= most - 1e-9


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
