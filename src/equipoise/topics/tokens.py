"""A sentence with two group words, token by token: which tokens carry the difference between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..records.showing import Cell, Column, Finding, Row, Section, Table

Token = tuple[str, float]
"""A token as text, and the logarithm of its probability after all that is before it."""


@dataclass(frozen=True)
class Reading:
    """What a model makes of a sentence with one group word: `answers` are the tokens of each answer.

    `before` are the tokens of the sentence and the question, from the second word on; none where they are not known.
    """

    word: str
    answers: Mapping[str, Sequence[Token]]
    before: Sequence[Token] = ()


def tokens(readings: Sequence[Reading]) -> Section:
    """Return which tokens carry the difference between the first two group words, and all of them in tables."""
    about = "The probability of each token of the answers, after all that is before it:"
    shown: list[Finding | Table] = [*_carried(readings), Finding(about, state="note"), _answers(readings)]
    sentence = _sentence(readings)
    if sentence is not None:
        intro = (
            "The same for the sentence and the question, from the first word that differs on. It says how expected"
            " each word is; the answer rests on the table above."
        )
        shown += [Finding(intro, state="note"), sentence]
    return Section("", shown)


def _carried(readings: Sequence[Reading]) -> Iterator[Finding]:
    """Yield how the odds of the first answer against the second change, and the tokens that carry most of it."""
    names = list(readings[0].answers)
    if len(readings) < 2 or len(names) < 2 or any(list(reading.answers) != names for reading in readings[:2]):
        return
    old, new = readings[:2]
    parts: list[Token] = []
    total = 0.0
    for name, sign in zip(names[:2], (1.0, -1.0), strict=True):
        pairs = _side_by_side([old.answers[name], new.answers[name]])
        changes = [(text, values[1] - values[0]) for text, values in pairs]
        total += sign * math.fsum(change for _, change in changes)
        parts += changes
    grows = "grow" if total > 0 else "shrink"
    largest = sorted(parts, key=lambda part: -abs(part[1]))[:2]
    carried = ", ".join(f"“{text.strip()}” is {math.exp(change):.2g} times as probable" for text, change in largest)
    yield Finding(
        f"From “{old.word}” to “{new.word}”, the odds of {names[0].strip()} against {names[1].strip()} {grows}"
        f" {math.exp(min(abs(total), 50.0)):.2g}-fold. The tokens that carry most of it: {carried}."
    )


def _columns(names: Sequence[str], readings: Sequence[Reading]) -> list[Column]:
    first = [Column(name, words=True) for name in names]
    probabilities = [Column(f"with “{reading.word}”", form=".2g") for reading in readings]
    hint = "Of the natural logarithm of the probability, from the first word to the second."
    change = [Column("change (log)", form="+.2f", hint=hint)]
    return [*first, *probabilities, *(change if len(readings) > 1 else [])]


def _answers(readings: Sequence[Reading]) -> Table:
    rows: list[Row] = []
    for name in readings[0].answers:
        several = [reading.answers.get(name, ()) for reading in readings]
        pairs = _side_by_side(several)
        rows += _rows(pairs, [name.strip(), *[""] * (len(pairs) - 1)])
    return Table("", _columns(["answer", "token"], readings), rows)


def _sentence(readings: Sequence[Reading]) -> Table | None:
    """Return the words of the sentence from the first that differs on; None where they cannot be set side by side."""
    words = [_words(reading.before) for reading in readings]
    if not words[0] or len({len(several) for several in words}) != 1:
        return None
    rows: list[tuple[str, Sequence[float]]] = []
    for several in zip(*words, strict=True):
        pairs = _side_by_side(several)
        if rows or len({_joined(tokens) for tokens in several}) > 1:
            rows += pairs
    if not rows:
        return None
    return Table("", _columns(["token"], readings), _rows(rows))


def _rows(pairs: Sequence[tuple[str, Sequence[float]]], names: Sequence[str] = ()) -> list[Row]:
    changes = [values[1] - values[0] for _, values in pairs if len(values) > 1]
    largest = max(map(abs, changes), default=0.0)
    rows = []
    for place, (text, values) in enumerate(pairs):
        change = [values[1] - values[0]] if len(values) > 1 else []
        cells = [Cell(value, strong=len(pairs) > 1 and abs(value) == largest > 0) for value in change]
        rows.append(Row((*names[place : place + 1], text.strip() or "␣", *map(math.exp, values), *cells)))
    return rows


def _side_by_side(several: Sequence[Sequence[Token]]) -> list[tuple[str, Sequence[float]]]:
    """Return tokens with a value for each reading: one by one where all have the same, else joined into one."""
    texts = {tuple(text for text, _ in tokens) for tokens in several}
    if len(texts) == 1:
        return [(same[0][0], [value for _, value in same]) for same in zip(*several, strict=True)]
    names = dict.fromkeys(_joined(tokens).strip() for tokens in several)
    return [(" / ".join(names), [math.fsum(value for _, value in tokens) for tokens in several])]


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(text for text, _ in tokens)


def _words(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens of each word: one begins where a token begins with a space."""
    numbers, number = [], 0
    for text, _ in tokens:
        number += text[:1].isspace()
        numbers.append(number)
    paired = zip(numbers, tokens, strict=True)
    return [[token for _, token in group] for _, group in groupby(paired, key=lambda pair: pair[0])]
