"""Scores of prompts in, outcomes of examples out: probabilities, how far they are known, and what the options are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from ..records import (
    ABSENT,
    BOTH_OFFERED,
    MEANINGS,
    OPEN_ANSWER,
    DatasetError,
    Example,
    Floats,
    Limits,
    Outcomes,
    Prompt,
    Score,
)
from ..records.limits import NO_CLASS
from ..records.prompts import NESTED, SPLIT_JOIN
from ..records.scripts import first_mention
from ..uncertainty import TOKEN_PROBABILITY, renormalise

NONE_OF_THE_ABOVE = "None of the above"
BOTH_OF_THEM = "Both of them"
NOTED_SPLITS = 0.01
"""Share of prompts with a split join from which it is noted."""

PEOPLE = 2
"""The first two candidates are people."""

Places = Sequence[Sequence[int]]
"""For each candidate the places of the continuations that name it; their probabilities add up."""


def examples_of(prompts: Sequence[Prompt], examples: Iterable[Example]) -> list[Example]:
    """Return the example that each prompt asks."""
    examples_by_id = {example.id: example for example in examples}
    return [examples_by_id[prompt.example_id] for prompt in prompts]


def gather(
    examples: Sequence[Example],
    prompts: Sequence[Prompt],
    scores: Sequence[Score],
    *,
    preferences: Floats | None = None,
    logprobs: Floats | None = None,
    logprobs_with_marker: Floats | None = None,
    limits: Limits | None = None,
) -> Outcomes:
    """Return the outcomes of the prompts, one row each; `examples` and `scores` are those of each prompt.

    `preferences` are the values that candidates are compared by, where these are not their log-probabilities.
    `logprobs`, and their `limits`, are given where the continuations are not the candidates one by one.
    """
    if logprobs is None:
        both = zip(prompts, scores, strict=True)
        check_counts((len(score.token_logprobs), prompt.example_id) for prompt, score in both)
        logprobs = np.array([score.logprobs for score in scores])
        limits = outcome_limits(scores, logprobs.shape[1])
    return Outcomes(
        **example_columns(examples),
        variant=strings([prompt.variant for prompt in prompts]),
        probs=renormalise(logprobs if preferences is None else preferences),
        logprobs=logprobs,
        flags=strings([",".join(score.flags) for score in scores]),
        letters=strings([_letters(prompt.continuations) for prompt in prompts]),
        logprobs_with_marker=logprobs_with_marker,
        reductions={**_reductions(scores), **_token_probabilities(scores, logprobs.shape[1])},
        limits=limits,
    )


def check_counts(counts: Iterable[tuple[int, str]]) -> None:
    """Refuse examples with different numbers of answers; each number comes with the id of its example."""
    if len(different := dict(counts)) > 1:
        (fewer, example), (more, other) = sorted(different.items())[:2]
        raise DatasetError(f"example {example} has {fewer} answers, {other} has {more}; ask them as two datasets")


def flag_notes(outcomes: Outcomes) -> list[str]:
    """Return what the user should know of prompts that had to be asked in another way than the rest."""
    counts = Counter(outcomes.flags.tolist())
    nested, split = (
        sum(count for text, count in counts.items() if flag in text.split(",")) for flag in (NESTED, SPLIT_JOIN)
    )
    notes, prompts = [], len(outcomes)
    if nested:
        notes.append(
            f"in {nested:,} of {prompts:,} prompts a candidate begins another one, as in police and police officer;"
            " what goes on into the longer one is not counted for the shorter one"
        )
    if split > NOTED_SPLITS * prompts:
        notes.append(
            f"in {split:,} of {prompts:,} prompts ({split / prompts:.0%}) a candidate would have merged with the"
            " prompt's last token; these were tokenised separately, which the model may rarely have seen"
        )
    return notes


def _letters(continuations: Sequence[str]) -> str:
    """Return the letters that the candidates of a multiple choice were offered under, in their order; else ""."""
    if len(continuations[0].strip()) != 1:
        return ""
    letters = [continuation.strip() for continuation in continuations]
    are_letters = len(set(letters)) == len(letters) and all(len(text) == 1 and text.isupper() for text in letters)
    return "".join(letters) if are_letters else ""


def _reductions(scores: Sequence[Score]) -> dict[str, Floats]:
    """Return the summaries over the vocabulary that all the scores have."""
    names = [name for name in scores[0].reductions if all(name in score.reductions for score in scores)]
    return {name: np.array([score.reductions[name] for score in scores]) for name in names}


def _token_probabilities(scores: Sequence[Score], candidates: int) -> dict[str, Floats]:
    """Return the geometric mean of the token probabilities of the candidate where it is highest, if any has several."""
    tokens = [score.token_logprobs[:candidates] for score in scores]
    if all(len(candidate) == 1 for row in tokens for candidate in row):
        return {}
    means = [max((sum(candidate) / len(candidate) for candidate in row if candidate), default=np.nan) for row in tokens]
    return {TOKEN_PROBABILITY: np.minimum(np.exp(means), 1.0)}


def example_columns(examples: Sequence[Example]) -> dict[str, Any]:
    """Return the columns of outcomes that are facts of the examples, one row for each."""
    groups = [example.groups for example in examples]
    names = list(dict.fromkeys(chain.from_iterable(groups)))
    return {
        "example_id": strings([example.id for example in examples]),
        "set_id": strings([example.set_id for example in examples]),
        "cluster_id": strings([example.cluster_id for example in examples]),
        "sides": strings([example.pair.label if example.pair else "" for example in examples]),
        "gold": np.array([ABSENT if e.gold is None else e.gold for e in examples], dtype=np.int64),
        "stereotype": np.array([ABSENT if e.stereotype is None else e.stereotype for e in examples], dtype=np.int64),
        "answerable": np.array([example.answerable for example in examples], dtype=bool),
        "good": np.array([ABSENT if e.good is None else e.good for e in examples], dtype=np.int64),
        "first": np.array([first_named(example) for example in examples], dtype=np.int64),
        "groups": {name: strings([texts.get(name, "") for texts in groups]) for name in names},
    }


def first_named(example: Example) -> int:
    """Return which of an example's people its text names first; ABSENT where one of the first two is not in it."""
    if example.pair:
        return ABSENT
    first, second = [first_mention(example.text, candidate.strip()) for candidate in example.candidates[:PEOPLE]]
    if first < 0 or second < 0 or first == second:
        return ABSENT
    return 0 if first < second else 1


def strings(values: Sequence[str]) -> Any:
    """Return texts as a column."""
    return np.array(values, dtype=object)


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
    """Return the smallest and the largest probability of each candidate: one row for each score."""
    low, high = [], []
    for score, candidates in zip(scores, places, strict=True):
        exact = [min(1.0, math.exp(value)) for value in score.logprobs]
        limits = score.limits
        ends = (limits.low, limits.high) if limits is not None and limits.low else (exact, exact)
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


def further_options(flags: str, count: int) -> tuple[str, ...]:
    """Return the names of the options after the candidates: `count` of them, for an item with these flags."""
    marks = flags.split(",")
    if OPEN_ANSWER in marks:
        options: tuple[str, ...] = MEANINGS
    elif BOTH_OFFERED in marks:
        options = (NONE_OF_THE_ABOVE, BOTH_OF_THEM)
    else:
        options = (NONE_OF_THE_ABOVE,)
    return options[-count:] if count > 0 else ()
