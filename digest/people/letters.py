"""Makes the mails with a link that people ask for on a page, apart from answering them.

A form stores one row, no matter who is asked for. Here the rows are taken, the limits applied, and each becomes a
delivery in the outbox like any other. A letter holds nothing that the person wrote who asked for it.
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
    FRESH,
    LETTERS_TO_ADDRESS,
    REQUESTS,
    REQUESTS_OF_NETWORK,
    REQUESTS_WIDE,
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
    find_free,
    has_asked,
    mark_mailed,
    save_signup,
    start_counting,
    start_letters,
)
from digest.people.tables import load_memberships
from digest.plan.links import LinkMaker, find_generation, make_links, remember_preferences
from digest.site import Site
from digest.store.digests import DigestDraft, save_digests
from digest.store.subscribers import LETTERS, load_unsubscribed

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

    If a limit is met nothing is stored but that; return from when on (UTC) another request is taken.
    """
    start_counting(conn)
    limits = {"all": REQUESTS} if kind in (RequestKind.SUBSCRIBE, RequestKind.MOVE) else {}
    if "/" in network:
        wide = ip_network(network).supernet(new_prefix=16 if "." in network else 32)
        limits[count_name(maker, str(wide))] = REQUESTS_WIDE
    limits[count_name(maker, network)] = REQUESTS_OF_NETWORK
    met = [find_free(conn, name, limit, at) for name, limit in limits.items()]
    free_at = max((moment for moment in met if moment is not None), default=None)
    for name in limits if free_at is None else (REFUSED,):
        count_request(conn, name, at)
    if free_at is None:
        save_signup(conn, kind, address, choices, at=at)
    return free_at


def queue_letters(site: Site) -> int:
    """Make a letter of each new request; return how many were made."""
    now, made = site.clock.now(), 0
    with site.store.read() as conn:
        if not has_asked(conn):
            return 0
    with site.store.begin() as conn:
        asked = claim_signups(conn, _AT_ONCE)
        maker = make_links(conn, site.config)
        start_counting(conn)
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
    admission = maker.config.web.signup
    is_admitted = admission.admits(signup.address) or (
        admission.is_off and signup.kind is RequestKind.MOVE
    )
    if signup.ends_at <= now:
        return "its time is over"
    is_shared = any(
        one.shared and signup.destination in one.destinations for one in maker.config.subscriptions
    )
    if is_shared or LETTERS in load_unsubscribed(conn, signup.destination):
        return "its address wants none"
    if signup.kind in (RequestKind.SUBSCRIBE, RequestKind.MOVE) and not is_admitted:
        return "its address may not subscribe here"
    if signup.kind in (RequestKind.LINK, RequestKind.FRESH) and not load_memberships(
        conn, signup.destination
    ):
        return "its address has no subscription"
    name = _count_mailbox(maker, signup.address)
    if any(find_free(conn, name, limit, now) for limit in LETTERS_TO_ADDRESS):
        return "its address got as many as it may"
    return ""


def count_name(maker: LinkMaker, what: str) -> str:
    """Return the name under which requests of an address or a network are counted: a hash, which shows neither."""
    return secrets.token_hash(secrets.derive_token(maker.secret, "count", what))


def _count_mailbox(maker: LinkMaker, address: str) -> str:
    """Return the name to count an address under: mail to `ada+any@…` is read by `ada@…`, and Gmail drops dots."""
    name, _, host = address.lower().rpartition("@")
    name = name.partition("+")[0]
    if host in ("gmail.com", "googlemail.com"):
        name, host = name.replace(".", ""), "gmail.com"
    return count_name(maker, f"{name}@{host}")


def _make_letter(conn: Connection, maker: LinkMaker, signup: StoredSignup, now: datetime) -> None:
    destination = signup.destination
    count_request(conn, _count_mailbox(maker, signup.address), now)
    if signup.kind is RequestKind.LINK:
        remember_preferences(conn, maker, destination, at=now)
    slot = str(LetterSlot(signup.kind, signup.id, signup.asked_at))
    ends_at = (
        min(now + FRESH, signup.ends_at) if signup.kind is RequestKind.FRESH else signup.ends_at
    )
    token = letter_token(maker, slot, destination)
    mark_mailed(conn, signup.id, secrets.token_hash(token), ends_at)
    key = secrets.idempotency_key(f"{maker.installation} {LETTERS}", slot, str(destination), 0)
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
        coverage=Coverage(
            None, is_complete=False, compared=0, matched=None, checked_at=None, source=""
        ),
    )
    plan = DeliveryPlan(destination, 0, 1, key)
    draft = DigestDraft(start_letters(conn, now), letter, [plan], ())
    save_digests(conn, [draft], at=now)


def letter_token(maker: LinkMaker, slot: str, destination: Destination) -> str:
    """Return the token of a letter's link. A database may give a number again; its slot has a moment, too."""
    return secrets.derive_token(maker.secret, "letter", slot, str(destination))


def write_letter(
    conn: Connection, site: Site, letter: Digest, delivery: Delivery, identity: MailIdentity
) -> Message:
    """Write a letter as the bytes that are sent; the same for every attempt."""
    from digest.render.contexts import LetterContext  # noqa: PLC0415 - only if something is sent

    kind = LetterSlot.parse(letter.slot).kind
    base, maker = site.config.web.base_url.rstrip("/"), make_links(conn, site.config)
    to = delivery.destination
    token = letter_token(maker, letter.slot, to)
    links = {
        RequestKind.SUBSCRIBE: f"{base}/c/{token}",
        RequestKind.MOVE: f"{base}/c/{token}",
        RequestKind.FRESH: f"{base}/k/{token}",
        RequestKind.LINK: f"{base}/p/{maker.preferences_token(to, find_generation(conn, maker, to))}",
    }
    context = LetterContext(
        kind=kind,
        subject=letter.title,
        link=links[kind],
        host=site.config.web.host,
        contact=site.config.arxiv.mail_contact,
        sender=identity.from_name,
        home=base,
    )
    return site.renderer.render_letter(context, delivery, identity)
