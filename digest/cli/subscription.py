"""`digest subscription`: who gets what, where and when; pause, unsubscribe."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
from sqlalchemy import Connection

from digest.cli.changes import FileChange, agrees, can_ask, open_file, plan_change, saves
from digest.cli.commands import CommandGroup
from digest.cli.context import Installation, opened_store, require_subscription, suggest_name
from digest.cli.output import Part, answers, echo_folded, find_columns, labelled, print_json, table
from digest.config import Config, edits
from digest.config.addresses import read_destination, write_destination
from digest.inspect.here import Here
from digest.inspect.subscriptions import (
    NONE_YET,
    SubscriptionDetail,
    SubscriptionList,
    describe_next_digest,
    list_subscriptions,
    load_detail,
    load_lines,
)
from digest.model.cadences import choose_zone, read_pause_end
from digest.model.destinations import Destination, normalise_address
from digest.model.errors import UnknownName, UsageError
from digest.model.numbers import count
from digest.model.subscriptions import (
    EVERYTHING,
    Abstracts,
    Grouping,
    Subscription,
    SubscriptionState,
)
from digest.people.preferences import erase_person, export_records, pause_digests, resume_digests
from digest.people.unsubscription import resubscribe_to, unsubscribe_from
from digest.store import matches, subscribers
from digest.store.subscribers import (
    BY_OPERATOR,
    LETTERS,
    REFUSED,
    DestinationState,
    DestinationStatus,
)

_ABSTRACTS = {Abstracts.FULL: "whole abstracts", Abstracts.NONE: "no abstracts"}
"""What is said of digests that do not show abstracts as usual."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Subscriptions: who gets what, where and when."""


def _show_list(found: SubscriptionList) -> Iterator[Part]:
    here = found.here
    rows = []
    for line in found.subscriptions:
        if not line.is_personal:
            settings = line.settings
            places = _name_destinations(here, settings.destinations)
            when = str(settings.cadence).replace(f" {here.zone}", "")
            rows.append((settings.name, places, when, describe_next_digest(here, line)))
    header = ("SUBSCRIPTION", "TO", "WHEN", f"NEXT ({here.zone_name})")
    yield table(header, rows, empty=found.edited or NONE_YET)
    if rows and found.edited:
        yield f"\n{found.edited}"
    people = []
    for one in found.people:
        since = f"{one.since:%Y-%m-%d}"
        people.append((one.address, one.state, str(one.queries), one.when, since))
    if people:
        yield ""
        yield table(("PERSON", "STATE", "SAVED QUERIES", "WHEN", "SINCE"), people, empty="")


def _name_destinations(here: Here, places: Sequence[Destination]) -> str:
    """Return the places in a line: all if they are short, else the first, and how many more."""
    shown = [here.show(place).removeprefix("mailto:") for place in places] or ["nobody"]
    joined = ", ".join(shown)
    others = len(shown) - 1
    if not others or len(joined) <= find_columns() // 3:
        return joined
    return f"{shown[0]} +{others}"


@command.command("list")
@answers(_show_list)
@click.pass_context
def list_(ctx: click.Context) -> SubscriptionList:
    """List the subscriptions: where each goes, and when it is due.

    The people who subscribed by themselves come after them.
    """
    with opened_store(ctx) as bench, bench.store.read() as conn:
        return list_subscriptions(conn, bench.config, bench.clock, bench.here)


def _show_detail(detail: SubscriptionDetail) -> Iterator[Part]:
    said = []
    for label, lines in _describe(detail):
        text = "\n".join(filter(None, lines))
        if text:
            said.append((label, text))
    yield labelled(said, width=11)


