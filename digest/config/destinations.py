"""Destinations as they are configured, read into the one spelling by which they are stored and compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.config.addresses import read_mail_address, resolve_path
from digest.config.values import read_lines
from digest.errors import ConfigurationError
from digest.subscriptions import Destination, DestinationKind

if TYPE_CHECKING:
    from pathlib import Path

_SLACK_ADDRESS = re.compile(r"#[^\s#,:]{1,80}|[A-Z][A-Z0-9]{7,}")


def read_destination(text: str) -> Destination:
    """Read one destination; a file's path is not made absolute yet, see `resolve_destination`.

    Raises:
        ConfigurationError: it names no way out, or its address is none.
    """
    destination = Destination.parse(text)
    match destination.kind:
        case DestinationKind.MAIL:
            return Destination(DestinationKind.MAIL, read_mail_address(destination.address))
        case DestinationKind.SLACK if not _SLACK_ADDRESS.fullmatch(destination.address):
            raise ConfigurationError(
                f"{text!r} names no Slack channel", hint=_suggest_channel(destination.address)
            )
        case _:
            return destination


def _suggest_channel(address: str) -> str:
    """Return how a channel's name could read: as Slack makes one of several words, with dashes."""
    name = re.sub(r"[\s#,:]+", "-", address).strip("-")
    if not _SLACK_ADDRESS.fullmatch(f"#{name}"):
        return "Write slack:#papers, for one, or the channel's id."
    has_other_signs = name != address.lstrip("#")
    rule = "A channel's name has no blank, comma or colon. " if has_other_signs else ""
    return f"{rule}Write slack:#{name}, or the channel's id."


def resolve_destination(destination: Destination, folder: Path) -> Destination:
    """Return a destination whose path, where it is a file's, counts from a folder no more."""
    if destination.kind is not DestinationKind.FILE:
        return destination
    return Destination(DestinationKind.FILE, str(resolve_path(destination.address, folder)))


def read_operator_places(value: object) -> tuple[Destination, ...]:
    """Read where the operator is told: none, one, or a list; only where something can be sent."""
    places = tuple(read_destination(text) for text in read_lines(value) if text)
    for place in places:
        if place.is_pulled:
            raise ConfigurationError(
                f"{place} is read when somebody looks, which is too late for an alarm",
                hint='Write to = "mailto:ops@example.org", for one.',
            )
    return tuple(dict.fromkeys(places))


def resolve_operator_places(places: object, folder: Path) -> tuple[Destination, ...]:
    """Make the paths among the operator's places absolute."""
    assert isinstance(places, tuple)  # noqa: S101 - what `read_operator_places` returned
    return tuple(resolve_destination(place, folder) for place in places)
