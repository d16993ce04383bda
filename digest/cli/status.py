"""`digest status`: what works, what does not, what comes next."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from digest.cli.context import describe_drift, opened_store
from digest.cli.output import (
    as_dict,
    cut,
    describe_guarantee,
    draw_bars,
    json_option,
    print_json,
    print_table,
    write_moment,
)
from digest.cli.subscription import describe_turn
from digest.config.zones import name_zone
from digest.inspect.alarms import does_its_work
from digest.inspect.status import SPAN, load_status
from digest.model.announcements import EASTERN, mailing_moment
from digest.model.clock import write_age
from digest.model.errors import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from digest.cli.context import Installation
    from digest.inspect.status import Status
    from digest.store.views import SubscriptionLine
    from digest.store.workers import Worker


_LABEL = 11
_WIDEST_WHAT = 120
_WIDEST_TO, _WIDEST_QUERIES = 32, 24
_SHOWN_OUTBOX = (
    ("ready", ("ready",)),
    ("on their way", ("claimed", "sending")),
    ("unknown", ("unknown",)),
    ("held", ("held",)),
    ("dead", ("dead",)),
)
"""Words for states that are counted together."""

_SENT = "✓"
_MARKS = {
    "sent": _SENT,
    "suppressed": "not sent",
    "ready": "not sent yet",
    "unknown": "in doubt",
    "claimed": "on its way",
    "sending": "on its way",
}
_MEGABYTE = 1_000_000


@click.command()
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Say in one screen what works, what does not, and what comes next.

    What needs somebody comes first, each with what to do. Times are in the zone of your `when`, else of your
    quiet hours.
    """
    with opened_store(ctx, warns=True) as here:
        status = load_status(here.config, here.store, here.clock)
        with here.store.read() as conn:
            drift = describe_drift(here.config, conn)
    if as_json:
        print_json({**as_dict(status), "edited": drift})
    else:
        _print_screen(here, status, drift)


def _print_screen(here: Installation, status: Status, drift: str) -> None:
    _print_troubles(status)
    _print_lines("arXiv", _describe_arxiv(here, status))
    click.echo()
    _print_subscriptions(here, status, drift)
    click.echo()
    _print_lines("Outbox", [_describe_outbox(here, status)])
    _print_lines("Alarms", [_describe_alarms(here, status)])
    _print_lines("Workers", _describe_workers(here, status.workers))
    _print_lines("System", [_describe_system(here, status)])


def _print_troubles(status: Status) -> None:
    for trouble in status.troubles:
        label = click.style(f"{'ATTENTION':<{_LABEL}}", fg="red", bold=True)
        remedy = f"  → {trouble.remedy}" if trouble.remedy else ""
        click.echo(f"{label}{cut(trouble.what, _WIDEST_WHAT)}{remedy}")


def _print_lines(label: str, lines: Sequence[str]) -> None:
    for number, line in enumerate(lines):
        click.echo(click.style(f"{'' if number else label:<{_LABEL}}", bold=True) + line)


def _describe_arxiv(here: Installation, status: Status) -> list[str]:
    moment = mailing_moment(status.next_mailing)
    pause = write_age(timedelta(seconds=status.breaker.seconds))
    breaker = f"breaker open for {pause}" if status.breaker.seconds else "breaker closed"
    local = f"{moment.astimezone(here.zone):%a %H:%M} {name_zone(here.zone, status.now)}"
    coming = f"next mailing {status.next_mailing:%a %-d %b} 20:00 ET = {local}"
    return [
        f"{_describe_intake(status)} · {status.intake.source}, {breaker}",
        f"{coming} · {count(status.requests, 'request')} in 24 h",
        f"{status.intake.source}: {describe_guarantee(status.intake.source)}",
    ]


def _describe_intake(status: Status) -> str:
    intake = status.intake
    if intake.checked_at is None or intake.mailing is None:
        return "not looked at yet: `digest run` takes the first look"
    checked = f"{intake.checked_at.astimezone(EASTERN):%a %H:%M} ET"
    mailing = f"mailing of {intake.mailing:%a %-d %b}"
    if not intake.is_complete:
        state = "not out yet" if intake.is_awaited else "not complete yet"
        return f"{mailing}: {state}, last looked {checked}"
    found = f"{intake.new:,} new" if intake.new else f"{intake.looked_at:,} looked at"
    return f"{mailing}: complete {checked}, {found}"


