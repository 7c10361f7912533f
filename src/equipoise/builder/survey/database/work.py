"""Work: which sentence a rater is asked, and what becomes of the answer.

A sentence handed to a rater is leased to them; an answer needs the ticket of a lease. The ticket stays with the answer,
so that the same form sent twice, late or from a second tab is recognised.

Every transaction locks the rater first, then reads the lease anew, then locks sentences: two requests of one rater take
turns, and what one of them did is seen by the next. Nobody waits for a second sentence while holding one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from ....files import sha256
from ...verdict.consensus import Rule, votes_needed
from ...verdict.votes import PASSED, Vote
from . import tables as sql
from .connection import Store, hashed
from .tables import ANSWERS, CHECKS, LEASES, SENTENCES

SWEEP_S = 10.0
"""Seconds between two searches for sentences whose raters went away."""

STORED, REPEATED, OTHER, STALE, REFUSED = "stored", "repeated", "other", "stale", "refused"
"""What became of an answer: stored; the same as before; another one to the same ticket; without a lease; refused."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How sentences are handed out: when one is settled, how long it is held, how many a rater gets (0: all).

    `twin_gap` is the number of other sentences between two versions of one sentence, for one rater; None means that
    nobody sees two versions. `check_every` mixes in an attention check among that many sentences (0: never).
    """

    rule: Rule = field(default_factory=Rule)
    lease_s: float = 900.0
    quota: int = 0
    twin_gap: int | None = None
    check_every: int = 0

    def length(self, checks: int) -> int:
        """Return how many questions a rater with a quota answers, the attention checks among them; 0 without one."""
        return self.quota + (min(checks, self.quota // self.check_every) if self.check_every else 0)


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
    """The rater's last answer, which they may correct; an attention check looks like any other."""

    question: Question
    vote: Vote
    comment: str


