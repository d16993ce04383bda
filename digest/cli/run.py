"""`digest run`: one pass over everything that is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from digest.cli.opening import opened
from digest.cli.telling import Lines, json_option, print_json
from digest.errors import OutsideError, StoreBusy

if TYPE_CHECKING:
    from digest.pipeline import PassReport


@click.command()
@click.option("--now", "poll_anyway", is_flag=True, help="Ask arXiv even if the last look is still fresh.")
@json_option
@click.pass_context
def command(ctx: click.Context, *, poll_anyway: bool, as_json: bool) -> None:
    """Do everything that is due, once, and exit: ask arXiv, match, plan, deliver.

    Safe to call as often as you like: nothing is asked more often than arXiv's terms allow, and nothing
    is sent twice. Where `digest serve` is at work on the same database, it says so and does nothing.
    """
    from digest.pipeline import run_pass  # noqa: PLC0415 - the stack is loaded by the command that needs it

    with opened(ctx, progress=Lines(quiet=as_json)) as site:
        try:
            report = run_pass(site, poll_anyway=poll_anyway)
        except StoreBusy as busy:
            if as_json:
                print_json({"busy": busy.message})
            else:
                click.echo(f"{busy.message} Nothing was done here.")
            return
    if as_json:
        print_json(_as_json(report))
    else:
        _tell(report)
    if report.is_troubled:
        raise OutsideError(
            "; ".join([*report.poll.failures, *report.plan.failures, *report.deliver.dead, *report.deliver.held]),
            hint="What failed is kept and tried again by the next run; see digest status.",
        )


def _tell(report: PassReport) -> None:
    for name, problem in report.roster.unreadable:
        click.echo(f"saved query {name} can't be read and is left out:\n{problem}", err=True)
    if not report.poll.was_due:
        click.echo(f"arXiv: {report.poll.why_not or 'nothing to ask'} (`digest run --now` asks all the same).")
    elif report.poll.is_bootstrap and not report.poll.failures:
        click.echo(f"First look at arXiv: {report.poll.papers:,} papers known from here on; none of them is news.")
    sent = report.deliver.total
    if sent:
        ways = ", ".join(f"{kind} {count}" for kind, count in sorted(report.deliver.sent.items()))
        click.echo(
            f"{_count(len(report.plan.digests), 'digest')} planned, {_count(sent, 'message')} sent ({ways})."
        )
    else:
        click.echo("Nothing new to send." if not report.plan.digests else "Nothing was sent.")
    for line in report.deliver.retries:
        click.echo(f"will be tried again: {line}")
    for line in report.deliver.unknown:
        click.echo(f"fate unknown, will be asked about: {line}")
    if report.deliver.suppressed:
        click.echo(f"{report.deliver.suppressed} not sent: the reader has left.")
    if report.feeds:
        click.echo(f"{_count(report.feeds, 'feed file')} written.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _as_json(report: PassReport) -> dict[str, Any]:
    return {
        "roster": {
            "added": report.roster.added,
            "edited": report.roster.edited,
            "ended": report.roster.ended,
            "unreadable": dict(report.roster.unreadable),
        },
        "poll": {
            "was_due": report.poll.was_due,
            "is_bootstrap": report.poll.is_bootstrap,
            "runs": report.poll.runs,
            "pages": report.poll.pages,
            "papers": report.poll.papers,
            "changes": {str(kind): count for kind, count in report.poll.kinds.items()},
            "quarantined": report.poll.quarantined,
            "failures": report.poll.failures,
        },
        "match": {"changes": report.match.changes, "by_query": report.match.by_query},
        "plan": {
            "digests": [
                {
                    "subscription": digest.subscription,
                    "slot": digest.slot,
                    "occasion": str(digest.occasion),
                    "papers": [
                        {"id": str(entry.paper.id), "version": entry.paper.version, "kind": str(entry.kind)}
                        for entry in digest.entries
                    ],
                }
                for digest in report.plan.digests
            ],
            "quiet": report.plan.quiet,
            "waiting": report.plan.waiting,
            "failures": report.plan.failures,
        },
        "deliver": {
            "sent": report.deliver.sent,
            "retries": report.deliver.retries,
            "unknown": report.deliver.unknown,
            "held": report.deliver.held,
            "dead": report.deliver.dead,
            "suppressed": report.deliver.suppressed,
        },
        "feeds": report.feeds,
    }
