"""Everything that is measured of one dataset and task, with intervals that hold what is not known exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np

from .. import cores
from ..records import Measurement, Outcomes, RunKey, group_label
from .changes import changes
from .claims import PValues, claimed, with_claims
from .following import with_followed
from .group_pairs import group_pair_rows
from .identities import identity_points
from .items import Items
from .leeway.widening import Name, leeway_sentences, leeways, metrics_by_name, name_of, widened
from .measure import BLOCK, Measured, Plan, all_estimates, measure, measured_items, measured_points
from .points import Point, named_values
from .stopping import Sample, with_guarantee
from .worst import worst_groups


def measure_part(
    items: Items, plan: Plan, key: RunKey, sample: Sample | None = None
) -> tuple[list[Measurement], list[str]]:
    """Return every measurement of the items, and sentences on what is undefined or not known exactly."""
    outcomes = items.outcomes
    points, notes = measured_points(items, plan)
    marked = identity_points(items, plan)
    tested = partial(_tested_groups, [*points, *marked], items, plan, sample)
    # A few groups are sooner tested than handed out.
    with cores.aside(tested) if len(points) + len(marked) > BLOCK else nullcontext(tested) as result:
        measured, identities = all_estimates([(points, None), (marked, sample)], items, plan)
        groups, p_values = result()
    rows = [row.of(key) for row in measured]
    rows = with_followed(with_guarantee(rows, items, sample, plan.level), items, sample)
    rows += [row.of(key) for row in (*identities, *groups)]
    rows = with_claims(rows, p_values, sample)
    reach = leeways(outcomes, plan, lambda filled: _values(filled, plan))
    metrics = metrics_by_name(plan)
    wider = widened(rows, reach, outcomes.limits, metrics)
    return wider, [*notes, *set_sentences(items), *leeway_sentences(rows, wider, outcomes.limits, metrics)]


def _tested_groups(
    points: Sequence[Point], items: Items, plan: Plan, sample: Sample | None
) -> tuple[list[Measured], PValues]:
    """Return what is measured of several groups together, and the p-values of all that may be claimed."""
    rows = _of_groups(items, plan, sample)
    if not plan.intervals:
        return rows, {}
    names = {(point.job.name, group_label(value.parts)) for point in points for value in named_values(point)}
    return rows, claimed(items, plan, names | {(row.name, group_label(row.parts)) for row in rows})


def set_sentences(items: Items) -> Iterator[str]:
    """Yield how many sets are incomplete, and how sets of different sizes are compared."""
    first = items.variants == 0
    counts = np.bincount(items.sets[first])
    counts = counts[counts > 0]
    sizes = Counter(counts.tolist())
    alone = sizes.pop(1, 0)
    if not sizes:
        return
    if alone:
        yield f"{alone:,} of {len(counts):,} sets have one sentence only, so there is nothing to compare it with"
    if len(sizes) > 1:
        parts = ", ".join(f"{count:,} of {size}" for size, count in sorted(sizes.items()))
        how = "pairwise, as a range grows with the size" if items.disparity == "auto" else f"by {items.disparity}"
        yield f"sets have different numbers of sentences ({parts}): U compares them {how} (disparity)"


def measure_items(items: Items, plan: Plan, key: RunKey, sample: Sample | None = None) -> list[Measurement]:
    """Return the metrics of the plan, without those of several groups together and of identities."""
    rows, _ = measure(items, plan, key)
    rows = with_followed(rows, items, sample)
    reach = leeways(items.outcomes, plan, lambda filled: point_values(measured_items(filled, plan), plan))
    return widened(rows, reach, items.outcomes.limits, metrics_by_name(plan))


def _of_groups(items: Items, plan: Plan, sample: Sample | None = None) -> list[Measured]:
    """Return what is measured of several groups together, and what markers change."""
    changed = changes(items, plan, sample) if items.is_marked else []
    return [*group_pair_rows(items, plan), *worst_groups(items, plan), *changed]


def _values(outcomes: Outcomes, plan: Plan) -> dict[Name, float]:
    """Return the value of every measurement."""
    items = measured_items(outcomes, plan)
    rows = _of_groups(items, replace(plan, intervals=False))
    values = {name_of(row.name, row.parts): row.estimate.value for row in rows}
    marked = {(p.job.name, group_label(p.parts)): p.value for p in identity_points(items, plan)}
    return {**point_values(items, plan), **marked, **values}


def point_values(items: Items, plan: Plan) -> dict[Name, float]:
    """Return the value of every metric and group of the plan, without those of several groups together."""
    points, _ = measured_points(items, plan)
    return {(p.job.name, group_label(named.parts)): named.value for p in points for named in named_values(p)}
