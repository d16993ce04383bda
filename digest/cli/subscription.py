"""`digest subscription`: who gets what, where and when; pause, unsubscribe."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import Any

import click
from sqlalchemy import Connection

from digest.cli.changes import SaveOptions, open_file, plan_change, save_change, saving_options
from digest.cli.commands import CommandGroup
from digest.cli.context import (
    Installation,
    describe_pending_edits,
    opened_store,
    require_subscription,
    suggest_name,
)
from digest.cli.output import as_dict, find_columns, json_option, print_json, print_table, print_wrapped, say
from digest.config import Config, edits
from digest.config.addresses import read_destination
from digest.inspect.query_volume import MATCH_SPAN, describe_matches
from digest.match.rules import find_unreadable, read_exclusion
from digest.model.cadences import CadenceKind, choose_zone, read_pause_end
from digest.model.clock import name_zone
from digest.model.errors import ConfigurationError, UnknownName, UsageError, count
from digest.model.papers import Paper
from digest.model.subscriptions import (
    EVERYTHING,
    Abstracts,
    Destination,
    DueSubscription,
    Grouping,
    SubscriptionState,
    normalise_address,
)
from digest.people.preferences import erase_person, export_records
from digest.people.tables import Person, load_own_name, load_people
from digest.people.unsubscription import resubscribe_to, unsubscribe_from
from digest.plan.slots import first_due, next_due
from digest.store.digests import (
    FIRST_DIGEST_NEXT,
    DigestSummary,
    SubscriptionLine,
    find_first_digests,
    load_subscription_lines,
    load_summaries,
)
from digest.store.matches import load_pending_matches
from digest.store.subscribers import (
    LETTERS,
    REFUSED,
    DestinationState,
    DestinationStatus,
    destination_key,
    load_statuses,
)
from digest.store.subscriptions import load_subscriptions, pause_subscription, resume_subscription, set_next_due

NONE_YET = "No subscriptions yet. `digest add` makes one, then `digest run`."

OPERATOR = "operator"
"""Kept with the consent, where the operator did it for a reader."""

_ABSTRACTS = {Abstracts.FULL: "whole abstracts", Abstracts.NONE: "no abstracts"}
"""What is said of digests that do not show abstracts as usual."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Subscriptions: who gets what, where and when."""


def _describe_queries(texts: Sequence[str], named: Collection[str] = ()) -> list[str]:
    """Return queries, a line each; those that can't be read say so."""
    unreadable = find_unreadable(texts, named)
    return [
        text + (f"   can't be read: {unreadable[text].message}" if text in unreadable else "") for text in texts
    ]


def find_excluders(config: Config, query_name: str, paper: Paper) -> list[tuple[str, str]]:
    """Return the subscriptions of the file to a saved query that exclude a paper, each with what excludes it."""
    causes = (
        (one.name, read_exclusion(one).find_cause(paper))
        for one in sorted(config.subscriptions, key=lambda one: one.name)
        if query_name in one.queries
    )
    return [(name, cause) for name, cause in causes if cause]


