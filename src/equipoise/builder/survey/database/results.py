"""Results: answers for export, the state of the survey, and a consistent copy while it runs."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ...steps import BuildError
from ...verdict.questions import Questionnaire
from ...verdict.summary import Summary, summarise
from ...verdict.votes import SIMULATED, Answer, Vote
from .connection import Store
from .raters import Raters
from .tables import ANSWERS, RATERS, SENTENCES, TABLES

COUNTED = sa.select(ANSWERS.c.sentence, ANSWERS.c.rater, ANSWERS.c.replies, ANSWERS.c.seconds).where(
    ~ANSWERS.c.withdrawn
)
"""The answers that count."""

SIMULATED_ANSWERS = sa.select(sa.func.count()).where(ANSWERS.c.origin == SIMULATED, ~ANSWERS.c.withdrawn)


class Results:
    """Reads of the whole survey."""

    def __init__(self, store: Store, raters: Raters, questions: Questionnaire) -> None:
        self._store, self._raters, self.questions = store, raters, questions
        self._kept: tuple[float, Summary] | None = None
        # There are few different votes, and many answers.
        self._votes: dict[str, Vote] = {}

    def _vote(self, replies: str) -> Vote:
        if replies not in self._votes:
            self._votes[replies] = self.questions.read(replies)
        return self._votes[replies]

    def answers(self) -> list[Answer]:
        """Return every answer, withdrawn ones marked."""
        names = ("sentence", "rater", "number", "replies", "seconds", "withdrawn", "origin", "at", "comment")
        query = sa.select(*(ANSWERS.c[name] for name in names)).order_by(ANSWERS.c.sentence, ANSWERS.c.rater)
        with self._store.reading() as connection:
            rows = connection.execute(query).all()
        return [
            Answer(sentence, rater, number, self._vote(replies), *rest)
            for sentence, rater, number, replies, *rest in rows
        ]

    @property
    def export_columns(self) -> tuple[str, ...]:
        """The columns of the export: one for each question among them."""
        first = ("sentence", "text", "rater", "origin", "number")
        last = ("seconds", "answered_at", "comment", "withdrawn", "rater_state", "rater_score", "rater_locale")
        return (*first, *self.questions.names, *last)

    def export_rows(self) -> list[Sequence[Any]]:
        """Return the rows of the export, in the order of `export_columns`; times are seconds since 1970."""
        columns = (
            *(ANSWERS.c.sentence, SENTENCES.c.text, ANSWERS.c.rater, ANSWERS.c.origin, ANSWERS.c.number),
            *(ANSWERS.c.replies, ANSWERS.c.seconds, ANSWERS.c.at),
            *(ANSWERS.c.comment, ANSWERS.c.withdrawn, RATERS.c.state, RATERS.c.score, RATERS.c.locale),
        )
        joined = sa.select(*columns).join_from(ANSWERS, SENTENCES, SENTENCES.c.id == ANSWERS.c.sentence)
        joined = joined.join(RATERS, RATERS.c.id == ANSWERS.c.rater).order_by(ANSWERS.c.sentence, ANSWERS.c.rater)
        with self._store.reading() as connection:
            return [(*row[:5], *self._vote(row[5]), *row[6:]) for row in connection.execute(joined)]

    def counts(self) -> tuple[int, int]:
        """Return the number of sentences that are asked, and of the settled ones."""
        both = sa.select(sa.func.count(), sa.func.count(sa.case((SENTENCES.c.settled, 1))))
        with self._store.reading() as connection:
            total, done = connection.execute(both.select_from(SENTENCES).where(SENTENCES.c.active)).one()
        return total, done

    def summary(self, *, max_age_s: float = 0.0) -> Summary:
        """Return the state of the survey; a summary younger than `max_age_s` may be used again."""
        now = time.monotonic()
        if self._kept and now - self._kept[0] < max_age_s:
            return self._kept[1]
        rows = [
            (sentence, rater, self._vote(replies), s) for sentence, rater, replies, s in self._store.raw_rows(COUNTED)
        ]
        with self._store.reading() as connection:
            simulated = connection.scalar(SIMULATED_ANSWERS) or 0
        summary = summarise(rows, self._raters.all(), self.counts(), simulated, self.questions)
        self._kept = (time.monotonic(), summary)
        return summary

    def forget(self) -> None:
        """Forget the kept summary: something has changed that should be seen at once."""
        self._kept = None

    def backup(self, path: Path) -> int:
        """Write a consistent copy into a new SQLite file, also while the survey runs; return the answers in it."""
        if path.exists():
            raise BuildError(f"{path} exists already; a backup never overwrites a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_RDWR, 0o600))
        if self._store.sqlite_path:
            _copy_sqlite(self._store.sqlite_path, part)
        else:
            copy = Store(f"sqlite:///{part}")
            _copy_rows(self._store, copy)
            copy.close()
            _leave_log(part)
        answers = _checked(part)
        part.rename(path)
        return answers

    def restore(self, path: Path) -> int:
        """Fill this database, which must be empty, from a backup; return the answers in it."""
        if not path.is_file():
            raise BuildError(f"{path} does not exist")
        with self._store.reading() as connection:
            if any(connection.scalar(sa.select(sa.func.count()).select_from(table)) for table in TABLES):
                raise BuildError("the survey's database is not empty; a backup is restored into an empty one")
        with tempfile.TemporaryDirectory() as folder:
            # A copy: opening the backup may bring its tables up to date.
            whole = Path(folder) / "backup.sqlite"
            _copy_sqlite(str(path), whole)
            answers = _checked(whole)
            source = Store(f"sqlite:///{whole}")
            _copy_rows(source, self._store)
            source.close()
        return answers


def _copy_rows(source: Store, target: Store) -> None:
    """Copy every table in one snapshot into an empty database, in one transaction."""

    def job(connection: sa.Connection) -> None:
        with source.snapshot() as reading:
            for table in TABLES:
                rows = [dict(row._mapping) for row in reading.execute(sa.select(table))]
                for start in range(0, len(rows), 5000):
                    connection.execute(table.insert(), rows[start : start + 5000])

    target.write(job)


def _leave_log(path: Path) -> None:
    """Put what is in SQLite's log into the file itself, so that the file alone is the copy."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


def _copy_sqlite(source: str, target: Path) -> None:
    reading, writing = sqlite3.connect(source), sqlite3.connect(target)
    try:
        reading.backup(writing)
        writing.execute("PRAGMA journal_mode=DELETE")
    finally:
        reading.close()
        writing.close()


def _checked(path: Path) -> int:
    """Return the number of answers in the copy; raise BuildError if it is damaged."""
    connection = sqlite3.connect(path)
    try:
        (state,) = connection.execute("PRAGMA integrity_check").fetchone()
        if state != "ok":
            raise BuildError(f"the copy is damaged ({state})")
        (count,) = connection.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)
    finally:
        connection.close()
