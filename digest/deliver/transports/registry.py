"""Opens the transport of a kind of destination; none is imported before."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from digest.model.errors import ConfigurationError, DeliveryError
from digest.model.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from digest.model.messages import Transport


def always_ours() -> bool:
    """Say yes: for senders that nobody can take a message from."""
    return True


def require_ours(is_ours: Callable[[], bool]) -> None:
    """Go on only while the message is ours.

    Raises:
        DeliveryError: the claim has lapsed; nothing was handed over.
    """
    if not is_ours():
        raise DeliveryError("the claim on it lapsed before it was handed over: another process may send it")


TRANSPORTS: dict[DestinationKind, str] = {
    DestinationKind.MAIL: "digest.deliver.transports.smtp:SmtpTransport",
    DestinationKind.SLACK: "digest.deliver.transports.slack:SlackTransport",
    DestinationKind.SLACK_WEBHOOK: "digest.deliver.transports.slack_webhook:WebhookTransport",
    DestinationKind.WEBHOOK: "digest.deliver.transports.webhook:SignedWebhookTransport",
    DestinationKind.FILE: "digest.deliver.transports.file:FolderTransport",
    DestinationKind.CONSOLE: "digest.deliver.transports.console:ConsoleTransport",
}
"""Kind → `module:class`. Feeds are pulled: they have no transport."""


def open_transport(kind: DestinationKind, settings: Mapping[str, object]) -> Transport:
    """Import the transport for `kind` and construct it from `settings`, its constructor's keywords.

    Raises:
        ConfigurationError: nothing is ever sent to this kind, or the settings cannot be used.
    """
    path = TRANSPORTS.get(kind)
    if path is None:
        raise ConfigurationError(
            f"nothing is sent to {str(kind)!r}: readers fetch it themselves",
            hint=f"Ways out are {', '.join(map(str, TRANSPORTS))}.",
        )
    module, _, name = path.partition(":")
    construct = cast("Callable[..., Transport]", getattr(import_module(module), name))
    return construct(**settings)
