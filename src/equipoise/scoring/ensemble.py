"""Several members as one: the probability of a continuation is the mean of theirs, with how far they agree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..options import EngineOptions
from ..records import Example, Floats, ModelError, Prompt, Score, ScoreLimits
from ..uncertainty import ENSEMBLE_AGREEMENT, entropy, renormalise
from .engine import Engine, EngineDefaults, Opener, identity_key

CHOSEN = ("adapter", "bos", "dtype", "quantize", "revision", "device")
"""What may be chosen for one member, in brackets after it."""

_MEMBER = re.compile(r"(?P<model>[^\[\]]+)(?:\[(?P<choices>[^\[\]]*)\])?")
_PLUS = re.compile(r"\+(?![^\[]*\])")


class EnsembleEngine(EngineDefaults):
    """Several engines that answer as one."""

    def __init__(self, members: Sequence[Engine]) -> None:
        if len(members) < 2:
            raise ModelError("an ensemble needs at least two members, such as ensemble:A+B")
        self.members = tuple(members)
        identities = [identity_key(member) for member in members]
        if len(set(identities)) < len(identities):
            raise ModelError("an ensemble needs members that differ; two are the same model with the same settings")
        self.name = "+".join(dict.fromkeys(member.name for member in members))

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"engine": "ensemble", "members": [dict(member.identity) for member in self.members]}

    @property
    def description(self) -> Mapping[str, Any]:
        return {"described": [{"name": member.name, **member.description} for member in self.members]}

    @property
    def notes(self) -> Sequence[str]:
        return list(dict.fromkeys(note for member in self.members for note in member.notes))

    def prepare(self, examples: Sequence[Example]) -> None:
        examples = list(examples)
        for member in self.members:
            member.prepare(examples)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        # The member with the smallest batches decides: what fits it fits the others, one at a time.
        plans = [member.batches(prompts) for member in self.members]
        return max(plans, key=len)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            answers = [next(iter(member.score([batch]))) for member in self.members]
            yield [mixture(prompt.key(identity), scores) for prompt, *scores in zip(batch, *answers, strict=True)]


def open_ensemble(spec: str, options: EngineOptions, opener: Opener) -> EnsembleEngine:
    """Return the ensemble of `A+B+…`; a member may have settings of its own: `A[adapter=FOLDER,bos=always]`."""
    return EnsembleEngine([opener(*_member(part, options)) for part in _PLUS.split(spec)])


def _member(part: str, options: EngineOptions) -> tuple[str, EngineOptions]:
    match = _MEMBER.fullmatch(part.strip())
    if match is None:
        raise ModelError(f"member {part!r} of the ensemble is not MODEL or MODEL[adapter=FOLDER]")
    chosen: dict[str, str] = {}
    for choice in filter(None, (match["choices"] or "").split(",")):
        name, separator, value = (piece.strip() for piece in choice.partition("="))
        if not separator or name not in CHOSEN:
            raise ModelError(f"unknown setting {choice.strip()!r} of an ensemble's member; known: {', '.join(CHOSEN)}")
        chosen[name] = value
    return match["model"].strip(), replace(options, **chosen)  # type: ignore[arg-type]


def mixture(key: str, scores: Sequence[Score]) -> Score:
    """Return the score of the model whose probability of each continuation is the mean of the members'.

    Members may split a continuation into different tokens, so that only its whole probability has a mean: it is divided
    equally among the first member's tokens. Sums over the vocabulary are means over the members.
    """
    members = np.array([score.logprobs for score in scores])
    top = members.max(axis=0)
    means = top + np.log(np.exp(members - top).mean(axis=0))
    tokens = tuple(
        (float(min(mean, 0.0)) / len(pieces),) * len(pieces)
        for mean, pieces in zip(means, scores[0].token_logprobs, strict=True)
    )
    shared = [name for name in scores[0].reductions if all(name in score.reductions for score in scores)]
    reductions = {name: math.fsum(score.reductions[name] for score in scores) / len(scores) for name in shared}
    if members.shape[1] > 1:
        reductions[ENSEMBLE_AGREEMENT] = agreement(members)
    flags = tuple(dict.fromkeys(flag for score in scores for flag in score.flags))
    return Score(key, tokens, reductions, flags, _limits(scores))


def _limits(scores: Sequence[Score]) -> ScoreLimits | None:
    """Return the limits of the mean; None where every member is exact."""
    if all(score.limits is None for score in scores):
        return None
    if any(score.limits and score.limits.counts for score in scores):
        raise ModelError("an ensemble needs members that return log-probabilities, not sampled answers")
    exact = [tuple(map(math.exp, score.logprobs)) for score in scores]
    ends = [(s.limits.low, s.limits.high) if s.limits else (e, e) for s, e in zip(scores, exact, strict=True)]
    low, high = np.clip(np.mean(ends, axis=0), 0.0, 1.0)
    return ScoreLimits(tuple(low.tolist()), tuple(high.tolist()))


def agreement(logprobs: Floats) -> float:
    """Return 1 - mutual information of answer and member over log2 k, in [0, 1]; `logprobs` are by member.

    A member counts as much as it says one of the continuations, as in the mean. 1: all members answer alike. 0: each
    names one candidate, and all candidates are named equally often.
    """
    # Masses that underflow are compared relative to the largest.
    masses = np.logaddexp.reduce(logprobs, axis=1)
    weights = np.exp(masses - masses.max())
    weights /= weights.sum()
    probs = renormalise(logprobs)
    mean = weights @ probs
    bits = float(entropy(mean[None, :])[0] - weights @ entropy(probs))
    return min(1.0, max(0.0, 1 - bits / math.log2(logprobs.shape[1])))
