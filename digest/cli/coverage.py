"""`digest coverage`: what was checked, announcement by announcement, and what each check can prove."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from sqlalchemy import Connection

from digest.cli.context import Installation, opened_store
from digest.cli.output import as_dict, describe_guarantee, json_option, print_json, print_table, say
from digest.inspect.coverage import load_ledger
from digest.model.clock import name_zone, write_day
from digest.model.errors import count
from digest.store.gaps import load_gaps
from digest.store.runs import load_last_runs, load_quarantined, load_requests

_STATES = {
    "complete": "green",
    "caught up": "green",
    "incomplete": "yellow",
    "late": "red",
    "not checked": "red",
}
_GAP_WORDS = {"open": "asked for", "found": "found after all", "given up": "never used"}

_LISTS: Mapping[str, tuple[Callable[..., Sequence[Any]], tuple[str, ...], Callable[..., list[str]], str]] = {
    "checks": (
        load_last_runs,
        ("ID", "STARTED", "SOURCE", "OUTCOME", "ASKED", "PAPERS", "  NEW", "CHANGED", ""),
        lambda here, run: [
            str(run.id),
            here.write(run.started_at),
            run.source,
            str(run.outcome),
            f"{run.requests:>5}",
            f"{run.papers:>6,}" + (f" of {run.total:,}" if run.total is not None else ""),
            f"{run.new:>5,}",
            f"{run.changed:>7,}",
            run.failure or run.query_key,
        ],
        "No check yet: `digest run` makes the first.",
    ),
    "missing": (
        lambda conn, limit: [as_dict(one.gap) | as_dict(one, "gap") for one in load_gaps(conn, limit=limit)],
        ("ID", "STATE", "MISSING SINCE", "ASKED", "LAST ASKED", ""),
        lambda here, line: [
            str(line["id"]),
            str(line["state"]),
            here.write(line["missed_at"]),
            f"{line['asks']:>5}",
            here.write(line["asked_at"]),
            line["reason"],
        ],
        "No id is missing between the papers stored.",
    ),
    "requests": (
        load_requests,
        ("AT", "STATUS", "     TIME", "     BYTES", "OUTCOME", ""),
        lambda here, request: [
            here.write(request.at),
            str(request.status or "–"),
            f"{request.milliseconds:>6,} ms",
            f"{request.size:>10,}",
            str(request.outcome),
            f"{request.url} {request.detail}".rstrip(),
        ],
        "No request was made yet.",
    ),
}
"""By option: what reads a number of them, the table's header, a row of it, and what is said if there are none."""


@click.command()
@click.option("--days", type=click.IntRange(1, 400), default=14, show_default=True, help="How far back.")
@click.option("--checks", "view", flag_value="checks", help="The checks one by one: pages, papers, outcome.")
@click.option("--missing", "view", flag_value="missing", help="Ids missing between stored ones, and why.")
@click.option("--requests", "view", flag_value="requests", help="Every request: status, time, bytes, hash.")
@click.option("--unreadable", "view", flag_value="unreadable", help="Entries that nobody can read, as bytes.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Lines of a view.")
@json_option
@click.pass_context
def command(ctx: click.Context, view: str | None, days: int, limit: int, *, as_json: bool) -> None:
    """Say what was checked at arXiv, announcement by announcement.

    An announcement is complete when two checks at least half an hour apart ended at the same newest paper.
    It is also complete when no id below that paper is missing. Days without announcement are not listed.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        if view == "unreadable":
            _show_unreadable(here, conn, limit, as_json=as_json)
        elif view:
            _show_list(here, conn, view, limit, as_json=as_json)
        else:
            _show_announcements(here, conn, days, as_json=as_json)
        if not as_json:
            say(f"Times: {name_zone(here.zone, here.now)}.")


def _show_announcements(here: Installation, conn: Connection, days: int, *, as_json: bool) -> None:
    ledger = load_ledger(conn, here.config.arxiv.source, here.now, days=days)
    if as_json:
        print_json(ledger)
        return
    rows = [
        [
            write_day(line.announcement, here.now),
            click.style(line.state, fg=_STATES.get(line.state)),
            f"{line.new:>6,}" if line.new else "     –",
            f"{line.checks:>6}" + (f", {line.failed} failed" if line.failed else ""),
            here.write(line.checked_at),
            line.failure,
        ]
        for line in ledger.announcements
    ]
    header = ("ANNOUNCED", "STATE", "   NEW", "CHECKS", "LAST CHECK", "")
    print_table(header, rows, empty=f"No announcement was expected within {days} days.")
    gaps = {str(state): number for state, number in ledger.gaps.items()}
    missing = ", ".join(f"{gaps[state]:,} {word}" for state, word in _GAP_WORDS.items() if gaps.get(state))
    say(f"\n{describe_guarantee(ledger.source)}")
    say(f"Missing ids: {missing or 'none'} (--missing).")
    asked = count(ledger.requests, "request")
    say(f"{asked} in 24 h (--requests). Above {ledger.allowed}, only urgent ones are sent.")


def _show_list(here: Installation, conn: Connection, view: str, limit: int, *, as_json: bool) -> None:
    load, header, describe, empty = _LISTS[view]
    found = load(conn, limit=limit)
    if as_json:
        print_json(found)
    else:
        print_table(header, [describe(here, one) for one in found], empty=empty)


def _show_unreadable(here: Installation, conn: Connection, limit: int, *, as_json: bool) -> None:
    entries = load_quarantined(conn, limit)
    if as_json:
        print_json(entries)
        return
    if not entries:
        click.echo("Every entry of arXiv's pages could be read.")
    for entry in entries:
        where = f"check {entry.run_id}, page {entry.page + 1}, entry {entry.position + 1}"
        say(f"{here.write(entry.seen_at)} · {where}: {entry.error}")
        say(_show_bytes(entry.snippet))


def _show_bytes(snippet: bytes) -> str:
    """Return bytes as text that no terminal obeys."""
    text = snippet.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)
