"""The tables of a survey, as the newest migration leaves them, and the statements of every answer.

Statements are built once: building them anew took most of the time of a request.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa

META = sa.MetaData()
TALLIES = ("votes", "coherent_yes", "coherent_no", "first_yes", "first_no", "second_yes", "second_no")
"""The columns of a sentence that hold its Tally."""


def _columns(kind: type[sa.types.TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


SENTENCES = sa.Table(
    "sentences",
    META,
    sa.Column("id", sa.String, primary_key=True),
    *_columns(sa.String, "pair", "text", "pronoun", "first", "second"),
    *_columns(sa.Float, "shuffle"),
    *_columns(sa.Integer, "wanted", "held", *TALLIES),
    *_columns(sa.Boolean, "settled", "active"),
)
RATERS = sa.Table(
    "raters",
    META,
    sa.Column("id", sa.String, primary_key=True),
    *_columns(sa.String, "entry_hash", "session_hash", "state", "locale", "origin"),
    *_columns(sa.String, "withdrawn_by", "previous_state", "questions"),
    *_columns(sa.Float, "score", "entered", "consented"),
    *_columns(sa.Integer, "answers", "checks_right", "checks_wrong"),
)
TRIALS = sa.Table(
    "trials",
    META,
    sa.Column("rater", sa.String, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    *_columns(sa.Boolean, "right"),
    *_columns(sa.String, "question"),
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
    *_columns(sa.Boolean, "coherent", "first", "second", "withdrawn"),
    *_columns(sa.Float, "seconds", "at"),
    *_columns(sa.String, "comment", "origin"),
)
CHECKS = sa.Table(
    "checks",
    META,
    sa.Column("rater", sa.String, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    *_columns(sa.String, "question"),
    *_columns(sa.Boolean, "right"),
    *_columns(sa.Float, "seconds", "at"),
)
SETTINGS = sa.Table("settings", META, sa.Column("name", sa.String, primary_key=True), *_columns(sa.String, "value"))

_WHO: sa.BindParameter[str] = sa.bindparam("who")
_WHICH: sa.BindParameter[str] = sa.bindparam("which")
SHOWN = (SENTENCES.c.text, SENTENCES.c.pronoun, SENTENCES.c.first, SENTENCES.c.second)


def _rater_and_lease(condition: sa.ColumnElement[bool], *, locked: bool = False) -> sa.Select[Any]:
    """Return a rater with what they hold and its counts; two tabs of one rater take turns from here.

    `locked` locks the sentence as well, and finds only raters who hold one: outer joins cannot be locked.
    """
    names = ("id", "state", "answers", "origin", "checks_right", "checks_wrong")
    columns = (
        *(RATERS.c[name] for name in names),
        *(LEASES.c.ticket, LEASES.c.sentence, LEASES.c.check_key, LEASES.c.shown),
        *(SENTENCES.c[name] for name in (*TALLIES, "held", "active")),
    )
    joined = sa.select(*columns).join_from(RATERS, LEASES, LEASES.c.rater == RATERS.c.id, isouter=not locked)
    joined = joined.join(SENTENCES, SENTENCES.c.id == LEASES.c.sentence, isouter=not locked)
    return joined.where(condition).with_for_update(of=[RATERS, SENTENCES] if locked else RATERS)


BY_ID = _rater_and_lease(RATERS.c.id == _WHO)
BY_SESSION = _rater_and_lease(RATERS.c.session_hash == _WHO)
AT_WORK = _rater_and_lease(RATERS.c.session_hash == _WHO, locked=True)
"""A rater by session, with the sentence they hold; both are locked."""
HELD = (
    sa.select(LEASES.c.ticket, LEASES.c.check_key, *SHOWN)
    .join_from(LEASES, SENTENCES, SENTENCES.c.id == LEASES.c.sentence, isouter=True)
    .where(LEASES.c.rater == _WHO)
)
LAST = (
    sa.select(ANSWERS.c.number, *SHOWN, ANSWERS.c.coherent, ANSWERS.c.first, ANSWERS.c.second, ANSWERS.c.comment)
    .join_from(ANSWERS, SENTENCES, SENTENCES.c.id == ANSWERS.c.sentence)
    .where(ANSWERS.c.rater == _WHO)
    .order_by(ANSWERS.c.number.desc())
    .limit(1)
)
EXPIRED = sa.select(LEASES.c.rater).where(LEASES.c.expires < sa.bindparam("now")).limit(50)
LOCK_SENTENCE = (
    sa.select(*(SENTENCES.c[name] for name in (*TALLIES, "held", "active")))
    .where(SENTENCES.c.id == _WHICH)
    .with_for_update()
)
# The parameters of these two name the columns that they set.
SET_SENTENCE = SENTENCES.update().where(SENTENCES.c.id == _WHICH)
MOVE_LEASE = LEASES.update().where(LEASES.c.rater == _WHO)
ADD_ANSWER, ADD_CHECK, ADD_LEASE = ANSWERS.insert(), CHECKS.insert(), LEASES.insert()
DROP_LEASE = LEASES.delete().where(LEASES.c.rater == _WHO)
COUNT_ANSWER = RATERS.update().where(RATERS.c.id == _WHO).values(answers=RATERS.c.answers + 1)
COUNT_RIGHT = RATERS.update().where(RATERS.c.id == _WHO).values(checks_right=RATERS.c.checks_right + 1)
COUNT_WRONG = RATERS.update().where(RATERS.c.id == _WHO).values(checks_wrong=RATERS.c.checks_wrong + 1)


@cache
def best_sentence(twins: bool) -> sa.Select[Any]:
    """Return the sentence nearest to being settled that the rater may see; with twins, none of their twins."""
    seen = sa.exists().where(ANSWERS.c.sentence == SENTENCES.c.id, ANSWERS.c.rater == _WHO)
    best = sa.select(SENTENCES.c.id).where(SENTENCES.c.wanted > 0, ~seen)
    if twins:
        by_rater = sa.and_(ANSWERS.c.rater == _WHO, ANSWERS.c.number >= sa.bindparam("hidden_from"))
        twin = SENTENCES.alias("twin")
        seen_twin = sa.exists().where(ANSWERS.c.sentence == twin.c.id, by_rater)
        best = best.where(~sa.exists().where(twin.c.pair == SENTENCES.c.pair, seen_twin))
    return best.order_by(SENTENCES.c.wanted, SENTENCES.c.shuffle).limit(1)


@cache
def take(twins: bool, *, skip_locked: bool) -> sa.Update:
    """Return the statement that hands out that sentence: it is held by one more, and wanted by one less."""
    best = best_sentence(twins).with_for_update(skip_locked=skip_locked, of=SENTENCES)
    taken = {"held": SENTENCES.c.held + 1, "wanted": SENTENCES.c.wanted - 1}
    return (
        SENTENCES.update()
        .where(SENTENCES.c.id == best.correlate(None).scalar_subquery())
        .values(taken)
        .returning(SENTENCES.c.id, *SHOWN)
    )
