"""What became of a message whose answer was lost: ask where one can ask, follow the policy where one cannot."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.errors import ConfigurationError, DeliveryError
from digest.pipeline.attention import write_age
from digest.pipeline.working import has_successor
from digest.planning.retries import Step, decide_unknown
from digest.store import deliveries as outbox
from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from digest.config import Config
    from digest.messages import Receipt
    from digest.pipeline.site import Site
    from digest.store.deliveries import UnknownDelivery


_log = logging.getLogger("digest.deliver")

_ASKED = frozenset({DestinationKind.SLACK, DestinationKind.FILE})
"""Ways out of which it can be found out what they took."""

_WEBHOOK_WAIT = timedelta(seconds=60)
"""Until a post whose answer was lost is repeated: its receiver tells repetitions by their id."""


def settling_times(config: Config) -> dict[DestinationKind, timedelta]:
    """Return how long a message that may have arrived is left alone, by way out; none for those missing.

    A mail server may take minutes to say what it took, Slack's history lags a little behind what was
    posted, and a process that was paused while sending may come back.
    """
    return {
        DestinationKind.MAIL: config.mail.ambiguous_wait,
        DestinationKind.SLACK: config.slack.ambiguous_wait,
        DestinationKind.SLACK_WEBHOOK: config.slack.ambiguous_wait,
        DestinationKind.WEBHOOK: _WEBHOOK_WAIT,
    }


def foretell(config: Config, kind: DestinationKind) -> str:
    """Say what becomes of a message on a way out that may have arrived, and after how long."""
    wait = settling_times(config).get(kind, timedelta(0))
    after = f" after {write_age(wait)}" if wait else ""
    if kind in _ASKED:
        return f"is looked for{after}"
    if kind not in _repeated(config):
        return f"is held for you{after}"
    return f"is sent again{after}" if kind is DestinationKind.WEBHOOK else f"is sent again{after}, once"


def take_settled(site: Site, kinds: Collection[DestinationKind], limit: int) -> list[UnknownDelivery]:
    """Take ambiguous deliveries on some ways out whose settling time is over, to look into each."""
    with site.store.begin() as conn:
        return outbox.take_unknown(
            conn, site.clock.now(), limit=limit, kinds=kinds, is_real_time=not site.clock.is_simulated
        )


def settle_one(site: Site, unknown: UnknownDelivery) -> None:
    """Settle one ambiguous delivery.

    Slack is asked: found is sent, not found goes out again. Mail cannot be asked: the same bytes go out
    again under the same Message-ID, once, or are held, as `mail.on_ambiguous` says. A signed webhook goes out
    again under the same id, without counting: receivers tell repetitions by it. Whatever else cannot be told, as
    what Slack's webhooks took, is held for the operator.

    Raises:
        StoreError: the database is away.
    """
    delivery, now = unknown.delivery, site.clock.now()
    receipt: Receipt | None = None
    is_missing = is_harmless = may_repeat = False
    try:
        receipt = site.transport(delivery.destination.kind).find(
            unknown.message, delivery.destination, unknown.sending_at
        )
        is_missing = is_harmless = receipt is None
        reason = "it never arrived"
    except DeliveryError as error:
        if not error.permanent or (error.whole_transport and has_successor(site)):
            return  # the other side is away, or this process knows it no more: asked again on a later pass
        may_repeat = delivery.destination.kind in _repeated(site.config)
        is_harmless = delivery.destination.kind is DestinationKind.WEBHOOK
        reason = f"nobody can tell whether it arrived: {error.message}"
    except ConfigurationError as error:
        if has_successor(site):
            return  # it may know the way out
        # The way out is configured no more: one such delivery must not stop all others.
        reason = f"nobody can tell whether it arrived: {error.message}"
    except Exception as error:  # noqa: BLE001 - a fault of ours in looking into one is to stop no other
        _log.exception("looking into delivery %d to %s failed", delivery.id, delivery.destination)
        reason = f"nobody can tell whether it arrived: looking for it failed ({type(error).__name__})"
    next_step = decide_unknown(
        is_harmless=is_harmless, may_repeat=may_repeat, attempts=delivery.attempts, repeats=unknown.repeats
    )
    with site.store.begin() as conn:
        if receipt is not None:
            outbox.settle_sent(conn, delivery, receipt, now)
        elif next_step is Step.RETRY:
            outbox.settle_ready(conn, delivery, now, f"{reason}; sent again", is_repeat=not is_harmless)
        else:
            outbox.settle_held(conn, delivery, now, reason, is_missing=is_missing)


def _repeated(config: Config) -> set[DestinationKind]:
    """Return the ways out where a second copy is the lesser harm; for mail the operator decides."""
    resent = {DestinationKind.MAIL} if config.mail.on_ambiguous == "resend" else set()
    return resent | {DestinationKind.WEBHOOK}
