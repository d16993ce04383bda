"""`digest add`: saves a query, with a subscription of its own or in one that is there."""

from __future__ import annotations

import shlex
import tomllib
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from digest.cli.dialogue import ask, read_followed, suggest_title
from digest.cli.saving import open_file, plan_change, save_change, saving_options
from digest.config import edits
from digest.config.starter import make_name
from digest.config.values import read_name
from digest.model.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from digest.cli.saving import FileChange, Manner

T = TypeVar("T")
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
@click.argument("query", required=False)
@click.option("--name", metavar="NAME", help="What to call the query, and its subscription.")
@following_options
@saving_options
@click.pass_context
def command(
    ctx: click.Context, query: str | None, *, name: str | None, manner: Manner, **following: Unpack[Following]
) -> None:
    """Save QUERY in digest.toml, with a subscription that follows it.

    On a terminal it asks for what is missing. Where --to or --when is not given, a new subscription does as
    all others of the file.

    \b
    digest add "cat:cs.PF AND abs:GPU" --name gpu --to you@example.org
    digest add 'ti:"tail latency"' --name tail --subscription gpu
    """  # noqa: D301 - click reads the backspace, which must be one
    usual = ", ".join(find_usual(open_file(ctx).text, "to"))
    query = query or _ask(
        manner,
        "What do you follow? Words, a category or an address of arXiv's",
        "QUERY",
        lambda said: read_followed(said).text,
    )
    name = name or _ask(manner, "What shall it be called?", "--name", read_name, make_name(suggest_title(query)))
    if manner.can_ask and not (following["places"] or following["subscription"]):
        question = "Where to? you@example.org, #papers, feed, console"
        following["places"] = _ask(
            manner, question, "--to", lambda said: [edits.read_target(one) for one in said.split(",")], usual
        )
    save_change(ctx, plan_addition(ctx, query, name, **following), manner)


def plan_addition(ctx: click.Context, query: str, name: str, **following: Unpack[Following]) -> FileChange:
    """Plan to save a query by a name; a new subscription gets the same name.

    Raises:
        ConfigurationError: there is no `digest.toml`, or it is wrong.
        UsageError: the query can't be read, a name is taken, or nothing says where a new subscription goes.
    """
    query = read_followed(query).text
    read_name(name)
    try:
        file = open_file(ctx)
    except ConfigurationError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            error.hint = f"`digest init --query {shlex.quote(query)} --name {name}` makes one."
        raise
    text, old, when = edits.add_query(file.text, name, query), following["subscription"], following["when"]
    if old is not None:
        if following["places"] or when:
            raise UsageError(
                "--to and --when are for a new subscription",
                hint=f"`digest subscription edit {old}` changes {old}.",
            )
        return plan_change(file, file.encode(edits.edit_subscription(text, old, add={"follow": [name]})))
    to = [*map(edits.read_target, following["places"])] or find_usual(text, "to")
    if not to:
        raise UsageError("--to is missing: no destination is common to all subscriptions", hint=_EXAMPLE)
    if not following["places"] and to[0].startswith("file:"):
        name = edits.list_subscriptions(text)[0]
        hint = f"`--subscription {name}` adds the query to {name}. Or name another file: --to file:NAME.atom."
        raise UsageError("--to is missing: two subscriptions can't write one file", hint=hint)
    values: dict[str, Any] = {"name": name, "follow": [name], "to": to if len(to) > 1 else to[0]}
    for due in [when] if when else find_usual(text, "when"):
        values["when"] = due
    return plan_change(file, file.encode(edits.add_subscription(text, values)))


def find_usual(text: str, key: str) -> list[str]:
    """Return what all subscriptions of a file have for a key; none where they differ or say nothing."""
    written = [one.get(key, []) for one in tomllib.loads(text).get("subscriptions", [])]
    first = written[0] if written and written.count(written[0]) == len(written) else []
    return first if isinstance(first, list) else [first]


def _ask(manner: Manner, question: str, flag: str, read: Callable[[str], T], proposal: str = "") -> T:
    """Ask until the answer can be read.

    Raises:
        UsageError: nobody can answer.
    """
    if not manner.can_ask:
        raise UsageError(f"{flag} is missing", hint=_EXAMPLE)
    return ask(question, read, proposal or None)
