"""Who wants what, where and when, who agreed to it, and who left."""

from __future__ import annotations

from sqlalchemy import Table, UniqueConstraint, text

from digest.store.schema import columns as col

FIRST_LOOK_TO_COME = text("first_look_run_id IS NULL")

saved_queries = Table(
    "saved_queries",
    col.metadata,
    col.key(),
    col.text("name"),
    col.text("origin"),
    col.text("state"),
    col.moment("created_at"),
    col.moment("ended_at", nullable=True),
    UniqueConstraint("origin", "name"),
)

query_revisions = Table(
    "query_revisions",
    col.metadata,
    col.key(),
    col.reference("query_id", "saved_queries.id"),
    col.number("number"),
    col.text("text"),
    col.text("canonical", index=True),
    col.text("problem"),
    col.big("active_from_change"),
    col.moment("created_at"),
    col.moment("ended_at", nullable=True),
    UniqueConstraint("query_id", "number"),
)

query_feeds = Table(
    "query_feeds",
    col.metadata,
    col.reference("query_id", "saved_queries.id", primary_key=True),
    col.number("generation"),
    col.moment("opened_at"),
    col.moment("rotated_at", nullable=True),
    col.moment("revoked_at", nullable=True),
    col.blob("first_look"),
)

subscribers = Table(
    "subscribers",
    col.metadata,
    col.key(),
    col.text("address", unique=True),
    col.text("state"),
    col.text("how"),
    col.moment("since"),
)

PAUSED_SUBSCRIPTION = text("state = 'paused'")

subscriptions = Table(
    "subscriptions",
    col.metadata,
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
    col.text("exclude_queries", server_default=""),
    col.text("exclude_papers", server_default=""),
    col.text("quiet_hours", server_default=""),
    col.text("group_by", server_default="kind"),
    col.text("replacements", server_default="folded"),
    col.text("weekly", server_default="round-up"),
    col.moment("next_due_at", nullable=True, index=True),
    col.text("last_slot"),
    col.moment("last_planned_at", nullable=True),
    col.big("plan_after"),
    col.moment("paused_until", nullable=True),
    col.moment("file_paused_until", nullable=True),
    col.number("feed_generation"),
    col.moment("feed_revoked_at", nullable=True),
    col.moment("feed_rotated_at", nullable=True),
    col.reference("subscriber_id", "subscribers.id", nullable=True, index=True),
    col.moment("created_at"),
    col.moment("ended_at", nullable=True),
    col.partial_index("ix_subscriptions_paused", "paused_until", where=PAUSED_SUBSCRIPTION),
)

subscription_queries = Table(
    "subscription_queries",
    col.metadata,
    col.reference("subscription_id", "subscriptions.id", primary_key=True),
    col.reference("query_id", "saved_queries.id", primary_key=True, index=True),
    col.number("position"),
    col.big("first_look_run_id", nullable=True),
    col.moment("added_at"),
    col.partial_index("ix_subscription_queries_first_look", "subscription_id", where=FIRST_LOOK_TO_COME),
)

subscription_destinations = Table(
    "subscription_destinations",
    col.metadata,
    col.key(),
    col.reference("subscription_id", "subscriptions.id"),
    col.text("destination", index=True),
    col.number("position"),
    col.text("state"),
    col.text("reason"),
    col.moment("since"),
    UniqueConstraint("subscription_id", "destination"),
)

consents = Table(
    "consents",
    col.metadata,
    col.key(),
    col.reference("subscriber_id", "subscribers.id", index=True),
    col.text("subscription"),
    col.text("event"),
    col.text("how"),
    col.moment("at"),
)

suppressions = Table(
    "suppressions",
    col.metadata,
    col.name_key("destination"),
    col.name_key("subscription"),
    col.text("reason"),
    col.moment("since"),
)

tokens = Table(
    "tokens",
    col.metadata,
    col.name_key("hash"),
    col.text("purpose"),
    col.text("destination"),
    col.text("subscription"),
    col.big("digest_id", nullable=True),
    col.moment("created_at"),
)

installation = Table(
    "installation",
    col.metadata,
    col.explicit_key(),
    col.text("secret"),
    col.moment("created_at"),
    col.text("works_from", server_default="0001"),
    col.moment("copied_at", nullable=True),
    col.moment("resumed_at", nullable=True),
)
