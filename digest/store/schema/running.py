"""Who works on the database and at what, and what has gone wrong so far that somebody must hear of it."""

from __future__ import annotations

from sqlalchemy import Table

from digest.store.schema import columns as col

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
    col.number("failures"),
    col.number("overruns"),
    col.moment("began_at", nullable=True),
    col.moment("ended_at", nullable=True),
    col.moment("next_at", nullable=True),
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
