"""`digest subscription pause|resume|leave|return`: each changes one subscription, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest import membership
from digest.cadences import choose_zone, read_pause_end
from digest.cli.naming import require_subscription, suggest_name
from digest.cli.storing import opened_store
from digest.cli.wording import write_moment
from digest.consent import EVERYTHING
from digest.errors import ConfigurationError, UnknownName, UsageError
from digest.planning import first_due, next_due
from digest.store import matches as match_store
from digest.store import subscriptions as subscription_store
from digest.store.destinations import destination_key
from digest.store.places import load_places
from digest.subscriptions import CadenceKind, Destination

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.cli.storing import Installation
    from digest.planning import DueSubscription

OPERATOR = "operator"
"""How somebody left or came back whose word the operator took: kept with the consent."""


@click.command()
@click.argument("name")
@click.option(
    "--until",
    metavar="DATE",
    help="The first day it goes on, such as 2026-11-30, or a moment of it; without, you resume it.",
)
@click.pass_context
def pause(ctx: click.Context, name: str, until: str | None) -> None:
    """Let NAME rest; it goes on collecting, and tells all of it later.

    A digest that was planned before is still sent.

    A day begins, and a moment without a zone counts, in the zone of the subscription's `when`, else of its
    quiet hours, else arXiv's (America/New_York). 2026-11-30T09:00Z is UTC.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        due = require_subscription(here, conn, name)
        if not due.subscription.has_digests:
            raise UsageError(
                f"{name} sends nothing that could be paused: feeds are read when somebody fetches them",
                hint=f"`digest subscription show {name}` says where it goes.",
            )
        moment = _read_day(until, here, due) if until else None
        subscription_store.pause(conn, due.id, moment)
        if moment is not None:
            turn = next_due(due.subscription, here.now, due.last_slot, moment)
            subscription_store.set_next_due(conn, due.id, turn)
    click.echo(f"{name} is paused{here.write_until(moment)}; what matches meanwhile waits for its next digest.")
    click.echo(f"To go on sooner: digest subscription resume {name}")
    file_until = due.subscription.paused_until
    if moment is not None and file_until is not None and file_until > moment:
        click.echo(_tell_file(here, name, file_until))


def _read_day(text: str, here: Installation, due: DueSubscription) -> datetime:
    """Return the moment meant, as `paused_until` in the file would mean it.

    Raises:
        UsageError: it is no date, or has begun.
    """
    subscription = due.subscription
    try:
        moment = read_pause_end(text, choose_zone(subscription.cadence, subscription.quiet_hours))
    except ConfigurationError as error:
        raise UsageError(error.message, hint=error.hint) from error
    if moment <= here.now:
        raise UsageError(f"{text} has begun: a pause ends on a day to come", hint="Write a later date.")
    return moment


def _tell_file(here: Installation, name: str, until: datetime) -> str:
    return (
        f"digest.toml lets {name} rest{here.write_until(until)}, whatever is said here: "
        "change paused_until there, then `digest run`."
    )


@click.command()
@click.argument("name")
@click.pass_context
def resume(ctx: click.Context, name: str) -> None:
    """Let the paused NAME go on; what waits comes with its next digest."""
    with opened_store(ctx) as here, here.store.begin() as conn:
        due = require_subscription(here, conn, name)
        has_waiting = bool(match_store.pending_matches(conn, due.id, due.plan_after))
        turn = _next_turn(due, here.now, has_waiting=has_waiting)
        has_changed = subscription_store.resume(conn, due.id, turn)
    file_until = due.subscription.paused_until
    if file_until is not None and file_until > here.now:
        click.echo(_tell_file(here, name, file_until))
    elif not has_changed:
        click.echo(f"{name} is not paused: nothing to do.")
    else:
        click.echo(f"{name} goes on. {_describe_turn(here, turn)}")


def _next_turn(due: DueSubscription, now: datetime, *, has_waiting: bool) -> datetime | None:
    """Return when a subscription that goes on is due; at once means as soon as may be where something waits."""
    if not due.subscription.has_digests:
        return None
    turn = next_due(due.subscription, now, due.last_slot)
    if turn is None and due.subscription.cadence.kind is CadenceKind.AT_ONCE and has_waiting:
        return first_due(due.subscription, now, due.last_slot)
    return turn


def _describe_turn(here: Installation, turn: datetime | None) -> str:
    if turn is None:
        return "Its next digest comes with the next papers."
    if turn <= here.now:
        return "What waited goes out with the next `digest run`."
    return f"Its next digest: {write_moment(turn, here.zone)}."


@click.command()
@click.argument("name")
@click.argument("address")
@click.option("--everything", is_flag=True, help="Not this subscription alone: everything there is, for good.")
@click.pass_context
def leave(ctx: click.Context, name: str, address: str, *, everything: bool) -> None:
    """Stop sending NAME to ADDRESS, whatever digest.toml says.

    ADDRESS is a mail address, or a destination such as slack:#papers.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        destination = _find_destination(conn, require_subscription(here, conn, name), address)
        which = EVERYTHING if everything else name
        is_first = membership.leave(conn, destination, which, how=OPERATOR, at=here.now)
    what = "anything" if everything else name
    if not is_first:
        click.echo(f"{destination} has left {'everything' if everything else name} already: nothing to do.")
        return
    click.echo(f"{destination} is not sent {what} any more, whatever digest.toml says.")
    flag = " --everything" if everything else ""
    click.echo(f"At their own wish, and only then: digest subscription return {name} {address}{flag}")


@click.command("return")
@click.argument("name")
@click.argument("address")
@click.option(
    "--everything", is_flag=True, help="Take back that everything was left, not this subscription alone."
)
@click.pass_context
def come_back(ctx: click.Context, name: str, address: str, *, everything: bool) -> None:
    """Send NAME to ADDRESS again, at the wish of whoever left.

    What matched meanwhile is not sent: it begins with what comes from now on.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        due = require_subscription(here, conn, name)
        destination = _find_destination(conn, due, address)
        which = EVERYTHING if everything else name
        still_left = membership.come_back(conn, destination, which, how=OPERATOR, at=here.now)
        _restart_turns(conn, here.now)
        turn = require_subscription(here, conn, name).next_due_at
    what = "everything" if everything else name
    but = f" but what it left by itself: {', '.join(still_left)}" if still_left else ""
    begins = "" if name in still_left else f" {_describe_turn(here, turn)}"
    click.echo(f"{destination} gets {what} again{but}.{begins}")
    for one in still_left:
        click.echo(f"At their own wish, and only then: digest subscription return {one} {address}")


def _restart_turns(conn: Connection, now: datetime) -> None:
    """Give a next turn to subscriptions that had stopped because nobody received them."""
    for due in subscription_store.load_subscriptions(conn):
        turn = _next_turn(due, now, has_waiting=False)
        if due.next_due_at is None and turn is not None:
            subscription_store.set_next_due(conn, due.id, turn)


def _find_destination(conn: Connection, due: DueSubscription, address: str) -> Destination:
    """Return the destination meant, as the subscription has or had it.

    Raises:
        UnknownName: the subscription never went there.
    """
    name = due.subscription.name
    pushed = {
        str(place.destination): place.destination
        for place in load_places(conn, due.id)
        if not place.destination.is_pulled
    }
    is_mail = "@" in address and not address.startswith("mailto:")
    wanted = destination_key(f"mailto:{address}" if is_mail else Destination.parse(address))
    if wanted not in pushed:
        raise UnknownName(
            f"{name} is not sent to {wanted}",
            hint=suggest_name(wanted, pushed, f"digest subscription show {name}"),
        )
    return pushed[wanted]
