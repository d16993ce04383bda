"""`digest try`: look a query up on the real arXiv, read its digest, and get the TOML to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.telling import json_option, print_json
from digest.errors import ArxivUnreachable, StoreError

if TYPE_CHECKING:
    from digest.messages import Digest
    from digest.query import Query


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
@json_option
@click.pass_context
def command(ctx: click.Context, text: str, *, days: int, limit: int, as_json: bool) -> None:
    """Look QUERY up on arXiv and read the digest it would make. Nothing is stored, nothing is sent.

    \b
    digest try "cat:cs.PF AND abs:GPU"
    digest try 'ti:"tail latency" ANDNOT cat:cs.NI'
    """  # noqa: D301 - click reads the backspace, which must be one
    from digest.query import parse_query  # noqa: PLC0415 - the stack is loaded by the command that needs it

    query = parse_query(text)
    click.echo(f"asking arXiv for {query.text} …", err=True)
    try:
        digest = _look_up(ctx, query, days)
    except ArxivUnreachable as error:
        said = error.message.removeprefix(f"{error.request}: ").replace(" can't be reached: ", ": ")
        raise ArxivUnreachable(
            f"arXiv can't be reached from here ({said})",
            hint="`digest demo` shows everything on a made-up arXiv, without a network.",
        ) from error
    if as_json:
        print_json(_as_json(digest, limit))
        return
    _print(digest, limit)
    click.echo(_paste(text))


def _look_up(ctx: click.Context, query: Query, days: int) -> Digest:
    import os  # noqa: PLC0415 - the same
    from contextlib import ExitStack  # noqa: PLC0415 - the same

    from digest.cli.opening import choose_clock  # noqa: PLC0415 - the same
    from digest.config import find_state_folder, open_config_or_defaults, read_environment  # noqa: PLC0415 - the same
    from digest.pipeline import open_client  # noqa: PLC0415 - the same
    from digest.pipeline.looking_up import look_up  # noqa: PLC0415 - the same
    from digest.store import Gate, create_standalone, hold_worker, open_store  # noqa: PLC0415 - the same
    from digest.store.gate import PASSER_BY, adopt_gate  # noqa: PLC0415 - the same

    config = open_config_or_defaults(ctx.obj["config_path"])
    clock = choose_clock(config)
    with ExitStack() as stack:
        try:
            # An installation's own gate, so that run, serve and try keep one pace.
            store = open_store(config.store.url)
            stack.callback(store.close)
        except StoreError:
            name = "try-simulated.db" if config.test_clock else "try.db"
            store = create_standalone(find_state_folder(read_environment()) / name)
            stack.callback(store.close)
            stack.enter_context(hold_worker(store))
            with store.begin() as conn:
                adopt_gate(conn, clock, passers_by=True)
        client = open_client(config, Gate(store, clock, f"{PASSER_BY}{os.getpid()}", patience=30.0), clock)
        stack.callback(client.close)
        return look_up(client, clock, query, days=days)


def _print(digest: Digest, limit: int) -> None:
    import shutil  # noqa: PLC0415 - the same
    import sys  # noqa: PLC0415 - the same

    from digest.render import Renderer  # noqa: PLC0415 - the same

    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    text = Renderer().render_terminal(digest, width=width, color=sys.stdout.isatty(), limit=limit)
    click.echo(text)


def _as_json(digest: Digest, limit: int) -> dict[str, object]:
    return {
        "query": digest.queries[0][1],
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


def _paste(text: str) -> str:
    quoted = f"'{text}'" if "'" not in text else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"""
To go on hearing of these, paste this at the end of digest.toml (`digest init` writes one; where it has
a [queries] table already, put the line below that one there):

[queries]
mine = {quoted}

[[subscriptions]]
name = "mine"
queries = ["mine"]
to = "console"                      # or mailto:you@example.org, slack:#papers, feed, file:mine.atom
when = "weekdays at 09:00 UTC"
"""
