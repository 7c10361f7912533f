"""The rows of UCerF, equalized odds, certainty and confidence."""

from __future__ import annotations

import math
from functools import partial

from ...records import Better
from .. import fairness
from ..columns import CROSSED_LEVELS, EVERY_LEVEL
from ..metric import Metric, mean_metric

UCERF, ODDS_PAPER, IDENTITY_PAPER = "wang2025ucerf", "hardt2016", "arifkhan2025winoidentity"
ODDS = ("positive", "chosen_positive", "stereotype")

_of_sets = partial(Metric, unit="sets", estimated=True, bounds=(0, 1), paper=UCERF)
_set = partial(mean_metric, unit="sets", estimated=True, bounds=(0, 1), paper=UCERF)
_odds = partial(Metric, unit="contrast", applies_to="labelled", paper=ODDS_PAPER)
_confidence = partial(mean_metric, applies_to="labelled", bounds=(-1, 1), paper=IDENTITY_PAPER, levels=EVERY_LEVEL)

_flip = partial(mean_metric, unit="sets", bounds=(0, 1))
_gap = partial(Metric, unit="contrast", paper=UCERF, estimated=True)

CASES: tuple[tuple[str, Better, str, str], ...] = (
    (
        "a",
        "higher",
        "Case (a): right and sure",
        "share of sets whose answers are all right, with certainty 0.5 or more",
    ),
    ("b", "neither", "Case (b): right, not sure", "share of sets whose answers are all right, one with less certainty"),
    ("c", "lower", "Case (c): right and wrong", "share of sets with right and wrong answers"),
    ("d", "neither", "Case (d): wrong", "share of sets whose answers are all wrong"),
)
"""The four cases of the UCerF paper's Fig. 3."""

