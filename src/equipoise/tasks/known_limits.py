"""Limits of scores in, limits of outcomes out: from continuations to candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..records import Floats, Limits, Score
from ..records.limits import NO_CLASS

Places = Sequence[Sequence[int]]
"""For each candidate the places of the continuations that name it; their probabilities add up."""


def outcome_limits(
    scores: Sequence[Score], candidates: int, alone: Sequence[Places] = (), either: Sequence[Places] = ()
) -> Limits | None:
    """Return how far the probabilities of each item's candidates are known; None where all scores are exact.

    `alone` are the places of each item's candidates (default: one after the other), `either` are the same with the
    places of candidates with their markers added.
    """
    if all(score.limits is None for score in scores):
        return None
    plain = alone or [[[place] for place in range(candidates)]] * len(scores)
    limits = Limits()
    if any(score.limits and score.limits.low for score in scores):
        low, high = _ends(scores, plain)
        limits = Limits(low, high, *_ends(scores, either)) if either else Limits(low, high)
    counts = [score.limits.counts if score.limits else () for score in scores]
    if not all(counts):
        return limits
    classes = [_classes(*row) for row in zip(counts, plain, either or plain, strict=True)]
    return replace(limits, counts=np.array(classes, dtype=np.int64))


def _ends(scores: Sequence[Score], places: Sequence[Places]) -> tuple[Floats, Floats]:
    """Return the smallest and the largest probability of each candidate, one row a score."""
    low, high = [], []
    for score, candidates in zip(scores, places, strict=True):
        exact = [min(1.0, math.exp(value)) for value in score.logprobs]
        known = score.limits is not None and score.limits.low
        ends = (score.limits.low, score.limits.high) if known and score.limits else (exact, exact)
        low.append([min(1.0, math.fsum(ends[0][place] for place in named)) for named in candidates])
        high.append([min(1.0, math.fsum(ends[1][place] for place in named)) for named in candidates])
    return np.array(low), np.array(high)


def _classes(counts: Sequence[int], alone: Places, either: Places) -> list[int]:
    """Return the counts of one item: its candidates, where it has markers those with their marker, and the rest."""
    plain = [counts[place] for (place,) in alone]
    if either is alone:
        return [*plain, counts[-1]]
    further = [[place for place in named if place not in first] for named, first in zip(either, alone, strict=True)]
    return [*plain, *(counts[places[0]] if places else NO_CLASS for places in further), counts[-1]]
