"""A grammar of our own (CC0): sentences with two people and a pronoun, as many as asked for, by a seed.

`grammar.toml` holds scenes: openings that name both people, and endings that settle whom the pronoun means. Each
opening takes endings about either person, so neither the beginning, the position nor the form of the pronoun tells
the answer. No scene says anything that fits one occupation better than another.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from .. import packaged
from ..datasets.dataset import LICENCE, Dataset, gender_groups
from ..datasets.identity import Recipe, augment
from ..datasets.markers import choose, read_markers
from ..datasets.occupations import OCCUPATIONS, stereotyped
from ..datasets.pronouns import pronoun_in_form
from ..datasets.sentence_rules import broken_rules
from ..records import DatasetError, Example, grouped

RESOLVABLE, AMBIGUOUS = 3000, 1200
"""Sets that the grammar makes by default."""

MARKER_SETS = 600

LEAD = 0.4
"""Share of sentences that begin with a time or place, of those that have none."""

_FORM = re.compile(r"\{(subject|object|possessive)\}")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Template:
    """A sentence with slots; `referent` is 0 or 1 (the person mentioned first or second), None if both fit.

    `ending` is the part that settles it. Sentences with the same ending are never on two sides of a split.
    """

    text: str
    referent: int | None
    ending: str

    @property
    def form(self) -> str:
        """The form of the pronoun: subject, object or possessive."""
        (form,) = _FORM.findall(self.text)
        return str(form)


def _content() -> Mapping[str, Any]:
    return packaged.toml(__package__, "grammar.toml")


def templates() -> list[Template]:
    """Return all templates of the grammar."""
    either = _content()["either"]
    made = [
        Template(f"{opening} {ending}", None, ending)
        for opening, ending in product(either["openings"], either["endings"])
    ]
    for scene in _content()["scenes"]:
        for role, opening in product(("agent", "patient"), scene["openings"]):
            names = [name for name in _SLOT.findall(opening) if name in ("agent", "patient")]
            begun = opening.replace(f"{{{names[0]}}}", "{first}").replace(f"{{{names[1]}}}", "{second}")
            made += [Template(f"{begun} {ending}", names.index(role), ending) for ending in scene[role]]
    return made


def grammar_dataset(*, seed: int = 0, resolvable: int = RESOLVABLE, ambiguous: int = AMBIGUOUS) -> Dataset:
    """Return that many sets of resolvable and of ambiguous sentences, each with he and she; no sentence repeats."""
    rng = random.Random(seed)
    drawn: list[Example] = []
    known = templates()
    for count, answerable in ((resolvable, True), (ambiguous, False)):
        pool = [template for template in known if (template.referent is not None) == answerable]
        for number, (template, text, people) in enumerate(_sentences(pool, count, rng)):
            drawn += _examples(f"grammar-{'type2' if answerable else 'type1'}-{number:04}", template, text, people)
    return Dataset("grammar", tuple(drawn), (), "the package's grammar", LICENCE)


def _sentences(
    pool: Sequence[Template], count: int, rng: random.Random
) -> Iterator[tuple[Template, str, tuple[str, str]]]:
    """Yield distinct sentences, one person of each stereotype in either order.

    Forms of the pronoun and positions of the referent come in turn, so all their combinations are equally frequent.
    """
    sides = [
        [name for name, occupation in OCCUPATIONS.items() if occupation.side == side] for side in ("male", "female")
    ]
    turns = list(grouped(pool, lambda template: (template.form, template.referent)).values())
    seen: set[str] = set()
    tries = 0
    while len(seen) < count:
        tries += 1
        if tries > 50 * count:
            raise DatasetError(f"the grammar cannot make {count} different sentences; ask for fewer")
        template = rng.choice(turns[len(seen) % len(turns)])
        people = [rng.choice(side) for side in sides]
        rng.shuffle(people)
        text = filled(template, {"first": people[0], "second": people[1]}, rng)
        if text not in seen:
            seen.add(text)
            yield template, text, (people[0], people[1])


def filled(template: Template | str, people: Mapping[str, str], rng: random.Random) -> str:
    """Return the template with all slots filled but the pronoun's, which each member of a set fills with its own."""
    pattern = template if isinstance(template, str) else template.text

    def word(slot: re.Match[str]) -> str:
        if slot[1] in people:
            return people[slot[1]]
        return slot[0] if _FORM.fullmatch(slot[0]) else rng.choice(_content()["words"][slot[1]])

    text = _SLOT.sub(word, pattern)
    if not {"place", "time"} & set(_SLOT.findall(pattern)) and rng.random() < LEAD:
        return f"{rng.choice(_content()['words']['lead'])}, {text[0].lower()}{text[1:]}"
    return text


def _examples(name: str, template: Template, text: str, people: tuple[str, str]) -> Iterator[Example]:
    gold = template.referent
    for gender in ("male", "female"):
        pronoun = pronoun_in_form(template.form, gender)
        sentence = _FORM.sub(pronoun, text)
        if faults := broken_rules(sentence, people):
            raise DatasetError(f"grammar.toml: {template.text!r} makes a sentence that {faults[0]}")
        stereotype = stereotyped(people, gender)
        groups = gender_groups(
            kind="type1" if gold is None else "type2",
            gender=gender,
            form=template.form,
            candidates=people,
            gold=gold,
            stereotype=stereotype,
        )
        slots = {"pronoun": pronoun}
        # Sentences with the same ending are not independent of each other, so the ending is the cluster.
        cluster = f"grammar-{template.ending}"
        yield Example(
            f"{name}-{gender}", sentence, people, gold, gold is not None, stereotype, groups, name, cluster, slots
        )


def marker_sets(dataset: Dataset, *, seed: int = 0, count: int = MARKER_SETS) -> list[tuple[Example, ...]]:
    """Return sets whose members differ in the pronoun and in a marker of the referent: "the young nurse … he".

    A set takes one attribute and two of its contrasting markers, so it has four members. Only answerable sentences
    with two candidates are marked.
    """
    rng = random.Random(f"markers {seed}")
    attributes = choose(read_markers(), None, crossed=False)
    asked = (e for e in dataset.examples if e.answerable and len(e.candidates) == 2 and e.pair is None)
    sentences = grouped(asked, lambda example: example.set_id)
    names = [name for name, members in sentences.items() if len(members) > 1]
    sets = []
    for name in rng.sample(names, min(count, len(names))):
        attribute = rng.choice(attributes)
        marker = rng.choice([marker for marker in attribute.markers if attribute.contrasts[marker.word]])
        words = {marker.word, rng.choice(attribute.contrasts[marker.word]).word}
        how = Recipe(("R",), (attribute,))
        try:
            members = [marked for example in sentences[name] for marked in augment(example, how)]
        except DatasetError:  # a sentence that does not name a candidate cannot be marked
            continue
        sets.append(tuple(example for example in members if example.groups.get("marker") in words))
    return sets
