"""`digest query preview` and `diff`: what a query, or another wording of it, brings day by day."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from digest import tex
from digest.cli.context import file_option, opened_workbench, read_query, require_store
from digest.cli.output import Lines, cut, draw_chart, json_option, print_json
from digest.inspect.preview import find_stored, find_stored_days, search_days, survey_arxiv, survey_stored
from digest.inspect.query_volume import (
    Span,
    compare_wordings,
    describe_nothing,
    describe_volume,
    list_submission_days,
    print_share,
)
from digest.model.announcements import EASTERN, Kind, mailing_moment
from digest.model.errors import UsageError, count
from digest.model.messages import DigestEntry
from digest.query import Or, find_reasons
from digest.query.tree import walk_conditions
from digest.render.terminal import write_papers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from digest.cli.context import NamedQuery, Workbench
    from digest.inspect.preview import StoredDays
    from digest.inspect.query_volume import Moved, Rewording, Share, Survey
    from digest.model.papers import Paper
    from digest.poll.installation import Progress
    from digest.query import Query


DAYS = 30
_MOST_CLAUSES = 12
_BAR = 40
_LONGEST_HEADING = 160
_WIDEST = 98

days_option = click.option(
    "--days", type=click.IntRange(1, 366), default=DAYS, show_default=True, help="How far to look back."
)
"""`--days`, the same wherever days are looked back over."""

source_option = click.option(
    "--from",
    "source",
    type=click.Choice(["store", "arxiv"]),
    help="Only what is stored, as far back as it reaches; or arXiv's search. By itself: the store where it"
    " reaches back far enough, else arXiv.",
)
"""`--from`, the same wherever papers may come from either side."""


class Choice(NamedTuple):
    """Where papers come from: these stored days, or arXiv's search; and what can be done where that is away."""

    stored: StoredDays | None
    instead: str = ""


@click.command()
@click.argument("text", metavar="[QUERY]", required=False)
@file_option
@days_option
@click.option("--papers", type=click.IntRange(0), default=5, show_default=True, help="How many papers to print.")
@source_option
@json_option
@click.pass_context
def preview(
    ctx: click.Context,
    text: str | None,
    *,
    path: str | None,
    days: int,
    papers: int,
    source: str | None,
    as_json: bool,
) -> None:
    """Show how much QUERY brings, day by day, and a sample.

    QUERY is a saved query's name, or a query. Nothing is stored or sent. Counted are new papers: by mailing
    where all of these days came after this installation's first look at arXiv, else by day of submission.

    \b
    digest query preview gpu
    digest query preview 'cat:cs.PF AND abs:GPU' --days 14
    digest query preview --file query.txt
    """  # noqa: D301 - click reads the backspace, which must be one
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(read_query(text, path, "preview"))
        bench.tell_beginnings(asked.query)
        (stored, instead), progress = find_days(bench, days, source), Lines(quiet=as_json)
        if stored is not None and bench.store is not None:
            with bench.store.read() as conn:
                survey = survey_stored(conn, asked.query, stored, progress)
        else:
            with bench.asking(instead) as client:
                survey = survey_arxiv(client, asked.query, days=days, now=bench.now, progress=progress)
    if as_json:
        print_json(_as_json(asked, survey, stored))
        return
    _print(asked, survey, describe_source(_list_days(survey), stored, bench.now), papers)


def _list_days(survey: Survey) -> Span:
    whole = tuple(day.date for day in survey.days if day.is_whole)
    return Span(survey.unit, whole, tuple(day.date for day in survey.days if not day.is_whole))


