"""The entrance test: a pool of questions whose right answers are known, and the draw of a test for each rater."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ... import packaged
from ...datasets.columns import as_flag
from ...datasets.rows import read_rows
from ...files import sha256
from ...records import DatasetError, grouped
from ..steps import BuildError
from ..verdict.questions import Questionnaire, published
from ..verdict.votes import NOT_ASKED, Vote

SHOWN = ("text", "pronoun", "first", "second")
TESTS: Mapping[str, int] = MappingProxyType({"section-4.3": 10, "appendix-d": 15})
"""The UCerF paper's two statements of its entrance test: questions of each type."""


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """A sentence and the right answer to it; `why` explains an example of the guidelines."""

    text: str
    pronoun: str
    first: str
    second: str
    answer: Vote
    why: str = ""
    type: str = ""

    @property
    def key(self) -> str:
        """What is stored of the question: it names the sentence and its right answer."""
        return sha256(f"{self.text}\0{self.answer}")[:16]

    @property
    def kind(self) -> str:
        """What the test is balanced by: the right answer; "incoherent" where it ends the questions."""
        return "incoherent" if self.answer[1:].count(NOT_ASKED) else "-".join(self.answer)


@dataclass(frozen=True)
class EntranceTest:
    """A pool of questions, how many of each type a rater gets (None: all), and the share to pass."""

    pool: Sequence[KnownQuestion]
    per_type: int | None = None
    pass_share: float = 0.8

    def __post_init__(self) -> None:
        if not self.pool:
            raise BuildError("an entrance test needs at least one question")
        if not 0 <= self.pass_share <= 1:
            raise BuildError(f"the share to pass must be from 0 to 1, not {self.pass_share:g}")
        if self.per_type is not None:
            for type, questions in self._by_type().items():
                if len(questions) < self.per_type:
                    raise BuildError(f"the entrance test has {len(questions)} questions of {type}, not {self.per_type}")

    def _by_type(self) -> dict[str, list[KnownQuestion]]:
        return grouped(self.pool, lambda question: question.type)

    @property
    def length(self) -> int:
        """The number of questions a rater gets."""
        return len(self.pool) if self.per_type is None else self.per_type * len(self._by_type())

    @property
    def identity(self) -> str:
        """What changes when the test changes."""
        keys = ",".join(sorted(question.key for question in self.pool))
        return sha256(f"{keys}/{self.per_type}")[:16]

    def by_key(self) -> dict[str, KnownQuestion]:
        """Return the questions by their keys."""
        return {question.key: question for question in self.pool}

    def draw(self, rng: random.Random) -> list[KnownQuestion]:
        """Return the questions of one rater, shuffled: each type balanced by whom the pronoun can mean."""
        chosen = list(self.pool) if self.per_type is None else []
        if self.per_type is not None:
            for questions in self._by_type().values():
                chosen += _balanced(questions, self.per_type, rng)
        rng.shuffle(chosen)
        return chosen


def _balanced(questions: Sequence[KnownQuestion], count: int, rng: random.Random) -> list[KnownQuestion]:
    """Return `count` questions: one incoherent sentence if there is one, the other kinds in equal numbers."""
    kinds = grouped(rng.sample(list(questions), len(questions)), lambda question: question.kind)
    chosen = kinds.pop("incoherent", [])[:1]
    while len(chosen) < count and any(kinds.values()):
        for kind in rng.sample(sorted(kinds), len(kinds)):
            if kinds[kind] and len(chosen) < count:
                chosen.append(kinds[kind].pop())
    rest = [question for question in questions if question not in chosen]
    return chosen + rest[: count - len(chosen)]


def read_test(
    source: str | Path | None,
    *,
    per_type: int | None = None,
    pass_share: float = 0.8,
    questions: Questionnaire | None = None,
) -> EntranceTest:
    """Return the test by name ("section-4.3", "appendix-d") or a table; `per_type` draws that many of each."""
    name, questions = str(source or "section-4.3"), questions or published()
    if name in TESTS:
        _check_published(questions, "--test")
        return EntranceTest(_built_in_questions(), per_type or TESTS[name], pass_share)
    table = read_rows(Path(name))
    columns = (*SHOWN, *(question.column for question in questions.questions))
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise BuildError(
            f"{table.file}: an entrance test needs the columns {', '.join(columns)}; {missing[0]} is missing"
        )
    rows = [(f"{table.file}:{row.line}", {k: str(v or "") for k, v in row.cells.items()}) for row in table.rows]
    return EntranceTest([question_of(where, cells, questions) for where, cells in rows], per_type, pass_share)


def read_checks(path: Path | None, questions: Questionnaire | None = None) -> tuple[KnownQuestion, ...]:
    """Return the attention checks of a table like an entrance test, or the package's own."""
    if path is None:
        _check_published(questions or published(), "--checks")
        return tuple(_built_in_questions("attention.csv"))
    return tuple(read_test(path, questions=questions).pool)


def _check_published(questions: Questionnaire, option: str) -> None:
    if not questions.is_published:
        raise BuildError(f"questions of your own need a table of your own: give {option} TABLE")


def _built_in_questions(file: str = "entrance.csv") -> list[KnownQuestion]:
    text = packaged.text(__package__, file)
    return [question_of(file, row, published()) for row in csv.DictReader(text.splitlines())]


def question_of(where: str, cells: Mapping[str, str], questions: Questionnaire) -> KnownQuestion:
    """Return a question from the cells of a row; an error says where the row is."""
    given = {}
    for question in questions.questions:
        cell = cells.get(question.column, "").strip().casefold()
        if cell and question.choices == ("yes", "no"):
            try:
                cell = "yes" if as_flag(question.column, cell) else "no"
            except DatasetError as error:
                raise BuildError(f"{where}: {error}") from None
        elif cell and cell not in question.choices:
            raise BuildError(f"{where}: {question.column} must be {' or '.join(question.choices)}, not {cell!r}")
        given[question.name] = cell
    answer = questions.vote(given)
    if answer is None:
        raise BuildError(f"{where}: not all right answers are given")
    text, pronoun, first_name, second_name = (cells.get(name, "").strip() for name in SHOWN)
    if not (text and pronoun and first_name and second_name):
        raise BuildError(f"{where}: text, pronoun, first and second must not be empty")
    return KnownQuestion(text, pronoun, first_name, second_name, answer, cells.get("why", ""), cells.get("type", ""))
