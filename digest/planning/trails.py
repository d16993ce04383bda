"""Why a paper was told to a subscription, or why not: the verdict over one change, and over all of a paper's.

Everything is decided from what was recorded when it happened. A saved query's present words are asked only
where nothing was recorded, to name the clause that fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.excluding import exclude_changes, read_exclusion
from digest.matching import QueryOutcome, select_for_subscription
from digest.messages import TERMINAL_STATES, DeliveryState
from digest.planning.feeds import FEED_DAYS, FEED_ENTRIES
from digest.subscriptions import SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from digest.comparing import StoredChange
    from digest.matching import ActiveRevision
    from digest.planning.digests import DueSubscription


class Verdict(StrEnum):
    """What became of a change on its way to a subscription, the farthest first."""

    TOLD = "told"
    DOUBTFUL = "perhaps told"
    UNDERWAY = "not delivered yet"
    UNDELIVERED = "not delivered"
    WAITING = "waiting"
    SHOWN = "shown"
    PENDING = "not matched yet"
    DROPPED = "let go"
    EXCLUDED = "excluded"
    OTHER_KIND = "of another kind"
    NO_NEWS = "no news"
    EARLIER = "met too early"
    UNMET = "not met"


NEXT_DIGEST = "the next digest"

ORDER = tuple(Verdict)
"""A paper's verdict is the farthest that one of its changes came."""

_DOUBTFUL = frozenset({DeliveryState.SENDING, DeliveryState.UNKNOWN})
"""Somebody may have it: the message went out, and no answer is known."""


class Met(StrEnum):
    """What a change meant to a saved query when it was matched."""

    ENTERED = "entered"
    STAYED = "stayed in"
    LEFT = "left"
    NEVER = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """One saved query of a subscription, and one change.

    Attributes:
        name: the saved query's.
        met: what was recorded.
        would_meet: the paper meets what is asked.
        clauses: the clauses through which it does.
        failing: what keeps it from meeting it, in words; "" where it does.
        text: what is asked.
    """

    name: str
    met: Met = Met.NEVER
    would_meet: bool = False
    clauses: tuple[str, ...] = ()
    failing: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The match that was kept.

    Attributes:
        match_run_id: its run.
        digest_id: the digest it went into; None while it waits.
        reached: how far it has come in that digest; see `judge_deliveries`.
    """

    match_run_id: int
    digest_id: int | None
    reached: Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on one change, with why in words."""

    verdict: Verdict
    why: str


def judge_change(
    change: StoredChange,
    due: DueSubscription,
    asked: Sequence[Asked],
    row: Row | None,
    *,
    is_matched: bool,
    is_overtaken: bool = False,
    awaited: str = NEXT_DIGEST,
) -> Judged:
    """Say what became of one change.

    Args:
        change: what was found of the paper.
        due: the subscription as it is now.
        asked: its saved queries, each held against this change.
        row: the match that was kept for it, where one was.
        is_matched: matching has come past this change.
        is_overtaken: see `digest.matching.is_overtaken`.
        awaited: what the subscription's matches wait for; see `find_awaited`.
    """
    if row is not None:
        return _judge_match(row, due, awaited)
    if not is_matched:
        return Judged(Verdict.PENDING, "the next pass holds it against the saved queries")
    if any(one.met for one in asked):
        return _judge_unsent(change, due, asked, is_overtaken=is_overtaken)
    meeting = [one.name for one in asked if one.would_meet]
    if meeting:
        names = " and ".join(meeting)
        return Judged(Verdict.EARLIER, f"it meets {names}, but was found before {names} read so here")
    failing = [f"{one.name}: it {one.failing}" for one in asked if one.failing]
    return Judged(Verdict.UNMET, "; ".join(failing) or "none of the saved queries it asked for is there any more")


def choose_former(
    recorded: Sequence[ActiveRevision], present: Sequence[ActiveRevision]
) -> tuple[ActiveRevision, ...]:
    """Return the wordings that brought a change to a subscription and that it asks no more.

    Of a saved query that it follows no more this is known only where nothing else can have brought the change.

    Args:
        recorded: whatever recorded the change in the run that matched it, as it read then.
        present: the subscription's saved queries.
    """
    followed = {revision.query_id for revision in present}
    mine = [revision for revision in recorded if revision.query_id in followed]
    if not mine and len({revision.query_id for revision in recorded}) == 1:
        mine = [*recorded]
    asked = {revision.id for revision in present}
    return tuple(revision for revision in mine if revision.id not in asked)


def find_awaited(due: DueSubscription, now: datetime, *, is_restored: bool) -> str:
    """Say what the matches of a subscription wait for at a moment (UTC).

    Args:
        due: the subscription as it is now.
        now: the moment (UTC).
        is_restored: nothing is sent before `digest db resume`.
    """
    if is_restored:
        return "your word, since this database was restored: digest db resume"
    until = due.subscription.paused_until
    if due.state == SubscriptionState.PAUSED or (until is not None and until > now):
        return "the end of the pause"
    return NEXT_DIGEST