Judge = Callable[[str, Vote], bool]
"""Says whether an answer to an attention check (by its key) is right."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What an answer led to: what became of it, and the rater's state, number of replies and next question."""

    result: str
    state: str
    answered: int = 0
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class _Done:
    """How many sentences and attention checks a rater has answered."""

    sentences: int
    checks: int


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
            held = _held(connection, rater_id)
        if held:
            return held
        if self._store.clock() - self._swept > SWEEP_S:
            self.sweep()
        for _ in range(2):
            question = self._store.write(lambda connection: self._held_or_new(connection, rater_id))
            if question or not self.sweep():
                return question
        return None

    def _held_or_new(self, connection: sa.Connection, rater_id: str) -> Question | None:
        rater = connection.execute(sql.LOCK_RATER, {"who": rater_id}).one_or_none()
        if rater is None or rater.state != PASSED:
            return None
        return _held(connection, rater_id) or self._hand_out(connection, rater_id, _done(connection, rater_id))

    def answer(
        self, session: str, ticket: str, vote: Vote, comment: str = "", judge: Judge | None = None
    ) -> Progress | None:
        """Store the answer of the rater in this session and hand out the next sentence; None without such a session.

        The same answer to the same ticket may come any number of times. `judge` says whether the answer to an attention
        check is the known one.
        """

        def job(connection: sa.Connection) -> Progress | None:
            rater = connection.execute(sql.LOCK_SESSION, {"who": hashed(session)}).one_or_none()
            if rater is None:
                return None
            if rater.state != PASSED:
                return Progress(REFUSED, rater.state)
            lease = connection.execute(sql.LOCK_LEASE, {"who": rater.id}).one_or_none()
            if lease is None or not secrets.compare_digest(lease.ticket, ticket):
                return Progress(self._late(connection, rater.id, ticket, vote, comment), rater.state)
            return self._store_answer(connection, rater, lease, (vote, comment), judge)

        return self._store.write(job)

    def _late(self, connection: sa.Connection, rater_id: str, ticket: str, vote: Vote, comment: str) -> str:
        """Return what a form is whose ticket is not the present one: the same answer, another one, or too late."""
        given = _given_to(connection, rater_id, ticket)
        if given is None:
            return STALE
        same = self.asking.rule.questions.read(given.replies) == vote
        # The comment on an attention check is not stored, so it cannot differ.
        return REPEATED if same and (given.comment == comment or given.table == "checks") else OTHER

    def _store_answer(
        self, connection: sa.Connection, rater: Any, lease: Any, given: tuple[Vote, str], judge: Judge | None
    ) -> Progress:
        now, (vote, comment), is_check = self._store.clock(), given, lease.check_key is not None
        done = _done(connection, rater.id)
        row = {"rater": rater.id, "ticket": lease.ticket, "seconds": round(now - lease.shown, 3), "at": now}
        row["replies"] = self.asking.rule.questions.as_text(vote)
        if is_check:
            right = judge is not None and judge(lease.check_key, vote)
            connection.execute(
                sql.ADD_CHECK, row | {"number": done.checks, "question": lease.check_key, "right": right}
            )
        else:
            sentence = connection.execute(sql.LOCK_SENTENCE, {"which": lease.sentence}).one()
            row |= {"sentence": lease.sentence, "number": done.sentences, "comment": comment}
            connection.execute(sql.ADD_ANSWER, row | {"withdrawn": False, "origin": rater.origin})
            self._count(connection, lease.sentence, sentence)
        done = _Done(done.sentences + (not is_check), done.checks + is_check)
        # Without waiting: this transaction holds a sentence. If all others are busy, the next page looks again.
        question = self._hand_out(connection, rater.id, done, holds_lease=True)
        if question is None:
            connection.execute(sql.DROP_LEASE, {"who": rater.id})
        return Progress(STORED, rater.state, done.sentences + done.checks, question)

    def drop(self, rater_id: str, ticket: str) -> None:
        """Take back an attention check that is no longer part of the survey, and pass over it."""

        def job(connection: sa.Connection) -> None:
            connection.execute(sql.LOCK_RATER, {"who": rater_id})
            lease = connection.execute(sql.LOCK_LEASE, {"who": rater_id}).one_or_none()
            if lease is not None and lease.ticket == ticket and lease.check_key is not None:
                connection.execute(sql.DROP_LEASE, {"who": rater_id})
                self._hand_out(connection, rater_id, _done(connection, rater_id), checks=False)

        self._store.write(job)

    def last_answer(self, rater_id: str) -> LastAnswer | None:
        """Return the rater's most recent answer, None if there is none; a check has no text but its key."""
        with self._store.reading() as connection:
            last = _last(connection, rater_id)
            if last is None:
                return None
            shown = connection.execute(sa.select(*sql.SHOWN).where(SENTENCES.c.id == last.about)).one_or_none()
        text, pronoun, first, second = shown or ("", "", "", "")
        question = Question(last.ticket, text, pronoun, first, second, last.about if last.table == "checks" else "")
        return LastAnswer(question, self.asking.rule.questions.read(last.replies), last.comment)

    def correct(self, rater_id: str, ticket: str, vote: Vote, comment: str = "", judge: Judge | None = None) -> bool:
        """Replace the rater's most recent answer; False if `ticket` is not its ticket."""

        def job(connection: sa.Connection) -> bool:
            rater = connection.execute(sql.LOCK_RATER, {"who": rater_id}).one_or_none()
            last = _last(connection, rater_id)
            if rater is None or rater.state != PASSED or last is None or not ticket or last.ticket != ticket:
                return False
            values: dict[str, Any] = {"replies": self.asking.rule.questions.as_text(vote)}
            if last.table == "checks":
                right = judge is not None and judge(last.about, vote)
                mine = sa.and_(CHECKS.c.rater == rater_id, CHECKS.c.number == last.number)
                connection.execute(CHECKS.update().where(mine).values(values | {"right": right}))
                return True
            sentence = connection.execute(sql.LOCK_SENTENCE, {"which": last.about}).one()
            mine = sa.and_(ANSWERS.c.rater == rater_id, ANSWERS.c.sentence == last.about)
            connection.execute(ANSWERS.update().where(mine).values(values | {"comment": comment}))
            self._count(connection, last.about, sentence)
            return True

        return self._store.write(job)

    def recount(self, connection: sa.Connection, sentences: Iterable[str]) -> None:
        """Say anew how many votes each of these sentences needs, in their order."""
        for id in sentences:
            self._count(connection, id, connection.execute(sql.LOCK_SENTENCE, {"which": id}).one())

    def _count(self, connection: sa.Connection, id: str, sentence: Any) -> None:
        """Write what follows from the answers to a sentence that this transaction has locked."""
        replies = connection.scalars(sql.VOTES, {"which": id}).all()
        connection.execute(
            sql.SET_SENTENCE, self.standing(replies, sentence.type, active=sentence.active) | {"which": id}
        )

    def standing(self, replies: Iterable[str], type: str, *, active: bool = True) -> dict[str, Any]:
        """Return the columns that follow from the answers to a sentence: needed votes, and whether it is settled."""
        rule = self.asking.rule
        needed = votes_needed(map(rule.questions.read, replies), type, rule)
        return {"needed": needed if active else 0, "settled": needed == 0}

    def _hand_out(
        self, connection: sa.Connection, rater_id: str, done: _Done, *, checks: bool = True, holds_lease: bool = False
    ) -> Question | None:
        """Lease the sentence nearest to being settled that the rater may see, or an attention check."""
        if self.asking.quota and done.sentences >= self.asking.quota:
            return None
        check = self._due_check(rater_id, done) if checks else None
        if check is not None:
            return self._lease(connection, rater_id, None, check, moves=holds_lease)
        hidden_from = 0 if self.asking.twin_gap is None else done.sentences - self.asking.twin_gap
        who = {"who": rater_id} | ({"hidden_from": hidden_from} if self.has_twins else {})
        row = self._take(connection, who, wait=not holds_lease)
        return None if row is None else self._lease(connection, rater_id, row, None, moves=holds_lease)

    def _take(self, connection: sa.Connection, who: dict[str, Any], *, wait: bool) -> Any:
        """Return the sentence to hand out, locked; None if there is none, or (unless waiting) all are busy."""
        skips = not self._store.is_sqlite
        while True:
            id = connection.scalar(sql.best_sentence(self.has_twins, skip_locked=skips), who)
            if id is None and wait and skips:
                # Sentences may be locked by others just now, which is not the same as none being left.
                id = connection.scalar(sql.best_sentence(self.has_twins, skip_locked=False), who)
            if id is None:
                return None
            # Read again with the lock in hand: others may have leased or answered it since the search began.
            row = connection.execute(sql.LOCK_SENTENCE, {"which": id}).one()
            if row.needed > (connection.scalar(sql.HOLDERS, {"which": id}) or 0):
                return (id, row.text, row.pronoun, row.first, row.second)

    def _due_check(self, rater_id: str, done: _Done) -> str | None:
        """Return the attention check that is due: one among every N sentences, at a place of the rater's own."""
        every = self.asking.check_every
        if not every or done.checks >= len(self.checks):
            return None
        place = every * done.checks + int(hash_order(rater_id, f"place {done.checks}"), 16) % every
        if done.sentences < place:
            return None
        return sorted(self.checks, key=lambda key: hash_order(rater_id, key))[done.checks]

    def _lease(self, connection: sa.Connection, rater_id: str, row: Any, check: str | None, *, moves: bool) -> Question:
        now, ticket = self._store.clock(), secrets.token_urlsafe(16)
        sentence, *shown = row if row is not None else (None, "", "", "", "")
        lease = {"rater": rater_id, "sentence": sentence, "ticket": ticket, "check_key": check}
        lease |= {"shown": now, "expires": now + self.asking.lease_s}
        connection.execute(sql.MOVE_LEASE if moves else sql.ADD_LEASE, lease | ({"who": rater_id} if moves else {}))
        text, pronoun, first, second = shown
        return Question(ticket, text, pronoun, first, second, check or "")

    def sweep(self) -> int:
        """Take sentences back from raters who went away, so that others are asked; return how many."""
        now = self._swept = self._store.clock()
        with self._store.reading() as connection:
            raters = list(connection.scalars(sql.EXPIRED, {"now": now}))
        for rater_id in raters:

            def job(connection: sa.Connection, who: str = rater_id) -> None:
                connection.execute(sql.LOCK_RATER, {"who": who})
                connection.execute(LEASES.delete().where(LEASES.c.rater == who, LEASES.c.expires < now))

            self._store.write(job)
        return len(raters)


