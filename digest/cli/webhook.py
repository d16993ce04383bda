"""`digest webhook`: a secret to sign with, what a receiver gets, and a try."""

from __future__ import annotations

import secrets

import click

from digest.cli.commands import CommandGroup
from digest.cli.context import opened
from digest.cli.output import json_option, print_json
from digest.config.values import write_signing_key
from digest.model.errors import UsageError
from digest.model.subscriptions import Destination, DestinationKind
from digest.serve.alarms import send_test_to

_KEY_BYTES = 32


@click.group(cls=CommandGroup)
def command() -> None:
    """Signed JSON to other programs: make a secret."""


@command.command()
def secret() -> None:
    """Make a secret for DIGEST_WEBHOOKS_NAME_SECRET.

    The receiver needs the same. It is not kept anywhere.
    """
    click.echo(write_signing_key(secrets.token_bytes(_KEY_BYTES)))


@command.command()
@json_option
@click.argument("name")
@click.pass_context
def test(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Post a signed message to one webhook that says it is a test.

    Its type is alarm.raised, with `is_test`. Exit code 4 where it was not taken.
    """
    with opened(ctx, warns=True) as site:
        if name not in site.config.webhooks:
            write = f"Write url under [webhooks.{name}] in digest.toml; `digest webhook secret` makes its secret."
            raise UsageError(f"there is no webhook {name!r} with url and secret", hint=write)
        receipt = send_test_to(site, Destination(DestinationKind.WEBHOOK, name))
    if as_json:
        print_json({"webhook": name, "taken": True, "answer": receipt.detail})
    else:
        click.echo(f"webhook {name} took it: {receipt.detail}")
