"""What single answers are: the levels that equation 5 is made of, and medians.

Positive is the male-stereotyped occupation; NaN in `positive` is an item of neither class. All are in [0, 1].
"""

from __future__ import annotations

import numpy as np

from ..records import Floats, UndefinedMetric
from .group_wise import RIGHT, WRONG, Ends, Radius
from .groups import Value, Weights, share


def median(values: Floats) -> float:
    """Return the median of the values that are not NaN."""
    known = values[~np.isnan(values)]
    if not len(known):
        raise UndefinedMetric("median of an empty group")
    return float(np.median(known))


def level(levels: Floats, positive: Floats, *, weights: Weights = None) -> Value:
    """Return mean (D + 1)/2 over the true or the false positives; NaN in `levels` is an item that is not one."""
    return share(levels, ~np.isnan(positive), weights=weights, of="desirability of true or false positives")


def possible_level(levels: Floats, positive: Floats, *, actual: int, radius: Radius) -> Ends:
    """Return what a level can be where no item of the class was resolved to it: that of right or of wrong answers."""
    if not (positive == actual).any():
        raise UndefinedMetric("a level without items of the class")
    return RIGHT if actual else WRONG
