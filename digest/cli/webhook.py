"""`digest webhook`: a secret to sign with."""

from __future__ import annotations

import secrets

import click

from digest.cli.commands import CommandGroup
from digest.cli.output import echo
from digest.config.values import write_signing_key


@click.group(cls=CommandGroup)
def command() -> None:
    """Signed JSON to other programs. `digest doctor --send` posts a test."""


@command.command()
def secret() -> None:
    """Make a secret for DIGEST_WEBHOOKS_NAME_SECRET.

    The receiver needs the same. It is not kept anywhere.
    """
    echo(write_signing_key(secrets.token_bytes(32)))