def _describe(detail: SubscriptionDetail) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield what is known of a subscription: a label and its lines; none if nothing is known."""
    here = detail.here
    line = detail.subscription
    settings = line.settings
    yield "name", [f"{settings.name} · “{settings.title}”"]
    yield "follows", _list_followed(detail)
    yield "to", [_describe_place(here, place) for place in detail.destinations]
    yield "when", [str(settings.cadence)]
    yield "next", [describe_next_digest(here, line)]
    yield "kinds", [", ".join(settings.kinds)]
    yield "when empty", [settings.when_empty]
    if settings.quiet_hours:
        yield "quiet hours", [str(settings.quiet_hours)]
    excluded = ", ".join(map(str, settings.exclude_papers))
    yield "excludes", [*_list_queries(detail, settings.exclude), excluded]
    yield "library", settings.library
    yield "not like", settings.not_like
    yield "read first", _list_queries(detail, settings.read_first)
    yield "read last", _list_queries(detail, settings.read_last)
    yield "show", ["all" if settings.show is None else count(settings.show, "paper")]
    yield "reads", [_describe_reading(settings)]
    yield "brings", [line.volume]
    yield "digests", _list_digests(detail)


def _list_followed(detail: SubscriptionDetail) -> Iterator[str]:
    """Yield saved queries with their names first, then those that are only a text."""
    named = {name: text for name, text in detail.queries.items() if name != text}
    width = max(map(len, named), default=0)
    for name, text in named.items():
        yield f"{name:<{width}}  {text}"
    for name in detail.queries:
        if name not in named:
            yield name


def _list_queries(detail: SubscriptionDetail, texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        error = detail.unreadable.get(text)
        yield text if error is None else f"{text}   can't be read: {error}"


def _describe_reading(settings: Subscription) -> str:
    said = []
    if settings.group_by is Grouping.QUERY:
        said.append("papers below saved queries")
    if settings.abstracts in _ABSTRACTS:
        said.append(_ABSTRACTS[settings.abstracts])
    return "; ".join(said)


def _list_digests(detail: SubscriptionDetail) -> Iterator[str]:
    """Yield the last digests, and how to see the newest."""
    if not detail.digests:
        yield "none yet"
        return
    for digest in detail.digests:
        said = f"{detail.here.write(digest.planned_at)}  {count(digest.papers, 'paper')}"
        if digest.occasion != "scheduled":
            said += f", {digest.occasion}"
        yield f"{said}  (digest {digest.id})"
    name = detail.subscription.settings.name
    yield f"`digest preview {name} --digest {detail.digests[0].id}` shows one"


def _describe_place(here: Here, place: DestinationStatus) -> str:
    shown = here.show(place.destination)
    if place.state is DestinationState.ACTIVE:
        return shown
    if place.reason == REFUSED:  # by its mail server; the reader never unsubscribed
        word = "paused"
    elif place.state is DestinationState.UNSUBSCRIBED:
        word = "unsubscribed"
    else:
        word = "off"
    since = here.write(place.since)
    if place.reason == BY_OPERATOR:
        return f"{shown}   {word} {since}, by the {BY_OPERATOR}"
    return f"{shown}   {word} since {since}: {place.reason}"


@command.command()
@click.argument("name")
@answers(_show_detail)
@click.pass_context
def show(ctx: click.Context, name: str) -> SubscriptionDetail:
    """Show everything about NAME, and its last digests."""
    with opened_store(ctx) as bench, bench.store.read() as conn:
        stored = require_subscription(bench.config, conn, name, include_ended=True)
        return load_detail(conn, bench.config, bench.clock, bench.here, stored)


@command.command()
@click.argument("name")
@click.option(
    "--until",
    metavar="DATE",
    help="The day it goes on: 2026-11-30, or 2026-11-30T09:00. "
    "Without it, `resume` ends the pause.",
)
@click.pass_context
def pause(ctx: click.Context, name: str, until: str | None) -> None:
    """Send NAME nothing for a while.

    Papers that match during the pause wait for the first digest after it. A digest that is
    planned already is still sent.

    A date counts in the zone of the subscription: that of its `when`, else of its quiet hours,
    else New York. 2026-11-30T09:00Z is UTC.
    """
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        stored = require_subscription(bench.config, conn, name)
        settings = stored.subscription
        if not settings.has_digests:
            raise UsageError(
                f"{name} is only a feed: it sends nothing that could be paused.",
                hint=f"`digest subscription show {name}` says where it goes.",
            )
        end = None
        if until:
            end = read_pause_end(until, choose_zone(settings.cadence, settings.quiet_hours))
            if end <= bench.here.now:
                raise UsageError(f"{until} is over already.", hint="Write a later date.")
        pause_digests(conn, stored, end, at=bench.here.now)
    paused = f"{name} is paused{bench.here.write_until(end)}."
    echo_folded(f"{paused} What matches meanwhile waits for the next digest.")
    echo_folded(f"To end the pause sooner: `digest subscription resume {name}`")


@command.command()
@click.argument("name")
@click.pass_context
def resume(ctx: click.Context, name: str) -> None:
    """End the pause of NAME; what waits comes with its next digest."""
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        stored = require_subscription(bench.config, conn, name)
        resume_digests(conn, stored, at=bench.here.now)
        coming = _describe_next(conn, bench, name)
    if stored.state == SubscriptionState.PAUSED:
        echo_folded(f"{name} goes on. {coming}")
    else:
        echo_folded(f"{name} is not paused.")


def _describe_next(conn: Connection, bench: Installation, name: str) -> str:
    lines = load_lines(conn, bench.config, bench.clock, bench.here.now)
    (line,) = (one for one in lines if one.settings.name == name)
    return f"Its next digest: {describe_next_digest(bench.here, line)}."


@command.command()
@click.argument("name")
@click.pass_context
def first(ctx: click.Context, name: str) -> None:
    """Give NAME one more first digest: recent papers it did not have.

    It has one by itself when it is new. This is for a query that you added later.
    At most 15 papers come.
    """
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        stored = require_subscription(bench.config, conn, name)
        if not stored.subscription.look_back:
            hint = f'`digest subscription edit {name} look_back="7 days"`, then `digest run`.'
            raise UsageError(f"{name} wants no first digest: its look_back is 0 days", hint=hint)
        matches.owe_first_digest(conn, stored.id)
    echo_folded(
        f"{name} gets a first digest with the next `digest run`, if papers are there that it lacks."
    )


@command.command("unsubscribe")
@click.argument("name")
@click.argument("address")
@click.option("--everything", is_flag=True, help="All subscriptions, also later ones.")
@click.pass_context
def unsubscribe_reader(ctx: click.Context, name: str, address: str, *, everything: bool) -> None:
    """Stop sending NAME to ADDRESS, though digest.toml says so.

    ADDRESS is a mail address, or a destination such as slack:#papers.
    """
    scope = EVERYTHING if everything else name
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        destination = _find_destination(conn, bench.config, name, address)
        is_new = unsubscribe_from(conn, destination, scope, how=BY_OPERATOR, at=bench.here.now)
    if not is_new:
        what = "everything" if everything else name
        echo_folded(f"{destination} is unsubscribed from {what} already.")
        return
    nothing = "nothing" if everything else f"no {name}"
    echo_folded(f"{destination} gets {nothing} from now on.")
    words = [name, address]
    if everything:
        words.append("--everything")
    _say_resubscribe(shlex.join(words))


def _say_resubscribe(words: str) -> None:
    echo_folded(f"Only if its reader asks for it: `digest subscription resubscribe {words}`")


@command.command()
@click.argument("name")
@click.argument("address")
@click.option("--everything", is_flag=True, help="All subscriptions, not this one alone.")
@click.pass_context
def resubscribe(ctx: click.Context, name: str, address: str, *, everything: bool) -> None:
    """Resubscribe ADDRESS to NAME, if its reader asks for it.

    It starts with the papers from now on: what matched before is not sent. The NAME "(letters)"
    stands for mails with a link: an address that said "This was not me" gets none.
    """
    scope = EVERYTHING if everything else name
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        destination = _find_destination(conn, bench.config, name, address)
        still_unsubscribed = resubscribe_to(
            conn, destination, scope, how=BY_OPERATOR, at=bench.here.now
        )
        coming = ""
        if name not in (LETTERS, *still_unsubscribed):
            coming = _describe_next(conn, bench, name)
    what = "everything" if everything else name
    except_for = f" but for {', '.join(still_unsubscribed)}" if still_unsubscribed else ""
    echo_folded(f"{destination} is subscribed to {what} again{except_for}. {coming}".rstrip())
    for one in still_unsubscribed:
        _say_resubscribe(f"{one} {shlex.quote(address)}")


def _find_destination(conn: Connection, config: Config, name: str, address: str) -> Destination:
    """Return the destination meant, as the subscription has or had it; for letters, any."""
    wanted = subscribers.destination_key(read_destination(address))
    if name == LETTERS:
        return Destination.parse(wanted)
    due = require_subscription(config, conn, name)
    pushed = {}
    for status in subscribers.load_statuses(conn, due.id):
        if not status.destination.is_pulled:
            pushed[str(status.destination)] = status.destination
    if wanted not in pushed:
        raise UnknownName(
            f"{name} is not sent to {wanted}",
            hint=suggest_name(wanted, pushed, f"digest subscription show {name}"),
        )
    return pushed[wanted]


@command.command()
@click.argument("name")
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option(
    "--add-query",
    metavar="QUERY",
    multiple=True,
    help="A query, or a saved one's name. Repeatable.",
)
@click.option("--remove-query", metavar="QUERY", multiple=True, help="The same, to take out.")
@click.option("--add-to", metavar="TO", multiple=True, help="A destination. Repeatable.")
@click.option("--remove-to", metavar="TO", multiple=True, help="The same, to take out.")
@saves()
@click.pass_context
def edit(
    ctx: click.Context,
    /,
    name: str,
    *,
    changes: tuple[str, ...],
    add_query: tuple[str, ...],
    remove_query: tuple[str, ...],
    add_to: tuple[str, ...],
    remove_to: tuple[str, ...],
) -> FileChange:
    """Change NAME in digest.toml; comments and order stay.

    KEY= without a value takes the key out: the default counts again. `digest help settings`
    lists the keys.

    \b
    digest subscription edit gpu-mail show=20 when="daily at 07:30 Europe/Berlin"
    digest subscription edit gpu-mail --add-query perf --remove-to feed
    """  # noqa: D301 - click reads the backspace, which must be one
    if not (changes or add_query or remove_query or add_to or remove_to):
        raise UsageError(
            f"what is to change in {name}?",
            hint=f"Such as: `digest subscription edit {name} show=20`.",
        )
    file = open_file(ctx)
    values = dict(map(edits.read_assignment, changes))
    more = {"follow": add_query, "to": [write_destination(one) for one in add_to]}
    less = {"follow": remove_query, "to": [write_destination(one) for one in remove_to]}
    text = edits.edit_subscription(file.text, name, values=values, add=more, remove=less)
    return plan_change(file, text.encode())


@dataclass(frozen=True)
class Erasure:
    """What is stored about an address, in records by table, and whether it was deleted.

    `is_still_named`: digest.toml names the address.
    """

    address: str
    deleted: bool
    stored: Mapping[str, int]
    is_still_named: bool = False

    @property
    def summary(self) -> str:
        """How many records, about which address."""
        return f"{count(sum(self.stored.values()), 'record')} about {self.address}"


def _show_erasure(done: FileChange | Erasure) -> Iterator[Part]:
    if not isinstance(done, Erasure):
        return
    if not done.deleted:
        hint = f"`digest subscription export {done.address}` shows them."
        yield f"Nothing was deleted. Stored: {done.summary}. {hint}"
        return
    named = ""
    if done.is_still_named:
        named = " digest.toml still names this address. That it unsubscribed is kept."
    yield f"Deleted: {done.summary}.{named}"


@command.command()
@click.argument("name", metavar="NAME|ADDRESS")
@saves(_show_erasure)
@click.pass_context
def remove(ctx: click.Context, name: str) -> FileChange | Erasure:
    """Remove NAME from digest.toml: it gets no more digests.

    What waits for it is not sent, unless it is there again within 7 days. Its saved queries stay.
    `digest subscription pause` only stops it for a while.

    Of a mail ADDRESS, delete all that is stored. Backups keep what they have.
    """
    if "@" in name:
        return _erase(ctx, name)
    file = open_file(ctx)
    return plan_change(file, edits.remove_subscription(file.text, name).encode(), is_removal=True)


def _erase(ctx: click.Context, address: str) -> Erasure:
    """Delete all that is stored about an address, with --yes or if a person agrees.

    With --dry-run it is only counted.
    """
    with opened_store(ctx) as bench:
        with bench.store.read() as conn:
            found = _export(conn, address)
        stored = {table: len(rows) for table, rows in found["stored"].items() if rows}
        done = Erasure(found["address"], deleted=False, stored=stored)
        if not (ctx.params["yes"] or ctx.params["dry_run"] or can_ask()):
            raise UsageError(
                f"{done.summary} would be deleted for ever, and nobody can be asked here",
                hint="Add --yes.",
            )
        if not agrees(f"Stored: {done.summary}. Delete all of it?", usually=False):
            return done
        now = bench.here.now
        with bench.store.begin() as conn:
            is_named = erase_person(conn, bench.config, done.address, at=now, how=BY_OPERATOR)
    return replace(done, deleted=True, is_still_named=is_named)


@command.command("export")
@click.argument("address")
@click.pass_context
def export_person(ctx: click.Context, address: str) -> None:
    """Print as JSON all that is stored about a mail ADDRESS."""
    with opened_store(ctx) as bench, bench.store.read() as conn:
        print_json(_export(conn, address))


def _export(conn: Connection, address: str) -> dict[str, Any]:
    found = export_records(conn, normalise_address(address))
    if found is None:
        raise UnknownName(
            f"nothing is stored about {address}",
            hint="`digest subscription list` shows who there is.",
        )
    return found
