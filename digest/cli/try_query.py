"""`digest try`: look a query up on the real arXiv, read its digest, and save it."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Unpack

import click

from digest.cli.add import Following, following_options, plan_addition
from digest.cli.context import opened_workbench
from digest.cli.output import find_width, print_json
from digest.cli.program import call_as_here
from digest.cli.saving import save_change, saving_options
from digest.config import find_config, read_environment
from digest.inspect.preview import look_up
from digest.model.errors import UsageError
from digest.query import parse_query
from digest.render import Renderer

if TYPE_CHECKING:
    from digest.cli.saving import Manner
    from digest.model.messages import Digest

_NAME = re.compile(r"(?:(?:^| +)(?!(?:AND|OR|NOT|ANDNOT)\b)[^\W\d_][\w.'’-]*){2,3}")


@click.command("try")
@click.argument("text", metavar="QUERY")
@click.option(
    "--days",
    type=click.IntRange(1),
    default=7,
    show_default=True,
    help="How far to look back, at least for 15 papers.",
)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many papers to print.")
@click.option("--save", "name", metavar="NAME", help="Save QUERY and a subscription in digest.toml, by this name.")
@following_options
@saving_options
@click.pass_context
def command(
    ctx: click.Context,
    text: str,
    *,
    days: int,
    limit: int,
    name: str | None,
    manner: Manner,
    **following: Unpack[Following],
) -> None:
    """Look QUERY up on arXiv and read the digest it would make. Nothing is stored, nothing is sent.

    With --save it then goes into digest.toml; `digest add --help` says how.

    \b
    digest try "cat:cs.PF AND abs:GPU"
    digest try 'ti:"tail latency" ANDNOT cat:cs.NI' --save tail
    """  # noqa: D301 - click reads the backspace, which must be one
    if name is None and (any(following.values()) or manner.is_sure or manner.is_trial):
        raise UsageError("nothing is saved without --save", hint="Add --save NAME.")
    query = parse_query(text)
    for note in query.notes if name is None else ():
        click.echo(f"note: {note.message}", err=True)
    change = plan_addition(ctx, text, name, **following) if name is not None else None
    with opened_workbench(ctx) as bench, bench.asking() as client:
        click.echo(f"asking arXiv for {query.text} …", err=True)
        digest = look_up(client, bench.clock, query, days=days)
    if not manner.as_json:
        width = find_width()
        click.echo(Renderer().render_terminal(digest, width=width, color=sys.stdout.isatty(), limit=limit))
        if not digest.entries and (person := guess_person(text)):
            click.echo(call_as_here(f"For a person's papers: `digest try {shlex.quote(person)}`"))
    if change is not None:
        save_change(ctx, change, manner, beside=_as_json(digest, limit))
    elif manner.as_json:
        print_json(_as_json(digest, limit))
    elif find_config(ctx.obj["config_path"], read_environment()).exists():
        click.echo("To get these from now on, add --save NAME to this command.")
    else:
        click.echo(call_as_here(f"To get these from now on: `digest init --query {shlex.quote(text)}`"))


def guess_person(text: str) -> str:
    """Return the query for a person's papers where two or three words may be a name, else ""."""
    name = text.strip().strip('"')
    return f'author:"{name}"' if _NAME.fullmatch(name) else ""


def _as_json(digest: Digest, limit: int) -> dict[str, object]:
    return {
        "query": digest.queries[0][1],
        "found": len(digest.entries),
        "has_more": digest.coverage.total > 0,
        "total_at_arxiv": digest.coverage.total or None,
        "papers": [
            {
                "id": str(entry.paper.id),
                "version": entry.paper.version,
                "title": entry.paper.title,
                "abstract": entry.paper.abstract,
                "published": entry.paper.published,
                "why": [reason.clause for reason in entry.reasons],
                "authors": [author.name for author in entry.paper.authors],
                "categories": entry.paper.categories,
                "updated": entry.paper.updated,
                "url": entry.paper.url,
            }
            for entry in digest.entries[:limit]
        ],
    }
