"""`digest coverage`: what was checked, announcement by announcement, and what each check can prove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from digest.cli.context import opened_store
from digest.cli.output import Part, answers, style, table
from digest.inspect.coverage import Ledger, load_ledger
from digest.inspect.here import Here
from digest.model.clock import write_day
from digest.model.numbers import count
from digest.poll.rules import REQUESTS_A_DAY
from digest.store.gaps import load_gaps
from digest.store.runs import load_last_runs, load_quarantined, load_requests

_STATES = {
    "complete": "green",
    "caught up": "green",
    "incomplete": "yellow",
    "late": "red",
    "not checked": "red",
}
_GUARANTEES = {
    "harvest": "Every paper that arXiv announces is fetched, however late. Missing ids are asked for.",
    "query": "What arXiv's search shows of each saved query: 8 days back each night, 35 weekly, 100 monthly."
    " About 6 papers in 10,000 come later still.",
}
"""What a source promises, and what it does not."""

_VIEWS: dict[
    str,
    tuple[Callable[..., Sequence[Any]], tuple[str, ...], Callable[..., tuple[str | int, ...]], str],
] = {
    "checks": (
        lambda conn, limit: load_last_runs(conn, limit=limit),
        ("ID", "STARTED", "SOURCE", "OUTCOME", "ASKED", "PAPERS", "NEW", "CHANGED", ""),
        lambda here, run: (
            str(run.id),
            here.write(run.started_at),
            run.source,
            str(run.outcome),
            run.requests,
            run.papers if run.total is None else f"{run.papers:,} of {run.total:,}",
            run.new,
            run.changed,
            str(run.failure) or run.query_key,
        ),
        "No check yet: `digest run` makes the first.",
    ),
    "missing": (
        lambda conn, limit: load_gaps(conn, limit=limit),
        ("ID", "STATE", "MISSING SINCE", "ASKED", "LAST ASKED", ""),
        lambda here, line: (
            str(line.gap.id),
            str(line.state),
            here.write(line.gap.missed_at),
            line.gap.asks,
            here.write(line.gap.asked_at),
            line.reason,
        ),
        "No id is missing between the papers stored.",
    ),
    "requests": (
        load_requests,
        ("AT", "STATUS", "TIME", "BYTES", "OUTCOME", "REQUEST"),
        lambda here, request: (
            here.write(request.at),
            str(request.status or "–"),
            f"{request.milliseconds:,} ms",
            request.size,
            str(request.outcome),
            f"{request.url} {request.detail}".rstrip(),
        ),
        "No request was made yet.",
    ),
    "unreadable": (
        load_quarantined,
        ("READ", "CHECK", "PAGE", "ENTRY", ""),
        lambda here, entry: (
            here.write(entry.seen_at),
            entry.run_id,
            entry.page + 1,
            entry.position + 1,
            f"{entry.error}\n{_show_bytes(entry.snippet)}",
        ),
        "Every entry of arXiv's pages could be read.",
    ),
}
"""By option: what reads a number of them, the table's header, a row of it, and what is said if there are none."""


@dataclass(frozen=True, slots=True)
class View:
    """What was checked of the last days; or checks, missing ids, requests or unreadable entries, newest first."""

    here: Here
    view: str
    ledger: Ledger | None
    entries: tuple[Any, ...]


def _show(view: View) -> Iterator[Part]:
    here = view.here
    if view.ledger is not None:
        yield from _show_ledger(here, view.ledger)
    else:
        _, header, describe, empty = _VIEWS[view.view]
        yield table(header, [describe(here, one) for one in view.entries], empty=empty)
    yield f"Times: {here.zone_name}."


def _show_ledger(here: Here, ledger: Ledger) -> Iterator[Part]:
    rows = [
        (
            write_day(line.announcement, here.now),
            style(line.state, fg=_STATES.get(line.state)),
            line.new or "–",
            f"{line.checks}, {line.failed} failed" if line.failed else line.checks,
            here.write(line.checked_at),
            str(line.failure),
        )
        for line in ledger.announcements
    ]
    header = ("ANNOUNCED", "STATE", "NEW", "CHECKS", "LAST CHECK", "")
    yield table(header, rows, empty="No announcement was expected within these days.")
    gaps = {str(state): number for state, number in ledger.gaps.items()}
    words = {"open": "asked for", "found": "found after all", "given up": "never used"}
    missing = ", ".join(
        f"{gaps[state]:,} {word}" for state, word in words.items() if gaps.get(state)
    )
    yield f"\n{_GUARANTEES[ledger.source]}"
    yield f"Missing ids: {missing or 'none'} (--missing)."
    asked = count(ledger.requests, "request")
    yield f"{asked} in 24 h (--requests). Above {REQUESTS_A_DAY}, only urgent ones are sent."


def _show_bytes(snippet: bytes) -> str:
    """Return bytes as text that no terminal obeys."""
    text = snippet.decode("utf-8", "backslashreplace")
    return "".join(
        char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text
    )


@click.command()
@click.option(
    "--days", type=click.IntRange(1, 400), default=14, show_default=True, help="How far back."
)
@click.option(
    "--checks", "view", flag_value="checks", help="The checks one by one: pages, papers, outcome."
)
@click.option(
    "--missing", "view", flag_value="missing", help="Ids missing between stored ones, and why."
)
@click.option(
    "--requests", "view", flag_value="requests", help="Every request: status, time, bytes."
)
@click.option(
    "--unreadable", "view", flag_value="unreadable", help="Entries that nobody can read, as bytes."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="Lines of a view.",
)
@answers(_show)
@click.pass_context
def command(ctx: click.Context, view: str | None, days: int, limit: int) -> View:
    """Say what was checked at arXiv, announcement by announcement.

    An announcement is complete when two checks at least half an hour apart ended at the same newest paper.
    It is also complete when no id below that paper is missing. Days without announcement are not listed.
    """
    with opened_store(ctx) as bench, bench.store.read() as conn:
        if view:
            return View(bench.here, view, None, tuple(_VIEWS[view][0](conn, limit=limit)))
        return View(
            bench.here,
            view="",
            ledger=load_ledger(conn, bench.config.arxiv.source, bench.here.now, days=days),
            entries=(),
        )
