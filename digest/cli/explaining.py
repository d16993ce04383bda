"""Why a stored paper matches a query, clause by clause: for `digest query explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.telling import print_json
from digest.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from digest.papers import Paper, Span
    from digest.query import Node, Query

_WIDEST_EXCERPT = 60


def explain_match(conn: Connection, query_text: str, paper_id: str, *, as_json: bool) -> None:
    """Print whether a stored paper matches a saved query (by name) or a query (as text), and why.

    Raises:
        UnknownName: the paper is not stored.
        QueryError: the text is no query.
    """
    from digest.query import find_reasons, matches  # noqa: PLC0415 - the stack is loaded by what needs it

    query = _find_query(conn, query_text)
    paper = _find_paper(conn, paper_id)
    is_match = matches(query, paper)
    if as_json:
        print_json(
            {
                "paper": f"{paper.id}v{paper.version}",
                "query": query.text,
                "matches": is_match,
                "clauses": [
                    {"clause": clause, "depth": depth, "is_met": is_met}
                    for clause, depth, is_met in walk_clauses(query.tree, paper)
                ],
                "reasons": [
                    {"clause": reason.clause, "places": [_quote_place(paper, span) for span in reason.spans]}
                    for reason in find_reasons(query, paper)
                ],
            }
        )
        return
    _print_match(query, paper, is_match=is_match)


def _find_query(conn: Connection, text: str) -> Query:
    from digest.query import parse_query  # noqa: PLC0415 - the same
    from digest.store import queries as query_store  # noqa: PLC0415 - the same

    saved = {query.name: query.text for query in query_store.load_queries(conn)}
    return parse_query(saved.get(text, text))


def _find_paper(conn: Connection, text: str) -> Paper:
    from digest.papers import ArxivId  # noqa: PLC0415 - the same
    from digest.store import papers as paper_store  # noqa: PLC0415 - the same

    id_ = ArxivId.parse(text)
    known = paper_store.load_paper(conn, id_)
    if known is None:
        raise UnknownName(
            f"{id_} is not stored here",
            hint=f'Only what was announced since the first run is. Ask arXiv: digest try "id:{id_}"',
        )
    return known.paper


def _print_match(query: Query, paper: Paper, *, is_match: bool) -> None:
    from digest import tex  # noqa: PLC0415 - the same
    from digest.cli.wording import cut  # noqa: PLC0415 - the same
    from digest.query import find_reasons  # noqa: PLC0415 - the same

    places = {reason.clause: reason.spans for reason in find_reasons(query, paper)}
    click.echo(f"{paper.id}v{paper.version}  {tex.to_plain(paper.title)}")
    verdict = "matches" if is_match else "does not match"
    click.echo(f"{click.style(verdict, bold=True)}  {query.text}")
    for clause, depth, is_met in walk_clauses(query.tree, paper):
        quotes = list(dict.fromkeys(_quote_place(paper, span) for span in places.get(clause, ())))
        found = cut("   " + " · ".join(quotes), _WIDEST_EXCERPT * 2) if quotes else ""
        sign = click.style("✓", fg="green") if is_met else click.style("✗", fg="red")
        click.echo(f"{'  ' * (depth + 1)}{sign} {clause}{'   ' + found if found else ''}")


def walk_clauses(node: Node, paper: Paper, depth: int = 0) -> Iterator[tuple[str, int, bool]]:
    """Yield each clause of a query as text, with how deep it lies and whether the paper meets it."""
    from digest.query import And, Condition, Not, Or, matches  # noqa: PLC0415 - the same
    from digest.query.printing import print_tree  # noqa: PLC0415 - the same

    is_met = matches(node, paper)
    match node:
        case Condition() | Not(Condition()):
            yield print_tree(node), depth, is_met
        case Not(operand):
            yield "not", depth, is_met
            yield from walk_clauses(operand, paper, depth + 1)
        case And(operands) | Or(operands):
            yield "all of" if isinstance(node, And) else "one of", depth, is_met
            for operand in operands:
                yield from walk_clauses(operand, paper, depth + 1)


def _quote_place(paper: Paper, span: Span) -> str:
    """Quote the words of a paper that met a clause, with the field they stand in."""
    from digest import tex  # noqa: PLC0415 - the same
    from digest.cli.wording import cut  # noqa: PLC0415 - the same

    value = getattr(paper, span.field)
    if isinstance(value, tuple):
        value = value[span.index]
    text = str(getattr(value, "name", value))
    return f"“{cut(tex.to_plain(text[span.start : span.end]), _WIDEST_EXCERPT)}” in {span.field.replace('_', ' ')}"
