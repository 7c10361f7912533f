"""Results: answers for export, the state of the survey, and a consistent copy while it runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ...steps import BuildError
from ...verdict.summary import UNSURE, Summary, summarise
from ...verdict.votes import QUESTIONS, SIMULATED, Answer, Vote
from .connection import Store
from .raters import Raters
from .tables import ANSWERS, CHECKS, LEASES, RATERS, SENTENCES, SETTINGS, TRIALS

EXPORT_COLUMNS = (
    *("sentence", "text", "rater", "origin", "number", "coherent", "first", "second", "seconds", "answered_at"),
    *("comment", "withdrawn", "rater_state", "rater_score", "rater_locale"),
)


def _reply(name: str) -> sa.ColumnElement[int]:
    column = ANSWERS.c[name]
    return sa.case((column.is_(None), UNSURE), (column, 1), else_=0)


COUNTED = sa.select(
    ANSWERS.c.sentence,
    ANSWERS.c.rater,
    sum((3**place * _reply(name) for place, name in enumerate(QUESTIONS[1:], 1)), _reply(QUESTIONS[0])),
    ANSWERS.c.seconds,
).where(~ANSWERS.c.withdrawn)
"""The answers that count, as rows of a summary."""

SIMULATED_ANSWERS = sa.select(sa.func.count()).where(ANSWERS.c.origin == SIMULATED, ~ANSWERS.c.withdrawn)


class Results:
    """Reads of the whole survey."""

    def __init__(self, store: Store, raters: Raters) -> None:
        self._store, self._raters = store, raters
        self._kept: tuple[float, Summary] | None = None

    def answers(self) -> list[Answer]:
        """Return every answer, withdrawn ones marked."""
        names = (
            *("sentence", "rater", "number", "coherent", "first", "second"),
            *("seconds", "withdrawn", "origin", "at", "comment"),
        )
        query = sa.select(*(ANSWERS.c[name] for name in names)).order_by(ANSWERS.c.sentence, ANSWERS.c.rater)
        with self._store.reading() as connection:
            rows = connection.execute(query).all()
        return [
            Answer(sentence, rater, number, Vote(coherent, first, second), *rest)
            for sentence, rater, number, coherent, first, second, *rest in rows
        ]

    def export_rows(self) -> list[Sequence[Any]]:
        """Return the rows of the export, in the order of EXPORT_COLUMNS; times are seconds since 1970."""
        columns = (
            *(ANSWERS.c.sentence, SENTENCES.c.text, ANSWERS.c.rater, ANSWERS.c.origin, ANSWERS.c.number),
            *(ANSWERS.c.coherent, ANSWERS.c.first, ANSWERS.c.second, ANSWERS.c.seconds, ANSWERS.c.at),
            *(ANSWERS.c.comment, ANSWERS.c.withdrawn, RATERS.c.state, RATERS.c.score, RATERS.c.locale),
        )
        joined = sa.select(*columns).join_from(ANSWERS, SENTENCES, SENTENCES.c.id == ANSWERS.c.sentence)
        joined = joined.join(RATERS, RATERS.c.id == ANSWERS.c.rater).order_by(ANSWERS.c.sentence, ANSWERS.c.rater)
        with self._store.reading() as connection:
            return [tuple(row) for row in connection.execute(joined)]

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
        rows = self._store.raw_rows(COUNTED)
        with self._store.reading() as connection:
            simulated = connection.scalar(SIMULATED_ANSWERS) or 0
        summary = summarise(rows, self._raters.all(), self.counts(), simulated)
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
        if self._store.sqlite_path:
            _copy_sqlite(self._store.sqlite_path, part)
        else:
            self._copy_rows(part)
        answers = _checked(part)
        part.rename(path)
        return answers

    def _copy_rows(self, path: Path) -> None:
        """Copy every table in one snapshot, from PostgreSQL into SQLite."""
        copy = Store(f"sqlite:///{path}")
        with self._store.snapshot() as source, copy.writing() as target:
            for table in (SENTENCES, RATERS, TRIALS, LEASES, ANSWERS, CHECKS, SETTINGS):
                rows = [dict(row._mapping) for row in source.execute(sa.select(table))]
                if rows:
                    target.execute(table.insert(), rows)
        copy.close()
        with sqlite3.connect(path) as connection:
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
