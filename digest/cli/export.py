"""`digest export`: papers as BibTeX or RIS, for a reference manager."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import click
from sqlalchemy import Connection

from digest.cli.context import Installation, find_saved, opened_store, require_subscription
from digest.cli.output import LARGEST_ID, echo, put
from digest.deliver.feeds import load_matched
from digest.model.errors import UnknownName, UsageError
from digest.model.messages import FEED_ENTRIES
from digest.model.numbers import count
from digest.model.papers import ArxivId, Paper
from digest.plan.feeds import choose_papers
from digest.query import matches, parse_query
from digest.render.references import FORMATS
from digest.store import digests, papers, queries

_FIRST = datetime(1991, 1, 1, tzinfo=UTC)
"""No paper at arXiv is older."""

_NAMES = {"bib": "bibtex"}
"""What a format is called, if not as its files end."""

_WRITERS = {_NAMES.get(ending, ending): write for ending, (write, _) in FORMATS.items()}


@click.command()
@click.option(
    "--digest", "digest_id", type=click.IntRange(1), help="The papers of digest N.", metavar="N"
)
@click.option("--subscription", metavar="NAME", help="The papers of a subscription's last digest.")
@click.option(
    "--query", "query_text", metavar="QUERY", help="Stored papers of a query, or of a saved one."
)
@click.option(
    "--paper", "paper_ids", metavar="ID", multiple=True, help="Single stored papers; repeatable."
)
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    help="With --query: only papers submitted in the last N days.",
    metavar="N",
)
@click.option(
    "--format", "kind", type=click.Choice([*_WRITERS]), default="bibtex", help="bibtex by default."
)
@click.option("--abstracts", is_flag=True, help="With abstracts.")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    digest_id: int | None,
    subscription: str | None,
    query_text: str | None,
    paper_ids: tuple[str, ...],
    days: int | None,
    kind: str,
    abstracts: bool,
) -> None:
    """Write papers as BibTeX or RIS, for a reference manager.

    \b
    digest export --subscription perf-team > morning.bib
    digest export --query 'cat:cs.PF AND abs:GPU' --days 30 --format ris > gpu.ris
    digest export --paper 2611.14886 --paper 2611.15012
    """  # noqa: D301 - click reads the backspace, which must be one
    choices = (digest_id, subscription, query_text, paper_ids or None)
    given = [one for one in choices if one is not None]
    if len(given) != 1:
        raise UsageError(
            "Say which papers: one of --digest, --subscription, --query and --paper",
            hint="`digest export --help` shows how.",
        )
    with opened_store(ctx) as bench, bench.store.read() as conn:
        if digest_id is not None:
            papers = _load_digest(conn, digest_id)
        elif subscription is not None:
            papers = _load_last_digest(bench, conn, subscription)
        elif query_text is not None:
            papers = _find_papers(bench, conn, query_text, days)
        else:
            papers = _load_papers(conn, paper_ids)
    if papers:
        text = _WRITERS[kind](papers, with_abstracts=abstracts)
        put(
            text.encode("utf-8"), nl=False
        )  # a file of references, whatever the terminal's encoding
    echo(count(len(papers), "paper"), err=True)


def _load_digest(conn: Connection, digest_id: int) -> list[Paper]:
    return [entry.paper for entry in digests.load(conn, min(digest_id, LARGEST_ID)).entries]


def _load_last_digest(bench: Installation, conn: Connection, name: str) -> list[Paper]:
    due = require_subscription(bench.config, conn, name)
    last = digests.load_summaries(conn, subscription_ids=[due.id], limit=1)
    if last:
        return _load_digest(conn, last[0].id)
    # Who reads it as a feed gets no digests.
    shown = choose_papers(load_matched(conn, due))
    papers = [found[-1].change.paper for found in shown[:FEED_ENTRIES]]
    return _sort_newest_first(papers)


def _sort_newest_first(papers: Iterable[Paper]) -> list[Paper]:
    return sorted(papers, key=lambda paper: paper.id, reverse=True)


def _find_papers(bench: Installation, conn: Connection, text: str, days: int | None) -> list[Paper]:
    saved = {stored.name: stored.text for stored in queries.load(conn)}
    for written in bench.config.queries:  # as the file means it, run or not
        saved[written.name] = written.text
    query = parse_query(find_saved(text, saved) or text)
    now = bench.here.now
    first = _FIRST if days is None else now - timedelta(days=days)
    submitted = papers.load_submitted(conn, first, now)
    return _sort_newest_first(paper for paper in submitted if matches(query, paper))


def _load_papers(conn: Connection, texts: Iterable[str]) -> list[Paper]:
    wanted = []
    for text in texts:
        id_, _ = ArxivId.parse_versioned(text)
        wanted.append(id_)
    known = papers.load_known(conn, wanted)
    missing = [str(id_) for id_ in wanted if id_ not in known]
    if missing:
        raise UnknownName(
            f"not stored here: {', '.join(missing)}",
            hint="Only what was announced since shortly before the first run is. "
            "`digest try` asks arXiv.",
        )
    return [known[id_].paper for id_ in dict.fromkeys(wanted)]
