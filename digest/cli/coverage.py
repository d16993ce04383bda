"""`digest coverage`: what was checked, one announcement after the other; what a check can prove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from digest.cli.context import opened_store
from digest.cli.output import Part, answers, style, table
from digest.inspect.coverage import AnnouncementLine, Ledger, load_ledger
from digest.inspect.here import Here
from digest.model.clock import write_day
from digest.model.numbers import count
from digest.model.polls import RequestLog
from digest.poll.rules import REQUESTS_A_DAY
from digest.store import gaps, runs
from digest.store.gaps import GapLine
from digest.store.runs import PollRun, SetAside

_STATES = {
    "complete": "green",
    "caught up": "green",
    "incomplete": "yellow",
    "late": "red",
    "not checked": "red",
}
_GUARANTEES = {
    "harvest": "Every paper that arXiv announces is fetched, however late. "
    "Missing ids are asked for.",
    "query": "What arXiv's search shows of each saved query: "
    "8 days back each night, 35 weekly, 100 monthly. "
    "About 6 papers in 10,000 come later still.",
}
"""What a source promises, and what it does not."""

_GAP_WORDS = {"open": "asked for", "found": "found after all", "given up": "never used"}
"""What is said of missing ids, by their state."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """What one option lists: how its entries are read, and what a table shows of each.

    `empty` is said if there are none.
    """

    load: Callable[..., Sequence[Any]]
    header: tuple[str, ...]
    describe: Callable[[Here, Any], tuple[str | int, ...]]
    empty: str


def _describe_check(here: Here, run: PollRun) -> tuple[str | int, ...]:
    started = here.write(run.started_at)
    papers: str | int = run.papers
    if run.total is not None:
        papers = f"{run.papers:,} of {run.total:,}"
    numbers = (run.requests, papers, run.new, run.changed)
    remark = str(run.failure) or run.query_key
    return (str(run.id), started, run.source, str(run.outcome), *numbers, remark)


def _describe_missing(here: Here, line: GapLine) -> tuple[str | int, ...]:
    gap = line.gap
    missed = here.write(gap.missed_at)
    asked = here.write(gap.asked_at)
    return (str(gap.id), str(line.state), missed, gap.asks, asked, str(line.reason))


def _describe_request(here: Here, request: RequestLog) -> tuple[str | int, ...]:
    moment = here.write(request.at)
    status = str(request.status or "–")
    took = f"{request.milliseconds:,} ms"
    asked = f"{request.url} {request.detail}".rstrip()
    return (moment, status, took, request.size, str(request.outcome), asked)


def _describe_unreadable(here: Here, entry: SetAside) -> tuple[str | int, ...]:
    seen = here.write(entry.seen_at)
    said = f"{entry.error}\n{_show_bytes(entry.snippet)}"
    return (seen, entry.run_id, entry.page + 1, entry.position + 1, said)


_LISTINGS = {
    "checks": _Listing(
        runs.load_last,
        ("ID", "STARTED", "SOURCE", "OUTCOME", "ASKED", "PAPERS", "NEW", "CHANGED", ""),
        _describe_check,
        "No check yet: `digest run` makes the first.",
    ),
    "missing": _Listing(
        gaps.load,
        ("ID", "STATE", "MISSING SINCE", "ASKED", "LAST ASKED", ""),
        _describe_missing,
        "No id is missing between the papers stored.",
    ),
    "requests": _Listing(
        runs.load_requests,
        ("AT", "STATUS", "TIME", "BYTES", "OUTCOME", "REQUEST"),
        _describe_request,
        "No request was made yet.",
    ),
    "unreadable": _Listing(
        runs.load_quarantined,
        ("READ", "CHECK", "PAGE", "ENTRY", ""),
        _describe_unreadable,
        "Every entry of arXiv's pages could be read.",
    ),
}
"""What the options list, by their names."""


@dataclass(frozen=True, slots=True)
class View:
    """What was checked of the last days; or a listing, the newest entries first."""

    here: Here
    view: str
    ledger: Ledger | None
    entries: tuple[Any, ...]


def _show(view: View) -> Iterator[Part]:
    here = view.here
    if view.ledger is not None:
        yield from _show_ledger(here, view.ledger)
    else:
        listing = _LISTINGS[view.view]
        rows = [listing.describe(here, one) for one in view.entries]
        yield table(listing.header, rows, empty=listing.empty)
    yield f"Times: {here.zone_name}."


def _show_ledger(here: Here, ledger: Ledger) -> Iterator[Part]:
    rows = [_describe_announcement(here, line) for line in ledger.announcements]
    header = ("ANNOUNCED", "STATE", "NEW", "CHECKS", "LAST CHECK", "")
    yield table(header, rows, empty="No announcement was expected within these days.")
    gaps = {str(state): number for state, number in ledger.gaps.items()}
    missing = []
    for state, word in _GAP_WORDS.items():
        if gaps.get(state):
            missing.append(f"{gaps[state]:,} {word}")
    yield f"\n{_GUARANTEES[ledger.source]}"
    yield f"Missing ids: {', '.join(missing) or 'none'} (--missing)."
    asked = count(ledger.requests, "request")
    yield f"{asked} in 24 h (--requests). Above {REQUESTS_A_DAY}, only urgent ones are sent."


def _describe_announcement(here: Here, line: AnnouncementLine) -> tuple[str | int, ...]:
    day = write_day(line.announcement, here.now)
    state = style(line.state, fg=_STATES.get(line.state))
    checks = f"{line.checks}, {line.failed} failed" if line.failed else line.checks
    checked = here.write(line.checked_at)
    return (day, state, line.new or "–", checks, checked, str(line.failure))


def _show_bytes(snippet: bytes) -> str:
    """Return bytes as text that no terminal obeys."""
    shown = []
    for char in snippet.decode("utf-8", "backslashreplace"):
        is_safe = char.isprintable() or char == "\n"
        shown.append(char if is_safe else f"\\x{ord(char):02x}")
    return "".join(shown)


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

    An announcement is complete when two checks at least half an hour apart ended at the same
    newest paper. It is also complete when no id below that paper is missing. Days without
    announcement are not listed.
    """
    with opened_store(ctx) as bench, bench.store.read() as conn:
        if view:
            entries = _LISTINGS[view].load(conn, limit=limit)
            return View(bench.here, view, ledger=None, entries=tuple(entries))
        ledger = load_ledger(conn, bench.config.arxiv.source, bench.here.now, days=days)
        return View(bench.here, view="", ledger=ledger, entries=())
