"""Replies to any questions, tickets kept with answers, several sessions, and no count that can be made from rows."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

QUESTIONS = ("coherent", "first", "second")
TALLIES = ("votes", "coherent_yes", "coherent_no", "first_yes", "first_no", "second_yes", "second_no")


def upgrade() -> None:
    """Change the tables; the server counts every sentence anew when it starts."""
    op.drop_index("next_question", "sentences")
    with op.batch_alter_table("sentences") as table:
        for name in (*TALLIES, "held", "wanted"):
            table.drop_column(name)
        table.add_column(sa.Column("type", sa.String, nullable=False, server_default=""))
        table.add_column(sa.Column("needed", sa.Integer, nullable=False, server_default="0"))
    op.create_index("next_question", "sentences", ["needed", "shuffle"])
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String, primary_key=True),
        sa.Column("rater", sa.String, sa.ForeignKey("raters.id"), nullable=False, index=True),
        sa.Column("begun", sa.Float, nullable=False),
    )
    op.execute(
        "INSERT INTO sessions (hash, rater, begun) "
        "SELECT session_hash, id, COALESCE(entered, 0) FROM raters WHERE session_hash IS NOT NULL"
    )
    with op.batch_alter_table("raters") as table:
        for name in ("session_hash", "answers", "checks_right", "checks_wrong"):
            table.drop_column(name)
        table.add_column(sa.Column("code_hash", sa.String, nullable=False, server_default=""))
    for name in ("answers", "checks", "trials"):
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("replies", sa.String, nullable=False, server_default="{}"))
            if name != "trials":
                table.add_column(sa.Column("ticket", sa.String, nullable=False, server_default=""))
    _write_replies()
    with op.batch_alter_table("answers") as table:
        for name in QUESTIONS:
            table.drop_column(name)


def _write_replies() -> None:
    """Write the answers of the three columns as replies; nothing in them is a rater who was unsure, or not asked."""
    connection = op.get_bind()
    old = sa.table("answers", sa.column("replies"), *(sa.column(name, sa.Boolean) for name in QUESTIONS))
    words = {True: "yes", False: "no", None: "unsure"}
    for coherent, first, second in connection.execute(sa.select(*(old.c[name] for name in QUESTIONS)).distinct()).all():
        replies = {"coherent": words[coherent]}
        if coherent:
            replies |= {"first": words[first], "second": words[second]}
        these = [
            column.is_(None) if value is None else column == value
            for column, value in zip(
                (old.c.coherent, old.c.first, old.c.second), (coherent, first, second), strict=True
            )
        ]
        connection.execute(old.update().where(*these).values(replies=json.dumps(replies)))


def downgrade() -> None:
    """Refuse: replies to other questions have no place in the older tables."""
    raise NotImplementedError("the survey's database cannot go back to an older version; restore a backup instead")
