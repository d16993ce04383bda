"""`digest slack`: the app's manifest."""

from __future__ import annotations

import click

from digest.cli.commands import CommandGroup
from digest.cli.output import echo
from digest.inspect.doctor import list_scopes

_MANIFEST = """\
_metadata:
  major_version: 1
  minor_version: 1
display_information:
  name: "Digest"
  description: "New papers for your saved queries, once, at the right moment"
features:
  bot_user:
    display_name: "Digest"
    always_online: false
oauth_config:
  scopes:
    bot:
{scopes}
settings:
  org_deploy_enabled: false
  socket_mode_enabled: false
  token_rotation_enabled: false
"""


@click.group(cls=CommandGroup)
def command() -> None:
    """Slack: the app's manifest. `digest doctor` checks token, scopes and channels."""


@command.command()
@click.option(
    "--private", "is_private", is_flag=True, help="Ask for private channels too (two more scopes)."
)
def manifest(*, is_private: bool) -> None:
    """Print the app's manifest: what it may do, and why.

    At https://api.slack.com/apps choose "Create New App", "From a manifest", and paste it. Install
    the app. Put its bot token into DIGEST_SLACK_TOKEN. Type /invite in the channel, then run
    `digest doctor`.
    """
    scopes = list_scopes(is_private=is_private)
    lines = [f"      - {name:<17} # {why}" for name, why in scopes.items()]
    echo(_MANIFEST.format(scopes="\n".join(lines)), nl=False)
