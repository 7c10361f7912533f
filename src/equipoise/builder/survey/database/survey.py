"""All SQL of the survey, on SQLite or PostgreSQL: who is asked what, and what they answered.

A sentence handed to a rater is leased to them; an answer is taken only with the ticket of a lease, once. `wanted` is
how many more people a sentence may be handed to: what it needs to be settled, less those who have it now.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import event, exc

from ...steps import BuildError, Sentence
from ...verdict.consensus import Coverage, settled, votes_needed
from ...verdict.summary import Summary, summarise
from ...verdict.votes import FAILED, INVITED, PASSED, TESTING, WITHDRAWN, Answer, RaterRecord, Vote

_META = sa.MetaData()
_SENTENCES = sa.Table(
    "sentences",
    _META,
    *(sa.Column(name, sa.String, primary_key=name == "id") for name in ("id", "pair", "text", "pronoun")),
    *(sa.Column(name, sa.String) for name in ("first", "second")),
    sa.Column("shuffle", sa.Float),
    *(sa.Column(name, sa.Integer) for name in ("votes", "wanted")),
    sa.Column("settled", sa.Boolean),
)
_RATERS = sa.Table(
    "raters",
    _META,
    *(sa.Column(name, sa.String, primary_key=name == "id") for name in ("id", "entry_hash", "session_hash")),
    *(sa.Column(name, sa.String) for name in ("state", "locale")),
    sa.Column("score", sa.Float),
)
_TRIALS = sa.Table(
    "trials",
    _META,
    sa.Column("rater", sa.String, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("right", sa.Boolean),
)
_LEASES = sa.Table(
    "leases",
    _META,
    sa.Column("rater", sa.String, primary_key=True),
    *(sa.Column(name, sa.String) for name in ("sentence", "ticket")),
    *(sa.Column(name, sa.Float) for name in ("shown", "expires")),
)
_ANSWERS = sa.Table(
    "answers",
    _META,
    *(sa.Column(name, sa.String, primary_key=True) for name in ("sentence", "rater")),
    sa.Column("number", sa.Integer),
    *(sa.Column(name, sa.Boolean) for name in ("coherent", "first", "second", "withdrawn")),
    sa.Column("seconds", sa.Float),
)


@dataclass(frozen=True, slots=True)
class Asking:
    """How sentences are handed out: when one is settled, how long it is held, how many a rater gets (0: all).

    `twin_gap` is how many other sentences lie between two that differ only in the pronoun, for one rater; None
    means that nobody sees both.
    """

    coverage: Coverage = field(default_factory=Coverage)
    lease_s: float = 900.0
    quota: int = 0
    twin_gap: int | None = None


@dataclass(frozen=True, slots=True)
class Rater:
    """Somebody who entered: their state, score in the entrance test, and how much they did."""

    id: str
    state: str
    score: float | None
    trials: int
    answers: int


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence handed to a rater, and the ticket their answer needs."""

    ticket: str
    text: str
    pronoun: str
    first: str
    second: str


def hashed(secret: str) -> str:
    """Return what is stored of a secret: its SHA-256."""
    return hashlib.sha256(secret.encode()).hexdigest()


