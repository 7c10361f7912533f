"""Raters: invitations, panel ids, sessions, the entrance test, withdrawal and its undoing."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from ...steps import BuildError
from ...verdict.votes import FAILED, INVITED, PASSED, PERSON, TESTING, WITHDRAWN, RaterRecord
from .connection import Store, hashed
from .tables import ANSWERS, CHECKS, LEASES, RATERS, TRIALS

Recount = Callable[[sa.Connection, Sequence[str]], None]
BY_RATER, BY_ADMINISTRATOR = "rater", "administrator"


class UnknownRater(BuildError):
    """Raised for a rater that does not exist."""


@dataclass(frozen=True, slots=True)
class Rater:
    """A rater in a session: state, score, entrance questions in order, and how much they have done."""

    id: str
    state: str
    score: float | None
    questions: tuple[str, ...]
    trials: int
    answers: int
    origin: str = PERSON
    withdrawn_by: str = ""


class Raters:
    """The people of a survey; every method is one transaction."""

    def __init__(self, store: Store, recount: Recount) -> None:
        self._store, self._recount = store, recount

    def invite(self, count: int, *, origin: str = PERSON) -> list[str]:
        """Return new invitations; only their hashes are stored, so they cannot be shown again."""
        tokens = [secrets.token_urlsafe(32) for _ in range(count)]
        if tokens:
            with self._store.writing() as connection:
                connection.execute(RATERS.insert(), [_new_rater(hashed(token), origin) for token in tokens])
        return tokens

    def state_of(self, invitation: str) -> str | None:
        """Return the state of the rater with this invitation, None if it does not exist."""
        with self._store.reading() as connection:
            return connection.scalar(sa.select(RATERS.c.state).where(RATERS.c.entry_hash == hashed(invitation)))

    def enter(self, invitation: str, *, locale: str = "") -> str | None:
        """Return a new session for the holder of an invitation, ending the older one; None if it does not exist."""

        def job(connection: sa.Connection) -> str | None:
            entry = RATERS.c.entry_hash == hashed(invitation)
            rater = connection.execute(sa.select(RATERS).where(entry).with_for_update()).one_or_none()
            return self._start_session(connection, rater.id, rater.state, locale) if rater else None

        return self._store.write(job)

    def enter_from_panel(self, key: str, rater_id: str, *, locale: str = "", again: bool = False) -> str | None:
        """Return a session for a panel id; None if it has entered before, unless its link proves who it is."""
        entry = panel_hash(key)
        try:
            with self._store.writing() as connection:
                connection.execute(RATERS.insert().values(_new_rater(entry, PERSON) | {"id": rater_id}))
                return self._start_session(connection, rater_id, INVITED, locale)
        except exc.IntegrityError:
            if not again:
                return None
        with self._store.writing() as connection:
            known = connection.execute(
                sa.select(RATERS).where(RATERS.c.entry_hash == entry).with_for_update()
            ).one_or_none()
            return self._start_session(connection, known.id, known.state, locale) if known else None

    def _start_session(self, connection: sa.Connection, id: str, state: str, locale: str) -> str:
        session = secrets.token_urlsafe(32)
        values: dict[str, Any] = {"session_hash": hashed(session)}
        if state == INVITED:
            now = self._store.clock()
            values |= {"state": TESTING, "locale": locale, "entered": now, "consented": now}
        connection.execute(RATERS.update().where(RATERS.c.id == id).values(values))
        return session

    def in_session(self, session: str) -> Rater | None:
        """Return whose session it is."""
        trials = sa.select(sa.func.count()).where(TRIALS.c.rater == RATERS.c.id).scalar_subquery()
        columns = (
            *(RATERS.c.id, RATERS.c.state, RATERS.c.score, RATERS.c.questions, trials),
            *(RATERS.c.answers, RATERS.c.origin, RATERS.c.withdrawn_by),
        )
        with self._store.reading() as connection:
            query = sa.select(*columns).where(RATERS.c.session_hash == hashed(session))
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        id, state, score, questions, *rest = row
        return Rater(id, state, score, tuple(json.loads(questions or "[]")), *rest)

    def set_questions(self, rater_id: str, questions: Sequence[str]) -> tuple[str, ...]:
        """Store which entrance questions the rater gets, in order; return those stored first if there are any."""

        def job(connection: sa.Connection) -> tuple[str, ...]:
            known = connection.scalar(sa.select(RATERS.c.questions).where(RATERS.c.id == rater_id).with_for_update())
            if known:
                return tuple(json.loads(known))
            this_rater = RATERS.c.id == rater_id
            connection.execute(RATERS.update().where(this_rater).values(questions=json.dumps(list(questions))))
            return tuple(questions)

        return self._store.write(job)

    def take_trial(self, rater_id: str, number: int, right: bool, *, question: str = "", pass_share: float) -> bool:
        """Store the answer to one entrance question, and the result after the last; False for a replay."""

        def job(connection: sa.Connection) -> bool:
            this_rater = RATERS.c.id == rater_id
            rater = connection.execute(sa.select(RATERS).where(this_rater).with_for_update()).one()
            total = len(json.loads(rater.questions or "[]"))
            earlier = list(connection.scalars(sa.select(TRIALS.c.right).where(TRIALS.c.rater == rater_id)))
            if rater.state != TESTING or number != len(earlier) or number >= total:
                return False
            row = {"rater": rater_id, "number": number, "right": right, "question": question}
            connection.execute(TRIALS.insert().values(row))
            if number + 1 == total:
                score = (sum(earlier) + right) / total
                state = PASSED if score >= pass_share else FAILED
                connection.execute(RATERS.update().where(this_rater).values(state=state, score=score))
            return True

        return self._store.write(job)

    def restart_tests(self) -> int:
        """Let everybody who has not finished the entrance test begin it again; return how many had begun."""
        with self._store.writing() as connection:
            testing = sa.select(RATERS.c.id).where(RATERS.c.state == TESTING)
            begun = connection.scalar(
                sa.select(sa.func.count(sa.distinct(TRIALS.c.rater))).where(TRIALS.c.rater.in_(testing))
            )
            connection.execute(TRIALS.delete().where(TRIALS.c.rater.in_(testing)))
            connection.execute(RATERS.update().where(RATERS.c.state == TESTING).values(questions=""))
            return begun or 0

    def withdraw(self, rater_id: str) -> int:
        """Take a rater's answers out of every count, for the administrator; return how many. Can be undone."""
        with self._store.writing() as connection:
            state = self._lock(connection, rater_id)
            if state == WITHDRAWN:
                return 0
            values = {"state": WITHDRAWN, "previous_state": state, "withdrawn_by": BY_ADMINISTRATOR}
            connection.execute(RATERS.update().where(RATERS.c.id == rater_id).values(values))
            return self._mark(connection, rater_id, withdrawn=True)

    def restore(self, rater_id: str) -> int:
        """Count a rater's answers again; return how many. A rater's own withdrawal cannot be undone."""
        with self._store.writing() as connection:
            self._lock(connection, rater_id)
            rater = connection.execute(sa.select(RATERS).where(RATERS.c.id == rater_id)).one()
            if rater.state != WITHDRAWN or rater.withdrawn_by != BY_ADMINISTRATOR:
                return 0
            values = {"state": rater.previous_state or PASSED, "previous_state": "", "withdrawn_by": ""}
            connection.execute(RATERS.update().where(RATERS.c.id == rater_id).values(values))
            return self._mark(connection, rater_id, withdrawn=False)

    def leave(self, rater_id: str) -> int:
        """Delete a rater's answers at their own wish, for good; return how many."""
        with self._store.writing() as connection:
            self._lock(connection, rater_id)
            sentences = self._release(connection, rater_id)
            answered = sorted(connection.scalars(sa.select(ANSWERS.c.sentence).where(ANSWERS.c.rater == rater_id)))
            for table in (ANSWERS, CHECKS, TRIALS):
                connection.execute(table.delete().where(table.c.rater == rater_id))
            values = {"state": WITHDRAWN, "withdrawn_by": BY_RATER, "previous_state": "", "answers": 0, "locale": ""}
            connection.execute(RATERS.update().where(RATERS.c.id == rater_id).values(values))
            self._recount(connection, sorted({*answered, *sentences}))
            return len(answered)

    def _mark(self, connection: sa.Connection, rater_id: str, *, withdrawn: bool) -> int:
        released = self._release(connection, rater_id)
        by_rater = ANSWERS.c.rater == rater_id
        sentences = sorted(connection.scalars(sa.select(ANSWERS.c.sentence).where(by_rater)))
        connection.execute(ANSWERS.update().where(by_rater).values(withdrawn=withdrawn))
        self._recount(connection, sorted({*sentences, *released}))
        return len(sentences)

    def _release(self, connection: sa.Connection, rater_id: str) -> list[str]:
        """Take back the sentence the rater holds, and return it."""
        by_rater = LEASES.c.rater == rater_id
        held = [id for id in connection.scalars(sa.select(LEASES.c.sentence).where(by_rater)) if id]
        connection.execute(LEASES.delete().where(by_rater))
        return held

    def _lock(self, connection: sa.Connection, rater_id: str) -> str:
        query = sa.select(RATERS.c.state).where(RATERS.c.id == rater_id).with_for_update()
        state: str | None = connection.scalar(query)
        if state is None:
            raise UnknownRater(f"unknown rater {rater_id!r}")
        return state

    def all(self) -> list[RaterRecord]:
        """Return every rater."""
        names = ("id", "state", "score", "locale", "origin", "withdrawn_by", "checks_right", "checks_wrong")
        with self._store.reading() as connection:
            rows = connection.execute(sa.select(*(RATERS.c[name] for name in names)).order_by(RATERS.c.id))
            return [RaterRecord(*row) for row in rows]


def panel_hash(key: str) -> str:
    """Return what is stored of a panel id."""
    return hashed(f"panel:{key}")


def _new_rater(entry_hash: str, origin: str) -> dict[str, Any]:
    """Return what is known of a new rater; the tables say that nothing else has happened yet."""
    return {"id": secrets.token_hex(6), "entry_hash": entry_hash, "state": INVITED, "origin": origin}
