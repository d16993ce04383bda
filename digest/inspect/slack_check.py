"""Asks Slack whether digests would arrive, and writes the app's manifest. Nothing is posted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from digest.deliver.transports.slack import SlackClient, SlackTransport
from digest.model.errors import DeliveryError
from digest.model.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from digest.model.subscriptions import Destination


class Scope(NamedTuple):
    """A permission of the app: Slack's name for it, and for the same in private channels; what it is for."""

    name: str
    private: str
    why: str


SCOPES = (
    Scope("chat:write", "", "to post digests"),
    Scope("channels:read", "groups:read", "to find a channel by its name"),
    Scope(
        "channels:history",
        "groups:history",
        "to look whether a message arrived when Slack's answer was lost, instead of guessing",
    ),
)

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


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about the token, its scopes or a destination; `todo` is "" where all is well."""

    what: str
    said: str
    todo: str = ""


def list_scopes(*, is_private: bool) -> dict[str, str]:
    """Return the scopes that the app needs, each with what it is for."""
    scopes = {scope.name: scope.why for scope in SCOPES}
    more = {scope.private: "the same in private channels" for scope in SCOPES if scope.private}
    return scopes | (more if is_private else {})


def write_manifest(*, is_private: bool) -> str:
    """Return the app's manifest in YAML, as Slack takes it under "Create New App", "From a manifest"."""
    scopes = list_scopes(is_private=is_private).items()
    return _MANIFEST.format(scopes="\n".join(f"      - {name:<17} # {why}" for name, why in scopes))


def inspect_slack(
    destinations: Collection[Destination], *, token: str, url: str, timeout: float
) -> Iterator[Finding]:
    """Yield what Slack says of the token, its scopes and each channel; channels only where the token is good.

    Args:
        destinations: all that are configured; those that are no channels of Slack's are passed over.
        token: the app's bot token.
        url: base of the Web API.
        timeout: seconds for connecting and for each read.

    Raises:
        DeliveryError: Slack could not be asked.
        ConfigurationError: there is no token.
    """
    transport = SlackTransport(token=token, url=url, timeout=timeout)
    client = SlackClient(token=token, url=url, timeout=timeout)
    try:
        answer = client.call("auth.test", form={})
    except DeliveryError as error:
        yield _explain("token", error)
        return
    yield Finding("token", f"of the app {answer.text('user')} in the workspace {answer.text('team')}")
    granted = {name.strip() for name in (answer.header("X-OAuth-Scopes") or "").split(",")}
    missing = [one for one in SCOPES if granted.isdisjoint({one.name, one.private or one.name})]
    if missing:
        names = " and ".join(one.name for one in missing)
        todo = f"Add {names} under OAuth & Permissions, Bot Token Scopes, and install the app again."
        yield Finding("scopes", "; ".join(f"without {one.name}: it is needed {one.why}" for one in missing), todo)
    else:
        yield Finding("scopes", "all it needs")
    for destination in sorted(one for one in destinations if one.kind is DestinationKind.SLACK):
        try:
            yield _inspect_channel(client, destination, transport.resolve(destination))
        except DeliveryError as error:
            yield _explain(str(destination), error)


def _inspect_channel(client: SlackClient, destination: Destination, id_: str) -> Finding:
    what = str(destination)
    if not id_.startswith(("C", "G")):
        return Finding(what, "a person or a direct message: only a post shows whether that arrives")
    answer = client.call("conversations.info", form={"channel": id_})
    name = f"#{answer.text('channel', 'name')} ({id_})"
    if answer.get("channel", "is_archived") is True:
        return Finding(what, f"{name} is archived", "Unarchive it, or name another.")
    if answer.get("channel", "is_member") is not True:
        return Finding(what, f"the app is not a member of {name}", "Write /invite @… with the app's name there.")
    return Finding(what, f"the app is a member of {name}")


def _explain(what: str, error: DeliveryError) -> Finding:
    """Say what a refusal means.

    Raises:
        DeliveryError: Slack could not be asked, which is no finding.
    """
    if not error.permanent:
        raise error
    return Finding(
        what, error.message, error.hint or "Look into the app's settings at https://api.slack.com/apps."
    )
