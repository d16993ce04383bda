"""Where a message stands that did arrive, as the operator says: what is behind it goes there, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.errors import UsageError
from digest.subscriptions import DestinationKind
from digest.transports.slack_links import parse_slack_link

if TYPE_CHECKING:
    from digest.messages import Delivery


def is_head(delivery: Delivery) -> bool:
    """Whether the parts behind a delivery go into its thread, where that is known."""
    return delivery.destination.kind is DestinationKind.SLACK and not delivery.part and delivery.parts > 1


def read_place(delivery: Delivery, link: str) -> str:
    """Return what Slack calls the message that a link leads to.

    Args:
        delivery: the one that arrived.
        link: as Slack's "Copy link" gives it.

    Raises:
        UsageError: it leads to no message in Slack, or to one that can't be this delivery.
    """
    if delivery.destination.kind is not DestinationKind.SLACK:
        raise UsageError(
            f"delivery {delivery.id} goes to {delivery.destination}, where messages have no link",
            hint=f"Say it without --link: `digest delivery arrived {delivery.id}`.",
        )
    found = parse_slack_link(link)
    if found is None:
        raise UsageError(
            f"{link!r} is no link to a message in Slack",
            hint="The message's menu has “Copy link”: https://….slack.com/archives/C…/p…",
        )
    if delivery.remote_address and found.channel != delivery.remote_address:
        raise UsageError(
            f"that message stands in another channel, {found.channel}: delivery {delivery.id} went to"
            f" {delivery.remote_address}",
            hint=f"`digest delivery show {delivery.id}` says what to look for.",
        )
    if not delivery.part and found.is_reply:
        raise UsageError(
            "that message is a reply: a digest begins in the channel itself",
            hint="Copy the link of the message that the replies stand below.",
        )
    return found.ts
