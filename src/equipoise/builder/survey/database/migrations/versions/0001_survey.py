"""Sentences, raters, what each is asked now, and their answers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "sentences",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("pair", sa.String, nullable=False, index=True),
        sa.Column("text", sa.String, nullable=False),
        sa.Column("pronoun", sa.String, nullable=False),
        sa.Column("first", sa.String, nullable=False),
        sa.Column("second", sa.String, nullable=False),
        sa.Column("shuffle", sa.Float, nullable=False),
        sa.Column("votes", sa.Integer, nullable=False),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.Column("settled", sa.Boolean, nullable=False),
    )
    op.create_table(
        "raters",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("entry_hash", sa.String, unique=True, nullable=False),
        sa.Column("session_hash", sa.String, unique=True),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("score", sa.Float),
        sa.Column("locale", sa.String, nullable=False, server_default=""),
    )
    op.create_table(
        "trials",
        sa.Column("rater", sa.String, sa.ForeignKey("raters.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("right", sa.Boolean, nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("rater", sa.String, sa.ForeignKey("raters.id"), primary_key=True),
        sa.Column("sentence", sa.String, sa.ForeignKey("sentences.id"), nullable=False, index=True),
        sa.Column("ticket", sa.String, nullable=False),
        sa.Column("shown", sa.Float, nullable=False),
        sa.Column("expires", sa.Float, nullable=False, index=True),
    )
    op.create_table(
        "answers",
        sa.Column("sentence", sa.String, sa.ForeignKey("sentences.id"), primary_key=True),
        sa.Column("rater", sa.String, sa.ForeignKey("raters.id"), primary_key=True, index=True),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("coherent", sa.Boolean, nullable=False),
        sa.Column("first", sa.Boolean),
        sa.Column("second", sa.Boolean),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("withdrawn", sa.Boolean, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables."""
    for table in ("answers", "leases", "trials", "raters", "sentences"):
        op.drop_table(table)
