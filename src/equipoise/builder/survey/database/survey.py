"""The survey's database as one object: raters, work, results, and what the survey remembers of its options."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from ...steps import BuildError, Sentence
from ...verdict.consensus import Tally
from .connection import Store
from .raters import Raters
from .results import Results
from .tables import SENTENCES, SETTINGS
from .work import Asking, Work

OPEN, PAUSED, CLOSED = "open", "paused", "closed"
STATUSES = (OPEN, PAUSED, CLOSED)
STATUS_AGE_S = 1.0


class SurveyDatabase:
    """A survey on SQLite or PostgreSQL; `raters`, `work` and `results` hold its methods by topic."""

    def __init__(self, url: str, asking: Asking | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.store = Store(url, clock=clock)
        self.asking = asking or Asking()
        self.work = Work(self.store, self.asking)
        self.raters = Raters(self.store, self.work.recount)
        self.results = Results(self.store, self.raters)
        self.work.has_twins = self._has_twins()
        self._monotonic = time.monotonic
        self._status = (float("-inf"), OPEN)

    def close(self) -> None:
        """Close all connections."""
        self.store.close()

    def load(self, sentences: Iterable[Sentence], *, twins: bool = False, seed: int = 0) -> int:
        """Make these the sentences that are asked, with all their versions if `twins`; return how many are new.

        Sentences of an earlier call that are not among them are asked no more; their answers stay.
        """
        rng = random.Random(seed)
        rows = [row for sentence in sentences for row in _rows(sentence, twins=twins, rng=rng)]
        ids = {row["id"] for row in rows}
        with self.store.writing() as connection:
            stored = connection.execute(sa.select(SENTENCES.c.id, SENTENCES.c.active))
            known = {row.id: row.active for row in stored}
            new = [row | self.work.standing(Tally(), 0) for row in rows if row["id"] not in known]
            if new:
                connection.execute(SENTENCES.insert(), new)
            for id, active in known.items():
                if active is not (id in ids):
                    connection.execute(SENTENCES.update().where(SENTENCES.c.id == id).values(active=id in ids))
                    self.work.recount(connection, [id])
        self.work.has_twins = self._has_twins()
        return len(new)

    def _has_twins(self) -> bool:
        twice = sa.select(SENTENCES.c.pair).group_by(SENTENCES.c.pair).having(sa.func.count() > 1).limit(1)
        with self.store.reading() as connection:
            return connection.scalar(twice) is not None

    def setting(self, name: str) -> str | None:
        """Return what was stored under this name."""
        with self.store.reading() as connection:
            return connection.scalar(sa.select(SETTINGS.c.value).where(SETTINGS.c.name == name))

    def remember(self, name: str, value: str) -> None:
        """Store a value under a name, in place of an earlier one."""
        with self.store.writing() as connection:
            connection.execute(SETTINGS.delete().where(SETTINGS.c.name == name))
            connection.execute(SETTINGS.insert().values(name=name, value=value))

    @property
    def status(self) -> str:
        """Whether the survey is open, paused or closed; another process may have changed it a second ago."""
        read, status = self._status
        if self._monotonic() - read > STATUS_AGE_S:
            status = self.setting("status") or OPEN
            self._status = (self._monotonic(), status)
        return status

    def set_status(self, status: str) -> None:
        """Open, pause or close the survey."""
        if status not in STATUSES:
            raise BuildError(f"a survey is {', '.join(STATUSES)}, not {status!r}")
        self.remember("status", status)
        self._status = (self._monotonic(), status)

    def apply_options(self, test: str) -> list[str]:
        """Apply options that differ from those of the last start, and return a note about each change.

        A new rule for settling is applied to every sentence. A new entrance test (`test` identifies it) is begun
        again by everybody who has not finished the old one.
        """
        notes = []
        coverage = json.dumps(asdict(self.asking.coverage))
        before = self.setting("coverage")
        if before is not None and before != coverage:
            self._recount_all()
            notes.append(f"the rule for settled sentences changed from {before} to {coverage}; all were counted again")
        if before != coverage:
            self.remember("coverage", coverage)
        known = self.setting("test")
        if known != test:
            begun = self.raters.restart_tests()
            if known is not None or begun:
                notes.append(f"the entrance test changed; {begun} raters in the middle of it begin again")
            self.remember("test", test)
        return notes

    def _recount_all(self) -> None:
        with self.store.writing() as connection:
            self.work.recount(connection, list(connection.scalars(sa.select(SENTENCES.c.id).order_by(SENTENCES.c.id))))


def _rows(sentence: Sentence, *, twins: bool, rng: random.Random) -> Iterable[dict[str, Any]]:
    """Yield the rows of a sentence's versions: the first twin is called ID-twin, the next ID-twin2, and so on."""
    for number, version in enumerate(sentence.versions() if twins else sentence.versions()[:1]):
        suffix = "" if number == 0 else "-twin" if number == 1 else f"-twin{number}"
        yield {
            "id": f"{sentence.id}{suffix}",
            "pair": sentence.id,
            "text": version.text,
            "pronoun": version.pronoun,
            "first": sentence.label(sentence.first, version.marker),
            "second": sentence.label(sentence.second, version.marker),
            "shuffle": rng.random(),
            "held": 0,
            "active": True,
            **asdict(Tally()),
        }
