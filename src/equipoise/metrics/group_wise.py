"""Group-wise UCerF (eq. 5) of items that need not come in pairs, and what it can be where a subset is empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..records import Booleans, Floats, Strings, UndefinedMetric
from .groups import Norm, Value, Weights, by_group, largest_size, mean

Ends = tuple[float, float]
Radius = Callable[[Booleans, float, int], float]
"""How far the mean of a subset may lie from its truth: the subset, the width of its values, the number of subsets."""

RIGHT, WRONG, ANY = (0.5, 1.0), (0.0, 0.5), (0.0, 1.0)
"""Where (D + 1)/2 lies: of right answers, of wrong ones, and of any."""


def level_differences(desirability: Floats, correct: Floats, group: Strings, *, weights: Weights = None) -> Value:
    """Return mean (D+1)/2 of one group less that of another, for every two groups: of right answers, then of wrong."""
    differences = []
    for answer, sign in ((1, 1), (0, -1)):
        scaled = np.where(correct == answer, (sign * np.abs(desirability) + 1) / 2, np.nan)
        levels = _levels(scaled, group, weights)
        first, second = np.triu_indices(len(levels), k=1)
        differences.append(levels[first] - levels[second])
    return np.concatenate(differences)


def _levels(scaled: Floats, group: Strings, weights: Weights) -> Value:
    values = by_group(mean, scaled, groups=group, weights=weights)
    if len(values) < 2:
        raise UndefinedMetric("group-wise UCerF of an empty group, or of one group alone")
    return np.stack([np.asarray(value, dtype=np.float64) for value in values.values()])


def sum_of_largest(differences: Value) -> Value:
    """Return the largest size among right answers plus the largest among wrong ones."""
    return sum(largest_size(several) for several in np.split(differences, 2))


ucerf_groups = Norm(level_differences, sum_of_largest)
"""How far apart the groups are in mean (D+1)/2 of right answers, plus that of wrong ones, in [0, 1].

Equation 5 for any number of groups and any answers: right answers in the place of true positives, wrong ones in that of
false positives, max - min over the groups in that of the difference of two. 0: all groups are alike. Lower is better.
Undefined where a group has no right or no wrong answer.
"""


def possible_groups(desirability: Floats, correct: Floats, group: Strings, *, radius: Radius) -> Ends:
    """Return the smallest and largest `ucerf_groups` that fit the items: an empty subset may have any value."""
    names = sorted(set(group.tolist()) - {""})
    groups = [(group == name) & ~np.isnan(correct) for name in names]
    return _possible(desirability, groups, [(correct == 1, RIGHT), (correct == 0, WRONG)], radius)


def possible_disparity(
    desirability: Floats,
    positive: Floats,
    chosen_positive: Booleans,
    stereotype: Strings,
    *,
    subset: str = "chosen",
    radius: Radius,
) -> Ends:
    """Return the smallest and largest `ucerf_group_disparity` that fit the items."""
    groups = [(stereotype == name) & ~np.isnan(positive) for name in ("pro", "anti")]
    if subset == "all":
        classes = [(positive == 1, ANY), (positive == 0, ANY)]
    else:
        chosen = np.asarray(chosen_positive, dtype=bool)
        classes = [((positive == 1) & chosen, RIGHT), ((positive == 0) & chosen, WRONG)]
    return _possible(desirability, groups, classes, radius)


def _possible(
    desirability: Floats, groups: Sequence[Booleans], classes: Sequence[tuple[Booleans, Ends]], radius: Radius
) -> Ends:
    if len(groups) < 2 or not all(group.any() for group in groups):
        raise UndefinedMetric("group-wise UCerF of an empty group, or of one group alone")
    subsets = len(groups) * len(classes)
    smallest = largest = 0.0
    for inside, (bottom, top) in classes:
        ends = []
        for group in groups:
            among = group & inside
            if not among.any():
                ends.append((bottom, top))
                continue
            centre = float((desirability[among] + 1).mean() / 2)
            apart = radius(among, top - bottom, subsets)
            ends.append((max(bottom, centre - apart), min(top, centre + apart)))
        lows, highs = zip(*ends, strict=True)
        smallest += max(0.0, max(lows) - min(highs))
        largest += max(high - low for i, high in enumerate(highs) for j, low in enumerate(lows) if i != j)
    return smallest, largest
