"""Run by Alembic for every migration.

It works on the connection that it is handed, and in the transaction of that.
"""  # noqa: INP001 - read by its path

from __future__ import annotations

from alembic import context

from digest.store.dialect import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
