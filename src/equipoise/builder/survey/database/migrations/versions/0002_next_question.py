"""The order in which sentences are handed out, so that the next question is found without reading them all."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index."""
    op.create_index("next_question", "sentences", ["wanted", "shuffle"])


def downgrade() -> None:
    """Drop the index."""
    op.drop_index("next_question", "sentences")
