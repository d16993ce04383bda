"""`digest add`: a subscription to a query, or one more query in a subscription that is there."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import click

from digest.cli.changes import FileChange, open_file, plan_change, saves
from digest.cli.commands import quote_as_called
from digest.cli.context import opened_workbench, read_followed, write_sources
from digest.cli.output import Part, ProgressLines
from digest.config import edits
from digest.config.addresses import write_destination
from digest.config.starter import make_name
from digest.inspect.queries import describe_volume, find_stored
from digest.model.errors import UsageError
from digest.query import Query
from digest.query.description import name_query

_DAYS = 14
"""How far back papers are counted: enough for a rate, and half the time that 30 days would take."""

LIBRARY = "Papers you keep; what is near them comes first: lab.bib, zotero:1234567. Repeatable."


def following_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--to`, `--when`, `--library` and `--subscription`."""
    options = (
        click.option("--subscription", metavar="NAME", help="Add it to this one; make no new one."),
        click.option("--library", "libraries", metavar="SOURCE", multiple=True, help=LIBRARY),
        click.option("--when", metavar="WHEN", help='Such as "weekdays at 09:00 UTC".'),
        click.option(
            "--to",
            "destinations",
            metavar="TO",
            multiple=True,
            help="Where to: you@example.org, #papers, feed. Repeatable.",
        ),
    )
    for add_option in options:
        command = add_option(command)
    return command


@dataclass(frozen=True, slots=True)
class Addition:
    """A query that is added, and how much it brings, in words; None if that is not known here."""

    query: str
    volume: str | None
    change: FileChange


def _show(added: Addition) -> Iterator[Part]:
    volume = added.volume
    if not volume:
        trial = f"digest try {shlex.quote(added.query)}"
        volume = quote_as_called(f"not known here. `{trial}` says it")
    yield f"Volume: {volume}."


@click.command()
@click.argument("query")
@click.option(
    "--name", metavar="NAME", help="What to call the subscription; by default after its words."
)
@following_options
@saves(_show)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    query: str,
    *,
    name: str | None,
    **following: Any,  # noqa: ANN401 - as `following_options` gives
) -> Addition:
    """Add a subscription to QUERY to digest.toml.

    Without --to or --when, it takes what all others in the file have. QUERY may also be a
    category, or an address of an arXiv search.

    \b
    digest add "cat:cs.PF AND abs:GPU" --name gpu --to you@example.org
    digest add 'ti:"tail latency"' --subscription gpu
    """  # noqa: D301 - click reads the backspace, which must be one
    asked = read_followed(query)
    change = plan_addition(ctx, asked, name, **following)
    with opened_workbench(ctx) as bench:
        found = find_stored(bench.store, asked, bench.here.now, _DAYS, ProgressLines(quiet=True))
    volume = describe_volume(found.span, found.papers) if found else None
    return Addition(query, volume, change)


def plan_addition(
    ctx: click.Context,
    query: Query,
    name: str | None,
    *,
    destinations: Sequence[str],
    when: str | None,
    libraries: Sequence[str],
    subscription: str | None,
) -> FileChange:
    """Plan a subscription to a query, or one more query in a subscription that is there."""
    file = open_file(ctx)
    followed = " ".join(query.expression.split())
    if subscription is not None:
        if destinations or when or name or libraries:
            raise UsageError(
                "--name, --to, --when and --library are for a new subscription",
                hint=f"`digest subscription edit {subscription}` changes {subscription}.",
            )
        text = edits.edit_subscription(file.text, subscription, add={"follow": [followed]})
        return plan_change(file, text.encode())
    known = edits.list_subscriptions(file.text)
    values: dict[str, Any] = {
        "name": name or _choose_name(name_query(query.tree), known),
        "follow": followed,
    }
    if libraries:
        values["library"] = write_sources(libraries, file.path.parent)
    places = [write_destination(one) for one in destinations]
    asked = {"to": places[0] if len(places) == 1 else places, "when": when}
    for key, given in asked.items():
        value = given or _find_common(known.values(), key)
        if value is not None:
            values[key] = value
    if "to" not in values:
        raise UsageError(
            "--to is missing: no destination is common to all subscriptions",
            hint='Such as: `digest add "cat:cs.PF AND abs:GPU" --to you@example.org`.',
        )
    return plan_change(file, edits.add_subscription(file.text, values).encode())


def _find_common(subscriptions: Iterable[Mapping[str, object]], key: str) -> object:
    """Return what all subscriptions of the file have for a key; None if they differ."""
    values = [one.get(key) for one in subscriptions]
    if not values or values.count(values[0]) < len(values):
        return None
    return values[0]


def _choose_name(text: str, taken: Container[str]) -> str:
    name = make_name(text)
    numbered = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if one not in taken)
