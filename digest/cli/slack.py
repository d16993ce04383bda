"""`digest slack`: the app's manifest."""

from __future__ import annotations

import click

from digest.cli.commands import CommandGroup
from digest.inspect.slack_check import write_manifest


@click.group(cls=CommandGroup)
def command() -> None:
    """Slack: the app's manifest. `digest doctor` checks token, scopes and channels."""


@command.command()
@click.option("--private", "is_private", is_flag=True, help="Ask for private channels too (two more scopes).")
def manifest(*, is_private: bool) -> None:
    """Print the app's manifest: what it may do, and why.

    At https://api.slack.com/apps choose "Create New App", "From a manifest", and paste it. Install the app.
    Put its bot token into DIGEST_SLACK_TOKEN. Type /invite in the channel, then run `digest doctor`.
    """
    click.echo(write_manifest(is_private=is_private), nl=False)
