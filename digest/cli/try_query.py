"""`digest try`: look a query up on the real arXiv, read its digest, and save it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from digest.cli.add import following_options, plan_addition
from digest.cli.changes import SaveOptions, save_change, saving_options
from digest.cli.context import opened_workbench
from digest.cli.output import find_width, print_json, say, shows_colors
from digest.cli.program import quote_as_called
from digest.cli.recent import compare, paper_as_json
from digest.config import find_config, read_environment
from digest.inspect.preview import describe_found, note_found, try_query
from digest.model.errors import UsageError
from digest.model.messages import Digest
from digest.query import Query
from digest.query.description import guess_person
from digest.render import Renderer


@click.command("try")
@click.argument("text", metavar="QUERY")
@click.option(
    "--days",
    type=click.IntRange(1, 366),
    help="How many days back; 7 by default and at least 15 papers, 30 with --against.",
)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many papers to print.")
@click.option("--against", "old", metavar="OLD", help="Show what QUERY gains and loses against the query OLD.")
@click.option("--save", "name", metavar="NAME", help="Save QUERY and a subscription in digest.toml, by this name.")
@following_options
@saving_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    text: str,
    *,
    days: int | None,
    limit: int,
    old: str | None,
    name: str | None,
    options: SaveOptions,
    **following: Any,  # noqa: ANN401 - as `following_options` gives
) -> None:
    """See what QUERY would bring. Nothing is stored, nothing is sent.

    QUERY and OLD are a saved query's name, a text, or an address of an arXiv search.

    With --save it then goes into digest.toml; `digest add --help` says how.

    \b
    digest try "cat:cs.PF AND abs:GPU"
    digest try 'ti:"tail latency" ANDNOT cat:cs.NI' --save tail
    digest try 'cat:cs.PF AND abs:(GPU OR CUDA)' --against gpu
    """  # noqa: D301 - click reads the backspace, which must be one
    if name is None and (any(following.values()) or options.is_sure or options.is_trial):
        raise UsageError("nothing is saved without --save", hint="Add --save NAME.")
    if name is not None and old is not None:
        raise UsageError("--against only compares", hint="Leave out --save, or --against.")
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(text)
        query = asked.query
        notes = [note.message for note in query.notes]
        click.echo("".join(map("note: {}\n".format, notes if name is None else ())), err=True, nl=False)
        if old is not None:
            compare(bench, bench.find_query(old), asked, days=days or 30, papers=limit, as_json=options.as_json)
            return
        change = plan_addition(ctx, query, name, **following) if name is not None else None
        with bench.asking() as client:
            click.echo(f"asking arXiv for {query.text} …", err=True)
            digest = try_query(client, bench.clock, query, days=days or 7, show=limit)
    click.echo("".join(map("note: {}\n".format, found := note_found(query, digest))), err=True, nl=False)
    as_json = _as_json(query, digest, limit, notes + found)
    if not options.as_json:
        width = find_width()
        click.echo(Renderer().render_terminal(digest, width=width, color=shows_colors(), limit=limit))
        say(f"Volume: {describe_found(digest)}.")
        if not digest.entries and (person := guess_person(text)):
            say(quote_as_called(f"For a person's papers: `digest try {shlex.quote(person)}`"))
    if change is not None:
        save_change(ctx, change, options, beside=as_json)
    elif options.as_json:
        print_json(as_json)
    elif query.futility:
        say(f"This brings nothing: {query.futility}.")
    elif find_config(ctx.obj["config_path"], read_environment()).exists():
        click.echo("To get new ones from now on, add --save NAME to this command.")
    else:
        click.echo(quote_as_called(f"To get new ones from now on: `digest init --query {shlex.quote(text)}`"))


def _as_json(query: Query, digest: Digest, limit: int, notes: Sequence[str]) -> dict[str, object]:
    return {
        "query": digest.queries[0][1],
        "notes": notes,
        "volume": describe_found(digest),
        "found": len(digest.entries),
        "has_more": digest.coverage.total > 0,
        "total_at_arxiv": digest.coverage.total or None,
        "papers": [paper_as_json(query, entry.paper) for entry in digest.entries[:limit]],
    }
