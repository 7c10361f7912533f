"""Does the choice of estimator change which model looks better? The answer in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...measuring.estimators import CHANGED, OPEN, SAME
from ...runs.measurements import interval
from .studies import PartStudy


def answer(part: PartStudy) -> str:
    """Return whether the estimators agree about the order of the models; of the sets, where there is one model."""
    if len(part.study.orders) == 1:
        return _about_two(part)
    return _about_models(part) if part.study.orders else _about_sets(part)


def _about_two(part: PartStudy) -> str:
    (order,) = part.study.orders
    parts = [
        f"{sentence} {_these(part, names)}"
        for sentence, names in (
            (f"{order.first} is higher than {order.second} under", order.for_first),
            (f"{order.second} is higher than {order.first} under", order.for_second),
            ("no order is settled under", order.open),
        )
        if names
    ]
    together = f"{_level(part)} for all {part.study.values.axis}s together, {order.sets:,} sets"
    return f"{part.title}: {'; '.join(parts)} ({together})."


def _these(part: PartStudy, names: Sequence[str]) -> str:
    values = part.study.values
    several = f"all {len(names)} {_distinct(part)}" if len(names) == len(values.estimators) else ""
    return several or ", ".join(names)


def _distinct(part: PartStudy) -> str:
    axis = part.study.values.axis
    return f"distinct {axis}s" if axis == "estimator" else f"{axis}s"


def _level(part: PartStudy) -> str:
    return f"{part.study.standings[0].ucerf.level:.0%}"


def _about_models(part: PartStudy) -> str:
    values = part.study.values
    axis = values.axis
    counts = Counter(order.verdict for order in part.study.orders)
    pairs = len(part.study.orders)
    sentence = (
        f"{part.title}: of {pairs} pairs of models, all {len(values.estimators)} {_distinct(part)}"
        f" settle the same order for {counts[SAME]}, two {axis}s settle opposite orders for"
        f" {counts[CHANGED]}, and at least one {axis} settles no order for {counts[OPEN]} ({_level(part)} for"
        f" all pairs and {axis}s together, {values.sets:,} sets)."
    )
    lowest = min((row for row in part.study.agreements if row.over == "models"), key=lambda row: row.kendall.value)
    return (
        f"{sentence} The lowest Kendall's tau between two {axis}s over {len(values.runs)} models is"
        f" {lowest.kendall.value:.2f} {interval(lowest.kendall)} ({lowest.first} and {lowest.second})."
    )


def _about_sets(part: PartStudy) -> str:
    lowest = min((row for row in part.study.agreements if row.over == "sets"), key=lambda row: row.kendall.value)
    return (
        f"{part.title}: the lowest Kendall's tau between two {part.study.values.axis}s over {lowest.kendall.n:,} sets"
        f" is {lowest.kendall.value:.2f} {interval(lowest.kendall)} ({lowest.first} and {lowest.second})."
    )


def changed_pairs(part: PartStudy) -> Iterator[str]:
    """Yield a sentence for each pair of models whose order depends on the estimator."""
    orders = part.study.orders
    for order in orders:
        if order.verdict == CHANGED and len(orders) > 1:  # the answer about a single pair says it already
            yield (
                f"{order.first} is higher than {order.second} under {', '.join(order.for_first)}, and lower under"
                f" {', '.join(order.for_second)}."
            )


def side_sentence(part: PartStudy) -> str:
    """Return how many sets change sides with the estimator."""
    study = part.study
    crossing = [len(ids) for ids in study.crossing]
    sentence = (
        f"In the least alike quarter of the sets under one estimator and not under another: {_range(crossing)} of"
        f" {study.values.sets:,} sets a model."
    )
    if not study.orders:
        return sentence
    sides = [len(order.sides) for order in study.orders]
    return f"{sentence} The model that treats a set more alike changes in {_range(sides)} sets a pair of models."


def _range(counts: list[int]) -> str:
    return f"{counts[0]:,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
