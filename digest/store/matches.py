"""Matches: which changes a run brought to which saved query and subscription, packed into one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, exists, insert, select, update

from digest.errors import StoreBusy
from digest.messages import Occasion
from digest.planning import Seen
from digest.store.dialect import in_chunks, is_among
from digest.store.marks import MATCHED, STORED, load_mark, move_matched
from digest.store.packing import pack, unpack
from digest.store.queries import current_revision, read_revision
from digest.store.schema import (
    FIRST_LOOK_TO_COME,
    UNPLANNED_FIRST_LOOK,
    changes,
    match_runs,
    matches,
    query_matches,
    subscription_destinations,
    subscription_queries,
    subscriptions,
    versions,
)
from digest.store.subscribers import DestinationState
from digest.subscriptions import Destination, SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime, timedelta

    from sqlalchemy import ColumnElement, Connection, Row

    from digest.matching import ActiveRevision, QueryOutcome

_FEED_ROWS = 200
"""Rows of a feed read at once."""


@dataclass(frozen=True, slots=True)
class MatchRow:
    """What one match run brought to one subscription.

    Attributes:
        match_run_id: grows with time.
        occasion: a poll's matches, or the first look of a new saved query.
        changes: change ids in growing order.
        papers: how many distinct papers these are.
        matched_at: when (UTC).
        digest_id: the digest it went into; None while it waits.
        brought: the change ids as the run brought them, also of those that were taken out since. Empty where an
            earlier release kept the match.
    """

    match_run_id: int
    occasion: Occasion
    changes: tuple[int, ...]
    papers: int
    matched_at: datetime
    digest_id: int | None
    brought: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A saved query that a subscription has yet to be shown.

    Attributes:
        subscription_id: whose.
        query_id: which saved query.
        days: how far to look back.
        revision: the saved query as it reads now.
    """

    subscription_id: int
    query_id: int
    days: int
    revision: ActiveRevision


def matched_mark(conn: Connection, *, hold: bool = False) -> int:
    """Return the change up to which everything has been matched.

    With `hold`, to match on from there: another process that wants the same waits until the transaction
    ends, and goes on behind what this one has matched.
    """
    return load_mark(conn, MATCHED, hold=hold)


def stored_mark(conn: Connection) -> int:
    """Return the last change stored."""
    return load_mark(conn, STORED)


def set_matched_mark(conn: Connection, to: int, *, expected: int) -> None:
    """Move the mark "matched up to change N" in the transaction that keeps the matches.

    Raises:
        StoreBusy: another process moved it from `expected`: roll back, its matches are kept already.
    """
    move_matched(conn, to, expected=expected)


def begin_match_run(conn: Connection, *, from_change: int, to_change: int, at: datetime, occasion: str) -> int:
    """Begin a match run over the changes above `from_change` up to `to_change`; return its id.

    Args:
        conn: the transaction that keeps its matches.
        from_change: the mark before.
        to_change: the last change held against the queries.
        at: the moment (UTC).
        occasion: `poll`, `first look` or `taken as told`.
    """
    run = {"from_change": from_change, "to_change": to_change, "matched_at": at, "occasion": occasion}
    return int(conn.execute(insert(match_runs).returning(match_runs.c.id), run).scalar_one())


def save_query_matches(conn: Connection, match_run_id: int, outcomes: Mapping[int, QueryOutcome]) -> None:
    """Keep what a run means to each saved query, by revision id: the seen feed."""
    rows = [
        {
            "match_run_id": match_run_id,
            "revision_id": revision_id,
            "new": pack(outcome.new),
            "changed": pack(outcome.changed),
            "gone": pack(outcome.gone),
        }
        for revision_id, outcome in sorted(outcomes.items())
    ]
    if rows:
        conn.execute(insert(query_matches), rows)


def save_matches(
    conn: Connection, match_run_id: int, chosen: Mapping[int, Collection[int]], *, at: datetime, occasion: str
) -> None:
    """Keep what a run brings to each subscription.

    Args:
        conn: the transaction that begins the run.
        match_run_id: the run.
        chosen: subscription id → change ids; those without any are left out.
        at: the moment (UTC).
        occasion: `Occasion` as text.
    """
    paper_of = papers_of(conn, {id_ for ids in chosen.values() for id_ in ids})
    rows = [
        {
            "match_run_id": match_run_id,
            "subscription_id": subscription_id,
            "occasion": Occasion(occasion),
            "changes": pack(ids),
            "papers": len({paper_of[id_] for id_ in ids}),
            "matched_at": at,
            "brought": b"",
        }
        for subscription_id, ids in sorted(chosen.items())
        if ids
    ]
    if rows:
        conn.execute(insert(matches), rows)


