"""The tables, once for SQLite and PostgreSQL. New databases are made from them.

Keys that grow come first in primary keys, so that inserts stay at the right edge of the index.
"""

from __future__ import annotations

from sqlalchemy import Column, Date, Index, Integer, Table, UniqueConstraint, text

from digest.store import dialect as col

papers = Table(
    "papers",
    col.metadata,
    col.key(),
    col.text("arxiv_id", unique=True),
    col.number("month"),
    col.number("number"),
    col.text("archive"),
    col.big("latest_version_id", nullable=True),
    col.day("datestamp"),
    col.moment("as_of", nullable=True),
    col.day("mailing"),
    col.flag("is_kept"),
    col.number("forgotten_version", nullable=True),
    col.text("forgotten_hash", nullable=True),
    col.moment("forgotten_at", nullable=True),
    Index(None, "month", "number"),
    Index(None, "mailing"),
)

versions = Table(
    "versions",
    col.metadata,
    col.key(),
    col.reference("paper_id", "papers.id"),
    col.number("version"),
    col.text("content_hash"),
    col.text("title"),
    col.text("abstract"),
    col.json_columns("authors"),
    col.text("categories"),
    col.text("comment"),
    col.text("journal_ref"),
    col.json_columns("dois"),
    col.text("report_no"),
    col.text("license"),
    col.moment("published"),
    col.moment("updated"),
    col.flag("is_withdrawn"),
    col.json_columns("history"),
    UniqueConstraint("paper_id", "version", "content_hash"),
)

changes = Table(
    "changes",
    col.metadata,
    col.explicit_key(),
    col.reference("paper_id", "papers.id"),
    col.reference("version_id", "versions.id", index=True),
    col.reference("previous_version_id", "versions.id", nullable=True, index=True),
    col.text("kind"),
    col.text("fields"),
    col.big("run_id"),
    col.moment("found_at"),
    col.day("announced_on"),
    Index(None, "paper_id", "id"),
    Index(None, "run_id"),
)

marks = Table("marks", col.metadata, col.name_key("name"), col.big("value"))


poll_runs = Table(
    "poll_runs",
    col.metadata,
    col.key(),
    col.text("source"),
    col.text("query_key"),
    col.day("window_from"),
    col.moment("started_at"),
    col.moment("finished_at", nullable=True),
    col.text("outcome"),
    col.number("pages"),
    col.number("papers"),
    col.number("total", nullable=True),
    col.number("new"),
    col.number("changed"),
    col.text("highest_id"),
    col.flag("is_bootstrap"),
    col.text("failure"),
    col.text("told"),
    col.number("requests"),
    col.number("lookback"),
    col.text("next_token"),
    col.text("owner"),
    Index(None, "source", "query_key", "id"),
    Index(None, "outcome"),
)

cursors = Table(
    "cursors",
    col.metadata,
    col.name_key("source"),
    col.name_key("query_key"),
    col.big("last_complete_run_id", nullable=True),
    col.moment("last_complete_at", nullable=True),
    col.number("mark_month"),
    col.number("mark_number"),
    col.moment("bootstrapped_at"),
)

quarantine = Table(
    "quarantine",
    col.metadata,
    col.key(),
    col.reference("run_id", "poll_runs.id", index=True),
    col.number("page"),
    col.number("position"),
    col.text("error"),
    col.blob("snippet"),
    col.text("name", unique=True),
    col.moment("seen_at"),
)

gaps = Table(
    "gaps",
    col.metadata,
    Column("month", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    col.text("state"),
    col.moment("missed_at"),
    col.number("asks"),
    col.moment("asked_at", nullable=True),
    col.moment("ended_at", nullable=True),
    col.text("reason"),
    Index(None, "state"),
)

requests = Table(
    "requests",
    col.metadata,
    col.key(),
    col.moment("at", index=True),
    col.text("method"),
    col.text("url"),
    col.number("status", nullable=True),
    col.number("milliseconds"),
    col.number("size"),
    col.text("outcome"),
    col.text("detail"),
)

gate = Table(
    "gate",
    col.metadata,
    col.name_key("name"),
    col.text("holder"),
    col.big("token"),
    col.seconds("lease_until"),
    col.seconds("next_at"),
    col.seconds("breaker_until"),
    col.number("breaker_failures"),
    col.text("breaker_reason"),
)


workers = Table(
    "workers",
    col.metadata,
    col.name_key("owner"),
    col.text("release"),
    col.text("host"),
    col.number("pid"),
    col.moment("started_at"),
    col.seconds("seen_at"),
)

job_turns = Table(
    "job_turns",
    col.metadata,
    col.name_key("owner"),
    col.name_key("job"),
    col.number("turns"),
    col.moment("began_at", nullable=True),
    col.moment("ended_at", nullable=True),
    col.text("trouble"),
)

alarms = Table(
    "alarms",
    col.metadata,
    col.name_key("name"),
    col.text("detail"),
    col.moment("since"),
    col.moment("told_at", nullable=True),
    col.moment("not_before"),
    col.moment("ended_at", nullable=True),
)


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

UNPLANNED_FIRST_DIGEST = text("digest_id IS NULL AND occasion = 'first digest'")

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
    col.blob("brought"),
    Index(None, "subscription_id", "digest_id"),
    col.partial_index("ix_matches_first_digests", "subscription_id", where=UNPLANNED_FIRST_DIGEST),
    sqlite_with_rowid=False,
)

