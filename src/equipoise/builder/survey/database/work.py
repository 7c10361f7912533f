"""Work: which sentence a rater is asked, and what becomes of the answer.

A sentence handed to a rater is leased to them; an answer needs the ticket of a lease, once. `wanted` is how many more
people a sentence may be handed to: what it needs to be settled, less those who hold it now.

Locks are taken in one order (rater, sentence, lease), and nobody waits for a second sentence while holding one, so
that two raters never wait for each other.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa

from ...verdict.consensus import Coverage, Tally, settled, votes_needed
from ...verdict.votes import PASSED, Vote
from . import tables as sql
from .connection import Store, hashed
from .tables import ANSWERS, LEASES, SENTENCES, TALLIES

SWEEP_S = 10.0
"""Seconds between two searches for sentences whose raters went away."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How sentences are handed out: when one is settled, how long it is held, how many a rater gets (0: all).

    `twin_gap` is the number of other sentences between two versions of one sentence, for one rater; None means that
    nobody sees two versions. `check_every` mixes in an attention check after that many sentences (0: never).
    """

    coverage: Coverage = field(default_factory=Coverage)
    lease_s: float = 900.0
    quota: int = 0
    twin_gap: int | None = None
    check_every: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence handed to a rater, and the ticket for the answer; `check` is the key of an attention check."""

    ticket: str
    text: str
    pronoun: str
    first: str
    second: str
    check: str = ""


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """The rater's last answer, which they may correct."""

    number: int
    question: Question
    vote: Vote
    comment: str


Judge = Callable[[str, Vote], bool]
"""Says whether an answer to an attention check (by its key) is right."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What an answer led to: whether it was stored, and the rater's state, number of answers and next question."""

    stored: bool
    rater: str
    state: str
    answers: int
    question: Question | None = None


