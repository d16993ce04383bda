"""`digest run`: one pass over everything that is due."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from digest.cli.context import find_here, opened
from digest.cli.output import Aside, Part, ProgressLines, answers, table
from digest.inspect.coverage import find_next_check
from digest.inspect.here import Here
from digest.inspect.queries import describe_pending_edits
from digest.inspect.schedule import find_schedule_mistake
from digest.inspect.status import (
    Trouble,
    describe_breaker,
    find_mistakes,
    find_stuck,
    is_said,
    join_causes,
)
from digest.inspect.subscriptions import NONE_YET, Waiting, describe_next_digest, find_waiting
from digest.model.clock import write_age, write_day, write_with_zone
from digest.model.errors import AnotherWorker, OutsideError, UsageError
from digest.model.messages import DeliveryState
from digest.model.numbers import count
from digest.poll.coverage import load_visible
from digest.poll.record import PollReport
from digest.serve.steps import PassReport, run_pass
from digest.site import Site
from digest.store import outbox, workers
from digest.store.gate import Breaker, load_breaker

if TYPE_CHECKING:
    from digest.inspect.preview import ForeseenRun

_LONG_RUN = timedelta(minutes=15)
"""No run takes longer, unless it waits for somebody, or fetches what was announced in weeks."""

_WAIT = re.compile(r"([0-9]|[1-3][0-9]|4[0-5])m")

_NAMED = 8
"""Announcements named one by one at most."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one pass did, without the papers of its digests.

    It names the messages that are retried, and those that are held for the operator.
    `is_checked`: what arXiv shows by now was checked to its end; if not, `next_poll_at` is the
    next check (UTC).
    `schedule` is what is amiss with that of the workflow; "" for nothing.
    """

    here: Here
    report: PassReport
    is_checked: bool
    next_poll_at: datetime
    waiting: Waiting
    breaker: Breaker
    retried: tuple[Trouble, ...]
    held: tuple[Trouble, ...]
    schedule: str
    failure: OutsideError | None


@dataclass(frozen=True, slots=True)
class Busy:
    """Another process is at work, so nothing was done; it is a failure if that takes too long."""

    busy: str
    failure: OutsideError | None


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a run would send now, what waits, and what of the file was edited or is wrong."""

    here: Here
    subscriptions: tuple[ForeseenRun, ...]
    messages_waiting: int
    edited: str
    problems: tuple[Trouble, ...]


def _show(answer: Run | Busy | Foresight) -> Iterator[Part]:
    match answer:
        case Run():
            yield from _print_report(answer)
        case Busy():
            yield f"{answer.busy.rstrip('.')}. Nothing was done here."
        case Foresight():
            yield from _preview_run(answer)


def _preview_run(found: Foresight) -> Iterator[Part]:
    rows = [_describe_foreseen(found.here, one) for one in found.subscriptions]
    yield table(("SUBSCRIPTION", "WHEN", "PAPERS", "TO"), rows, empty=found.edited or NONE_YET)
    ready = found.messages_waiting
    if ready:
        verb = "waits" if ready == 1 else "wait"
        yield f"{count(ready, 'message')} of earlier digests {verb} to be sent."
    if found.edited and rows:
        yield f"\n{found.edited}"
    for one in found.problems:
        yield f"\n{one.what}. {one.remedy}"
    yield (
        "\nNothing was asked, stored or sent. "
        "What arXiv has announced since the last check would be added."
    )


def _describe_foreseen(here: Here, one: ForeseenRun) -> tuple[str | int, ...]:
    settings = one.line.settings
    if one.edit:
        when = one.edit
    elif one.is_due:
        when = "now"
    else:
        when = describe_next_digest(here, one.line)
    papers = one.papers if one.is_due and one.papers is not None else "–"
    places = ", ".join(map(here.show, settings.destinations))
    return (settings.name, when, papers, places)


def _print_report(run: Run) -> Iterator[Part]:
    report = run.report
    if report.corrections is not None:
        moments = [f"{what} {number}" for what, number in report.corrections.items()]
        righted = ", ".join(moments) or "nothing"
        yield f"This machine's clock counts. Put right: {righted}."
    yield from map(Aside, report.config.doubts)
    for remark in report.config.remarks:
        yield f"{remark}."
    if run.schedule:
        yield Aside(run.schedule)
    yield from _print_poll(run)
    yield from map(Aside, report.libraries.troubles)
    yield from _print_deliveries(run)
    yield from _print_waiting(run.here, run.waiting)
    yield from _print_unsent(run)
    for alarm in report.watch.due:
        if not is_said(alarm, run.retried):
            yield Aside(f"ATTENTION: {alarm.what}. {alarm.remedy}")


