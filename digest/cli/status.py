"""`digest status`: one screen that says what works, what does not, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.opening import opened
from digest.cli.telling import json_option, print_json, print_table

if TYPE_CHECKING:
    from digest.pipeline.status import Status

_BARS = "▁▂▃▄▅▆▇█"


@click.command()
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Say in one screen what works, what does not, and what comes next."""
    from digest.pipeline.status import load_status  # noqa: PLC0415 - the stack is loaded by the command that needs it

    with opened(ctx, create=True) as site:
        status = load_status(site)
    if as_json:
        print_json(status.as_json())
        return
    for line, remedy in status.attention:
        click.echo(f"{click.style('ATTENTION', fg='red', bold=True)}  {line}{f'  → {remedy}' if remedy else ''}")
    for label, lines in (("arXiv", status.arxiv),):
        for number, line in enumerate(lines):
            click.echo(f"{label if number == 0 else '':<11}{line}")
    click.echo()
    _print_subscriptions(status)
    click.echo()
    click.echo(f"{'Outbox':<11}{status.outbox}")
    click.echo(f"{'System':<11}{status.system}")


def _print_subscriptions(status: Status) -> None:
    print_table(
        ["SUBSCRIPTION", "TO", "QUERIES", "LAST", "NEXT", "30 DAYS"],
        [
            [line.name, line.to, line.queries, line.last, line.next, f"{_sparkline(line.days)} {sum(line.days)}"]
            for line in status.subscriptions
        ],
        empty="No subscriptions yet: name one in digest.toml, or start with `digest init`.",
    )


def _sparkline(counts: tuple[int, ...]) -> str:
    """Draw up to 30 days as five bars of six days each."""
    weeks = [sum(counts[start : start + 6]) for start in range(0, len(counts), 6)]
    highest = max(weeks, default=0) or 1
    return "".join(_BARS[min(len(_BARS) - 1, week * (len(_BARS) - 1) // highest)] for week in weeks)
