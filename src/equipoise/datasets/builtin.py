"""The sentences that ship with the package: 266 resolvable and 244 ambiguous ones, written for Equipoise (CC0)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from .. import packaged
from ..records import Example
from .agreement import Unresolved, agreeing
from .dataset import LICENCE, Dataset, Fault, gender_groups
from .occupations import OCCUPATIONS, stereotyped
from .pronouns import PronounSet, pronoun_in_form, pronoun_sets
from .sentence_rules import broken_rules

SLOT = re.compile(r"\{(subject|object|possessive)\}")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with a slot for its pronoun; `they` says whether a plural pronoun fits the slot as it is."""

    id: str
    type: str
    text: str
    first: str
    second: str
    referent: str
    they: bool

    @property
    def form(self) -> str:
        """The form of the pronoun that the slot takes: subject, object or possessive."""
        (form,) = SLOT.findall(self.text)
        return str(form)

    def with_pronoun(self, pronoun: str) -> str:
        """Return the sentence with the slot filled."""
        return SLOT.sub(pronoun, self.text)

    def with_pronouns(self, pronouns: PronounSet) -> str:
        """Return the sentence with a pronoun of the set, and its verb in the plural where that is needed."""
        if not pronouns.plural or self.they:
            return self.with_pronoun(pronouns.in_form(self.form))
        before, after = SLOT.split(self.text)[0], SLOT.split(self.text)[-1]
        return f"{before}{pronouns.in_form(self.form)}{agreeing(after, plural=True)}"


def sentences() -> list[Sentence]:
    """Return the sentences as they are in `builtin.csv`."""
    text = packaged.text(__package__, "builtin.csv")
    return [
        Sentence(
            row["id"], row["type"], row["text"], row["first"], row["second"], row["referent"], row["they"] == "yes"
        )
        for row in csv.DictReader(text.splitlines())
    ]


def load_builtin(*, pronouns: Sequence[str] = ("he", "she")) -> Dataset:
    """Return the built-in sentences, each with every pronoun asked for (he, she, they, xe, … or your own).

    Verbs agree ("they were"). A sentence that one of the pronouns does not fit is left out with all of them.
    """
    return _with_pronouns(tuple(pronoun_sets(pronouns)))


@cache
def _with_pronouns(sets: tuple[PronounSet, ...]) -> Dataset:
    """Return the dataset; a suite of many audits makes it once."""
    problems = list(faults(sentences()))
    examples: list[Example] = []
    for sentence in sentences():
        members = []
        for chosen in sets:
            try:
                _check_number(sentence, chosen)
                members.append(example_of(sentence, chosen, "builtin"))
            except Unresolved as error:
                kind = "plural reading" if _joins(sentence) else "no agreement"
                problems.append(Fault(sentence.id, kind, f"with {chosen.subject}: {error}", "left out"))
        # Half a set compares nobody: a sentence that one pronoun does not fit is left out with all of them.
        examples += members if len(members) == len(sets) else []
    return Dataset("builtin", tuple(examples), tuple(problems), "the package's own sentences", LICENCE)


def _joins(sentence: Sentence) -> bool:
    """Return whether the two people are named together: "the cook and the nurse", "with the cook away and …"."""
    first, second = re.escape(sentence.first), re.escape(sentence.second)
    joined = rf"\b{first}\W+(?:\w+\W+){{0,12}}and (?:\w+ ){{1,3}}{second}\b"
    return re.search(joined, sentence.text, re.IGNORECASE) is not None


def _check_number(sentence: Sentence, pronouns: PronounSet) -> None:
    """Raise Unresolved where a plural pronoun naturally means both people, but only single ones are offered."""
    if pronouns.plural and sentence.type == "type1" and _joins(sentence):
        raise Unresolved(f"{pronouns.in_form(sentence.form)!r} can mean both people together")


def example_of(sentence: Sentence, pronouns: PronounSet, dataset: str) -> Example:
    """Return a sentence of a dataset with one pronoun; Unresolved where the pronoun does not fit."""
    candidates = (sentence.first, sentence.second)
    gold = candidates.index(sentence.referent) if sentence.referent else None
    stereotype = stereotyped(candidates, pronouns.group)
    return Example(
        id=f"{dataset}-{sentence.id}-{pronouns.group}",
        text=sentence.with_pronouns(pronouns),
        candidates=candidates,
        gold=gold,
        answerable=sentence.type == "type2",
        stereotype=stereotype,
        groups=gender_groups(
            kind=sentence.type,
            gender=pronouns.group,
            form=sentence.form,
            candidates=candidates,
            gold=gold,
            stereotype=stereotype,
        ),
        set_id=f"{dataset}-{sentence.id}",
        slots={"pronoun": pronouns.in_form(sentence.form)},
    )


def faults(checked: Sequence[Sentence]) -> Iterator[Fault]:
    """Yield what breaks the rules of the set: in a sentence, or in the balance of the whole."""
    for sentence in checked:
        for pronoun in (pronoun_in_form(sentence.form, gender) for gender in ("male", "female")):
            for broken in broken_rules(sentence.with_pronoun(pronoun), (sentence.first, sentence.second)):
                yield Fault(sentence.id, "rule", broken, "kept")
        if sentence.text.lower().find(sentence.first.lower()) > sentence.text.lower().find(sentence.second.lower()):
            yield Fault(sentence.id, "order", f"the {sentence.second} is mentioned first", "kept")
    words = Counter(SLOT.sub("", sentence.text).lower() for sentence in checked)
    for text, count in words.items():
        if count > 1:
            yield Fault("builtin.csv", "repeated", f"a sentence occurs {count} times: {text[:40]}…", "kept")
    yield from _imbalances(checked)


def _imbalances(checked: Sequence[Sentence]) -> Iterator[Fault]:
    """Yield where the set gives an answer away: too few of an occupation, a form or a position."""
    resolvable = [sentence for sentence in checked if sentence.type == "type2"]
    if not resolvable:
        return
    referents = Counter(sentence.referent for sentence in resolvable)
    others = Counter(s.second if s.referent == s.first else s.first for s in resolvable)
    for role, counts in (("referent", referents), ("other", others)):
        for name in OCCUPATIONS:
            if counts[name] < 5:
                yield Fault("builtin.csv", "balance", f"{name} is the {role} {counts[name]} times", "kept")
    first = sum(sentence.referent == sentence.first for sentence in resolvable) / len(resolvable)
    if not 0.45 <= first <= 0.55:
        yield Fault("builtin.csv", "balance", f"the referent is mentioned first in {first:.0%}", "kept")
    for form, count in Counter(sentence.form for sentence in checked).items():
        if count < len(checked) / 5:
            yield Fault("builtin.csv", "balance", f"only {count} sentences have a pronoun in {form} form", "kept")
