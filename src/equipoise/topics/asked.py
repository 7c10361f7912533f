"""A few sentences of a user's own: whom the model takes each group word for, and how sure it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..datasets.pronouns import PRONOUNS, side_words
from ..records import ABSENT
from ..records.showing import Axis, Bar, Cell, Chart, Column, Finding, Panel, Row, Section, Table
from ..runs.run import Part, Run
from ..tasks.outcomes import further_options

UNSURE = 0.10
"""Candidate mass below which the model would rather say something else."""

TERMS = (
    "Certainty is 0 if all answers are equally probable, 1 if one is certain. Candidate mass is the probability of all"
    " of them together."
)
AUDIT = "`equipoise audit` asks hundreds, and says how sure the result is."
ALONE = {True: f"One sentence shows nothing about a model: {AUDIT}", False: f"A few sentences show little: {AUDIT}"}
"""Whether it was one sentence -> what to think of it."""


@dataclass(frozen=True)
class Answer:
    """What the model made of a sentence with one group word; `word` is that word."""

    word: str
    text: str
    names: Sequence[str]
    probabilities: Sequence[float]
    certainty: float
    mass: float
    chosen: str


def asked(run: Run, sentences: Sequence[str], left_out: Sequence[str] = ()) -> Section:
    """Return a picture, a table and a finding for each sentence that was asked."""
    (part,) = run.parts
    several = zip(sentences, answers_of(part), strict=True)
    inside = [
        Section(sentence, [_chart(part, answers), _table(answers), *_findings(answers)])
        for sentence, answers in several
    ]
    notes = [Finding(text, state="doubt") for text in left_out]
    return Section("", [*inside, *notes, Finding(ALONE[len(sentences) == 1], state="note")], "asked")


def answers_of(part: Part) -> Iterator[list[Answer]]:
    """Yield the answers of each set, one for each group word, averaged over the orders of options."""
    examples = part.run.examples.set_index("id")
    items = part.items.assign(probs=list(part.outcomes.probs))
    for _, members in items.groupby("set_id", sort=False):
        yield [_answer(dict(examples.loc[str(name)]), rows) for name, rows in members.groupby("example_id", sort=False)]


def _answer(example: Mapping[str, Any], rows: pd.DataFrame) -> Answer:
    first = rows.iloc[0]
    probabilities = np.mean(rows["probs"].to_list(), axis=0)
    people = [str(name) for name in example["candidates"]]
    further = list(further_options(str(first["flags"] or ""), len(probabilities) - len(people)))
    names, word = [*people, *further], _group_word(example)
    if first["sides"]:  # a cloze asks for the word, not for the person
        names, word = side_words(str(first["sides"]), str(first.get("form", ""))), "at its place"
    tied = len(rows) == 1 and int(first["predicted"]) == ABSENT
    chosen = "" if tied else names[int(np.argmax(probabilities))]
    certainty, mass = (float(rows[name].mean()) for name in ("certainty", "candidate_mass"))
    return Answer(word, str(example["text"]), names, probabilities.tolist(), certainty, mass, chosen)


def _group_word(example: Mapping[str, Any]) -> str:
    """Return the word that differs within the set: the group word, or the pronoun of that group."""
    groups, slots = json.loads(example["groups"]), json.loads(example["slots"])
    pronoun: str = slots.get("pronoun", "")
    words = {word for forms in PRONOUNS.values() for word in forms.values()}
    named: str = groups.get("gender") or pronoun
    return pronoun if pronoun in words and named in ("male", "female", "neutral") else named


def _chart(part: Part, answers: Sequence[Answer]) -> Chart:
    names = [f"{answer.word}: {name}" for answer in answers for name in answer.names]
    bars, place = [], 0
    for number, answer in enumerate(answers):
        for probability in answer.probabilities:
            tone = answer.word if answer.word in ("he", "she", "they") else number
            bars.append(Bar((0.0, probability), (place - 0.35, place + 0.35), tone, names[place], f"{probability:.0%}"))
            place += 1
    panel = Panel(bars, Axis("probability", unit="%"), Axis.of_names(names))
    return Chart("", [panel], "asked", part.about(), caption="Given that one of these is said.")


def _table(answers: Sequence[Answer]) -> Table:
    columns = [Column("with", words=True), Column("answer", words=True), Column("certainty"), Column("candidate mass")]
    rows = [
        Row((answer.word, answer.chosen or "a tie", answer.certainty, Cell(f"{answer.mass:.1%}"))) for answer in answers
    ]
    return Table("", columns, rows, notes=[TERMS])


def _findings(answers: Sequence[Answer]) -> Iterator[Finding]:
    if min(answer.mass for answer in answers) < UNSURE:
        yield Finding(
            f"Caution: the model gives these answers less than {UNSURE:.0%} of the probability together; it would"
            " rather say something else.",
            state="doubt",
        )
    if len(answers) < 2:
        return
    chosen = {answer.chosen for answer in answers}
    if len(chosen) > 1:
        answers_by_word = [f"“{answer.word}”: {answer.chosen or 'a tie'}" for answer in answers]
        yield Finding(f"The answer changes with the word: {', '.join(answers_by_word)}.")
    else:
        least, most = (pick(answers, key=lambda answer: answer.certainty) for pick in (min, max))
        ends = [f"“{answer.word}” ({answer.certainty:.2f})" for answer in (least, most)]
        apart = round(most.certainty, 2) > round(least.certainty, 2)
        sure = f"It is least certain with {ends[0]} and most certain with {ends[1]}" if apart else "So is its certainty"
        yield Finding(f"The answer is the same with every word: {chosen.pop() or 'a tie'}. {sure}.")
