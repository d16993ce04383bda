"""The whole trail of a paper to one subscription: announced, stored, matched, planned, delivered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.errors import QueryError
from digest.excluding import read_exclusion
from digest.messages import DeliveryState, Occasion
from digest.pipeline.feeds import load_matched
from digest.pipeline.matching_step import find_overtaken
from digest.planning.feeds import FEED_ENTRIES, choose_papers
from digest.planning.rewordings import find_failing
from digest.planning.trails import (
    Asked,
    Judged,
    Met,
    Row,
    Verdict,
    choose_former,
    find_awaited,
    judge_change,
    judge_deliveries,
    judge_feed,
    judge_paper,
)
from digest.query import analyse, find_reasons, matches, parse_query
from digest.store import digests as digest_store
from digest.store import mailings as mailing_store
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import provenance
from digest.store import trails as trail_store
from digest.store.feeds import load_feed_places
from digest.store.outbox_steps import IN_DOUBT
from digest.store.places import load_places
from digest.store.subscribers import DestinationState
from digest.subscriptions import DestinationKind, SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.comparing import StoredChange
    from digest.matching import ActiveRevision
    from digest.messages import Delivery, Digest
    from digest.papers import ArxivId
    from digest.planning import DueSubscription
    from digest.query import AnalysedPaper
    from digest.store.outbox_views import Attempt, StoredDelivery
    from digest.store.places import Place
    from digest.subscriptions import Destination

_MET = {"new": Met.ENTERED, "changed": Met.STAYED, "gone": Met.LEFT}


@dataclass(frozen=True, slots=True)
class ChangeTrail:
    """One change on its way.

    Attributes:
        change: what was found.
        asked: the subscription's saved queries, each held against it.
        former: what brought it and reads otherwise now, or is not asked any more; held against it, too.
        judged: what became of it.
        matched_at: when the match was kept (UTC); None where none was.
        digest_id: the digest it went into; None for none.
    """

    change: StoredChange
    asked: tuple[Asked, ...]
    judged: Judged
    matched_at: datetime | None
    digest_id: int | None
    former: tuple[Asked, ...] = ()


@dataclass(frozen=True, slots=True)
class DigestTrail:
    """A digest that tells of the paper.

    Attributes:
        digest: as it was frozen.
        place: which of its papers this is, from 1; 0 where it is in none of its entries.
        deliveries: where it went, with every attempt.
    """

    digest: Digest
    place: int
    deliveries: tuple[tuple[StoredDelivery, tuple[Attempt, ...]], ...]

    @property
    def is_within_cap(self) -> bool:
        """Whether it is among those that every message shows in full."""
        return 0 < self.place <= self.digest.shown

    @property
    def hiding(self) -> tuple[Destination, ...]:
        """Where it is only counted and linked, since it is beyond the cap."""
        places = dict.fromkeys(stored.delivery.destination for stored, _ in self.deliveries)
        return () if self.is_within_cap else tuple(place for place in places if place.is_capped)

    @property
    def is_shown(self) -> bool:
        """Whether any message shows it in full."""
        places = [stored.delivery.destination for stored, _ in self.deliveries]
        return self.is_within_cap or not all(place.is_capped for place in places)

    @property
    def telling(self) -> tuple[Delivery, ...]:
        """The deliveries that tell of it: of a digest that takes several messages those with its part."""
        every = tuple(stored.delivery for stored, _ in self.deliveries)
        telling = tuple(
            one for one in every if one.share is None or one.share.first < self.place <= one.share.behind
        )
        return telling or every

    @property
    def reached(self) -> Verdict:
        """How far it has come; what the database before a restored one told is told."""
        if self.digest.occasion is Occasion.TAKEN_AS_TOLD:
            return Verdict.TOLD
        telling = self.telling
        has_doubtful_hold = any(
            tries and tries[-1].outcome in (DeliveryState.UNKNOWN, IN_DOUBT)
            for stored, tries in self.deliveries
            if stored.delivery.state is DeliveryState.HELD and stored.delivery in telling
        )
        states = {delivery.state for delivery in telling}
        return judge_deliveries(states, has_doubtful_hold=has_doubtful_hold)


@dataclass(frozen=True, slots=True)
class Trail:
    """All that is known of a paper and a subscription.

    Attributes:
        id: the paper's.
        due: the subscription as it is now.
        mailing: Eastern date of the mailing that brought the paper; None where that is not known.
        changes: what was found of it, oldest first; () where it is not stored.
        digests: those that tell of it, oldest first.
        judged: what became of the paper; None where it is not stored.
        newest: the paper announced last of all that are stored; None where none is.
        feeds: the places where it is read as a feed, each with why that does not show it, "" where it does.
        left: the places of the subscription whose readers left.
    """

    id: ArxivId
    due: DueSubscription
    mailing: date | None
    changes: tuple[ChangeTrail, ...]
    digests: tuple[DigestTrail, ...]
    judged: Judged | None
    newest: ArxivId | None
    feeds: tuple[tuple[Destination, str], ...] = ()
    left: tuple[Place, ...] = ()

    @property
    def deciding(self) -> DigestTrail | None:
        """The digest the verdict speaks of; None where it speaks of none."""
        ids = {one.digest_id for one in self.changes if one.judged is self.judged}
        return next((one for one in self.digests if one.digest.id in ids), None)


def explain_paper(conn: Connection, id_: ArxivId, due: DueSubscription, source: str, now: datetime) -> Trail:
    """Gather the whole trail of a paper to a subscription.

    Args:
        conn: a reading transaction.
        id_: the paper's.
        due: the subscription, also one that has ended.
        source: how arXiv is asked, `harvest` or `query`.
        now: the moment (UTC).
    """
    newest = mailing_store.find_newest(conn)
    known = paper_store.load_paper(conn, id_)
    left = tuple(place for place in load_places(conn, due.id) if place.state is DestinationState.LEFT)
    if known is None:
        return Trail(id_, due, None, (), (), None, newest[0] if newest else None, left=left)
    history = paper_store.earlier_changes(conn, [known.key]).get(known.key, ())
    rows = trail_store.find_rows(conn, due.id, [change.id for change in history])
    digest_ids = sorted({digest_id for _, digest_id, _ in rows.values() if digest_id is not None})
    digests = {digest_id: _load_digest(conn, digest_id, id_) for digest_id in digest_ids}
    reached = {None: Verdict.WAITING} | {digest_id: told.reached for digest_id, told in digests.items()}
    kept = {
        change_id: (Row(run_id, digest_id, reached[digest_id]), matched_at)
        for change_id, (run_id, digest_id, matched_at) in rows.items()
    }
    trails = tuple(_follow(conn, due, history, kept, source=source, now=now))
    return Trail(
        id=id_,
        due=due,
        mailing=mailing_store.find_first(conn, [known.key]),
        changes=trails,
        digests=tuple(digests.values()),
        judged=judge_paper([one.judged for one in trails]),
        newest=newest[0] if newest else None,
        feeds=tuple(_look_into_feeds(conn, due, trails)),
        left=left,
    )


def _look_into_feeds(
    conn: Connection, due: DueSubscription, trails: Sequence[ChangeTrail]
) -> Iterator[tuple[Destination, str]]:
    pulled = [destination for destination in due.subscription.destinations if destination.is_pulled]
    if not pulled:
        return
    was_matched = any(one.matched_at is not None for one in trails)
    told = choose_papers(load_matched(conn, due))[:FEED_ENTRIES] if was_matched else []
    keys = {one.change.paper_key for one in trails}
    open_ids = {place.key for place in load_feed_places(conn) if place.is_open}
    for destination in pulled:
        is_file = destination.kind is DestinationKind.FILE
        why_not = judge_feed(
            is_open=due.state != SubscriptionState.ENDED if is_file else due.id in open_ids,
            was_matched=was_matched,
            is_shown=any(found[0].change.paper_key in keys for found in told),
            is_excluded=read_exclusion(due.subscription).covers(trails[-1].change),
        )
        yield destination, why_not


def _follow(
    conn: Connection,
    due: DueSubscription,
    history: Sequence[StoredChange],
    kept: Mapping[int, tuple[Row, datetime]],
    *,
    source: str,
    now: datetime,
) -> Iterator[ChangeTrail]:
    ids = [change.id for change in history]
    mark = match_store.matched_mark(conn)
    outcomes = trail_store.find_outcomes(conn, [revision.query_id for revision in due.revisions], ids)
    met = {(query_id, change_id): _MET[name] for query_id, change_id, name in outcomes}
    overtaken = find_overtaken(conn, source, history)
    awaited = find_awaited(due, now, is_restored=provenance.is_restored(conn))
    for change in history:
        ready = analyse(change.paper)
        asked = tuple(
            _ask(revision, ready, met.get((revision.query_id, change.id), Met.NEVER)) for revision in due.revisions
        )
        row, matched_at = kept.get(change.id, (None, None))
        judged = judge_change(
            change,
            due,
            asked,
            row,
            is_matched=change.id <= mark,
            is_overtaken=change.id in overtaken,
            awaited=awaited,
        )
        if row is None:
            yield ChangeTrail(change, asked, judged, None, None)
            continue
        recorded = [
            revision
            for run_id, revision in trail_store.find_recorded(conn, [change.id])
            if run_id == row.match_run_id
        ]
        former = tuple(_ask(revision, ready) for revision in choose_former(recorded, due.revisions))
        yield ChangeTrail(change, asked, judged, matched_at, row.digest_id, former)


def _ask(revision: ActiveRevision, ready: AnalysedPaper, recorded: Met = Met.NEVER) -> Asked:
    name, text = revision.name, revision.text
    try:
        query = parse_query(text)
    except QueryError as error:
        return Asked(name, recorded, failing=f"can't be held against it: {error.message}", text=text)
    clauses = tuple(reason.clause for reason in find_reasons(query, ready))
    is_met = matches(query, ready)
    failing = "" if is_met else str(find_failing(query, ready))
    return Asked(name, recorded, is_met, clauses, failing, text)


def _load_digest(conn: Connection, digest_id: int, id_: ArxivId) -> DigestTrail:
    digest = digest_store.load_digest(conn, digest_id)
    places = (place for place, entry in enumerate(digest.entries, start=1) if entry.paper.id == id_)
    deliveries = trail_store.load_deliveries(conn, digest_id)
    return DigestTrail(digest, next(places, 0), tuple((stored, tuple(tries)) for stored, tries in deliveries))
