"""What the Slack app must be allowed to do, each with its reason, and the manifest that asks for that and no more.

Scopes: https://docs.slack.dev/reference/scopes; manifests: https://docs.slack.dev/app-manifests
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


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
