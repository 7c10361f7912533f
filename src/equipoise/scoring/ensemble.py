"""An engine made of several models: the probability of a continuation is the mean of the members'."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..options import EngineOptions
from ..records import Example, ModelError, Prompt, Score
from .engine import Engine, EngineDefaults, identity_key
from .mixture import mixture

Opener = Callable[[str, EngineOptions], Engine]
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

    def prepare(self, examples: Iterable[Example]) -> None:
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