def pending_matches(conn: Connection, subscription_id: int, plan_after: int = 0) -> list[MatchRow]:
    """Return the matches of a subscription in no digest yet, oldest first, of match runs after `plan_after`."""
    found = _rows_of(subscription_id).where(matches.c.digest_id.is_(None), matches.c.match_run_id > plan_after)
    return [_read_row(row) for row in conn.execute(found.order_by(matches.c.match_run_id))]


def pending_of_many(conn: Connection, plan_after: Mapping[int, int]) -> dict[int, list[MatchRow]]:
    """Return the same of several subscriptions, by subscription; those without any are missing.

    Args:
        conn: any transaction.
        plan_after: subscription -> only match runs after this one.
    """
    pending: dict[int, list[MatchRow]] = {}
    for row in conn.execute(_PENDING, {"ids": plan_after}).all() if plan_after else ():
        if row.match_run_id > plan_after[row.subscription_id]:
            pending.setdefault(row.subscription_id, []).append(_read_row(row))
    return pending


_PENDING = (
    select(matches)
    .where(is_among(matches.c.subscription_id, "ids"), matches.c.digest_id.is_(None))
    .order_by(matches.c.match_run_id)
)


def undue_subscriptions(conn: Connection) -> list[int]:
    """Return the active subscriptions with matches in no digest that wait for no turn, in order."""
    found = (
        select(subscriptions.c.id)
        .where(
            subscriptions.c.state == SubscriptionState.ACTIVE,
            subscriptions.c.next_due_at.is_(None),
            exists().where(
                matches.c.subscription_id == subscriptions.c.id,
                matches.c.digest_id.is_(None),
                matches.c.match_run_id > subscriptions.c.plan_after,
            ),
        )
        .order_by(subscriptions.c.id)
    )
    return list(conn.execute(found).scalars())


def feed_matches(conn: Connection, subscription_id: int, *, span: timedelta, at_least: int) -> list[MatchRow]:
    """Return the latest matches of a subscription, newest first, whether in a digest or not.

    Args:
        conn: any transaction.
        subscription_id: whose.
        span: everything within it before the latest …
        at_least: … and as much from before as it takes for so many papers.
    """
    page = _rows_of(subscription_id).order_by(matches.c.match_run_id.desc()).limit(_FEED_ROWS)
    rows = conn.execute(page).all()
    kept: list[MatchRow] = []
    papers = 0
    while rows:
        for row in rows:
            if kept and row.matched_at < kept[0].matched_at - span and papers >= at_least:
                return kept
            kept.append(_read_row(row))
            papers += row.papers
        rows = conn.execute(page.where(matches.c.match_run_id < rows[-1].match_run_id)).all()
    return kept


def seen_changes(
    conn: Connection, subscription_id: int, change_ids: Iterable[int], *, in_digest: bool = False
) -> frozenset[int]:
    """Return which of these changes a subscription was matched with; with `in_digest`, had in a digest."""
    wanted = frozenset(change_ids)
    if not wanted:
        return wanted
    found = (
        select(matches.c.changes)
        .join(match_runs, match_runs.c.id == matches.c.match_run_id)
        .where(
            matches.c.subscription_id == subscription_id,
            match_runs.c.to_change >= min(wanted),
            match_runs.c.from_change < max(wanted),
        )
    )
    if in_digest:
        found = found.where(matches.c.digest_id.is_not(None))
    rows = conn.execute(found).scalars()
    return frozenset().union(*(wanted.intersection(unpack(blob)) for blob in rows))


def seen_versions(conn: Connection, subscription_id: int, paper_keys: Iterable[int]) -> dict[int, Seen]:
    """Return the highest version a subscription had in a digest, by paper key; papers it never had are missing.

    Of that version it is the text it had last.
    """
    told = _changes_of(conn, paper_keys)
    seen: dict[int, Seen] = {}
    for id_ in sorted(seen_changes(conn, subscription_id, told, in_digest=True)):
        key, version, text = told[id_]
        if key not in seen or version >= seen[key].version:
            seen[key] = Seen(version, text)
    return seen


def seen_papers(conn: Connection, subscription_id: int, paper_keys: Iterable[int]) -> frozenset[int]:
    """Return which of these papers a subscription was ever matched with, by whichever of their changes."""
    told = _changes_of(conn, paper_keys)
    return frozenset(told[id_][0] for id_ in seen_changes(conn, subscription_id, told))


