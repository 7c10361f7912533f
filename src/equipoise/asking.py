"""Sentences of a user's own, asked at once: the audit of a small table that is made from them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from .builder.rules.variants import form_of, with_pronouns
from .datasets import occupations
from .datasets.agreement import Unresolved
from .datasets.pronouns import KNOWN, Found, PronounSet, find_pronoun, pronoun_sets, pronouns_in
from .datasets.proper_names import names_in
from .options import AuditOptions, OptionError, RunOptions, check_arguments, options_of, takes
from .progress import Progress
from .records import DatasetError
from .run import audit
from .runs import Run

PRONOUNS = ("he", "she", "they")
"""The pronouns that a sentence is asked with where none are named."""

MEMORY = "/dev/shm"
"""The folder in memory that Linux has."""

_MARKED = re.compile(r"\[([^\[\]]+)\]")
_NAMED = re.compile(r"\b(?:the|an?|my|our|your)\s+([a-z]+)\b", re.IGNORECASE)
_SETTLED: dict[str, Any] = {"resamples": 2, "metrics": ["flip_rate", "certainty"]}
"""What is measured of a few sentences is not shown: an interval over one set says nothing."""


@dataclass(frozen=True, repr=False)
class Asked:
    """What a model made of sentences; `left_out` says which variants could not be written, and why."""

    run: Run
    sentences: Sequence[str]
    left_out: Sequence[str] = field(default_factory=list)

    @property
    def frame(self) -> pd.DataFrame:
        """The answers: a row for each sentence as it was asked, with its probabilities and certainty."""
        return self.run.cases()

    def __repr__(self) -> str:
        """Return what a terminal shows: bars for each answer."""
        from .media.terminal import text_of
        from .report import asked_text

        return text_of(asked_text(self.run, self.sentences, self.left_out))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a picture and a sentence for each sentence asked."""
        from .report import asked_html

        return asked_html(self.run, self.sentences, self.left_out)


@takes(AuditOptions)
def ask(
    sentences: str | Sequence[str],
    model: Any = RunOptions.model,
    task: str | Sequence[str] = RunOptions.task,
    *,
    candidates: str | Sequence[str] = (),
    groups: str | Sequence[str] = (),
    progress: Progress | bool | None = None,
    **choices: Any,
) -> Asked:
    """Return what a model makes of a sentence with each pronoun, or with each word of `groups` at the word in brackets.

    `ask("The nurse told the farmer that she was late.")` finds the pronoun and the people; `candidates` names the
    people where it cannot. `ask("The [old] nurse told the farmer that she was late.", groups=["old", "young"])` asks
    who is meant with each of these words. The probabilities are those of an audit of the same sentences.
    """
    check_arguments(choices, AuditOptions, "sentences", "model", "task", "candidates", "groups", "progress")
    asked = [sentences] if isinstance(sentences, str) else list(sentences)
    pronouns = options_of(AuditOptions)["pronouns"].read(choices.pop("pronouns", PRONOUNS))
    questions = [Question(sentence, _words(candidates), _words(groups), pronouns) for sentence in asked]
    rows, left_out = question_rows(questions)
    # In memory where the system has a place for that: a reader who types waits for the disk otherwise.
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="equipoise-ask-", dir=place) as folder:
        run = audit(model, rows, task, out=folder, progress=progress, **_SETTLED, **choices)
        # The folder goes, the run stays: what is read later is read now.
        for name in ("outcomes.parquet", "pairs.parquet", "examples.parquet", "measurements.csv"):
            run.frame(name)
    return Asked(run, asked, left_out)


def _words(given: str | Sequence[str]) -> Sequence[str]:
    """Return words that are given apart, or in one text with commas."""
    return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given


@dataclass(frozen=True)
class Question:
    """A sentence to ask, whom the pronoun may mean (found where none are named), and the words that are exchanged."""

    sentence: str
    candidates: Sequence[str] = ()
    groups: Sequence[str] = ()
    pronouns: Sequence[str] = PRONOUNS


def question_rows(questions: Sequence[Question]) -> tuple[list[dict[str, str]], list[str]]:
    """Return the table that asks these sentences, as `audit` takes it, and which variants could not be written."""
    rows: list[dict[str, str]] = []
    left_out: list[str] = []
    for number, question in enumerate(questions, 1):
        people = tuple(dict.fromkeys(question.candidates)) or people_in(question.sentence)
        if len(people) < 2:
            raise OptionError(f"candidates needs at least two people, not only {people[0]!r}", "candidates")
        faults: dict[str, str] = {}
        variants = list(_variants(question.sentence, pronoun_sets(question.pronouns), question.groups, faults))
        if len(variants) < 2:
            reasons = "; ".join(dict.fromkeys(faults.values()))
            raise DatasetError(f"{question.sentence!r} leaves nothing to compare: {reasons}")
        left_out += [f"“{word}” is left out: {reason}" for word, reason in faults.items()]
        for text, pronoun, group in variants:
            named = {f"candidate_{place}": name for place, name in enumerate(people, 1)}
            rows.append({"text": text, "pronoun": pronoun, "group": group, "pair": f"{number:05}", **named})
    return rows, left_out


