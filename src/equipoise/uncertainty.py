"""How sure a distribution over k candidates is: uncertainty, and certainty in [0, 1].

Every estimator is a row of `ESTIMATORS`. `uncertainty` is higher for flatter distributions, `certainty` is 0 for the
uniform one and 1 for a one-hot one, and monotone between; both are tested over all rows. (lm-polygraph's Rényi and
Fisher-Rao run the other way round; see REFERENCES in docs/metrics.md.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .records import Booleans, Floats, UndefinedMetric


def renormalise(logprobs: Floats) -> Floats:
    """Return the candidates' probabilities given that one of them is said: softmax over each row."""
    shifted = logprobs - logprobs.max(axis=1, keepdims=True)
    weights = np.exp(shifted)
    probs: Floats = weights / weights.sum(axis=1, keepdims=True)
    return probs


def entropy(probs: Floats) -> Floats:
    """Return the Shannon entropy of each row in bits, in [0, log2 k]; higher is flatter."""
    _k(probs)
    # Only an exact 0 counts as nothing: a NaN must stay one, not become full certainty.
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(probs == 0, 0.0, probs * np.log2(probs))
    bits: Floats = np.maximum(-terms.sum(axis=1), 0.0)
    return bits


def perplexity(probs: Floats) -> Floats:
    """Return 2^entropy of each row, in [1, k]: the number of candidates the model hesitates between (UCerF eq. 1)."""
    return np.clip(np.exp2(entropy(probs)), 1.0, _k(probs))


def renyi_divergence(probs: Floats, *, order: float = 0.5) -> Floats:
    """Return the Rényi divergence of each row from uniform, over log k, in [0, 1]; higher is surer.

    D_a(p||u) = log(sum p_i^a u_i^(1-a)) / (a - 1). Order 1/2 is the one of Darrin et al. (2023).
    """
    k = _k(probs)
    total = (probs**order * (1 / k) ** (1 - order)).sum(axis=1)
    share: Floats = np.clip(np.log(total) / (order - 1) / np.log(k), 0.0, 1.0)
    return share


def fisher_rao_distance(probs: Floats) -> Floats:
    """Return arccos(sum sqrt(p_i / k)) of each row over its largest value, in [0, 1]; higher is surer."""
    k = _k(probs)
    overlap = np.sqrt(probs / k).sum(axis=1)
    share: Floats = np.arccos(np.clip(overlap, 0.0, 1.0)) / np.arccos(1 / np.sqrt(k))
    return share


def margin(probs: Floats) -> Floats:
    """Return the lead of the most probable candidate over the second, in [0, 1]; higher is surer."""
    _k(probs)
    ordered = np.sort(probs, axis=1)
    lead: Floats = ordered[:, -1] - ordered[:, -2]
    return lead


def top_probability(probs: Floats) -> Floats:
    """Return (k p_max - 1) / (k - 1) of each row, in [0, 1]; higher is surer."""
    k = _k(probs)
    share: Floats = (k * probs.max(axis=1) - 1) / (k - 1)
    return share


def inside_set(probs: Floats, threshold: Floats | float) -> Booleans:
    """Return which candidates of each row are at least that probable; the most probable ones always are."""
    needed = np.minimum(probs.max(axis=1), threshold)
    inside: Booleans = probs >= needed[:, None]
    return inside


def set_certainty(probs: Floats, threshold: Floats | float) -> Floats:
    """Return (k - size of the set) / (k - 1) of each row: 1 where one candidate is left, 0 where none is ruled out."""
    k = _k(probs)
    share: Floats = (k - inside_set(probs, threshold).sum(axis=1)) / (k - 1)
    return np.where(np.isnan(probs).any(axis=1), np.nan, share)


def sequence_probability(probs: Floats) -> Floats:
    """Return the probability of the most probable candidate as it is said, in [0, 1]; higher is surer.

    The one estimator that is taken of raw probabilities: it is 0 where no candidate is ever said. It is lm-polygraph's
    maximum sequence probability.
    """
    _k(probs)
    # Scores in low precision may add up to a little more than 1.
    top: Floats = np.minimum(probs.max(axis=1), 1.0)
    return top


@dataclass(frozen=True)
class Estimator:
    """A row of the table: what it is called, how unsure a row is, and how sure.

    `reduction` names the column that holds its certainty, for those that are taken over the whole vocabulary, over
    the members of an ensemble, or from a second question, instead of the candidates. `over` says what an estimator
    needs besides: "wordings" (every item in several), "labels" (right answers to calibrate with), "open answers" or
    "raw" probabilities. A `stepwise` certainty has few values.
    """

    name: str
    uncertainty: Callable[[Floats], Floats]
    certainty: Callable[[Floats], Floats]
    reduction: str = ""
    over: str = ""
    stepwise: bool = False


WORDING_AGREEMENT = "wording_agreement"
ENSEMBLE_AGREEMENT = "ensemble_agreement"
"""Columns of how far the wordings of an item, or the members of an ensemble, agree."""
TOKEN_PROBABILITY = "token_probability"
"""The column of the probability of a candidate's tokens, their geometric mean."""
P_TRUE = "p_true"
"""The column of how probable the model calls its own answer true."""


def _from_certainty(name: str, certainty: Callable[[Floats], Floats]) -> Estimator:
    return Estimator(name, lambda probs: 1 - certainty(probs), certainty)


def _k(probs: Floats) -> int:
    k = int(probs.shape[1])
    if k < 2:
        raise UndefinedMetric("uncertainty over fewer than two candidates")
    return k


def _uncalibrated(probs: Floats) -> Floats:
    """Return the certainty of sets that leave out what is less than half as probable as by chance."""
    return set_certainty(probs, 1 / (2 * _k(probs)))


PERPLEXITY = Estimator("perplexity", perplexity, lambda probs: (_k(probs) - perplexity(probs)) / (_k(probs) - 1))
ENTROPY = Estimator("entropy", entropy, lambda probs: np.clip(1 - entropy(probs) / np.log2(_k(probs)), 0.0, 1.0))
RENYI = _from_certainty("renyi", renyi_divergence)
FISHER_RAO = _from_certainty("fisher-rao", fisher_rao_distance)
MARGIN = _from_certainty("margin", margin)
TOP_PROBABILITY = _from_certainty("top-probability", top_probability)

ESTIMATORS = {
    estimator.name: estimator
    for estimator in (
        PERPLEXITY,
        ENTROPY,
        RENYI,
        FISHER_RAO,
        MARGIN,
        TOP_PROBABILITY,
        replace(ENTROPY, name="vocab-entropy", reduction="vocab_entropy"),
        replace(RENYI, name="vocab-renyi", reduction="vocab_renyi"),
        replace(FISHER_RAO, name="vocab-fisher-rao", reduction="vocab_fisher_rao"),
        replace(PERPLEXITY, name="prompt-ensemble", over="wordings"),
        # Of members that each name one candidate, the mutual information is the entropy of their shares.
        replace(ENTROPY, name="prompt-agreement", reduction=WORDING_AGREEMENT, over="wordings"),
        replace(ENTROPY, name="ensemble-agreement", reduction=ENSEMBLE_AGREEMENT),
        replace(ENTROPY, name="semantic-entropy", over="open answers"),
        replace(_from_certainty("conformal", _uncalibrated), over="labels", stepwise=True),
        replace(_from_certainty("sequence-probability", sequence_probability), over="raw"),
        replace(TOP_PROBABILITY, name="token-probability", reduction=TOKEN_PROBABILITY),
        replace(TOP_PROBABILITY, name="p-true", reduction=P_TRUE),
    )
}