@command.command()
@click.argument("name")
@click.option(
    "--until",
    metavar="DATE",
    help="The day it goes on: 2026-11-30, or 2026-11-30T09:00. Without it, `resume` ends the pause.",
)
@click.pass_context
def pause(ctx: click.Context, name: str, until: str | None) -> None:
    """Send NAME nothing for a while.

    Papers that match during the pause wait for the first digest after it. A digest that is planned already is
    still sent.

    A date counts in the zone of the subscription: that of its `when`, else of its quiet hours, else New York.
    2026-11-30T09:00Z is UTC.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        due = require_subscription(here.config, conn, name)
        if not due.subscription.has_digests:
            raise UsageError(
                f"{name} is only a feed: it sends nothing that could be paused.",
                hint=f"`digest subscription show {name}` says where it goes.",
            )
        moment = _read_day(until, here, due) if until else None
        pause_subscription(conn, due.id, moment)
        if moment is not None:
            turn = next_due(due.subscription, here.now, due.last_slot, moment)
            set_next_due(conn, due.id, turn)
    say(f"{name} is paused{here.write_until(moment)}. What matches meanwhile waits for the next digest.")
    say(f"To end the pause sooner: `digest subscription resume {name}`")


def _read_day(text: str, here: Installation, due: DueSubscription) -> datetime:
    subscription = due.subscription
    try:
        moment = read_pause_end(text, choose_zone(subscription.cadence, subscription.quiet_hours))
    except ConfigurationError as error:  # here it was typed, not written in the file
        raise UsageError(error.message, hint=error.hint) from error
    if moment <= here.now:
        raise UsageError(f"{text} is over already.", hint="Write a later date.")
    return moment


@command.command()
@click.argument("name")
@click.pass_context
def resume(ctx: click.Context, name: str) -> None:
    """End the pause of NAME; what waits comes with its next digest."""
    with opened_store(ctx) as here, here.store.begin() as conn:
        due = require_subscription(here.config, conn, name)
        has_waiting = bool(load_pending_matches(conn, due.id, due.plan_after))
        turn = _next_slot(due, here.now, has_waiting=has_waiting)
        has_changed = resume_subscription(conn, due.id, turn, here.now)
    if not has_changed:
        say(f"{name} is not paused.")
    else:
        say(f"{name} goes on. {_describe_slot(here, turn)}")


def _next_slot(due: DueSubscription, now: datetime, *, has_waiting: bool) -> datetime | None:
    """Return when a subscription that goes on is due; at once means as soon as may be where something waits."""
    if not due.subscription.has_digests:
        return None
    turn = next_due(due.subscription, now, due.last_slot)
    if turn is None and due.subscription.cadence.kind is CadenceKind.AT_ONCE and has_waiting:
        return first_due(due.subscription, now, due.last_slot)
    return turn


def _describe_slot(here: Installation, turn: datetime | None) -> str:
    if turn is None:
        return "Its next digest comes with the next papers."
    if turn <= here.now:
        return "What waited goes out with the next `digest run`."
    return f"Its next digest: {here.write(turn)}."


@command.command("unsubscribe")
@click.argument("name")
@click.argument("address")
@click.option("--everything", is_flag=True, help="All subscriptions, also later ones.")
@click.pass_context
def unsubscribe_reader(ctx: click.Context, name: str, address: str, *, everything: bool) -> None:
    """Stop sending NAME to ADDRESS, though digest.toml says so.

    ADDRESS is a mail address, or a destination such as slack:#papers.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        destination = _find_destination(conn, here.config, name, address)
        which = EVERYTHING if everything else name
        is_first = unsubscribe_from(conn, destination, which, how=OPERATOR, at=here.now)
    if not is_first:
        say(f"{destination} is unsubscribed from {'everything' if everything else name} already.")
        return
    say(f"{destination} gets {'nothing' if everything else f'no {name}'} from now on.")
    again = shlex.join([name, address, *(["--everything"] if everything else [])])
    say(f"Only if its reader asks for it: `digest subscription resubscribe {again}`")


