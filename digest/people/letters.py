"""Makes the mails with a link that people ask for on a page, apart from answering them.

A form stores one row, no matter who is asked for. Here the rows are taken, the limits applied, and
each becomes a delivery in the outbox like any other. A letter holds nothing that the person wrote
who asked for it.
"""

from __future__ import annotations

import logging
from datetime import datetime
from ipaddress import ip_network
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from digest.model import secrets
from digest.model.destinations import Destination
from digest.model.messages import Coverage, Delivery, DeliveryPlan, Digest, Message, Occasion
from digest.model.people import (
    FRESH_LINK_LIFETIME,
    LETTERS_TO_ADDRESS,
    REQUESTS_OF_ALL,
    REQUESTS_OF_NETWORK,
    REQUESTS_OF_WIDE_NETWORK,
    Limit,
    RequestKind,
    SignupRequest,
)
from digest.model.slots import LetterSlot
from digest.people.signups import (
    REFUSED,
    StoredSignup,
    claim_signups,
    count_request,
    delete_signup,
    find_next_allowed,
    has_unmailed_signups,
    lock_counts,
    mark_mailed,
    require_letters,
    save_signup,
)
from digest.people.tables import load_memberships
from digest.plan.links import LinkMaker, find_generation, make_links, remember_preferences
from digest.site import Site
from digest.store import digests, subscribers
from digest.store.digests import DigestDraft
from digest.store.subscribers import LETTERS

if TYPE_CHECKING:
    from digest.render.mail import MailIdentity

_log = logging.getLogger("digest.deliver")

_AT_ONCE = 50
"""Requests taken in one transaction."""

SUBJECTS = {
    RequestKind.SUBSCRIBE: "Please confirm your subscription",
    RequestKind.LINK: "Your link to your subscriptions",
    RequestKind.FRESH: "Your link, for the next 30 minutes",
    RequestKind.MOVE: "Please confirm your new address",
}

_PAGES = {
    RequestKind.SUBSCRIBE: "c",
    RequestKind.MOVE: "c",
    RequestKind.FRESH: "k",
    RequestKind.LINK: "p",
}
"""The page that a letter's link opens: to confirm, to get a link by a button, the preferences."""

_NEEDS_ADMISSION = (RequestKind.SUBSCRIBE, RequestKind.MOVE)
_OF_READERS = (RequestKind.LINK, RequestKind.FRESH)

_NO_COVERAGE = Coverage(
    None, is_complete=False, compared=0, matched=None, checked_at=None, source=""
)
"""A letter tells nothing of arXiv."""


def accept_request(
    conn: Connection,
    maker: LinkMaker,
    kind: RequestKind,
    address: str,
    choices: SignupRequest,
    *,
    network: str,
    at: datetime,
) -> datetime | None:
    """Store what somebody asked for by a form, and count it. The same is done for every address.

    If a limit is met, only the refusal is counted. Then return from when on (UTC) another request
    is taken.
    """
    lock_counts(conn)
    limits = _list_limits(maker, kind, network)
    allowed_at = None
    for name, limit in limits.items():
        moment = find_next_allowed(conn, name, limit, at)
        if moment is not None and (allowed_at is None or moment > allowed_at):
            allowed_at = moment
    if allowed_at is not None:
        count_request(conn, REFUSED, at)
        return allowed_at
    for name in limits:
        count_request(conn, name, at)
    save_signup(conn, kind, address, choices, at=at)
    return None


def _list_limits(maker: LinkMaker, kind: RequestKind, network: str) -> dict[str, Limit]:
    """Return the limits of a request, by the names under which requests are counted."""
    limits = {}
    if kind in _NEEDS_ADMISSION:
        limits["all"] = REQUESTS_OF_ALL
    if "/" in network:
        is_ipv4 = "." in network
        wide = ip_network(network).supernet(new_prefix=16 if is_ipv4 else 32)
        limits[count_name(maker, str(wide))] = REQUESTS_OF_WIDE_NETWORK
    limits[count_name(maker, network)] = REQUESTS_OF_NETWORK
    return limits


def queue_letters(site: Site) -> int:
    """Make a letter of each new request; return how many were made."""
    now = site.clock.now()
    with site.store.read() as conn:
        if not has_unmailed_signups(conn):
            return 0
    made = 0
    with site.store.begin() as conn:
        asked = claim_signups(conn, _AT_ONCE)
        maker = make_links(conn, site.config)
        lock_counts(conn)
        for signup in asked:
            refusal = _find_refusal(conn, maker, signup, now)
            if refusal:
                _log.info("no letter was made for request %d: %s", signup.id, refusal)
                delete_signup(conn, signup.id)
            else:
                _make_letter(conn, maker, signup, now)
                made += 1
    return made


