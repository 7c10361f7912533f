"""Counts kept with each sentence, consent and panels, attention checks, comments, and settings that are remembered."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TALLIES = ("coherent_yes", "coherent_no", "first_yes", "first_no", "second_yes", "second_no")


def upgrade() -> None:
    """Add the columns and tables, and count the answers there are."""
    with op.batch_alter_table("sentences") as table:
        table.add_column(sa.Column("held", sa.Integer, nullable=False, server_default="0"))
        table.add_column(sa.Column("active", sa.Boolean, nullable=False, server_default=sa.true()))
        for name in TALLIES:
            table.add_column(sa.Column(name, sa.Integer, nullable=False, server_default="0"))
    with op.batch_alter_table("raters") as table:
        for name in ("withdrawn_by", "previous_state", "questions"):
            table.add_column(sa.Column(name, sa.String, nullable=False, server_default=""))
        table.add_column(sa.Column("origin", sa.String, nullable=False, server_default="person"))
        for name in ("answers", "checks_right", "checks_wrong"):
            table.add_column(sa.Column(name, sa.Integer, nullable=False, server_default="0"))
        for name in ("entered", "consented"):
            table.add_column(sa.Column(name, sa.Float))
    with op.batch_alter_table("answers") as table:
        table.alter_column("coherent", existing_type=sa.Boolean, nullable=True)
        table.add_column(sa.Column("at", sa.Float))
        table.add_column(sa.Column("comment", sa.String, nullable=False, server_default=""))
        table.add_column(sa.Column("origin", sa.String, nullable=False, server_default="person"))
    with op.batch_alter_table("trials") as table:
        table.add_column(sa.Column("question", sa.String, nullable=False, server_default=""))
    with op.batch_alter_table("leases") as table:
        table.alter_column("sentence", existing_type=sa.String, nullable=True)
        table.add_column(sa.Column("check_key", sa.String))
    op.create_table(
        "checks",
        sa.Column("rater", sa.String, sa.ForeignKey("raters.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("question", sa.String, nullable=False),
        sa.Column("right", sa.Boolean, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_table(
        "settings", sa.Column("name", sa.String, primary_key=True), sa.Column("value", sa.String, nullable=False)
    )
    _count()


def _count() -> None:
    """Fill in the counts from the answers and leases there are."""
    op.execute("UPDATE raters SET answers = (SELECT count(*) FROM answers WHERE answers.rater = raters.id)")
    op.execute("UPDATE sentences SET held = (SELECT count(*) FROM leases WHERE leases.sentence = sentences.id)")
    for name in TALLIES:
        question, reply = name.rsplit("_", 1)
        test = f'answers."{question}"' if reply == "yes" else f'NOT answers."{question}"'
        op.execute(
            f"UPDATE sentences SET {name} = (SELECT count(*) FROM answers "
            f"WHERE answers.sentence = sentences.id AND NOT answers.withdrawn AND {test})"
        )


def downgrade() -> None:
    """Refuse: answers of people who were unsure have no place in the older tables."""
    raise NotImplementedError("the survey's database cannot go back to an older version; restore a backup instead")
