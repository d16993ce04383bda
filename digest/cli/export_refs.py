"""`digest export-refs`: papers as BibTeX or RIS, for a reference manager."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from digest.cli.context import find_saved, opened_store, require_subscription
from digest.cli.output import json_option, print_json
from digest.deliver.feeds import load_matched
from digest.model.errors import UnknownName, UsageError, count
from digest.model.messages import FEED_ENTRIES
from digest.model.papers import ArxivId
from digest.plan.feeds import choose_papers
from digest.query import matches, parse_query
from digest.render.references import drop_repeated, make_key, write_bibtex, write_ris
from digest.store import digests as digest_store
from digest.store import papers
from digest.store import queries as query_store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from digest.cli.context import Installation
    from digest.model.papers import Paper

_FORMATS = {"bibtex": "BibTeX", "ris": "RIS"}
_LARGEST = 2**63 - 1
"""What a database takes for an id."""

_MOST_DAYS = 36_500
"""A century: arXiv is younger."""


class _Chosen(NamedTuple):
    """Papers, what they are in words, and what to say where there are none."""

    papers: list[Paper]
    source: str
    empty: str


@click.command()
@click.option("--digest", "digest_id", type=click.IntRange(1), help="The papers of digest N.", metavar="N")
@click.option("--subscription", metavar="NAME", help="The papers of a subscription's last digest.")
@click.option("--query", "query_text", metavar="QUERY", help="Stored papers a saved query, or a query, means.")
@click.option("--paper", "paper_ids", metavar="ID", multiple=True, help="Single stored papers; repeatable.")
@click.option(
    "--days",
    type=click.IntRange(1),
    help="With --query: only papers submitted in the last N days.",
    metavar="N",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(tuple(_FORMATS)),
    help="What is written; bibtex, unless the file's name ends in .ris.",
)
@click.option("--abstracts", is_flag=True, help="With abstracts.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Where to; else it is printed.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    digest_id: int | None,
    subscription: str | None,
    query_text: str | None,
    paper_ids: tuple[str, ...],
    days: int | None,
    format_: str | None,
    output: Path | None,
    abstracts: bool,
    as_json: bool,
) -> None:
    """Write papers as BibTeX or RIS, for a reference manager.

    \b
    digest export-refs --subscription perf-team > morning.bib
    digest export-refs --query 'cat:cs.PF AND abs:GPU' --days 30 --output gpu.ris
    digest export-refs --paper 2611.14886 --paper 2611.15012
    """  # noqa: D301 - click reads the backspace, which must be one
    asked = [digest_id is not None, subscription is not None, query_text is not None, bool(paper_ids)]
    if sum(asked) != 1:
        raise UsageError(
            "Say which papers: one of --digest, --subscription, --query and --paper",
            hint="`digest export-refs --help` shows how.",
        )
    if days is not None and query_text is None:
        raise UsageError("--days goes with --query alone")
    with opened_store(ctx) as here, here.store.read() as conn:
        if digest_id is not None:
            chosen = _take_digest(conn, digest_id)
        elif subscription is not None:
            chosen = _take_last_digest(here, conn, subscription)
        elif query_text is not None:
            chosen = _find_papers(here, conn, query_text, days)
        else:
            chosen = _load_papers(conn, paper_ids)
    if as_json:
        print_json(_as_json(chosen.papers))
        return
    kind = format_ or ("ris" if output is not None and output.suffix.lower() == ".ris" else "bibtex")
    _write(chosen, kind, output, with_abstracts=abstracts)


def _take_digest(conn: Connection, digest_id: int) -> _Chosen:
    try:
        digest = digest_store.load_digest(conn, min(digest_id, _LARGEST))
    except UnknownName as error:
        raise UnknownName(error.message, hint="`digest subscription show NAME` numbers its digests.") from error
    what = f"digest {digest_id} of {digest.subscription}"
    return _Chosen([entry.paper for entry in digest.entries], what, f"{what} holds no papers: it was a quiet day.")


def _take_last_digest(here: Installation, conn: Connection, name: str) -> _Chosen:
    due = require_subscription(here, conn, name)
    last = digest_store.load_summaries(conn, subscription_ids=[due.id], limit=1)
    if last:
        return _take_digest(conn, last[0].id)
    told = choose_papers(load_matched(conn, due))[:FEED_ENTRIES]  # who reads it as a feed gets no digests
    papers = sorted((found[-1].change.paper for found in told), key=lambda paper: paper.id, reverse=True)
    return _Chosen(papers, f"the feed of {name}", f"{name} has had no digest yet, and nothing has matched it.")


def _find_papers(here: Installation, conn: Connection, text: str, days: int | None) -> _Chosen:
    saved = {query.name: query.text for query in query_store.load_queries(conn)}
    saved |= {query.name: query.text for query in here.config.queries}  # as the file means it, run or not
    query = parse_query(find_saved(text, saved) or text)
    first = datetime(1991, 1, 1, tzinfo=UTC) if days is None else here.now - timedelta(days=min(days, _MOST_DAYS))
    stored = papers.load_submitted(conn, first, here.now)
    is_empty, found = True, []
    for paper in stored:
        is_empty = False
        if matches(query, paper):
            found.append(paper)
    found.sort(key=lambda paper: paper.id, reverse=True)
    since = f" of the last {days} days" if days else ""
    where = f"Nothing{since} that is stored here meets {query.text}."
    if is_empty and days is None:
        where = f"Nothing is stored here yet: `digest run` begins to. No paper meets {query.text} so far."
    return _Chosen(found, f"{text}{since}", f"{where} Ask arXiv: digest try {shlex.quote(query.text)}")


def _load_papers(conn: Connection, texts: Iterable[str]) -> _Chosen:
    wanted = dict(map(ArxivId.parse_versioned, texts))
    known = papers.load_known(conn, wanted)
    missing = [str(id_) for id_ in wanted if id_ not in known]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UnknownName(
            f"{', '.join(missing)} {verb} not stored here",
            hint="Only what was announced since shortly before the first run is. "
            f'Ask arXiv: digest try "id:{missing[0]}"',
        )
    for id_, version in wanted.items():
        if version not in (None, known[id_].paper.version):
            click.echo(f"note: {id_} is stored as v{known[id_].paper.version}, and written so", err=True)
    return _Chosen([known[id_].paper for id_ in wanted], "", "")


def _write(chosen: _Chosen, kind: str, output: Path | None, *, with_abstracts: bool) -> None:
    if not chosen.papers:
        click.echo(chosen.empty, err=True)
        return
    write = write_ris if kind == "ris" else write_bibtex
    text = write(chosen.papers, with_abstracts=with_abstracts)
    source = f" from {chosen.source}" if chosen.source else ""
    if output is None:
        click.echo(text.encode("utf-8"), nl=False)  # a file of references, whatever the terminal's encoding
    else:
        try:
            output.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise UsageError(f"{output} can't be written: {error.strerror}", hint="Name another file.") from error
    where = f", written to {output}" if output is not None else ""
    click.echo(f"{count(len(chosen.papers), 'paper')}{source} as {_FORMATS[kind]}{where}", err=True)


def _as_json(papers: Iterable[Paper]) -> list[dict[str, object]]:
    return [
        {
            "key": make_key(paper),
            "id": str(paper.id),
            "version": paper.version,
            "title": paper.title,
            "authors": [author.name for author in paper.authors],
            "url": paper.url,
        }
        for paper in drop_repeated(papers)
    ]
