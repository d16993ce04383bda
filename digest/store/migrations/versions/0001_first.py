"""The first schema.

New databases are made from `digest.store.schema`, so there is nothing to do here.

Revision ID: 0001
Revises: nothing
"""  # noqa: INP001 - read by its path

from __future__ import annotations

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing: no database comes before this one."""
