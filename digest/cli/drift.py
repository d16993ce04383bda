"""Where the operator's file and the store differ: what was edited counts from the next run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.store import queries as query_store
from digest.store import subscriptions as subscription_store
from digest.subscriptions import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from digest.config import Config


def describe_drift(config: Config, conn: Connection) -> str:
    """Say what the file says otherwise than the store; "" where both agree."""
    stored = {query.name: query.text for query in query_store.load_queries(conn) if query.origin == Origin.FILE}
    written = {query.name: query.text for query in config.queries}
    had = {due.subscription.name: due.subscription for due in subscription_store.load_subscriptions(conn)}
    wanted = {subscription.name: subscription for subscription in config.subscriptions}
    changes = _compare("query", stored, written)
    changes += [f"query {name} (gone)" for name in stored if name not in written]
    changes += _compare(
        "subscription",
        {name: (one.cadence, one.kinds, one.queries) for name, one in had.items()},
        {name: (one.cadence, one.kinds, one.queries) for name, one in wanted.items()},
    )
    if not changes:
        return ""
    how = "`digest run`, or a SIGHUP to `digest serve`, takes over"
    return f"digest.toml is ahead of the last run; {how}: {', '.join(changes)}."


def _compare(what: str, stored: Mapping[str, object], written: Mapping[str, object]) -> list[str]:
    added = [f"{what} {name} (new)" for name in written if name not in stored]
    both = [name for name in written if name in stored]
    return added + [f"{what} {name} (edited)" for name in both if stored[name] != written[name]]
