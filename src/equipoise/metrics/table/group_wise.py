"""The rows of group-wise UCerF for any groups, and of FP with other performance functions."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import fairness, group_wise
from ..metric import Differences, Metric
from .fairness import ODDS, UCERF

_disparity = partial(
    Metric, better="lower", bounds=(0, 2), unit="contrast", applies_to="answerable", paper=UCERF, estimated=True
)
_fp = partial(
    Metric,
    function=fairness.fairness_performance,
    better="higher",
    bounds=(0, 1),
    unit="sets",
    applies_to="answerable",
    paper=UCERF,
    estimated=True,
)

GROUP_WISE = (
    _disparity(
        "ucerf_group_disparity",
        fairness.ucerf_group_disparity,
        ("desirability", *ODDS),
        label="Group-wise UCerF",
        summary="group-wise UCerF (eq. 5), a disparity",
        differences=Differences(fairness.desirability_differences, np.sum),
        possible=group_wise.possible_disparity,
    ),
    _disparity(
        "ucerf_group_disparity_strict",
        partial(fairness.ucerf_group_disparity, subset="all"),
        ("desirability", *ODDS),
        label="Group-wise UCerF, strict",
        summary="group-wise UCerF (eq. 5) over all positives and all negatives",
        differences=Differences(partial(fairness.desirability_differences, subset="all"), np.sum),
        possible=partial(group_wise.possible_disparity, subset="all"),
    ),
    Metric(
        "ucerf_groups",
        group_wise.ucerf_groups,
        ("desirability", "correct", "group"),
        "lower",
        "Group-wise UCerF, any groups",
        "how far apart groups are in desirability: of right answers plus of wrong ones",
        (0, 1),
        "grouping",
        "answerable",
        UCERF,
        estimated=True,
        differences=Differences(group_wise.level_differences, group_wise.sum_of_largest),
        possible=group_wise.possible_groups,
    ),
    _fp(
        "fp_sampled",
        inputs=("performance_sampled", "u"),
        label="FP, sampled answers",
        summary="expected accuracy of answers drawn at temperature 1 x UCerF",
    ),
    _fp(
        "fp_desirability",
        inputs=("performance_desirability", "u"),
        label="FP, desirability",
        summary="(mean desirability + 1)/2 x UCerF: certainty and correctness as performance",
    ),
    _fp(
        "fp_brier",
        inputs=("performance_brier", "u"),
        label="FP, Brier score",
        summary="(1 - Brier score over the candidates) x UCerF",
    ),
)
