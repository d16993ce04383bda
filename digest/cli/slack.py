"""`digest slack`: the app's manifest, and whether digests would arrive."""

from __future__ import annotations

import click

from digest.cli.commands import CommandGroup
from digest.cli.context import load
from digest.cli.output import json_option, print_json
from digest.deliver.transports.http import TIMEOUT
from digest.inspect.slack_check import inspect_slack, write_manifest
from digest.model.errors import ConfigurationError
from digest.model.subscriptions import DestinationKind


@click.group(cls=CommandGroup)
def command() -> None:
    """Slack: what it needs to let the bot in."""


@command.command()
@click.option("--private", "is_private", is_flag=True, help="Ask for private channels too (two more scopes).")
def manifest(*, is_private: bool) -> None:
    """Print the app's manifest: what it may do, and why.

    At https://api.slack.com/apps choose "Create New App", "From a manifest", and paste it. Install the app.
    Put its bot token into DIGEST_SLACK_TOKEN. Type /invite in the channel, then run `digest doctor`.
    """
    click.echo(write_manifest(is_private=is_private), nl=False)


@command.command()
@json_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool) -> None:
    """Ask Slack whether digests would arrive; nothing is posted.

    Looks at the token, its scopes, and each channel that digest.toml names: that it exists, is in use, and has
    the app as a member. Exit code 3 where something needs to be mended, 4 where Slack could not be asked, else 0.
    """
    config = load(ctx, warns=True)
    named = {to for subscription in config.subscriptions for to in subscription.destinations}
    channels = {to for to in (*named, *config.alarms.to) if to.kind is DestinationKind.SLACK}
    findings = list(inspect_slack(channels, token=config.slack.token, url=config.slack.url, timeout=TIMEOUT))
    if as_json:
        print_json(findings)
    else:
        for one in findings:
            verdict = click.style(
                "problem" if one.todo else "ok     ", fg="red" if one.todo else "green", bold=True
            )
            click.echo(f"{verdict}  {one.what}: {one.said}{f'. {one.todo}' if one.todo else ''}")
    if any(one.todo for one in findings):
        ctx.exit(ConfigurationError.exit_code)
