"""A new metric of identities is measured from its row alone, as those that come with the package are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import cores
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring import part
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part, set_sentences
from equipoise.metrics import METRICS, Metric
from equipoise.metrics.groups import mean
from equipoise.records import Measurement, Outcomes, RunKey
from equipoise.scoring.planted import open_planted
from equipoise.tasks import open_task

KEY = RunKey("planted", "builtin", "next-word")


def half(metric: Metric, **facts: Any) -> Metric:
    """Return the metric under another name, with half of its value."""

    def function(*columns: Any, **options: Any) -> Any:
        return metric.function(*columns, **options) / 2

    low, high = metric.bounds
    return replace(
        metric, name=f"half_{metric.name}", function=function, bounds=(low / 2, high / 2), interval="usual", **facts
    )


def certainty_lost(certainty: Any, marked: Any) -> float:
    return float(mean(certainty[marked == 0]) - mean(certainty[marked == 1]))


LOST = Metric(
    "certainty_lost", certainty_lost, ("certainty", "marked"), "lower", "Certainty lost", "…", (-1, 1), "identity"
)


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    examples = identity_dataset(open_dataset("builtin").limited(12), recipe(attributes=["age"])).examples
    engine = open_planted("lead=0.4,lead:old=-0.2,lead:female=-0.1,sentence=0.2,noise=0.1")
    task = open_task("next-word")
    engine.prepare(examples)

    def scorer(prompts: Any) -> Any:
        return [score for batch in engine.score([prompts]) for score in batch]

    return task.run(examples, scorer=scorer, writer=None)  # type: ignore[arg-type]


def rows(outcomes: Outcomes, *metrics: Metric) -> dict[tuple[str, str], Measurement]:
    plan = Plan(metrics, by=(), resamples=60)
    measured, _ = measure_part(measured_items(outcomes, plan), plan, KEY)
    return {(row.metric, row.group): row for row in measured if row.metric in {metric.name for metric in metrics}}


@pytest.mark.parametrize("name", ["confidence_drop", "confidence_disparity", "double_disadvantage"])
def test_an_added_metric_has_the_groups_values_and_n_of_its_like(outcomes: Outcomes, name: str) -> None:
    known, added = rows(outcomes, METRICS[name]), rows(outcomes, half(METRICS[name]))
    assert {group for _, group in added} == {group for _, group in known} and added
    for (_, group), row in added.items():
        like = known[name, group]
        assert row.value == pytest.approx(like.value / 2, abs=1e-12)
        assert row.n == like.n and row.better == METRICS[name].better
        assert row.low < row.high and row.estimate.method


def test_an_added_metric_may_read_any_column_and_take_no_weights(outcomes: Outcomes) -> None:
    added = rows(outcomes, LOST)
    items = measured_items(outcomes, Plan([LOST]))
    certainty = items.columns(Plan([LOST]).estimators[0])["certainty"]
    way, kind = outcomes.group("augmentation"), outcomes.group("type")
    chosen = outcomes.labelled & (kind == "type2")
    value = certainty[chosen & (way == "none")].mean() - certainty[chosen & (way == "R")].mean()
    assert added["certainty_lost", "augmentation=R,type=type2"].value == pytest.approx(value, abs=1e-12)


def test_a_metric_without_resampling_has_no_interval(outcomes: Outcomes) -> None:
    added = rows(outcomes, half(METRICS["confidence_drop"], resampled=False))
    assert added and all(np.isnan(row.low) and row.estimate.method == "no interval" for row in added.values())


def test_sets_of_one_sentence_and_of_several_sizes_are_told(make_outcomes) -> None:
    def told(*sizes: int, disparity: str = "auto") -> list[str]:
        made = make_outcomes(
            [{"pair": f"s{at}", "probs": (0.5, 0.5)} for at, size in enumerate(sizes) for _ in range(size)]
        )
        return list(set_sentences(measured_items(made, Plan([METRICS["ucerf"]], disparity=disparity))))

    alone = "2 of 4 sets have one sentence only, so there is nothing to compare it with"
    assert told(1, 1, 2, 2) == [alone] and told(1, 1) == [] == told(2, 2)
    sizes = "sets have different numbers of sentences (1 of 2, 2 of 3): U compares them"
    assert told(3, 2, 3) == [f"{sizes} pairwise, as a range grows with the size (disparity)"]
    assert told(3, 2, 3, disparity="range") == [f"{sizes} by range (disparity)"]
    assert told(1, 3, 2, 1)[0] == alone and len(told(1, 3, 2, 1)) == 2


def test_claims_tested_beside_the_estimates_are_the_same(outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan([METRICS["confidence_drop"], METRICS["confidence_change"], METRICS["accuracy"]], resamples=60)

    def measured() -> str:
        return repr(measure_part(measured_items(outcomes, plan), plan, KEY))

    alone = measured()
    assert "p_corrected=0." in alone
    started: list[Any] = []
    aside = cores.aside
    monkeypatch.setattr(cores, "aside", lambda function: (started.append(function), aside(function))[1])
    for many, block, asides in ((len(outcomes), 10**9, 1), (10**9, 0, 1), (0, 0, 2), (len(outcomes) + 1, 10**9, 0)):
        monkeypatch.setattr(part, "MANY", many)
        monkeypatch.setattr(part, "BLOCK", block)
        for count in (1, 3):
            monkeypatch.setattr(cores, "wanted", lambda count=count: count)
            started.clear()
            assert measured() == alone and len(started) == asides