def find_days(bench: Workbench, days: int, source: str | None) -> Choice:
    """Choose between what is stored of the last days and arXiv.

    Raises:
        UsageError: what is stored was asked for, and nothing of these days is.
    """
    if source == "store":
        require_store(bench)
    if bench.store is None:
        return Choice(None)
    with bench.store.read() as conn:
        stored = find_stored_days(conn, bench.now, days, is_part_enough=True)
        whole = stored if source == "store" else find_stored_days(conn, bench.now, days)
    if stored is None and source == "store":
        raise UsageError(
            f"nothing of the last {days} days is stored whole",
            hint="Only a harvest stores all that is announced; `digest coverage` says what was looked at.",
        )
    if stored is None:
        return Choice(None)
    first, last = stored.span.dates[0], stored.span.dates[-1]
    instead = f"`--from store` shows what is stored here of these days: {first:%a %-d %b} to {last:%a %-d %b}."
    if source == "arxiv":
        return Choice(None, instead)
    if whole is None:
        click.echo(
            f"stored is what was submitted since {first:%a %-d %b} (--from store); asking arXiv instead", err=True
        )
    return Choice(whole, instead)


def describe_source(span: Span, stored: StoredDays | None, now: datetime) -> list[str]:
    """Say in lines which days were looked at, where the papers come from, and what a day is."""
    days = count(len(span.whole), str(span.unit))
    if span.whole:
        first, last = f"{span.whole[0]:%a %-d %b}", f"{span.whole[-1]:%a %-d %b}"
        days += f", {first}" if first == last else f", {first} to {last}"
    if span.begun:
        days += f", and so far the {count(len(span.begun), str(span.unit))} since"
    if stored is None:
        return [f"{days}; from arXiv's search", "days are those of first submission (UTC)"]
    checked = f"{stored.checked_at.astimezone(EASTERN):%a %-d %b %H:%M} ET"
    if span.unit == "mailing":
        return [f"{days}; from what is stored here, last looked at {checked}"]
    sent = mailing_moment(stored.told_from)
    told = f"known by mailing is what came since {stored.told_from:%a %-d %b} (--days {(now - sent).days + 1})"
    return [
        f"{days}; from what is stored here",
        f"days are those of first submission (UTC); last looked at {checked}",
        told if sent <= stored.checked_at else "what the first look found is not known by mailing",
    ]


def _print(asked: NamedQuery, survey: Survey, where: list[str], most: int) -> None:
    print_heading(asked)
    for line in where:
        click.echo(line)
    click.echo()
    for line in _list_bars(survey):
        click.echo(line)
    click.echo()
    click.echo(click.style(describe_volume(survey), bold=True))
    if survey.unit == "mailing" and survey.papers:
        click.echo("counted are new papers; cross-lists and new versions come besides")
    reason = describe_nothing(survey) if survey.days and not survey.papers else ""
    if reason:
        click.echo(click.wrap_text(reason, _WIDEST))
    for line in _list_shares(survey):
        click.echo(line)
    if most and survey.papers:
        shown = survey.papers[:most]
        total = f" of {len(survey.papers):,}" if len(survey.papers) > len(shown) else ""
        click.echo(f"\n{click.style(f'the newest {len(shown)}{total}' if total else 'all of them', bold=True)}")
        print_papers(asked.query, shown)


def print_heading(asked: NamedQuery) -> None:
    """Print a query: its name where it has one, and its text; of a long one the beginning and how long it is."""
    text = cut(asked.query.text, _LONGEST_HEADING)
    if text.endswith("…"):
        text += f" ({count(sum(1 for _ in walk_conditions(asked.query.tree)), 'condition')})"
    click.echo(f"{click.style(asked.name, bold=True)}  {text}" if asked.name else click.style(text, bold=True))


def print_papers(query: Query, papers: Iterable[Paper]) -> None:
    """Print papers in a few lines each, with what the query met in them marked."""
    entries = [
        DigestEntry(Kind.NEW, paper, "", "", (), find_reasons(query, paper), paper.published) for paper in papers
    ]
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    click.echo(write_papers(entries, width=width, color=sys.stdout.isatty()), nl=False)