class SurveyDatabase:
    """The survey's tables; every method is one transaction, and safe to call from many threads and processes."""

    def __init__(self, url: str, asking: Asking | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.asking, self._clock = asking or Asking(), clock
        try:
            self._engine = sa.create_engine(_with_driver(url), pool_size=20, max_overflow=30)
            sqlite = self._engine.dialect.name == "sqlite"
            if sqlite:
                event.listen(self._engine, "connect", _configure_sqlite)
                event.listen(self._engine, "begin", _begin_immediate)
            # SQLite lets one writer in; a fair queue here beats its polling for the lock.
            self._turn = threading.Lock() if sqlite else nullcontext()
            self._migrate()
        except (exc.ArgumentError, exc.NoSuchModuleError, ImportError):
            raise BuildError("a database is named sqlite:///FILE or postgresql://USER@HOST/NAME") from None
        except exc.DBAPIError as error:
            reason = (str(error.orig).strip() or type(error.orig).__name__).splitlines()[0]
            raise BuildError(f"the survey's database cannot be opened ({reason})") from None

    def _migrate(self) -> None:
        config = Config()
        config.set_main_option("script_location", str(resources.files(__package__).joinpath("migrations")))
        with self._transaction() as connection:
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError:
                newest = ScriptDirectory.from_config(config).get_current_head()
                raise BuildError(
                    f"the survey's database was written by a newer Equipoise: this one knows version {newest}"
                ) from None

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with self._turn, self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    def load(self, sentences: Iterable[Sentence], *, twins: bool = False, seed: int = 0) -> int:
        """Add the sentences (and their twins) that are not there yet, shuffled; return how many were added."""
        rng = random.Random(seed)
        rows = []
        for one in sentences:
            both = [(one.id, one.text, one.pronoun), (f"{one.id}-twin", one.twin, one.twin_pronoun)]
            for id, text, pronoun in both if twins else both[:1]:
                row: dict[str, Any] = {"id": id, "pair": one.id, "text": text, "pronoun": pronoun, "first": one.first}
                row |= {"second": one.second, "shuffle": rng.random(), "votes": 0}
                rows.append({**row, "wanted": self.asking.coverage.enough, "settled": False})
        with self._transaction() as connection:
            there = set(connection.scalars(sa.select(_SENTENCES.c.id)))
            new = [row for row in rows if row["id"] not in there]
            if new:
                connection.execute(_SENTENCES.insert(), new)
        return len(new)

    def invite(self, count: int) -> list[str]:
        """Return so many new invitations; only their hashes are stored, so they cannot be shown again."""
        tokens = [secrets.token_urlsafe(32) for _ in range(count)]
        with self._transaction() as connection:
            if tokens:
                connection.execute(_RATERS.insert(), [_new_rater(hashed(token)) for token in tokens])
        return tokens

    def enter(self, invitation: str, *, locale: str = "") -> str | None:
        """Return a new session for the holder of an invitation, ending their older one; None if there is no such."""
        with self._transaction() as connection:
            found = _RATERS.c.entry_hash == hashed(invitation)
            rater = connection.execute(sa.select(_RATERS).where(found).with_for_update()).one_or_none()
            return self._start_session(connection, rater, locale) if rater else None

    def is_invited(self, invitation: str) -> bool:
        """Return whether there is such an invitation."""
        with self._transaction() as connection:
            return bool(connection.scalar(sa.select(_RATERS.c.id).where(_RATERS.c.entry_hash == hashed(invitation))))

    def enter_by_id(self, outside_id: str, *, locale: str = "") -> str | None:
        """Return a session for a new id of a panel; None if it has entered before: only that browser goes on."""
        entry = hashed(f"panel:{outside_id}")
        try:
            with self._transaction() as connection:
                connection.execute(_RATERS.insert().values(_new_rater(entry)))
                rater = connection.execute(sa.select(_RATERS).where(_RATERS.c.entry_hash == entry)).one()
                return self._start_session(connection, rater, locale)
        except exc.IntegrityError:
            return None

    def _start_session(self, connection: sa.Connection, rater: Any, locale: str) -> str:
        session = secrets.token_urlsafe(32)
        values: dict[str, Any] = {"session_hash": hashed(session)}
        if rater.state == INVITED:
            values |= {"state": TESTING, "locale": locale}
        connection.execute(_RATERS.update().where(_RATERS.c.id == rater.id).values(values))
        return session

    def rater(self, session: str) -> Rater | None:
        """Return whose session it is."""
        with self._transaction() as connection:
            answers = sa.select(sa.func.count()).where(_ANSWERS.c.rater == _RATERS.c.id).scalar_subquery()
            trials = sa.select(sa.func.count()).where(_TRIALS.c.rater == _RATERS.c.id).scalar_subquery()
            columns = (_RATERS.c.id, _RATERS.c.state, _RATERS.c.score, trials, answers)
            row = connection.execute(sa.select(*columns).where(_RATERS.c.session_hash == hashed(session))).one_or_none()
            return Rater(*row) if row else None

    def take_trial(self, rater_id: str, number: int, right: bool, *, of: int, pass_share: float) -> bool:
        """Store the answer to one question of the entrance test, and after the last the result; False for a replay."""
        with self._transaction() as connection:
            mine = _RATERS.c.id == rater_id
            rater = connection.execute(sa.select(_RATERS).where(mine).with_for_update()).one()
            so_far = list(connection.scalars(sa.select(_TRIALS.c.right).where(_TRIALS.c.rater == rater_id)))
            if rater.state != TESTING or number != len(so_far) or number >= of:
                return False
            connection.execute(_TRIALS.insert().values(rater=rater_id, number=number, right=right))
            if number + 1 == of:
                score = (sum(so_far) + right) / of
                state = PASSED if score >= pass_share else FAILED
                connection.execute(_RATERS.update().where(mine).values(state=state, score=score))
            return True

    def question(self, rater_id: str) -> Question | None:
        """Return what the rater is asked now, handing out a sentence if they have none; None if none is left."""
        # Apart, as answering is: whoever waits for a sentence's row holds no other, so nobody waits in a circle.
        self._release_expired()
        with self._transaction() as connection:
            self._lock_rater(connection, rater_id)
            return self._held(connection, rater_id) or self._hand_out(connection, rater_id)

    def answer(self, rater_id: str, ticket: str, vote: Vote) -> bool:
        """Store the answer; False if the ticket is not, or no longer, the rater's."""
        with self._transaction() as connection:
            if self._lock_rater(connection, rater_id) != PASSED:
                return False
            mine = _LEASES.c.rater == rater_id
            lease = connection.execute(sa.select(_LEASES).where(mine).with_for_update()).one_or_none()
            if lease is None or not secrets.compare_digest(lease.ticket, ticket):
                return False
            # Before the answer goes in: its foreign key shares the sentence's row, and two sharers deadlock over it.
            _lock_sentence(connection, lease.sentence)
            connection.execute(_LEASES.delete().where(mine))
            number = self._answered(connection, rater_id)
            values = {"sentence": lease.sentence, "rater": rater_id, "number": number, **vote._asdict()}
            values |= {"seconds": round(self._clock() - lease.shown, 3), "withdrawn": False}
            connection.execute(_ANSWERS.insert().values(values))
            self._refresh(connection, lease.sentence)
            return True

    def withdraw(self, rater_id: str) -> int:
        """Take a rater's answers out of every count, ask their sentences again, and let them answer no more."""
        with self._transaction() as connection:
            if self._lock_rater(connection, rater_id) is None:
                raise BuildError(f"there is no rater {rater_id!r}")
            connection.execute(_RATERS.update().where(_RATERS.c.id == rater_id).values(state=WITHDRAWN))
            mine = sa.select(_ANSWERS.c.sentence).where(_ANSWERS.c.rater == rater_id, ~_ANSWERS.c.withdrawn)
            sentences = sorted(connection.scalars(mine))
            connection.execute(_ANSWERS.update().where(_ANSWERS.c.rater == rater_id).values(withdrawn=True))
            held = list(connection.scalars(sa.select(_LEASES.c.sentence).where(_LEASES.c.rater == rater_id)))
            connection.execute(_LEASES.delete().where(_LEASES.c.rater == rater_id))
            for sentence in sorted({*sentences, *held}):
                self._refresh(connection, sentence)
            return len(sentences)

    def answers(self) -> list[Answer]:
        """Return every answer, withdrawn ones marked."""
        with self._transaction() as connection:
            rows = connection.execute(sa.select(_ANSWERS).order_by(_ANSWERS.c.sentence, _ANSWERS.c.rater))
            return [
                Answer(r.sentence, r.rater, r.number, Vote(r.coherent, r.first, r.second), r.seconds, r.withdrawn)
                for r in rows
            ]

    def raters(self) -> list[RaterRecord]:
        """Return every rater."""
        with self._transaction() as connection:
            columns = (_RATERS.c.id, _RATERS.c.state, _RATERS.c.score, _RATERS.c.locale)
            return [RaterRecord(*row) for row in connection.execute(sa.select(*columns).order_by(_RATERS.c.id))]

    def summary(self) -> Summary:
        """Return the state of the survey."""
        return summarise(self.answers(), self.raters(), self.counts())

    def counts(self) -> tuple[int, int]:
        """Return how many sentences there are, and how many are settled."""
        with self._transaction() as connection:
            both = sa.select(sa.func.count(), sa.func.count(sa.case((_SENTENCES.c.settled, 1))))
            total, done = connection.execute(both.select_from(_SENTENCES)).one()
            return total, done

    def _lock_rater(self, connection: sa.Connection, rater_id: str) -> str | None:
        """Return the rater's state; two tabs of one rater take turns from here."""
        return connection.scalar(sa.select(_RATERS.c.state).where(_RATERS.c.id == rater_id).with_for_update())

    def _answered(self, connection: sa.Connection, rater_id: str) -> int:
        return connection.scalar(sa.select(sa.func.count()).where(_ANSWERS.c.rater == rater_id)) or 0

    def _held(self, connection: sa.Connection, rater_id: str) -> Question | None:
        both = sa.select(_LEASES.c.ticket, *_shown()).join_from(
            _LEASES, _SENTENCES, _SENTENCES.c.id == _LEASES.c.sentence
        )
        row = connection.execute(both.where(_LEASES.c.rater == rater_id)).one_or_none()
        return Question(*row) if row else None

    def _hand_out(self, connection: sa.Connection, rater_id: str) -> Question | None:
        """Lease the sentence that is nearest to being settled, of those the rater may see."""
        answered = self._answered(connection, rater_id)
        if self.asking.quota and answered >= self.asking.quota:
            return None
        mine = sa.and_(_ANSWERS.c.rater == rater_id, _ANSWERS.c.number >= self._twins_hidden_from(answered))
        twin = _SENTENCES.alias("twin")
        twin_seen = sa.exists().where(
            twin.c.pair == _SENTENCES.c.pair, sa.exists().where(_ANSWERS.c.sentence == twin.c.id, mine)
        )
        seen = sa.exists().where(_ANSWERS.c.sentence == _SENTENCES.c.id, _ANSWERS.c.rater == rater_id)
        best = sa.select(_SENTENCES.c.id, *_shown()).where(_SENTENCES.c.wanted > 0, ~seen, ~twin_seen)
        best = best.order_by(_SENTENCES.c.wanted, _SENTENCES.c.shuffle).limit(1)
        row = connection.execute(best.with_for_update(skip_locked=True, of=_SENTENCES)).one_or_none()
        while row is None:
            # None that is free is not none at all: somebody may be at the last one just now.
            if connection.execute(best).one_or_none() is None:
                return None
            row = connection.execute(best.with_for_update(of=_SENTENCES)).one_or_none()
        sentence, *shown = row
        now, ticket = self._clock(), secrets.token_urlsafe(16)
        lease = {"rater": rater_id, "sentence": sentence, "ticket": ticket}
        connection.execute(_LEASES.insert().values(**lease, shown=now, expires=now + self.asking.lease_s))
        self._refresh(connection, sentence)
        return Question(ticket, *shown)

    def _twins_hidden_from(self, answered: int) -> int:
        """Return the number of the rater's first answer whose twin they may not see yet."""
        return 0 if self.asking.twin_gap is None else answered - self.asking.twin_gap

    def _release_expired(self) -> None:
        """Take sentences back from raters who went away, so that others are asked."""
        with self._transaction() as connection:
            expired = sa.select(_LEASES.c.rater, _LEASES.c.sentence).where(_LEASES.c.expires < self._clock()).limit(20)
            rows = connection.execute(expired.with_for_update(skip_locked=True)).all()
            for rater, sentence in sorted(rows, key=lambda row: str(row.sentence)):
                connection.execute(_LEASES.delete().where(_LEASES.c.rater == rater))
                self._refresh(connection, sentence)

    def _refresh(self, connection: sa.Connection, sentence: str) -> None:
        """Count a sentence's votes and holders anew; the row is locked, so nobody counts at the same time."""
        _lock_sentence(connection, sentence)
        counted = sa.select(_ANSWERS.c.coherent, _ANSWERS.c.first, _ANSWERS.c.second)
        rows = connection.execute(counted.where(_ANSWERS.c.sentence == sentence, ~_ANSWERS.c.withdrawn))
        votes = [Vote(*row) for row in rows]
        held = connection.scalar(sa.select(sa.func.count()).where(_LEASES.c.sentence == sentence)) or 0
        wanted = max(0, votes_needed(votes, self.asking.coverage) - held)
        known = {"votes": len(votes), "wanted": wanted, "settled": settled(votes, self.asking.coverage)}
        connection.execute(_SENTENCES.update().where(_SENTENCES.c.id == sentence).values(known))


def _lock_sentence(connection: sa.Connection, sentence: str) -> None:
    connection.execute(sa.select(_SENTENCES.c.id).where(_SENTENCES.c.id == sentence).with_for_update())


def _shown() -> tuple[Any, ...]:
    return _SENTENCES.c.text, _SENTENCES.c.pronoun, _SENTENCES.c.first, _SENTENCES.c.second


def _new_rater(entry_hash: str) -> dict[str, Any]:
    return {"id": secrets.token_hex(6), "entry_hash": entry_hash, "state": INVITED, "locale": ""}


def _with_driver(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://", 1).replace("postgres://", "postgresql+psycopg://", 1)


def _configure_sqlite(connection: Any, record: Any) -> None:
    # The driver's own idea of when a transaction starts comes too late for "BEGIN IMMEDIATE".
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
