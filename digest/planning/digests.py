"""One digest of one subscription: its papers in order, labelled, with reasons; and its deliveries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from digest import signing
from digest.cadences import choose_zone
from digest.messages import Digest, Occasion
from digest.planning.entries import Told, find_mailing, find_sequel, find_telling, make_entry
from digest.planning.ordering import order_entries
from digest.subscriptions import CadenceKind, Destination, Subscription, Weekly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date, datetime

    from digest.comparing import StoredChange
    from digest.matching import ActiveRevision
    from digest.messages import Coverage, DigestEntry, Share
    from digest.planning.entries import EntryMaker, Seen
    from digest.query import Query


@dataclass(frozen=True, slots=True)
class DueSubscription:
    """A subscription as stored, with the saved queries it reads now.

    Attributes:
        id: its key.
        subscription: as configured.
        state: `SubscriptionState` as text.
        next_due_at: when its next digest is due (UTC); None while nothing makes it due.
        plan_after: only matches of later match runs are planned.
        last_slot: the slot of its last digest or quiet turn.
        created_at: when it was first stored (UTC).
        revisions: its saved queries in the subscription's order.
        feed_generation: how often its feed's address was changed.
    """

    id: int
    subscription: Subscription
    state: str
    next_due_at: datetime | None
    plan_after: int
    last_slot: str
    created_at: datetime
    revisions: tuple[ActiveRevision, ...] = ()
    feed_generation: int = 0


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """A delivery to be stored with its digest."""

    destination: Destination
    part: int
    parts: int
    idempotency_key: str
    share: Share | None = None


def plan_digest(
    due: DueSubscription,
    changes: Sequence[StoredChange],
    queries: Mapping[str, Query],
    seen: Mapping[int, Seen],
    coverage: Coverage,
    *,
    slot: str,
    occasion: Occasion,
    now: datetime,
    announced: Mapping[int, tuple[date | None, date | None]] | None = None,
    later: Mapping[int, Sequence[StoredChange]] | None = None,
    make: EntryMaker | None = None,
) -> Digest:
    """Freeze one digest.

    Args:
        due: the subscription.
        changes: every change it is to be told of, in any order; several of one paper become one entry.
        queries: its saved queries, parsed, by name; one that cannot be read any more is simply missing.
        seen: what its reader saw before, by paper key.
        coverage: what was looked at; `matched` is filled in here.
        slot: its slot's name.
        occasion: why it exists.
        now: the moment of planning (UTC).
        announced: of papers by their keys, the mailing that brought each and the day arXiv last changed its
            record; asked only where the digest stands for several mailings, or is a round-up.
        later: what else was found of papers by their keys, though the subscription does not ask for it.
        make: makes an entry as `make_entry` does, such as one that remembers those of other digests.
    """
    subscription = due.subscription
    by_paper: dict[int, list[StoredChange]] = {}
    for change in sorted(changes, key=lambda change: change.id):
        by_paper.setdefault(change.paper_key, []).append(change)
    texts = [(revision.name, revision.text) for revision in due.revisions]
    readable = {name: queries[name] for name, _ in texts if name in queries}
    is_round_up = occasion is Occasion.SCHEDULED and is_weekly(subscription)
    told = replace(coverage, since=coverage.since or coverage.mailing) if is_round_up else coverage

    def tell(key: int, found: Sequence[StoredChange]) -> DigestEntry:
        day = sequel = None
        since = later.get(key, ()) if later else ()
        if told.since is not None or since or len(found) > 1:  # as a rule none of it is so
            mailing, datestamp = (announced or {}).get(key, (None, None))
            day = find_mailing(find_telling(found, occasion), mailing, datestamp, told)
            sequel = find_sequel(found, since, occasion, datestamp)
        return (make or make_entry)(Told(found, occasion, seen.get(key), day, sequel), readable)

    entries = order_entries(
        (tell(key, found) for key, found in by_paper.items()), subscription.group_by, [name for name, _ in texts]
    )
    shown = len(entries) if subscription.cap is None else min(subscription.cap, len(entries))
    return Digest(
        subscription=subscription.name,
        title=subscription.title or subscription.name,
        slot=slot,
        occasion=occasion,
        planned_at=now,
        zone=choose_zone(subscription.cadence, subscription.quiet_hours),
        entries=entries,
        shown=shown,
        queries=tuple(texts),
        coverage=_count_matched(coverage, None if occasion.is_look_back or coverage.told_at else len(entries)),
        group_by=subscription.group_by,
        replacements=subscription.replacements,
        is_round_up=is_round_up,
    )


@lru_cache(maxsize=256)
def _count_matched(coverage: Coverage, matched: int | None) -> Coverage:
    """Fill in how many papers a digest holds, once for all of a mailing that hold as many."""
    return replace(coverage, matched=matched)


def is_weekly(subscription: Subscription) -> bool:
    """Whether a subscription's digests are round-ups of a week."""
    cadence = subscription.cadence
    has_one_day = cadence.kind is CadenceKind.CLOCK and len(cadence.days) == 1
    return has_one_day and subscription.weekly is Weekly.ROUND_UP


def plan_deliveries(
    digest: Digest,
    destinations: Iterable[Destination],
    divide: Callable[[Destination], Sequence[Share | None]],
    *,
    scope: str,
) -> tuple[DeliveryPlan, ...]:
    """Return one delivery for each destination and part; what readers fetch themselves has none.

    Keys follow from what is delivered where, never from an attempt or a clock.

    Args:
        digest: the digest.
        destinations: where it goes.
        divide: which papers each of its messages at a destination tells; None for one that tells them all.
        scope: names the subscription apart from every other one anywhere: mail servers and Slack know many
            installations, and a name may be given to another subscription later.
    """
    plans = []
    for destination in destinations:
        if destination.is_pulled:
            continue
        shares = divide(destination)
        plans += [
            DeliveryPlan(
                destination,
                part,
                len(shares),
                signing.idempotency_key(scope, digest.slot, str(destination), part),
                share,
            )
            for part, share in enumerate(shares)
        ]
    return tuple(plans)