@command.command()
@click.argument("name")
@click.argument("address")
@click.option("--everything", is_flag=True, help="All subscriptions, not this one alone.")
@click.pass_context
def resubscribe(ctx: click.Context, name: str, address: str, *, everything: bool) -> None:
    """Resubscribe ADDRESS to NAME, if its reader asks for it.

    It starts with the papers from now on: what matched before is not sent. The NAME "(letters)" stands for
    mails with a link: an address that said "This was not me" gets none.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        destination = _find_destination(conn, here.config, name, address)
        which = EVERYTHING if everything else name
        still_unsubscribed = resubscribe_to(conn, destination, which, how=OPERATOR, at=here.now)
        turn = None if name == LETTERS else require_subscription(here.config, conn, name).next_due_at
    what = "everything" if everything else name
    but = f" but for {', '.join(still_unsubscribed)}" if still_unsubscribed else ""
    begins = "" if name in (LETTERS, *still_unsubscribed) else f" {_describe_slot(here, turn)}"
    say(f"{destination} is subscribed to {what} again{but}.{begins}")
    for one in still_unsubscribed:
        say(f"Only if its reader asks for it: `digest subscription resubscribe {one} {shlex.quote(address)}`")


def _find_destination(conn: Connection, config: Config, name: str, address: str) -> Destination:
    """Return the destination meant, as the subscription has or had it; for letters, any."""
    wanted = destination_key(read_destination(address))
    if name == LETTERS:
        return Destination.parse(wanted)
    due = require_subscription(config, conn, name)
    pushed = {
        str(status.destination): status.destination
        for status in load_statuses(conn, due.id)
        if not status.destination.is_pulled
    }
    if wanted not in pushed:
        raise UnknownName(
            f"{name} is not sent to {wanted}",
            hint=suggest_name(wanted, pushed, f"digest subscription show {name}"),
        )
    return pushed[wanted]


@command.command("list")
@json_option
@click.pass_context
def list_subscriptions(ctx: click.Context, *, as_json: bool) -> None:
    """List the subscriptions: where each goes, and when it is due.

    The people who subscribed by themselves come after them.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        lines = load_subscription_lines(conn, here.now, span=MATCH_SPAN)
        persons = load_people(conn)
        dues = {due.subscription.name: due for due in load_subscriptions(conn)}
        owns = [dues.get(load_own_name(conn, one)) for one in persons]
        drift = describe_pending_edits(here.config, conn)
        greeted = find_first_digests(conn, here.config.subscriptions)
    here = replace(here, greeted=greeted)
    written_to = {status for due in dues.values() for status in due.subscription.destinations}
    paused = {
        status
        for line in lines
        if line.is_personal and not line.is_active(here.now)
        for status in line.destinations
    }
    listed = [_list_person(one, own, written_to, paused) for one, own in zip(persons, owns, strict=True)]
    if as_json:
        print_json({"subscriptions": [_as_json(here, line, dues[line.name]) for line in lines], "people": listed})
        return
    lines = [line for line in lines if not line.is_personal]
    print_table(
        ["SUBSCRIPTION", "TO", "WHEN", f"NEXT ({name_zone(here.zone, here.now)})", ""],
        [
            [
                line.name,
                _name_destinations(here, line.destinations),
                str(dues[line.name].subscription.cadence).replace(f" {here.zone}", ""),
                *describe_next_digest(here, line).partition(", ")[::2],
            ]
            for line in lines
        ],
        empty=drift or NONE_YET,
        whole=3,
    )
    if lines and drift:
        say(f"\n{drift}")
    if listed:
        click.echo()
        columns = ("address", "state", "queries", "when", "since")
        rows = [[str(one[name])[: 10 if name == "since" else None] for name in columns] for one in listed]
        print_table(["PERSON", "STATE", "SAVED QUERIES", "WHEN", "SINCE"], rows, empty="")


def _name_destinations(here: Installation, statuses: Sequence[Destination]) -> str:
    """Return the places in a line: all if they are short, else the first one, and how many more there are."""
    shown = [here.show(status).removeprefix("mailto:") for status in statuses] or ["nobody"]
    joined = ", ".join(shown)
    return joined if len(joined) <= find_columns() // 3 else f"{shown[0]} +{len(shown) - 1}".removesuffix(" +0")


def _list_person(
    person: Person,
    own: DueSubscription | None,
    written_to: AbstractSet[Destination],
    paused: AbstractSet[Destination],
) -> dict[str, object]:
    """Return how somebody who subscribed by themselves stands.

    Args:
        own: the subscription of their own saved queries; None where they only joined others.
        heard: destinations that get anything.
        resting: destinations whose own subscription is paused.
    """
    is_written_to, is_paused = person.destination in written_to, person.destination in paused
    return as_dict(person, "id") | {
        "state": "paused" if is_written_to and is_paused else "subscribed" if is_written_to else "unsubscribed",
        "queries": len(own.revisions) if own else 0,
        "when": str(own.subscription.cadence) if own else "",
    }


