"""Alembic's environment: migrations run on the connection that models/migrate.py hands in, in its transaction."""

from __future__ import annotations

from alembic import context

from models.migrate import all_tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=all_tables(),
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
