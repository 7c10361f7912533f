"""A population of sentences instead of a list: new ones are drawn at random, as many as are asked for (CC0).

The grammar (`fresh.toml`) can make millions of sentences with two people and a pronoun. Those drawn are a sample of
them, each independent of the others, so an interval is about all that the grammar can make, not about a list.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from .. import packaged
from ..files import sha256
from ..records import DatasetError, Example
from .agreement import Unresolved
from .builtin import Sentence, example_of
from .dataset import LICENCE, Dataset
from .occupations import OCCUPATIONS
from .pronouns import PronounSet, pronoun_sets

FRESH = "fresh"
DRAWN = 1000
"""Sentences that are drawn where no limit is given: half of them resolvable."""

TRIES = 50
"""Draws for each sentence, before the grammar is said to have too few."""

_ROLE = re.compile(r"\{(agent|patient)\}")


@dataclass(frozen=True)
class Construction:
    """A sentence with slots for two people, a time and a pronoun; `referent` is 0 or 1, None if both fit."""

    text: str
    referent: int | None

    @property
    def kind(self) -> str:
        """The type of its sentences."""
        return "type1" if self.referent is None else "type2"


def _content() -> Mapping[str, Any]:
    return packaged.toml(__package__, "fresh.toml")


@cache
def constructions() -> Sequence[Construction]:
    """Return every opening with every ending that goes with it."""
    either = _content()["either"]
    made = [Construction(_joined(*parts), None) for parts in product(either["openings"], either["endings"])]
    for scene in _content()["scenes"]:
        for role, opening in product(("agent", "patient"), scene["openings"]):
            roles = _ROLE.findall(opening)
            begun = opening.replace(f"{{{roles[0]}}}", "{first}").replace(f"{{{roles[1]}}}", "{second}")
            made += [Construction(_joined(begun, ending), roles.index(role)) for ending in scene[role]]
    return tuple(made)


def _joined(opening: str, ending: str) -> str:
    if opening.endswith(",") and ending.startswith(","):
        ending = ending[1:].strip()
    return f"{opening}{ending}" if ending.startswith(",") else f"{opening} {ending}"


def population() -> int:
    """Return how many different sentences the grammar can make, without the pronouns."""
    return len(constructions()) * len(_pairs()) * len(_content()["lead"])


@cache
def _pairs() -> Sequence[tuple[str, str]]:
    """Return every pair of occupations, one of each stereotype, in either order."""
    sides = [[name for name, known in OCCUPATIONS.items() if known.side == side] for side in ("male", "female")]
    ordered = [pair for both in product(*sides) for pair in (both, both[::-1])]
    return tuple((first, second) for first, second in ordered)


def load_fresh(*, count: int | None = None, seed: int = 0, pronouns: Sequence[str] = ("he", "she")) -> Dataset:
    """Return that many different sentences with every pronoun, drawn by the seed; resolvable and ambiguous in turn."""
    rng, sets = random.Random(f"fresh {seed}"), pronoun_sets(pronouns)
    by_type = {kind: [c for c in constructions() if c.kind == kind] for kind in ("type2", "type1")}
    examples: list[Example] = []
    wanted = DRAWN if count is None else count
    for kind, share in (("type2", (wanted + 1) // 2), ("type1", wanted // 2)):
        for members in _drawn(by_type[kind], share, rng, sets):
            examples += members
    return Dataset(FRESH, tuple(examples), (), "the package's grammar", LICENCE, population=population())


def _drawn(
    known: Sequence[Construction], count: int, rng: random.Random, sets: Sequence[PronounSet]
) -> Iterator[list[Example]]:
    """Yield the sets of that many different sentences; one that some pronoun does not fit is drawn again."""
    seen: set[str] = set()
    for _ in range(TRIES * count):
        if len(seen) == count:
            return
        construction = rng.choice(known)
        people, lead = rng.choice(_pairs()), rng.choice(_content()["lead"])
        text = construction.text.replace("{first}", people[0]).replace("{second}", people[1])
        text = f"{lead}, {text[0].lower()}{text[1:]}" if lead else text
        try:
            sentence = _sentence(construction, text, people)
            members = [example_of(sentence, chosen, FRESH) for chosen in sets] if text not in seen else []
        except Unresolved:
            continue
        if members:
            seen.add(text)
            yield members
    if len(seen) < count:
        raise DatasetError(
            f"fresh cannot make {count:,} different sentences of a type with these pronouns; ask for fewer"
        )


def _sentence(construction: Construction, text: str, people: tuple[str, str]) -> Sentence:
    referent = "" if construction.referent is None else people[construction.referent]
    return Sentence(sha256(text)[:12], construction.kind, text, *people, referent, False)