def _list_bars(survey: Survey) -> Iterator[str]:
    bars = draw_chart(survey.days, width=_BAR)
    broadest = max((len(f"{bar.number:,}") for bar in bars), default=1)
    for bar in bars:
        so_far = "" if bar.is_whole else f"{' ' * bool(bar.bar)}so far"
        yield f"  {bar.label}  {bar.number:>{broadest},}  {bar.bar}{so_far}".rstrip()


def _list_shares(survey: Survey) -> Iterator[str]:
    if not survey.shares:
        return
    yield ""
    yield click.style("clause by clause" + (", as arXiv counts" if survey.is_asked else ""), bold=True)
    shown = (
        sorted(survey.shares, key=lambda share: -share.alone)
        if len(survey.shares) > _MOST_CLAUSES
        else survey.shares
    )
    rows = [(print_share(share), _describe_share(share, len(survey.papers))) for share in shown[:_MOST_CLAUSES]]
    broadest = min(max(len(clause) for clause, _ in rows), 48)
    for clause, said in rows:
        yield f"  {cut(clause, 48):<{broadest}}  {said}"
    if len(shown) > _MOST_CLAUSES:
        yield f"  … and {len(shown) - _MOST_CLAUSES:,} more clauses; --json has them all"


def _describe_share(share: Share, total: int) -> str:
    match share.role, share.without:
        case "excluded", None:
            return f"{share.alone:>7,} have it"
        case "excluded", int(without):
            return f"{share.alone:>7,} have it {without - total:>8,} taken away by it"
        case "alternative", int(without):
            return f"{share.alone:>7,} alone {total - without:>10,} by nothing else"
        case "required", int(without):
            return f"{share.alone:>7,} alone {without:>10,} without it"
        case _:
            return f"{share.alone:>7,} alone"


def _as_json(asked: NamedQuery, survey: Survey, stored: StoredDays | None) -> dict[str, object]:
    return {
        "name": asked.name or None,
        "query": asked.query.text,
        "canonical": asked.query.canonical,
        "source": "arxiv" if stored is None else "store",
        "unit": survey.unit,
        "checked_at": stored.checked_at if stored else None,
        "known_by_mailing_from": stored.told_from if stored else None,
        "total": len(survey.papers),
        "volume": describe_volume(survey),
        "why_none": describe_nothing(survey) if survey.days and not survey.papers else "",
        "days": [
            {
                "date": day.date,
                "papers": day.papers,
                "of": day.of if stored else None,
                "is_whole": day.is_whole,
            }
            for day in survey.days
        ],
        "clauses": [
            {"clause": share.clause, "role": share.role, "alone": share.alone, "without": share.without}
            for share in survey.shares
        ],
        "never_met": survey.never_met,
        "papers": [paper_as_json(asked.query, paper) for paper in survey.papers],
    }


def paper_as_json(query: Query, paper: Paper) -> dict[str, object]:
    """Return what a program wants to know of a paper, and the clauses that are met."""
    return {
        "id": str(paper.id),
        "version": paper.version,
        "title": paper.title,
        "authors": [author.name for author in paper.authors],
        "categories": paper.categories,
        "published": paper.published,
        "url": paper.url,
        "why": [reason.clause for reason in find_reasons(query, paper)],
    }


_WIDEST_TITLE = 84
_WIDEST_REASON = 200


