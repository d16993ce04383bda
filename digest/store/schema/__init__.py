"""The tables, once for SQLite and PostgreSQL. New databases are made from them.

Keys that grow come first in primary keys, so that inserts stay at the right edge of the index.
"""

from digest.store.schema.announced import changes, marks, papers, versions
from digest.store.schema.columns import Moment, metadata
from digest.store.schema.polled import cursors, gaps, gate, poll_runs, quarantine, raw_pages, requests
from digest.store.schema.running import alarms, job_turns, workers
from digest.store.schema.told import (
    ACTIVE_DELIVERY,
    STUCK_DELIVERY,
    UNPLANNED_FIRST_LOOK,
    attempts,
    deliveries,
    destination_addresses,
    digests,
    match_runs,
    matches,
    query_matches,
)
from digest.store.schema.wanted import (
    FIRST_LOOK_TO_COME,
    PAUSED_SUBSCRIPTION,
    consents,
    installation,
    query_feeds,
    query_revisions,
    saved_queries,
    subscribers,
    subscription_destinations,
    subscription_queries,
    subscriptions,
    suppressions,
    tokens,
)

__all__ = [
    "ACTIVE_DELIVERY",
    "FIRST_LOOK_TO_COME",
    "PAUSED_SUBSCRIPTION",
    "STUCK_DELIVERY",
    "UNPLANNED_FIRST_LOOK",
    "Moment",
    "alarms",
    "attempts",
    "changes",
    "consents",
    "cursors",
    "deliveries",
    "destination_addresses",
    "digests",
    "gaps",
    "gate",
    "installation",
    "job_turns",
    "marks",
    "match_runs",
    "matches",
    "metadata",
    "papers",
    "poll_runs",
    "quarantine",
    "query_feeds",
    "query_matches",
    "query_revisions",
    "raw_pages",
    "requests",
    "saved_queries",
    "subscribers",
    "subscription_destinations",
    "subscription_queries",
    "subscriptions",
    "suppressions",
    "tokens",
    "versions",
    "workers",
]
