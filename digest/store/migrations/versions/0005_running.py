"""Running for months, on several machines: who works and at what, what alarms, and from where a copy came.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

from digest.store.schema import columns as col

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_STUCK = text("state IN ('held', 'dead')")
_PAUSED = text("state = 'paused'")


def upgrade() -> None:
    """Add what only this release writes; columns the one before knows nothing of have their defaults."""
    op.add_column("subscriptions", col.text("quiet_hours", server_default=""))
    op.add_column("subscriptions", col.moment("file_paused_until", nullable=True))
    op.add_column("poll_runs", col.text("owner", server_default=""))
    op.add_column("installation", col.text("zone_data", server_default=""))
    op.add_column("installation", col.text("works_from", server_default="0005"))
    op.add_column("installation", col.moment("quarantined_at", nullable=True))
    op.add_column("installation", col.moment("restored_at", nullable=True))
    op.create_table(
        "workers",
        col.name_key("owner"),
        col.text("release"),
        col.text("host"),
        col.number("pid"),
        col.moment("started_at"),
        col.seconds("seen_at"),
    )
    op.create_table(
        "job_turns",
        col.name_key("owner"),
        col.name_key("job"),
        col.number("turns"),
        col.number("failures"),
        col.number("overruns"),
        col.moment("began_at", nullable=True),
        col.moment("ended_at", nullable=True),
        col.moment("next_at", nullable=True),
        col.text("trouble"),
    )
    op.create_table(
        "alarms",
        col.name_key("name"),
        col.text("detail"),
        col.moment("since"),
        col.moment("told_at", nullable=True),
        col.number("attempts"),
        col.moment("not_before"),
        col.moment("ended_at", nullable=True),
    )
    _keep_bodies("EXTERNAL")
    op.create_index(
        "ix_deliveries_stuck",
        "deliveries",
        ["state", "ended_at"],
        sqlite_where=_STUCK,
        postgresql_where=_STUCK,
    )
    op.create_index(
        "ix_subscriptions_paused",
        "subscriptions",
        ["paused_until"],
        sqlite_where=_PAUSED,
        postgresql_where=_PAUSED,
    )


def _keep_bodies(how: str) -> None:
    """Set how PostgreSQL keeps messages from now on: as they are, as SQLite does, or compressed (EXTENDED).

    They are kept for days only, and compressing one costs as much as all else a database does for its sending.
    """
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE deliveries ALTER COLUMN body SET STORAGE {how}")


def downgrade() -> None:
    """Forget who works, what alarms, quiet hours, and where a copy came from."""
    op.drop_index("ix_subscriptions_paused", "subscriptions")
    op.drop_index("ix_deliveries_stuck", "deliveries")
    _keep_bodies("EXTENDED")
    for table in ("alarms", "job_turns", "workers"):
        op.drop_table(table)
    for column in ("restored_at", "quarantined_at", "works_from", "zone_data"):
        op.drop_column("installation", column)
    op.drop_column("poll_runs", "owner")
    op.drop_column("subscriptions", "file_paused_until")
    op.drop_column("subscriptions", "quiet_hours")
