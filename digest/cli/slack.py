"""`digest slack`: the app's manifest, and whether digests would arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.context import choose_clock, load
from digest.cli.output import json_option, print_json, wrap
from digest.deliver.transports.http import TIMEOUT
from digest.inspect.slack_check import build_manifest, inspect_slack, write_manifest
from digest.model.errors import ConfigurationError, OutsideError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.config import Config
    from digest.inspect.slack_check import Finding
    from digest.model.subscriptions import Destination

_LONGEST_NAME = 35
"""What Slack takes for an app's name."""

_WIDEST = 84
_COLORS = {"ok": "green", "note": "yellow", "problem": "red", "unknown": "yellow"}


@click.group()
def command() -> None:
    """Slack: the app's manifest, and a check of token, scopes and channels."""


@command.command()
@click.option("--private", "is_private", is_flag=True, help="Ask for private channels too (two more scopes).")
@click.option("--name", default="Digest", show_default=True, help="What the app and its bot are called.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of YAML; Slack takes both.")
def manifest(*, is_private: bool, name: str, as_json: bool) -> None:
    """Print the app's manifest: the least it needs, and why.

    At https://api.slack.com/apps choose "Create New App", "From a manifest", and paste it. Install the app,
    put its bot token into DIGEST_SLACK_TOKEN, /invite it to the channel, then run `digest slack check`.
    """
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise UsageError(f"an app's name has 1 to {_LONGEST_NAME} characters", hint="Choose a shorter --name.")
    if as_json:
        print_json(build_manifest(name=name, is_private=is_private))
    else:
        click.echo(write_manifest(name=name, is_private=is_private), nl=False)


@command.command()
@json_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool) -> None:
    """Ask Slack whether digests would arrive; nothing is posted.

    Looks at the token, its scopes, and each channel that digest.toml names: that it exists, is in use, has
    the app as a member, and lets it read back what it posted. Exit code 3 where something is to be mended,
    4 where Slack could not be asked, else 0.
    """
    config = load(ctx, warns=True)
    findings = inspect_slack(
        _list_destinations(config),
        token=config.slack.token,
        url=config.slack.url,
        timeout=TIMEOUT,
        webhooks=config.slack.webhooks,
        sleep=choose_clock(config).sleep,
    )
    if as_json:
        print_json(
            [{"what": one.what, "verdict": one.verdict, "said": one.said, "todo": one.todo} for one in findings]
        )
    else:
        _print(findings)
    ctx.exit(_choose_code(findings))


def _list_destinations(config: Config) -> Sequence[Destination]:
    named = [to for subscription in config.subscriptions for to in subscription.destinations]
    return list(dict.fromkeys([*named, *config.alarms.to]))


def _print(findings: Sequence[Finding]) -> None:
    if not findings:
        click.echo(
            "Nothing goes to Slack: no subscription names slack:#… or slack-webhook:…, and there is no token."
        )
        return
    width = max(len(one.what) for one in findings)
    for one in findings:
        verdict = click.style(f"{one.verdict:<8}", fg=_COLORS[one.verdict], bold=True)
        first, *others = [line for text in (one.said, one.todo) if text for line in wrap(text, _WIDEST)]
        click.echo(f"{verdict} {one.what:<{width}}  {first}")
        for line in others:
            click.echo(f"{'':<{9 + width}}  {line}")


def _choose_code(findings: Sequence[Finding]) -> int:
    """Something to mend weighs more than what could not be asked; what never can be is no failure."""
    if any(one.verdict == "problem" for one in findings):
        return ConfigurationError.exit_code
    return OutsideError.exit_code if any(one.is_silent for one in findings) else 0
