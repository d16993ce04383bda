"""`digest try`: look a query up on the real arXiv, read its digest, and get the TOML to paste."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from digest.cli.context import opened_workbench
from digest.cli.output import find_width, json_option, print_json
from digest.cli.recent import compare
from digest.inspect.preview import look_up
from digest.render import Renderer

if TYPE_CHECKING:
    from digest.model.messages import Digest


@click.command("try")
@click.argument("text", metavar="QUERY")
@click.option(
    "--days",
    type=click.IntRange(1, 366),
    help="How many days back; 7 by default and at least 15 papers, 30 with --against.",
)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many papers to print.")
@click.option("--against", "old", metavar="OLD", help="Show what QUERY gains and loses against the query OLD.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, text: str, *, days: int | None, limit: int, old: str | None, as_json: bool
) -> None:
    """See what QUERY would bring. Nothing is stored, nothing is sent.

    QUERY and OLD are a saved query's name, a text, or an address of an arXiv search.

    \b
    digest try "cat:cs.PF AND abs:GPU"
    digest try 'cat:cs.PF AND abs:(GPU OR CUDA)' --against gpu
    """  # noqa: D301 - click reads the backspace, which must be one
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(text)
        query = asked.query
        for note in query.notes:
            click.echo(f"note: {note.message}", err=True)
        if old is not None:
            compare(bench, bench.find_query(old), asked, days=days or 30, papers=limit, as_json=as_json)
            return
        with bench.asking() as client:
            click.echo(f"asking arXiv for {query.text} …", err=True)
            digest = look_up(client, bench.clock, query, days=days or 7)
    if as_json:
        print_json(_as_json(digest, limit))
        return
    width = find_width()
    click.echo(Renderer().render_terminal(digest, width=width, color=sys.stdout.isatty(), limit=limit))
    click.echo(_paste(text, has_papers=bool(digest.entries)))


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


def _paste(text: str, *, has_papers: bool) -> str:
    quoted = f"'{text}'" if "'" not in text else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    why = "To go on hearing of these" if has_papers else "To hear of it once there is something"
    return f"""
{why}, paste this at the end of digest.toml (`digest init` writes one; where it has
a [queries] table already, put the line below that one there):

[queries]
mine = {quoted}

[[subscriptions]]
name = "mine"
queries = ["mine"]
to = "console"                      # or mailto:you@example.org, slack:#papers, feed, file:mine.atom
when = "weekdays at 09:00 UTC"
"""
