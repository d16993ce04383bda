"""`digest subscription`: who gets what, where and when; pausing, and the word of people who leave or return."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from digest.cli import excluding, steering
from digest.cli.drift import describe_drift
from digest.cli.naming import require_subscription
from digest.cli.storing import opened_store
from digest.cli.telling import json_option, print_json, print_table
from digest.cli.wording import cut, write_moment
from digest.config.zones import name_zone
from digest.counting import count
from digest.planning import is_weekly
from digest.store import digests as digest_store
from digest.store import overview, provenance
from digest.store import subscriptions as subscription_store
from digest.store.places import load_places
from digest.store.subscribers import DestinationState
from digest.subscriptions import Grouping, Replacements, SubscriptionState

if TYPE_CHECKING:
    from digest.cli.storing import Installation
    from digest.planning import DueSubscription
    from digest.store.digests import DigestSummary
    from digest.store.overview import SubscriptionLine
    from digest.store.places import Place
    from digest.subscriptions import Subscription

_WIDEST = 40


@click.group()
def command() -> None:
    """Subscriptions: who gets what, where and when; pause, resume, exclude, leave, return."""


@command.command("list")
@json_option
@click.pass_context
def list_subscriptions(ctx: click.Context, *, as_json: bool) -> None:
    """List the subscriptions: where each goes, and when it is due."""
    with opened_store(ctx) as here, here.store.read() as conn:
        lines = overview.load_subscription_lines(conn, here.now, span=timedelta(days=30))
        is_held_back = provenance.is_restored(conn)
        dues = {due.subscription.name: due for due in subscription_store.load_subscriptions(conn)}
        drift = describe_drift(here.config, conn)
    if as_json:
        print_json([_as_json(line, dues[line.name]) for line in lines])
        return
    print_table(
        ["SUBSCRIPTION", "TO", "QUERIES", "WHEN", f"NEXT ({name_zone(here.zone, here.now)})"],
        [
            [
                line.name,
                cut(", ".join(here.show(place) for place in line.destinations) or "nobody any more", _WIDEST),
                cut(" ".join(line.queries), _WIDEST),
                str(dues[line.name].subscription.cadence),
                describe_turn(here, line, is_held_back=is_held_back),
            ]
            for line in lines
        ],
        empty=drift or "No subscriptions yet: write one in digest.toml ([[subscriptions]]), then `digest run`.",
    )
    if lines and drift:
        click.echo(f"\n{drift}")


def describe_turn(here: Installation, line: SubscriptionLine, *, is_held_back: bool) -> str:
    """Say when a subscription's next digest comes, or why none does, and what waits for it.

    Args:
        here: the installation.
        line: the subscription.
        is_held_back: the database was restored, and plans nothing before `digest db resume`.
    """
    waits = f"; {count(line.waiting, 'paper')} wait{'s' if line.waiting == 1 else ''}" if line.waiting else ""
    is_back = line.paused_until is not None and line.paused_until <= here.now
    if line.state is SubscriptionState.PAUSED and not is_back:
        return f"paused{here.write_until(line.paused_until)}{waits}"
    if all(destination.is_pulled for destination in line.destinations):
        return "read when fetched" if line.destinations else "–"
    if is_held_back:
        return f"held until `digest db resume`{waits}"
    if line.next_due_at is not None and line.next_due_at <= here.now:
        return f"due, with the next look{waits}"
    return (write_moment(line.next_due_at, here.zone) if line.next_due_at else "as papers come") + waits


def _as_json(line: SubscriptionLine, due: DueSubscription) -> dict[str, object]:
    subscription = due.subscription
    return {
        "name": line.name,
        "title": subscription.title,
        "state": line.state,
        "to": [str(destination) for destination in line.destinations],
        "queries": line.queries,
        "when": str(subscription.cadence),
        "kinds": subscription.kinds,
        "quiet_days": subscription.quiet_days,
        "quiet_hours": str(subscription.quiet_hours or ""),
        "cap": subscription.cap,
        "first_look": subscription.first_look,
        "group_by": subscription.group_by,
        "replacements": subscription.replacements,
        "weekly": subscription.weekly,
        "exclude": subscription.exclude,
        "exclude_papers": [str(id_) for id_ in subscription.exclude_papers],
        "next_due_at": line.next_due_at,
        "paused_until": line.paused_until,
        "file_paused_until": subscription.paused_until,
        "papers_waiting": line.waiting,
        "last_planned_at": line.last_planned_at,
        "last_papers": line.last_papers,
        "papers_by_day": {day.day.isoformat(): day.papers for day in line.days},
    }


@command.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Show everything about NAME, and its last digests."""
    with opened_store(ctx) as here, here.store.read() as conn:
        due = require_subscription(here, conn, name)
        lines = overview.load_subscription_lines(conn, here.now, span=timedelta(days=30))
        is_held_back = provenance.is_restored(conn)
        places = load_places(conn, due.id)
        digests = digest_store.list_digests(conn, subscription_ids=[due.id], limit=5)
    (line,) = (line for line in lines if line.name == name)
    if as_json:
        destinations = [
            {"to": str(place.destination), "state": place.state, "reason": place.reason, "since": place.since}
            for place in places
        ]
        print_json(
            {**_as_json(line, due), "destinations": destinations, "digests": [_slot(one) for one in digests]}
        )
        return
    turn = describe_turn(here, line, is_held_back=is_held_back)
    for label, values in _describe(here, due, line, places, digests, turn=turn).items():
        for number, value in enumerate(values):
            click.echo(f"{click.style(f'{label:<13}', bold=True) if number == 0 else ' ' * 13}{value}")


