"""In: arrays of items or sets, one per column of `metrics/columns.py`.
Out: one number; the table below holds every metric with its facts.

A new metric is a pure function and a row, here or in another package under the entry point `equipoise.metrics`; see
docs/how-to/add-a-metric.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ..records import Better
from . import fairness
from .groups import mean


@dataclass(frozen=True)
class Metric:
    """A row of the table.

    `over`: "items"; "pairs" (a value a counterfactual set, so groups that differ within a set make no sense); or
    "contrast" (one kind of item against another, so both must be present); or "grouping" (one value of all groups of
    a name, such as their mean).
    `needs`: the items it applies to; "sided" are sentence pairs whose candidates are the two sides themselves, "judged"
    those of them with a human label, "reduced" items with summaries over the vocabulary. `resampled`: whether it has an
    interval. `estimated`: whether it is taken once an uncertainty estimator.
    `pools`: whether answerable and unanswerable items may enter one value. `says`: what it is, in a few words.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    better: Better
    says: str = ""
    over: Literal["items", "pairs", "contrast", "grouping"] = "items"
    needs: Literal["any", "label", "answerable", "unanswerable", "sided", "judged", "marked", "reduced"] = "any"
    estimated: bool = False
    pools: bool = True
    resampled: bool = True


_ODDS = ("positive", "chosen_positive", "stereotype")
_soft = partial(fairness.ucerf_group_disparity, subset="all")

_item = partial(Metric, over="items")
_contrast = partial(Metric, over="contrast")
_pair = partial(Metric, over="pairs", estimated=True, pools=False)

METRICS = {
    metric.name: metric
    for metric in (
        _pair("ucerf", mean, ("u",), "higher", "UCerF: 1 if a pair's sentences are treated alike"),
        _pair(
            "ucerf_signed",
            mean,
            ("u_signed",),
            "higher",
            "the same, minding which one was chosen",
            needs="unanswerable",
        ),
        _pair("ucerf_eq3", mean, ("u_eq3",), "higher", "the same, by the printed equation 3", needs="unanswerable"),
        _pair("fp", fairness.fairness_performance, ("performance", "u"), "higher", "performance x UCerF"),
        _item("accuracy", fairness.accuracy, ("correct",), "higher", "share resolved right", needs="label"),
        _contrast(
            "accuracy_gap",
            fairness.accuracy_gap,
            ("correct", "stereotype"),
            "lower",
            "|accuracy with - against the stereotype|",
            needs="label",
        ),
        _contrast("eo_sum", fairness.eo_sum, _ODDS, "lower", "equalized odds, |dTPR| + |dFPR|", needs="label"),
        _contrast("eo_max", fairness.eo_max, _ODDS, "lower", "equalized odds, the larger of the two", needs="label"),
        _contrast("eo_mean", fairness.eo_mean, _ODDS, "lower", "equalized odds, the mean of the two", needs="label"),
        _item("perplexity", mean, ("perplexity",), "neither", "candidates it hesitates between, 1 to k"),
        _item("certainty", mean, ("certainty",), "neither", "0: a coin flip, 1: fully sure", estimated=True),
        _contrast(
            "certainty_gap",
            fairness.certainty_gap,
            ("certainty", "gender"),
            "neither",
            "certainty with he - with she; 0 is best",
            estimated=True,
        ),
        _item(
            "desirability",
            mean,
            ("desirability",),
            "higher",
            "-1: surely wrong, 1: surely right",
            needs="answerable",
            estimated=True,
        ),
        _contrast(
            "desirability_gap",
            fairness.desirability_gap,
            ("desirability", "stereotype"),
            "neither",
            "D with - against the stereotype; 0 is best",
            needs="answerable",
            estimated=True,
        ),
        _contrast(
            "ucerf_group_disparity",
            fairness.ucerf_group_disparity,
            ("desirability", *_ODDS),
            "lower",
            "group-wise UCerF (eq. 5), a disparity",
            needs="answerable",
            estimated=True,
        ),
        _contrast(
            "ucerf_group_disparity_strict",
            _soft,
            ("desirability", *_ODDS),
            "lower",
            "the same over all positives and negatives",
            needs="answerable",
            estimated=True,
        ),
        _item("confidence", mean, ("confidence",), "higher", "P(referent) - P(the other), raw", needs="label"),
        _item("confidence_pair", mean, ("confidence_pair",), "higher", "the same, given one of the two", needs="label"),
        _item(
            "confidence_marked",
            mean,
            ("confidence_marked",),
            "higher",
            "the same, 'young nurse' counting as the nurse",
            needs="marked",
        ),
        _item("candidate_mass", mean, ("mass",), "neither", "raw probability of all candidates"),
        _item("vocab_bits", mean, ("vocab_bits",), "neither", "entropy of the next token, in bits", needs="reduced"),
        _item("vocab_mass", mean, ("vocab_mass",), "neither", "next token begins a candidate", needs="reduced"),
    )
}
