"""How arXiv was asked: runs, how far they came, the bytes they brought, and the pace."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table

from digest.store.schema import columns as col

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
    col.big("gate_token"),
    col.number("requests"),
    col.number("lookback"),
    col.text("next_token"),
    col.text("owner", server_default=""),
    Index(None, "source", "query_key", "id"),
    Index(None, "outcome"),
)

cursors = Table(
    "cursors",
    col.metadata,
    col.name_key("source"),
    col.name_key("query_key"),
    col.day("complete_from"),
    col.big("last_complete_run_id", nullable=True),
    col.moment("last_complete_at", nullable=True),
    col.number("mark_month"),
    col.number("mark_number"),
    col.flag("is_bootstrapped"),
    col.moment("bootstrapped_at", nullable=True),
)

raw_pages = Table(
    "raw_pages",
    col.metadata,
    col.key(),
    col.reference("run_id", "poll_runs.id", index=True),
    col.number("number"),
    col.text("url"),
    col.moment("fetched_at", index=True),
    col.text("sha256"),
    col.number("size"),
    col.blob("body"),
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
    col.text("sha256"),
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
