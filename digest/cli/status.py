"""`digest status`: what works, what does not, what comes next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import click

from digest.cli.context import Installation, describe_pending_edits, opened_store
from digest.cli.output import (
    as_dict,
    cut,
    find_columns,
    json_option,
    print_json,
    print_table,
    print_wrapped,
    say,
    wrap,
    write_brief,
)
from digest.cli.program import quote_as_called
from digest.cli.subscription import NONE_YET, describe_next_digest
from digest.inspect.alarms import can_send_heartbeat
from digest.inspect.query_volume import describe_matches
from digest.inspect.status import STATE_WORDS, Status, load_status
from digest.model.announcements import announcement_moment
from digest.model.clock import name_zone, write_age, write_day
from digest.model.errors import count
from digest.model.messages import DeliveryState
from digest.store.digests import FIRST_DIGEST_NEXT, SubscriptionLine, find_first_digests
from digest.store.workers import Worker

_LABEL = 11
_LINES = 24
"""Lines of a terminal that the screen fits into."""

_NARROW = 60
"""Columns below which nothing is cut: too little would be left."""

_FEWEST = 3
"""Subscriptions shown at least."""

_PROBLEM_LINES = 8
_MEGABYTE = 1_000_000
_WEEK = 7


@click.command()
@click.option("--all", "shows_all", is_flag=True, help="Show every problem and subscription, however many.")
@json_option
@click.pass_context
def command(ctx: click.Context, *, shows_all: bool, as_json: bool) -> None:
    """Say in one screen what works, what does not, and what comes next.

    Each problem comes with what to do. Times are in the zone of your `when`, else of your quiet hours.
    """
    with opened_store(ctx, warns=True) as here:
        status = load_status(here.config, here.store, here.clock)
        with here.store.read() as conn:
            drift = describe_pending_edits(here.config, conn)
            greeted = find_first_digests(conn, here.config.subscriptions)
    here = replace(here, greeted=greeted)
    if as_json:
        lines = [as_dict(one) | {"volume": _describe_volume(status, one)} for one in status.subscriptions]
        print_json({"summary": status.sum_up(), **as_dict(status), "subscriptions": lines, "edited": drift})
        return
    headline = f"{status.sum_up()} {_describe_next(here, status)}".rstrip()
    say(headline)
    size = f"{status.size / _MEGABYTE:,.0f} MB" if status.size >= _MEGABYTE else f"{status.size / 1000:,.0f} kB"
    papers = count(status.papers, "paper")
    coming = _write_near(here, announcement_moment(status.next_announcement))
    facts = [
        ("arXiv", _describe_intake(here, status)),
        ("arXiv", f"next announcement {coming}, next check {_write_near(here, status.next_poll_at)}"),
        ("Messages", _describe_outbox(here, status)),
        ("Alarms", _describe_alarms(here, status)),
        *(("Process", line) for line in _describe_workers(here, status.workers)),
        ("Database", f"{status.dialect}, {size}, {papers}. Times: {name_zone(here.zone, status.now)}."),
    ]
    columns = find_columns()
    drift = drift if shows_all else cut(drift, 2 * columns - _LABEL)
    used = len(wrap(headline, columns)) + 2 + sum(len(wrap(line, columns - _LABEL)) for _, line in facts) + 2
    used += 1 + len(wrap(drift, columns)) if drift and status.subscriptions else 0
    most = max(0, min(_PROBLEM_LINES, _LINES - used - _FEWEST - 2))
    used += _print_troubles(status, None if shows_all else most)
    click.echo()
    for number, (label, line) in enumerate(facts):
        label_shown = "" if number and facts[number - 1][0] == label else label
        print_wrapped(label_shown or " ", line, width=_LABEL, bold=True)
    click.echo()
    room = len(status.subscriptions) if shows_all else max(_FEWEST, _LINES - used)
    _print_subscriptions(here, status, drift, room, is_cut=not shows_all and columns >= _NARROW)


def _describe_next(here: Installation, status: Status) -> str:
    """Say when arXiv was checked last, and which digest comes next."""
    words = []
    if status.intake.checked_at is not None:
        words.append(f"Last check {_write_near(here, status.intake.checked_at)}")
    lines = [one for one in status.subscriptions if one.is_active(here.now)]
    turn = min((one.next_due_at for one in lines if one.next_due_at is not None), default=None)
    if here.greeted:
        words.append(FIRST_DIGEST_NEXT)
    elif turn is not None and turn <= here.now:
        words.append("a digest is due")
    elif turn is not None:
        words.append(f"next digest {_write_near(here, turn)}")
    said = ", ".join(words)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _write_near(here: Installation, moment: datetime) -> str:
    """Write a moment as `today 09:05` or `Tue 09:05`, a later one with its date, an earlier one as its date."""
    local, today = moment.astimezone(here.zone), here.now.astimezone(here.zone).date()
    days = (local.date() - today).days
    if days <= -_WEEK:
        return write_day(local.date(), here.now)
    if days >= _WEEK:
        return here.write(moment)
    names = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    return f"{names.get(days, f'{local:%a}')} {local:%H:%M}"


def _print_troubles(status: Status, most: int | None) -> int:
    """Print what is wrong, each whole and with what to do, in so many lines; return how many that took.

    The first is printed however long it is.
    """
    width, used = find_columns() - 4, 0
    for number, trouble in enumerate(status.troubles):
        remedy = quote_as_called(trouble.remedy)
        takes = len(wrap(trouble.what, width + 2)) + len(wrap(remedy, width))
        if most is not None and number and used + takes > most:
            click.echo(f"  and {len(status.troubles) - number} more: `digest status --all`")
            return used + 2
        click.echo("" if number else "\n", nl=False)
        print_wrapped(f"{click.style('✗', fg='red', bold=True)} ", trouble.what)
        if remedy:
            print_wrapped("  → ", remedy)
        used += takes
    return used + bool(used)


def _describe_intake(here: Installation, status: Status) -> str:
    intake = status.intake
    if intake.checked_at is None or intake.announcement is None:
        return "not checked yet"
    announced = f"announcement of {write_day(intake.announcement, here.now)}"
    checked = f"checked {_write_near(here, intake.checked_at)}"
    if intake.checked_at < announcement_moment(intake.announcement):
        return f"{announced}: not checked yet, last {checked.replace('checked', 'check')}"
    if not intake.is_complete:
        return f"{announced}: {'not out yet' if intake.is_awaited else 'not complete yet'}, {checked}"
    found = f", {intake.new:,} new" if intake.new else ""
    return f"{announced}: complete{found}, {checked}"


def _print_subscriptions(here: Installation, status: Status, drift: str, room: int, *, is_cut: bool) -> None:
    lines = [line for line in status.subscriptions if not line.is_personal]
    room -= len(lines) < len(status.subscriptions)
    most = room if len(lines) <= room else room - 1
    header = ("SUBSCRIPTION", "LAST DIGEST: PAPERS", "NEXT DIGEST", "PAPERS")
    rows = [_describe_subscription(here, status, line) for line in lines[:most]]
    print_table(header, _fit_cells(header, rows) if is_cut else rows, empty=drift or NONE_YET)
    if len(lines) > most:
        click.echo(f"… {len(lines) - most} more: `digest subscription list`")
    if own := len(status.subscriptions) - len(lines):
        click.echo(f"{own} more by people themselves: `digest subscription list`")
    if lines and drift:
        say(f"\n{drift}")


def _fit_cells(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Cut the widest cells until each row is one line; a name only where it is twice as wide as the others."""
    widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
    while sum(widths) > find_columns() - 2 * (len(widths) - 1):
        widths[max(range(len(widths)), key=lambda at: widths[at] if at else widths[at] / 2)] -= 1
    cells = ([(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return [tuple(cut(cell, width) if len(cell) > width else cell for cell, width in row) for row in cells]


def _describe_subscription(here: Installation, status: Status, line: SubscriptionLine) -> tuple[str, ...]:
    last = "–"
    if line.last_planned_at is not None:
        last = f"{_write_near(here, line.last_planned_at)}: {line.last_papers} {mark_states(line.last_states)}"
    turn = describe_next_digest(here, line, write=partial(_write_near, here))
    return (line.name, last, turn, write_brief(_describe_volume(status, line)))


def _describe_volume(status: Status, line: SubscriptionLine) -> str:
    return describe_matches(line.days, line.began_at, status.now)


def mark_states(states: Iterable[str]) -> str:
    """Say in a few words how far a digest's deliveries have come, each state they are in given once."""
    marks = sorted({STATE_WORDS[state] for state in states})
    others = ", ".join(mark for mark in marks if mark != STATE_WORDS[DeliveryState.SENT])
    if len(marks) > 1 and STATE_WORDS[DeliveryState.SENT] in marks:
        return f"sent in part, {others}"
    return ", ".join(marks)


def _describe_outbox(here: Installation, status: Status) -> str:
    counts, oldest = status.outbox.counts, status.outbox.oldest_due
    on_way = sum(counts.get(state, 0) for state in (DeliveryState.CLAIMED, DeliveryState.SENDING))
    shown = {
        "sent": counts.get(DeliveryState.SENT, 0),
        "waiting": counts.get(DeliveryState.READY, 0),
        "sending": on_way,
        "may have arrived": counts.get(DeliveryState.UNKNOWN, 0),
        "need you": status.needing,
    }
    words = ", ".join(f"{number:,} {word}" for word, number in shown.items() if number or word == "sent")
    return words + (f"; the oldest since {_write_near(here, oldest)}" if oldest else "")


def _describe_alarms(here: Installation, status: Status) -> str:
    places = ", ".join(map(str, here.config.alarms.to))
    words = [f"go to {places}." if places else 'go nowhere: add `to = "mailto:you@…"` under [alarms].']
    if here.config.alarms.ping_url and not can_send_heartbeat(status.alarms):
        words.append("The sign of life is held back.")
    if status.unsent_alarms:
        words.append(f"Not sent yet: {', '.join(status.unsent_alarms)}.")
    return " ".join(words)


def _describe_workers(here: Installation, workers: Sequence[Worker]) -> list[str]:
    """Return a line for each process at work, and for each that fell silent."""
    lines = []
    for worker in workers:
        silent = write_age(timedelta(seconds=worker.silent_for))
        state = f"silent for {silent}: it died, or can't reach the database"
        if not worker.is_gone:
            since = _write_near(here, worker.started_at)
            state = f"at work since {since}, release {worker.release}, last sign {silent} ago"
        lines.append(f"{worker.host}:{worker.pid} {state}")
    return lines
