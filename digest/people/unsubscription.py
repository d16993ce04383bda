"""Unsubscribes and resubscribes people, for the link in a mail and for the command line.

Unsubscribing is never refused and beats the operator's file. Only a person who unsubscribed can
resubscribe, and only at their own wish.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from digest.model import secrets
from digest.model.destinations import Destination
from digest.model.errors import UnknownName, UsageError
from digest.model.people import UNDO
from digest.model.subscriptions import EVERYTHING, write_title
from digest.plan.slots import next_due
from digest.store import subscribers, subscriptions, tokens
from digest.store.subscribers import LETTERS
from digest.store.tokens import TokenPurpose

ONE_CLICK = "one-click"
"""How somebody left who pressed the button of their mail program (RFC 8058)."""

PAGE = "page"
"""How somebody left, or came back, by a button of the page that the link in a mail opens."""


@dataclass(frozen=True, slots=True)
class Unsubscription:
    """What a link in a mail ends.

    `undo_until`: up to when that can be undone by the same link (UTC); None if it can't.
    """

    destination: Destination
    subscription: str
    title: str
    has_unsubscribed: bool
    undo_until: datetime | None = None

    def can_undo(self, at: datetime) -> bool:
        """Whether it is left, and this can be undone by the same link at a moment (UTC)."""
        return self.has_unsubscribed and self.undo_until is not None and at < self.undo_until


def find_unsubscription(conn: Connection, token: str) -> Unsubscription | None:
    """Return what the link with this token unsubscribes from; None if there is no such link."""
    stored = tokens.load(conn, secrets.token_hash(token))
    if stored is None or stored.purpose is not TokenPurpose.UNSUBSCRIBE:
        return None
    found = subscriptions.load(conn, names=[stored.subscription], include_ended=True)
    title = found[0].subscription.title if found else ""
    destination = Destination.parse(stored.destination)
    left = subscribers.load_unsubscribed(conn, destination)
    has_left = stored.subscription in left or EVERYTHING in left
    since = subscribers.load_undoable(conn, destination, stored.subscription) if has_left else None
    undo_until = since + UNDO if since else None
    return Unsubscription(
        destination=destination,
        subscription=stored.subscription,
        title=title or write_title(stored.subscription),
        has_unsubscribed=has_left,
        undo_until=undo_until,
    )


def unsubscribe_by_link(
    conn: Connection, token: str, *, how: str, at: datetime
) -> Unsubscription | None:
    """Unsubscribe from what a link names, and return it; None if there is no such link.

    Twice is as once.
    """
    unsubscription = find_unsubscription(conn, token)
    if unsubscription is None:
        return None
    subscribers.save_unsubscription(
        conn, unsubscription.destination, unsubscription.subscription, how=how, at=at
    )
    return find_unsubscription(conn, token)


def resubscribe_by_link(conn: Connection, token: str, *, at: datetime) -> Unsubscription | None:
    """Resubscribe to what a link names if that is still offered; return what holds now.

    Twice is as once.
    """
    unsubscription = find_unsubscription(conn, token)
    if unsubscription is None or not unsubscription.can_undo(at):
        return unsubscription
    resubscribe_to(conn, unsubscription.destination, unsubscription.subscription, how=PAGE, at=at)
    return find_unsubscription(conn, token)


def unsubscribe_from(
    conn: Connection, destination: Destination, subscription: str, *, how: str, at: datetime
) -> bool:
    """Stop sending to a destination from this commit on; False if it had unsubscribed already."""
    is_named = subscription not in (EVERYTHING, LETTERS)
    if is_named and not subscriptions.load(conn, names=[subscription], include_ended=True):
        raise UnknownName(
            f"there is no subscription {subscription}",
            hint="`digest subscription list` shows all names.",
        )
    return subscribers.save_unsubscription(conn, destination, subscription, how=how, at=at)


def resubscribe_to(
    conn: Connection, destination: Destination, subscription: str, *, how: str, at: datetime
) -> tuple[str, ...]:
    """Resubscribe, because the person who unsubscribed asks for it.

    What was matched meanwhile is not sent.

    Returns:
        The names of the subscriptions that stay unsubscribed, because each was also left by itself.

    Raises:
        UsageError: it never unsubscribed, or did so from everything and would resubscribe only to
            a part.
    """
    left = subscribers.load_unsubscribed(conn, destination)
    if subscription not in (EVERYTHING, LETTERS) and EVERYTHING in left:
        command = f"digest subscription resubscribe {subscription} {destination} --everything"
        raise UsageError(
            f"{destination} unsubscribed from everything, not only from {subscription}",
            hint=f"Resubscribe to everything first: `{command}`.",
        )
    if subscription not in left:
        raise UsageError(
            f"{destination} has not unsubscribed from {subscription or 'anything'}",
            hint="For a new destination, name it in digest.toml.",
        )
    subscribers.save_resubscription(conn, destination, subscription, how=how, at=at)
    names = None if subscription == EVERYTHING else [subscription]
    for due in subscriptions.load(conn, names=names):
        # It had stopped, since nobody received it.
        has_stopped = due.next_due_at is None and due.subscription.has_digests
        if has_stopped:
            turn = next_due(due.subscription, at, due.last_slot, due.paused_until)
            subscriptions.set_next_due(conn, due.id, turn)
    if subscription != EVERYTHING:
        return ()
    return tuple(subscribers.load_singly_unsubscribed(conn, destination))
