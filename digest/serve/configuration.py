"""Brings the operator's file into the store: what it no longer names is ended.

Whoever unsubscribed stays unsubscribed, whatever the file says. People who subscribed by themselves
are in the store, and nothing here changes them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from digest.config import Config
from digest.match.rules import QUERY_LISTS, find_unread, find_unreadable, keep_readable
from digest.model.destinations import Destination
from digest.model.errors import QueryError
from digest.model.libraries import ZOTERO
from digest.model.said import Said, Saying
from digest.model.subscriptions import (
    FILE,
    RETURNS_WITHIN,
    DueSubscription,
    Subscription,
    SubscriptionState,
)
from digest.plan import slots
from digest.plan.step import make_waiting_due
from digest.query import parse_query
from digest.site import Site
from digest.store import queries, subscribers, subscriptions
from digest.store.queries import SyncReport
from digest.store.sync import sync_subscriptions


class NotSubscribed(NamedTuple):
    """A destination that gets no new subscription, since it unsubscribed from the old one."""

    destination: str
    new: str
    old: str

    def describe(self) -> str:
        """Say so, and how its reader gets it all the same."""
        return (
            f"{self.destination} unsubscribed from {self.old}, so it gets no {self.new}"
            " (only if its reader asks for it:"
            f" `digest subscription resubscribe {self.new} {shlex.quote(self.destination)}`)"
        )


@dataclass(frozen=True, slots=True)
class ConfigReport(SyncReport):
    """What reading the file changed, of saved queries and subscriptions.

    No paper can ever meet `futile` queries. `unreadable` are saved queries, `unread` what
    subscriptions follow, exclude, or put first or last by a text of their own.
    """

    unreadable: tuple[tuple[str, str], ...] = ()
    futile: tuple[tuple[str, str], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    not_subscribed: tuple[NotSubscribed, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is taken over, and may be meant otherwise or be a surprise.

        Sentences without full stops.
        """
        edited = [self._describe_edits()] if self.changed else []
        lost = [one.describe() for one in self.dropped]
        left_alone = [one.describe() for one in self.not_subscribed]
        return (*edited, *lost, *left_alone)

    def _describe_edits(self) -> str:
        name, before = next(iter(self.changed.items()))
        against = f" --against {shlex.quote(before)}" if before else ""
        return (
            f"Edited: {', '.join(self.changed)}."
            " The new text matches papers found from now on, and no older ones"
            f" (`digest try {shlex.quote(name)}{against}` shows those)"
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """What can't be read in the file, and what is done instead.

        Below each stands the place where it breaks off.
        """
        said = []
        for name, problem in self.unreadable:
            is_used = name in self.used_as_before
            instead = "is still used as it was before" if is_used else "is left out"
            said.append(f"saved query {name} can't be read and {instead}:\n{problem}")
        for name, why in self.futile:
            said.append(f"saved query {name} brings nothing: {why}")
        for what, problem in self.unread:
            said.append(f"{what} can't be read; what was there before stays in use:\n{problem}")
        return tuple(said)


@dataclass(frozen=True, slots=True)
class _ReadQueries:
    """The saved queries of a file, as the store takes them.

    `texts` has by name the text, the canonical form and the problem. Beside them are the names of
    those that can't be read, or bring nothing, and why.
    """

    texts: dict[str, tuple[str, str, str]]
    unreadable: tuple[tuple[str, str], ...]
    futile: tuple[tuple[str, str], ...]


def sync_config(site: Site) -> ConfigReport:
    """Bring the store in line with the configuration, in one transaction.

    Doing it twice changes nothing.
    """
    config = site.config
    now = site.clock.now()
    read = _read_queries(config)
    with site.store.begin() as conn:
        before = _load_spoilt(conn, config, now)
        wanted = _list_wanted(config, before)
        texts = read.texts | _list_earlier_texts(wanted, before, read.texts)
        of_queries = queries.sync(conn, texts, FILE, now)
        subscriptions = sync_subscriptions(conn, wanted, FILE, now, slots)
        make_waiting_due(conn, now)
        kept_away = _keep_unsubscribed(conn, subscriptions.added, now)
        _confirm_readers(conn, config, now)
    return ConfigReport(
        added=(*of_queries.added, *subscriptions.added),
        edited=(*of_queries.edited, *subscriptions.edited),
        ended=(*of_queries.ended, *subscriptions.ended),
        changed=of_queries.changed,
        unreadable=read.unreadable,
        futile=read.futile,
        used_as_before=of_queries.used_as_before,
        unread=_list_unread(config),
        not_subscribed=kept_away,
        dropped=subscriptions.dropped,
    )


def _read_queries(config: Config) -> _ReadQueries:
    texts = {}
    unreadable = []
    futile = []
    for query in config.queries:
        canonical = problem = ""
        try:
            read = parse_query(query.text)
            canonical = read.canonical
            if read.futility:
                futile.append((query.name, read.futility))
        except QueryError as error:
            problem = _describe_problem(error)
            if query.name in config.query_names:  # the others come with their subscriptions
                unreadable.append((query.name, problem))
        texts[query.name] = (query.text, canonical, problem)
    return _ReadQueries(texts, tuple(unreadable), tuple(futile))


def _describe_problem(error: QueryError) -> str:
    """Say what can't be read, with the place below it and what to do."""
    return f"{error.message}\n{error.pointer()}\n{error.hint}".rstrip()


def _load_spoilt(conn: Connection, config: Config, now: datetime) -> dict[str, DueSubscription]:
    """Return as stored, by name, the subscriptions of which a part can't be read any more."""
    spoilt = [one.name for one in config.subscriptions if _find_lost(one, config)]
    stored = subscriptions.load(conn, names=spoilt, ended_since=now - RETURNS_WITHIN)
    return {due.subscription.name: due for due in stored}


def _list_wanted(config: Config, before: Mapping[str, DueSubscription]) -> list[Subscription]:
    """Return the subscriptions of the file; what can't be read in one is as it was before."""
    wanted = []
    for one in config.subscriptions:
        had = before.get(one.name)
        wanted.append(_keep_readable(one, had.subscription, config) if had else one)
    return wanted


def _list_earlier_texts(
    wanted: Sequence[Subscription],
    before: Mapping[str, DueSubscription],
    texts: Mapping[str, object],
) -> dict[str, tuple[str, str, str]]:
    """Return the queries that subscriptions keep from before, and that are not in the file."""
    followed = set(chain.from_iterable(one.queries for one in wanted))
    kept = {}
    for had in chain.from_iterable(due.revisions for due in before.values()):
        if had.name in followed and had.name not in texts:
            kept[had.name] = (had.text, had.canonical, "")
    return kept


def _confirm_readers(conn: Connection, config: Config, now: datetime) -> None:
    """Take who is named in the file as confirmed by the operator."""
    for subscription in config.subscriptions:
        for destination in subscription.destinations:
            if destination.traits.is_personal:
                subscribers.confirm_by_operator(conn, destination.address, subscription.name, now)


def _list_unread(config: Config) -> tuple[tuple[str, str], ...]:
    """Return what subscriptions say by a text of their own that can't be read, and why."""
    found = []
    for subscription in config.subscriptions:
        for what, problem in find_unread(subscription, config.query_names):
            found.append((what, _describe_problem(problem)))
    return tuple(found)


def _find_lost(subscription: Subscription, config: Config) -> set[str]:
    """Return the queries of a subscription, and the files of its libraries, that can't be read."""
    texts = chain.from_iterable(getattr(subscription, key) for key in QUERY_LISTS)
    unreadable = set(find_unreadable(texts, config.query_names))
    sources = (*subscription.library, *subscription.not_like)
    files = [one for one in sources if not one.startswith(ZOTERO)]
    return unreadable | {one for one in files if not Path(one).is_file()}


def _keep_readable(written: Subscription, before: Subscription, config: Config) -> Subscription:
    lost = _find_lost(written, config) | _find_lost(before, config)
    return keep_readable(written, before, lost)


def _keep_unsubscribed(
    conn: Connection, added: Sequence[str], now: datetime
) -> tuple[NotSubscribed, ...]:
    """Keep people unsubscribed if a subscription comes back under another name.

    It is the same if it has the same saved queries.
    """
    if not added:
        return ()
    kept_away = []
    for new in subscriptions.load(conn, names=added):
        name = new.subscription.name
        for destination in new.subscription.destinations:
            for old in _load_unsubscribed_alike(conn, destination, new):
                how = Said.of(Saying.SAME_AGAIN, old)
                subscribers.save_unsubscription(conn, destination, name, how=how, at=now)
                kept_away.append(NotSubscribed(str(destination), name, old))
    return tuple(kept_away)


def _load_unsubscribed_alike(
    conn: Connection, destination: Destination, new: DueSubscription
) -> list[str]:
    """Return from which ended subscriptions, alike to a new one, a reader unsubscribed."""
    names = subscribers.load_unsubscribed(conn, destination) - {new.subscription.name}
    if not names:
        return []
    unsubscribed = []
    for old in subscriptions.load(conn, names=names, include_ended=True):
        is_alike = set(old.subscription.queries) == set(new.subscription.queries)
        if is_alike and old.state == SubscriptionState.ENDED:
            unsubscribed.append(old.subscription.name)
    return unsubscribed
