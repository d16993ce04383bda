"""`digest run`: one pass over everything that is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.context import opened
from digest.cli.delivery import describe_holds
from digest.cli.output import Lines, as_dict, json_option, print_json
from digest.config.zones import choose_zone, write_with_zone
from digest.model.errors import AnotherWorker, OutsideError, StoreError, count
from digest.serve.steps import run_pass

if TYPE_CHECKING:
    from datetime import tzinfo

    from digest.poll.record import PollReport
    from digest.serve.steps import PassReport

_NAMED = 8
"""Mailings named one by one at most."""


@click.command()
@click.option("--now", "poll_anyway", is_flag=True, help="Ask arXiv even if the last look is still fresh.")
@json_option
@click.pass_context
def command(ctx: click.Context, *, poll_anyway: bool, as_json: bool) -> None:
    """Do everything that is due, once, and exit: ask arXiv, match, plan, deliver.

    Safe to call as often as you like: nothing is asked more often than arXiv's terms allow, and nothing
    is sent twice. Where `digest serve` is at work on the same database, it says so and does nothing.
    """
    with opened(ctx, progress=Lines(quiet=as_json), warns=True) as site:
        try:
            report = run_pass(site, poll_anyway=poll_anyway)
        except AnotherWorker as busy:
            if as_json:
                print_json({"busy": busy.message})
            else:
                click.echo(f"{busy.message.rstrip('.')}. Nothing was done here.")
            return
    if as_json:
        print_json(_as_json(report))
    else:
        _tell(report, choose_zone(site.config))
    if report.is_restored:
        raise StoreError(
            "this database was restored: nothing is planned or sent until you say how to go on",
            hint="`digest db resume --help` says how.",
        )
    if report.troubles:
        raise OutsideError(
            "; ".join(report.troubles),
            hint="What is dead or held waits for you, all else for its time: `digest status` says how all stands.",
        )


def _tell(report: PassReport, zone: tzinfo | None) -> None:
    for doubt in report.roster.doubts:
        click.echo(doubt, err=True)
    for remark in report.roster.remarks:
        click.echo(f"{remark}.")
    _tell_poll(report)
    _tell_deliveries(report)
    _tell_left(report, zone)
    if report.holds.ids:
        click.echo(describe_holds(report.holds))
    for alarm in report.watch.due:
        click.echo(f"ATTENTION: {alarm.what}. {alarm.remedy}", err=True)


def _tell_poll(report: PassReport) -> None:
    if report.poll.failures and report.poll.runs:
        click.echo("Part of what arXiv was asked for did not come: the next look asks for it again.")
    elif report.poll.failures:
        click.echo(
            "arXiv could not be looked at. What was announced meanwhile is found by the next look, and told at the"
            " next turn that each subscription has then (digest subscription list)."
        )
    elif not report.poll.was_due:
        click.echo(f"arXiv: {report.poll.why_not or 'nothing to ask'} (`digest run --now` asks all the same).")
    elif report.poll.caught_up:
        click.echo(f"Caught up with {_describe_mailings(report.poll)}.")
    elif report.poll.is_bootstrap:
        click.echo("This was the first look at arXiv: what it found is known from here on and is no news.")


def _describe_mailings(poll: PollReport) -> str:
    """Name the mailings that one look brought, each with how many papers; estimated from the order of ids."""
    brought = [f"{day:%a %-d %b} ({poll.mailings[day]:,} new)" for day in poll.caught_up]
    if len(brought) > _NAMED:
        brought[2:-1] = [f"… {len(brought) - 3} more …"]
    return f"the mailings of {', '.join(brought[:-1])} and {brought[-1]}"


def _tell_deliveries(report: PassReport) -> None:
    sent = report.deliver.total
    for name in report.plan.resting:
        click.echo(f"{name} has quiet hours now: what waits goes out with a run behind them.")
    if sent:
        ways = ", ".join(f"{kind} {number}" for kind, number in sorted(report.deliver.sent.items()))
        digests = count(len(report.plan.digests), "digest")
        click.echo(f"{digests} planned, {count(sent, 'message')} sent ({ways}).")
    else:
        waits = report.waiting or report.in_doubt.number or report.holds.ids or report.is_restored
        is_quiet = not (report.plan.digests or report.plan.resting or report.troubles or waits)
        click.echo("Nothing new to send." if is_quiet else "Nothing was sent.")
    for line in report.deliver.retries:
        click.echo(f"will be tried again: {line}")
    for line in report.deliver.unknown:
        click.echo(f"may have arrived: {line}")
    if report.deliver.suppressed:
        click.echo(f"{report.deliver.suppressed} not sent: the reader has left.")
    if report.feeds.written:
        click.echo(f"{count(report.feeds.written, 'feed file')} written.")


def _tell_left(report: PassReport, zone: tzinfo | None) -> None:
    """Say what is left in the outbox, and what it waits for."""
    if report.is_restored:
        return
    if report.waiting:
        click.echo(f"{count(report.waiting, 'message')} waiting for the next try (digest delivery list).")
        click.echo("`digest delivery retry ID` has one of them sent with the next run.")
    if report.in_doubt.first_at is not None:
        looked = "it is looked into" if report.in_doubt.number == 1 else "they are looked into"
        since = write_with_zone(report.in_doubt.first_at, zone)
        doubtful = count(report.in_doubt.number, "message")
        click.echo(f"{doubtful} may have arrived; {looked} from {since} on (digest delivery list).")


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