class Work:
    """Hands out sentences and stores answers; every method is one transaction."""

    def __init__(self, store: Store, asking: Asking) -> None:
        self._store, self.asking = store, asking
        self.has_twins = False
        self.checks: Sequence[str] = ()
        self._swept = float("-inf")

    def question(self, rater_id: str) -> Question | None:
        """Return what the rater is asked now, handing out a sentence if they hold none; None if none is left."""
        with self._store.reading() as connection:
            held = self._held(connection, rater_id)
        if held:
            return held
        if self._store.clock() - self._swept > SWEEP_S:
            self._sweep()
        for _ in range(2):
            question = self._store.write(lambda connection: self._held_or_new(connection, rater_id))
            if question or not self._sweep():
                return question
        return None

    def _held_or_new(self, connection: sa.Connection, rater_id: str) -> Question | None:
        rater = connection.execute(sql.BY_ID, {"who": rater_id}).one_or_none()
        return self._held(connection, rater_id) or self._hand_out(connection, rater, wait=True)

    def answer(
        self, session: str, ticket: str, vote: Vote, comment: str = "", judge: Judge | None = None
    ) -> Progress | None:
        """Store the answer of the rater in this session and hand out the next sentence; None without such a session.

        An answer needs the ticket of the sentence that the rater holds now. `judge` says whether the answer to an
        attention check is the known one.
        """

        def job(connection: sa.Connection) -> Progress | None:
            who = {"who": hashed(session)}
            rater = connection.execute(sql.AT_WORK, who).one_or_none()
            if rater is not None:
                return self._answer(connection, rater, ticket, (vote, comment), judge, locked=True)
            rater = connection.execute(sql.BY_SESSION, who).one_or_none()
            return None if rater is None else self._answer(connection, rater, ticket, (vote, comment), judge)

        return self._store.write(job)

    def _answer(
        self,
        connection: sa.Connection,
        rater: Any,
        ticket: str,
        given: tuple[Vote, str],
        judge: Judge | None,
        *,
        locked: bool = False,
    ) -> Progress:
        refused = Progress(False, rater.id, rater.state, rater.answers)
        if rater.state != PASSED or rater.ticket is None or not secrets.compare_digest(rater.ticket, ticket):
            return refused
        now, (vote, comment), is_check = self._store.clock(), given, rater.check_key is not None
        seconds = round(now - rater.shown, 3)
        if is_check:
            right = judge is not None and judge(rater.check_key, vote)
            row = {"rater": rater.id, "number": rater.checks_right + rater.checks_wrong, "question": rater.check_key}
            connection.execute(sql.ADD_CHECK, row | {"right": right, "seconds": seconds, "at": now})
            connection.execute(sql.COUNT_RIGHT if right else sql.COUNT_WRONG, {"who": rater.id})
        else:
            self._count(
                connection,
                rater.sentence,
                ((vote, 1),),
                held=-1,
                known=rater if locked or self._store.is_sqlite else None,
            )
            row = {"sentence": rater.sentence, "rater": rater.id, "number": rater.answers, **vote._asdict()}
            row |= {"seconds": seconds, "withdrawn": False, "at": now, "comment": comment, "origin": rater.origin}
            connection.execute(sql.ADD_ANSWER, row)
            connection.execute(sql.COUNT_ANSWER, {"who": rater.id})
        # Without waiting: this transaction holds a sentence. If all others are busy, the next page looks again.
        question = self._hand_out(connection, rater, wait=False, done=not is_check, checked=is_check, has_lease=True)
        if question is None:
            connection.execute(sql.DROP_LEASE, {"who": rater.id})
        return Progress(True, rater.id, rater.state, rater.answers + (not is_check), question)

    def drop(self, rater_id: str, ticket: str) -> None:
        """Take back an attention check that is no longer part of the survey, and pass over it."""
        with self._store.writing() as connection:
            rater = connection.execute(sql.BY_ID, {"who": rater_id}).one_or_none()
            if rater is not None and rater.ticket == ticket and rater.check_key is not None:
                connection.execute(sql.DROP_LEASE, {"who": rater_id})
                self._hand_out(connection, rater, wait=False, checks=False)

    def last_answer(self, rater_id: str) -> LastAnswer | None:
        """Return the rater's most recent answer, None if there is none."""
        with self._store.reading() as connection:
            row = connection.execute(sql.LAST, {"who": rater_id}).one_or_none()
        if row is None:
            return None
        number, text, pronoun, first, second, *replies, comment = row
        return LastAnswer(number, Question("", text, pronoun, first, second), Vote(*replies), comment)

    def correct(self, rater_id: str, number: int, vote: Vote, comment: str = "") -> bool:
        """Replace the rater's most recent answer; False if `number` is not its number."""
        with self._store.writing() as connection:
            rater = connection.execute(sql.BY_ID, {"who": rater_id}).one_or_none()
            this_answer = sa.and_(ANSWERS.c.rater == rater_id, ANSWERS.c.number == number)
            old = connection.execute(sa.select(ANSWERS).where(this_answer)).one_or_none()
            if rater is None or rater.state != PASSED or old is None or number != rater.answers - 1:
                return False
            earlier = Vote(old.coherent, old.first, old.second)
            self._count(connection, old.sentence, ((earlier, -1), (vote, 1)))
            values = {**vote._asdict(), "comment": comment, "at": self._store.clock()}
            connection.execute(ANSWERS.update().where(this_answer).values(values))
            return True

    def recount(self, connection: sa.Connection, sentences: Sequence[str]) -> None:
        """Count the votes and holders of these sentences from scratch, in their order."""
        for id in sentences:
            this_sentence = SENTENCES.c.id == id
            active = connection.scalar(sa.select(SENTENCES.c.active).where(this_sentence).with_for_update())
            rows = connection.execute(
                sa.select(ANSWERS.c.coherent, ANSWERS.c.first, ANSWERS.c.second).where(
                    ANSWERS.c.sentence == id, ~ANSWERS.c.withdrawn
                )
            )
            tally = Tally.of(Vote(*row) for row in rows)
            held = connection.scalar(sa.select(sa.func.count()).where(LEASES.c.sentence == id)) or 0
            values = asdict(tally) | {"held": held} | self.standing(tally, held, active=bool(active))
            connection.execute(SENTENCES.update().where(this_sentence).values(values))

    def standing(self, tally: Tally, held: int, *, active: bool = True) -> dict[str, Any]:
        """Return the columns that follow from a sentence's votes: how many more it may be handed to, and settled."""
        wanted = max(0, votes_needed(tally, self.asking.coverage) - held) if active else 0
        return {"wanted": wanted, "settled": settled(tally, self.asking.coverage)}

    def _count(
        self,
        connection: sa.Connection,
        id: str,
        votes: Sequence[tuple[Vote, int]] = (),
        *,
        held: int = 0,
        known: Any = None,
    ) -> None:
        """Add votes to a sentence or take them away, and say anew how many more people it needs.

        `known` is a row with the sentence's counts that nobody else can change now.
        """
        row = known if known is not None else connection.execute(sql.LOCK_SENTENCE, {"which": id}).one()
        tally = Tally(*(getattr(row, name) for name in TALLIES))
        for vote, times in votes:
            tally = tally.plus(vote, times)
        holders = row.held + held
        values = asdict(tally) | {"held": holders} | self.standing(tally, holders, active=row.active)
        connection.execute(sql.SET_SENTENCE, values | {"which": id})

    def _held(self, connection: sa.Connection, rater_id: str) -> Question | None:
        row = connection.execute(sql.HELD, {"who": rater_id}).one_or_none()
        if row is None:
            return None
        ticket, check, *shown = row
        return Question(ticket, "", "", "", "", check) if check is not None else Question(ticket, *shown)

    def _hand_out(
        self,
        connection: sa.Connection,
        rater: Any,
        *,
        wait: bool,
        done: bool = False,
        checked: bool = False,
        checks: bool = True,
        has_lease: bool = False,
    ) -> Question | None:
        """Lease the sentence nearest to being settled that the rater may see, or an attention check.

        `done` and `checked` say that a sentence or a check was answered after the rater's row was read.
        """
        if rater is None or rater.state != PASSED:
            return None
        answered = rater.answers + done
        if self.asking.quota and answered >= self.asking.quota:
            return None
        check = self._due_check(rater, answered, checked) if checks else None
        if check is not None:
            return self._lease(connection, rater.id, None, check, has_lease=has_lease)
        hidden_from = 0 if self.asking.twin_gap is None else answered - self.asking.twin_gap
        row = self._take(connection, {"who": rater.id, "hidden_from": hidden_from}, wait=wait)
        return None if row is None else self._lease(connection, rater.id, row, None, has_lease=has_lease)

    def _take(self, connection: sa.Connection, who: dict[str, Any], *, wait: bool) -> Any:
        """Return the sentence to hand out, counted as held; None if there is none, or (unless waiting) all are busy."""
        statement = sql.take(self.has_twins, skip_locked=not self._store.is_sqlite)
        row = connection.execute(statement, who).one_or_none()
        while row is None and wait and not self._store.is_sqlite:
            # Sentences may be locked by others just now, which is not the same as none being left.
            if connection.execute(sql.best_sentence(self.has_twins), who).one_or_none() is None:
                return None
            row = connection.execute(sql.take(self.has_twins, skip_locked=False), who).one_or_none()
        return row

    def _due_check(self, rater: Any, answered: int, checked: bool) -> str | None:
        """Return the attention check that is due: each is shown to a rater once, in an order of their own."""
        shown = rater.checks_right + rater.checks_wrong + checked
        every = self.asking.check_every
        if not every or not self.checks or shown >= len(self.checks) or answered < every * (shown + 1):
            return None
        order = sorted(self.checks, key=lambda key: hash_order(rater.id, key))
        return str(order[shown])

    def _lease(
        self, connection: sa.Connection, rater_id: str, row: Any, check: str | None, *, has_lease: bool
    ) -> Question:
        now, ticket = self._store.clock(), secrets.token_urlsafe(16)
        values: Any = row if row is not None else (None, "", "", "", "")
        sentence, *shown = values
        lease = {"rater": rater_id, "sentence": sentence, "ticket": ticket, "check_key": check}
        lease |= {"shown": now, "expires": now + self.asking.lease_s}
        connection.execute(
            sql.MOVE_LEASE if has_lease else sql.ADD_LEASE, lease | ({"who": rater_id} if has_lease else {})
        )
        text, pronoun, first, second = shown
        return Question(ticket, text, pronoun, first, second, check or "")

    def _sweep(self) -> int:
        """Take sentences back from raters who went away, so that others are asked; return how many."""
        now = self._swept = self._store.clock()
        with self._store.reading() as connection:
            raters = list(connection.scalars(sql.EXPIRED, {"now": now}))
        for rater_id in raters:
            with self._store.writing() as connection:
                connection.execute(sql.BY_ID, {"who": rater_id})
                expired_lease = sa.and_(LEASES.c.rater == rater_id, LEASES.c.expires < now)
                held = list(connection.scalars(sa.select(LEASES.c.sentence).where(expired_lease)))
                if sentence := next(iter(held), None):
                    self._count(connection, sentence, held=-1)
                connection.execute(LEASES.delete().where(expired_lease))
        return len(raters)


def hash_order(rater_id: str, key: str) -> str:
    """Return a sort key that shuffles, differently for each rater and always the same for one."""
    return hashlib.sha256(f"{rater_id}:{key}".encode()).hexdigest()
