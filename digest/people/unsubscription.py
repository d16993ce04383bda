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
from digest.model.said import Said, Saying
from digest.model.subscriptions import EVERYTHING, write_title
from digest.plan.slots import next_due
from digest.store import subscribers, subscriptions, tokens
from digest.store.subscribers import LETTERS
from digest.store.tokens import TokenPurpose

ONE_CLICK = Said.of(Saying.ONE_CLICK)
"""How somebody unsubscribed: by the button of their mail program (RFC 8058)."""

PAGE = Said.of(Saying.PAGE)
"""How somebody unsubscribed or resubscribed: by a button of the page that a mailed link opens."""


@dataclass(frozen=True, slots=True)
class Unsubscription:
    """What a link in a mail unsubscribes from.

    `undo_until`: up to when the same link can undo that (UTC); None if it can't.
    """

    destination: Destination
    subscription: str
    title: str
    has_unsubscribed: bool
    undo_until: datetime | None = None

    def can_undo(self, at: datetime) -> bool:
        """Whether somebody has unsubscribed, and the same link can undo it at a moment (UTC)."""
        return self.has_unsubscribed and self.undo_until is not None and at < self.undo_until


def find_unsubscription(conn: Connection, token: str) -> Unsubscription | None:
    """Return what the link with this token unsubscribes from; None if there is no such link."""
    stored = tokens.load(conn, secrets.token_hash(token))
    if stored is None or stored.purpose is not TokenPurpose.UNSUBSCRIBE:
        return None
    found = subscriptions.load(conn, names=[stored.subscription], include_ended=True)
    title = found[0].subscription.title if found else ""
    destination = Destination.parse(stored.destination)
    unsubscribed = subscribers.load_unsubscribed(conn, destination)
    has_unsubscribed = stored.subscription in unsubscribed or EVERYTHING in unsubscribed
    undo_until = None
    if has_unsubscribed:
        since = subscribers.load_undoable(conn, destination, stored.subscription)
        undo_until = since + UNDO if since else None
    return Unsubscription(
        destination=destination,
        subscription=stored.subscription,
        title=title or write_title(stored.subscription),
        has_unsubscribed=has_unsubscribed,
        undo_until=undo_until,
    )


def unsubscribe_by_link(
    conn: Connection, token: str, *, how: Said, at: datetime
) -> Unsubscription | None:
    """Unsubscribe from what a link names, and return it; None if there is no such link.

    Doing it twice changes nothing more.
    """
    unsubscription = find_unsubscription(conn, token)
    if unsubscription is None:
        return None
    subscribers.save_unsubscription(
        conn, unsubscription.destination, unsubscription.subscription, how=how, at=at
    )
    return find_unsubscription(conn, token)


def resubscribe_by_link(conn: Connection, token: str, *, at: datetime) -> Unsubscription | None:
    """Resubscribe to what a link names if that can still be undone; return what holds now.

    None if there is no such link. Doing it twice changes nothing more.
    """
    unsubscription = find_unsubscription(conn, token)
    if unsubscription is None or not unsubscription.can_undo(at):
        return unsubscription
    resubscribe_to(conn, unsubscription.destination, unsubscription.subscription, how=PAGE, at=at)
    return find_unsubscription(conn, token)


def unsubscribe_from(
    conn: Connection, destination: Destination, subscription: str, *, how: Said, at: datetime
) -> bool:
    """Stop sending to a destination once the transaction ends well.

    Return False if it had unsubscribed already.
    """
    is_named = subscription not in (EVERYTHING, LETTERS)
    if is_named and not subscriptions.load(conn, names=[subscription], include_ended=True):
        raise UnknownName(
            f"there is no subscription {subscription}",
            hint="`digest subscription list` shows all names.",
        )
    return subscribers.save_unsubscription(conn, destination, subscription, how=how, at=at)


def resubscribe_to(
    conn: Connection, destination: Destination, subscription: str, *, how: Said, at: datetime
) -> tuple[str, ...]:
    """Resubscribe a destination, because the person who unsubscribed asks for it.

    What was matched meanwhile is not sent.

    Returns:
        The names of the subscriptions that stay unsubscribed: somebody unsubscribed from each of
        them alone, too.

    Raises:
        UsageError: the destination has not unsubscribed, or it did so from everything and would
            resubscribe only to a part.
    """
    unsubscribed = subscribers.load_unsubscribed(conn, destination)
    if subscription not in (EVERYTHING, LETTERS) and EVERYTHING in unsubscribed:
        command = f"digest subscription resubscribe {subscription} {destination} --everything"
        raise UsageError(
            f"{destination} unsubscribed from everything, not only from {subscription}",
            hint=f"Resubscribe to everything first: `{command}`.",
        )
    if subscription not in unsubscribed:
        name = "anything" if subscription == EVERYTHING else subscription
        raise UsageError(
            f"{destination} has not unsubscribed from {name}",
            hint="For a new destination, name it in digest.toml.",
        )
    subscribers.save_resubscription(conn, destination, subscription, how=how, at=at)
    names = None if subscription == EVERYTHING else [subscription]
    for due in subscriptions.load(conn, names=names):
        # A subscription that nobody received has no next turn.
        has_stopped = due.next_due_at is None and due.subscription.has_digests
        if has_stopped:
            turn = next_due(due.subscription, at, due.last_slot, due.paused_until)
            subscriptions.set_next_due(conn, due.id, turn)
    if subscription != EVERYTHING:
        return ()
    return tuple(subscribers.load_singly_unsubscribed(conn, destination))
