"""Opens the transport of a kind of destination; none is imported before."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from digest.model.errors import ConfigurationError, DeliveryError
from digest.model.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from digest.model.messages import Message, Receipt
    from digest.model.subscriptions import Destination


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


class Transport(Protocol):
    """A way out. Several threads use it at once, and `close` may come from any."""

    def resolve(self, destination: Destination) -> str:
        """Return the address as the other side knows it (a Slack channel id); "" where none is needed.

        Raises:
            DeliveryError: the other side does not know it, or could not be asked.
        """
        ...

    def send(
        self, message: Message, destination: Destination, is_ours: Callable[[], bool] = always_ours
    ) -> Receipt:
        """Hand the message over, once, and return the answer.

        Args:
            message: what.
            destination: where to.
            is_ours: asked right before the point of no return, where handing it over twice does harm.

        Raises:
            DeliveryError: it was not taken, or (`ambiguous`) nobody can say whether it was.
        """
        ...

    def find(self, message: Message, destination: Destination, begun_at: datetime) -> Receipt | None:
        """Look whether the message was taken after all; None where it was not.

        Args:
            message: what.
            destination: where to.
            begun_at: when sending it began, by the clock of the host that sent.

        Raises:
            DeliveryError: it cannot be told (`permanent`: never by this transport as configured).
        """
        ...

    def close(self) -> None:
        """Let go of connections. May be called twice."""
        ...


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
