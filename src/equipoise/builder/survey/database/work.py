"""Work: which sentence a rater is asked, and what becomes of the answer.

A sentence handed to a rater is leased to them; an answer needs the ticket of a lease, once. `wanted` is how many more
people a sentence may be handed to: what it needs to be settled, less those who hold it now.

Locks are taken in one order (rater, sentence, lease), and nobody waits for a second sentence while holding one, so
that two raters never wait for each other.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa

from ...verdict.consensus import Coverage, Tally, settled, votes_needed
from ...verdict.votes import PASSED, Vote
from .connection import Store
from .tables import ANSWERS, CHECKS, LEASES, RATERS, SENTENCES, TALLIES

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
    text: str
    pronoun: str
    first: str
    second: str
    vote: Vote
    comment: str


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
            with self._store.writing() as connection:
                rater = self._lock_rater(connection, rater_id)
                question = self._held(connection, rater_id) or self._hand_out(connection, rater, wait=True)
            if question or not self._sweep():
                return question
        return None

    def answer(self, rater_id: str, ticket: str, vote: Vote, comment: str = "", *, right: bool | None = None) -> bool:
        """Store the answer and hand out the next sentence; False if the ticket is not, or no longer, the rater's.

        `right` says whether the answer to an attention check is the known one.
        """
        with self._store.writing() as connection:
            rater = self._lock_rater(connection, rater_id)
            own = LEASES.c.rater == rater_id
            lease = connection.execute(sa.select(LEASES).where(own)).one_or_none()
            if rater is None or rater.state != PASSED or lease is None:
                return False
            if not secrets.compare_digest(lease.ticket, ticket) or (lease.check_key is None) is not (right is None):
                return False
            now = self._store.clock()
            seconds = round(now - lease.shown, 3)
            if lease.check_key is not None:
                self._store_check(connection, rater, lease.check_key, bool(right), seconds)
            else:
                self._count(connection, lease.sentence, vote, held=-1)
                row = {"sentence": lease.sentence, "rater": rater_id, "number": rater.answers, **vote._asdict()}
                row |= {"seconds": seconds, "withdrawn": False, "at": now, "comment": comment, "origin": rater.origin}
                connection.execute(ANSWERS.insert().values(row))
                connection.execute(RATERS.update().where(RATERS.c.id == rater_id).values(answers=RATERS.c.answers + 1))
            connection.execute(LEASES.delete().where(own))
            # Without waiting: this transaction holds a sentence. If all others are busy, the next page looks again.
            is_check = lease.check_key is not None
            self._hand_out(connection, rater, wait=False, done=not is_check, checked=is_check)
            return True

    def check_of(self, rater_id: str, ticket: str) -> str | None:
        """Return the key of the attention check that this ticket is for, None if it is for a sentence."""
        query = sa.select(LEASES.c.check_key).where(LEASES.c.rater == rater_id, LEASES.c.ticket == ticket)
        with self._store.reading() as connection:
            return connection.scalar(query)

    def drop(self, rater_id: str, ticket: str) -> None:
        """Take back an attention check that is no longer part of the survey, and pass over it."""
        with self._store.writing() as connection:
            rater = self._lock_rater(connection, rater_id)
            own = sa.and_(LEASES.c.rater == rater_id, LEASES.c.ticket == ticket, LEASES.c.check_key.is_not(None))
            connection.execute(LEASES.delete().where(own))
            if rater is not None:
                self._hand_out(connection, rater, wait=False, checks=False)

    def last_answer(self, rater_id: str) -> LastAnswer | None:
        """Return the rater's most recent answer, None if there is none."""
        joined = sa.select(ANSWERS, *_shown()).join_from(ANSWERS, SENTENCES, SENTENCES.c.id == ANSWERS.c.sentence)
        newest = joined.where(ANSWERS.c.rater == rater_id).order_by(ANSWERS.c.number.desc()).limit(1)
        labelled = newest.with_only_columns(
            *(ANSWERS.c.number, *_shown()), *(ANSWERS.c[name] for name in ("coherent", "first", "second", "comment"))
        )
        with self._store.reading() as connection:
            row = connection.execute(labelled).one_or_none()
        if row is None:
            return None
        values: Any = tuple(row)
        number, text, pronoun, first, second, *replies, comment = values
        return LastAnswer(number, text, pronoun, first, second, Vote(*replies), comment)

    def correct(self, rater_id: str, number: int, vote: Vote, comment: str = "") -> bool:
        """Replace the rater's most recent answer; False if `number` is not its number."""
        with self._store.writing() as connection:
            rater = self._lock_rater(connection, rater_id)
            own = sa.and_(ANSWERS.c.rater == rater_id, ANSWERS.c.number == number)
            old = connection.execute(sa.select(ANSWERS).where(own)).one_or_none()
            if rater is None or rater.state != PASSED or old is None or number != rater.answers - 1:
                return False
            self._count(connection, old.sentence, Vote(old.coherent, old.first, old.second), times=-1)
            self._count(connection, old.sentence, vote)
            values = {**vote._asdict(), "comment": comment, "at": self._store.clock()}
            connection.execute(ANSWERS.update().where(own).values(values))
            return True

    def recount(self, connection: sa.Connection, sentences: Sequence[str]) -> None:
        """Count the votes and holders of these sentences from scratch, in their order."""
        for id in sentences:
            own = SENTENCES.c.id == id
            active = connection.scalar(sa.select(SENTENCES.c.active).where(own).with_for_update())
            rows = connection.execute(
                sa.select(ANSWERS.c.coherent, ANSWERS.c.first, ANSWERS.c.second).where(
                    ANSWERS.c.sentence == id, ~ANSWERS.c.withdrawn
                )
            )
            tally = Tally.of(Vote(*row) for row in rows)
            held = connection.scalar(sa.select(sa.func.count()).where(LEASES.c.sentence == id)) or 0
            values = asdict(tally) | {"held": held} | self.standing(tally, held, active=bool(active))
            connection.execute(SENTENCES.update().where(own).values(values))

    def standing(self, tally: Tally, held: int, *, active: bool = True) -> dict[str, Any]:
        """Return the columns that follow from a sentence's votes: how many more it may be handed to, and settled."""
        wanted = max(0, votes_needed(tally, self.asking.coverage) - held) if active else 0
        return {"wanted": wanted, "settled": settled(tally, self.asking.coverage)}

    def _count(self, connection: sa.Connection, id: str, vote: Vote, *, times: int = 1, held: int = 0) -> None:
        """Add a vote to a sentence, and say anew how many more it needs."""
        change = asdict(Tally().plus(vote, times)) | {"held": held}
        own = SENTENCES.c.id == id
        added = {name: SENTENCES.c[name] + step for name, step in change.items() if step}
        returned = [SENTENCES.c[name] for name in (*TALLIES, "held", "active")]
        *counts, holders, active = connection.execute(
            SENTENCES.update().where(own).values(added).returning(*returned)
        ).one()
        values = self.standing(Tally(*counts), holders, active=active)
        connection.execute(SENTENCES.update().where(own).values(values))

    def _store_check(self, connection: sa.Connection, rater: Any, key: str, right: bool, seconds: float) -> None:
        number = rater.checks_right + rater.checks_wrong
        row = {"rater": rater.id, "number": number, "question": key, "right": right, "seconds": seconds}
        connection.execute(CHECKS.insert().values(row | {"at": self._store.clock()}))
        name = "checks_right" if right else "checks_wrong"
        connection.execute(RATERS.update().where(RATERS.c.id == rater.id).values({name: RATERS.c[name] + 1}))

    def _lock_rater(self, connection: sa.Connection, rater_id: str) -> Any:
        """Return the rater's row; two tabs of one rater take turns from here."""
        return connection.execute(sa.select(RATERS).where(RATERS.c.id == rater_id).with_for_update()).one_or_none()

    def _held(self, connection: sa.Connection, rater_id: str) -> Question | None:
        both = sa.select(LEASES.c.ticket, LEASES.c.check_key, *_shown()).join_from(
            LEASES, SENTENCES, SENTENCES.c.id == LEASES.c.sentence, isouter=True
        )
        row = connection.execute(both.where(LEASES.c.rater == rater_id)).one_or_none()
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
    ) -> Question | None:
        """Lease the sentence nearest to being settled that the rater may see, or an attention check.

        `done` and `checked` say that a sentence or a check was answered after the rater's row was read.
        """
        answered = rater.answers + done
        if rater.state != PASSED or (self.asking.quota and answered >= self.asking.quota):
            return None
        check = self._due_check(rater, answered, checked) if checks else None
        if check is not None:
            return self._lease(connection, rater.id, None, check)
        best = self._best(rater.id, answered)
        row = connection.execute(best.with_for_update(skip_locked=True, of=SENTENCES)).one_or_none()
        while row is None and wait:
            # Sentences may be locked by others just now, which is not the same as none being left.
            if connection.execute(best).one_or_none() is None:
                return None
            row = connection.execute(best.with_for_update(of=SENTENCES)).one_or_none()
        if row is None:
            return None
        taken = {"held": SENTENCES.c.held + 1, "wanted": SENTENCES.c.wanted - 1}
        connection.execute(SENTENCES.update().where(SENTENCES.c.id == row[0]).values(taken))
        return self._lease(connection, rater.id, row, None)

    def _due_check(self, rater: Any, answered: int, checked: bool) -> str | None:
        """Return the attention check that is due: each is shown to a rater once, in an order of their own."""
        shown = rater.checks_right + rater.checks_wrong + checked
        every = self.asking.check_every
        if not every or not self.checks or shown >= len(self.checks) or answered < every * (shown + 1):
            return None
        order = sorted(self.checks, key=lambda key: hash_order(rater.id, key))
        return str(order[shown])

    def _best(self, rater_id: str, answered: int) -> sa.Select[Any]:
        seen = sa.exists().where(ANSWERS.c.sentence == SENTENCES.c.id, ANSWERS.c.rater == rater_id)
        best = sa.select(SENTENCES.c.id, *_shown()).where(SENTENCES.c.wanted > 0, ~seen)
        if self.has_twins:
            hidden_from = 0 if self.asking.twin_gap is None else answered - self.asking.twin_gap
            own = sa.and_(ANSWERS.c.rater == rater_id, ANSWERS.c.number >= hidden_from)
            twin = SENTENCES.alias("twin")
            seen_twin = sa.exists().where(ANSWERS.c.sentence == twin.c.id, own)
            best = best.where(~sa.exists().where(twin.c.pair == SENTENCES.c.pair, seen_twin))
        return best.order_by(SENTENCES.c.wanted, SENTENCES.c.shuffle).limit(1)

    def _lease(self, connection: sa.Connection, rater_id: str, row: Any, check: str | None) -> Question:
        now, ticket = self._store.clock(), secrets.token_urlsafe(16)
        values: Any = row if row is not None else (None, "", "", "", "")
        sentence, *shown = values
        lease = {"rater": rater_id, "sentence": sentence, "ticket": ticket, "check_key": check}
        connection.execute(LEASES.insert().values(**lease, shown=now, expires=now + self.asking.lease_s))
        text, pronoun, first, second = shown
        return Question(ticket, text, pronoun, first, second, check or "")

    def _sweep(self) -> int:
        """Take sentences back from raters who went away, so that others are asked; return how many."""
        now = self._swept = self._store.clock()
        with self._store.reading() as connection:
            expired = sa.select(LEASES.c.rater).where(LEASES.c.expires < now).limit(50)
            raters = list(connection.scalars(expired))
        for rater_id in raters:
            with self._store.writing() as connection:
                self._lock_rater(connection, rater_id)
                own = sa.and_(LEASES.c.rater == rater_id, LEASES.c.expires < now)
                held = list(connection.scalars(sa.select(LEASES.c.sentence).where(own)))
                if sentence := next(iter(held), None):
                    self._count(connection, sentence, Vote(None, None, None), times=0, held=-1)
                connection.execute(LEASES.delete().where(own))
        return len(raters)


def hash_order(rater_id: str, key: str) -> str:
    """Return a sort key that shuffles, differently for each rater and always the same for one."""
    return hashlib.sha256(f"{rater_id}:{key}".encode()).hexdigest()


def _shown() -> tuple[Any, ...]:
    return SENTENCES.c.text, SENTENCES.c.pronoun, SENTENCES.c.first, SENTENCES.c.second
