"""Sentences in which the group word decides who is meant, written for Equipoise (CC0): does a model understand it?

"The wife told the son that he was late." Within a set the right answer changes with the word, so a model that ignores
the word is right in exactly half of the sentences, whatever rule of position it follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import packaged
from ..records import DECIDED, DatasetError, Example
from .dataset import LICENCE, Dataset, gender_groups
from .pronouns import PRONOUNS

NAME = "gendered"
CONTROL_NAME = f"{NAME}-control"

CONTROL = 40
"""Sets that are asked beside the built-in sentences, to see whether a model can use the group word at all."""

IDENTITY = "identity"
MARKERS = ("marker", IDENTITY)
"""Clues of sets about two people whom a marker tells apart: by a comparative, or by what the marker means."""

_SLOT = re.compile(r"\{(subject|object|possessive|reflexive)\}")


@dataclass(frozen=True)
class Decided:
    """A sentence with slots for two people and a pronoun; `people` are in the order of mention, `genders` theirs.

    `clue` says what tells the two apart. `named`: the people have names, so the question takes no article.
    """

    id: str
    text: str
    people: tuple[str, str]
    genders: tuple[str, str]
    clue: str
    named: bool = False
    cluster: str = ""

    def examples(self) -> Iterator[Example]:
        """Yield the sentence with each pronoun; the right answer is the person whom the pronoun fits."""
        (form,) = set(_SLOT.findall(self.text))
        filled = self.text.replace("{first}", self.people[0]).replace("{second}", self.people[1])
        for gold, gender in enumerate(self.genders):
            pronoun = PRONOUNS[form][gender]
            groups = gender_groups(
                kind=DECIDED, gender=gender, form=form, candidates=self.people, gold=gold, stereotype=None
            )
            # A wife is not an occupation, so results are not broken down by who is meant.
            groups = {name: value for name, value in groups.items() if name in ("type", "gender", "form", "position")}
            slots = {"pronoun": pronoun} | ({"named": "yes"} if self.named else {})
            yield Example(
                id=f"{self.id}-{gender}",
                text=_SLOT.sub(pronoun, filled),
                candidates=self.people,
                gold=gold,
                answerable=True,
                stereotype=None,
                groups={**groups, "clue": self.clue},
                set_id=self.id,
                cluster_id=self.cluster,
                slots=slots,
            )


def load_gendered(part: str = "") -> Dataset:
    """Return all sets, or with the part `control` some 40 of them, spread over all constructions."""
    if part not in ("", "control"):
        raise DatasetError(f"{NAME} has one part, control, not {part!r}")
    examples = tuple(example for several in _sets() for example in several)
    dataset = Dataset(NAME, examples, (), "the package's own sentences", LICENCE)
    if not part:
        return dataset
    # An audit without markers does not hang on what a model knows of religions.
    asked = tuple(example for example in examples if example.groups["clue"] != IDENTITY)
    return replace(replace(dataset, examples=asked).limited(CONTROL), name=CONTROL_NAME)


def _sets() -> Iterator[list[Example]]:
    content = packaged.toml(__package__, "gendered.toml")
    lists = {"name": content["names"], "title": content["titles"]}
    for kind in content["constructions"]:
        clue = kind["clue"]
        for place, text in enumerate(kind["texts"]):
            name = f"{NAME}-{clue}{place:02}"
            if clue in MARKERS:
                yield from _marked(name, kind, place)
            elif clue == "number":
                yield from _one_and_many(name, text, content["words"], kind["sets"], place)
            else:
                words = lists.get(clue, content["words"])
                for number, people in enumerate(pairs(words, kind["sets"], place)):
                    genders = ("male", "female") if number % 2 == place % 2 else ("female", "male")
                    ordered = (people[genders[0]], people[genders[1]])
                    yield list(Decided(f"{name}-{number:02}", text, ordered, genders, clue, clue in lists).examples())


def pairs(words: Mapping[str, Sequence[str]], count: int, place: int) -> Iterator[dict[str, str]]:
    """Yield that many pairs of a man and a woman; each construction (`place`) pairs them differently."""
    male, female = words["male"], words["female"]
    made = 0
    for step in range(len(male) * len(female)):
        man = male[(step + place) % len(male)]
        woman = female[(step * 2 + 3 * place + 1 + step // len(male)) % len(female)]
        # "prince" begins "princess": what holds the longer word's probability cannot be asked against it.
        if man.lower().startswith(woman.lower()) or woman.lower().startswith(man.lower()):
            continue
        yield {"male": man, "female": woman}
        made += 1
        if made == count:
            return


def _one_and_many(
    name: str, text: str, words: Mapping[str, Sequence[str]], count: int, place: int
) -> Iterator[list[Example]]:
    for number in range(count):
        gender = ("male", "female")[(number + place) % 2]
        person = words[gender][(number + 2 * place) % len(words[gender])]
        many = words["many"][(number + place) % len(words["many"])]
        people, genders = ((person, many), (gender, "neutral"))
        if number // 2 % 2:
            people, genders = (many, person), ("neutral", gender)
        yield list(Decided(f"{name}-{number:02}", text, people, genders, "number").examples())


def _marked(name: str, kind: Mapping[str, Any], place: int) -> Iterator[list[Example]]:
    for row, marker in enumerate(kind["markers"]):
        for number in range(kind["sets"]):
            people = marker.get("people", kind["people"])
            person = people[(number + row) % len(people)]
            order = [0, 1] if number % 2 == 0 else [1, 0]
            yield marker_set(
                f"{name}-{row}{number}",
                kind["texts"][place],
                kind["questions"][place],
                [f"{marker['words'][side]} {person}" for side in order],
                [marker["meant"][side] for side in order],
                clue=kind["clue"],
            )


def marker_set(
    name: str, text: str, question: str, people: Sequence[str], meant: Sequence[str], *, clue: str, cluster: str = ""
) -> list[Example]:
    """Return a set about two people whom a marker tells apart: "the older one" means the old one."""
    filled = text.replace("{first}", people[0]).replace("{second}", people[1])
    return [
        Example(
            id=f"{name}-{word}",
            text=filled.replace("{word}", word),
            candidates=(people[0], people[1]),
            gold=gold,
            answerable=True,
            stereotype=None,
            groups={"type": DECIDED, "group": word, "position": ("first", "second")[gold], "clue": clue},
            set_id=name,
            cluster_id=cluster,
            slots={"whom": question},
        )
        for gold, word in enumerate(meant)
    ]
