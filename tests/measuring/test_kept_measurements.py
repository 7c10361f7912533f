"""What is measured of every kind of data, by every method for few and many sentences, as it was kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from kept_texts import assert_kept
from served_coverage import KEY, sampled, seen
from test_decisions import crossed

from equipoise.datasets import open_dataset
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.measuring.stopping import Sample, planned_sample
from equipoise.measuring.tables import item_columns, set_columns
from equipoise.metrics import METRICS
from equipoise.options import DatasetOptions
from equipoise.records import BOTH_OFFERED, OPEN_ANSWER, Measurement, Outcomes, Prompt, Score
from equipoise.scoring.planted import open_planted
from equipoise.tasks import TaskOptions, open_task, read_wordings
from equipoise.tasks.reading import MEANINGS
from equipoise.uncertainty import ESTIMATORS

MOST_GROUPS = 6
"""A metric of more groups is kept in one line."""

EVERY = list(METRICS.values())
MODEL = "strength=1.2,bias=0.8,noise=1,sentence=0.3"
PAIRS = [
    {
        "sent_more": f"The {('nurse', 'driver', 'baker')[row % 3]} number {row} said he was late.",
        "sent_less": f"The {('nurse', 'driver', 'baker')[row % 3]} number {row} said she was late.",
        "y": int(row % 3 > 0),
        "bias_type": ("age", "", "race")[row % 3 if row % 4 else 0],
    }
    for row in range(40)
]


def asked(data: Dataset, task: str = "next-word", model: str = MODEL, **options: Any) -> Outcomes:
    """Return the outcomes of a dataset as a planted engine answers it."""
    engine = open_planted(model)
    engine.prepare(data.examples)

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        return [score for batch in engine.score([prompts]) for score in batch]

    chosen = open_task(task, TaskOptions(**options))
    return chosen.run(data.examples, scorer=scorer, writer=lambda contexts, tokens: {})


def builtin(limit: int, **options: Any) -> Dataset:
    return open_dataset("builtin", DatasetOptions(**options)).limited(limit)


def lines(rows: Sequence[Measurement], notes: Sequence[str]) -> Iterator[str]:
    """Yield what was measured, metric by metric: a line for each group, or of many groups the sums of their numbers."""
    by_metric: dict[str, list[Measurement]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, []).append(row)
    for name, several in by_metric.items():
        if len(several) > MOST_GROUPS:
            yield summed(name, several)
            continue
        for row in several:
            e = row.estimate
            tested = "" if np.isnan(e.p) else f", p {e.p:.3g} ({e.p_corrected:.3g})"
            numbers = " ".join(f"{0.0 if abs(end) < 1e-9 else end:.4g}" for end in (e.value, e.low, e.high))
            yield f"{name} {row.group}: {numbers}, {e.n}{tested}, {e.method}"
    yield from notes


def summed(name: str, rows: Sequence[Measurement]) -> str:
    """Return the rows of a metric in a line: sums weighted by the place, the methods, and a number for the groups."""
    columns = ("value", "low", "high", "n", "p", "p_corrected")
    table = np.array([[float(getattr(row.estimate, column)) for column in columns] for row in rows])
    known = ~np.isnan(table)
    sums = np.where(known, table, 0.0).T @ (1 + np.arange(len(rows)) % 7)
    totals = " ".join(f"{total:.5g}/{count}" for total, count in zip(sums, known.sum(axis=0), strict=True))
    methods = "; ".join(f"{count} {method}" for method, count in Counter(r.estimate.method for r in rows).items())
    groups = crc32(" ".join(row.group for row in rows).encode())
    return f"{name}, {len(rows)} groups {groups}: {totals}, {methods}"


def keep(name: str, outcomes: Outcomes, sample: Sample | None = None, **choices: Any) -> None:
    """Compare everything that is measured of some outcomes with what was kept; `sample` says how they were drawn."""
    plan = Plan(**{"metrics": EVERY, "resamples": 30, "by": (), **choices})
    made = measure_part(measured_items(outcomes, plan), plan, KEY, sample)
    assert_kept(f"measured/{name}", "\n".join(lines(*made)))


@pytest.mark.parametrize(("limit", "by"), [(6, ["gender"]), (24, []), (90, ["gender*stereotype"]), (266, [])])
def test_sentences_few_and_many_are_measured_as_kept(limit: int, by: list[str]) -> None:
    names = [] if limit < 100 else ["accuracy", "ucerf", "eo_sum", "accuracy_gap", "ece", "flip_rate", "perplexity"]
    metrics = [METRICS[name] for name in names] or EVERY
    keep(f"sentences-{limit}", asked(builtin(limit)), by=by, metrics=metrics, level=0.9, seed=limit)


def test_estimators_occupations_and_values_alone_are_measured_as_kept() -> None:
    outcomes = asked(builtin(30))
    names = ("accuracy", "ucerf", "ucerf_signed", "certainty_gap", "desirability_gap", "group_ece", "ece")
    metrics = [METRICS[name] for name in names]
    estimators = [ESTIMATORS[name] for name in ("margin", "fisher-rao")]
    keep("estimators", outcomes, metrics=metrics, estimators=estimators)
    keep("occupations", outcomes, metrics=metrics, by=["occupation", "stereotype"])
    keep("alone", outcomes, intervals=False, by=["gender*stereotype"], disparity="range")


def test_many_occupations_by_two_estimators_are_measured_as_kept() -> None:
    metrics = [METRICS[name] for name in ("ucerf", "ucerf_signed", "overconfidence", "certainty_gap", "flip_bias")]
    estimators = [ESTIMATORS[name] for name in ("margin", "perplexity")]
    keep("many-occupations", asked(builtin(300)), metrics=metrics, estimators=estimators, by=["occupation"], seed=2)


def test_orders_of_options_and_both_as_an_answer_are_measured_as_kept() -> None:
    outcomes = asked(builtin(14), "mcq", seeds=(1, 2, 3))
    keep("orders", outcomes, by=["gender"])
    flags = np.where(np.arange(len(outcomes)) % 3 == 0, BOTH_OFFERED, "").astype(object)
    names = ("chose_both", "letter_a", "letter_b", "first_mentioned", "accuracy", "flip_rate")
    metrics = [METRICS[name] for name in names if name in METRICS]
    keep("both-offered", replace(outcomes, flags=flags), metrics=metrics)


def test_a_part_of_all_sentences_is_measured_as_kept() -> None:
    names = ("ucerf", "accuracy", "flip_rate", "flip_bias", "accuracy_gap", "overconfidence")
    metrics = [METRICS[name] for name in names]
    planned = planned_sample(builtin(90).examples, ["ucerf", "accuracy_gap"], 0.1, joint=True)
    keep("drawn", asked(builtin(40)), replace(planned, looks=2), metrics=metrics)
    followed = Sample(followed={"accuracy/type=type2": [2.0, 90.0, 0.9], "flip_rate/all": [1.0, 90.0, 0.9]})
    keep("followed-part", asked(builtin(40)), followed, metrics=metrics)
    data = identity_dataset(builtin(30), recipe(attributes=["age"], augmentations=["R"]))
    model = "lead=0.4,lead:old=-0.1,lead:female=-0.05,sentence=0.2,noise=0.3"
    sample = Sample({"type2": 60}, looks=3, together=2)
    keep("drawn-marked", asked(data, model=model), sample, metrics=[METRICS["confidence"]])


def test_three_pronouns_are_measured_as_kept() -> None:
    names = [name for name, metric in METRICS.items() if metric.unit in ("sets", "pair")]
    keep("pronouns", asked(builtin(40, pronouns=("he", "she", "ze"))), metrics=[METRICS[name] for name in names])


@pytest.mark.parametrize("limit", [6, 60])
def test_marked_sentences_are_measured_as_kept(limit: int) -> None:
    attributes = ["age", "non-demographic"] if limit < 10 else ["age"]
    ways = ["R", "NR", "C"] if limit < 10 else ["R"]
    data = identity_dataset(builtin(limit), recipe(attributes=attributes, augmentations=ways))
    model = "lead=0.4,lead:old=-0.2,lead:female=-0.1,sentence=0.2,noise=0.1,echo=0.2"
    keep(f"marked-{limit}", asked(data, model=model), metrics=[METRICS["confidence"], METRICS["accuracy"]])


def test_marked_sentences_of_which_some_have_a_group_are_measured_as_kept() -> None:
    data = identity_dataset(builtin(5), recipe(attributes=["age", "race"], augmentations=["R", "C"], crossed=True))
    outcomes = asked(data, model="lead=0.4,lead:old=-0.2,lead:female=-0.1,sentence=0.2,noise=0.1,echo=0.2")
    number = np.arange(len(outcomes))
    few = replace(outcomes, gold=np.where(number % 7 == 0, -1, outcomes.gold)).take(np.flatnonzero(number % 5 > 0))
    sided = {**few.groups, "side": np.where(number[: len(few)] % 3 == 0, "", few.group("side")).astype(object)}
    estimators = [ESTIMATORS["margin"], ESTIMATORS["perplexity"]]
    own = replace(METRICS["confidence"], name="own", inputs=("certainty",), bounds=(0, 1))
    keep("marked-some", replace(few, groups=sided), metrics=[own, METRICS["tpr"]], estimators=estimators, seed=1)


@pytest.mark.parametrize("scenarios", [4, 32])
def test_decisions_are_measured_as_kept(scenarios: int) -> None:
    keep(f"decisions-{scenarios}", crossed(scenarios, noise=0.4))
    if scenarios == 4:
        keep("decisions-alone", crossed(scenarios, noise=0.4), intervals=False)
        keep("pronouns-alone", asked(builtin(8, pronouns=("he", "she", "ze"))), intervals=False)


def test_moods_of_several_groups_are_measured_as_kept() -> None:
    names = [name for name, metric in METRICS.items() if metric.unit in ("sets", "pair")]
    keep("moods", asked(open_dataset("sentiment").limited(10)), metrics=[METRICS[name] for name in names])


def test_sentences_that_the_group_word_decides_are_measured_as_kept() -> None:
    keep("decided", asked(open_dataset("gendered:control").limited(30)))


def test_labelled_pairs_are_measured_as_kept() -> None:
    pairs = open_dataset(PAIRS)
    keep("pairs", asked(pairs, "cloze"), by=None)


def test_wordings_are_measured_as_kept() -> None:
    names = ("ucerf", "ucerf_signed", "accuracy", "certainty", "flip_rate", "eo_sum")
    estimators = [ESTIMATORS[name] for name in ("perplexity", "prompt-ensemble")]
    outcomes = asked(builtin(12), questions=tuple(read_wordings("built-in")[:3]))
    keep("wordings", outcomes, metrics=[METRICS[name] for name in names], estimators=estimators, by=["gender"])


def test_questions_with_polarity_are_measured_as_kept() -> None:
    keep("polarity-5", questions(5))
    keep("polarity-40", questions(40), metrics=[METRICS[name] for name in METRICS if name.startswith("bbq")])


def questions(templates: int) -> Outcomes:
    """Return questions as BBQ asks them: ambiguous and not, of both polarities, with "unknown" as the third answer."""
    rng = np.random.default_rng(templates)
    n = 4 * templates
    probs = rng.dirichlet(np.ones(3), n)
    number = np.arange(n)

    def names(values: Any) -> Any:
        return np.array(list(values), dtype=object)

    ambiguous = number % 2 == 0
    return Outcomes(
        example_id=names(f"q{i}" for i in number),
        variant=names("" for _ in number),
        set_id=names(f"s{i // 2}" for i in number),
        probs=probs,
        logprobs=np.log(0.9 * probs),
        gold=np.where(ambiguous, 2, number % 4 // 2),
        stereotype=(number // 4 % 2).astype(np.int64),
        answerable=np.ones(n, dtype=bool),
        groups={
            "type": names("ambiguous" if a else "disambiguated" for a in ambiguous),
            "polarity": names("neg" if i % 4 < 2 else "nonneg" for i in number),
        },
        flags=names("" for _ in number),
        cluster_id=names(f"t{i // 4}" for i in number),
    )


def test_free_answers_are_measured_as_kept() -> None:
    rng = np.random.default_rng(3)
    outcomes = asked(builtin(12))
    probs = rng.dirichlet(np.ones(2 + len(MEANINGS)), len(outcomes))
    flags = np.full(len(outcomes), OPEN_ANSWER, dtype=object)
    opened = replace(outcomes, probs=probs, logprobs=np.log(probs), flags=flags)
    keep(
        "open",
        opened,
        estimators=[ESTIMATORS["perplexity"], *(e for e in ESTIMATORS.values() if e.over == "open answers")],
    )


@pytest.mark.parametrize("sets", [8, 40])
def test_limits_and_sampled_answers_are_measured_as_kept(sets: int) -> None:
    names = ("ucerf", "certainty", "flip_rate", "accuracy", "accuracy_gap", "confidence", "eo_sum")
    metrics = [METRICS[name] for name in names]
    limited = seen("unsure", sets, 2, np.random.default_rng(sets))[0]
    keep(f"limits-{sets}", limited, metrics=metrics)
    keep(f"sampled-{sets}", sampled("unsure", sets, 12, np.random.default_rng(sets)), metrics=metrics)


def test_items_without_types_that_cannot_be_pooled_are_told_as_kept() -> None:
    outcomes = asked(builtin(10))
    untyped = replace(outcomes, groups={name: c for name, c in outcomes.groups.items() if name != "type"})
    keep("untyped", untyped, by=["gender", "occupation"])


def test_pairs_among_other_sentences_are_measured_as_kept() -> None:
    free = asked(builtin(20))
    number = np.arange(len(free))
    halves = np.where(number % 4 < 2, "male|female", "").astype(object)
    keep("mixed", replace(free, sides=halves, gold=np.where(number % 4 < 2, number % 2, free.gold)), by=["gender"])


def test_columns_of_items_and_sets_are_as_kept() -> None:
    estimators = [ESTIMATORS["perplexity"], ESTIMATORS["margin"]]
    outcomes = asked(builtin(3, pronouns=("he", "she", "ze")))
    pairs = asked(open_dataset(PAIRS[:4]), "cloze")
    for name, several in (
        ("sentences", outcomes),
        ("pairs", pairs),
        ("moods", asked(open_dataset("sentiment").limited(2))),
    ):
        items = measured_items(several, Plan(EVERY, by=()))
        columns = {**items.columns(estimators[1]), **{f"applies to {key}": v for key, v in items.applicable.items()}}
        shown = {key: np.asarray(column)[:6] for key, column in columns.items() if key not in ("probs", "logprobs")}
        tables = [
            {key: column[:6] for key, column in table(items, estimators).items()}
            for table in (item_columns, set_columns)
        ]
        assert_kept(f"measured/columns-{name}", shown, *tables)
