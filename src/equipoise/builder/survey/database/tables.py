"""The tables of a survey, as the newest migration leaves them."""

from __future__ import annotations

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
