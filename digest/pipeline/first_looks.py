"""The first look of a new saved query: the papers of the last days, told once, though nothing changed in them.

However many first looks are owed, what is stored is read once; each is then given in a transaction of its
own, so that whoever dies in between has given some of them and owes the others.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from digest.excluding import Exclusion, read_exclusion
from digest.planning import choose_first_look
from digest.planning.polls import Source
from digest.query import StandingQueries
from digest.store import cursors as cursor_store
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import subscriptions as subscription_store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.comparing import StoredChange
    from digest.pipeline.site import Site
    from digest.store.matches import FirstLook

_PAPERS_AT_ONCE: Final = 4_000
"""Stored papers held against the queries together."""


@dataclass
class FirstLooks:
    """What first looks brought.

    Attributes:
        given: how many of them held any paper.
        papers: the keys of the papers in them.
    """

    given: int = 0
    papers: set[int] = field(default_factory=set)


def give_first_looks(site: Site, awaiting: Collection[str]) -> FirstLooks:
    """Give every first look that is owed and can be given now.

    Args:
        site: the installation.
        awaiting: canonical queries whose first looks stay owed all the same.
    """
    at, given = site.clock.now(), FirstLooks()
    with site.store.read() as conn:
        owed = match_store.pending_first_looks(conn)
        looks = _find_ready(conn, site, [look for look in owed if look.revision.canonical not in awaiting])
        candidates = _find_candidates(conn, looks, at) if looks else []
    for look, found in zip(looks, candidates, strict=True):
        _give(site, look, found, given, at)
    return given


def _find_ready(conn: Connection, site: Site, owed: Sequence[FirstLook]) -> list[FirstLook]:
    """Return those whose source was read to its end: an empty first look would be the only one."""
    source = Source(site.config.arxiv.source)
    looked = {key for key, cursor in cursor_store.load_cursors(conn, source).items() if cursor.last_complete_at}
    if "" in looked:
        return list(owed)
    return [look for look in owed if source is Source.QUERY and look.revision.canonical in looked]


def _find_candidates(conn: Connection, looks: Sequence[FirstLook], at: datetime) -> list[list[StoredChange]]:
    """Return for each first look the papers it may hold, as `choose_first_look` leaves them."""
    kept: list[list[StoredChange]] = [[] for _ in looks]
    wanted = [(number, look) for number, look in enumerate(looks) if look.days > 0]
    if not wanted:
        return kept
    standing = StandingQueries()
    standing.keep({look.revision.canonical: look.revision.text for _, look in wanted})
    exclusions = _load_exclusions(conn, {look.subscription_id for _, look in wanted})
    by_text: dict[str, list[int]] = {}
    for number, look in wanted:
        by_text.setdefault(look.revision.canonical, []).append(number)
    latest = paper_store.latest_changes(conn)
    while batch := list(itertools.islice(latest, _PAPERS_AT_ONCE)):
        for text, met in standing.hold([change.paper for change in batch]):
            for number in by_text[text]:
                look = looks[number]
                found = _drop_excluded(
                    (batch[place] for place in met), exclusions.get(look.subscription_id, Exclusion())
                )
                fresh = _drop_seen(conn, look, found)
                # What is chosen of a part and the next part is what would be chosen of both.
                kept[number] = list(choose_first_look([*kept[number], *fresh], look.days, at))
    return kept


def _load_exclusions(conn: Connection, subscriptions: Collection[int]) -> Mapping[int, Exclusion]:
    loaded = subscription_store.load_subscriptions(conn, sorted(subscriptions))
    return {stored.id: read_exclusion(stored.subscription) for stored in loaded}


def _drop_excluded(found: Iterable[StoredChange], exclusion: Exclusion) -> list[StoredChange]:
    return [change for change in found if not exclusion.find_cause(change.paper)]


def _drop_seen(conn: Connection, look: FirstLook, found: Sequence[StoredChange]) -> list[StoredChange]:
    seen = match_store.seen_papers(conn, look.subscription_id, [change.paper_key for change in found])
    return [change for change in found if change.paper_key not in seen]


def _give(
    site: Site, look: FirstLook, candidates: Sequence[StoredChange], given: FirstLooks, at: datetime
) -> None:
    with site.store.begin() as conn:
        # Nobody else matches meanwhile, nor gives another first look of this subscription.
        mark = match_store.matched_mark(conn, hold=True)
        if not match_store.is_first_look_owed(conn, look):
            return
        # What this subscription was shown meanwhile, for another saved query or by another process, stays out.
        chosen = _drop_seen(conn, look, candidates)
        run_id = match_store.begin_match_run(conn, from_change=0, to_change=mark, at=at, occasion="first look")
        ids = tuple(sorted(change.id for change in chosen))
        if ids:
            match_store.save_matches(conn, run_id, {look.subscription_id: ids}, at=at, occasion="first look")
        match_store.close_first_look(conn, look, run_id)
    given.given += bool(ids)
    given.papers.update(change.paper_key for change in chosen)
