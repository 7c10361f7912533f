"""The tables are those that the newest migration leaves."""

from __future__ import annotations

import sqlalchemy as sa
from kept_texts import assert_kept
from sqlalchemy.dialects import postgresql

from equipoise.builder.survey.database import tables
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import META, TABLES


def test_the_tables_have_the_columns_of_the_migrations(bare_url: str) -> None:
    database = SurveyDatabase(bare_url)
    with database.store.reading() as connection:
        inspector = sa.inspect(connection)
        made = {
            name: {column["name"]: column["type"]._type_affinity for column in inspector.get_columns(name)}
            for name in inspector.get_table_names()
            if name != "alembic_version"
        }
        keys = {name: set(inspector.get_pk_constraint(name)["constrained_columns"]) for name in made}
    database.close()
    kinds = {t.name: {column.name: column.type._type_affinity for column in t.columns} for t in META.sorted_tables}
    assert made == kinds
    assert keys == {table.name: set(table.primary_key.columns.keys()) for table in META.sorted_tables}


def test_a_backup_copies_every_table() -> None:
    assert set(TABLES) == set(META.sorted_tables)


def test_every_statement_asks_what_it_asked() -> None:
    statements = {
        name: value
        for name, value in vars(tables).items()
        if isinstance(value, sa.Select | sa.Insert | sa.Update | sa.Delete | tuple)
        and name not in ("TABLES", "SHOWN", "_RATER")
    }
    for twins in (False, True):
        for skip in (False, True):
            statements[f"best_sentence, {twins}, {skip}"] = tables.best_sentence(twins, skip_locked=skip)
    told = {}
    for name, value in sorted(statements.items()):
        several = value if isinstance(value, tuple) else (value,)
        told[name] = "\n".join(str(one.compile(dialect=postgresql.dialect())) for one in several)
    assert_kept("builder/statements", told)
