"""Everything that is measured of one dataset and task, with intervals that hold what is not known exactly."""

from __future__ import annotations

from dataclasses import replace

from ..records import Measurement, Outcomes, RunKey, group_label
from .identities import is_marked, measure_identities
from .identity_statistics import measure_added
from .intersections import measure_combinations
from .items import Items
from .leeway.sentences import leeway_sentences
from .leeway.widening import Name, leeways, metrics_by_name, name_of, widened
from .measure import Plan, measure, measured_items, measured_points, named_values
from .sample import Sample
from .stopping import with_guarantee


def measure_part(
    outcomes: Outcomes, items: Items, plan: Plan, key: RunKey, sample: Sample | None = None
) -> tuple[list[Measurement], list[str]]:
    """Return every measurement of the outcomes, and sentences on what is undefined or not known exactly."""
    rows, notes = measure(items, plan, key)
    rows = with_guarantee(rows, items, sample, plan.level)
    rows += _of_groups(outcomes, items, plan, key, sample)
    reach = leeways(outcomes, plan, lambda filled: _values(filled, plan, key))
    metrics = metrics_by_name(plan)
    wider = widened(rows, reach, outcomes.limits, metrics)
    return wider, [*notes, *leeway_sentences(rows, wider, outcomes.limits, metrics)]


def measure_items(items: Items, plan: Plan, key: RunKey) -> list[Measurement]:
    """Return the metrics of the plan, without those of several groups together and of identities."""
    rows, _ = measure(items, plan, key)
    reach = leeways(items.outcomes, plan, lambda filled: point_values(measured_items(filled, plan), plan))
    return widened(rows, reach, items.outcomes.limits, metrics_by_name(plan))


def _of_groups(
    outcomes: Outcomes, items: Items, plan: Plan, key: RunKey, sample: Sample | None = None
) -> list[Measurement]:
    """Return what is measured of several groups together, and of identities."""
    rows = measure_combinations(items, plan, key)
    if is_marked(outcomes):
        rows += [*measure_identities(outcomes, plan, key, sample), *measure_added(items, plan, key)]
    return rows


def _values(outcomes: Outcomes, plan: Plan, key: RunKey) -> dict[Name, float]:
    """Return the value of every measurement."""
    items = measured_items(outcomes, plan)
    rows = _of_groups(outcomes, items, replace(plan, resamples=2, intervals=False), key)
    return {**point_values(items, plan), **{name_of(row): row.value for row in rows}}


def point_values(items: Items, plan: Plan) -> dict[Name, float]:
    """Return the value of every metric and group of the plan, without those of several groups together."""
    points, _ = measured_points(items, plan)
    return {(p.job.name, group_label(named.parts)): named.value for p in points for named in named_values(p)}
