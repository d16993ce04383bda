"""What secret addresses are made from stays with a subscription, whatever it is called.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

from alembic import op

from digest.store.schema import columns as col

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what addresses are made from; subscriptions that are there keep the addresses they have: "" says so.

    The release before goes on making all of them from names alone: of a subscription that is renamed or begins
    from here on, those it makes may be others.
    """
    op.add_column("subscriptions", col.text("link_names", server_default=""))


def downgrade() -> None:
    """Forget what addresses were made from."""
    op.drop_column("subscriptions", "link_names")
