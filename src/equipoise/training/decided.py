"""Training sets in which the group word decides who is meant: they keep a model from learning to ignore the word.

They share their templates with the grammar's ambiguous sentences: "The nurse met the farmer when his phone rang" leaves
open who is meant, "The nun met the brother when his phone rang" does not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

from .. import packaged
from ..datasets.gendered import MARKERS, Decided, marker_set
from ..records import Example
from .grammar import filled, templates

DECIDED_SETS = 1200
KINDS = ("noun", "name", "noun", "number", "noun", "marker", "noun", "identity")
"""What tells the two people apart, in turn; half of the sets have nouns, as most sentences have."""


def _content() -> Mapping[str, Any]:
    return packaged.toml(__package__, "decided.toml")


def decided_sets(*, seed: int = 0, count: int = DECIDED_SETS) -> list[tuple[Example, ...]]:
    """Return that many different sets, drawn by the seed; within a set the right answer changes with the word."""
    rng = random.Random(f"decided {seed}")
    seen: set[str] = set()
    sets: list[tuple[Example, ...]] = []
    for kind in cycle(KINDS):
        if len(sets) == count:
            return sets
        members = tuple(_drawn(kind, f"decided-{len(sets):04}", rng))
        if members[0].text not in seen:
            seen.add(members[0].text)
            sets.append(members)
    raise AssertionError("a cycle does not end")


def _drawn(kind: str, name: str, rng: random.Random) -> Iterator[Example]:
    if kind in MARKERS:
        yield from _marked(kind, name, rng)
        return
    content = _content()
    # "on his birthday" has no plural for several people, so those sets take no possessive.
    template = rng.choice([t for t in templates() if t.referent is None and (kind, t.form) != ("number", "possessive")])
    text = filled(template, {"first": "{first}", "second": "{second}"}, rng)
    words = content["names"] if kind == "name" else content["words"]
    if kind == "name":
        text = text.replace("The {", "{").replace("the {", "{")
    genders = ["neutral" if kind == "number" else "male", "female"]
    if kind == "number":
        genders[1] = rng.choice(["male", "female"])
    rng.shuffle(genders)
    people = tuple(rng.choice(words["many" if gender == "neutral" else gender]) for gender in genders)
    cluster = f"grammar-{template.ending}"
    yield from Decided(
        name, text, (people[0], people[1]), (genders[0], genders[1]), kind, kind == "name", cluster
    ).examples()


def _marked(kind: str, name: str, rng: random.Random) -> list[Example]:
    markers = _content()[kind]
    place = rng.randrange(len(markers["texts"]))
    pair, person = rng.choice(markers["pairs"]), rng.choice(markers["people"])
    order = rng.sample([0, 1], 2)
    text = filled(markers["texts"][place], {"first": "{first}", "second": "{second}", "word": "{word}"}, rng)
    return marker_set(
        name,
        text,
        markers["questions"][place],
        [f"{pair['words'][side]} {person}" for side in order],
        [pair["meant"][side] for side in order],
        clue=kind,
        cluster=f"grammar-{markers['texts'][place]}",
    )
