"""What they are told: matches, digests, deliveries and every attempt at one.

A condition of a partial index is written out: a database uses such an index only for a query that says the
same, word by word.
"""

from __future__ import annotations

from sqlalchemy import Index, Table, UniqueConstraint, text

from digest.store.schema import columns as col

match_runs = Table(
    "match_runs",
    col.metadata,
    col.key(),
    col.big("from_change"),
    col.big("to_change"),
    col.moment("matched_at"),
    col.text("occasion"),
)

query_matches = Table(
    "query_matches",
    col.metadata,
    col.reference("match_run_id", "match_runs.id", primary_key=True),
    col.reference("revision_id", "query_revisions.id", primary_key=True, index=True),
    col.blob("new"),
    col.blob("changed"),
    col.blob("gone"),
    sqlite_with_rowid=False,
)

digests = Table(
    "digests",
    col.metadata,
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
    UniqueConstraint("subscription_id", "slot"),
)

UNPLANNED_FIRST_LOOK = text("digest_id IS NULL AND occasion = 'first look'")

matches = Table(
    "matches",
    col.metadata,
    col.reference("match_run_id", "match_runs.id", primary_key=True),
    col.reference("subscription_id", "subscriptions.id", primary_key=True),
    col.text("occasion"),
    col.blob("changes"),
    col.number("papers"),
    col.reference("digest_id", "digests.id", nullable=True),
    col.moment("matched_at"),
    col.blob("brought", nullable=True),
    Index(None, "subscription_id", "digest_id"),
    col.partial_index("ix_matches_first_looks", "subscription_id", where=UNPLANNED_FIRST_LOOK),
    sqlite_with_rowid=False,
)

ACTIVE_DELIVERY = text("state IN ('ready', 'claimed', 'sending', 'unknown')")

STUCK_DELIVERY = text("state IN ('held', 'dead')")
"""What somebody may have to look at; few among millions that were sent."""

deliveries = Table(
    "deliveries",
    col.metadata,
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
    col.text("share", server_default=""),
    col.big("replaces", server_default="0"),
    UniqueConstraint("digest_id", "destination", "part"),
    col.partial_index("ix_deliveries_active", "state", "priority", "not_before", "id", where=ACTIVE_DELIVERY),
    col.partial_index("ix_deliveries_stuck", "state", "ended_at", where=STUCK_DELIVERY),
)

attempts = Table(
    "attempts",
    col.metadata,
    col.reference("delivery_id", "deliveries.id", primary_key=True),
    col.number("number", primary_key=True),
    col.big("token"),
    col.moment("started_at"),
    col.moment("ended_at", nullable=True),
    col.text("outcome"),
    col.text("detail"),
)

destination_addresses = Table(
    "destination_addresses",
    col.metadata,
    col.name_key("destination"),
    col.text("remote_address"),
    col.moment("resolved_at", nullable=True),
    col.moment("blocked_until", nullable=True),
    col.moment("last_sent_at", nullable=True),
)
