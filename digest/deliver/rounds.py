"""Sends in rounds if the state is on a branch.

A push names there what a round sends, before any of it goes.
What can be asked about, or is known to the other side when it comes again, is named as it is due.
Of mails a round names few: only they are in doubt if the process dies. What the next doubt would
leave to the operator is named alone. So a death leaves them only the message that was being sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from digest.branch.step import Branch
from digest.deliver.dispatch import MAILS
from digest.deliver.step import (
    DeliverReport,
    MessageMaker,
    begin_one,
    may_repeat,
    send_begun,
    settle_one,
)
from digest.deliver.transports.registry import TRANSPORTS
from digest.model.destinations import TRAITS
from digest.model.messages import Delivery, DeliveryState, Message
from digest.model.said import Said, Saying
from digest.site import Site
from digest.store import attempts, outbox
from digest.store.outbox import NEVER_REPEATED

_MOST = 1_000
_MAILS = 10
"""Mails that a round names, each of which may be sent once more if it is in doubt."""

_SHORT_WAIT = timedelta(seconds=30)
"""A run waits that long for the pace of a channel, or until Slack can be asked."""

_LEAST = timedelta(minutes=3)
"""With less left of the lease nothing is named: the last push takes its time."""

_SAFE = frozenset(
    kind
    for kind, traits in TRAITS.items()
    if kind in TRANSPORTS and (traits.can_be_asked or traits.knows_repeats)
)
_OTHERS = frozenset(TRANSPORTS) - _SAFE


def deliver_in_rounds(site: Site, branch: Branch) -> DeliverReport:
    """Send what is due, as long as the lease lasts and each push is taken."""
    report = DeliverReport()
    maker = MessageMaker(site)
    while branch.has_time(_LEAST):
        _settle(site, branch, report)
        named = _name_round(site, maker, report)
        if named:
            branch.push()
            try:
                while named:
                    delivery, message = named.pop(0)
                    is_ours = partial(
                        branch.has_time, TRANSPORTS[delivery.destination.kind].longest
                    )
                    send_begun(site, report, delivery, message, is_ours)
            finally:
                _give_back(site, [delivery for delivery, _ in named])
            site.progress.update(f"{report.total} sent")
        elif not _wait(site):
            break
    return report


def _settle(site: Site, branch: Branch, report: DeliverReport) -> None:
    """Find out about what may have arrived."""
    with site.store.begin() as conn:
        doubtful = attempts.claim_unknown(conn, site.clock.now(), limit=_MOST)
    for one in doubtful:
        if branch.has_time(TRANSPORTS[one.delivery.destination.kind].longest):
            settle_one(site, report, one)


def _name_round(
    site: Site, maker: MessageMaker, report: DeliverReport
) -> list[tuple[Delivery, Message]]:
    """Store the intent to send what one round sends."""
    now = site.clock.now()
    mails = _MAILS if all(may_repeat(site.config, kind) for kind in MAILS) else 0
    with site.store.begin() as conn:
        claim = partial(outbox.claim, conn, owner=site.owner, now=now)
        claimed = claim(limit=_MOST, kinds=_SAFE)
        claimed += claim(limit=mails, kinds=MAILS, which=NEVER_REPEATED)
        claimed = claimed or claim(limit=1, kinds=_OTHERS)
    begun = [begin_one(site, maker, report, one) for one in claimed]
    return [one for one in begun if one is not None]


def _give_back(site: Site, named: Sequence[Delivery]) -> None:
    """Say of messages that a run was stopped before they were sent: nobody need doubt that."""
    for delivery in named:
        with site.store.begin() as conn:
            attempts.mark_unsent(
                conn,
                delivery,
                DeliveryState.READY,
                Said.of(Saying.RUN_STOPPED),
                site.clock.now(),
            )


def _wait(site: Site) -> bool:
    """Wait until more can be done, if that is soon."""
    now = site.clock.now()
    with site.store.read() as conn:
        moments = (
            outbox.next_claimable_at(conn, now),
            outbox.load_open(conn, now).in_doubt.first_at,
        )
    next_at = min(filter(None, moments), default=None)
    if next_at is None or next_at - now > _SHORT_WAIT:
        return False
    site.clock.sleep(max((next_at - now).total_seconds(), 0.25))
    return True
