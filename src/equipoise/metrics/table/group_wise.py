"""The rows of groups: group-wise UCerF, pairs of groups by name, and FP with other performance functions."""

from __future__ import annotations

from functools import partial

from .. import fairness, group_wise
from ..groups import Norm, total_size
from ..metric import Metric, mean_metric
from .fairness import ODDS, UCERF

_disparity = partial(
    Metric,
    better="lower",
    bounds=(0, 2),
    unit="contrast",
    applies_to="answerable",
    paper=UCERF,
    estimated=True,
    means=4,
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
    means=2,
)

GROUP_WISE = (
    _disparity(
        "ucerf_group_disparity",
        fairness.ucerf_group_disparity,
        ("desirability", *ODDS),
        label="Group-wise UCerF",
        summary="group-wise UCerF (eq. 5), a disparity",
        possible=group_wise.possible_disparity,
    ),
    _disparity(
        "ucerf_group_disparity_strict",
        Norm(partial(fairness.desirability_differences, subset="all"), total_size),
        ("desirability", *ODDS),
        label="Group-wise UCerF, strict",
        summary="group-wise UCerF (eq. 5) over all positives and all negatives",
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

GROUP_PAIRS = tuple(
    mean_metric(
        f"{column}_difference",
        f"{column}_apart",
        "neither",
        f"{column.capitalize()} difference",
        f"{column} with the first - with the second group of a pair; 0 is best",
        bounds=(-reach, reach),
        unit="pair",
        null=f"the two groups do not differ in {column}",
        family=("type",),
    )
    for column, reach in (("certainty", 1.0), ("desirability", 2.0))
)
"""Of sets of more than two groups (measuring/group_pairs.py)."""
