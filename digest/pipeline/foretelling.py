"""A digest before it is sent, or long after: as it would be now, or as it was frozen. Nothing is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from digest import signing
from digest.errors import DeliveryError, UnknownName
from digest.excluding import read_exclusion
from digest.messages import Delivery, DeliveryState, Links, Occasion, Receipt
from digest.pipeline.delivering import mail_identity
from digest.pipeline.drafting import Drafts
from digest.pipeline.links import make_links, make_refs_url
from digest.planning import next_slot
from digest.planning.shares import split_share
from digest.store import digests as digest_store
from digest.store import matches as match_store
from digest.store import papers as paper_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, tzinfo

    from sqlalchemy import Connection

    from digest.messages import Digest, Message
    from digest.pipeline.site import Site
    from digest.planning import DueSubscription
    from digest.store.digests import DigestSummary
    from digest.store.matches import MatchRow
    from digest.subscriptions import Destination

_LONGEST_WAIT = 30.0
"""Seconds the operator waits for a pause that the other side asks for."""

_MOST_DIGESTS = 1_000
"""Digests of a subscription that are looked through for a day: three years of daily ones."""


def foretell(conn: Connection, site: Site, due: DueSubscription) -> Digest | None:
    """Make the digest that a subscription would get if its turn came now; None where nothing waits for it.

    Args:
        conn: reads.
        site: the installation.
        due: the subscription.
    """
    rows = _leave_out_excluded(conn, due, match_store.pending_matches(conn, due.id, due.plan_after))
    if not rows:
        return None
    drafts = Drafts(site)
    subscription = due.subscription
    slot = next_slot(subscription.cadence, subscription.quiet_hours, drafts.now, due.last_slot)
    is_first_look = all(row.occasion is Occasion.FIRST_LOOK for row in rows)
    draft = drafts.draft(
        conn,
        due,
        rows,
        slot=slot.name if slot and not is_first_look else f"run:{rows[-1].match_run_id}",
        occasion=Occasion.FIRST_LOOK if is_first_look else Occasion.SCHEDULED,
    )
    return draft.digest


def find_digest(
    conn: Connection, due: DueSubscription, day: date | None, zone: tzinfo | None
) -> tuple[Digest | None, tuple[DigestSummary, ...]]:
    """Return the last digest of a subscription, or of one day; and the others of that day.

    Args:
        conn: reads.
        due: the subscription.
        day: the day its slot is named after, or it was planned on; None for the last one.
        zone: where that day is a day; None for the machine's own.
    """
    listed = digest_store.list_digests(conn, subscription_ids=[due.id], limit=_MOST_DIGESTS)
    found = [
        one
        for one in listed
        if day is None or day.isoformat() in one.slot or one.planned_at.astimezone(zone).date() == day
    ]
    if not found:
        return None, ()
    others = () if day is None else tuple(found[1:])
    return digest_store.load_digest(conn, found[0].id), others


def load_numbered(conn: Connection, due: DueSubscription, digest_id: int) -> Digest:
    """Return a subscription's digest by its number.

    Raises:
        UnknownName: there is none of this number, or it is another's.
    """
    digest = digest_store.load_digest(conn, digest_id)
    if digest.subscription != due.subscription.name:
        raise UnknownName(f"digest {digest_id} is one of {digest.subscription}, not of {due.subscription.name}")
    return digest


def make_preview_links(conn: Connection, site: Site, digest: Digest) -> Links:
    """Return what everybody's copy links to: nobody's own address to leave is among it."""
    base = site.config.web.base_url.rstrip("/")
    maker = make_links(conn, site.config)
    is_stored = bool(digest.id)
    return Links(
        web_view=f"{base}/d/{maker.web_token(digest.subscription, digest.slot)}" if base and is_stored else "",
        home=base,
        refs=make_refs_url(site.config),
    )


def render_parts(
    site: Site, digest: Digest, destination: Destination, links: Links, *, key: str = "preview"
) -> Sequence[Message]:
    """Render every part of a digest as it would go to a destination."""
    parts = site.renderer.count_parts(digest, destination)
    return [
        _render_part(site, digest, _stand_in(digest, destination, part, parts, key), links)
        for part in range(parts)
    ]


def send_trial(site: Site, digest: Digest, destination: Destination, links: Links) -> list[Receipt]:
    """Send a digest to the operator, beside the outbox; as often as asked, each time under names of its own.

    Raises:
        DigestError: it was not taken, or only in part.
    """
    address = site.transport(destination.kind).resolve(destination)
    named = f"trial {site.clock.now().isoformat()} {site.jitter()}"
    waiting, receipts = list(site.renderer.divide(digest, destination)), list[Receipt]()
    while waiting:
        share, part = waiting.pop(0), len(receipts)
        delivery = replace(
            _stand_in(digest, destination, part, part + 1 + len(waiting), named),
            remote_address=address,
            parent_remote_id=receipts[0].remote_id if receipts else "",
            share=share,
        )
        try:
            receipts.append(_send_patiently(site, _render_part(site, digest, delivery, links), destination))
        except DeliveryError as error:
            smaller = split_share(share, is_first=not part) if error.too_large and share is not None else ()
            if not smaller:
                raise
            waiting[:0] = smaller
    return receipts


def _send_patiently(site: Site, message: Message, destination: Destination) -> Receipt:
    """Send, and once more after the pause that the other side asks for: a channel takes a message a second."""
    transport = site.transport(destination.kind)
    try:
        return transport.send(message, destination)
    except DeliveryError as error:
        if error.ambiguous or error.retry_after is None or error.retry_after > _LONGEST_WAIT:
            raise
        site.clock.sleep(error.retry_after)
    return transport.send(message, destination)


def _render_part(site: Site, digest: Digest, delivery: Delivery, links: Links) -> Message:
    return site.renderer.render(digest, delivery, links, mail_identity(site, digest))


def _stand_in(digest: Digest, destination: Destination, part: int, parts: int, key: str) -> Delivery:
    """Return a delivery that is in no outbox."""
    return Delivery(
        id=0,
        digest_id=digest.id,
        destination=destination,
        part=part,
        parts=parts,
        state=DeliveryState.CLAIMED,
        attempts=0,
        token=0,
        idempotency_key=signing.idempotency_key(
            f"{key} {digest.subscription}", digest.slot, str(destination), part
        ),
        not_before=digest.planned_at,
        created_at=digest.planned_at,
        parent_remote_id="0" if part else "",
    )


def _leave_out_excluded(conn: Connection, due: DueSubscription, rows: Sequence[MatchRow]) -> list[MatchRow]:
    exclusion = read_exclusion(due.subscription)
    if not exclusion:
        return list(rows)
    changes = paper_store.load_changes(conn, {id_ for row in rows for id_ in row.changes})
    excluded = {id_ for id_, change in changes.items() if exclusion.covers(change)}
    kept = [replace(row, changes=tuple(id_ for id_ in row.changes if id_ not in excluded)) for row in rows]
    return [row for row in kept if row.changes]