@click.command()
@click.argument("old")
@click.argument("new", metavar="[NEW]", required=False)
@file_option
@days_option
@click.option(
    "--papers", type=click.IntRange(0), default=15, show_default=True, help="How many papers of each side."
)
@source_option
@json_option
@click.pass_context
def diff(
    ctx: click.Context,
    old: str,
    new: str | None,
    *,
    path: str | None,
    days: int,
    papers: int,
    source: str | None,
    as_json: bool,
) -> None:
    """Show what query NEW gains and loses against query OLD.

    Both are looked at over the same days. Each is a saved query's name, or a query; NEW may come from a file.
    Every paper comes with the clause through which it was gained or lost.

    \b
    digest query diff gpu 'ti:GPU OR abs:GPU OR abs:accelerator'
    digest query diff team --file query.txt
    """  # noqa: D301 - click reads the backspace, which must be one
    with opened_workbench(ctx) as bench:
        before, after = bench.find_query(old), bench.find_query(read_query(new, path, "diff OLD"))
        choice = find_days(bench, days, source)
        either = Or((before.query.tree, after.query.tree))
        span, found = _gather(bench, either, choice, days, Lines(quiet=as_json))
    rewording = compare_wordings(before.query, after.query, found)
    if as_json:
        print_json(_as_json_rewording(before, after, rewording, span, choice.stored))
        return
    _print_rewording(before, after, rewording, papers)
    click.echo()
    for line in describe_source(span, choice.stored, bench.now):
        click.echo(line)


def _gather(
    bench: Workbench, either: Or, choice: Choice, days: int, progress: Progress
) -> tuple[Span, list[Paper]]:
    """Return the days looked at, and every paper of them that one of the two may bring."""
    if choice.stored is not None and bench.store is not None:
        with bench.store.read() as conn:
            return find_stored(conn, either, choice.stored, progress)
    span = list_submission_days(bench.now, days)
    with bench.asking(choice.instead) as client:
        found = search_days(client, either, span, progress)
        return span, [paper for paper in found if paper.published.date() in span.dates]


def _print_rewording(old: NamedQuery, new: NamedQuery, rewording: Rewording, most: int) -> None:

    for sign, side in (("−", old), ("+", new)):
        click.echo(f"{sign} ", nl=False)
        print_heading(side)
    click.echo()
    if old.query.canonical == new.query.canonical:
        click.echo("Both mean the same, whatever comes.")
    gained, lost, kept = len(rewording.gained), len(rewording.lost), len(rewording.kept)
    summary = f"{count(gained, 'paper')} gained, {lost:,} lost, {kept:,} kept"
    click.echo(click.style(summary, bold=True))
    _print_side("+", "green", rewording.gained, "old", most)
    _print_side("−", "red", rewording.lost, "new", most)


def _print_side(sign: str, color: str, moved: Sequence[Moved], other: str, most: int) -> None:
    for one in moved[:most]:
        title = cut(tex.to_plain(one.paper.title), _WIDEST_TITLE)
        click.echo(f"{click.style(sign, fg=color)} {one.paper.id!s:<12}{title}")
        telling = [clause for clause in one.met if not clause.startswith("NOT ")] or one.met
        met, failing = cut(", ".join(telling), _WIDEST_REASON), cut(str(one.failing), _WIDEST_REASON)
        click.echo(click.style(f"  {'':<12}by {met}; for the {other} one it {failing}", dim=True))
    if len(moved) > most:
        click.echo(f"{sign} … {len(moved) - most:,} more (--papers {len(moved)}, or --json)")


def _as_json_rewording(
    old: NamedQuery, new: NamedQuery, rewording: Rewording, span: Span, stored: StoredDays | None
) -> dict[str, object]:
    def show(moved: Moved, side: NamedQuery) -> dict[str, object]:
        failing = {"lacks": moved.failing.lacks, "has": moved.failing.has}
        return {**paper_as_json(side.query, moved.paper), "why_not": failing}

    return {
        "old": {"name": old.name or None, "query": old.query.text, "canonical": old.query.canonical},
        "new": {"name": new.name or None, "query": new.query.text, "canonical": new.query.canonical},
        "is_same": old.query.canonical == new.query.canonical,
        "source": "arxiv" if stored is None else "store",
        "unit": span.unit,
        "days": span.dates,
        "days_begun": span.begun,
        "gained": [show(moved, new) for moved in rewording.gained],
        "lost": [show(moved, old) for moved in rewording.lost],
        "kept": [paper_as_json(new.query, paper) for paper in rewording.kept],
    }
