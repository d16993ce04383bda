"""`digest query audit`: what we match held against arXiv's own answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.telling import Lines, json_option, print_json, print_table
from digest.cli.workbench import opened_workbench
from digest.counting import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.cli.workbench import NamedQuery
    from digest.pipeline.auditing import Audit
    from digest.planning.auditing import Difference

_WIDEST_TITLE = 60


@click.command()
@click.argument("text", metavar="QUERY")
@click.option(
    "--days", type=click.IntRange(1, 366), default=14, show_default=True, help="How far back, by submission."
)
@click.option(
    "--examples", type=click.IntRange(0), default=3, show_default=True, help="Papers named of each class."
)
@json_option
@click.pass_context
def audit(ctx: click.Context, text: str, *, days: int, examples: int, as_json: bool) -> None:
    """Hold what QUERY matches here against arXiv's own answer.

    QUERY is a saved query's name, or a query. arXiv's search is asked for the papers submitted in the last
    days; every paper that is in one answer only is put in a named class that says why.

    Exit codes: 0 every difference is of a known kind, 1 a paper was lost or nothing explains a difference,
    4 arXiv failed.

    \b
    digest query audit perf
    digest query audit 'abs:"tail latency" ANDNOT cat:cs.NI' --days 30
    """  # noqa: D301 - click reads the backspace, which must be one
    from digest.pipeline.auditing import audit as hold_against  # noqa: PLC0415 - the stack is loaded by what needs it

    with opened_workbench(ctx) as bench:
        asked = bench.find_query(text)
        with bench.asking() as client:
            done = hold_against(
                client, bench.store, asked.query, days=days, now=bench.now, progress=Lines(quiet=as_json)
            )
    if as_json:
        print_json(_as_json(asked, done))
    else:
        _print(asked, done, examples)
    if not done.is_clean:
        ctx.exit(1)


def _print(asked: NamedQuery, done: Audit, examples: int) -> None:
    from digest.cli.previewing import print_heading  # noqa: PLC0415 - the same

    print_heading(asked)
    click.echo(f"papers submitted {done.first:%a %-d %b %H:%M} to {done.last:%a %-d %b %H:%M} UTC")
    click.echo()
    click.echo(f"here {count(done.ours, 'paper')}, in arXiv's answer {done.theirs:,}, in both {done.both:,}")
    if not done.is_stored:
        click.echo("nothing of these days is stored, so only what arXiv answered could be looked at")
    if not done.differences:
        click.echo(click.style("no difference", bold=True))
        return
    click.echo()
    _print_classes(done)
    for kind in done.counts:
        _print_examples([one for one in done.differences if one.kind is kind], examples)


def _print_classes(done: Audit) -> None:
    rows = []
    for kind, number in done.counts.items():
        found = sum(one.is_found for one in done.differences if one.kind is kind)
        name = click.style(kind, fg="red", bold=True) if kind.is_alarming else str(kind)
        rows.append([name, f"{found or '–':>13}", f"{number - found or '–':>9}"])
    print_table(("WHY", "AT ARXIV ONLY", "HERE ONLY"), rows, empty="")


def _print_examples(differences: Sequence[Difference], most: int) -> None:
    from digest import tex  # noqa: PLC0415 - the same
    from digest.cli.wording import cut  # noqa: PLC0415 - the same
    from digest.planning.auditing import EXPLANATIONS  # noqa: PLC0415 - the same

    kind = differences[0].kind
    click.echo(f"\n{click.style(kind, bold=True)}: {EXPLANATIONS[kind]}")
    for one in differences[:most]:
        side = "at arXiv only" if one.is_found else "here only"
        more = f" (with {', '.join(one.because[1:])})" if one.because else ""
        click.echo(f"  {one.id!s:<12}{side:<15}{cut(tex.to_plain(one.title), _WIDEST_TITLE)}{more}")
    if most and len(differences) > most:
        click.echo(f"  … {len(differences) - most:,} more (--examples {len(differences)}, or --json)")


def _as_json(asked: NamedQuery, done: Audit) -> dict[str, object]:
    from digest.planning.auditing import EXPLANATIONS  # noqa: PLC0415 - the same

    return {
        "name": asked.name or None,
        "query": asked.query.text,
        "canonical": asked.query.canonical,
        "arxiv": done.asked,
        "first": done.first,
        "last": done.last,
        "matches_here": done.ours,
        "matches_at_arxiv": done.theirs,
        "in_both": done.both,
        "stored_papers_looked_at": done.looked_at,
        "is_clean": done.is_clean,
        "classes": [
            {"class": kind, "differences": number, "meaning": EXPLANATIONS[kind]}
            for kind, number in done.counts.items()
        ],
        "differences": [
            {
                "id": str(one.id),
                "title": one.title,
                "only": "arxiv" if one.is_found else "here",
                "class": one.kind,
                "because": one.because or (one.kind,),
            }
            for one in done.differences
        ],
    }