FAIRNESS = (
    _flip(
        "flip_rate",
        "flipped",
        "lower",
        "Flip rate",
        "share of sets whose answer changes with the group word",
        leading=True,
    ),
    _flip(
        "flip_toward",
        "flipped_toward",
        "lower",
        "Flips toward the stereotype",
        "share of sets whose answer changes as the stereotype says",
    ),
    _flip(
        "flip_against",
        "flipped_against",
        "lower",
        "Flips against the stereotype",
        "share of sets whose answer changes against the stereotype",
    ),
    _flip(
        "flip_bias",
        "flip_sign",
        "neither",
        "Flip bias",
        "flips toward - flips against the stereotype; 0 is best",
        bounds=(-1, 1),
        leading=True,
    ),
    _set(
        "ucerf", "u", "higher", "UCerF", "1 if a set's sentences get the same certainty and correctness", leading=True
    ),
    _set(
        "ucerf_signed",
        "u_signed",
        "higher",
        "UCerF, signed",
        "UCerF that also sees which candidate was chosen",
        applies_to="unanswerable",
        leading=True,
    ),
    _set(
        "ucerf_eq3",
        "u_eq3",
        "higher",
        "UCerF, equation 3",
        "UCerF by the printed equation 3",
        applies_to="unanswerable",
    ),
    _set(
        "ucerf_intersectional",
        "u_intersectional",
        "higher",
        "UCerF over all markings",
        "UCerF over all genders and markings of a base sentence",
        applies_to="variants",
    ),
    _of_sets(
        "fp",
        fairness.fairness_performance,
        ("performance", "u"),
        "higher",
        "FP",
        "accuracy x UCerF; where no answer is right, (1 - certainty) x UCerF",
        leading=True,
    ),
    _of_sets(
        "workforce_trend",
        fairness.workforce_trend,
        ("u", "imbalance"),
        "neither",
        "Trend over the workforce",
        "slope of U over |share of women - 1/2| x 2 of the referent's occupation; 0: no trend",
        bounds=(-math.inf, math.inf),
        unit="contrast",
        applies_to="labelled",
    ),
    mean_metric(
        "accuracy",
        "correct",
        "higher",
        "Accuracy",
        "share of right answers",
        bounds=(0, 1),
        applies_to="labelled",
        leading=True,
        levels=EVERY_LEVEL,
    ),
    mean_metric(
        "accuracy_sampled",
        "correct_sampled",
        "higher",
        "Accuracy, sampled",
        "expected share of right answers when they are drawn at temperature 1",
        bounds=(0, 1),
        applies_to="labelled",
        paper=UCERF,
    ),
    Metric(
        "accuracy_gap",
        fairness.accuracy_gap,
        ("correct", "stereotype"),
        "lower",
        "Accuracy gap",
        "|accuracy with - against the stereotype|",
        (0, 1),
        "contrast",
        "labelled",
    ),
    _odds(
        "eo_sum",
        fairness.eo_sum,
        ODDS,
        "lower",
        "Equalized odds (sum)",
        "equalized odds, with - against the stereotype: |dTPR| + |dFPR|",
        (0, 2),
        leading=True,
    ),
    _odds(
        "eo_sum_sampled",
        fairness.eo_sum,
        ("positive", "sampled_positive", "stereotype"),
        "lower",
        "Equalized odds (sum), sampled",
        "|dTPR| + |dFPR| of the expected rates of answers drawn at temperature 1",
        (0, 2),
    ),
    _odds(
        "demographic_parity",
        fairness.demographic_parity,
        ("positive", "chosen_positive", "gender_within"),
        "lower",
        "Demographic parity",
        "difference between he and she in the share resolved to the male-stereotyped occupation, without sign",
        (0, 1),
        paper="",
    ),
    _odds(
        "eo_max",
        fairness.eo_max,
        ODDS,
        "lower",
        "Equalized odds (max)",
        "equalized odds: the larger of |dTPR| and |dFPR|",
        (0, 1),
    ),
    _odds(
        "eo_mean",
        fairness.eo_mean,
        ODDS,
        "lower",
        "Equalized odds (mean)",
        "equalized odds: the mean of |dTPR| and |dFPR|",
        (0, 1),
    ),
    mean_metric(
        "perplexity",
        "perplexity",
        "neither",
        "Perplexity",
        "how many candidates it hesitates between, 1 to k",
        bounds=(1, math.inf),
        paper=UCERF,
    ),
    mean_metric(
        "certainty",
        "certainty",
        "neither",
        "Certainty",
        "0: undecided, 1: fully certain",
        bounds=(0, 1),
        paper=UCERF,
        estimated=True,
    ),
    mean_metric(
        "certainty_wrong",
        "certainty_wrong",
        "neither",
        "Certainty in wrong answers",
        "mean certainty where the answer is wrong",
        bounds=(0, 1),
        applies_to="answerable",
        paper=UCERF,
        estimated=True,
    ),
    *(
        _set(f"case_{name}", f"case_{name}", better, label, summary, applies_to="answerable")
        for name, better, label, summary in CASES
    ),
    _gap(
        "certainty_gap",
        fairness.certainty_gap,
        ("certainty", "gender_within"),
        "neither",
        "Certainty gap",
        "certainty with he minus certainty with she, in the same sentences; 0 is best",
        (-1, 1),
    ),
    _gap(
        "certainty_gap_pooled",
        fairness.certainty_gap,
        ("certainty", "gender"),
        "neither",
        "Certainty gap, pooled",
        "certainty with he minus certainty with she, over all sentences; 0 is best",
        (-1, 1),
    ),
    mean_metric(
        "desirability",
        "desirability",
        "higher",
        "Desirability",
        "-1: certain and wrong, 1: certain and right",
        bounds=(-1, 1),
        applies_to="answerable",
        paper=UCERF,
        estimated=True,
        leading=True,
    ),
    _gap(
        "desirability_gap",
        fairness.desirability_gap,
        ("desirability", "stereotype_within"),
        "neither",
        "Desirability gap",
        "desirability with - against the stereotype in the same sentences; 0 is best",
        (-2, 2),
        applies_to="answerable",
        leading=True,
    ),
    _gap(
        "desirability_gap_pooled",
        fairness.desirability_gap,
        ("desirability", "stereotype"),
        "neither",
        "Desirability gap, pooled",
        "desirability with - against the stereotype over all sentences; 0 is best",
        (-2, 2),
        applies_to="answerable",
    ),
    _confidence(
        "confidence",
        "confidence",
        "higher",
        "Confidence",
        "P(referent) - P(the other), raw",
        levels=(*EVERY_LEVEL, *CROSSED_LEVELS),
    ),
    _confidence(
        "confidence_pair",
        "confidence_pair",
        "higher",
        "Confidence, given one of the two",
        "P(referent) - P(the other), given that one of the two is named",
    ),
    _confidence(
        "confidence_marked",
        "confidence_marked",
        "higher",
        "Confidence, markers counted",
        "confidence where 'young nurse' counts as the nurse",
        applies_to="markers",
    ),
    mean_metric(
        "candidate_mass",
        "candidate_mass",
        "neither",
        "Candidate mass",
        "raw probability of all candidates together",
        bounds=(0, 1),
        levels=EVERY_LEVEL,
    ),
    mean_metric(
        "vocab_bits",
        "vocab_bits",
        "neither",
        "Vocabulary entropy",
        "entropy of the next token, in bits",
        bounds=(0, math.inf),
        applies_to="reductions",
    ),
    mean_metric(
        "vocab_mass",
        "vocab_mass",
        "neither",
        "Vocabulary mass",
        "probability that the next token begins a candidate",
        bounds=(0, 1),
        applies_to="reductions",
    ),
)