def judge_feed(*, is_open: bool, was_matched: bool, is_shown: bool, is_excluded: bool) -> str:
    """Say why a feed does not show a paper; "" where it does.

    Args:
        is_open: it can be read.
        was_matched: a match was kept of it.
        is_shown: it is among what the feed is made of.
        is_excluded: the subscription excludes it now.
    """
    if not is_open:
        return "it is closed"
    if is_shown:
        return ""
    if not was_matched:
        return "nothing of the paper was kept for this subscription"
    if is_excluded:
        return "the subscription excludes the paper now"
    return f"it holds the newest {FEED_ENTRIES} papers, of {FEED_DAYS} days at most"


def judge_deliveries(states: Collection[DeliveryState], *, has_doubtful_hold: bool = False) -> Verdict:
    """Say how far a paper in a digest has come: the farthest.

    Args:
        states: of the deliveries that tell it.
        has_doubtful_hold: one of them is held since nobody can tell whether it arrived.
    """
    if DeliveryState.SENT in states:
        return Verdict.TOLD
    if has_doubtful_hold or not _DOUBTFUL.isdisjoint(states):
        return Verdict.DOUBTFUL
    return Verdict.UNDELIVERED if TERMINAL_STATES.issuperset(states) else Verdict.UNDERWAY


def judge_paper(judged: Sequence[Judged]) -> Judged:
    """Say what became of a paper: the farthest any of its changes came, of equals the latest."""
    return min(reversed(judged), key=lambda one: ORDER.index(one.verdict))


def _judge_match(row: Row, due: DueSubscription, awaited: str) -> Judged:
    if row.digest_id is not None:
        return Judged(row.reached, f"it is in digest {row.digest_id}")
    places = due.subscription.destinations
    if places and not due.subscription.has_digests:
        return Judged(Verdict.SHOWN, "it matched; nothing is sent to this subscription, which is read as a feed")
    if due.state == SubscriptionState.ENDED:
        return Judged(Verdict.DROPPED, "it matched, and the subscription ended before its digest was due")
    if not places:
        return Judged(Verdict.DROPPED, "it matched, and nobody is left to send it to")
    if row.match_run_id <= due.plan_after:
        why = "it matched before there was somewhere to send digests to, or digest.toml left it out for a time"
        return Judged(Verdict.DROPPED, why)
    return Judged(Verdict.WAITING, f"it matched, and waits for {awaited}")


def _judge_unsent(
    change: StoredChange, due: DueSubscription, asked: Sequence[Asked], *, is_overtaken: bool
) -> Judged:
    """Say why nothing was kept of a change that some saved query knew."""
    outcomes = [_to_outcome(change, one.met) for one in asked if one.met]
    overtaken = {change.id} if is_overtaken else set()
    kinds, kind_of = due.subscription.kinds, {change.id: change.kind}
    words = "; ".join(f"it {one.met} {one.name}" for one in asked if one.met)
    if not select_for_subscription(kinds, outcomes, kind_of, overtaken):
        return _judge_kind(change, due, asked, words)
    exclusion = read_exclusion(due.subscription)
    left = [exclude_changes(outcome, exclusion, {change.id: change}) for outcome in outcomes]
    if not select_for_subscription(kinds, left, kind_of, overtaken):
        cause = exclusion.find_cause(change.paper) or "what is excluded now"
        return Judged(Verdict.EXCLUDED, f"{words}; {cause}")
    return Judged(Verdict.EARLIER, f"{words}, but this subscription did not ask for it then")


def _judge_kind(change: StoredChange, due: DueSubscription, asked: Sequence[Asked], words: str) -> Judged:
    if change.kind is Kind.KNOWN:
        return Judged(Verdict.EARLIER, f"{words}, and was out already when arXiv was first looked at")
    has_stayed = all(one.met is Met.STAYED for one in asked if one.met)
    if has_stayed and change.kind in (Kind.CROSS_LIST, Kind.METADATA):
        return Judged(Verdict.NO_NEWS, f"{words}: inside a saved query a {change.kind} is no news")
    if all(one.met is Met.LEFT for one in asked if one.met) and change.kind is not Kind.WITHDRAWAL:
        return Judged(Verdict.NO_NEWS, f"{words}: what leaves a saved query is no news")
    kinds = ", ".join(due.subscription.kinds)
    return Judged(Verdict.OTHER_KIND, f"{words} as {change.kind}, and the subscription asks for {kinds}")


def _to_outcome(change: StoredChange, met: Met) -> QueryOutcome:
    ids = (change.id,)
    match met:
        case Met.ENTERED:
            return QueryOutcome(new=ids)
        case Met.STAYED:
            return QueryOutcome(changed=ids)
        case Met.LEFT:
            return QueryOutcome(gone=ids)
        case Met.NEVER:
            return QueryOutcome()
