"""Continuations that begin with one another, such as "police" and "police officer": none counts another one's text.

The probability of the shorter one holds that of the longer one. What is subtracted is exactly the part that goes on
into the longer one, by the tokens that the model was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..records.limits import ScoreLimits

Nesting = tuple[tuple[int, ...], ...]
"""For each continuation the places of those that it begins, without those that begin with one of these; () for none."""

SMALLEST = 1e-12
"""The least probability of stopping: what rounding leaves where a model always goes on."""


def nesting(sequences: Sequence[Sequence[int]]) -> Nesting:
    """Return which continuations begin which, by their token ids; () where none begins another."""
    lengths = [len(ids) for ids in sequences]
    if len(sequences) < 2 or min(lengths) == max(lengths):
        return ()
    begun = [
        [place for place, ids in enumerate(sequences) if len(ids) > length and ids[:length] == sequence]
        for sequence, length in zip(sequences, lengths, strict=True)
    ]
    if not any(begun):
        return ()
    # The next longer ones hold the mass of those that begin with them.
    return tuple(tuple(place for place in row if not any(place in begun[other] for other in row)) for row in begun)


def stops(logprobs: Sequence[Sequence[float]], nested: Nesting) -> tuple[float, ...]:
    """Return the log-probability that each continuation does not go on into a longer one; () where none could."""
    if not nested:
        return ()
    tails = [
        math.fsum(math.exp(math.fsum(logprobs[place][len(tokens) :])) for place in longer)
        for tokens, longer in zip(logprobs, nested, strict=True)
    ]
    return tuple(math.log(max(1.0 - tail, SMALLEST)) for tail in tails)


def apart(limits: ScoreLimits, nested: Nesting) -> ScoreLimits:
    """Return the limits of continuations without what goes on into a longer one."""
    if not nested:
        return limits
    low = [max(0.0, limits.low[i] - math.fsum(limits.high[j] for j in longer)) for i, longer in enumerate(nested)]
    high = [max(0.0, limits.high[i] - math.fsum(limits.low[j] for j in longer)) for i, longer in enumerate(nested)]
    return ScoreLimits(tuple(low), tuple(high))
