"""Run by Alembic for every migration, on the connection (and in the transaction) it is handed."""  # noqa: INP001 - read by its path

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
