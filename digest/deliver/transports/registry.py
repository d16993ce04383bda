"""Knows the transport of each kind of destination, and opens it; none is imported before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib import import_module
from typing import NamedTuple, cast

from digest.config import Config
from digest.model.clock import Clock
from digest.model.destinations import DestinationKind
from digest.model.errors import ConfigurationError
from digest.model.messages import Transport

_ROOM = "digest.deliver.transports"


class TransportEntry(NamedTuple):
    """How messages get to one kind of destination.

    It names the `module:class` of its transport, and the keywords of that. For `settling` a message
    that may have arrived is not touched: its answer may be late, and a process that was paused
    while sending may go on. `longest` is how long one message may take, its answer included. What
    is true of the kind itself says `digest.model.destinations.TRAITS`.
    """

    path: str
    configure: Callable[[Config, Clock], Mapping[str, object]]
    settling: Callable[[Config], timedelta] = lambda _: timedelta(0)
    longest: timedelta = timedelta(minutes=1)


def _configure_mail(config: Config, clock: Clock) -> Mapping[str, object]:
    mail = config.mail
    return {
        "url": mail.smtp,
        "from_address": mail.from_address,
        "password": mail.password,
        "ca_file": mail.ca_file,
        "helo": mail.helo,
        "now": clock.now,
    }


def _name_incoming(kind: DestinationKind) -> Callable[[Config, Clock], Mapping[str, object]]:
    return lambda config, _: {"hooks": config.incoming[kind], "choose_proxy": config.choose_proxy}


TRANSPORTS: dict[DestinationKind, TransportEntry] = {
    DestinationKind.MAIL: TransportEntry(
        f"{_ROOM}.smtp:SmtpTransport",
        _configure_mail,
        lambda config: config.mail.ambiguous_wait,
        longest=timedelta(minutes=15),
    ),
    DestinationKind.SLACK: TransportEntry(
        f"{_ROOM}.slack:SlackTransport",
        lambda config, _: {
            "token": config.slack.token,
            "url": config.slack.url,
            "choose_proxy": config.choose_proxy,
        },
        # Its history lags a little after what was posted.
        lambda config: config.slack.ambiguous_wait,
    ),
    DestinationKind.SLACK_WEBHOOK: TransportEntry(
        f"{_ROOM}.slack_webhook:WebhookTransport",
        _name_incoming(DestinationKind.SLACK_WEBHOOK),
        lambda config: config.slack.ambiguous_wait,
    ),
    DestinationKind.DISCORD: TransportEntry(
        f"{_ROOM}.discord:DiscordTransport", _name_incoming(DestinationKind.DISCORD)
    ),
    DestinationKind.WEBHOOK: TransportEntry(
        f"{_ROOM}.webhook:SignedWebhookTransport",
        lambda config, clock: {
            "hooks": {name: (hook.url, hook.secret) for name, hook in config.webhooks.items()},
            "now": clock.now,
            "choose_proxy": config.choose_proxy,
        },
        lambda _: timedelta(seconds=60),
    ),
    DestinationKind.FILE: TransportEntry(
        f"{_ROOM}.file:FolderTransport",
        lambda config, _: {"root": config.folder},
    ),
    DestinationKind.CONSOLE: TransportEntry(f"{_ROOM}.console:ConsoleTransport", lambda _, __: {}),
}
"""One line for each kind. Feeds are pulled: they have none."""


def settling_times(config: Config) -> dict[DestinationKind, timedelta]:
    """Return how long a message that may have arrived is not touched, by kind of destination."""
    return {kind: entry.settling(config) for kind, entry in TRANSPORTS.items()}


def open_transport(kind: DestinationKind, config: Config, clock: Clock) -> Transport:
    """Import the transport for `kind` and construct it as it is configured."""
    entry = TRANSPORTS.get(kind)
    if entry is None:
        raise ConfigurationError(
            f"nothing is sent to {str(kind)!r}: readers fetch it themselves",
            hint=f"Kinds of destination: {', '.join(map(str, TRANSPORTS))}.",
        )
    return construct(entry.path, entry.configure(config, clock))


def construct(path: str, settings: Mapping[str, object]) -> Transport:
    """Import a transport by its `module:class` and construct it with its keywords."""
    module, _, name = path.partition(":")
    make = cast("Callable[..., Transport]", getattr(import_module(module), name))
    return make(**settings)
