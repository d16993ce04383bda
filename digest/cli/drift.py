"""Where the operator's file and the store differ: what was edited counts from the next run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.subscriptions import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from digest.config import Config


def describe_drift(config: Config, conn: Connection) -> str:
    """Say what the file says otherwise than the store; "" where both agree."""
    from digest.store import queries as query_store  # noqa: PLC0415 - the stack is loaded by what needs it
    from digest.store import subscriptions as subscription_store  # noqa: PLC0415 - the same
    from digest.store.renaming import foresee_renaming  # noqa: PLC0415 - the same

    stored = {query.name: query.text for query in query_store.load_queries(conn) if query.origin == Origin.FILE}
    written = {query.name: query.text for query in config.queries}
    renamed = dict(foresee_renaming(conn, config.subscriptions, Origin.FILE).renamed)
    had = {
        renamed.get(due.subscription.name, due.subscription.name): due.subscription
        for due in subscription_store.load_subscriptions(conn)
    }
    wanted = {subscription.name: subscription for subscription in config.subscriptions}
    changes = _compare("query", stored, written)
    changes += [f"query {name} (gone)" for name in stored if name not in written]
    changes += [f"subscription {now} (renamed from {before})" for before, now in renamed.items()]
    changes += _compare(
        "subscription",
        {name: (one.cadence, one.kinds, one.queries) for name, one in had.items()},
        {name: (one.cadence, one.kinds, one.queries) for name, one in wanted.items()},
    )
    if not changes:
        return ""
    how = "`digest run`, or a SIGHUP to `digest serve`, takes over"
    return f"digest.toml is ahead of the last run; {how}: {', '.join(changes)}."


def find_renamed(config: Config, conn: Connection) -> list[tuple[str, str]]:
    """Return the subscriptions the file has no more, each with a new one of it that reads the same saved query.

    One that was renamed without saying so, or saying another name, ends; the new one begins as if nobody had read
    anything.
    """
    from digest.store import subscriptions as subscription_store  # noqa: PLC0415 - the same
    from digest.store.renaming import foresee_renaming  # noqa: PLC0415 - the same

    stored = subscription_store.load_subscriptions(conn)
    renamed = dict(foresee_renaming(conn, config.subscriptions, Origin.FILE).renamed)
    accounted = {subscription.name for subscription in config.subscriptions} | set(renamed)
    gone = [due for due in stored if due.subscription.name not in accounted]
    gone = [due for due in gone if subscription_store.is_from_file(conn, due.id)]
    known = {due.subscription.name for due in stored} | set(renamed.values())
    return [
        (due.subscription.name, new.name)
        for due in gone
        for new in config.subscriptions
        if new.name not in known and set(new.queries) & set(due.subscription.queries)
    ]


def _compare(what: str, stored: Mapping[str, object], written: Mapping[str, object]) -> list[str]:
    added = [f"{what} {name} (new)" for name in written if name not in stored]
    both = [name for name in written if name in stored]
    return added + [f"{what} {name} (edited)" for name in both if stored[name] != written[name]]
