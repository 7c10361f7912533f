"""Runs the migrations on the connection that `database.py` hands over; there is no other way in."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
