"""The questions that raters are asked about each sentence. They are data: a group can ask its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from ... import packaged
from ..steps import BuildError
from .votes import NOT_ASKED, UNSURE, Vote

_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_TAKEN = {"csrf", "ticket", "comment", UNSURE, "text", "pronoun", "why", "type"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its choices, its column in tables, and the reply to an earlier question that it depends on."""

    name: str
    choices: tuple[str, ...]
    column: str
    when: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """The questions about one sentence, in order."""

    questions: tuple[Question, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the questions."""
        return tuple(question.name for question in self.questions)

    @property
    def is_published(self) -> bool:
        """Whether these are the questions of the UCerF paper."""
        return self == published()

    def vote(self, given: Mapping[str, str], *, unsure: bool = False) -> Vote | None:
        """Return the replies to the questions that are asked, None if one is missing or not among the choices."""
        replies: dict[str, str] = {}
        for question in self.questions:
            allowed = (*question.choices, UNSURE) if unsure else question.choices
            if question.when is not None and replies[question.when[0]] != question.when[1]:
                replies[question.name] = NOT_ASKED
            elif given.get(question.name) in allowed:
                replies[question.name] = given[question.name]
            else:
                return None
        return tuple(replies.values())

    def votes(self) -> tuple[Vote, ...]:
        """Return every vote that can be given without being unsure."""
        return _all_votes(self)

    def as_text(self, vote: Vote) -> str:
        """Return a vote as it is stored: a JSON object of the replies."""
        return json.dumps({name: reply for name, reply in zip(self.names, vote, strict=True) if reply})

    def read(self, text: str) -> Vote:
        """Return a stored vote."""
        replies = json.loads(text)
        return tuple(replies.get(name, NOT_ASKED) for name in self.names)

    def as_rows(self) -> list[dict[str, Any]]:
        """Return the questions as `questions_of` reads them."""
        return [
            {"name": question.name, "choices": list(question.choices), "column": question.column}
            | ({"when": {question.when[0]: question.when[1]}} if question.when else {})
            for question in self.questions
        ]


@cache
def _all_votes(questions: Questionnaire) -> tuple[Vote, ...]:
    choices = [(*question.choices, NOT_ASKED) for question in questions.questions]
    whole = (dict(zip(questions.names, replies, strict=True)) for replies in product(*choices))
    return tuple(dict.fromkeys(vote for given in whole if (vote := questions.vote(given)) is not None))


def questions_of(where: str, rows: Sequence[Mapping[str, Any]]) -> Questionnaire:
    """Return the questions of a TOML array; an error says what is wrong with which."""
    made: list[Question] = []
    for row in rows:
        name = str(row.get("name", ""))
        if not _NAME.fullmatch(name) or name in _TAKEN or name in {question.name for question in made}:
            raise BuildError(f"{where}: {name!r} cannot name a question; use small letters, each name once")
        choices = tuple(map(str, row.get("choices", ())))
        if len(choices) < 2 or len(set(choices)) < len(choices) or not all(map(_NAME.fullmatch, choices)):
            raise BuildError(f"{where}: question {name!r} needs at least two choices, named in small letters")
        made.append(Question(name, choices, str(row.get("column", name)), _condition(where, name, row, made)))
    if not made:
        raise BuildError(f"{where}: there are no questions")
    return Questionnaire(tuple(made))


def _condition(where: str, name: str, row: Mapping[str, Any], earlier: Sequence[Question]) -> tuple[str, str] | None:
    when = row.get("when")
    if not when:
        return None
    known = {question.name: question.choices for question in earlier}
    (other, reply), *more = when.items()
    if more or reply not in known.get(other, ()):
        raise BuildError(f"{where}: question {name!r} depends on {other} = {reply}, which no earlier question offers")
    return other, reply


@cache
def published() -> Questionnaire:
    """Return the three questions of the UCerF paper."""
    return questions_of("questions.toml", packaged.toml(__package__, "questions.toml")["questions"])
