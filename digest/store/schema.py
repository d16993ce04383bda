"""The tables, once for SQLite and PostgreSQL. New databases are made from them.

Keys that grow come first in primary keys, so that inserts stay at the right edge of the index.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    UniqueConstraint,
    func,
    select,
    text,
)

from digest.model.said import NOTHING
from digest.store import dialect

papers = dialect.table(
    "papers",
    dialect.key(),
    dialect.text("arxiv_id", unique=True),
    dialect.number("month"),
    dialect.number("number"),
    dialect.text("archive"),
    dialect.big("latest_version_id", nullable=True),
    dialect.day("datestamp"),
    dialect.moment("as_of", nullable=True),
    dialect.blob("record_hash", nullable=True),
    dialect.day("announcement"),
    dialect.flag("is_kept"),
    dialect.number("forgotten_version", nullable=True),
    dialect.text("forgotten_hash", nullable=True),
    dialect.moment("forgotten_at", nullable=True),
    Index(None, "month", "number"),
    Index(None, "announcement"),
)

forgotten = dialect.table(
    "forgotten",
    dialect.name_key("archive"),
    Column("month", Integer, primary_key=True, autoincrement=False),
    dialect.blob("papers"),
)
"""What stays of forgotten papers that have no row any more, packed by month.

A paper that matched nothing is forgotten in two steps. First its text is deleted: its row stays in
`papers`, where `forgotten_version`, `forgotten_hash` and `forgotten_at` say which text that was.
Later its row is deleted: 4 bytes stay in `forgotten`, and `forgotten_days` counts the paper. If it
comes again, it has a row with `forgotten_at` NULL, and the row counts.
"""

forgotten_days = dialect.table(
    "forgotten_days",
    Column("announcement", Date, primary_key=True),
    dialect.number("papers"),
)
"""How many papers of each announcement are in `forgotten` (Eastern dates)."""

versions = dialect.table(
    "versions",
    dialect.key(),
    dialect.reference("paper_id", "papers.id"),
    dialect.number("version"),
    dialect.text("content_hash"),
    dialect.text("title"),
    dialect.text("abstract"),
    dialect.json_value("authors"),
    dialect.text("categories"),
    dialect.text("comment"),
    dialect.text("journal_ref"),
    dialect.json_value("dois"),
    dialect.text("report_no"),
    dialect.text("license"),
    dialect.moment("published"),
    dialect.moment("updated"),
    dialect.flag("is_withdrawn"),
    UniqueConstraint("paper_id", "version", "content_hash"),
)

words = dialect.table(
    "words",
    dialect.reference("version_id", "versions.id", primary_key=True, ondelete="CASCADE"),
    dialect.number("rules", index=True),
    dialect.blob("packed"),
)
"""The words of texts, as queries compare them, and the version of the rules that read them.

A text that is forgotten takes its words with it.
"""

changes = dialect.table(
    "changes",
    dialect.key(autoincrement=False),
    dialect.reference("paper_id", "papers.id"),
    dialect.reference("version_id", "versions.id", index=True),
    dialect.reference("previous_version_id", "versions.id", nullable=True, index=True),
    dialect.text("kind"),
    dialect.text("fields"),
    dialect.big("run_id"),
    dialect.moment("found_at"),
    dialect.day("announced_on"),
    Index(None, "paper_id", "id"),
    Index(None, "run_id"),
)

marks = dialect.table("marks", dialect.name_key("name"), dialect.big("value"))


poll_runs = dialect.table(
    "poll_runs",
    dialect.key(),
    dialect.text("source"),
    dialect.text("query_key"),
    dialect.day("window_from"),
    dialect.moment("started_at"),
    dialect.moment("finished_at", nullable=True),
    dialect.text("outcome"),
    dialect.number("pages", default=0),
    dialect.number("papers", default=0),
    dialect.number("total", nullable=True),
    dialect.number("new", default=0),
    dialect.number("changed", default=0),
    dialect.text("highest_id", default=""),
    dialect.flag("is_bootstrap", default=False),
    dialect.said("failure", default=NOTHING),
    dialect.text("reader_message", default=""),
    dialect.number("requests", default=0),
    dialect.number("lookback", default=0),
    dialect.text("next_token", default=""),
    dialect.text("owner", default=""),
    Index(None, "source", "query_key", "id"),
    Index(None, "outcome"),
)

cursors = dialect.table(
    "cursors",
    dialect.name_key("source"),
    dialect.name_key("query_key"),
    dialect.big("last_complete_run_id", nullable=True),
    dialect.moment("last_complete_at", nullable=True),
    dialect.number("mark_month"),
    dialect.number("mark_number"),
    dialect.moment("bootstrapped_at"),
)

quarantine = dialect.table(
    "quarantine",
    dialect.key(),
    dialect.reference("run_id", "poll_runs.id", index=True),
    dialect.number("page"),
    dialect.number("position"),
    dialect.text("error"),
    dialect.blob("snippet"),
    dialect.text("name", unique=True),
    dialect.moment("seen_at"),
)

gaps = dialect.table(
    "gaps",
    Column("month", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    dialect.text("state"),
    dialect.moment("missed_at"),
    dialect.number("asks"),
    dialect.moment("asked_at", nullable=True),
    dialect.moment("ended_at", nullable=True),
    dialect.said("reason"),
    Index(None, "state"),
)

requests = dialect.table(
    "requests",
    dialect.key(),
    dialect.moment("at", index=True),
    dialect.text("method"),
    dialect.text("url"),
    dialect.number("status", nullable=True),
    dialect.number("milliseconds"),
    dialect.number("size"),
    dialect.text("outcome"),
    dialect.text("detail"),
)

gate = dialect.table(
    "gate",
    dialect.name_key("name"),
    dialect.text("holder"),
    dialect.big("token"),
    dialect.seconds("lease_until"),
    dialect.seconds("next_at"),
    dialect.seconds("breaker_until"),
    dialect.number("breaker_failures"),
    dialect.text("breaker_reason"),
)


workers = dialect.table(
    "workers",
    dialect.name_key("owner"),
    dialect.text("release"),
    dialect.text("host"),
    dialect.number("pid"),
    dialect.moment("started_at"),
    dialect.seconds("seen_at"),
)

job_turns = dialect.table(
    "job_turns",
    dialect.name_key("owner"),
    dialect.name_key("job"),
    dialect.number("turns"),
    dialect.moment("began_at", nullable=True),
    dialect.moment("ended_at", nullable=True),
    dialect.said("trouble"),
)
"""What each worker does: in a turn, a job does once what is due (see `workers.JobTurn`).