def _held(connection: sa.Connection, rater_id: str) -> Question | None:
    row = connection.execute(sql.HELD, {"who": rater_id}).one_or_none()
    if row is None:
        return None
    ticket, check, *shown = row
    return Question(ticket, "", "", "", "", check) if check is not None else Question(ticket, *shown)


def _done(connection: sa.Connection, rater_id: str) -> _Done:
    return _Done(*connection.execute(sql.DONE, {"who": rater_id}).one())


def _last(connection: sa.Connection, rater_id: str) -> Any:
    """Return what the rater answered last, None if nothing."""
    rows = [connection.execute(statement, {"who": rater_id}).one_or_none() for statement in sql.LAST]
    return max((row for row in rows if row is not None), key=lambda row: row.at or 0.0, default=None)


def _given_to(connection: sa.Connection, rater_id: str, ticket: str) -> Any:
    """Return the rater's answer that used up this ticket, None if there is none."""
    rows = [connection.execute(statement, {"who": rater_id, "ticket": ticket}).first() for statement in sql.GIVEN]
    return next((row for row in rows if row is not None), None) if ticket else None


def hash_order(rater_id: str, key: str) -> str:
    """Return a sort key that shuffles, differently for each rater and always the same for one."""
    return sha256(f"{rater_id}:{key}")
