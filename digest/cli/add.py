"""`digest add`: a subscription to a query, or one more query in a subscription that is there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from digest.cli.dialogue import read_followed
from digest.cli.saving import open_file, plan_change, save_change, saving_options
from digest.config import edits
from digest.config.addresses import read_destination
from digest.config.starter import make_name
from digest.config.values import read_name
from digest.model.errors import ConfigurationError, UsageError
from digest.query.wording import name_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from digest.cli.saving import FileChange, Manner
    from digest.query import Query

_EXAMPLE = 'Such as: `digest add "cat:cs.PF AND abs:GPU" --name gpu --to you@example.org`.'


class Following(TypedDict):
    """Who follows a query: a new subscription with these destinations and this cadence, or one that is there."""

    places: Sequence[str]
    when: str | None
    subscription: str | None


def following_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--to`, `--when` and `--subscription`."""
    to = "Where to: you@example.org, #papers, feed. Repeatable."
    command = click.option("--subscription", metavar="NAME", help="Add it to this one; make no new one.")(command)
    command = click.option("--when", metavar="WHEN", help='Such as "weekdays at 09:00 UTC".')(command)
    return click.option("--to", "places", metavar="TO", multiple=True, help=to)(command)


@click.command()
@click.argument("query")
@click.option("--name", metavar="NAME", help="What to call the subscription; by default after its words.")
@following_options
@saving_options
@click.pass_context
def command(
    ctx: click.Context, query: str, *, name: str | None, manner: Manner, **following: Unpack[Following]
) -> None:
    """Add a subscription to QUERY to digest.toml.

    If --to or --when is not given, it does as all others of the file. QUERY may also be a category, or an address
    of an arXiv search.

    \b
    digest add "cat:cs.PF AND abs:GPU" --name gpu --to you@example.org
    digest add 'ti:"tail latency"' --subscription gpu
    """  # noqa: D301 - click reads the backspace, which must be one
    save_change(ctx, plan_addition(ctx, read_followed(query), name, **following), manner)


def plan_addition(
    ctx: click.Context, query: Query, name: str | None, **following: Unpack[Following]
) -> FileChange:
    """Plan a subscription to a query, or one more query in a subscription that is there.

    Raises:
        ConfigurationError: there is no `digest.toml`, or it is wrong.
        UsageError: a name is taken, or nothing says where a new subscription goes.
    """
    try:
        file = open_file(ctx)
    except ConfigurationError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            error.hint = f"`digest init --query {shlex.quote(query.expression)}` makes one."
        raise
    followed, old = " ".join(query.expression.split()), following["subscription"]
    if old is not None:
        if following["places"] or following["when"] or name:
            raise UsageError(
                "--name, --to and --when are for a new subscription",
                hint=f"`digest subscription edit {old}` changes {old}.",
            )
        return plan_change(file, edits.edit_subscription(file.text, old, add={"follow": [followed]}).encode())
    name = read_name(name) if name else make_name(name_query(query.tree))
    to = [str(read_destination(one)) for one in following["places"]] or find_usual(file.text, "to")
    if not to:
        raise UsageError("--to is missing: no destination is common to all subscriptions", hint=_EXAMPLE)
    if not following["places"] and any(one.startswith("file:") for one in to):
        other = next(iter(edits.list_subscriptions(file.text)))
        hint = f"`--subscription {other}` adds the query to {other}. Or name another file: --to file:NAME.atom."
        raise UsageError("--to is missing: two subscriptions can't write one file", hint=hint)
    values: dict[str, Any] = {"name": name, "follow": followed, "to": to if len(to) > 1 else to[0]}
    for due in [following["when"]] if following["when"] else find_usual(file.text, "when"):
        values["when"] = due
    return plan_change(file, edits.add_subscription(file.text, values).encode())


def find_usual(text: str, key: str) -> list[str]:
    """Return what all subscriptions of a file have for a key; none where they differ or say nothing."""
    written = [one.get(key, []) for one in edits.list_subscriptions(text).values()]
    first = written[0] if written and written.count(written[0]) == len(written) else []
    return first if isinstance(first, list) else [first]
