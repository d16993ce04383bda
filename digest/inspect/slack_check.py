"""Asks Slack whether digests would arrive, and writes the app's manifest. Nothing is posted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from digest.deliver.transports.slack import SlackClient, SlackTransport
from digest.inspect.findings import Finding, Verdict
from digest.model.errors import DeliveryError
from digest.model.subscriptions import Destination

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

_KINDS = {"xoxb-": "a bot token", "xoxp-": "a token of a person", "xapp-": "a token of the whole app"}
_CHANNELS = ("C", "G")


class Scope(NamedTuple):
    """A permission of the app: Slack's name for it, and for the same in private channels; what it is for."""

    name: str
    private: str
    why: str


SCOPES = (
    Scope("chat:write", "", "to post digests"),
    Scope("channels:read", "groups:read", "to find a channel by its name"),
    Scope("channels:history", "groups:history", "to look up a post whose answer was lost"),
)


def list_scopes(*, is_private: bool) -> dict[str, str]:
    """Return the scopes that the app needs, each with what it is for."""
    scopes = {scope.name: scope.why for scope in SCOPES}
    more = {scope.private: "the same in private channels" for scope in SCOPES if scope.private}
    return scopes | (more if is_private else {})


def write_manifest(*, is_private: bool) -> str:
    """Return the app's manifest in YAML, as Slack takes it under "Create New App", "From a manifest"."""
    scopes = list_scopes(is_private=is_private).items()
    return _MANIFEST.format(scopes="\n".join(f"      - {name:<17} # {why}" for name, why in scopes))


def inspect_slack(channels: Mapping[Destination, str], transport: SlackTransport, token: str) -> Iterator[Finding]:
    """Yield what Slack says of the token, its scopes and each channel; channels only where the token is good.

    Args:
        channels: where posts go, each with whose channel it is.

    Raises:
        DeliveryError: Slack could not be asked.
    """
    kind = next(
        (words for start, words in _KINDS.items() if token.startswith(start)), "a token of an unknown kind"
    )
    if kind != _KINDS["xoxb-"]:
        todo = "Copy the bot token under OAuth & Permissions: it starts with xoxb-."
        yield Finding(Verdict.PROBLEM, "Slack", f"the token is {kind}", todo)
        return
    client = transport.client
    try:
        answer = client.call("auth.test", form={})
    except DeliveryError as error:
        yield _explain("the token", error)
        return
    whose = f"the app {answer.text('user')} in the workspace {answer.text('team')}"
    yield Finding(Verdict.OK, "Slack", f"{kind}, and it works", more=whose)
    granted = {name.strip() for name in answer.headers.get("x-oauth-scopes", "").split(",")}
    missing = [one for one in SCOPES if granted.isdisjoint({one.name, one.private or one.name})]
    if missing:
        said = ", ".join(f"the scope {one.name} is missing ({one.why})" for one in missing)
        todo = "Add it under OAuth & Permissions, Bot Token Scopes. Then install the app again."
        yield Finding(Verdict.PROBLEM, "Slack", said, todo)
    else:
        yield Finding(Verdict.OK, "Slack", "the app has all scopes it needs")
    for destination, name in channels.items():
        what = f"{destination.address} ({name})"
        try:
            yield _inspect_channel(client, destination, transport.resolve(destination), what)
        except DeliveryError as error:
            yield _explain(what, error)


def _inspect_channel(client: SlackClient, destination: Destination, id_: str, what: str) -> Finding:
    if not id_.startswith(_CHANNELS):
        said = f"{what} is a person or a direct message: only a post shows if it arrives"
        return Finding(Verdict.UNCHECKED, "Slack", said, more=str(destination))
    answer = client.call("conversations.info", form={"channel": id_})
    more = f"#{answer.text('channel', 'name')} ({id_})"
    if answer.get("channel", "is_archived") is True:
        return Finding(Verdict.PROBLEM, "Slack", f"{what} is archived", "Unarchive it, or name another.", more)
    if answer.get("channel", "is_member") is not True:
        todo = "Type `/invite @` and the app's name there."
        return Finding(Verdict.PROBLEM, "Slack", f"the app is not in {what}", todo, more)
    return Finding(Verdict.OK, "Slack", f"the app is in {what}", more=more)


def _explain(what: str, error: DeliveryError) -> Finding:
    """Say what a refusal means."""
    if not error.permanent:
        raise error
    todo = error.hint or "Look into the app's settings at https://api.slack.com/apps."
    return Finding(Verdict.PROBLEM, "Slack", f"{what}: {error.message}", todo)
