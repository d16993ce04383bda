"""The words of stored texts are kept beside them; the next passes read them.

Revision ID: 0007
Revises: 0005
"""  # noqa: INP001 - read by its path

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the table, with a row for each text that says: its words are to be read anew."""
    of_text = sa.ForeignKey("versions.id", ondelete="CASCADE", name="fk_words_version_id")
    words = op.create_table(
        "words",
        sa.Column("version_id", _KEY, of_text, primary_key=True),
        sa.Column("rules", sa.Integer, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_words_rules", "words", ["rules"])
    texts = sa.table("versions", sa.column("id", _KEY))
    unread = sa.select(texts.c.id, sa.literal(0), sa.literal(b""))
    op.execute(sa.insert(words).from_select(["version_id", "rules", "packed"], unread))