def _slot(digest: DigestSummary) -> dict[str, object]:
    return {
        "id": digest.id,
        "slot": digest.slot,
        "occasion": digest.occasion,
        "planned_at": digest.planned_at,
        "papers": digest.papers,
        "shown": digest.shown,
    }


def _describe(
    here: Installation,
    due: DueSubscription,
    line: SubscriptionLine,
    places: list[Place],
    digests: list[DigestSummary],
    *,
    turn: str,
) -> dict[str, list[str]]:
    """Return what `show` prints, label by label."""
    subscription = due.subscription
    width = max((len(revision.name) for revision in due.revisions), default=0)
    return {
        "name": [subscription.name + (f" · “{subscription.title}”" if subscription.title else "")],
        "queries": [f"{revision.name:<{width}}  {revision.text}" for revision in due.revisions],
        "to": [_describe_place(here, place) for place in places],
        "when": [str(subscription.cadence)],
        "next": [turn],
        "kinds": [", ".join(subscription.kinds)],
        "quiet days": [subscription.quiet_days],
        **({"quiet hours": [str(subscription.quiet_hours)]} if subscription.quiet_hours else {}),
        "excludes": excluding.describe_exclusion(subscription),
        "cap": ["none" if subscription.cap is None else count(subscription.cap, "paper")],
        **_describe_reading(subscription),
        "30 days": [f"{count(sum(day.papers for day in line.days), 'paper')} found"],
        "digests": [
            f"{write_moment(digest.planned_at, here.zone)}  {count(digest.papers, 'paper')}, {digest.slot}"
            + (f", {digest.occasion}" if digest.occasion != "scheduled" else "")
            + f"  (digest {digest.id})"
            for digest in digests
        ]
        or ["none yet"],
    }


def _describe_reading(subscription: Subscription) -> dict[str, list[str]]:
    """Say how its digests read, as far as that is not the usual."""
    words = ["one round-up a week"] if is_weekly(subscription) else []
    words += ["papers below saved queries"] if subscription.group_by is Grouping.QUERY else []
    words += ["what changed in a paper whole"] if subscription.replacements is Replacements.WHOLE else []
    return {"reads": ["; ".join(words)]} if words else {}


def _describe_place(here: Installation, place: Place) -> str:
    shown = here.show(place.destination)
    if place.state is DestinationState.ACTIVE:
        return shown
    word = "left" if place.state is DestinationState.LEFT else "off"
    return f"{shown}   {word} since {write_moment(place.since, here.zone)}: {place.reason}"


for _one in (steering.pause, steering.resume, excluding.exclude, steering.leave, steering.come_back):
    command.add_command(_one)
