"""Everything that is measured of one dataset and task, with intervals that hold what is not known exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np

from .. import cores
from ..records import Measurement, Outcomes, RunKey, group_label
from ..stats import distributions
from .changes import changes
from .claims import Claims, claims_of, tested, with_claims
from .following import with_followed
from .group_pairs import group_pair_rows
from .identities import identity_points
from .items import Items
from .leeway.widening import Name, leeway_sentences, leeways, metrics_by_name, name_of, widened
from .measure import BLOCK, Measured, Plan, all_estimates, jobs, measure, measured_items, measured_points
from .points import Point, named_values
from .stopping import Sample, with_guarantee
from .worst import worst_groups

MANY = 10_000
"""Items from which groups are compared in a copy of the process: fewer are compared before it is there."""


def measure_part(
    items: Items, plan: Plan, key: RunKey, sample: Sample | None = None
) -> tuple[list[Measurement], list[str]]:
    """Return every measurement of the items, and sentences on what is undefined or not known exactly."""
    outcomes = items.outcomes
    if plan.intervals:
        distributions.load()
    list(jobs(items, plan))  # the columns that both processes read are computed before there are two
    early = partial(_groups_and_claims, items, plan, sample)
    with cores.aside(early) if len(items) >= MANY else nullcontext(early) as result:
        points, notes = measured_points(items, plan)
        marked = identity_points(items, plan)
        groups, claims = result()
    several = [named for point in (*points, *marked) for named in _names(point)]
    tests = partial(tested, claims, {*several, *((row.name, group_label(row.parts)) for row in groups)}, plan.seed)
    # A few claims are sooner tested than handed out.
    with cores.aside(tests) if len(several) > BLOCK else nullcontext(tests) as p_values:
        measured, identities = all_estimates([(points, None), (marked, sample)], items, plan)
        known = p_values()
    rows = [row.of(key) for row in measured]
    rows = with_followed(with_guarantee(rows, items, sample, plan.level), items, sample)
    rows += [row.of(key) for row in (*identities, *groups)]
    rows = with_claims(rows, known, sample)
    reach = leeways(outcomes, plan, lambda filled: _values(filled, plan))
    metrics = metrics_by_name(plan)
    wider = widened(rows, reach, outcomes.limits, metrics)
    return wider, [*notes, *set_sentences(items), *leeway_sentences(rows, wider, outcomes.limits, metrics)]


def _groups_and_claims(items: Items, plan: Plan, sample: Sample | None) -> tuple[list[Measured], Claims]:
    """Return what is measured of several groups together, and what may be claimed."""
    return _of_groups(items, plan, sample), claims_of(items, plan)


def _names(point: Point) -> Iterator[tuple[str, str]]:
    """Yield the measurements that a point makes, by metric and group."""
    for value in named_values(point):
        yield point.job.name, group_label(value.parts)


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
