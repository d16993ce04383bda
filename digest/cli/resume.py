"""`digest resume`: a restored database may work again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.telling import json_option, print_json
from digest.counting import count
from digest.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime, tzinfo


@click.command()
@click.option(
    "--since",
    metavar="MOMENT",
    help="What was due by then was sent already: 2026-11-20T08:30Z; without a zone, in that of the screens.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, since: str | None, *, as_json: bool) -> None:
    """Let a restored database plan and send again.

    Without --since everything that waits goes out, each paper once, also those that the database before had
    sent after the backup. With --since MOMENT, whatever was due by then counts as sent: its deliveries are
    dropped, and papers whose turn had come by then are told no more. When in doubt name an earlier moment:
    some papers come twice then, and none is missed. So may what was replaced, cross-listed or edited, whatever
    the moment: arXiv does not always tell when that was announced. `digest restore --status` shows what waits,
    and the last moment at which the database before is known to have sent all that was due.

    A moment that says no zone is read in the one that screens show: that of `when` under [defaults], else the
    one that all subscriptions share, else this machine's. 2026-11-20T08:30Z is UTC whatever that is.
    """
    from digest.cli.storing import opened_store  # noqa: PLC0415 - the stack is loaded by the command that needs it
    from digest.config.zones import write_with_zone  # noqa: PLC0415 - the same
    from digest.pipeline.resuming import resume  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, here.store.begin() as conn:
        moment = _read_moment(since, here.zone) if since is not None else None
        resumed = resume(conn, here.config.arxiv.source, here.now, since=moment)
    if as_json:
        since_then = {"since": moment} if moment is not None else {}
        print_json({"released": resumed.released, "dropped": resumed.dropped, "told": resumed.told, **since_then})
        return
    if moment is not None:
        dropped = count(resumed.dropped, "delivery", "deliveries")
        papers = f"{count(resumed.told, 'paper')} that had come due by {write_with_zone(moment, here.zone)}"
        click.echo(f"Taken as sent: {dropped}, and {papers} ({moment:%Y-%m-%dT%H:%M:%SZ}).")
    released = count(resumed.released, "delivery", "deliveries")
    click.echo(f"Working again: {released} released. The next `digest run` sends, or `digest serve` at once.")


def _read_moment(text: str, zone: tzinfo | None) -> datetime:
    """Return a moment as it was written (UTC): in its own zone, or in that of all screens.

    Raises:
        UsageError: it is none.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - the same

    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is no moment", hint="Write day and time: 2026-11-20T09:30, or 2026-11-20T08:30Z."
        ) from error
