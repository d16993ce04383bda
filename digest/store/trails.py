"""What was recorded of a paper's way to one subscription: outcomes, matches, digests and deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from digest.store.dialect import in_chunks
from digest.store.outbox_views import load_delivery
from digest.store.packing import unpack
from digest.store.queries import every_revision, read_revision
from digest.store.schema import deliveries, match_runs, matches, query_matches, query_revisions, saved_queries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from digest.matching import ActiveRevision
    from digest.store.outbox_views import Attempt, StoredDelivery


def find_rows(
    conn: Connection, subscription_id: int, change_ids: Collection[int]
) -> dict[int, tuple[int, int | None, datetime]]:
    """Return by change id the match a subscription kept of it: match run, digest (None: none yet), moment (UTC).

    A change told in a digest counts as told, whichever other match holds it too.
    """
    if not change_ids:
        return {}
    found = (
        select(matches)
        .join(match_runs, match_runs.c.id == matches.c.match_run_id)
        .where(matches.c.subscription_id == subscription_id, _may_hold(change_ids))
        .order_by(matches.c.match_run_id.desc())
    )
    rows: dict[int, tuple[int, int | None, datetime]] = {}
    for row in conn.execute(found):
        for change_id in set(change_ids).intersection(unpack(row.changes)):
            if change_id not in rows or rows[change_id][1] is None:
                rows[change_id] = (row.match_run_id, row.digest_id, row.matched_at)
    return rows


def find_outcomes(
    conn: Connection, query_ids: Collection[int], change_ids: Collection[int]
) -> Iterator[tuple[int, int, str]]:
    """Yield what saved queries recorded of changes, as query id, change id and `new`, `changed` or `gone`."""
    wanted = set(change_ids)
    for chunk in in_chunks(query_ids) if wanted else ():
        found = (
            select(query_revisions.c.query_id, query_matches)
            .join(query_matches, query_matches.c.revision_id == query_revisions.c.id)
            .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
            .where(query_revisions.c.query_id.in_(chunk), _may_hold(wanted))
            .order_by(query_matches.c.match_run_id)
        )
        for row in conn.execute(found):
            for name in ("new", "changed", "gone"):
                for change_id in wanted.intersection(unpack(getattr(row, name))):
                    yield row.query_id, change_id, name


def find_recorded(
    conn: Connection, change_ids: Collection[int], query_ids: Collection[int] | None = None
) -> list[tuple[int, ActiveRevision]]:
    """Return the saved queries that recorded any of some changes, each as it read then, with the match run.

    Args:
        conn: a reading transaction.
        change_ids: the changes.
        query_ids: which saved queries to ask; None for all there are or were.

    Returns:
        By name, and of one name in the order in which it read so.
    """
    found = (
        every_revision()
        .add_columns(*(query_matches.c[name] for name in ("match_run_id", "new", "changed", "gone")))
        .join(query_matches, query_matches.c.revision_id == query_revisions.c.id)
        .join(match_runs, match_runs.c.id == query_matches.c.match_run_id)
        .where(_may_hold(change_ids))
        .order_by(saved_queries.c.name, query_revisions.c.number)
    )
    if query_ids is not None:
        found = found.where(saved_queries.c.id.in_(query_ids))
    return [
        (row.match_run_id, read_revision(row))
        for row in conn.execute(found)
        if any(set(change_ids).intersection(unpack(blob)) for blob in (row.new, row.changed, row.gone))
    ]


def load_deliveries(conn: Connection, digest_id: int) -> list[tuple[StoredDelivery, list[Attempt]]]:
    """Return the deliveries of a digest with every attempt, by destination and part."""
    ids = select(deliveries.c.id).where(deliveries.c.digest_id == digest_id)
    order = (deliveries.c.destination, deliveries.c.part)
    return [load_delivery(conn, id_) for id_ in conn.execute(ids.order_by(*order)).scalars().all()]


def _may_hold(change_ids: Collection[int]) -> ColumnElement[bool]:
    """Return the condition that a match run had one of these changes before it."""
    return (match_runs.c.to_change >= min(change_ids)) & (match_runs.c.from_change < max(change_ids))
