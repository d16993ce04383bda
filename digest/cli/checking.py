"""`digest query check`: how a query is read, what arXiv is asked, and what its author should know."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from digest.cli.telling import json_option, print_json
from digest.cli.wording import wrap
from digest.cli.workbench import file_option, opened_workbench, read_query
from digest.errors import ConfigurationError
from digest.pipeline.previewing import count_daily_papers, find_beginnings
from digest.query import NoteKind, lint_query, parse_query, to_arxiv
from digest.query.printing import print_outline, print_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.query import Note, Query

_LABEL = 16
_WIDEST = 84
_LONGEST_COMMAND = 400
_LEAD = 24
"""Letters of a long query shown before the place that is meant."""


@click.command()
@click.argument("text", metavar="[QUERY]", required=False)
@file_option
@json_option
@click.pass_context
def check(ctx: click.Context, text: str | None, *, path: str | None, as_json: bool) -> None:
    """Say how QUERY is read, what arXiv is asked, what to look out for.

    QUERY is a saved query's name, a query, or an address of an arXiv search or a part of one.

    \b
    digest query check 'cat:cs.PF AND abs:GPU OR ti:"tail latency"'
    digest query check --file query.txt
    """  # noqa: D301 - click reads the backspace, which must be one
    query, notes = _read(ctx, read_query(text, path, "check"))
    if as_json:
        print_json(_as_json(query, notes))
    else:
        _print(query, notes)


def _read(ctx: click.Context, written: str) -> tuple[Query, Sequence[Note]]:
    """Return the saved query of that name, else the text as a query, and what there is to say of it."""
    try:
        with opened_workbench(ctx, is_quiet=True) as bench:
            query = parse_query(bench.saved.get(written, written))
            if bench.store is None:
                return query, lint_query(query)
            with bench.store.read() as conn:
                notes = lint_query(query, daily_papers=count_daily_papers(conn, bench.now))
                return query, (*notes, *find_beginnings(conn, query))
    except ConfigurationError as error:
        found = error.message.partition("\n")[0]
        more = " (digest config check)" if found != error.message else ""
        click.echo(f"note: {found}{more}; the query is checked without it", err=True)
        query = parse_query(written)
        return query, lint_query(query)


def _print(query: Query, notes: Sequence[Note]) -> None:
    _print_lines("read as", print_outline(query.tree))
    if query.pasted_as:
        _print_wrapped("as a query", query.pasted_as)
    _print_wrapped("in one form", query.canonical)
    _print_wrapped("arXiv is asked", to_arxiv(query))
    for note in sorted(notes, key=lambda note: note.kind is NoteKind.ALL):  # which matters least
        _print_wrapped("note", note.message, style="yellow")
        if note.kind is not NoteKind.ALL:
            _print_lines("", point_at(query.text, note.position, _WIDEST))
    if len(query.expression) <= _LONGEST_COMMAND:
        click.echo(f"{'see more':<{_LABEL}}digest query preview {_quote(' '.join(query.expression.split()))}")


def _print_wrapped(label: str, text: str, *, style: str | None = None) -> None:
    _print_lines(label, wrap(text, _WIDEST), style=style)


def _print_lines(label: str, lines: Sequence[str], *, style: str | None = None) -> None:
    for number, line in enumerate(lines):
        name = f"{'' if number else label:<{_LABEL}}"
        click.echo(f"{click.style(name, fg=style) if style else name}{line}".rstrip())


def point_at(text: str, position: int, width: int) -> list[str]:
    """Return a text on one line with a caret below a place; of a longer text the part around it."""
    line = "".join(" " if letter.isspace() else letter for letter in text)
    place = min(position, len(line))
    start, end = 0, len(line)
    if len(line) > width:
        start = max(0, min(place - _LEAD, len(line) - width))
        end = min(len(line), start + width)
    before, behind = "…" if start else "", "…" if end < len(line) else ""
    return [f"{before}{line[start:end]}{behind}", f"{' ' * (len(before) + place - start)}^"]


def _quote(text: str) -> str:
    return f'"{text}"' if not set(text) & set('"$`\\!') else shlex.quote(text)


def _as_json(query: Query, notes: Sequence[Note]) -> dict[str, object]:
    return {
        "text": query.text,
        "pasted_as": query.pasted_as or None,
        "read_as": print_tree(query.tree),
        "outline": print_outline(query.tree),
        "canonical": query.canonical,
        "arxiv": to_arxiv(query),
        "notes": [{"kind": note.kind, "position": note.position, "message": note.message} for note in notes],
    }
