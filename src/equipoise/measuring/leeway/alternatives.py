"""What each item's probabilities may be as well: within their limits, with another answer on top, or of fewer answers.

What half of the sampled answers would have measured shows what all of them bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...records import ABSENT, Booleans, Floats, Integers, Limits, Outcomes
from ...records.limits import NO_CLASS, PSEUDOCOUNT
from ...stats.distributions import bdtr, chdtrc

SMALLEST = 1e-12
"""The probability that stands for a lower limit of 0, whose logarithm has no value."""

DOUBT = 0.1
"""The error of the test whether another answer may be the most probable one."""

DIFFERENT = 0.01
"""The error of the test whether the items of a set differ at all."""

STEPS = (0.25, 0.5, 0.75)
"""How far all candidates may be from their lower to their upper limit, besides either end."""


@dataclass(frozen=True)
class Alternatives:
    """Possible probabilities of all items, as (alternatives, items, candidates); the first are those of the run."""

    outcomes: Outcomes
    probs: Floats
    logprobs: Floats
    with_marker: Floats | None

    def fill(self, choice: Integers) -> Outcomes:
        """Return the outcomes with the chosen alternative of each item."""
        rows = np.arange(len(choice))
        return replace(
            self.outcomes,
            probs=self.probs[choice, rows],
            logprobs=self.logprobs[choice, rows],
            logprobs_with_marker=None if self.with_marker is None else self.with_marker[choice, rows],
            limits=None,
        )


def bounded_alternatives(outcomes: Outcomes, limits: Limits) -> Alternatives:
    """Return the ends of the limits and some steps between them, for the candidates one by one and all together."""
    assert limits.low is not None and limits.high is not None
    low, high = limits.low, limits.high
    places = [np.broadcast_to(shares, low.shape) for shares in _shares(low, high)]
    tables = [outcomes.logprobs, *(_between(low, high, shares) for shares in places)]
    markers = None
    if outcomes.logprobs_with_marker is not None:
        ends = (limits.low_with_marker, limits.high_with_marker)
        lower, upper = (low, high) if ends[0] is None or ends[1] is None else (ends[0], ends[1])
        markers = np.stack([outcomes.logprobs_with_marker, *(_between(lower, upper, shares) for shares in places)])
    return _alternatives(outcomes, np.stack(tables), markers)


def shared(outcomes: Outcomes, limits: Limits, members: Integers) -> Iterator[Outcomes]:
    """Yield outcomes with the same probabilities for all items of a set, as far as their limits allow.

    Of the probabilities that they may share, those are taken that are in the middle, best and worst for the answer.
    """
    assert limits.low is not None and limits.high is not None
    low, high = limits.low, limits.high
    inside = (members != ABSENT)[:, :, None]
    largest = np.where(inside, low[members], 0.0).max(axis=1)
    smallest = np.where(inside, high[members], 1.0).min(axis=1)
    right = (outcomes.gold[members[:, 0]][:, None] == np.arange(outcomes.k)).astype(np.float64)
    for share in (np.full_like(right, 0.5), right, 1 - right):
        wanted = np.exp(outcomes.logprobs)
        for place in range(members.shape[1]):
            rows = np.flatnonzero(inside[:, place, 0])
            wanted[members[rows, place]] = (largest + share * (smallest - largest))[rows]
        logprobs = np.log(np.clip(np.clip(wanted, low, high), SMALLEST, 1.0))
        filled = _alternatives(outcomes, np.stack([outcomes.logprobs, logprobs]), None)
        yield replace(outcomes, probs=filled.probs[1], logprobs=logprobs, limits=None)


def _shares(low: Floats, high: Floats) -> Iterator[Floats]:
    """Yield where each candidate is between its limits: 0 is the lower one, 1 the upper one."""
    k = low.shape[1]
    for share in (0.0, 1.0, *STEPS):
        yield np.full(k, share)
    for candidate in range(k):
        alone = np.eye(k)[candidate]
        yield alone
        yield 1 - alone
    # Certainty is smallest where all candidates are as equal as their limits allow: at a common level.
    width = np.where(high > low, high - low, 1.0)
    for level in (*low.T, *high.T):
        yield np.clip((level[:, None] - low) / width, 0.0, 1.0)


def _between(low: Floats, high: Floats, shares: Floats) -> Floats:
    logprobs: Floats = np.log(np.clip(low + shares * (high - low), SMALLEST, 1.0))
    return logprobs


def _alternatives(outcomes: Outcomes, logprobs: Floats, with_marker: Floats | None) -> Alternatives:
    # Where candidates are compared by something else than their log-probabilities, that moves by as much.
    with np.errstate(divide="ignore"):
        preferences = np.log(outcomes.probs) + logprobs - outcomes.logprobs
    weights = np.exp(preferences - preferences.max(axis=2, keepdims=True))
    probs = weights / weights.sum(axis=2, keepdims=True)
    probs[0] = outcomes.probs
    return Alternatives(outcomes, probs, logprobs, with_marker)


def sampled_alternatives(outcomes: Outcomes, limits: Limits) -> Alternatives:
    """Return the run's probabilities, and for each candidate those with it on top, where the counts allow that."""
    assert limits.counts is not None
    counts = limits.counts[:, : outcomes.k]
    tables, markers = [outcomes.logprobs], [outcomes.logprobs_with_marker]
    for candidate in range(outcomes.k):
        order = _exchanged(counts, candidate)
        tables.append(np.take_along_axis(outcomes.logprobs, order, axis=1))
        if outcomes.logprobs_with_marker is not None:
            markers.append(np.take_along_axis(outcomes.logprobs_with_marker, order, axis=1))
    # Ties have no top: a little more for the candidate makes it one.
    logprobs = np.stack(tables)
    for candidate in range(outcomes.k):
        tied = may_be_on_top(counts, candidate) & (counts[:, candidate] == counts.max(axis=1))
        logprobs[candidate + 1, tied, candidate] += 1e-9
    return _alternatives(outcomes, logprobs, None if markers[0] is None else np.stack(markers))  # type: ignore[arg-type]


