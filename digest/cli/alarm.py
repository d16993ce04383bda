"""`digest alarm`: what is amiss by the clock, who was told, and whether telling works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.opening import opened
from digest.cli.storing import opened_store
from digest.cli.telling import json_option, print_json, print_table
from digest.errors import ConfigurationError, DigestError, OutsideError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from digest.cli.storing import Installation
    from digest.config import Config
    from digest.planning.alarms import Alarm
    from digest.store.alarms import StoredAlarm


@click.group()
def command() -> None:
    """Alarms: what should have happened by now and has not; who was told; a test."""


@command.command("list")
@json_option
@click.pass_context
def list_alarms(ctx: click.Context, *, as_json: bool) -> None:
    """List what is amiss, when it was raised, and when you were told.

    Alarms are raised by `digest run` and `digest serve`; this command tells nobody.
    """
    from digest.messages import DeliveryState  # noqa: PLC0415 - the stack is loaded by what needs it
    from digest.pipeline.watching import look_for_alarms  # noqa: PLC0415 - the same
    from digest.store import alarms as alarm_store  # noqa: PLC0415 - the same
    from digest.store import overview  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, here.store.read() as conn:
        found = look_for_alarms(conn, here.config, here.now)
        kept = {alarm.name: alarm for alarm in alarm_store.list_alarms(conn)}
        dead = overview.load_open(conn, here.now).counts.get(DeliveryState.DEAD, 0)
    if as_json:
        print_json(
            {
                "to": [str(place) for place in here.config.alarms.to],
                "pings": bool(here.config.alarms.ping_url),
                "alarms": [_as_json(alarm, kept.get(alarm.name)) for alarm in found],
            }
        )
        return
    print_table(
        ["ALARM", "RAISED", "TOLD", "WHAT"],
        [[alarm.name, *_describe(here, kept.get(alarm.name)), alarm.what] for alarm in found],
        empty=_describe_none(dead),
    )
    click.echo(f"\n{describe_ways(here.config, found)}")


def _describe_none(dead: int) -> str:
    """Say that no alarm lasts; what stays given up is named all the same."""
    if not dead:
        return "Nothing is amiss."
    left = "1 delivery stays" if dead == 1 else f"{dead:,} deliveries stay"
    return f"No alarm lasts. {left} given up: digest delivery list --state dead."


def _describe(here: Installation, kept: StoredAlarm | None) -> tuple[str, str]:
    from digest.cli.wording import write_moment  # noqa: PLC0415 - the same

    if kept is None or kept.ended_at is not None:
        return "now", "not yet"
    told = write_moment(kept.told_at, here.zone) if kept.told_at else "not yet"
    return write_moment(kept.since, here.zone), told


def describe_ways(config: Config, found: Iterable[Alarm]) -> str:
    """Say where the operator is told of alarms, and whether a sign of life is given with those that are found."""
    from digest.planning.alarms import does_its_work  # noqa: PLC0415 - the stack is loaded by what needs it

    if not config.alarms.ping_url:
        return _describe_places(config)
    gives = "A sign of life is given." if does_its_work(found) else "No sign of life is given meanwhile."
    return f"{_describe_places(config)} {gives}"


def _describe_places(config: Config) -> str:
    places = ", ".join(str(place) for place in config.alarms.to)
    return (
        f"You are told at {places}." if places else "Nobody is told: write to = … under [alarms] in digest.toml."
    )


def _as_json(alarm: Alarm, kept: StoredAlarm | None) -> dict[str, object]:
    lasts = kept is not None and kept.ended_at is None
    return {
        "name": alarm.name,
        "what": alarm.what,
        "do": alarm.remedy,
        "since": kept.since if kept and lasts else None,
        "told_at": kept.told_at if kept and lasts else None,
    }


@command.command()
@json_option
@click.pass_context
def test(ctx: click.Context, *, as_json: bool) -> None:
    """Send a test to where you would be told, and give a sign of life.

    Exit code 3 where nobody would be told, 4 where a place did not take it.
    """
    from digest.pipeline.raising import send_test  # noqa: PLC0415 - the same

    with opened(ctx, create=False, warns=True) as site:
        config = site.config
        results, ping = send_test(site)
    failed = [f"{place}: {came.message}" for place, came in results if isinstance(came, DigestError)]
    if as_json:
        print_json(
            {
                "sent": [str(place) for place, came in results if not isinstance(came, DigestError)],
                "failures": failed,
                "ping": (ping or "answered") if config.alarms.ping_url else None,
            }
        )
    elif not results and config.alarms.ping_url:
        click.echo(_describe_places(config))
    for place, came in results:
        if not as_json and not isinstance(came, DigestError):
            click.echo(f"sent to {place}: {came.detail}")
    if config.alarms.ping_url and not ping and not as_json:
        click.echo("the ping address answered")
    if not results and not config.alarms.ping_url:
        raise ConfigurationError("nobody is told", hint="Write to = … under [alarms] in digest.toml.")
    if failed or ping:
        raise OutsideError(
            "; ".join([*failed, *([ping] if ping else [])]),
            hint="Nothing else was touched; mend it and try again.",
        )
