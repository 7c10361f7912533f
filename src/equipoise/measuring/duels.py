"""How much better one run is than an earlier one, on the same sentences: differences within base sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..records import EquipoiseError, Estimate, Integers, Outcomes
from ..stats.betting import Units
from ..stats.paired import Contest, Trial, paired_differences
from ..stats.resampling import Statistic
from .following import following_plan, points_of, units_of
from .goals import Goal
from .measure import Plan, measured_items


def improvement(outcomes: Outcomes, goal: Goal) -> Units | None:
    """Return how much better each base sentence was answered than in the earlier run; None where none can be told."""
    sides = _sides(outcomes, goal)
    if sides is None:
        return None
    both = [units for _, units in sides]
    if [len(units) for units in both] == [1, 1]:
        (mine,), (theirs,) = both
        if np.array_equal(mine.counts, theirs.counts):
            width = mine.bounds[1] - mine.bounds[0]
            return replace(mine, sums=_sign(goal) * (mine.sums - theirs.sums), bounds=(-width, width))
    reason = "it is not a mean over the same sentences in both runs"
    raise EquipoiseError(f"{goal.requirement.text}: {goal.metric.name} cannot be compared: {reason}")


def final_improvement(outcomes: Outcomes, goal: Goal, plan: Plan) -> Estimate | None:
    """Return the improvement with the interval that a comparison of two full runs has."""
    sides, units = _sides(outcomes, goal), improvement(outcomes, goal)
    if sides is None or units is None:
        return None
    first, second = (statistics for statistics, _ in (sides if _sign(goal) > 0 else sides[::-1]))
    clusters = int(max(statistic.numbers.max() for statistic in (*first, *second))) + 1
    contest = Contest(first, second, len(units.counts), units.bounds[1], units.means, units.counts)
    trial = Trial(resamples=plan.resamples, permutations=1, level=goal.level, seed=plan.seed)
    (estimate,) = paired_differences([contest], clusters=clusters, trial=trial)
    return estimate


def _sign(goal: Goal) -> float:
    return 1.0 if goal.metric.better == "higher" else -1.0


def _sides(outcomes: Outcomes, goal: Goal) -> list[tuple[list[Statistic], list[Units]]] | None:
    """Return the metric of both runs on the same rows, by base sentence, and its units; None where one has no value."""
    assert goal.earlier is not None
    if outcomes.limits is not None or goal.earlier.limits is not None:
        raise EquipoiseError("until_better needs exact probabilities, and a server gave limits; use equipoise compare")
    rows = _rows(outcomes, goal.earlier)
    sides = []
    for part in (outcomes.take(rows >= 0), goal.earlier.take(rows[rows >= 0])):
        items = measured_items(part, following_plan([goal.followed]))
        point = points_of(items, [goal.followed]).get(goal.followed.name)
        if point is None:
            return None
        statistics = [replace(statistic, numbers=items.sentences) for statistic in point.statistics()]
        sides.append((statistics, units_of(point, items, goal.followed)))
    return sides


def _rows(outcomes: Outcomes, earlier: Outcomes) -> Integers:
    """Return the row of the earlier run that each item has, -1 where it has none."""
    places = {key: place for place, key in enumerate(zip(earlier.example_id, earlier.variant, strict=True))}
    keys = zip(outcomes.example_id, outcomes.variant, strict=True)
    return np.array([places.get(key, -1) for key in keys], dtype=np.int64)
