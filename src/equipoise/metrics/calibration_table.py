"""The table of calibration metrics, beside METRICS: they apply to sentence pairs that are their own counterfactual."""

from __future__ import annotations

from functools import partial

from . import Metric, calibration
from .groups import mean

_judged = partial(Metric, over="items", needs="judged")
_pair = ("y", "p")
_grouped = (*_pair, "predicted_side")

CALIBRATION = {
    metric.name: metric
    for metric in (
        _judged("ece", calibration.ece, _pair, "lower", "|how often it is so - how probable it is said to be|"),
        _judged(
            "ece_floor", calibration.noise_floor, ("p",), "neither", "what chance shows at this n", resampled=False
        ),
        _judged(
            "ece_debiased", calibration.ece_debiased, _pair, "lower", "ECE less its bias; 0: nothing beyond chance"
        ),
        _judged(
            "ece_equal_mass", partial(calibration.ece, binning="mass"), _pair, "lower", "ECE, bins of equal counts"
        ),
        _judged("ece_top_label", calibration.ece_top_label, _pair, "lower", "ECE of the side predicted"),
        _judged(
            "gender_ece", calibration.group_ece, _grouped, "lower", "mean ECE of the predicted sides", over="contrast"
        ),
        _judged("gender_ece_gap", calibration.group_ece_gap, _grouped, "lower", "their difference", over="contrast"),
        _judged("macroce", calibration.macroce, _pair, "lower", "ICE over hits and over misses, averaged"),
        _judged("ice", calibration.ice, _pair, "lower", "|right or wrong - confidence|, item by item"),
        _judged("brier", calibration.brier, _pair, "lower", "mean squared error of the probability"),
        _judged("brier_reliability", calibration.brier_reliability, _pair, "lower", "its part from miscalibration"),
        _judged("brier_resolution", calibration.brier_resolution, _pair, "higher", "taken off: telling items apart"),
        _judged("brier_uncertainty", calibration.brier_uncertainty, _pair, "neither", "its part from the labels alone"),
        _judged("brier_within", calibration.brier_within, _pair, "neither", "the rest, within bins"),
        _judged("brier_published", calibration.brier_published, _pair, "neither", "the paper's, of the wrong column"),
        _judged("log_loss", calibration.log_loss, _pair, "lower", "mean -log probability of the label"),
        _judged("human_alignment", calibration.human_alignment, _pair, "higher", "share that people would agree with"),
        Metric("p_first", mean, ("p",), "neither", "mean probability of the first side (male)", needs="sided"),
        Metric("preference", mean, ("prefers",), "neither", "share where the first side is likelier", needs="sided"),
        Metric(
            "group_ece",
            calibration.group_ece,
            (*_pair, "group"),
            "lower",
            "mean ECE of the groups",
            "grouping",
            "judged",
        ),
        Metric(
            "group_ece_gap",
            calibration.group_ece_gap,
            (*_pair, "group"),
            "lower",
            "largest less smallest",
            "grouping",
            "judged",
        ),
    )
}