def _print_subscriptions(here: Installation, status: Status, drift: str) -> None:
    print_table(
        ("SUBSCRIPTION", "TO", "QUERIES", "LAST", "NEXT", "FOUND, 30 D"),
        [_describe_subscription(here, status, line) for line in status.subscriptions],
        empty=drift or "No subscriptions yet: write one in digest.toml ([[subscriptions]]), then `digest run`.",
    )
    if status.subscriptions and drift:
        click.echo(f"\n{drift}")


def _describe_subscription(here: Installation, status: Status, line: SubscriptionLine) -> tuple[str | None, ...]:
    """Return a line's cells; None stands for a cell that the one before it reaches into."""
    to = ", ".join(_mask(here.show(place)) for place in line.destinations) or "nobody any more"
    head = (line.name, cut(to, _WIDEST_TO), cut(" ".join(line.queries), _WIDEST_QUERIES))
    days = _count_days(status, line)
    weeks = [sum(days[start : start + 6]) for start in range(0, len(days), 6)]
    tail = f"{draw_bars(weeks)} {sum(days):>3,}"
    turn = describe_turn(here, line, is_held_back=status.is_held_back)
    if turn.startswith(("paused", "read when")):
        return (*head, turn, None, tail)
    return (*head, _describe_last(here, line), turn, tail)


def _describe_last(here: Installation, line: SubscriptionLine) -> str:
    if line.last_planned_at is None:
        return "nothing sent yet"
    papers = f"{line.last_papers:>3} paper{'s' if line.last_papers != 1 else ' '}"
    return f"{write_moment(line.last_planned_at, here.zone):<16} {papers} {mark_states(line.last_states)}"


def mark_states(states: Iterable[str]) -> str:
    """Say in a few words how far a digest's deliveries have come, each state they are in given once.

    A message that was written anew in other parts is told by those.
    """
    marks = sorted({_MARKS.get(state, str(state)) for state in states if state != "superseded"})
    others = ", ".join(mark for mark in marks if mark != _SENT)
    if _SENT not in marks:
        return others
    return f"{_SENT} in part, the rest {others}" if others else _SENT


def _count_days(status: Status, line: SubscriptionLine) -> tuple[int, ...]:
    counts = {day.day: day.papers for day in line.days}
    first = (status.now - SPAN).date()
    return tuple(counts.get(first + timedelta(days=number), 0) for number in range(1, SPAN.days + 1))


def _mask(destination: str) -> str:
    """Shorten a mail address: the screen is pasted into tickets."""
    address = destination.removeprefix("mailto:")
    name, at, host = address.partition("@")
    return f"{name}@{host[:7]}…" if at and address != destination and len(host) > len("example…") else address


def _describe_outbox(here: Installation, status: Status) -> str:
    counts = {str(state): number for state, number in status.outbox.counts.items()}
    none = "none yet" if counts.get("ready") else "none"
    oldest = write_moment(status.outbox.oldest_due, here.zone) if status.outbox.oldest_due else none
    shown = [f"{words} {sum(counts.get(state, 0) for state in states):,}" for words, states in _SHOWN_OUTBOX]
    return f"{' · '.join(shown)} · oldest due: {oldest}"


def _describe_alarms(here: Installation, status: Status) -> str:
    places = ", ".join(str(place) for place in here.config.alarms.to)
    words = [
        f"You are told at {places}." if places else "Nobody is told: write to = … under [alarms] in digest.toml."
    ]
    if here.config.alarms.ping_url:
        gives = does_its_work(status.alarms)
        words.append("A sign of life is given." if gives else "No sign of life is given meanwhile.")
    if status.untold:
        words.append(f"Not told yet: {', '.join(status.untold)}.")
    return " ".join(words)


def _describe_system(here: Installation, status: Status) -> str:
    size = f"{status.size / _MEGABYTE:,.0f} MB" if status.size >= _MEGABYTE else f"{status.size / 1000:,.0f} kB"
    next_look = f"next look at arXiv from {status.next_poll_at.astimezone(EASTERN):%a %H:%M} ET"
    papers, zone = count(status.papers, "paper"), name_zone(here.zone, status.now)
    return f"{status.dialect}, {size}, {papers} · {next_look} · times: {zone}"


def _describe_workers(here: Installation, workers: Sequence[Worker]) -> list[str]:
    """Return a line for each process at work, and for each that fell silent."""
    lines = []
    for worker in workers:
        silent = write_age(timedelta(seconds=worker.silent_for))
        state = f"silent for {silent}: it has died, or can't reach the database"
        if not worker.is_gone:
            since = write_moment(worker.started_at, here.zone)
            state = f"at work since {since}, release {worker.release}, last sign {silent} ago"
        lines.append(f"{worker.host}:{worker.pid} {state}")
    return lines
