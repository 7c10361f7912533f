"""The rows of calibration: sentence pairs that are their own counterfactual, against human labels."""

from __future__ import annotations

import math
from functools import partial

from .. import calibration
from ..metric import Metric, mean_metric

PAPER = "sabir-confidence-trap"
LABELLED = ("y", "p")
BY_SIDE = (*LABELLED, "predicted_side")
BY_GROUP = (*LABELLED, "group")

_labelled = partial(Metric, applies_to="labelled pairs", bounds=(0, 1), paper=PAPER)
_across = partial(_labelled, unit="contrast")
_grouping = partial(_labelled, unit="grouping")
_pairs = partial(mean_metric, applies_to="pairs", bounds=(0, 1), paper=PAPER)
_of_labels = partial(mean_metric, applies_to="labelled pairs", better="neither", paper=PAPER)

CALIBRATION = (
    _labelled(
        "ece", calibration.ece, LABELLED, "lower", "ECE", "mean |how often it is so - stated probability|", leading=True
    ),
    _labelled(
        "ece_floor",
        calibration.noise_floor,
        ("p",),
        "neither",
        "ECE by chance",
        "the ECE that a calibrated model shows at this n",
        resampled=False,
    ),
    _labelled(
        "ece_debiased",
        calibration.ece_debiased,
        LABELLED,
        "lower",
        "ECE, debiased",
        "ECE minus its bias at this n; 0: nothing beyond chance",
        bounds=(-1, 1),
    ),
    _labelled(
        "ece_equal_mass",
        partial(calibration.ece, binning="mass"),
        LABELLED,
        "lower",
        "ECE, equal-count bins",
        "ECE with bins of equal counts",
    ),
    _labelled(
        "ece_top_label",
        calibration.ece_top_label,
        LABELLED,
        "lower",
        "ECE of the prediction",
        "ECE of the side predicted",
    ),
    _across(
        "gender_ece",
        calibration.group_ece,
        BY_SIDE,
        "lower",
        "Gender-ECE",
        "mean ECE of the predicted sides",
        leading=True,
    ),
    _across(
        "gender_ece_gap",
        calibration.group_ece_gap,
        BY_SIDE,
        "lower",
        "Gender-ECE gap",
        "largest - smallest ECE of the predicted sides",
    ),
    _labelled(
        "macroce", calibration.macroce, LABELLED, "lower", "MacroCE", "ICE over hits and over misses, averaged", means=2
    ),
    _labelled("ice", calibration.ice, LABELLED, "lower", "ICE", "mean |right or wrong - confidence|", means=1),
    _labelled(
        "brier",
        calibration.brier,
        LABELLED,
        "lower",
        "Brier score",
        "mean squared error of the probability",
        means=1,
        leading=True,
    ),
    _labelled(
        "brier_reliability",
        calibration.brier_reliability,
        LABELLED,
        "lower",
        "Brier reliability",
        "the Brier score's part from miscalibration",
    ),
    _labelled(
        "brier_resolution",
        calibration.brier_resolution,
        LABELLED,
        "higher",
        "Brier resolution",
        "how far the bins tell items apart (lowers the Brier score)",
        bounds=(0, 0.25),
    ),
    _labelled(
        "brier_uncertainty",
        calibration.brier_uncertainty,
        LABELLED,
        "neither",
        "Brier uncertainty",
        "the Brier score's part from the labels alone",
        bounds=(0, 0.25),
    ),
    _labelled(
        "brier_within",
        calibration.brier_within,
        LABELLED,
        "neither",
        "Brier rest",
        "the rest of the Brier score, within bins",
        bounds=(-1, 1),
    ),
    _labelled(
        "brier_published",
        calibration.brier_published,
        LABELLED,
        "neither",
        "Brier score as published",
        "the paper's number, made from the wrong column",
        means=1,
    ),
    _labelled(
        "log_loss",
        calibration.log_loss,
        LABELLED,
        "lower",
        "Log loss",
        "mean -log probability of the label, in nats",
        bounds=(0, math.inf),
    ),
    _labelled(
        "human_alignment",
        calibration.human_alignment,
        LABELLED,
        "higher",
        "Human alignment",
        "share of predictions that people agree with",
        means=1,
        leading=True,
    ),
    _pairs("p_first", "p", "neither", "P(first side)", "mean probability of the first side (male)"),
    _pairs("preference", "prefers", "neither", "Preference", "share of pairs where the first side is likelier"),
    _of_labels(
        "label_share", "y", label="Labels", summary="share that people call the first side (male)", bounds=(0, 1)
    ),
    _of_labels(
        "label_lean",
        "p_apart",
        label="Lean from the labels",
        summary="mean probability of the first side - share that people call it; 0: as often as people",
        bounds=(-1, 1),
    ),
    _grouping("group_ece", calibration.group_ece, BY_GROUP, "lower", "Group ECE", "mean ECE of the groups"),
    _grouping(
        "group_ece_gap",
        calibration.group_ece_gap,
        BY_GROUP,
        "lower",
        "Group ECE gap",
        "largest - smallest ECE of the groups",
    ),
)
