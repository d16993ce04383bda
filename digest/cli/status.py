"""`digest status`: what works, what does not, what comes next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

import click

from digest.cli.commands import quote_as_called
from digest.cli.context import opened_store
from digest.cli.output import Part, answers, cut, find_columns, labelled, render, style, table
from digest.cli.subscription import NONE_YET, describe_next_digest
from digest.inspect.status import STATE_WORDS, Status, load_status
from digest.inspect.subscriptions import SubscriptionStatus
from digest.model.announcements import announcement_moment
from digest.model.clock import write_age, write_day
from digest.model.messages import DeliveryState
from digest.model.numbers import count

_LINES = 24
"""Lines of a terminal that the screen fits into."""

_NARROW = 60
"""Columns below which nothing is cut: too little would be left."""

_FEWEST = 3
"""Subscriptions shown at least."""

_MEGABYTE = 1_000_000


def _show(status: Status, *, shows_all: bool) -> Iterator[Part]:
    drift = status.edited if shows_all else cut(status.edited, 2 * find_columns())
    tail = ["", drift] if drift and status.subscriptions else []
    head = list(_show_head(status, len(status.troubles)))
    for most in reversed(range(1, 0 if shows_all else len(status.troubles))):
        if _measure([*head, *tail]) + _FEWEST + 2 <= _LINES:
            break
        head = list(_show_head(status, most))
    yield from head
    room = (
        len(status.subscriptions)
        if shows_all
        else max(_FEWEST, _LINES - _measure([*head, *tail]) - 1)
    )
    yield from _show_subscriptions(status, drift, room, folds=shows_all or find_columns() < _NARROW)
    yield from tail


def _measure(parts: Iterable[Part]) -> int:
    return sum(render(part).count("\n") + 1 for part in parts)


def _show_head(status: Status, most: int) -> Iterator[Part]:
    """Yield all above the subscriptions, with the first problems, each whole and with what to do."""
    here, troubles = status.here, status.troubles
    yield f"{status.summary} {_describe_next(status)}".rstrip()
    yield ""
    lines = []
    for trouble in troubles[:most]:
        lines.append((style("✗", fg="red", bold=True), str(trouble.what)))
        lines += [("", f"→ {quote_as_called(str(trouble.remedy))}")] if trouble.remedy else []
    if len(troubles) > most:
        lines.append(("", f"and {len(troubles) - most} more: `digest status --all`"))
    if lines:
        yield labelled(lines, gap=1)
        yield ""
    size = (
        f"{status.size / _MEGABYTE:,.0f} MB"
        if status.size >= _MEGABYTE
        else f"{status.size / 1000:,.0f} kB"
    )
    coming = here.write_near(announcement_moment(status.next_announcement))
    yield labelled(
        [
            ("arXiv", _describe_intake(status)),
            ("", f"next announcement {coming}, next check {here.write_near(status.next_poll_at)}"),
            ("Messages", _describe_outbox(status)),
            ("Alarms", _describe_alarms(status)),
            *(
                ("Process" * (not number), line)
                for number, line in enumerate(_describe_workers(status))
            ),
            (
                "Database",
                f"{status.dialect}, {size}, {count(status.papers, 'paper')}. Times: {here.zone_name}.",
            ),
        ],
        width=9,
    )
    yield ""


def _describe_next(status: Status) -> str:
    here, words = status.here, []
    if status.intake.checked_at is not None:
        words.append(f"Last check {here.write_near(status.intake.checked_at)}")
    coming = [one for one in status.subscriptions if one.is_active(here.now) and one.next_due_at]
    if coming := [one for one in status.subscriptions if one.is_greeted] or coming:
        first = min(coming, key=lambda one: one.next_due_at or here.now)
        words.append(f"next digest: {describe_next_digest(here, first, write=here.write_near)}")
    said = ", ".join(words)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _describe_intake(status: Status) -> str:
    intake, here = status.intake, status.here
    if intake.checked_at is None or intake.announcement is None:
        return "not checked yet"
    announced, checked = (
        f"announcement of {write_day(intake.announcement, here.now)}",
        here.write_near(intake.checked_at),
    )
    if intake.checked_at < announcement_moment(intake.announcement):
        return f"{announced}: not checked yet, last check {checked}"
    if not intake.is_complete:
        return f"{announced}: {'not out yet' if intake.is_awaited else 'not complete yet'}, checked {checked}"
    found = f", {intake.new:,} new" if intake.new else ""
    return f"{announced}: complete{found}, checked {checked}"


def _describe_outbox(status: Status) -> str:
    counts, oldest = status.outbox.counts, status.outbox.oldest_due
    shown = {
        "sent": counts.get(DeliveryState.SENT, 0),
        "waiting": counts.get(DeliveryState.READY, 0),
        "sending": sum(
            counts.get(state, 0) for state in (DeliveryState.CLAIMED, DeliveryState.SENDING)
        ),
        "may have arrived": counts.get(DeliveryState.UNKNOWN, 0),
        "waiting for you": counts.get(DeliveryState.HELD, 0),
        "failed": counts.get(DeliveryState.DEAD, 0),
    }
    words = ", ".join(
        f"{number:,} {word}" for word, number in shown.items() if number or word == "sent"
    )
    return words + (f"; the oldest since {status.here.write_near(oldest)}" if oldest else "")


def _describe_alarms(status: Status) -> str:
    places = ", ".join(map(str, status.alarms_to))
    words = [
        f"go to {places}." if places else 'go nowhere: add `to = "mailto:you@…"` under [alarms].'
    ]
    words += ["The sign of life is held back."] if status.holds_ping else []
    words += [f"Not sent yet: {', '.join(status.unsent_alarms)}."] if status.unsent_alarms else []
    return " ".join(words)


def _describe_workers(status: Status) -> Iterator[str]:
    """Yield a line for each process at work, and for each that fell silent."""
    for worker in status.workers:
        silent = write_age(timedelta(seconds=worker.silent_for))
        state = f"silent for {silent}: it died, or can't reach the database"
        if not worker.is_gone:
            since = status.here.write_near(worker.started_at)
            state = f"at work since {since}, release {worker.release}, last sign {silent} ago"
        yield f"{worker.host}:{worker.pid} {state}"


def _show_subscriptions(status: Status, drift: str, room: int, *, folds: bool) -> Iterator[Part]:
    lines = [line for line in status.subscriptions if not line.is_personal]
    room -= len(lines) < len(status.subscriptions)
    most = room if len(lines) <= room else room - 1
    header = ("SUBSCRIPTION", "LAST DIGEST: PAPERS", "NEXT DIGEST", "NEW PAPERS")
    rows = [_describe_subscription(status, line) for line in lines[:most]]
    yield table(header, rows, empty=drift or NONE_YET, folds=folds)
    if len(lines) > most:
        yield f"… {len(lines) - most} more: `digest subscription list`"
    if own := len(status.subscriptions) - len(lines):
        yield f"{own} more by people themselves: `digest subscription list`"


def _describe_subscription(status: Status, line: SubscriptionStatus) -> tuple[str, ...]:
    here, last = status.here, "–"
    if line.last_planned_at is not None:
        last = f"{here.write_near(line.last_planned_at)}: {line.last_papers} {mark_states(line.last_states)}"
    return (
        line.settings.name,
        last,
        describe_next_digest(here, line, write=here.write_near),
        write_brief(line.volume),
    )


def write_brief(volume: str) -> str:
    """Write `about 2 papers a week` as a table has it below PAPERS."""
    return re.sub("about | papers?", "", volume)


def mark_states(states: Iterable[str]) -> str:
    """Say in a few words how far a digest's deliveries have come, each state they are in given once."""
    marks = sorted({STATE_WORDS[state] for state in states})
    others = ", ".join(mark for mark in marks if mark != STATE_WORDS[DeliveryState.SENT])
    if len(marks) > 1 and STATE_WORDS[DeliveryState.SENT] in marks:
        return f"sent in part, {others}"
    return ", ".join(marks)


@click.command()
@click.option(
    "--all", "shows_all", is_flag=True, help="Show every problem and subscription, however many."
)
@answers(_show, "shows_all")
@click.pass_context
def command(ctx: click.Context) -> Status:
    """Say in one screen what works, what does not, and what comes next.

    Each problem comes with what to do. Times are in the zone of your `when`, else of your quiet hours.
    """
    with opened_store(ctx, warns=True) as bench:
        return load_status(bench.config, bench.store, bench.clock)
