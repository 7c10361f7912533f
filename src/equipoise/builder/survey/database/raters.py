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
from .tables import ANSWERS, CHECKS, LEASES, LOCK_RATER, RATERS, SESSIONS, TRIALS

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
    checks: int = 0
    origin: str = PERSON
    withdrawn_by: str = ""


class Raters:
    """The people of a survey; every method is one transaction."""

    def __init__(self, store: Store, recount: Recount) -> None:
        self._store, self._recount = store, recount

    def invite(self, count: int, *, origin: str = PERSON) -> list[str]:
        """Return new invitations; only their hashes are stored, so they cannot be shown again."""
        tokens = [secrets.token_urlsafe(32) for _ in range(count)]
        rows = [_new_rater(hashed(token), origin) for token in tokens]
        if rows:
            self._store.write(lambda connection: connection.execute(RATERS.insert(), rows) and None)
        return tokens

    def state_of(self, invitation: str) -> str | None:
        """Return the state of the rater with this invitation, None if it does not exist."""
        with self._store.reading() as connection:
            return connection.scalar(sa.select(RATERS.c.state).where(RATERS.c.entry_hash == hashed(invitation)))

    def enter(self, invitation: str, *, locale: str = "") -> str | None:
        """Return a new session for the holder of an invitation; None if it does not exist."""

        def job(connection: sa.Connection) -> str | None:
            rater = _locked(connection, hashed(invitation))
            return self._start_session(connection, rater, locale) if rater else None

        return self._store.write(job)

    def enter_from_panel(
        self, key: str, rater_id: str, *, locale: str = "", code: str = "", again: bool = False
    ) -> str | None:
        """Return a session for a panel id.

        Who has entered before needs the code that they were shown then, or a link that proves who they are (`again`);
        None without either. The form of the first page carries its code, so that it may be sent twice.
        """
        entry = panel_hash(key)

        def job(connection: sa.Connection) -> str | None:
            try:
                with connection.begin_nested():
                    connection.execute(RATERS.insert().values(_new_rater(entry, PERSON) | {"id": rater_id}))
            except exc.IntegrityError:
                pass
            rater = _locked(connection, entry)
            if rater is None:
                return None
            known = bool(code) and secrets.compare_digest(rater.code_hash, code_hash(code))
            if rater.state != INVITED and not again and not known:
                return None
            return self._start_session(connection, rater, locale, code)

        return self._store.write(job)

    def is_session_of(self, session: str, invitation: str) -> bool:
        """Return whether the session belongs to the holder of the invitation."""
        query = sa.select(RATERS.c.entry_hash).join_from(SESSIONS, RATERS, RATERS.c.id == SESSIONS.c.rater)
        with self._store.reading() as connection:
            known = connection.scalar(query.where(SESSIONS.c.hash == hashed(session)))
        return bool(known == hashed(invitation))

    def has_entered(self, key: str) -> Any:
        """Return id and state of the rater with this panel id, None if nobody has entered with it."""
        query = sa.select(RATERS.c.id, RATERS.c.state).where(RATERS.c.entry_hash == panel_hash(key))
        with self._store.reading() as connection:
            return connection.execute(query.where(RATERS.c.state != INVITED)).one_or_none()

    def _start_session(self, connection: sa.Connection, rater: Any, locale: str, code: str = "") -> str:
        """Return a new session beside older ones: another tab, or another browser."""
        session, now = secrets.token_urlsafe(32), self._store.clock()
        if rater.state == INVITED:
            known_by = code_hash(code) if code else ""
            _change(connection, rater.id, state=TESTING, locale=locale, entered=now, consented=now, code_hash=known_by)
        connection.execute(SESSIONS.insert().values(hash=hashed(session), rater=rater.id, begun=now))
        return session

    def in_session(self, session: str) -> Rater | None:
        """Return whose session it is."""
        counts = (
            sa.select(sa.func.count()).where(table.c.rater == RATERS.c.id).correlate(RATERS).scalar_subquery()
            for table in (TRIALS, ANSWERS, CHECKS)
        )
        columns = (RATERS.c.id, RATERS.c.state, RATERS.c.score, RATERS.c.questions, *counts)
        query = sa.select(*columns, RATERS.c.origin, RATERS.c.withdrawn_by)
        query = query.join_from(SESSIONS, RATERS, RATERS.c.id == SESSIONS.c.rater)
        with self._store.reading() as connection:
            row = connection.execute(query.where(SESSIONS.c.hash == hashed(session))).one_or_none()
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
            _change(connection, rater_id, questions=json.dumps(list(questions)))
            return tuple(questions)

        return self._store.write(job)

    def take_trial(self, rater_id: str, number: int, right: bool, *, asked: tuple[str, str], pass_share: float) -> bool:
        """Store the answer to one entrance question, and the result after the last.

        `asked` is the question's key and the replies. A replay changes nothing; False if its replies are others.
        """
        question, replies = asked

        def job(connection: sa.Connection) -> bool:
            rater = connection.execute(sa.select(RATERS).where(RATERS.c.id == rater_id).with_for_update()).one()
            total = len(json.loads(rater.questions or "[]"))
            rows = connection.execute(
                sa.select(TRIALS.c.number, TRIALS.c.right, TRIALS.c.replies).where(TRIALS.c.rater == rater_id)
            ).all()
            earlier = {row.number: row for row in rows}
            if number in earlier:
                return bool(earlier[number].replies == replies)
            if rater.state != TESTING or number != len(earlier) or number >= total:
                return True
            row = {"rater": rater_id, "number": number, "right": right, "question": question, "replies": replies}
            connection.execute(TRIALS.insert().values(row))
            if number + 1 == total:
                score = (sum(row.right for row in rows) + right) / total
                state = PASSED if score >= pass_share else FAILED
                _change(connection, rater_id, state=state, score=score)
            return True

        return self._store.write(job)

    def restart_tests(self) -> int:
        """Let everybody who has not finished the entrance test begin it again; return how many had begun."""

        def job(connection: sa.Connection) -> int:
            testing = sa.select(RATERS.c.id).where(RATERS.c.state == TESTING)
            begun = connection.scalar(
                sa.select(sa.func.count(sa.distinct(TRIALS.c.rater))).where(TRIALS.c.rater.in_(testing))
            )
            connection.execute(TRIALS.delete().where(TRIALS.c.rater.in_(testing)))
            connection.execute(RATERS.update().where(RATERS.c.state == TESTING).values(questions=""))
            return begun or 0

        return self._store.write(job)

    def withdraw(self, rater_id: str) -> int:
        """Take a rater's answers out of every count, for the administrator; return how many. Can be undone."""

        def job(connection: sa.Connection) -> int:
            state = self._lock(connection, rater_id)
            if state == WITHDRAWN:
                return 0
            _change(connection, rater_id, state=WITHDRAWN, previous_state=state, withdrawn_by=BY_ADMINISTRATOR)
            return self._mark(connection, rater_id, withdrawn=True)

        return self._store.write(job)

    def restore(self, rater_id: str) -> int:
        """Count a rater's answers again; return how many. A rater's own withdrawal cannot be undone."""

        def job(connection: sa.Connection) -> int:
            self._lock(connection, rater_id)
            rater = connection.execute(sa.select(RATERS).where(RATERS.c.id == rater_id)).one()
            if rater.state != WITHDRAWN or rater.withdrawn_by != BY_ADMINISTRATOR:
                return 0
            _change(connection, rater_id, state=rater.previous_state or PASSED, previous_state="", withdrawn_by="")
            return self._mark(connection, rater_id, withdrawn=False)

        return self._store.write(job)

    def leave(self, rater_id: str) -> int:
        """Delete a rater's answers at their own wish, for good; return how many."""

        def job(connection: sa.Connection) -> int:
            self._lock(connection, rater_id)
            self._release(connection, rater_id)
            answered = sorted(connection.scalars(sa.select(ANSWERS.c.sentence).where(ANSWERS.c.rater == rater_id)))
            for table in (ANSWERS, CHECKS, TRIALS):
                connection.execute(table.delete().where(table.c.rater == rater_id))
            _change(connection, rater_id, state=WITHDRAWN, withdrawn_by=BY_RATER, previous_state="", locale="")
            self._recount(connection, answered)
            return len(answered)

        return self._store.write(job)

    def _mark(self, connection: sa.Connection, rater_id: str, *, withdrawn: bool) -> int:
        self._release(connection, rater_id)
        by_rater = ANSWERS.c.rater == rater_id
        sentences = sorted(connection.scalars(sa.select(ANSWERS.c.sentence).where(by_rater)))
        connection.execute(ANSWERS.update().where(by_rater).values(withdrawn=withdrawn))
        self._recount(connection, sentences)
        return len(sentences)

    def _release(self, connection: sa.Connection, rater_id: str) -> None:
        """Take back the sentence the rater holds."""
        connection.execute(LEASES.delete().where(LEASES.c.rater == rater_id))

    def _lock(self, connection: sa.Connection, rater_id: str) -> str:
        rater = connection.execute(LOCK_RATER, {"who": rater_id}).one_or_none()
        if rater is None:
            raise UnknownRater(f"unknown rater {rater_id!r}")
        return str(rater.state)

    def all(self) -> list[RaterRecord]:
        """Return every rater."""
        names = ("id", "state", "score", "locale", "origin", "withdrawn_by")
        counts = (
            sa.select(sa.func.count()).where(CHECKS.c.rater == RATERS.c.id, right).correlate(RATERS).scalar_subquery()
            for right in (CHECKS.c.right, ~CHECKS.c.right)
        )
        query = sa.select(*(RATERS.c[name] for name in names), *counts).order_by(RATERS.c.id)
        with self._store.reading() as connection:
            return [RaterRecord(*row) for row in connection.execute(query)]


def _locked(connection: sa.Connection, entry: str) -> Any:
    """Return the rater with this entry, locked; None if there is none."""
    return connection.execute(sa.select(RATERS).where(RATERS.c.entry_hash == entry).with_for_update()).one_or_none()


def _change(connection: sa.Connection, rater_id: str, **values: Any) -> None:
    """Write these columns of a rater."""
    connection.execute(RATERS.update().where(RATERS.c.id == rater_id).values(values))


def code_hash(code: str) -> str:
    """Return what is stored of the code with which a rater comes back; blanks, hyphens and case do not matter."""
    return hashed(f"code:{''.join(letter for letter in code.casefold() if letter.isalnum())}")


def panel_hash(key: str) -> str:
    """Return what is stored of a panel id."""
    return hashed(f"panel:{key}")


def _new_rater(entry_hash: str, origin: str) -> dict[str, Any]:
    """Return what is known of a new rater; the tables say that nothing else has happened yet."""
    return {"id": secrets.token_hex(6), "entry_hash": entry_hash, "state": INVITED, "origin": origin}