def _find_refusal(conn: Connection, maker: LinkMaker, signup: StoredSignup, now: datetime) -> str:
    """Say why a request gets no letter, "" if it gets one. Nobody but the operator hears it."""
    destination = signup.destination
    if signup.ends_at <= now:
        return "its time is over"
    shared = [one for one in maker.config.subscriptions if one.shared]
    is_shared = any(destination in one.destinations for one in shared)
    if is_shared or LETTERS in subscribers.load_unsubscribed(conn, destination):
        return "its address wants none"
    if signup.kind in _NEEDS_ADMISSION and not _is_admitted(maker, signup):
        return "its address may not subscribe here"
    if signup.kind in _OF_READERS and not load_memberships(conn, destination):
        return "its address has no subscription"
    mailbox = _count_mailbox(maker, signup.address)
    if any(find_next_allowed(conn, mailbox, limit, now) for limit in LETTERS_TO_ADDRESS):
        return "its address got as many as it may"
    return ""


def _is_admitted(maker: LinkMaker, signup: StoredSignup) -> bool:
    admission = maker.config.web.signup
    is_moving = signup.kind is RequestKind.MOVE
    return admission.admits(signup.address) or (admission.is_off and is_moving)


def count_name(maker: LinkMaker, what: str) -> str:
    """Return the name under which requests of an address or a network are counted.

    It is a hash, which shows neither.
    """
    return secrets.token_hash(secrets.derive_token(maker.secret, "count", what))


def _count_mailbox(maker: LinkMaker, address: str) -> str:
    """Return the name to count an address under.

    Mail to `ada+any@…` is read by `ada@…`, and Gmail drops dots.
    """
    local_part, _, host = address.lower().rpartition("@")
    name, _, _ = local_part.partition("+")
    if host in ("gmail.com", "googlemail.com"):
        name = name.replace(".", "")
        host = "gmail.com"
    return count_name(maker, f"{name}@{host}")


def _make_letter(conn: Connection, maker: LinkMaker, signup: StoredSignup, now: datetime) -> None:
    destination = signup.destination
    count_request(conn, _count_mailbox(maker, signup.address), now)
    if signup.kind is RequestKind.LINK:
        remember_preferences(conn, maker, destination, at=now)
    slot = str(LetterSlot(signup.kind, signup.id, signup.asked_at))
    ends_at = signup.ends_at
    if signup.kind is RequestKind.FRESH:
        ends_at = min(now + FRESH_LINK_LIFETIME, signup.ends_at)
    token = letter_token(maker, slot, destination)
    mark_mailed(conn, signup.id, secrets.token_hash(token), ends_at)
    sender = f"{maker.installation} {LETTERS}"
    key = secrets.idempotency_key(sender, slot, str(destination), 0)
    letter = Digest(
        subscription=LETTERS,
        title=SUBJECTS[signup.kind],
        slot=slot,
        occasion=Occasion.LETTER,
        planned_at=now,
        zone="UTC",
        entries=(),
        shown=0,
        queries=(),
        coverage=_NO_COVERAGE,
    )
    plan = DeliveryPlan(destination, 0, 1, key)
    draft = DigestDraft(require_letters(conn, now), letter, [plan], ())
    digests.save(conn, [draft], at=now)


def letter_token(maker: LinkMaker, slot: str, destination: Destination) -> str:
    """Return the token of a letter's link.

    A database may give a number again; its slot has a moment, too.
    """
    return secrets.derive_token(maker.secret, "letter", slot, str(destination))


def write_letter(
    conn: Connection, site: Site, letter: Digest, delivery: Delivery, identity: MailIdentity
) -> Message:
    """Write a letter as the bytes that are sent; the same for every attempt."""
    from digest.render.contexts import LetterContext  # noqa: PLC0415 - only if something is sent

    kind = LetterSlot.parse(letter.slot).kind
    base = site.config.web.base_url.rstrip("/")
    maker = make_links(conn, site.config)
    destination = delivery.destination
    if kind is RequestKind.LINK:
        generation = find_generation(conn, maker, destination)
        token = maker.preferences_token(destination, generation)
    else:
        token = letter_token(maker, letter.slot, destination)
    page = _PAGES[kind]
    context = LetterContext(
        kind=kind,
        subject=letter.title,
        link=f"{base}/{page}/{token}",
        host=site.config.web.host,
        contact=site.config.arxiv.mail_contact,
        sender=identity.from_name,
        home=base,
    )
    return site.renderer.render_letter(context, delivery, identity)
