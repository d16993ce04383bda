"""`digest run`: one pass over everything that is due."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, tzinfo

import click

from digest.cli.context import Installation, describe_pending_edits, opened
from digest.cli.output import ProgressLines, as_dict, json_option, print_json, print_table, say
from digest.inspect.status import Trouble, describe_breaker, find_mistakes, find_stuck, join_causes
from digest.model.clock import write_age, write_day, write_with_zone
from digest.model.errors import AnotherWorker, OutsideError, count
from digest.model.messages import DeliveryState
from digest.poll.record import PollReport
from digest.serve.steps import PassReport, run_pass
from digest.site import Site
from digest.store.gate import Breaker, load_breaker
from digest.store.outbox import load_open_outbox
from digest.store.workers import load_job_turns, load_workers

_LONG_RUN = timedelta(minutes=15)
"""No run takes longer, unless it waits for somebody, or fetches what was announced in weeks."""

_NAMED = 8
"""Announcements named one by one at most."""


@click.command()
@click.option("--now", "poll_anyway", is_flag=True, help="Check arXiv even if the last check is still fresh.")
@click.option("--dry-run", is_flag=True, help="Only say what would go out.")
@json_option
@click.pass_context
def command(ctx: click.Context, *, poll_anyway: bool, dry_run: bool, as_json: bool) -> None:
    """Do all that is due, once: ask arXiv, match, plan, deliver.

    Call it as often as you like. It asks arXiv no more often than arXiv's terms allow, and sends nothing
    twice. While `digest serve` works on the same database, it does nothing and says so.
    """
    if dry_run:
        _preview_run(ctx, as_json=as_json)
        return
    with opened(ctx, progress=ProgressLines(quiet=as_json), warns=True) as site:
        try:
            report = run_pass(site, poll_anyway=poll_anyway)
        except AnotherWorker as busy:
            if as_json:
                print_json({"busy": busy.message})
            else:
                say(f"{busy.message.rstrip('.')}. Nothing was done here.")
            _refuse_long_run(site)
            return
        now = site.clock.now()
        with site.store.read() as conn:
            breaker = load_breaker(conn, site.clock)
            held = list(find_stuck(conn, (DeliveryState.HELD,), now, has_worker=False))
    if as_json:
        print_json(_as_json(report))
    else:
        _print_report(report, breaker, held, site.config.zone, now)
    if report.troubles:
        raise OutsideError(
            "; ".join(join_causes(report.troubles)),
            hint="`digest status` says what needs you. The rest is tried again by itself.",
        )


def _refuse_long_run(site: Site) -> None:
    """End badly where the other process is no `serve`, and has been at work for longer than a run takes."""
    with site.store.read() as conn:
        serving = {turn.owner for turn in load_job_turns(conn)}
        ages = [site.clock.now() - one.started_at for one in load_workers(conn) if one.owner not in serving]
    if ages and max(ages) > _LONG_RUN:
        raise OutsideError(
            f"another run has been at work for {write_age(max(ages))}, so nothing is sent meanwhile",
            hint="It may wait for a server that does not answer. Stop it, and the next run goes on.",
        )


def _preview_run(ctx: click.Context, *, as_json: bool) -> None:
    """Print what a run would send now, from what is stored."""
    from digest.cli.subscription import NONE_YET, describe_next_digest  # noqa: PLC0415 - a run itself needs none of it
    from digest.inspect.preview import preview_run  # noqa: PLC0415 - the same

    with opened(ctx, create=False) as site, site.store.read() as conn:
        turns, now = preview_run(conn, site), site.clock.now()
        ready = load_open_outbox(conn, now).counts.get(DeliveryState.READY, 0)
        drift, slips = describe_pending_edits(site.config, conn), list(find_mistakes(conn, site.config))
        here = Installation(site.config, site.store, site.clock, now, site.config.zone)
    if as_json:
        due = [{"subscription": one.line.name, **as_dict(one, "line"), **as_dict(one.line)} for one in turns]
        print_json({"subscriptions": due, "messages_waiting": ready, "edited": drift, "problems": slips})
        return
    rows = [
        [
            one.line.name,
            one.edit or ("now" if one.is_due else describe_next_digest(here, one.line)),
            f"{one.papers:>6,}" if one.is_due and one.papers is not None else "     –",
            ", ".join(map(here.show, one.line.destinations)),
        ]
        for one in turns
    ]
    print_table(["SUBSCRIPTION", "WHEN", "PAPERS", "TO"], rows, empty=drift or NONE_YET)
    if ready:
        say(f"{count(ready, 'message')} of earlier digests {'waits' if ready == 1 else 'wait'} to be sent.")
    if drift and turns:
        say(f"\n{drift}")
    for one in slips:
        say(f"\n{one.what}. {one.remedy}")
    say("\nNothing was asked, stored or sent. What arXiv has announced since the last check would be added.")


def _print_report(
    report: PassReport, breaker: Breaker, held: Iterable[Trouble], zone: tzinfo | None, now: datetime
) -> None:
    for doubt in report.config.doubts:
        say(doubt, err=True)
    for remark in report.config.remarks:
        say(f"{remark}.")
    _print_poll(report, breaker, now)
    for trouble in report.libraries.troubles:
        say(trouble, err=True)
    _print_deliveries(report)
    _print_unfinished(report, zone, now)
    for one in held:
        say(f"{one.what.rstrip('.')}. {one.remedy}")
    for alarm in report.watch.due:
        say(f"ATTENTION: {alarm.what}. {alarm.remedy}", err=True)


def _print_poll(report: PassReport, breaker: Breaker, now: datetime) -> None:
    if report.poll.failures and report.poll.runs:
        say("arXiv answered only in part. The next check asks for the rest.")
    elif report.poll.failures:
        say("arXiv could not be checked. The next check finds what was announced meanwhile.")
    elif not report.poll.was_due and breaker.seconds:
        say(f"No check was made: {describe_breaker(breaker)[0]}.")
    elif not report.poll.was_due:
        why = report.poll.why_not or "nothing to ask"
        say(f"No check of arXiv was due: {why} (`digest run --now` checks right away).")
    elif report.poll.caught_up:
        say(f"Caught up with {_describe_announcements(report.poll, now)}.")
    elif report.poll.is_bootstrap:
        say("First check done. From now on you get only newly announced papers.")

    if report.poll.awaiting:
        say("arXiv did not answer for every new query. Their first digests follow later.")


def _describe_announcements(poll: PollReport, now: datetime) -> str:
    """Name the announcements that a check brought, each with how many papers, estimated from the order of ids."""
    brought = [f"{write_day(day, now)} ({poll.announcements[day]:,} new)" for day in poll.caught_up]
    if len(brought) > _NAMED:
        brought[2:-1] = [f"… {len(brought) - 3} more …"]
    return f"the announcements of {', '.join(brought[:-1])} and {brought[-1]}"


def _print_deliveries(report: PassReport) -> None:
    sent = report.deliver.total
    for name in report.plan.held_by_quiet_hours:
        say(f"{name} has quiet hours now. What waits is sent by a run after them.")
    if sent:
        ways = ", ".join(f"{kind} {number}" for kind, number in sorted(report.deliver.sent.items()))
        digests = count(len(report.plan.digests), "digest")
        say(f"{digests} planned, {count(sent, 'message')} sent ({ways}).")
    elif not report.feeds.written:
        waits = report.waiting or report.in_doubt.number or report.held.ids
        is_quiet = not (report.plan.digests or report.plan.held_by_quiet_hours or report.troubles or waits)
        say("Nothing new to send." if is_quiet else "Nothing was sent.")
    if report.deliver.suppressed:
        say(f"{report.deliver.suppressed} not sent: the reader unsubscribed.")
    if report.feeds.written:
        say(f"{count(report.feeds.written, 'feed file')} written.")


def _print_unfinished(report: PassReport, zone: tzinfo | None, now: datetime) -> None:
    """Say what is left in the outbox, and what it waits for."""
    if report.waiting:
        waiting = count(report.waiting, "message")
        say(f"{waiting} waiting for the next try (`digest delivery list --state waiting`).")
    if report.in_doubt.first_at is not None:
        doubtful = count(report.in_doubt.number, "message")
        since = write_with_zone(report.in_doubt.first_at, zone, now)
        say(f"{doubtful} may have arrived. Digest checks that from {since} on (`digest delivery list`).")


def _as_json(report: PassReport) -> dict[str, object]:
    """Return the report by field; of a digest which papers it holds."""
    digests = [
        {
            **as_dict(digest, "entries", "coverage", "queries"),
            "papers": [
                {"id": entry.paper.id, "version": entry.paper.version, "kind": entry.kind}
                for entry in digest.entries
            ],
        }
        for digest in report.plan.digests
    ]
    return {
        **as_dict(report),
        "match": {"changes": report.match.changes, "by_query": report.match.by_query},
        "plan": {**as_dict(report.plan), "digests": digests},
    }