ACTIVE_DELIVERY = text("state IN ('ready', 'claimed', 'sending', 'unknown')")

STUCK_DELIVERY = text("state IN ('held', 'dead')")
"""What may need a person; few among millions that were sent."""

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
    col.moment("ended_at", nullable=True, index=True),
    col.text("share"),
    UniqueConstraint("digest_id", "destination", "part"),
    col.partial_index("ix_deliveries_active", "state", "not_before", "id", where=ACTIVE_DELIVERY),
    col.partial_index("ix_deliveries_stuck", "state", "ended_at", where=STUCK_DELIVERY),
    col.partial_index("ix_deliveries_kept_bytes", "ended_at", where=text("body IS NOT NULL")),
)

attempts = Table(
    "attempts",
    col.metadata,
    col.reference("delivery_id", "deliveries.id", primary_key=True),
    col.number("number", primary_key=True),
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
    col.moment("blocked_until", nullable=True),
)


FIRST_DIGEST_TO_COME = text("first_digest_run_id IS NULL")

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
    col.text("when_empty"),
    col.number("show", nullable=True),
    col.text("abstracts"),
    col.number("look_back"),
    col.text("exclude_queries"),
    col.text("exclude_papers"),
    *(col.text(name) for name in ("library", "not_like", "read_first", "read_last")),
    col.text("quiet_hours"),
    col.text("group_by"),
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
    col.partial_index("ix_subscriptions_paused", "paused_until", where=PAUSED_SUBSCRIPTION),
)

subscription_queries = Table(
    "subscription_queries",
    col.metadata,
    col.reference("subscription_id", "subscriptions.id", primary_key=True),
    col.reference("query_id", "saved_queries.id", primary_key=True, index=True),
    col.number("position"),
    col.big("first_digest_run_id", nullable=True),
    col.moment("added_at"),
    col.partial_index("ix_subscription_queries_first_digest", "subscription_id", where=FIRST_DIGEST_TO_COME),
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
    col.flag("is_joined"),
    col.flag("is_new"),
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

signups = Table(
    "signups",
    col.metadata,
    col.key(),
    col.text("ask"),
    col.text("address", index=True),
    col.text("wish"),
    col.text("token", index=True),
    col.moment("asked_at", index=True),
    col.moment("ends_at"),
    sqlite_autoincrement=True,  # links are made of its numbers: none may come again
)

request_counts = Table(
    "request_counts",
    col.metadata,
    col.name_key("name"),
    Column("hour", Integer, primary_key=True, autoincrement=False),
    col.number("count"),
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
    col.moment("sent_until", nullable=True),
)

libraries = Table(
    "libraries",
    col.metadata,
    col.key(),
    col.text("source", unique=True),
    col.text("version"),
    col.moment("read_at", nullable=True),
    col.moment("asked_at", nullable=True),
    col.text("trouble"),
    col.json_columns("troubles"),
)

library_papers = Table(
    "library_papers",
    col.metadata,
    col.reference("library_id", "libraries.id", primary_key=True),
    col.number("position", primary_key=True),
    *(col.text(name) for name in ("arxiv_id", "doi", "title", "abstract", "collection", "opinion")),
    col.moment("asked_at", nullable=True),
)

word_counts = Table(
    "word_counts",
    col.metadata,
    col.key(),
    col.moment("made_at"),
    col.number("papers"),
    col.blob("counts"),
)

near_days = Table(
    "near_days",
    col.metadata,
    Column("announced_on", Date, primary_key=True),
    col.reference("subscription_id", "subscriptions.id", primary_key=True),
    col.big("least"),
)