def _print_unsent(run: Run) -> Iterator[Part]:
    """Say which messages wait, which may have arrived, and what keeps others back."""
    here = run.here
    waiting = run.report.waiting
    if waiting and not run.retried:
        messages = count(waiting, "message")
        yield f"{messages} not sent yet: `digest delivery list --state waiting`."
    in_doubt = run.report.in_doubt
    if in_doubt.first_at is not None:
        messages = count(in_doubt.number, "message")
        since = write_with_zone(in_doubt.first_at, here.zone, here.now)
        yield (
            f"{messages} may have arrived. "
            f"Digest checks that from {since} on (`digest delivery list`)."
        )
    for one in (*run.retried, *run.held):
        what = str(one.what).rstrip(".")
        yield f"{what}. {one.remedy}"


def _print_poll(run: Run) -> Iterator[Part]:
    poll = run.report.poll
    here = run.here
    again = write_with_zone(run.next_poll_at, here.zone, here.now)
    if poll.failures and poll.runs:
        yield f"arXiv answered only in part. The next check, from {again} on, asks for the rest."
    elif poll.failures:
        yield (
            "arXiv could not be checked. "
            f"The next check, from {again} on, finds what was announced meanwhile."
        )
    elif not poll.was_due and run.breaker.seconds:
        why, *_ = describe_breaker(run.breaker)
        yield f"No check was made: {why}."
    elif not poll.was_due:
        why = poll.why_not or "nothing to ask"
        yield f"No check of arXiv was due: {why} (`digest run --now` checks right away)."
    elif poll.caught_up:
        yield f"Caught up with {_describe_announcements(poll, here.now)}."
    elif poll.is_bootstrap:
        yield "First check done. From now on you get only newly announced papers."
    if poll.awaiting:
        yield "arXiv did not answer for every new query. First digests that need it follow later."


def _describe_announcements(poll: PollReport, now: datetime) -> str:
    """Name the announcements that a check brought, each with how many papers.

    The numbers are estimated from the order of ids.
    """
    brought = [f"{write_day(day, now)} ({poll.announcements[day]:,} new)" for day in poll.caught_up]
    if len(brought) > _NAMED:
        brought[2:-1] = [f"… {len(brought) - 3} more …"]
    *others, last = brought
    return f"the announcements of {', '.join(others)} and {last}"


def _print_deliveries(run: Run) -> Iterator[Part]:
    report = run.report
    for name in report.plan.held_by_quiet_hours:
        yield f"{name} has quiet hours now. What waits is sent by a run after them."
    written = []
    if report.feeds.written:
        written.append(count(report.feeds.written, "feed file"))
    if report.feeds.pages:
        written.append(count(report.feeds.pages, "page"))
    sent = report.deliver.total
    if sent:
        ways = ", ".join(f"{kind} {number}" for kind, number in sorted(report.deliver.sent.items()))
        digests = count(len(report.plan.digests), "digest")
        yield f"{digests} planned, {count(sent, 'message')} sent ({ways})."
    elif not written:
        yield "Nothing new to send." if _is_quiet(run) else "Nothing was sent."
    if report.deliver.suppressed:
        yield f"{report.deliver.suppressed} not sent: the reader unsubscribed."
    if written:
        yield f"{', '.join(written)} written."


def _is_quiet(run: Run) -> bool:
    """Whether all was checked, and there is nothing that could have been sent."""
    report = run.report
    is_waiting = (
        report.waiting or report.in_doubt.number or report.held.ids or run.waiting.subscriptions
    )
    return run.is_checked and not (report.plan.digests or report.troubles or is_waiting)


def _print_waiting(here: Here, waiting: Waiting) -> Iterator[Part]:
    """Say of the first subscriptions what waits for each, for what, and when it goes."""
    for line in waiting.first:
        yield f"Next digest of {line.settings.name}: {describe_next_digest(here, line)}."
    more = waiting.subscriptions - len(waiting.first)
    if more:
        papers = count(waiting.papers, "paper")
        yield f"{papers} wait in all, for {more:,} more: `digest subscription list`."


