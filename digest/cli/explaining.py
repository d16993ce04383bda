"""`digest query explain`: why a paper matches a query, or which clause fails, node by node."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from digest import tex
from digest.arxiv.search import fetch_papers
from digest.cli.excluding import find_excluders
from digest.cli.telling import json_option, print_json
from digest.cli.wording import cut, wrap
from digest.cli.workbench import opened_workbench
from digest.errors import UnknownName, UsageError
from digest.papers import ArxivId
from digest.planning.rewordings import find_failing
from digest.query import And, Condition, Not, Or, analyse, find_reasons, matches
from digest.query.printing import print_tree
from digest.query.reasons import find_spans
from digest.render.excerpts import quote_places
from digest.render.terminal_styles import apply_styles
from digest.store import papers as paper_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.cli.workbench import NamedQuery, Workbench
    from digest.papers import Paper, Span
    from digest.query import AnalysedPaper, Node

_NARROWEST = 40
_MOST_PLACES = 3
_WIDEST_EXCERPT = 60
_WIDEST = 96


@click.command()
@click.argument("query_text", metavar="QUERY")
@click.argument("paper_id", metavar="PAPER")
@click.option("--offline", is_flag=True, help="Only papers that are stored; ask arXiv for none.")
@json_option
@click.pass_context
def explain(ctx: click.Context, query_text: str, paper_id: str, *, offline: bool, as_json: bool) -> None:
    """Say why PAPER matches QUERY, or which clause fails.

    QUERY is a saved query's name, or a query; PAPER an id or an address. A paper that is not stored is
    asked of arXiv.

    \b
    digest query explain perf 2611.15012
    digest query explain 'cat:cs.PF AND abs:GPU' https://arxiv.org/abs/2611.15012
    """  # noqa: D301 - click reads the backspace, which must be one
    id_ = read_paper_id(paper_id, query_text, "digest query explain QUERY PAPER")
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(query_text)
        paper, is_stored = _find_paper(bench, id_, offline=offline)
        note_other_version(paper, paper_id, is_stored=is_stored)
        excluders = find_excluders(bench, asked.name, paper) if asked.name else []
    if as_json:
        print_json({**_as_json(asked, paper, is_stored=is_stored), "excluded_by": dict(excluders)})
        return
    _print_match(asked, paper, is_stored=is_stored)
    for name, cause in excluders:
        click.echo(f"excluded by the subscription {name}: {cause}")


def read_paper_id(text: str, other: str, order: str) -> ArxivId:
    """Return the id of the paper that is to be explained.

    Args:
        text: what was given as the paper.
        other: what was given beside it.
        order: the command with what it takes, in order: shown where the two were mixed up.

    Raises:
        UsageError: it is no id.
        UnknownName: its number can't be.
    """
    try:
        id_ = ArxivId.parse(text)
    except UsageError as error:
        try:
            ArxivId.parse(other)
        except UsageError:
            raise error from None
        raise UsageError(error.message, hint=f"The order is: {order}.") from None
    refuse_impossible(id_)
    return id_


def _find_paper(bench: Workbench, id_: ArxivId, *, offline: bool) -> tuple[Paper, bool]:
    """Return a paper and whether it is stored; arXiv is asked for one that is not.

    Raises:
        UnknownName: there is no such paper, or none stored.
    """
    if bench.store is not None:
        with bench.store.read() as conn:
            known = paper_store.load_paper(conn, id_)
        if known is not None:
            return known.paper, True
    if offline:
        raise UnknownName(f"{id_} is not stored here", hint="Without --offline arXiv is asked for it.")
    with bench.asking() as client:
        found = [paper for fetched in fetch_papers(client, [id_]) for paper in fetched.page.papers]
    if not found:
        raise UnknownName(f"arXiv knows no paper {id_}", hint=f"Look at {id_.url} in a browser.")
    return found[0], False


def refuse_impossible(id_: ArxivId) -> None:
    """Refuse an id that arXiv never gave out.

    Raises:
        UnknownName: its number can't be.
    """
    if not id_.is_possible:
        raise UnknownName(
            f"there is no such id: {id_}",
            hint="Numbers have five digits since 2015 (2603.10026), four from April 2007 on (0706.1234); before"
            " that ids began with an archive (hep-th/9901001).",
        )


def note_other_version(paper: Paper, text: str, *, is_stored: bool) -> None:
    """Say so on standard error where another version was asked for than there is."""
    _, version = ArxivId.parse_versioned(text)
    if version not in (None, paper.version):
        where = "is stored" if is_stored else "is at arXiv"
        click.echo(f"note: {paper.id} {where} as v{paper.version}, and explained so", err=True)


class Clause(NamedTuple):
    """One node of a query as a line: its text, how deep it lies, whether it is met, and the condition in it."""

    text: str
    depth: int
    is_met: bool
    condition: Condition | None = None


def walk_clauses(node: Node, paper: AnalysedPaper, depth: int = 0) -> Iterator[Clause]:
    """Yield each node of a query; a condition and its negation are one."""
    is_met = matches(node, paper)
    match node:
        case (Condition() as condition) | Not(Condition() as condition):
            yield Clause(print_tree(node), depth, is_met, condition)
        case Not(operand):
            yield Clause("not", depth, is_met)
            yield from walk_clauses(operand, paper, depth + 1)
        case And(operands) | Or(operands):
            yield Clause("all of" if isinstance(node, And) else "any of", depth, is_met)
            for operand in operands:
                yield from walk_clauses(operand, paper, depth + 1)


def _print_match(asked: NamedQuery, paper: Paper, *, is_stored: bool) -> None:
    ready = analyse(paper)
    is_match = matches(asked.query, ready)
    source = "" if is_stored else click.style("  (not stored here: as arXiv has it now)", dim=True)
    head = f"{paper.id}v{paper.version}"
    for number, line in enumerate(wrap(tex.to_plain(paper.title), _WIDEST - len(head) - 2)):
        click.echo(f"{' ' * len(head) if number else head}  {line}{'' if number else source}")
    verdict = click.style("matches" if is_match else "does not match", bold=True)
    click.echo(f"{verdict}  {f'{asked.name}: ' if asked.name else ''}{' '.join(asked.query.text.split())}")
    if not is_match:
        click.echo(f"it {find_failing(asked.query, ready)}")
    for clause in walk_clauses(asked.query.tree, ready):
        _print_clause(clause, ready)


def _print_clause(clause: Clause, ready: AnalysedPaper) -> None:
    indent = "  " * (clause.depth + 1)
    sign = click.style("✓", fg="green") if clause.is_met else click.style("✗", fg="red")
    click.echo(f"{indent}{sign} {clause.text}")
    spans = find_spans(clause.condition, ready) if clause.condition else ()
    width = min(shutil.get_terminal_size((100, 24)).columns, 110) - len(indent) - 20
    quotes = list(quote_places(ready.paper, spans, max(width, _NARROWEST)))
    for field, quote in quotes[:_MOST_PLACES]:
        shown = apply_styles(quote, color=sys.stdout.isatty())
        click.echo(f"{indent}    {click.style(f'{field}:', dim=True)} {shown}")
    if len(quotes) > _MOST_PLACES:
        click.echo(f"{indent}    {click.style(f'and {len(quotes) - _MOST_PLACES} more', dim=True)}")


def _as_json(asked: NamedQuery, paper: Paper, *, is_stored: bool) -> dict[str, object]:
    ready = analyse(paper)
    failing = find_failing(asked.query, ready)
    return {
        "paper": f"{paper.id}v{paper.version}",
        "title": paper.title,
        "is_stored": is_stored,
        "name": asked.name or None,
        "query": asked.query.text,
        "matches": matches(asked.query, ready),
        "clauses": [
            {"clause": clause.text, "depth": clause.depth, "is_met": clause.is_met}
            for clause in walk_clauses(asked.query.tree, ready)
        ],
        "reasons": [
            {
                "clause": reason.clause,
                "places": [quote_place(paper, span) for span in reason.spans],
                "spans": [
                    {"field": span.field, "index": span.index, "start": span.start, "end": span.end}
                    for span in reason.spans
                ],
            }
            for reason in find_reasons(asked.query, ready)
        ],
        "lacks": failing.lacks,
        "has_excluded": failing.has,
    }


def quote_place(paper: Paper, span: Span) -> str:
    """Quote the words of a paper that met a clause, with the field they stand in."""
    value = getattr(paper, span.field)
    if isinstance(value, tuple):
        value = value[span.index]
    text = str(getattr(value, "name", value))
    return f"“{cut(tex.to_plain(text[span.start : span.end]), _WIDEST_EXCERPT)}” in {span.field.replace('_', ' ')}"
