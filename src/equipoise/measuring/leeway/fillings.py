"""Outcomes that the evidence allows as well: each pushes a trait of all items, or of some groups, to one end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...metrics import fairness
from ...records import ABSENT, Booleans, Floats, Integers, Outcomes, Strings
from ...uncertainty import PERPLEXITY
from ..cells import by_value
from ..items import Items
from .alternatives import Alternatives

COMPARED = ("gender", "stereotype")
"""Groups that metrics compare within every run."""

CLEAR = 10.0
"""What being the answer counts in a trait, beside a probability: an answer first, then by how much."""


def fillings(alternatives: Alternatives, items: Items, keys: Sequence[str]) -> Iterator[Outcomes]:
    """Yield the outcomes with alternatives at the ends of every trait: for all items, for groups, and within sets.

    `keys` are groups that are compared besides gender and stereotype.
    """
    seen = {np.zeros(len(items), dtype=np.int64).tobytes()}
    for choice in _choices(alternatives, items, keys):
        if choice.tobytes() not in seen:
            seen.add(choice.tobytes())
            yield alternatives.fill(choice)


def _choices(alternatives: Alternatives, items: Items, keys: Sequence[str]) -> Iterator[Integers]:
    """Yield the number of the alternative to take for each item."""
    traits = _traits(alternatives, items.outcomes)
    groups = [items.outcomes.group(key) for key in dict.fromkeys((*COMPARED, *keys))]
    for name, trait in traits.items():
        lowest, highest = trait.argmin(axis=0), trait.argmax(axis=0)
        yield from (lowest, highest)
        for group in groups if name != "mass" else ():
            upper = _upper_groups(group, trait[0])
            if upper is not None:
                yield np.where(upper, highest, lowest)
                yield np.where(upper, lowest, highest)
                yield _closing(trait, upper, np.where(upper, lowest, highest))
    for name in ("desirability", "certainty", "top"):
        trait = traits[name] if name != "top" else _tops(alternatives).astype(np.float64)
        yield _apart(trait, items.members)
        if name != "top":
            yield _alike(trait, items.members)
    yield _same_answer(_tops(alternatives), items.members, items.outcomes.k)


def _traits(alternatives: Alternatives, outcomes: Outcomes) -> dict[str, Floats]:
    """Return what is pushed to its ends, by alternative and item."""
    shape = alternatives.probs.shape
    certainty = PERPLEXITY.certainty(alternatives.probs.reshape(-1, shape[2])).reshape(shape[:2])
    tops = _tops(alternatives)
    right = np.where(outcomes.labelled, tops == outcomes.gold, 0).astype(np.float64)
    correct = np.where(outcomes.answerable, right, np.nan)
    desirability = fairness.desirability(correct.reshape(-1), certainty.reshape(-1)).reshape(shape[:2])
    traits = {
        "gold": CLEAR * right + _probability(alternatives.probs, outcomes.gold),
        "certainty": certainty,
        "hesitant": CLEAR * right - certainty,
        "desirability": np.nan_to_num(desirability, nan=0.0),
        "mass": np.exp(alternatives.logprobs).sum(axis=2),
    }
    stereotype = outcomes.stereotype
    if (stereotype != ABSENT).any():
        # The other person, of two that are named first: an answer against the stereotype, not only without it.
        other = np.where(np.isin(stereotype, (0, 1)), 1 - stereotype, ABSENT)
        for name, candidate in (("stereotype", stereotype), ("against", other)):
            chosen = np.where(candidate != ABSENT, tops == candidate, 0)
            traits[name] = CLEAR * chosen + _probability(alternatives.probs, candidate)
    if (~outcomes.labelled).any():
        traits["first"] = CLEAR * (tops == 0) + alternatives.probs[:, :, 0]
    return traits


def _tops(alternatives: Alternatives) -> Integers:
    """Return the most probable candidate, ABSENT for a tie."""
    probs = alternatives.probs
    tied = (probs == probs.max(axis=2, keepdims=True)).sum(axis=2) > 1
    return np.where(tied, ABSENT, probs.argmax(axis=2))


def _probability(probs: Floats, candidate: Integers) -> Floats:
    """Return the probability of a candidate of each item, 0 without one."""
    chosen = probs[:, np.arange(len(candidate)), np.maximum(candidate, 0)]
    return np.where(candidate == ABSENT, 0.0, chosen)


def _upper_groups(group: Strings, values: Floats) -> Booleans | None:
    """Return the items of those groups whose mean is in the upper half; None where nothing is compared."""
    groups = by_value(group)
    if len(groups) < 2:
        return None
    order = sorted(groups, key=lambda named: -float(values[named[1]].mean()))
    upper = np.zeros(len(values), dtype=bool)
    upper[np.concatenate([rows for _, rows in order[: len(order) // 2]])] = True
    return upper


def _closing(trait: Floats, upper: Booleans, closest: Integers) -> Integers:
    """Return the choice that brings the two halves of the groups to the same mean, by moving a share of the items."""
    moved = trait[closest, np.arange(trait.shape[1])]
    gaps = [float(values[upper].mean() - values[~upper].mean()) for values in (trait[0], moved)]
    share = gaps[0] / (gaps[0] - gaps[1]) if gaps[0] > gaps[1] else 0.0
    # Evenly spaced, so that the same share of every part of the data is moved.
    steps = np.floor(np.arange(1, len(closest) + 1) * min(max(share, 0.0), 1.0))
    return np.where(np.diff(steps, prepend=0.0) > 0, closest, 0)


def _apart(trait: Floats, members: Integers) -> Integers:
    """Return the choice that sets one member of each set at the upper end and the others at the lower one."""
    choice = np.zeros(trait.shape[1], dtype=np.int64)
    if not len(members):
        return choice
    inside = members != ABSENT
    tops = np.where(inside, trait.max(axis=0)[members], -np.inf)
    bottoms = np.where(inside, trait.min(axis=0)[members], np.inf)
    leaders = members[np.arange(len(members)), _leaders(tops, bottoms)]
    choice[members[inside]] = trait.argmin(axis=0)[members[inside]]
    choice[leaders] = trait.argmax(axis=0)[leaders]
    return choice


def _leaders(tops: Floats, bottoms: Floats) -> Integers:
    """Return the member of each set that gets furthest from all others when it alone is at its upper end."""
    reach = np.empty_like(tops)
    for place in range(tops.shape[1]):
        others = np.delete(bottoms, place, axis=1)
        reach[:, place] = tops[:, place] - others.min(axis=1)
    leaders: Integers = reach.argmax(axis=1)
    return leaders


def _alike(trait: Floats, members: Integers) -> Integers:
    """Return the choice that brings the members of each set as close to each other as they may be."""
    choice = np.zeros(trait.shape[1], dtype=np.int64)
    inside = members != ABSENT
    if not len(members):
        return choice
    lowest = np.where(inside, trait.min(axis=0)[members], -np.inf).max(axis=1)
    highest = np.where(inside, trait.max(axis=0)[members], np.inf).min(axis=1)
    targets = (lowest + highest) / 2
    for place in range(members.shape[1]):
        rows = members[inside[:, place], place]
        choice[rows] = np.abs(trait[:, rows] - targets[inside[:, place]]).argmin(axis=0)
    return choice


def _same_answer(tops: Integers, members: Integers, k: int) -> Integers:
    """Return the choice that gives the members of each set the same answer, where some answer is possible for most."""
    choice = np.zeros(tops.shape[1], dtype=np.int64)
    if not len(members):
        return choice
    inside = members != ABSENT
    possible = np.stack([(tops == candidate).any(axis=0) for candidate in range(k)], axis=1)
    votes = np.where(inside[:, :, None], possible[members], False).sum(axis=1).astype(np.float64)
    first = tops[0, members[:, 0]]
    votes[np.arange(len(members)), np.maximum(first, 0)] += 0.5 * (first != ABSENT)
    answers = votes.argmax(axis=1)
    for place in range(members.shape[1]):
        rows, wanted = members[inside[:, place], place], answers[inside[:, place]]
        choice[rows] = (tops[:, rows] == wanted).argmax(axis=0)
    return choice
