"""Brings the operator's file into the store: what it no longer names is ended.

People who left stay away whatever the file says; people who subscribed by themselves live in the
store and are not touched here.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path

from sqlalchemy import Connection

from digest.config import Config
from digest.match.rules import QUERY_LISTS, find_unread, find_unreadable, keep_readable
from digest.model.destinations import DestinationKind
from digest.model.errors import QueryError
from digest.model.libraries import ZOTERO
from digest.model.subscriptions import FILE, RETURNS_WITHIN, Subscription, SubscriptionState
from digest.plan import slots
from digest.plan.step import make_waiting_due
from digest.query import parse_query
from digest.site import Site
from digest.store.queries import SyncReport, sync_queries
from digest.store.subscribers import confirm_by_operator, load_unsubscribed, save_unsubscription
from digest.store.subscriptions import load_subscriptions
from digest.store.sync import sync_subscriptions


@dataclass(frozen=True, slots=True)
class ConfigReport(SyncReport):
    """What reading the file changed, of saved queries and subscriptions.

    No paper can ever meet `futile` queries. `unreadable` are saved queries, `unread` what subscriptions
    follow, exclude, or put first or last by a text of their own. `not_subscribed` names destination, new
    subscription and the old one that was left.
    """

    unreadable: tuple[tuple[str, str], ...] = ()
    futile: tuple[tuple[str, str], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    not_subscribed: tuple[tuple[str, str, str], ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is taken over, and may be meant otherwise or be a surprise: sentences without full stops."""
        name, before = next(iter(self.changed.items()), ("", ""))
        against = f" --against {shlex.quote(before)}" if before else ""
        edited = (
            f"Edited: {', '.join(self.changed)}. The new text matches papers found from now on, and no older ones"
            f" (`digest try {shlex.quote(name)}{against}` shows those)"
        )
        left_alone = (
            f"{destination} unsubscribed from {old}, so it gets no {new} (only if its reader asks for it:"
            f" `digest subscription resubscribe {new} {shlex.quote(destination)}`)"
            for destination, new, old in self.not_subscribed
        )
        lost = (one.describe() for one in self.dropped)
        return (*([edited] if self.changed else []), *lost, *left_alone)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What can't be read in the file, and what is done instead; below each the place where it breaks off."""
        instead = dict.fromkeys(self.used_as_before, "is still used as it was before")
        return (
            *(
                f"saved query {name} can't be read and {instead.get(name, 'is left out')}:\n{problem}"
                for name, problem in self.unreadable
            ),
            *(f"saved query {name} brings nothing: {why}" for name, why in self.futile),
            *(
                f"{what} can't be read; what was there before stays in use:\n{problem}"
                for what, problem in self.unread
            ),
        )


def sync_config(site: Site) -> ConfigReport:
    """Bring the store in line with the configuration, in one transaction. Doing it twice changes nothing."""
    texts, unreadable, futile = {}, [], []
    for query in site.config.queries:
        canonical, problem = "", ""
        try:
            read = parse_query(query.text)
            canonical = read.canonical
            futile += [(query.name, read.futility)] if read.futility else []
        except QueryError as error:
            problem = f"{error.message}\n{error.pointer()}\n{error.hint}".rstrip()
            if (
                query.name in site.config.query_names
            ):  # the others are told with their subscriptions
                unreadable.append((query.name, problem))
        texts[query.name] = (query.text, canonical, problem)
    now = site.clock.now()
    with site.store.begin() as conn:
        spoilt = [one.name for one in site.config.subscriptions if _find_lost(one, site.config)]
        stored = load_subscriptions(conn, names=spoilt, ended_since=now - RETURNS_WITHIN)
        before = {due.subscription.name: due for due in stored}
        wanted = [
            _keep_readable(one, before[one.name].subscription, site.config)
            if one.name in before
            else one
            for one in site.config.subscriptions
        ]
        followed = set(chain.from_iterable(one.queries for one in wanted))
        texts |= {
            had.name: (had.text, had.canonical, "")
            for had in chain.from_iterable(due.revisions for due in before.values())
            if had.name in followed - texts.keys()
        }
        queries = sync_queries(conn, texts, FILE, now)
        subscriptions = sync_subscriptions(conn, wanted, FILE, now, slots)
        make_waiting_due(conn, now)
        kept_away = _keep_unsubscribed(conn, subscriptions.added, now)
        for subscription in site.config.subscriptions:
            for destination in subscription.destinations:
                if destination.kind is DestinationKind.MAIL:
                    confirm_by_operator(conn, destination.address, subscription.name, now)
    return ConfigReport(
        added=(*queries.added, *subscriptions.added),
        edited=(*queries.edited, *subscriptions.edited),
        ended=(*queries.ended, *subscriptions.ended),
        changed=queries.changed,
        unreadable=tuple(unreadable),
        futile=tuple(futile),
        used_as_before=queries.used_as_before,
        unread=tuple(
            (what, f"{problem.message}\n{problem.pointer()}\n{problem.hint}".rstrip())
            for subscription in site.config.subscriptions
            for what, problem in find_unread(subscription, site.config.query_names)
        ),
        not_subscribed=kept_away,
        dropped=subscriptions.dropped,
    )


def _find_lost(subscription: Subscription, config: Config) -> set[str]:
    """Return the queries of a subscription, and the files of its libraries, that can't be read."""
    texts = chain.from_iterable(getattr(subscription, key) for key in QUERY_LISTS)
    return find_unreadable(texts, config.query_names).keys() | {
        source
        for source in (*subscription.library, *subscription.not_like)
        if not (source.startswith(ZOTERO) or Path(source).is_file())
    }


def _keep_readable(written: Subscription, before: Subscription, config: Config) -> Subscription:
    return keep_readable(written, before, _find_lost(written, config) | _find_lost(before, config))


def _keep_unsubscribed(
    conn: Connection, added: Sequence[str], now: datetime
) -> tuple[tuple[str, str, str], ...]:
    """Keep people unsubscribed if a subscription comes back under another name, with the same saved queries."""
    kept_away = []
    for new in load_subscriptions(conn, names=added) if added else ():
        for destination in new.subscription.destinations:
            left = load_unsubscribed(conn, destination) - {new.subscription.name}
            for old in load_subscriptions(conn, names=left, include_ended=True) if left else ():
                is_gone = old.state == SubscriptionState.ENDED
                if is_gone and set(old.subscription.queries) == set(new.subscription.queries):
                    how = (
                        f"unsubscribed from {old.subscription.name}, and this seems to be the same"
                    )
                    save_unsubscription(conn, destination, new.subscription.name, how=how, at=now)
                    kept_away.append(
                        (str(destination), new.subscription.name, old.subscription.name)
                    )
    return tuple(kept_away)
