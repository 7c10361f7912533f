"""Metrics followed while sentences are asked: what their rows say is true, and their intervals hold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from test_kept_measurements import builtin

from equipoise.datasets import open_dataset
from equipoise.measuring.following import (
    Followed,
    _is_paired,
    followed_in,
    following_plan,
    points_of,
    sequence,
    units_of,
    with_followed,
)
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.measuring.stopping import Sample
from equipoise.metrics import METRICS, Metric
from equipoise.metrics.columns import COLUMNS
from equipoise.metrics.groups import mean
from equipoise.records import Outcomes, RunKey
from equipoise.scoring.planted import PlantedEngine
from equipoise.stats import means
from equipoise.stats.resampling import Statistic
from equipoise.tasks import TaskOptions, open_task

DATA = open_dataset("builtin")
ENGINE = PlantedEngine(strength=1.0, bias=0.6, noise=0.8)
ENGINE.prepare(DATA.examples)
KEY = RunKey("m", "d", "t")
GAPS = ("accuracy_gap", "certainty_gap", "desirability_gap", "eo_sum", "demographic_parity")


def ask(examples: object) -> Outcomes:
    return open_task("next-word").run(examples, scorer=lambda prompts: next(ENGINE.score([prompts])), writer=None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def items() -> Items:
    return measured_items(ask(DATA.examples), Plan([]))


def drawn(metric: Metric, size: int = 400) -> list[np.ndarray]:
    """Return random columns for a metric."""
    rng = np.random.default_rng(7)
    columns = []
    for column in (COLUMNS[name] for name in metric.inputs):
        if column.names:
            columns.append(rng.choice(column.names[:2], size))
        elif column.bounds is None:
            columns.append(rng.random(size) < 0.5)
        else:
            low, high = column.bounds
            values = rng.integers(0, 2, size) if column.whole else rng.random(size)
            columns.append(low + (high - low) * values.astype(float))
    return columns


@pytest.mark.parametrize("metric", [m for m in METRICS.values() if not m.unsettled], ids=lambda m: m.name)
def test_a_row_says_of_how_many_bounded_means_its_metric_is_made(metric: Metric) -> None:
    columns = drawn(metric)
    statistic = Statistic(metric.function, columns, np.arange(len(columns[0])))
    tables = means.tables(statistic, exact=True)
    assert len(tables) == metric.means
    assert metric.value_bounds is not None
    low, high = metric.value_bounds
    assert all(low <= value <= high for (total, count) in tables for value in (total / np.maximum(count, 1)))
    again = means.at_means(statistic, [np.array([np.nansum(t) / c.sum()]) for t, c in tables], exact=True)
    assert float(again.ravel()[0]) == pytest.approx(float(statistic.value))


def test_every_other_metric_says_why_it_cannot_be_followed() -> None:
    reasons = {metric.name: metric.unsettled for metric in METRICS.values() if metric.unsettled}
    assert "bounds" in reasons["perplexity"] and "means" in reasons["ece"] and "groups" in reasons["group_ece"]
    mine = Metric("mine", mean, ("certainty",), "higher", "Mine", "mine")
    assert not mine.unsettled, "a mean of a bounded column is covered without a word"
    assert replace(mine, inputs=("perplexity",)).unsettled


def followed(name: str, kind: str, most: float = 1.0) -> Followed:
    return Followed(name, f"type={kind}", most, 266.0, 0.95)


@pytest.mark.parametrize("name", ["flip_rate", "ucerf", "accuracy", "fp", *GAPS])
def test_an_interval_holds_the_value_and_narrows_with_more_sentences(items: Items, name: str) -> None:
    wanted = followed(name, "type2", 2.0)
    widths = []
    for size in (100, 300, len(items)):
        part = measured_items(items.outcomes.take(np.arange(size)), Plan([]))
        estimate = sequence(points_of(part, [wanted])[wanted.name], part, wanted)
        assert estimate is not None and estimate.low <= estimate.value <= estimate.high
        assert METRICS[name].bounds[0] <= estimate.low and estimate.high <= METRICS[name].bounds[1]
        widths.append(estimate.width)
    assert widths[0] > widths[-1] and widths[1] >= widths[-1]


def test_paired_differences_are_sharper_than_two_means(items: Items) -> None:
    wanted = followed("accuracy_gap", "type2", 2.0)
    point = points_of(items, [wanted])[wanted.name]
    (units,) = units_of(point, items, wanted)
    assert units.bounds == (-1.0, 1.0)
    paired = sequence(point, items, wanted)
    # Without one sentence of one side the items are no pairs any more.
    part = measured_items(items.outcomes.take(np.arange(1, len(items))), Plan([]))
    alone = points_of(part, [wanted])[wanted.name]
    assert not units_of(alone, part, wanted)
    joint = sequence(alone, part, wanted)
    assert paired is not None and joint is not None and paired.width < joint.width


def test_only_what_was_followed_has_another_interval(items: Items) -> None:
    plan = Plan([METRICS["flip_rate"], METRICS["ucerf"]], by=[], resamples=20)
    rows, _ = measure(items, plan, KEY)
    wanted = followed("flip_rate", "type2")
    changed = with_followed(rows, items, Sample(followed={wanted.name: wanted[2:]}))
    moved = [row for row, before in zip(changed, rows, strict=True) if row != before]
    assert [(row.metric, row.group) for row in moved] == [("flip_rate", "type=type2")]
    assert "any look" in moved[0].estimate.method and with_followed(rows, items, None) == rows


def test_sequences_of_every_metric_are_kept() -> None:
    made = {}
    engine = PlantedEngine(strength=1.0, bias=0.6, noise=0.8)
    data = builtin(60)
    engine.prepare(data.examples)
    several = {}
    for name, task in (("next-word", open_task("next-word")), ("mcq", open_task("mcq", TaskOptions(seeds=(1, 2))))):
        several[name] = task.run(data.examples, scorer=lambda p: next(engine.score([p])), writer=None)  # type: ignore[arg-type]
    for task_name, outcomes in several.items():
        for metric in [metric for metric in METRICS.values() if not metric.unsettled]:
            if task_name == "mcq" and metric.name not in ("accuracy", "ucerf", "eo_sum", "accuracy_gap"):
                continue
            wanted = Followed(metric.name, "type=type2", 2.0, 90.0, 0.9)
            items = measured_items(outcomes, Plan([]))
            point = points_of(items, [wanted]).get(wanted.name)
            if point is not None:
                made[f"{task_name}, {metric.name}"] = (
                    sequence(point, items, wanted),
                    len(units_of(point, items, wanted)),
                )
    assert_kept("measured/followed", made)


def test_followed_metrics_are_read_from_a_sample_and_planned_together() -> None:
    sample = Sample(followed={"ucerf_margin/type=type2": [2.0, 30.0, 0.9], "accuracy/gender=male": [1.0, 20.0, 0.95]})
    first, second = followed_in(sample)
    assert first == Followed("ucerf_margin", "type=type2", 2.0, 30.0, 0.9) and first.name == "ucerf_margin/type=type2"
    assert second == Followed("accuracy", "gender=male", 1.0, 20.0, 0.95)
    plan = following_plan([first, second])
    assert [metric.name for metric in plan.metrics] == ["ucerf", "accuracy"]
    assert [estimator.name for estimator in plan.estimators] == ["margin", "perplexity"]
    assert plan.by == ("gender",) and not plan.intervals


def test_only_differences_of_means_over_the_same_items_are_paired() -> None:
    first, second, clusters = np.arange(6.0), np.ones(6), np.arange(6) // 2

    def paired(function: Any, *columns: np.ndarray) -> bool:
        statistic = Statistic(function, list(columns), clusters)
        return _is_paired(statistic, means.tables(statistic, exact=True))

    def means_of(*columns: np.ndarray, weights: Any) -> list[Any]:
        return [mean(column, weights=weights) for column in columns]

    def apart(a: np.ndarray, b: np.ndarray, *, weights: Any = None) -> Any:
        return np.subtract(*means_of(a, b, weights=weights))

    def stacked(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, *, weights: Any = None) -> Any:
        one, two, three, four = means_of(a, b, c, d, weights=weights)
        return np.stack([one - two, three - four])

    def turned(a: np.ndarray, b: np.ndarray, *, weights: Any = None) -> Any:
        return -apart(a, b, weights=weights)

    def product(a: np.ndarray, b: np.ndarray, *, weights: Any = None) -> Any:
        return np.multiply(*means_of(a, b, weights=weights))

    def alone(a: np.ndarray, *, weights: Any = None) -> Any:
        return mean(a, weights=weights)

    assert paired(apart, first, second) and paired(stacked, first, second, second, first)
    assert not paired(turned, first, second) and not paired(product, first, second) and not paired(alone, first)
    assert not paired(apart, np.where(first == 0, np.nan, first), second), "not the same number of items"


def test_a_metric_without_bounds_or_of_other_means_has_no_sequence(items: Items) -> None:
    wanted = followed("accuracy", "type2")
    point = points_of(items, [wanted])[wanted.name]
    assert len(units_of(point, items, wanted)) == 1
    for changed in ({"value_bounds": None}, {"means": 3}):
        facts = {name: getattr(point.job.metric, name) for name in ("bounds", "value_bounds", "means")}
        other = SimpleNamespace(**{**facts, **changed})
        there = SimpleNamespace(job=SimpleNamespace(metric=other), statistics=point.statistics)
        assert sequence(there, items, wanted) is None and units_of(there, items, wanted) == []  # type: ignore[arg-type]