def describe_next_digest(
    here: Installation,
    line: SubscriptionLine,
    *,
    write: Callable[[datetime], str] | None = None,
) -> str:
    """Say when a subscription's next digest comes, or why none does, and what waits for it.

    Args:
        write: writes the moment; with its date where it is None.
    """
    waits = f", {line.waiting:,} wait{'s' * (line.waiting == 1)}" if line.waiting else ""
    if line.state is SubscriptionState.ENDED:
        return "never: it has ended, since digest.toml no longer names it"
    if not line.is_active(here.now):
        return f"paused{here.write_until(line.paused_until)}{waits}"
    if all(destination.is_pulled for destination in line.destinations):
        return "read when fetched" if line.destinations else "–"
    is_greeted = line.name in here.greeted
    if is_greeted or (line.next_due_at is not None and line.next_due_at <= here.now):
        return f"{FIRST_DIGEST_NEXT if is_greeted else 'due, with the next run'}{waits}"
    if line.next_due_at is None:
        return f"as papers come{waits}"
    return (write(line.next_due_at) if write else here.write(line.next_due_at)) + waits


def _as_json(here: Installation, line: SubscriptionLine, due: DueSubscription) -> dict[str, object]:
    volume = describe_matches(line.days, line.began_at, here.now)
    return as_dict(due.subscription, "queries") | as_dict(line) | {"volume": volume}