def people_in(sentence: str) -> tuple[str, ...]:
    """Return the two people that a sentence names, in order of mention; an error where they are not two."""
    known = [*occupations.phrases(sentence), *occupations.mentions(sentence), *occupations.people(sentence)]
    ordered = sorted(known, key=lambda mention: (mention.start, -mention.end))
    inside = {mention for mention in ordered for other in ordered if _holds(other, mention)}
    people = tuple(dict.fromkeys(mention.name for mention in ordered if mention not in inside))
    if len(people) != 2:
        named = tuple(dict.fromkeys([*people, *(word for word in _NAMED.findall(sentence) if word not in people)]))
        if len(people) < 2 == len(named):
            return named
        names = tuple(names_in(sentence))
        if not named and len(names) == 2:
            return names
        # "refers to the" fits a nurse, "refers to" fits Anna: one question cannot ask for both.
        seen = [*people, *(name for name in names if name not in people)]
        reason = f"it names {', '.join(seen)}" if seen else "no person was found in it"
        raise OptionError(
            f"who may be meant in {sentence!r}? Name them with candidates nurse,farmer ({reason}; two are needed)",
            "candidates",
        )
    return people


def _holds(outer: occupations.Mention, inner: occupations.Mention) -> bool:
    return outer != inner and outer.start <= inner.start and inner.end <= outer.end and outer.name != inner.name


def _variants(
    sentence: str, pronouns: Sequence[PronounSet], groups: Sequence[str], faults: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the sentence with each group word, the pronoun that is asked about, and the group.

    `faults` is given every pronoun that it cannot be written with, and why.
    """
    marked = _MARKED.search(sentence)
    text = _MARKED.sub(r"\1", sentence, count=1)
    if groups:
        if marked is None:
            raise DatasetError("mark the word to replace with brackets: The [old] nurse told the farmer that she left.")
        if len(groups) < 2:
            raise DatasetError(f"at least two group words are needed to compare, not {groups[0]!r}")
        before, after = sentence[: marked.start()], sentence[marked.end() :]
        asked_about = _pronouns(f"{before}{after}")
        for word in groups:
            yield f"{before}{word}{after}", asked_about[0].word if len(asked_about) == 1 else word, word.lower()
        return
    place, old = _the_pronoun(text, marked)
    try:
        form = form_of(text, place, old)
    except Unresolved as error:
        raise OptionError(
            f"{error}; mark it with brackets and name the words to compare with groups", "groups"
        ) from None
    for new in pronouns:
        try:
            swapped = text if new == old else with_pronouns(text, place, form, new, old)
        except Unresolved as error:
            faults[new.subject] = str(error)
            continue
        yield swapped, new.in_form(form), new.group


def _pronouns(text: str) -> list[Found]:
    words = dict.fromkeys(word for known in KNOWN.values() for word in known.words)
    return sorted(place for word in words for place in find_pronoun(text, word))


def _the_pronoun(text: str, marked: re.Match[str] | None) -> tuple[Found, PronounSet]:
    """Return the pronoun that is asked about, the one in brackets or the only one, and its set."""
    places = _pronouns(text)
    if marked is not None:
        places = [place for place in places if place.start == marked.start()]
        if not places:
            raise OptionError(f"{marked[1]!r} is not a known pronoun; give the words to compare with groups", "groups")
    if not places:
        # Such as "hers", whose counterpart "his" comes before a noun as well.
        word = next((f"{place.word!r} cannot be exchanged" for place in pronouns_in(text)), "no pronoun was found")
        raise OptionError(f"{word} in {text!r}; mark a word with brackets and use groups", "groups")
    for place in places:
        if "/" in text[max(place.start - 1, 0) : place.end + 1]:
            raise DatasetError(f"{text!r} has a slash beside {place.word!r}; write one pronoun")
        if (written := text[place.start : place.end]).isupper():
            # The others would be written small, which is another difference between the sentences.
            raise DatasetError(f"{text!r} has {written!r} in capitals; write it small")
    old = next(known for known in KNOWN.values() if places[0].word in known.words)
    _check_reflexive(text, places[0], old)
    if len(places) > 1:
        several = ", ".join(place.word for place in places)
        raise DatasetError(
            f"{text!r} has {len(places)} pronouns ({several}); mark the one to ask about: [{places[0].word}]"
        )
    return places[0], old


def _check_reflexive(text: str, place: Found, old: PronounSet) -> None:
    """Raise an error where another word would have to change with the pronoun: "he hurt herself" is not English."""
    reflexives = {old.reflexive, "themselves"} if old.plural else {old.reflexive}
    for other in [other for word in {*old.words, *reflexives} for other in find_pronoun(text, word)]:
        first, last = sorted((place, other))
        if first != last and last.word in reflexives and not re.search("[.!?]", text[first.end : last.start]):
            raise DatasetError(
                f"{text!r}: {first.word!r} and {last.word!r} would have to change together, and one word is exchanged; "
                f"write it without {last.word!r}"
            )