def _read_wait(
    _ctx: click.Context,
    _param: click.Parameter,
    value: str,
) -> timedelta:
    found = _WAIT.fullmatch(value.strip())
    if found is None:
        raise UsageError(
            f"{value!r} is no time to wait", hint="Write --wait 30m, of at most 45 minutes."
        )
    return timedelta(minutes=int(found[1]))


@click.command()
@click.option(
    "--now", "poll_anyway", is_flag=True, help="Check arXiv even if the last check is still fresh."
)
@click.option("--dry-run", is_flag=True, help="Only say what would go out.")
@click.option(
    "--wait",
    "longest_wait",
    metavar="TIME",
    default="0m",
    callback=_read_wait,
    help="Wait for what is due within this time, such as 30m: "
    "a workflow starts early, since it may start late.",
)
@click.option("--start-new", is_flag=True, help="Begin anew if the branch with the state is gone.")
@click.option(
    "--accept-clock",
    "accepts_clock",
    is_flag=True,
    help="Trust this machine's clock: put right what another wrote of the future.",
)
@answers(_show)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    poll_anyway: bool,
    dry_run: bool,
    longest_wait: timedelta,
    start_new: bool,
    accepts_clock: bool,
) -> Run | Busy | Foresight:
    """Do all that is due, once: ask arXiv, match, plan, deliver.

    Call it as often as you like. It asks arXiv no more often than arXiv's terms allow, and sends
    nothing twice. While `digest serve` works on the same database, it does nothing and says so.
    """
    if dry_run:
        return _look_ahead(ctx)
    with opened(
        ctx, progress=ProgressLines(), start_new=start_new, migrates=True, warns=True
    ) as site:
        try:
            report = run_pass(
                site,
                poll_anyway=poll_anyway,
                longest_wait=longest_wait,
                accepts_clock=accepts_clock,
            )
        except AnotherWorker as busy:
            return Busy(busy.message, _find_long_run(site))
        report.plan.digests = [replace(one, entries=()) for one in report.plan.digests]
        return _sum_up(site, report)


def _sum_up(site: Site, report: PassReport) -> Run:
    """Gather what a pass came to, as the store has it afterwards."""
    here = find_here(site.config, site.clock)
    source = site.config.arxiv.source
    with site.store.read() as conn:
        held = tuple(find_stuck(conn, (DeliveryState.HELD,), here))
        return Run(
            here=here,
            report=report,
            is_checked=load_visible(conn, source, here.now).is_complete,
            next_poll_at=find_next_check(conn, source, site.clock, here.now),
            waiting=find_waiting(conn, site.config, site.clock, here.now),
            breaker=load_breaker(conn, site.clock),
            retried=tuple(find_stuck(conn, (DeliveryState.READY,), here)),
            held=held,
            schedule=find_schedule_mistake(site.config, here.now.year),
            failure=_find_failure(report, held),
        )


def _find_failure(report: PassReport, held: Sequence[Trouble]) -> OutsideError | None:
    said = join_causes(report.troubles) or [str(one.what) for one in held]
    if not said:
        return None
    return OutsideError(
        "; ".join(said),
        hint="`digest status` says what needs you. The rest is tried again by itself.",
    )


def _look_ahead(ctx: click.Context) -> Foresight:
    from digest.inspect.preview import preview_run  # noqa: PLC0415 - a run that acts needs none

    with opened(ctx, create=False) as site, site.store.read() as conn:
        here = find_here(site.config, site.clock)
        waiting = outbox.load_open(conn, here.now)
        return Foresight(
            here=here,
            subscriptions=tuple(preview_run(conn, site)),
            messages_waiting=waiting.counts.get(DeliveryState.READY, 0),
            edited=describe_pending_edits(site.config, conn),
            problems=tuple(find_mistakes(conn, site.config)),
        )


def _find_long_run(site: Site) -> OutsideError | None:
    """Return an error if the other process is no `serve`, and has been at work for too long."""
    now = site.clock.now()
    longest = _LONG_RUN
    with site.store.read() as conn:
        serving = {turn.owner for turn in workers.load_job_turns(conn)}
        for one in workers.load(conn):
            if one.owner not in serving:
                longest = max(longest, now - one.started_at)
    if longest == _LONG_RUN:
        return None
    return OutsideError(
        f"another run has been at work for {write_age(longest)}, so nothing is sent meanwhile",
        hint="It may wait for a server that does not answer. Stop it, and the next run goes on.",
    )
