"""`digest send --test`: a digest sent to the operator alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.opening import opened
from digest.cli.preview import choose_digest, choosing
from digest.cli.telling import json_option, print_json
from digest.errors import DigestError, OutsideError, UsageError
from digest.pipeline.foretelling import send_trial

if TYPE_CHECKING:
    from datetime import datetime

    from digest.cli.preview import Chosen
    from digest.pipeline.site import Site
    from digest.subscriptions import Destination


@click.command()
@click.argument("name", metavar="SUBSCRIPTION")
@choosing
@click.option("--test", "is_test", is_flag=True, help="To the operator only: the places that alarms.to names.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    name: str,
    number: int | None,
    day: datetime | None,
    wants_next: bool,
    is_test: bool,
    as_json: bool,
) -> None:
    """Send a digest to the operator, to try how it arrives.

    Its readers get nothing, and nothing is marked as sent. Exit code 4 where a place did not take it.
    """
    if not is_test:
        raise UsageError(
            "digests are sent by `digest run` and `digest serve`, when their turn comes",
            hint=f"To try one on yourself: digest send {name} --test",
        )
    with opened(ctx, create=False, warns=True) as site:
        if not site.config.alarms.to:
            raise UsageError("nobody is the operator", hint='Below [alarms], write to = "mailto:you@example.org".')
        with site.store.read() as conn:
            date = day.date() if day else None
            chosen = choose_digest(conn, site, name, number=number, day=date, wants_next=wants_next)
        results = [(place, *_try(site, chosen, place)) for place in site.config.alarms.to]
    if as_json:
        sent = [{"to": str(place), "messages": count, "error": failure} for place, count, failure in results]
        print_json({"digest": chosen.what, "sent": sent})
    else:
        click.echo(chosen.what)
        for place, count, failure in results:
            messages = f"{count} message{'s' * (count != 1)}"
            click.echo(f"  {place}: " + (f"not taken: {failure}" if failure else f"sent, {messages}"))
    if any(failure for _, _, failure in results):
        ctx.exit(OutsideError.exit_code)


def _try(site: Site, chosen: Chosen, place: Destination) -> tuple[int, str]:
    """Send it to one place; return how many messages that took, and what went wrong."""
    try:
        return len(send_trial(site, chosen.digest, place, chosen.links)), ""
    except DigestError as error:
        return 0, error.message