def pending_first_looks(conn: Connection) -> list[FirstLook]:
    """Return the first looks still to come, of live subscriptions and readable saved queries, in a fixed order."""
    current = current_revision().subquery()
    found = (
        select(subscriptions.c.id.label("subscription_id"), subscriptions.c.first_look, current)
        .join(subscription_queries, subscription_queries.c.subscription_id == subscriptions.c.id)
        .join(current, current.c.id == subscription_queries.c.query_id)
        .where(
            FIRST_LOOK_TO_COME,
            subscriptions.c.state != SubscriptionState.ENDED,
            current.c.state == "active",
            current.c.problem == "",
        )
        .order_by(subscriptions.c.id, subscription_queries.c.position)
    )
    return [
        FirstLook(row.subscription_id, row.id, row.first_look, read_revision(row)) for row in conn.execute(found)
    ]


def is_first_look_owed(conn: Connection, first_look: FirstLook) -> bool:
    """Whether nobody has given a first look since it was read."""
    owed = select(subscription_queries.c.query_id).where(*_is_owed(first_look))
    return conn.execute(owed).first() is not None


def close_first_look(conn: Connection, first_look: FirstLook, match_run_id: int) -> None:
    """Record that a first look was given.

    Raises:
        StoreBusy: another process gave it meanwhile: roll back.
    """
    close = update(subscription_queries).where(*_is_owed(first_look)).values(first_look_run_id=match_run_id)
    if conn.execute(close).rowcount != 1:
        raise StoreBusy(
            f"another process has given {first_look.revision.name} its first look meanwhile",
            hint="Nothing is lost; this pass starts over.",
        )


def unplanned_first_looks(conn: Connection) -> list[int]:
    """Return the active subscriptions whose first look waits to be made a digest and has somewhere to go."""
    found = (
        select(matches.c.subscription_id, subscription_destinations.c.destination)
        .join(subscriptions, subscriptions.c.id == matches.c.subscription_id)
        .join(subscription_destinations, subscription_destinations.c.subscription_id == matches.c.subscription_id)
        .where(
            UNPLANNED_FIRST_LOOK,
            matches.c.match_run_id > subscriptions.c.plan_after,
            subscriptions.c.state == SubscriptionState.ACTIVE,
            subscription_destinations.c.state == DestinationState.ACTIVE,
        )
    )
    sent = [row for row in conn.execute(found) if not Destination.parse(row.destination).is_pulled]
    return sorted({row.subscription_id for row in sent})


def _is_owed(first_look: FirstLook) -> tuple[ColumnElement[bool], ...]:
    return (
        subscription_queries.c.subscription_id == first_look.subscription_id,
        subscription_queries.c.query_id == first_look.query_id,
        subscription_queries.c.first_look_run_id.is_(None),
    )


def _rows_of(subscription_id: int) -> Select[tuple[Any, ...]]:
    return select(matches).where(matches.c.subscription_id == subscription_id)


def _read_row(row: Row[Any]) -> MatchRow:
    told = unpack(row.changes)
    return MatchRow(
        match_run_id=row.match_run_id,
        occasion=Occasion(row.occasion),
        changes=told,
        papers=row.papers,
        matched_at=row.matched_at,
        digest_id=row.digest_id,
        brought=() if row.brought is None else unpack(row.brought) or told,
    )


def _changes_of(conn: Connection, paper_keys: Iterable[int]) -> dict[int, tuple[int, int, int]]:
    """Return every change of some papers by id, as paper key, version, and the key of its text."""
    found: dict[int, tuple[int, int, int]] = {}
    for chunk in in_chunks(paper_keys):
        chosen = (
            select(changes.c.id, changes.c.paper_id, changes.c.version_id, versions.c.version)
            .join(versions, versions.c.id == changes.c.version_id)
            .where(changes.c.paper_id.in_(chunk))
        )
        found.update({row.id: (row.paper_id, row.version, row.version_id) for row in conn.execute(chosen)})
    return found


def papers_of(conn: Connection, change_ids: Iterable[int]) -> dict[int, int]:
    """Return the key of the paper that each change is about."""
    paper_of: dict[int, int] = {}
    for chunk in in_chunks(change_ids):
        found = select(changes.c.id, changes.c.paper_id).where(changes.c.id.in_(chunk))
        paper_of.update({row.id: row.paper_id for row in conn.execute(found)})
    return paper_of
