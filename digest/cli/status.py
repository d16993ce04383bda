"""`digest status`: what works, what does not, what comes next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

import click

from digest.cli.commands import quote_as_called
from digest.cli.context import opened_store
from digest.cli.output import Part, answers, cut, find_columns, labelled, render, style, table
from digest.inspect.status import STATE_WORDS, Status, Trouble, load_status
from digest.inspect.subscriptions import NONE_YET, SubscriptionStatus, describe_next_digest
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

_OUTBOX_WORDS = {
    "sent": (DeliveryState.SENT,),
    "waiting": (DeliveryState.READY,),
    "sending": (DeliveryState.CLAIMED, DeliveryState.SENDING),
    "may have arrived": (DeliveryState.UNKNOWN,),
    "waiting for you": (DeliveryState.HELD,),
    "failed": (DeliveryState.DEAD,),
}
"""What the screen says of messages, and the states that each word counts."""


def _show(status: Status, *, shows_all: bool) -> Iterator[Part]:
    subscriptions = status.subscriptions
    drift = status.edited if shows_all else cut(status.edited, 2 * find_columns())
    tail = ["", drift] if drift and subscriptions else []
    if shows_all:
        head = list(_show_head(status, len(status.troubles)))
        room = len(subscriptions)
    else:
        head = _fit_head(status, tail)
        room = max(_FEWEST, _LINES - _measure([*head, *tail]) - 1)
    yield from head
    folds = shows_all or find_columns() < _NARROW
    yield from _show_subscriptions(status, drift, room, folds=folds)
    yield from tail


def _fit_head(status: Status, tail: Sequence[Part]) -> list[Part]:
    """Return the head with so many problems that a few subscriptions fit below it, but with one."""
    most = len(status.troubles)
    head = list(_show_head(status, most))
    while most > 1 and _measure([*head, *tail]) + _FEWEST + 2 > _LINES:
        most -= 1
        head = list(_show_head(status, most))
    return head


def _measure(parts: Iterable[Part]) -> int:
    lines = 0
    for part in parts:
        lines += render(part).count("\n") + 1
    return lines


def _show_head(status: Status, most: int) -> Iterator[Part]:
    """Yield all above the subscriptions, with the first problems, each whole and what to do."""
    yield f"{status.summary} {_describe_next(status)}".rstrip()
    yield ""
    lines = _list_troubles(status.troubles, most)
    if lines:
        yield labelled(lines, gap=1)
        yield ""
    yield labelled(_list_facts(status), width=9)
    yield ""


def _list_troubles(troubles: Sequence[Trouble], most: int) -> list[tuple[str, str]]:
    """Return the first problems as labelled lines, and how many more there are."""
    mark = style("✗", fg="red", bold=True)
    lines = []
    for trouble in troubles[:most]:
        lines.append((mark, str(trouble.what)))
        if trouble.remedy:
            lines.append(("", f"→ {quote_as_called(str(trouble.remedy))}"))
    others = len(troubles) - most
    if others > 0:
        lines.append(("", f"and {others} more: `digest status --all`"))
    return lines


def _list_facts(status: Status) -> Iterator[tuple[str, str]]:
    """Yield what is known of arXiv, messages, alarms, processes and the database, labelled."""
    here = status.here
    announced = here.write_near(announcement_moment(status.next_announcement))
    checked = here.write_near(status.next_poll_at)
    yield "arXiv", _describe_intake(status)
    yield "", f"next announcement {announced}, next check {checked}"
    yield "Messages", _describe_outbox(status)
    yield "Alarms", _describe_alarms(status)
    label = "Process"
    for line in _describe_workers(status):
        yield label, line
        label = ""
    papers = count(status.papers, "paper")
    size = _write_size(status.size)
    yield "Database", f"{status.dialect}, {size}, {papers}. Times: {here.zone_name}."


def _write_size(size: int) -> str:
    if size >= _MEGABYTE:
        return f"{size / _MEGABYTE:,.0f} MB"
    return f"{size / 1000:,.0f} kB"


def _describe_next(status: Status) -> str:
    here = status.here
    words = []
    if status.intake.checked_at is not None:
        words.append(f"Last check {here.write_near(status.intake.checked_at)}")
    greeted = [one for one in status.subscriptions if one.is_greeted]
    due = [one for one in status.subscriptions if one.is_active(here.now) and one.next_due_at]
    coming = greeted or due
    if coming:
        first = min(coming, key=lambda one: one.next_due_at or here.now)
        words.append(f"next digest: {describe_next_digest(here, first, write=here.write_near)}")
    if not words:
        return ""
    said = ", ".join(words)
    return f"{said[0].upper()}{said[1:]}."


def _describe_intake(status: Status) -> str:
    intake = status.intake
    here = status.here
    if intake.checked_at is None or intake.announcement is None:
        return "not checked yet"
    announced = f"announcement of {write_day(intake.announcement, here.now)}"
    checked = here.write_near(intake.checked_at)
    if intake.checked_at < announcement_moment(intake.announcement):
        return f"{announced}: not checked yet, last check {checked}"
    if intake.is_complete:
        found = f", {intake.new:,} new" if intake.new else ""
        return f"{announced}: complete{found}, checked {checked}"
    why = "not out yet" if intake.is_awaited else "not complete yet"
    return f"{announced}: {why}, checked {checked}"


def _describe_outbox(status: Status) -> str:
    words = []
    for word, states in _OUTBOX_WORDS.items():
        number = sum(status.outbox.counts.get(state, 0) for state in states)
        if number or word == "sent":
            words.append(f"{number:,} {word}")
    said = ", ".join(words)
    oldest = status.outbox.oldest_due
    if oldest:
        said += f"; the oldest since {status.here.write_near(oldest)}"
    return said


def _describe_alarms(status: Status) -> str:
    places = ", ".join(map(str, status.alarms_to))
    words = []
    if places:
        words.append(f"go to {places}.")
    else:
        words.append('go nowhere: add `to = "mailto:you@…"` under [alarms].')
    if status.holds_ping:
        words.append("The sign of life is held back.")
    unsent = ", ".join(status.unsent_alarms)
    if unsent:
        words.append(f"Not sent yet: {unsent}.")
    return " ".join(words)


def _describe_workers(status: Status) -> Iterator[str]:
    """Yield a line for each process at work, and for each that fell silent."""
    for worker in status.workers:
        silent = write_age(timedelta(seconds=worker.silent_for))
        if worker.is_gone:
            state = f"silent for {silent}: it died, or can't reach the database"
        else:
            since = status.here.write_near(worker.started_at)
            state = f"at work since {since}, release {worker.release}, last sign {silent} ago"
        yield f"{worker.host}:{worker.pid} {state}"


def _show_subscriptions(status: Status, drift: str, room: int, *, folds: bool) -> Iterator[Part]:
    lines = [line for line in status.subscriptions if not line.is_personal]
    personal = len(status.subscriptions) - len(lines)
    if personal:
        room -= 1
    if len(lines) > room:
        room -= 1
    header = ("SUBSCRIPTION", "LAST DIGEST: PAPERS", "NEXT DIGEST", "NEW PAPERS")
    rows = [_describe_subscription(status, line) for line in lines[:room]]
    yield table(header, rows, empty=drift or NONE_YET, folds=folds)
    if len(lines) > room:
        yield f"… {len(lines) - room} more: `digest subscription list`"
    if personal:
        yield f"{personal} more by people themselves: `digest subscription list`"


def _describe_subscription(status: Status, line: SubscriptionStatus) -> tuple[str, ...]:
    here = status.here
    last = "–"
    if line.last_planned_at is not None:
        planned = here.write_near(line.last_planned_at)
        last = f"{planned}: {line.last_papers} {mark_states(line.last_states)}"
    coming = describe_next_digest(here, line, write=here.write_near)
    return (line.settings.name, last, coming, write_brief(line.volume))


def write_brief(volume: str) -> str:
    """Write `about 2 papers a week` as a table has it below PAPERS."""
    return re.sub("about | papers?", "", volume)


def mark_states(states: Iterable[str]) -> str:
    """Say in a few words how far a digest's deliveries have come, each state once."""
    sent = STATE_WORDS[DeliveryState.SENT]
    marks = sorted({STATE_WORDS[state] for state in states})
    if sent in marks and len(marks) > 1:
        others = ", ".join(mark for mark in marks if mark != sent)
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

    Each problem comes with what to do. Times are in the zone of your `when`, else of your
    quiet hours.
    """
    with opened_store(ctx, warns=True) as bench:
        return load_status(bench.config, bench.store, bench.clock)
