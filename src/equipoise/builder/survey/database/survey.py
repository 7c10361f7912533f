"""The survey's database as one object: raters, work, results, and what the survey remembers of its options."""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa

from ...steps import BuildError, Sentence
from ...verdict.consensus import Rule
from .connection import Store
from .raters import Raters
from .results import Results
from .tables import ANSWERS, SENTENCES, SET_SENTENCE, SETTINGS
from .work import Asking, Work

OPEN, PAUSED, CLOSED = "open", "paused", "closed"
STATUSES = (OPEN, PAUSED, CLOSED)
STATUS_AGE_S = 1.0


class SurveyDatabase:
    """A survey on SQLite or PostgreSQL; `raters`, `work` and `results` hold its methods by topic.

    Without `asking`, it is opened with the rule that was chosen when the survey was made.
    """

    def __init__(self, url: str, asking: Asking | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.store = Store(url, clock=clock)
        self.asking = asking or Asking(rule=self.chosen_rule() or Rule())
        self.work = Work(self.store, self.asking)
        self.raters = Raters(self.store, self.work.recount)
        self.results = Results(self.store, self.raters, self.asking.rule.questions)
        self.work.has_twins = self._has_twins()
        self._monotonic = time.monotonic
        self._status = (float("-inf"), OPEN)

    def close(self) -> None:
        """Close all connections."""
        self.store.close()

    def chosen_rule(self) -> Rule | None:
        """Return the rule that was chosen when the survey was made, None if it has not begun."""
        stored = self.setting("rule")
        return None if stored is None else Rule.of(json.loads(stored))

    def load(self, sentences: Iterable[Sentence], *, twins: bool = False, seed: int = 0) -> int:
        """Make these the sentences that are asked, with all their versions if `twins`; return how many are new.

        Sentences of an earlier call that are not among them are asked no more; their answers stay.
        """
        rng = random.Random(seed)
        rows = {row["id"]: row for sentence in sentences for row in _rows(sentence, twins=twins, rng=rng)}

        def job(connection: sa.Connection) -> int:
            stored = connection.execute(sa.select(SENTENCES.c.id, SENTENCES.c.type, SENTENCES.c.active))
            known = {row.id: (row.type, row.active) for row in stored}
            new = [row | self.work.standing((), row["type"]) for id, row in rows.items() if id not in known]
            if new:
                connection.execute(SENTENCES.insert(), new)
            for id, (type, active) in sorted(known.items()):
                values = {"type": rows[id]["type"] if id in rows else type, "active": id in rows}
                if (type, active) != (values["type"], values["active"]):
                    connection.execute(SENTENCES.update().where(SENTENCES.c.id == id).values(values))
                    self.work.recount(connection, [id])
            return len(new)

        new = self.store.write(job)
        self.work.has_twins = self._has_twins()
        return new

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

        def job(connection: sa.Connection) -> None:
            connection.execute(SETTINGS.delete().where(SETTINGS.c.name == name))
            connection.execute(SETTINGS.insert().values(name=name, value=value))

        self.store.write(job)

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
        again by everybody who has not finished the old one. Sentences whose counts do not follow from their answers
        (after a fault of an older version) are counted again.
        """
        notes = []
        before, rule = self.chosen_rule(), self.asking.rule
        if before is not None and before != rule:
            if before.questions != rule.questions and self.results.answers():
                raise BuildError("the survey was begun with other questions; use a new database for these")
            notes.append(f"the rule changed: {_difference(before, rule)}; all sentences were counted again")
        if before != rule:
            self.remember("rule", json.dumps(rule.as_values()))
        corrected = self.tidy()
        if corrected and before == rule:
            notes.append(f"{corrected:,} sentences had wrong counts and were counted again")
        known = self.setting("test")
        if known != test:
            begun = self.raters.restart_tests()
            if known is not None or begun:
                notes.append(f"the entrance test changed; {begun} raters in the middle of it begin again")
            self.remember("test", test)
        return notes

    def tidy(self) -> int:
        """Free what raters who went away hold, count every sentence again, and return how many were wrong."""
        while self.work.sweep():
            pass

        def job(connection: sa.Connection) -> int:
            columns = (SENTENCES.c.id, SENTENCES.c.type, SENTENCES.c.active, SENTENCES.c.needed, SENTENCES.c.settled)
            rows = connection.execute(sa.select(*columns).order_by(SENTENCES.c.id).with_for_update()).all()
            replies: dict[str, list[str]] = defaultdict(list)
            query = sa.select(ANSWERS.c.sentence, ANSWERS.c.replies).where(~ANSWERS.c.withdrawn)
            for sentence, given in connection.execute(query):
                replies[sentence].append(given)
            wrong = 0
            for row in rows:
                right = self.work.standing(replies[row.id], row.type, active=row.active)
                if right != {"needed": row.needed, "settled": bool(row.settled)}:
                    connection.execute(SET_SENTENCE, right | {"which": row.id})
                    wrong += 1
            return wrong

        return self.store.write(job)


def _difference(before: Rule, after: Rule) -> str:
    """Return the values that differ, in words."""
    old, new = before.as_values(), after.as_values()
    changes = [
        f"{name} {old[part][name]} is now {new[part][name]}"
        for part in ("coverage", "criteria")
        for name in new[part]
        if old[part].get(name) != new[part][name]
    ]
    return ", ".join(changes or ["other questions"])


def _rows(sentence: Sentence, *, twins: bool, rng: random.Random) -> Iterable[dict[str, Any]]:
    """Yield the rows of a sentence's versions: the first twin is called ID-twin, the next ID-twin2, and so on."""
    for number, version in enumerate(sentence.versions() if twins else sentence.versions()[:1]):
        suffix = "" if number == 0 else "-twin" if number == 1 else f"-twin{number}"
        yield {
            "id": f"{sentence.id}{suffix}",
            "pair": sentence.id,
            "type": sentence.type,
            "text": version.text,
            "pronoun": version.pronoun,
            "first": sentence.label(sentence.first, version.marker),
            "second": sentence.label(sentence.second, version.marker),
            "shuffle": rng.random(),
            "active": True,
        }