def may_be_on_top(counts: Integers, candidate: int) -> Booleans:
    """Return whether a candidate may be the most probable one: no other was named so much more often by chance."""
    possible: Booleans = _tail(counts)[:, candidate] >= DOUBT
    return possible


def _tail(counts: Integers) -> Floats:
    """Return how probable so few answers for each candidate are, were it as probable as the one named most often."""
    tail: Floats = np.asarray(bdtr(counts, counts + counts.max(axis=1, keepdims=True), 0.5), dtype=np.float64)
    return tail


def undecided(outcomes: Outcomes) -> Booleans:
    """Return the items whose most probable answer is not settled: the limits or the counts allow another one."""
    limits, several = outcomes.limits, np.zeros(len(outcomes), dtype=bool)
    if limits is not None and limits.counts is not None:
        several = (_tail(limits.counts[:, : outcomes.k]) >= DOUBT).sum(axis=1) > 1
    if limits is not None and limits.low is not None and limits.high is not None:
        several |= (limits.high > limits.low.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return several


def missed(limits: Limits, candidates: int) -> float:
    """Return about the share of items whose most probable answer is another one although the test ruled it out."""
    assert limits.counts is not None
    tail = np.sort(_tail(limits.counts[:, :candidates]), axis=1)[:, :-1]
    return float(np.where(tail < DOUBT, tail, 0.0).sum(axis=1).mean())


def _exchanged(counts: Integers, candidate: int) -> Integers:
    """Return an order of each item's candidates in which the top and the candidate have changed places, if allowed."""
    order = np.tile(np.arange(counts.shape[1]), (len(counts), 1))
    top = counts.argmax(axis=1)
    rows = np.flatnonzero(may_be_on_top(counts, candidate))
    order[rows, candidate], order[rows, top[rows]] = top[rows], candidate
    return order


def pooled(outcomes: Outcomes, limits: Limits, members: Integers) -> tuple[Outcomes, Booleans]:
    """Return the outcomes with the joint counts of each set in place of its items', and the items that have them.

    Sets are pooled where the answers do not show that the items differ, by a test of homogeneity for each set.
    """
    assert limits.counts is not None
    counts, logprobs, chosen = limits.counts.astype(np.float64), outcomes.logprobs.copy(), np.zeros(len(outcomes), bool)
    inside = members != ABSENT
    if not len(members) or (counts == NO_CLASS).any():
        return outcomes, chosen
    set_counts = np.where(inside[:, :, None], counts[members], 0.0)
    alike = _homogeneous(set_counts, inside)
    means = set_counts.sum(axis=1) / inside.sum(axis=1)[:, None]
    values = np.log((means + PSEUDOCOUNT) / (means.sum(axis=1) + PSEUDOCOUNT * means.shape[1])[:, None])[
        :, : outcomes.k
    ]
    for place in range(members.shape[1]):
        rows = members[alike & inside[:, place], place]
        logprobs[rows] = values[alike & inside[:, place]]
        chosen[rows] = True
    filled = _alternatives(outcomes, np.stack([outcomes.logprobs, logprobs]), None)
    return replace(outcomes, probs=filled.probs[1], logprobs=logprobs, limits=None), chosen


def _homogeneous(counts: Floats, inside: Booleans) -> Booleans:
    """Return whether the members of each set may have one distribution: the likelihood-ratio test does not reject."""
    total = counts.sum(axis=1, keepdims=True)
    sizes = counts.sum(axis=2, keepdims=True)
    expected = total * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
    freedom = (inside.sum(axis=1) - 1) * np.maximum((total[:, 0] > 0).sum(axis=1) - 1, 1)
    tail: Booleans = chdtrc(freedom, 2 * terms.sum(axis=(1, 2))) >= DIFFERENT
    return tail


THINNINGS = 16
"""How often half of the answers are drawn; their mean is what counts."""


def thinned(outcomes: Outcomes, limits: Limits, *, seed: int) -> Iterator[Outcomes]:
    """Yield the outcomes as half of each item's answers give them, drawn without replacement."""
    assert limits.counts is not None
    rng = np.random.default_rng(seed)
    for _ in range(THINNINGS):
        yield with_counts(outcomes, _half(limits.counts, rng))


def _half(counts: Integers, rng: np.random.Generator) -> Integers:
    drawn = np.where(counts == NO_CLASS, NO_CLASS, 0)
    present = np.maximum(counts, 0)
    wanted = present.sum(axis=1) // 2
    rest = present.sum(axis=1)
    for place in range(counts.shape[1]):
        rest = rest - present[:, place]
        number = rng.hypergeometric(present[:, place], rest, wanted)
        drawn[:, place] = np.where(counts[:, place] == NO_CLASS, NO_CLASS, number)
        wanted = wanted - number
    return drawn


def with_counts(outcomes: Outcomes, counts: Integers) -> Outcomes:
    """Return the outcomes as these counts of answers give them."""
    present = counts != NO_CLASS
    total = np.where(present, counts, 0).sum(axis=1) + PSEUDOCOUNT * present.sum(axis=1)
    probs: Floats = np.where(present, counts + PSEUDOCOUNT, 0.0) / total[:, None]
    k = outcomes.k
    logprobs = np.log(probs[:, :k])
    with_marker = outcomes.logprobs_with_marker
    if with_marker is not None:
        marked = probs[:, k : 2 * k] if counts.shape[1] == 2 * k + 1 else 0.0
        with_marker = np.minimum(np.log(probs[:, :k] + marked), 0.0)
    shares = probs[:, :k] / probs[:, :k].sum(axis=1, keepdims=True)
    return replace(outcomes, probs=shares, logprobs=logprobs, logprobs_with_marker=with_marker, limits=None)
