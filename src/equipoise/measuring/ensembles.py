"""One answer from several wordings of a question: the mean distribution, and how far the wordings agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..records import EquipoiseError, Floats, Integers, Outcomes, Strings
from ..stats.bootstrap import cluster_numbers, joint_numbers
from ..uncertainty import WORDING_AGREEMENT, entropy

WORDING = "wording="


def wordings_of(outcomes: Outcomes) -> Strings:
    """Return the wording of each item, "" where it was asked in one wording only."""
    return _by_variant(outcomes.variant, lambda part: part.startswith(WORDING), len(WORDING))


def is_worded(outcomes: Outcomes) -> bool:
    """Return whether the items were asked in several wordings."""
    return bool((wordings_of(outcomes) != "").any())


def over_wordings(outcomes: Outcomes) -> tuple[Outcomes, Integers]:
    """Return the outcomes with the mean distribution over the wordings of each item, and the row of each old one."""
    if not is_worded(outcomes):
        raise EquipoiseError("an estimator over wordings needs items that were asked in several wordings")
    orders = _by_variant(outcomes.variant, lambda part: not part.startswith(WORDING))
    rows = joint_numbers(cluster_numbers(outcomes.example_id), cluster_numbers(orders))
    _, firsts = np.unique(rows, return_index=True)
    counts = np.bincount(rows)
    probs = _means(outcomes.probs, rows, counts)
    bits = np.bincount(rows, entropy(outcomes.probs)) / counts
    # H(mean) - mean(H) is the mutual information of answer and wording.
    information = np.maximum(entropy(probs) - bits, 0.0)
    marked = outcomes.logprobs_with_marker
    joined = replace(
        outcomes.take(firsts),
        variant=orders[firsts],
        probs=probs,
        logprobs=_log_means(outcomes.logprobs, rows, counts),
        logprobs_with_marker=None if marked is None else _log_means(marked, rows, counts),
        reductions={WORDING_AGREEMENT: 1 - information / np.log2(outcomes.k)},
        limits=None,
    )
    return joined, rows


def _means(table: Floats, rows: Integers, counts: NDArray[np.int64]) -> Floats:
    sums = np.stack([np.bincount(rows, column) for column in table.T], axis=1)
    means: Floats = sums / counts[:, None]
    return means


def _log_means(logprobs: Floats, rows: Integers, counts: NDArray[np.int64]) -> Floats:
    return np.minimum(np.log(np.maximum(_means(np.exp(logprobs), rows, counts), 1e-300)), 0.0)


def _by_variant(variants: Strings, keep: Callable[[str], bool], start: int = 0) -> Strings:
    """Return the parts of each variant's name that are to be kept, joined by commas."""
    names = {
        variant: ",".join(part for part in variant.split(",") if part and keep(part))[start:]
        for variant in set(variants.tolist())
    }
    return np.array([names[variant] for variant in variants.tolist()], dtype=object)
