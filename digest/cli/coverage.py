"""`digest coverage`: what was looked at, mailing by mailing, and what each look can prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.context import opened_store
from digest.cli.output import as_dict, cut, describe_guarantee, json_option, print_json, print_table, write_moment
from digest.inspect.coverage import load_ledger
from digest.model.announcements import EASTERN
from digest.model.errors import count
from digest.store import runs as gap_store
from digest.store import runs as run_store
from digest.store import views

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.cli.context import Installation

_STATES = {
    "complete": "green",
    "caught up": "green",
    "incomplete": "yellow",
    "late": "red",
    "not looked at": "red",
}
_GAP_WORDS = {"open": "asked for", "found": "found after all", "given up": "given up"}
_WIDEST_FAILURE, _WIDEST_URL = 70, 90


@click.command()
@click.option("--days", type=click.IntRange(1, 400), default=14, show_default=True, help="How far back.")
@click.option("--looks", "view", flag_value="looks", help="The looks at arXiv one by one: pages, papers, outcome.")
@click.option("--missing", "view", flag_value="missing", help="Ids missing between stored ones, and why.")
@click.option("--requests", "view", flag_value="requests", help="Every request: status, time, bytes, hash.")
@click.option("--unreadable", "view", flag_value="unreadable", help="Entries set aside, with their bytes.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Lines of a view.")
@json_option
@click.pass_context
def command(ctx: click.Context, view: str | None, days: int, limit: int, *, as_json: bool) -> None:
    """Say what was looked at, mailing by mailing, the newest first.

    A mailing is complete when two looks at least half an hour apart ended at the same newest paper, or
    when no id below it is missing that arXiv was not asked for. A day without mailing is not listed.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        show = {
            "looks": _show_looks,
            "missing": _show_missing,
            "requests": _show_requests,
            "unreadable": _show_unreadable,
        }.get(view or "")
        if show is not None:
            show(here, conn, limit, as_json=as_json)
        else:
            _show_mailings(here, conn, days, as_json=as_json)


def _show_mailings(here: Installation, conn: Connection, days: int, *, as_json: bool) -> None:
    ledger = load_ledger(conn, here.config.arxiv.source, here.now, days=days)
    if as_json:
        print_json(ledger)
        return
    rows = [
        [
            f"{line.mailing:%a %-d %b}",
            click.style(line.state, fg=_STATES.get(line.state)),
            f"{line.new:>6,}" if line.new else "     –",
            f"{line.looks:>5}" + (f", {line.failed} failed" if line.failed else ""),
            _write_eastern(line.checked_at),
            line.failure,
        ]
        for line in ledger.mailings
    ]
    header = ("MAILING", "STATE", "   NEW", "LOOKS", "LAST LOOK", "")
    print_table(header, rows, empty=f"No mailing was expected within {days} days.")
    gaps = {str(state): number for state, number in ledger.gaps.items()}
    missing = ", ".join(f"{gaps[state]:,} {word}" for state, word in _GAP_WORDS.items() if gaps.get(state))
    click.echo(f"\n{ledger.source}: {describe_guarantee(ledger.source)}")
    click.echo(
        f"missing ids: {missing or 'none'} (--missing) · {count(ledger.requests, 'request')} in 24 h (--requests);"
        f" from {ledger.allowed} on, what can wait waits"
    )


def _show_looks(here: Installation, conn: Connection, limit: int, *, as_json: bool) -> None:
    del here
    runs = run_store.load_last_runs(conn, limit=limit)
    if as_json:
        print_json(runs)
        return
    rows = [
        [
            str(run.id),
            _write_eastern(run.started_at),
            run.source,
            f"{run.window_from:%-d %b}" if run.window_from else "–",
            str(run.outcome),
            f"{run.requests:>8}",
            f"{run.pages:>5}",
            f"{run.papers:>7,}" + (f" of {run.total:,}" if run.total is not None else ""),
            f"{run.new:>6,}",
            f"{run.changed:>7,}",
            cut(run.failure or run.query_key, _WIDEST_FAILURE),
        ]
        for run in runs
    ]
    header = (
        "ID",
        "STARTED",
        "SOURCE",
        "SINCE",
        "OUTCOME",
        "REQUESTS",
        "PAGES",
        " PAPERS",
        "   NEW",
        "CHANGED",
        "",
    )
    print_table(header, rows, empty="No look at arXiv yet: `digest run` takes the first.")


def _show_missing(here: Installation, conn: Connection, limit: int, *, as_json: bool) -> None:
    lines = gap_store.load_gaps(conn, limit=limit)
    if as_json:
        print_json([as_dict(line.gap) | as_dict(line, "gap") for line in lines])
        return
    rows = [
        [
            str(line.gap.id),
            str(line.state),
            write_moment(line.gap.missed_at, here.zone),
            f"{line.gap.asks:>5}",
            write_moment(line.gap.asked_at, here.zone),
            line.reason,
        ]
        for line in lines
    ]
    header = ("ID", "STATE", "MISSED SINCE", "ASKED", "LAST ASKED", "")
    print_table(header, rows, empty="No id is missing between the papers stored.")


def _show_requests(here: Installation, conn: Connection, limit: int, *, as_json: bool) -> None:
    made = views.load_requests(conn, limit)
    if as_json:
        print_json(made)
        return
    rows = [
        [
            write_moment(request.at, here.zone),
            str(request.status or "–"),
            f"{request.milliseconds:>6,} ms",
            f"{request.size:>10,}",
            request.sha256[:8],
            str(request.outcome),
            f"{request.method} {cut(request.url, _WIDEST_URL)}",
            cut(request.detail, _WIDEST_FAILURE),
        ]
        for request in made
    ]
    header = ("AT", "STATUS", "     TIME", "     BYTES", "SHA-256", "OUTCOME", "REQUEST", "")
    print_table(header, rows, empty="No request was made yet.")


def _show_unreadable(here: Installation, conn: Connection, limit: int, *, as_json: bool) -> None:
    entries = views.load_quarantined(conn, limit)
    if as_json:
        print_json(entries)
        return
    if not entries:
        click.echo("Every entry of arXiv's pages could be read.")
    for entry in entries:
        where = f"look {entry.run_id}, page {entry.page + 1}, entry {entry.position + 1}"
        click.echo(click.style(f"{write_moment(entry.seen_at, here.zone)} · {where}: {entry.error}", bold=True))
        click.echo(_show_bytes(entry.snippet))


def _show_bytes(snippet: bytes) -> str:
    """Return bytes as text that no terminal obeys."""
    text = snippet.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)


def _write_eastern(moment: datetime | None) -> str:
    return f"{moment.astimezone(EASTERN):%a %-d %b %H:%M} ET" if moment else "–"