A turn of a subscription is something else: see `OPEN_TURN`.
"""

alarms = dialect.table(
    "alarms",
    dialect.name_key("name"),
    dialect.said("detail"),
    dialect.moment("since"),
    dialect.moment("sent_at", nullable=True),
    dialect.moment("not_before"),
    dialect.moment("ended_at", nullable=True),
)


match_runs = dialect.table(
    "match_runs",
    dialect.key(),
    dialect.big("from_change"),
    dialect.big("to_change"),
    dialect.moment("matched_at"),
    dialect.text("occasion"),
)

NEWEST_MATCH_RUN = select(func.coalesce(func.max(match_runs.c.id), 0)).scalar_subquery()
"""The number of the last match run; 0 before the first."""

query_matches = dialect.table(
    "query_matches",
    dialect.reference("match_run_id", "match_runs.id", primary_key=True),
    dialect.reference("revision_id", "query_revisions.id", primary_key=True, index=True),
    dialect.blob("new"),
    dialect.blob("changed"),
    dialect.blob("gone"),
    sqlite_with_rowid=False,
)

digests = dialect.table(
    "digests",
    dialect.key(),
    dialect.reference("subscription_id", "subscriptions.id"),
    dialect.text("slot"),
    dialect.text("occasion"),
    dialect.moment("planned_at"),
    dialect.text("zone"),
    dialect.text("title"),
    dialect.text("content"),
    dialect.number("papers"),
    dialect.number("shown"),
    UniqueConstraint("subscription_id", "slot"),
)

UNPLANNED_FIRST_DIGEST = text("digest_id IS NULL AND occasion = 'first digest'")

matches = dialect.table(
    "matches",
    dialect.reference("match_run_id", "match_runs.id", primary_key=True),
    dialect.reference("subscription_id", "subscriptions.id", primary_key=True),
    dialect.text("occasion"),
    dialect.blob("changes"),
    dialect.number("papers"),
    dialect.reference("digest_id", "digests.id", nullable=True),
    dialect.moment("matched_at"),
    dialect.blob("brought"),  # what `changes` held at first: some may be taken out later
    Index(None, "subscription_id", "digest_id"),
    dialect.partial_index(
        "ix_matches_first_digests", "subscription_id", where=UNPLANNED_FIRST_DIGEST
    ),
    sqlite_with_rowid=False,
)

ACTIVE_DELIVERY = text("state IN ('ready', 'claimed', 'sending', 'unknown')")

STUCK_DELIVERY = text("state IN ('held', 'dead')")
"""What may need a person; few among millions that were sent."""

_IS_OPEN = "state IN ('held', 'ready', 'claimed', 'sending', 'unknown')"

REFUSED_DELIVERY = text(f"refusal IN ('place', 'account') AND {_IS_OPEN}")
"""Deliveries that were refused and are yet to be sent: newer ones to the same place wait."""

REFUSED_ACCOUNT = text(f"refusal = 'account' AND {_IS_OPEN}")
"""Deliveries that were refused for their account: newer ones of the same kind wait."""

bodies = dialect.table(
    "bodies",
    dialect.name_key("hash"),
    dialect.blob("content"),
)

deliveries = dialect.table(
    "deliveries",
    dialect.key(),
    dialect.reference("digest_id", "digests.id"),
    dialect.text("destination", index=True),
    dialect.number("part"),
    dialect.number("parts"),
    dialect.text("state"),
    dialect.moment("not_before"),
    dialect.number("attempts"),
    dialect.big("token"),
    dialect.text("owner"),
    dialect.seconds("lease_until", nullable=True),
    dialect.text("idempotency_key", unique=True),
    dialect.text("media_type", nullable=True),
    dialect.blob("body", nullable=True),
    dialect.text("shared", nullable=True),
    dialect.text("name"),
    dialect.moment("sending_at", nullable=True),
    dialect.text("remote_address"),
    dialect.text("remote_id"),
    dialect.said("last_error"),
    dialect.moment("created_at"),
    dialect.moment("ended_at", nullable=True, index=True),
    dialect.text("share"),
    dialect.text("refusal", nullable=True),
    dialect.moment("held_at", nullable=True),
    UniqueConstraint("digest_id", "destination", "part"),
    ForeignKeyConstraint(["shared"], ["bodies.hash"]),
    dialect.partial_index(
        "ix_deliveries_active", "state", "not_before", "id", where=ACTIVE_DELIVERY
    ),
    dialect.partial_index("ix_deliveries_stuck", "state", "ended_at", where=STUCK_DELIVERY),
    dialect.partial_index(
        "ix_deliveries_refused",
        "refusal",
        "destination",
        "id",
        where=REFUSED_DELIVERY,
    ),
    dialect.partial_index("ix_deliveries_refused_account", "id", where=REFUSED_ACCOUNT),
    dialect.partial_index("ix_deliveries_kept_bytes", "ended_at", where=text("body IS NOT NULL")),
    dialect.partial_index("ix_deliveries_shared", "shared", where=text("shared IS NOT NULL")),
)

attempts = dialect.table(
    "attempts",
    dialect.reference("delivery_id", "deliveries.id", primary_key=True),
    dialect.number("number", primary_key=True),
    dialect.moment("started_at"),
    dialect.moment("ended_at", nullable=True),
    dialect.text("outcome"),
    dialect.said("detail"),
)

destination_addresses = dialect.table(
    "destination_addresses",
    dialect.name_key("destination"),
    dialect.text("remote_address"),
    dialect.moment("blocked_until", nullable=True),
)


FIRST_DIGEST_TO_COME = text("first_digest_run_id IS NULL")

saved_queries = dialect.table(
    "saved_queries",
    dialect.key(),
    dialect.text("name"),
    dialect.text("origin"),
    dialect.text("state"),
    dialect.moment("created_at"),
    dialect.moment("ended_at", nullable=True),
    UniqueConstraint("origin", "name"),
)

query_revisions = dialect.table(
    "query_revisions",
    dialect.key(),
    dialect.reference("query_id", "saved_queries.id"),
    dialect.number("number"),
    dialect.text("text"),
    dialect.text("canonical", index=True),
    dialect.text("problem"),
    dialect.big("active_from_change"),
    dialect.moment("created_at"),
    dialect.moment("ended_at", nullable=True),
    UniqueConstraint("query_id", "number"),
)

subscribers = dialect.table(
    "subscribers",
    dialect.key(),
    dialect.text("address", unique=True),
    dialect.text("state"),
    dialect.text("how"),
    dialect.moment("since"),
)

PAUSED_SUBSCRIPTION = text("state = 'paused'")
OPEN_TURN = text("awaits_after IS NOT NULL")
"""A turn of a subscription has come, and is open until a check of arXiv after `awaits_after`."""

subscriptions = dialect.table(
    "subscriptions",
    dialect.key(),
    dialect.text("name", unique=True),
    dialect.text("title"),
    dialect.text("origin"),
    dialect.text("state"),
    dialect.text("cadence"),
    dialect.text("kinds"),
    dialect.text("when_empty"),
    dialect.number("show", nullable=True),
    dialect.text("abstracts"),
    dialect.number("look_back"),
    dialect.text("exclude_queries"),
    dialect.text("exclude_papers"),
    *(dialect.text(name) for name in ("library", "not_like", "read_first", "read_last")),
    dialect.text("quiet_hours"),
    dialect.text("group_by"),
    dialect.moment("next_due_at", nullable=True, index=True),
    dialect.text("last_slot"),
    dialect.big("awaits_after", nullable=True),  # the last poll run when the turn was left open
    dialect.text("unchecked", server_default=""),
    dialect.moment("last_planned_at", nullable=True),
    dialect.big("plan_after"),  # only matches of later match runs go into digests
    dialect.moment("paused_until", nullable=True),
    dialect.number("feed_generation"),
    dialect.moment("feed_revoked_at", nullable=True),
    dialect.reference("subscriber_id", "subscribers.id", nullable=True, index=True),
    dialect.moment("created_at"),
    dialect.moment("ended_at", nullable=True),
    dialect.partial_index("ix_subscriptions_paused", "paused_until", where=PAUSED_SUBSCRIPTION),
    dialect.partial_index("ix_subscriptions_open", "awaits_after", where=OPEN_TURN),
)

WAITS_FOR_DIGEST = matches.c.digest_id.is_(None) & (
    matches.c.match_run_id > subscriptions.c.plan_after
)
"""Whether a match is in no digest yet and counts for the next one of its subscription."""

PAPERS_MATCHED = func.coalesce(func.sum(matches.c.papers), 0)
"""How many papers some matches hold."""

subscription_queries = dialect.table(
    "subscription_queries",
    dialect.reference("subscription_id", "subscriptions.id", primary_key=True),
    dialect.reference("query_id", "saved_queries.id", primary_key=True, index=True),
    dialect.number("position"),
    dialect.big("first_digest_run_id", nullable=True),
    dialect.moment("added_at"),
    dialect.partial_index(
        "ix_subscription_queries_first_digest", "subscription_id", where=FIRST_DIGEST_TO_COME
    ),
)

subscription_destinations = dialect.table(
    "subscription_destinations",
    dialect.key(),
    dialect.reference("subscription_id", "subscriptions.id"),
    dialect.text("destination", index=True),
    dialect.number("position"),
    dialect.text("state"),
    dialect.said("reason"),
    dialect.moment("since"),
    dialect.flag("is_joined"),
    dialect.flag("is_new"),
    UniqueConstraint("subscription_id", "destination"),
)

consents = dialect.table(
    "consents",
    dialect.key(),
    dialect.reference("subscriber_id", "subscribers.id", index=True),
    dialect.text("subscription"),
    dialect.text("event"),
    dialect.text("how"),
    dialect.moment("at"),
)

suppressions = dialect.table(
    "suppressions",
    dialect.name_key("destination"),
    dialect.name_key("subscription"),
    dialect.said("reason"),
    dialect.moment("since"),
)

signups = dialect.table(
    "signups",
    dialect.key(),
    dialect.text("kind"),
    dialect.text("address", index=True),
    dialect.text("choices"),
    dialect.text("token", index=True),
    dialect.moment("asked_at", index=True),
    dialect.moment("ends_at"),
    sqlite_autoincrement=True,  # links are made of its keys: no key may come again
)

request_counts = dialect.table(
    "request_counts",
    dialect.name_key("name"),
    Column("hour", Integer, primary_key=True, autoincrement=False),
    dialect.number("count"),
)

tokens = dialect.table(
    "tokens",
    dialect.name_key("hash"),
    dialect.text("purpose"),
    dialect.text("destination"),
    dialect.text("subscription"),
    dialect.big("digest_id", nullable=True),
    dialect.moment("created_at"),
)

installation = dialect.table(
    "installation",
    dialect.key(autoincrement=False),
    dialect.text("secret"),
    dialect.moment("created_at"),
    dialect.moment("sent_until", nullable=True),
)

libraries = dialect.table(
    "libraries",
    dialect.key(),
    dialect.text("source", unique=True),
    dialect.text("version"),
    dialect.moment("read_at", nullable=True),
    dialect.moment("asked_at", nullable=True),
    dialect.text("trouble"),
    dialect.json_value("troubles"),
)

library_papers = dialect.table(
    "library_papers",
    dialect.reference("library_id", "libraries.id", primary_key=True),
    dialect.number("position", primary_key=True),
    *(
        dialect.text(name)
        for name in ("arxiv_id", "doi", "title", "abstract", "collection", "opinion")
    ),
    dialect.moment("asked_at", nullable=True),
)

word_counts = dialect.table(
    "word_counts",
    dialect.key(),
    dialect.moment("made_at"),
    dialect.number("papers"),
    dialect.blob("counts"),
)

near_days = dialect.table(
    "near_days",
    Column("announced_on", Date, primary_key=True),
    dialect.reference("subscription_id", "subscriptions.id", primary_key=True),
    dialect.big("least"),
)
"""The smallest nearness in the top tenth of each announcement, for each subscription.

Nearness is to the papers of the subscription's library.
"""
