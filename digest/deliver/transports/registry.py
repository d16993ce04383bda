"""Opens the transport of a kind of destination; none is imported before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple, cast

from digest.config import Config
from digest.model.clock import Clock
from digest.model.errors import ConfigurationError
from digest.model.messages import Transport
from digest.model.subscriptions import DestinationKind

_ROOM = "digest.deliver.transports"


class TransportEntry(NamedTuple):
    """How messages get to one kind of destination.

    Attributes:
        path: `module:class` of its transport.
        configure: returns the keywords of the transport's constructor.
    """

    path: str
    configure: Callable[[Config, Clock], Mapping[str, object]]


def _configure_mail(config: Config, _: Clock) -> Mapping[str, object]:
    mail = config.mail
    return {
        "url": mail.smtp,
        "from_address": mail.from_address,
        "password": mail.password,
        "ca_file": mail.ca_file,
        "helo": mail.helo,
    }


def _name_incoming(kind: DestinationKind) -> Callable[[Config, Clock], Mapping[str, object]]:
    return lambda config, _: {"hooks": config.incoming[kind], "choose_proxy": config.choose_proxy}


TRANSPORTS: dict[DestinationKind, TransportEntry] = {
    DestinationKind.MAIL: TransportEntry(f"{_ROOM}.smtp:SmtpTransport", _configure_mail),
    DestinationKind.SLACK: TransportEntry(
        f"{_ROOM}.slack:SlackTransport",
        lambda config, _: {
            "token": config.slack.token,
            "url": config.slack.url,
            "choose_proxy": config.choose_proxy,
        },
    ),
    DestinationKind.SLACK_WEBHOOK: TransportEntry(
        f"{_ROOM}.slack_webhook:WebhookTransport", _name_incoming(DestinationKind.SLACK_WEBHOOK)
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
    ),
    DestinationKind.FILE: TransportEntry(
        f"{_ROOM}.file:FolderTransport", lambda config, _: {"root": config.folder}
    ),
    DestinationKind.CONSOLE: TransportEntry(f"{_ROOM}.console:ConsoleTransport", lambda _, __: {}),
}
"""One line for each kind. Feeds are pulled: they have none."""


def open_transport(kind: DestinationKind, config: Config, clock: Clock) -> Transport:
    """Import the transport for `kind` and construct it as it is configured.

    Raises:
        ConfigurationError: nothing is ever sent to this kind, or the settings cannot be used.
    """
    entry = TRANSPORTS.get(kind)
    if entry is None:
        raise ConfigurationError(
            f"nothing is sent to {str(kind)!r}: readers fetch it themselves",
            hint=f"Kinds of destination: {', '.join(map(str, TRANSPORTS))}.",
        )
    return construct(entry.path, entry.configure(config, clock))


def construct(path: str, settings: Mapping[str, object]) -> Transport:
    """Import a transport by its `module:class` and construct it with the keywords of its constructor."""
    module, _, name = path.partition(":")
    return cast("Callable[..., Transport]", getattr(import_module(module), name))(**settings)
