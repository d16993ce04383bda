"""What became of a message whose answer was lost: ask where one can ask, follow the policy where one cannot."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from digest.errors import ConfigurationError, DeliveryError
from digest.planning.retries import Step, decide_unknown
from digest.store import deliveries as outbox
from digest.subscriptions import DestinationKind

CLOCK_MARGIN = timedelta(seconds=60)
"""How far the other side's clock may be behind ours."""

if TYPE_CHECKING:
    from digest.messages import Receipt
    from digest.pipeline.site import Site
    from digest.store.deliveries import UnknownDelivery


def settle_unknown(site: Site) -> int:
    """Settle every ambiguous delivery whose settling time is over; return how many were settled.

    Slack is asked: found is sent, not found goes out again. Mail cannot be asked: the same bytes go out
    again under the same Message-ID, once, or are held, as `mail.on_ambiguous` says. Whatever cannot be
    told is held for the operator.
    """
    now = site.clock.now()
    with site.store.begin() as conn:
        waiting = outbox.take_unknown(conn, now)
    for unknown in waiting:
        _settle(site, unknown)
    return len(waiting)


def _settle(site: Site, unknown: UnknownDelivery) -> None:
    delivery, now = unknown.delivery, site.clock.now()
    receipt: Receipt | None = None
    is_missing = may_repeat = False
    try:
        receipt = site.transport(delivery.destination.kind).find(
            unknown.message, delivery.destination, unknown.sending_at - CLOCK_MARGIN
        )
        is_missing, reason = receipt is None, "it never arrived"
    except DeliveryError as error:
        if not error.permanent:
            return  # the other side is away: asked again on a later pass
        is_mail = delivery.destination.kind is DestinationKind.MAIL
        may_repeat = is_mail and site.config.mail.on_ambiguous == "resend"
        reason = f"nobody can tell whether it arrived: {error.message}"
    except ConfigurationError as error:
        # The way out is configured no more: one such delivery must not stop all others.
        reason = f"nobody can tell whether it arrived: {error.message}"
    next_step = decide_unknown(
        is_missing=is_missing, may_repeat=may_repeat, attempts=delivery.attempts, repeats=unknown.repeats
    )
    with site.store.begin() as conn:
        if receipt is not None:
            outbox.settle_sent(conn, delivery.id, receipt, now)
        elif next_step is Step.RETRY:
            outbox.settle_ready(conn, delivery.id, now, f"{reason}; sent again", is_repeat=not is_missing)
        else:
            outbox.settle_held(conn, delivery.id, now, reason)
