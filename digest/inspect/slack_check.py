"""Asks Slack whether digests would arrive, and writes the app's manifest. Nothing is posted."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from digest.deliver.transports.slack import SlackClient
from digest.model.errors import DeliveryError
from digest.model.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from digest.deliver.transports.http import Answer
    from digest.model.subscriptions import Destination


_CHANNEL = re.compile(r"[CG][A-Z0-9]{7,}", re.ASCII)
_PERSON = re.compile(r"[DUW][A-Z0-9]{7,}", re.ASCII)
_PAGE = "999"
_MOST_PAGES = 100
_LONGEST_WAIT = 30.0
_INVITE = "/invite @… with the app's name"
_PUBLIC_POSTING = "chat:write.public"


class Verdict(StrEnum):
    """What was found: all is well, something to know, something to mend, or nobody could say."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one thing.

    Attributes:
        what: `token`, `scopes`, or a destination.
        verdict: how it stands.
        said: as a sentence.
        todo: what to do next, "" for nothing.
        is_silent: Slack could not be asked just now; another time it may answer.
    """

    what: str
    verdict: Verdict
    said: str
    todo: str = ""
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class _Channel:
    id: str
    name: str
    is_member: bool
    is_archived: bool
    is_private: bool


class SlackInspector:
    """Looks at one workspace with the app's token.

    Args:
        client: asks.
        sleep: waits so many seconds, where Slack asks for it.
    """

    def __init__(self, client: SlackClient, sleep: Callable[[float], None]) -> None:
        self._client, self._sleep = client, sleep
        self._granted: frozenset[str] | None = None
        self._channels: dict[str, _Channel] | None = None

    def inspect(self, destinations: Collection[Destination]) -> Iterator[Finding]:
        """Yield what is found of the token, its scopes and each channel; channels only where the token is good."""
        try:
            answer = self._ask("auth.test", {})
        except DeliveryError as error:
            yield _fail("token", error)
            return
        team, user = answer.text("team") or answer.text("team_id"), answer.text("user")
        yield Finding("token", Verdict.OK, f"it belongs to the app {user} in the workspace {team}")
        header = answer.header("X-OAuth-Scopes")
        self._granted = frozenset(filter(None, (name.strip() for name in header.split(",")))) if header else None
        yield self._inspect_scopes(destinations)
        ids: dict[str, list[str]] = {}
        for destination in sorted(destinations):
            try:
                finding, id_ = self._inspect_destination(destination)
            except DeliveryError as error:
                finding, id_ = self._explain(destination, error), ""
            yield finding
            if id_:
                ids.setdefault(id_, []).append(str(destination))
        for id_, names in ids.items():
            if len(names) > 1:
                said = f"{' and '.join(names)} are one channel ({id_}): each digest for both comes there twice"
                yield Finding(names[0], Verdict.NOTE, said, "Name it one way only, unless that is meant.")

    def _inspect_scopes(self, destinations: Collection[Destination]) -> Finding:
        if self._granted is None:
            return Finding("scopes", Verdict.UNKNOWN, "Slack did not say which scopes the token has")
        missing = [scope for scope in SCOPES if not self._has(scope) and self._is_needed(scope, destinations)]
        if missing:
            said = "; ".join(f"without {scope.name}, {scope.without}" for scope in missing)
            is_fatal = any(scope is not READ_BACK for scope in missing)
            names = " and ".join(scope.name for scope in missing)
            todo = f"Add {names} under OAuth & Permissions, Bot Token Scopes, and install the app again."
            return Finding("scopes", Verdict.PROBLEM if is_fatal else Verdict.NOTE, said, todo)
        wanted = {name for scope in SCOPES for name in (scope.name, scope.private)} | {_PUBLIC_POSTING}
        extra = sorted(self._granted - wanted)
        if extra:
            said = f"all it needs, and more than it ever uses: {', '.join(extra)}"
            return Finding("scopes", Verdict.NOTE, said, "Take those away, unless something else uses this app.")
        return Finding("scopes", Verdict.OK, f"all it needs: {', '.join(sorted(self._granted))}")

    def _has(self, scope: Scope) -> bool:
        return self._granted is None or not self._granted.isdisjoint({scope.name, scope.private or scope.name})

    def _is_needed(self, scope: Scope, destinations: Collection[Destination]) -> bool:
        """Whether anything hangs on a scope: who names channels by their ids need not look them up."""
        return scope is not LOOK_UP or any(not _CHANNEL.fullmatch(one.address) for one in destinations)

    def _inspect_destination(self, destination: Destination) -> tuple[Finding, str]:
        """Return what is found of a destination, and the id of its channel; "" where that is not known."""
        what = str(destination)
        if _PERSON.fullmatch(destination.address):
            said = "a person or direct message: whether that arrives can't be asked without posting"
            return Finding(
                what, Verdict.UNKNOWN, said, "Name it in alarms.to for once, and send a test there."
            ), ""
        channel = self._find_channel(destination)
        if channel is None:
            said = "the app sees no such channel"
            todo = (
                f"Check the name. A private channel is seen after {_INVITE} in it, and with the scope groups:read."
            )
            return Finding(what, Verdict.PROBLEM, said, todo), ""
        kind = "private" if channel.is_private else "public"
        name = f"#{channel.name} ({channel.id}, {kind})"
        if channel.is_archived:
            return Finding(
                what, Verdict.PROBLEM, f"{name} is archived", "Unarchive it, or name another."
            ), channel.id
        may_post_anyway = not channel.is_private and _PUBLIC_POSTING in (self._granted or ())
        if not channel.is_member and not may_post_anyway:
            todo = f"Write {_INVITE} in #{channel.name}."
            return Finding(what, Verdict.PROBLEM, f"the app is not a member of {name}", todo), channel.id
        return self._inspect_history(what, name, channel), channel.id

    def _explain(self, destination: Destination, error: DeliveryError) -> Finding:
        """Say what it means that a channel could not be looked at: one named by its id needs no looking up."""
        if _CHANNEL.fullmatch(destination.address) and "missing_scope" in error.message:
            said = f"it can be posted to by its id, if the app is a member; to ask that takes {LOOK_UP.name}"
            return Finding(str(destination), Verdict.UNKNOWN, said)
        return _fail(str(destination), error)

    def _inspect_history(self, what: str, name: str, channel: _Channel) -> Finding:
        try:
            self._ask("conversations.history", {"channel": channel.id, "limit": "1"})
        except DeliveryError as error:
            if not error.permanent:
                raise
            said = f"{name} can be posted to, but not read ({error.message}): {READ_BACK.without}"
            scope = READ_BACK.private if channel.is_private else READ_BACK.name
            todo = f"Add {scope}, install the app again, and invite it to the channel."
            return Finding(what, Verdict.NOTE, said, todo)
        posts = (
            "the app is a member" if channel.is_member else f"posted to without being a member ({_PUBLIC_POSTING})"
        )
        return Finding(what, Verdict.OK, f"{name}: {posts}, and its history can be read")

    def _find_channel(self, destination: Destination) -> _Channel | None:
        if _CHANNEL.fullmatch(destination.address):
            try:
                answer = self._ask("conversations.info", {"channel": destination.address})
            except DeliveryError as error:
                if "channel_not_found" in error.message:
                    return None
                raise
            channel = answer.get("channel")
            return _read_channel(channel) if isinstance(channel, dict) else None
        if self._channels is None:
            self._channels = {channel.name.casefold(): channel for channel in self._list_channels()}
        return self._channels.get(destination.address.removeprefix("#").casefold())

    def _list_channels(self) -> list[_Channel]:
        """Return the channels the app sees, those in use last, so that they count where two share a name."""
        try:
            found = list(self._walk("public_channel,private_channel"))
        except DeliveryError as error:
            if "missing_scope" not in error.message:
                raise
            found = list(self._walk("public_channel"))
        return sorted(found, key=lambda channel: not channel.is_archived)

    def _walk(self, types: str) -> Iterator[_Channel]:
        cursor = ""
        for _ in range(_MOST_PAGES):
            form = {"types": types, "limit": _PAGE} | ({"cursor": cursor} if cursor else {})
            answer = self._ask("conversations.list", form)
            yield from map(_read_channel, answer.objects("channels"))
            cursor = answer.text("response_metadata", "next_cursor")
            if not cursor:
                return

    def _ask(self, method: str, form: Mapping[str, str]) -> Answer:
        """Ask Slack, and once more after the pause it asks for, if that is short."""
        try:
            return self._client.call(method, form=form)
        except DeliveryError as error:
            if error.retry_after is None or error.retry_after > _LONGEST_WAIT:
                raise
            self._sleep(error.retry_after)
        return self._client.call(method, form=form)


def inspect_webhooks(destinations: Collection[Destination], known: Collection[str]) -> list[Finding]:
    """Return what can be said of incoming webhooks, which only take: whether each has a URL."""
    findings = []
    for destination in sorted(destinations):
        if destination.address in known:
            said = (
                "its URL is in order; whether the channel behind it takes messages can't be asked without posting"
            )
            todo = f'Try it: below [alarms], write to = "{destination}" and run `digest alarm test`.'
            findings.append(Finding(str(destination), Verdict.UNKNOWN, said, todo))
        else:
            said = "no webhook of that name has a URL"
            name = re.sub(r"[^A-Z0-9]", "_", destination.address.upper())
            findings.append(Finding(str(destination), Verdict.PROBLEM, said, f"Set DIGEST_SLACK_WEBHOOKS_{name}."))
    return findings


def inspect_slack(
    destinations: Sequence[Destination],
    *,
    token: str,
    url: str,
    timeout: float,
    webhooks: Collection[str],
    sleep: Callable[[float], None],
) -> list[Finding]:
    """Find out whether digests would arrive in Slack.

    Args:
        destinations: all that are configured; those that are not Slack's are passed over.
        token: the app's bot token, "" for none.
        url: base of the Web API.
        timeout: seconds for connecting and for each read.
        webhooks: names of the incoming webhooks whose URLs are configured.
        sleep: waits so many seconds.
    """
    channels = {one for one in destinations if one.kind is DestinationKind.SLACK}
    hooks = {one for one in destinations if one.kind is DestinationKind.SLACK_WEBHOOK}
    findings: list[Finding] = []
    if token:
        client = SlackClient(token=token, url=url, timeout=timeout)
        findings += SlackInspector(client, sleep).inspect(channels)
    elif channels:
        todo = "Set DIGEST_SLACK_TOKEN or DIGEST_SLACK_TOKEN_FILE to the app's bot token (it starts with xoxb-)."
        findings.append(Finding("token", Verdict.PROBLEM, f"there is none, and {POST.without}", todo))
    return findings + inspect_webhooks(hooks, webhooks)


def _fail(what: str, error: DeliveryError) -> Finding:
    """Say what a refusal means: something to mend, or nothing but that Slack could not be asked."""
    if error.permanent:
        return Finding(what, Verdict.PROBLEM, error.message, error.hint)
    wait = f"Try again in {error.retry_after:.0f} s." if error.retry_after else ""
    return Finding(what, Verdict.UNKNOWN, error.message, error.hint or wait or "Try again later.", is_silent=True)


def _read_channel(channel: Mapping[str, object]) -> _Channel:
    return _Channel(
        id=str(channel.get("id") or ""),
        name=str(channel.get("name") or ""),
        is_member=channel.get("is_member") is True,
        is_archived=channel.get("is_archived") is True,
        is_private=channel.get("is_private") is True,
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """A permission of the app.

    Attributes:
        name: as Slack calls it.
        why: what it is for, in a few words.
        without: what goes wrong where it is missing.
        methods: what it opens.
        private: the scope that opens the same in private channels, "" for none.
    """

    name: str
    why: str
    without: str
    methods: tuple[str, ...]
    private: str = ""


POST = Scope("chat:write", "to post digests", "nothing can be posted", ("chat.postMessage",))
LOOK_UP = Scope(
    "channels:read",
    "to find a channel by its name",
    "channels can be named by id only, and not be checked",
    ("conversations.list", "conversations.info"),
    "groups:read",
)
READ_BACK = Scope(
    "channels:history",
    "to look whether a message arrived when Slack's answer was lost, instead of guessing",
    "a message whose answer was lost is held until you say whether it arrived",
    ("conversations.history", "conversations.replies"),
    "groups:history",
)
SCOPES = (POST, LOOK_UP, READ_BACK)

_DESCRIPTION = "New papers for your saved queries, once, at the right moment"
_PRIVATELY = "the same in private channels"


def build_manifest(*, name: str, is_private: bool) -> dict[str, Any]:
    """Return the app's manifest, as Slack takes it under "Create New App", "From a manifest".

    Args:
        name: what the app and its bot are called, at most 35 characters.
        is_private: whether it posts to private channels as well.
    """
    return {
        "_metadata": {"major_version": 1, "minor_version": 1},
        "display_information": {"name": name, "description": _DESCRIPTION},
        "features": {"bot_user": {"display_name": name, "always_online": False}},
        "oauth_config": {"scopes": {"bot": [scope for scope, _ in _list_scopes(is_private=is_private)]}},
        "settings": {
            "org_deploy_enabled": False,
            "socket_mode_enabled": False,
            "token_rotation_enabled": False,
        },
    }


def write_manifest(*, name: str, is_private: bool) -> str:
    """Return the manifest as YAML, each scope with its reason beside it."""
    reasons = dict(_list_scopes(is_private=is_private))
    return "\n".join(_write_yaml(build_manifest(name=name, is_private=is_private), reasons)) + "\n"


def _list_scopes(*, is_private: bool) -> Iterator[tuple[str, str]]:
    for scope in SCOPES:
        yield scope.name, scope.why
        if is_private and scope.private:
            yield scope.private, _PRIVATELY


def _write_yaml(value: dict[str, Any], reasons: dict[str, str], indent: str = "") -> Iterator[str]:
    """Yield the lines of nested objects; whatever is JSON is YAML too, so leaves are written as that."""
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield f"{indent}{key}:"
            yield from _write_yaml(inner, reasons, f"{indent}  ")
        elif isinstance(inner, list):
            yield f"{indent}{key}:"
            width = max(map(len, inner))
            yield from (f"{indent}  - {name:<{width}}  # {reasons[name]}" for name in inner)
        else:
            yield f"{indent}{key}: {json.dumps(inner, ensure_ascii=False)}"
