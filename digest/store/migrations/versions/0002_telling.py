"""Who wants what, and what they are told.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

from digest.clock import SystemClock
from digest.store.schema import columns as col

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ACTIVE = sa.text("state IN ('ready', 'claimed', 'sending', 'unknown')")
_FIRST_LOOK_TO_COME = sa.text("first_look_run_id IS NULL")
_UNPLANNED_FIRST_LOOK = sa.text("digest_id IS NULL AND occasion = 'first look'")

_TABLES = (
    "destination_addresses",
    "attempts",
    "deliveries",
    "matches",
    "digests",
    "query_matches",
    "match_runs",
    "installation",
    "tokens",
    "suppressions",
    "consents",
    "subscription_destinations",
    "subscription_queries",
    "subscriptions",
    "subscribers",
    "query_revisions",
    "saved_queries",
)
"""In the order they can be dropped."""


def upgrade() -> None:
    """Make the tables, and give the installation its secret."""
    _create_wanted()
    _create_told()
    _fill()


def downgrade() -> None:
    """Drop them, and with them everything they kept."""
    for name in _TABLES:
        op.drop_table(name)


def _create_wanted() -> None:
    op.create_table(
        "saved_queries",
        col.key(),
        col.text("name"),
        col.text("origin"),
        col.text("state"),
        col.moment("created_at"),
        col.moment("ended_at", nullable=True),
        sa.UniqueConstraint("origin", "name"),
    )
    op.create_table(
        "query_revisions",
        col.key(),
        col.reference("query_id", "saved_queries.id"),
        col.number("number"),
        col.text("text"),
        col.text("canonical", index=True),
        col.text("problem"),
        col.big("active_from_change"),
        col.moment("created_at"),
        col.moment("ended_at", nullable=True),
        sa.UniqueConstraint("query_id", "number"),
    )
    op.create_table(
        "subscribers",
        col.key(),
        col.text("address", unique=True),
        col.text("state"),
        col.text("how"),
        col.moment("since"),
    )
    op.create_table(
        "subscriptions",
        col.key(),
        col.text("name", unique=True),
        col.text("title"),
        col.text("origin"),
        col.text("state"),
        col.text("cadence"),
        col.text("kinds"),
        col.text("quiet_days"),
        col.number("cap", nullable=True),
        col.number("first_look"),
        col.moment("next_due_at", nullable=True, index=True),
        col.text("last_slot"),
        col.moment("last_planned_at", nullable=True),
        col.big("plan_after"),
        col.moment("paused_until", nullable=True),
        col.number("feed_generation"),
        col.moment("feed_revoked_at", nullable=True),
        col.reference("subscriber_id", "subscribers.id", nullable=True, index=True),
        col.moment("created_at"),
        col.moment("ended_at", nullable=True),
    )
    op.create_table(
        "subscription_queries",
        col.reference("subscription_id", "subscriptions.id", primary_key=True),
        col.reference("query_id", "saved_queries.id", primary_key=True, index=True),
        col.number("position"),
        col.big("first_look_run_id", nullable=True),
        col.moment("added_at"),
        sa.Index(
            "ix_subscription_queries_first_look",
            "subscription_id",
            sqlite_where=_FIRST_LOOK_TO_COME,
            postgresql_where=_FIRST_LOOK_TO_COME,
        ),
    )
    op.create_table(
        "subscription_destinations",
        col.key(),
        col.reference("subscription_id", "subscriptions.id"),
        col.text("destination", index=True),
        col.number("position"),
        col.text("state"),
        col.text("reason"),
        col.moment("since"),
        sa.UniqueConstraint("subscription_id", "destination"),
    )
    op.create_table(
        "consents",
        col.key(),
        col.reference("subscriber_id", "subscribers.id", index=True),
        col.text("subscription"),
        col.text("event"),
        col.text("how"),
        col.moment("at"),
    )
    op.create_table(
        "suppressions",
        col.name_key("destination"),
        col.name_key("subscription"),
        col.text("reason"),
        col.moment("since"),
    )
    op.create_table(
        "tokens",
        col.name_key("hash"),
        col.text("purpose"),
        col.text("destination"),
        col.text("subscription"),
        col.big("digest_id", nullable=True),
        col.moment("created_at"),
        col.moment("expires_at", nullable=True),
        col.moment("used_at", nullable=True),
    )
    op.create_table(
        "installation",
        col.explicit_key(),
        col.text("secret"),
        col.moment("created_at"),
        col.text("generation"),
    )


def _create_told() -> None:
    op.create_table(
        "match_runs",
        col.key(),
        col.big("from_change"),
        col.big("to_change"),
        col.moment("matched_at"),
        col.text("occasion"),
    )
    op.create_table(
        "query_matches",
        col.reference("match_run_id", "match_runs.id", primary_key=True),
        col.reference("revision_id", "query_revisions.id", primary_key=True, index=True),
        col.blob("new"),
        col.blob("changed"),
        col.blob("gone"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "digests",
        col.key(),
        col.reference("subscription_id", "subscriptions.id"),
        col.text("slot"),
        col.text("occasion"),
        col.moment("planned_at"),
        col.text("zone"),
        col.text("title"),
        col.text("content"),
        col.number("papers"),
        col.number("shown"),
        sa.UniqueConstraint("subscription_id", "slot"),
    )
    op.create_table(
        "matches",
        col.reference("match_run_id", "match_runs.id", primary_key=True),
        col.reference("subscription_id", "subscriptions.id", primary_key=True),
        col.text("occasion"),
        col.blob("changes"),
        col.number("papers"),
        col.reference("digest_id", "digests.id", nullable=True),
        col.moment("matched_at"),
        sa.Index(None, "subscription_id", "digest_id"),
        sa.Index(
            "ix_matches_first_looks",
            "subscription_id",
            sqlite_where=_UNPLANNED_FIRST_LOOK,
            postgresql_where=_UNPLANNED_FIRST_LOOK,
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "deliveries",
        col.key(),
        col.reference("digest_id", "digests.id"),
        col.text("destination", index=True),
        col.number("part"),
        col.number("parts"),
        col.text("state"),
        col.moment("not_before"),
        col.number("attempts"),
        col.big("token"),
        col.text("owner"),
        col.seconds("lease_until", nullable=True),
        col.text("idempotency_key", unique=True),
        col.text("media_type", nullable=True),
        col.blob("body", nullable=True),
        col.text("name"),
        col.moment("sending_at", nullable=True),
        col.text("remote_address"),
        col.text("remote_id"),
        col.text("last_error"),
        col.moment("created_at"),
        col.moment("ended_at", nullable=True),
        col.number("priority"),
        sa.UniqueConstraint("digest_id", "destination", "part"),
        sa.Index(
            "ix_deliveries_active",
            "state",
            "priority",
            "not_before",
            "id",
            sqlite_where=_ACTIVE,
            postgresql_where=_ACTIVE,
        ),
    )
    op.create_table(
        "attempts",
        col.reference("delivery_id", "deliveries.id", primary_key=True),
        col.number("number", primary_key=True),
        col.big("token"),
        col.moment("started_at"),
        col.moment("ended_at", nullable=True),
        col.text("outcome"),
        col.text("detail"),
    )
    op.create_table(
        "destination_addresses",
        col.name_key("destination"),
        col.text("remote_address"),
        col.moment("resolved_at", nullable=True),
        col.moment("blocked_until", nullable=True),
        col.moment("last_sent_at", nullable=True),
    )


def _fill() -> None:
    installation = sa.table(
        "installation",
        sa.column("id"),
        sa.column("secret"),
        sa.column("created_at", col.Moment),
        sa.column("generation"),
    )
    row = {
        "id": 1,
        "secret": secrets.token_urlsafe(32),
        "created_at": SystemClock().now(),
        "generation": secrets.token_hex(8),
    }
    op.bulk_insert(installation, [row])