@command.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Show everything about NAME, and its last digests."""
    with opened_store(ctx) as here, here.store.read() as conn:
        due = require_subscription(here.config, conn, name, include_ended=True)
        lines = load_subscription_lines(conn, here.now, span=MATCH_SPAN, include_ended=True)
        statuses = load_statuses(conn, due.id)
        digests = load_summaries(conn, subscription_ids=[due.id], limit=5)
    (line,) = (line for line in lines if line.name == name)
    if as_json:
        print_json({**_as_json(here, line, due), "destinations": statuses, "digests": digests})
        return
    turn = describe_next_digest(here, line)
    for label, values in _describe(here, due, line, statuses, digests, turn=turn).items():
        if any(values):
            print_wrapped(label, "\n".join(filter(None, values)), width=13, bold=True)


def _describe(
    here: Installation,
    due: DueSubscription,
    line: SubscriptionLine,
    statuses: list[DestinationStatus],
    digests: list[DigestSummary],
    *,
    turn: str,
) -> dict[str, list[str]]:
    """Return what `show` prints, label by label."""
    subscription = due.subscription
    named = {one.name: one.text for one in due.revisions if one.name != one.text}
    width = max(map(len, named), default=0)
    texts = [one.text for one in due.revisions if one.name == one.text]
    saved = {query.name for query in here.config.queries}
    usual = "papers below saved queries" * (subscription.group_by is Grouping.QUERY)
    reads = (usual, _ABSTRACTS.get(subscription.abstracts, ""))
    return {
        "name": [f"{subscription.name} · “{subscription.title}”"],
        "follows": [*(f"{name:<{width}}  {text}" for name, text in named.items()), *texts],
        "to": [_describe_status(here, status) for status in statuses],
        "when": [str(subscription.cadence)],
        "next": [turn],
        "kinds": [", ".join(subscription.kinds)],
        "when empty": [subscription.when_empty],
        "quiet hours": [str(subscription.quiet_hours or "")],
        "excludes": [
            *_describe_queries(subscription.exclude),
            ", ".join(map(str, subscription.exclude_papers)),
        ],
        "library": [*subscription.library],
        "not like": [*subscription.not_like],
        "read first": _describe_queries(subscription.read_first, saved),
        "read last": _describe_queries(subscription.read_last, saved),
        "show": ["all" if subscription.show is None else count(subscription.show, "paper")],
        "reads": ["; ".join(filter(None, reads))],
        "brings": [describe_matches(line.days, line.began_at, here.now)],
        "digests": [
            f"{here.write(digest.planned_at)}  {count(digest.papers, 'paper')}"
            + (f", {digest.occasion}" if digest.occasion != "scheduled" else "")
            + f"  (digest {digest.id})"
            for digest in digests
        ]
        + [f"`digest preview {subscription.name} --digest {digest.id}` shows one" for digest in digests[:1]]
        or ["none yet"],
    }


def _describe_status(here: Installation, status: DestinationStatus) -> str:
    shown = here.show(status.destination)
    if status.state is DestinationState.ACTIVE:
        return shown
    word = "unsubscribed" if status.state is DestinationState.UNSUBSCRIBED else "off"
    word = "paused" if status.reason == REFUSED else word
    if status.reason == OPERATOR:
        return f"{shown}   {word} {here.write(status.since)}, by the {OPERATOR}"
    return f"{shown}   {word} since {here.write(status.since)}: {status.reason}"


@command.command()
@click.argument("name")
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--add-query", metavar="QUERY", multiple=True, help="A query, or a saved one's name. Repeatable.")
@click.option("--remove-query", metavar="QUERY", multiple=True, help="The same, to take out.")
@click.option("--add-to", metavar="TO", multiple=True, help="A destination. Repeatable.")
@click.option("--remove-to", metavar="TO", multiple=True, help="The same, to take out.")
@saving_options
@click.pass_context
def edit(
    ctx: click.Context, /, name: str, *, changes: tuple[str, ...], options: SaveOptions, **lists: tuple[str, ...]
) -> None:
    """Change NAME in digest.toml; comments and order stay.

    KEY= without a value takes the key out: the default counts again. `digest help settings` lists the keys.

    \b
    digest subscription edit gpu-mail show=20 when="daily at 07:30 Europe/Berlin"
    digest subscription edit gpu-mail --add-query perf --remove-to feed
    """  # noqa: D301 - click reads the backspace, which must be one
    if not changes and not any(lists.values()):
        raise UsageError(
            f"what is to change in {name}?", hint=f"Such as: `digest subscription edit {name} show=20`."
        )
    file = open_file(ctx)
    values = dict(map(edits.read_assignment, changes))
    more, less = (
        {"follow": lists[f"{verb}_query"], "to": [str(read_destination(one)) for one in lists[f"{verb}_to"]]}
        for verb in ("add", "remove")
    )
    text = edits.edit_subscription(file.text, name, values=values, add=more, remove=less)
    save_change(ctx, plan_change(file, text.encode()), options)


@command.command()
@click.argument("name", metavar="NAME|ADDRESS")
@saving_options
@click.pass_context
def remove(ctx: click.Context, name: str, *, options: SaveOptions) -> None:
    """Remove NAME from digest.toml: it gets no more digests.

    What waits for it is not sent. Its saved queries stay. `digest subscription pause` only stops it for a while.

    Of a mail ADDRESS, delete all that is stored. Backups keep what they have.
    """
    if "@" in name:
        _erase(ctx, name, options)
        return
    file = open_file(ctx)
    content = edits.remove_subscription(file.text, name).encode()
    save_change(ctx, plan_change(file, content), options, is_removal=True)


def _erase(ctx: click.Context, address: str, options: SaveOptions) -> None:
    """Delete all that is stored about an address, once somebody who can answer says so."""
    is_wanted, hint = not options.is_trial, ""
    with opened_store(ctx) as here:
        with here.store.read() as conn:
            found = _export(conn, address)
        counts = {table: len(rows) for table, rows in found["stored"].items() if rows}
        said = f"{count(sum(counts.values()), 'record')} about {found['address']}"
        if is_wanted and not options.is_sure:
            if not options.can_ask:
                raise UsageError(
                    f"{said} would be deleted for ever, and nobody can be asked here", hint="Add --yes."
                )
            is_wanted = click.confirm(f"Stored: {said}. Delete all of it?", default=False)
        if is_wanted:
            with here.store.begin() as conn:
                if erase_person(conn, here.config, found["address"], at=here.now, how=OPERATOR):
                    hint = " digest.toml still names this address. That it unsubscribed is kept."
    if options.as_json:
        print_json({"address": found["address"], "deleted": is_wanted, "stored": counts})
    else:
        say(
            f"Deleted: {said}.{hint}"
            if is_wanted
            else f"Nothing was deleted. Stored: {said}. `digest subscription export {address}` shows them."
        )


@command.command("export")
@click.argument("address")
@click.pass_context
def export_person(ctx: click.Context, address: str) -> None:
    """Print as JSON all that is stored about a mail ADDRESS."""
    with opened_store(ctx) as here, here.store.read() as conn:
        print_json(_export(conn, address))


def _export(conn: Connection, address: str) -> dict[str, Any]:
    found = export_records(conn, normalise_address(address))
    if found is None:
        raise UnknownName(
            f"nothing is stored about {address}", hint="`digest subscription list` shows who there is."
        )
    return found
