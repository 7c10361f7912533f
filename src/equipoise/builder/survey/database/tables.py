"""The tables of a survey, as the newest migration leaves them, and the statements of every answer.

Statements are built once: building them anew took most of the time of a request.

What can be counted is not stored: a rater's answers and a sentence's votes and holders are rows. `needed` and `settled`
of a sentence follow from its answers; they are written in the transaction that writes an answer, with the sentence
locked, from all of its answers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa

META = sa.MetaData()


def _columns(kind: type[sa.types.TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


SENTENCES = sa.Table(
    "sentences",
    META,
    sa.Column("id", sa.String, primary_key=True),
    *_columns(sa.String, "pair", "type", "text", "pronoun", "first", "second"),
    *_columns(sa.Float, "shuffle"),
    *_columns(sa.Integer, "needed"),
    *_columns(sa.Boolean, "settled", "active"),
)
RATERS = sa.Table(
    "raters",
    META,
    sa.Column("id", sa.String, primary_key=True),
    *_columns(sa.String, "entry_hash", "code_hash", "state", "locale", "origin"),
    *_columns(sa.String, "withdrawn_by", "previous_state", "questions"),
    *_columns(sa.Float, "score", "entered", "consented"),
)
SESSIONS = sa.Table(
    "sessions",
    META,
    sa.Column("hash", sa.String, primary_key=True),
    *_columns(sa.String, "rater"),
    *_columns(sa.Float, "begun"),
)
TRIALS = sa.Table(
    "trials",
    META,
    sa.Column("rater", sa.String, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    *_columns(sa.Boolean, "right"),
    *_columns(sa.String, "question", "replies"),
)
LEASES = sa.Table(
    "leases",
    META,
    sa.Column("rater", sa.String, primary_key=True),
    *_columns(sa.String, "sentence", "ticket", "check_key"),
    *_columns(sa.Float, "shown", "expires"),
)
ANSWERS = sa.Table(
    "answers",
    META,
    sa.Column("sentence", sa.String, primary_key=True),
    sa.Column("rater", sa.String, primary_key=True),
    *_columns(sa.Integer, "number"),
    *_columns(sa.Boolean, "withdrawn"),
    *_columns(sa.Float, "seconds", "at"),
    *_columns(sa.String, "replies", "ticket", "comment", "origin"),
)
CHECKS = sa.Table(
    "checks",
    META,
    sa.Column("rater", sa.String, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    *_columns(sa.String, "question", "replies", "ticket"),
    *_columns(sa.Boolean, "right"),
    *_columns(sa.Float, "seconds", "at"),
)
SETTINGS = sa.Table("settings", META, sa.Column("name", sa.String, primary_key=True), *_columns(sa.String, "value"))
TABLES = (SENTENCES, RATERS, SESSIONS, TRIALS, LEASES, ANSWERS, CHECKS, SETTINGS)
"""All tables, those that others refer to first."""

_WHO: sa.BindParameter[str] = sa.bindparam("who")
_WHICH: sa.BindParameter[str] = sa.bindparam("which")
SHOWN = (SENTENCES.c.text, SENTENCES.c.pronoun, SENTENCES.c.first, SENTENCES.c.second)

_RATER = (RATERS.c.id, RATERS.c.state, RATERS.c.origin)
LOCK_RATER = sa.select(*_RATER).where(RATERS.c.id == _WHO).with_for_update(of=RATERS)
"""Two requests of one rater take turns from here; what they read before may be old."""
LOCK_SESSION = (
    sa.select(*_RATER)
    .join_from(SESSIONS, RATERS, RATERS.c.id == SESSIONS.c.rater)
    .where(SESSIONS.c.hash == _WHO)
    .with_for_update(of=RATERS)
)
LOCK_LEASE = sa.select(LEASES).where(LEASES.c.rater == _WHO).with_for_update()
LOCK_SENTENCE = (
    sa.select(SENTENCES.c.type, SENTENCES.c.active, SENTENCES.c.needed, *SHOWN)
    .where(SENTENCES.c.id == _WHICH)
    .with_for_update()
)
HELD = (
    sa.select(LEASES.c.ticket, LEASES.c.check_key, *SHOWN)
    .join_from(LEASES, SENTENCES, SENTENCES.c.id == LEASES.c.sentence, isouter=True)
    .where(LEASES.c.rater == _WHO)
)
DONE = sa.select(
    sa.select(sa.func.count()).where(ANSWERS.c.rater == _WHO).scalar_subquery(),
    sa.select(sa.func.count()).where(CHECKS.c.rater == _WHO).scalar_subquery(),
)
"""How many sentences and checks a rater has answered."""
HOLDERS = sa.select(sa.func.count()).where(LEASES.c.sentence == _WHICH)
VOTES = sa.select(ANSWERS.c.replies).where(ANSWERS.c.sentence == _WHICH, ~ANSWERS.c.withdrawn)
EXPIRED = sa.select(LEASES.c.rater).where(LEASES.c.expires < sa.bindparam("now")).limit(50)
# The parameters of these two name the columns that they set.
SET_SENTENCE = SENTENCES.update().where(SENTENCES.c.id == _WHICH)
MOVE_LEASE = LEASES.update().where(LEASES.c.rater == _WHO)
ADD_ANSWER, ADD_CHECK, ADD_LEASE = ANSWERS.insert(), CHECKS.insert(), LEASES.insert()
DROP_LEASE = LEASES.delete().where(LEASES.c.rater == _WHO)


def _given(table: sa.Table, about: sa.Column[Any], comment: sa.ColumnElement[Any]) -> sa.Select[Any]:
    names = (table.c.ticket, table.c.replies, table.c.at, table.c.number)
    columns = (*names, about.label("about"), comment.label("comment"), sa.literal(table.name).label("table"))
    return sa.select(*columns).where(table.c.rater == _WHO)


_TICKET: sa.BindParameter[str] = sa.bindparam("ticket")
_ANSWER, _CHECK = (
    _given(ANSWERS, ANSWERS.c.sentence, ANSWERS.c.comment),
    _given(CHECKS, CHECKS.c.question, sa.literal("")),
)
LAST = (_ANSWER.order_by(ANSWERS.c.number.desc()).limit(1), _CHECK.order_by(CHECKS.c.number.desc()).limit(1))
"""The last sentence and the last attention check that a rater answered, with the same columns."""
GIVEN = (_ANSWER.where(ANSWERS.c.ticket == _TICKET), _CHECK.where(CHECKS.c.ticket == _TICKET))
"""The answer that used up a ticket, to a sentence or to a check."""


@cache
def best_sentence(twins: bool, *, skip_locked: bool) -> sa.Select[Any]:
    """Return the sentence nearest to being settled that the rater may see, locked; with twins, none of their twins.

    A sentence is handed to as many raters at once as it needs votes.
    """
    seen = sa.exists().where(ANSWERS.c.sentence == SENTENCES.c.id, ANSWERS.c.rater == _WHO)
    holders = sa.select(sa.func.count()).where(LEASES.c.sentence == SENTENCES.c.id).scalar_subquery()
    best = sa.select(SENTENCES.c.id).where(SENTENCES.c.needed > 0, SENTENCES.c.needed > holders, ~seen)
    if twins:
        by_rater = sa.and_(ANSWERS.c.rater == _WHO, ANSWERS.c.number >= sa.bindparam("hidden_from"))
        twin = SENTENCES.alias("twin")
        seen_twin = sa.exists().where(ANSWERS.c.sentence == twin.c.id, by_rater)
        best = best.where(~sa.exists().where(twin.c.pair == SENTENCES.c.pair, seen_twin))
    ordered = best.order_by(SENTENCES.c.needed, SENTENCES.c.shuffle).limit(1)
    return ordered.with_for_update(skip_locked=skip_locked, of=SENTENCES)
