"""`digest alarm test`: whether the operator would hear of what is amiss."""

from __future__ import annotations

import click

from digest.cli.opening import opened
from digest.cli.telling import json_option, print_json
from digest.errors import ConfigurationError, DigestError, OutsideError
from digest.pipeline.alarms import send_test


@click.group()
def command() -> None:
    """Alarms: a test whether they reach you; `digest status` says what is amiss."""


@command.command()
@json_option
@click.pass_context
def test(ctx: click.Context, *, as_json: bool) -> None:
    """Send a test to where you would be told, and give a sign of life.

    Exit code 3 where nobody would be told, 4 where a place did not take it.
    """
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
