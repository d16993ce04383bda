"""Makes one digest of one subscription: its papers in order, labelled, with reasons; and its deliveries."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from digest.model import secrets
from digest.model.announcements import Kind
from digest.model.cadences import choose_zone
from digest.model.destinations import Destination
from digest.model.messages import (
    FIRST_DIGEST_PAPERS,
    DeliveryPlan,
    Digest,
    DigestEntry,
    EarlierDigest,
    Occasion,
    Seen,
    Sequel,
    StoredText,
)
from digest.model.papers import Paper, Reason
from digest.model.subscriptions import DueSubscription
from digest.plan.order import KIND_ORDER, Precedence, arrange
from digest.query import analyse, find_reasons, matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date, datetime

    from digest.model.announcements import StoredChange
    from digest.model.messages import Coverage, Share
    from digest.query import AnalysedPaper, Query

_DAY = timedelta(days=1)

_FIRST_NEWS = (Kind.NEW, Kind.CROSS_LIST)
"""Kinds under which a paper is shown even if it was replaced meanwhile."""

_UNLABELLED = (Kind.NEW, Kind.KNOWN)


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
    load_later: Callable[[], Mapping[int, Sequence[StoredChange]]] = dict,
    make: EntryMaker | None = None,
    rank: Callable[[Sequence[DigestEntry]], tuple[Sequence[DigestEntry], Precedence]] | None = None,
) -> Digest:
    """Freeze one digest.

    Args:
        changes: every change it shows, in any order; several of one paper become one entry.
        queries: its saved queries, parsed, by name; one that cannot be read any more is simply missing.
        coverage: what was checked; `matched` is filled in here.
        load_later: returns what else was found of papers by their keys, though the subscription does not ask for
            it; called only if the digest is for several announcements.
        make: makes an entry as `make_entry` does, such as one that remembers those of other digests.
        rank: says what of its entries comes first and last, and what they are near to.
    """
    subscription = due.subscription
    by_paper: dict[int, list[StoredChange]] = {}
    for change in sorted(changes, key=lambda change: change.id):
        by_paper.setdefault(change.paper_key, []).append(change)
    texts = [(revision.name, revision.text) for revision in due.revisions]
    readable = {name: queries[name] for name, _ in texts if name in queries}
    later = load_later() if coverage.since is not None else {}

    def tell(key: int, found: Sequence[StoredChange]) -> DigestEntry:
        sequel = find_sequel(found, later.get(key, ()), occasion)
        return (make or make_entry)(Shown(found, occasion, seen.get(key), sequel), readable)

    made: Sequence[DigestEntry] = [tell(key, found) for key, found in by_paper.items()]
    made, precedence = rank(made) if rank else (made, Precedence())
    names = [name for name, _ in texts]
    entries, groups = arrange(made, subscription.group_by, names, subscription.show, precedence)
    excludes = subscription.exclude or subscription.exclude_papers
    is_sample = occasion is Occasion.FIRST_DIGEST and len(entries) >= FIRST_DIGEST_PAPERS
    return Digest(
        subscription=subscription.name,
        title=subscription.title,
        slot=slot,
        occasion=occasion,
        planned_at=now,
        zone=choose_zone(subscription.cadence, subscription.quiet_hours),
        entries=entries,
        shown=min(len(entries), subscription.show or len(entries)),
        queries=tuple(texts),
        coverage=_count_matched(
            coverage, None if occasion.is_of_past or coverage.last_shown_at else len(entries)
        ),
        groups=groups,
        group_by=subscription.group_by,
        abstracts=subscription.abstracts,
        remark="What you exclude was left out." if excludes and not entries else "",
        is_nearest=is_sample and any(precedence.nearness.values()),
    )


@lru_cache(maxsize=256)
def _count_matched(coverage: Coverage, matched: int | None) -> Coverage:
    """Fill in how many papers a digest holds, once for all of an announcement that hold as many."""
    return replace(coverage, matched=matched)


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
        divide: which papers each of its messages at a destination shows; None for one that shows them all.
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
                secrets.idempotency_key(scope, digest.slot, str(destination), part),
                share,
            )
            for part, share in enumerate(shares)
        ]
    return tuple(plans)


def last_sent_until(earlier: Sequence[EarlierDigest]) -> date | None:
    """Return the last announcement that an earlier digest is for to its end; None if none does.

    A first digest shows old papers, whatever was checked before it: it is for no announcement.
    """
    return max(
        (
            one.coverage.announcement
            for one in earlier
            if one.occasion is Occasion.SCHEDULED
            and one.coverage.is_complete
            and one.coverage.announcement is not None
        ),
        default=None,
    )


def is_already_sent(coverage: Coverage, earlier: Sequence[EarlierDigest]) -> bool:
    """Whether an earlier digest is for the last announcement already: then a quiet day is not news."""
    until = last_sent_until(earlier)
    return (
        until is not None and coverage.announcement is not None and until >= coverage.announcement
    )


def find_last_papers(coverage: Coverage, earlier: Sequence[EarlierDigest]) -> datetime | None:
    """Return when papers that may be of these announcements were shown last (UTC); None if none were."""
    first = coverage.since or coverage.announcement
    if first is None:
        return None
    return max(
        (one.planned_at for one in earlier if one.papers and _has_seen(one.coverage, first)),
        default=None,
    )


def _has_seen(coverage: Coverage, announcement: date) -> bool:
    """Whether anything of an announcement can have been there; of the one that was not out yet nothing was."""
    if coverage.announcement is None:
        return False
    return coverage.announcement - (_DAY if coverage.is_awaited else timedelta(0)) >= announcement


if TYPE_CHECKING:
    EntryMaker: TypeAlias = Callable[["Shown", Mapping[str, Query]], DigestEntry]


class Shown(NamedTuple):
    """What is shown of one paper."""

    changes: Sequence[StoredChange]
    occasion: Occasion
    seen: Seen | None = None
    sequel: Sequel | None = None


def make_entry(
    shown: Shown,
    queries: Mapping[str, Query],
    *,
    ready: AnalysedPaper | None = None,
) -> DigestEntry:
    """Make the entry of one paper; it names no saved query if none of them is met, now or before.

    `ready` is the paper as its last change found it, analysed already.
    """
    changes, seen = shown.changes, shown.seen
    last = changes[-1]
    kind = merge_kinds(changes, shown.occasion)
    analysed = ready or analyse(last.paper)
    found = {name: find_reasons(query, analysed) for name, query in queries.items()}
    matched = [name for name, reasons in found.items() if reasons]  # whatever matches has a reason
    reasons = [
        Reason(reason.clause, reason.spans, name) for name in matched for reason in found[name]
    ]
    return DigestEntry(
        kind=kind,
        paper=last.paper,
        label=_label(kind, changes, queries, seen),
        queries=tuple(matched or _find_matched_before(changes, seen, queries)),
        reasons=tuple(reasons),
        announced=find_shown_change(changes, shown.occasion).announced,
        change_id=last.id,
        before=StoredText(seen.paper, seen.key)
        if seen and seen.paper and kind not in _UNLABELLED
        else None,
        sequel=shown.sequel,
    )


def _find_matched_before(
    changes: Sequence[StoredChange], seen: Seen | None, queries: Mapping[str, Query]
) -> list[str]:
    """Return the queries a paper matched when it last matched any: what was withdrawn mostly does no more."""
    texts = [
        text
        for change in reversed(changes)
        for text in (change.paper, change.previous)
        if text is not None
    ]
    texts += [seen.paper] if seen is not None and seen.paper is not None else []
    for text in texts:
        before = analyse(text)
        if matched := [name for name, query in queries.items() if matches(query, before)]:
            return matched
    return []


def merge_kinds(changes: Sequence[StoredChange], occasion: Occasion) -> Kind:
    """Return the kind under which a paper with several changes, oldest first, is shown.

    Withdrawn is withdrawn, whatever was announced before and touched since.
    """
    if occasion.is_of_past:
        return Kind.KNOWN
    if len(changes) == 1:
        return changes[0].kind
    kinds = [change.kind for change in changes]
    if kinds[-1] is Kind.WITHDRAWAL or (
        Kind.WITHDRAWAL in kinds and changes[-1].paper.is_withdrawn
    ):
        return Kind.WITHDRAWAL
    return min(kinds, key=KIND_ORDER.index)


def find_shown_change(changes: Sequence[StoredChange], occasion: Occasion) -> StoredChange:
    """Return the change that a paper is shown for: the one that made it new, else the last of its kind."""
    kind = merge_kinds(changes, occasion)
    of_kind = [change for change in changes if change.kind is kind] or [changes[-1]]
    return of_kind[0] if kind in _FIRST_NEWS else of_kind[-1]


def find_sequel(
    changes: Sequence[StoredChange], later: Sequence[StoredChange], occasion: Occasion
) -> Sequel | None:
    """Return what became of a paper after what is shown of it: replaced or withdrawn; None if nothing did.

    `later` are further changes, which are not shown. A first digest shows papers as they are.
    """
    if occasion.is_of_past or (len(changes) == 1 and not later):  # as a rule
        return None
    shown = find_shown_change(changes, occasion)
    since = [change for change in (*changes, *later) if change.id > shown.id]
    if not since:
        return None
    last = max(since, key=lambda change: change.id)
    if last.paper.is_withdrawn and not shown.paper.is_withdrawn:
        kind = Kind.WITHDRAWAL
    elif last.paper.version > shown.paper.version:
        kind = Kind.REPLACEMENT
    else:
        return None
    return Sequel(
        kind,
        last.announced,
        StoredText(shown.paper, shown.text_key),
        StoredText(last.paper, last.text_key),
    )


def _label(
    kind: Kind, changes: Sequence[StoredChange], queries: Mapping[str, Query], seen: Seen | None
) -> str:
    if kind in _UNLABELLED:  # as most are
        return ""
    first, last = changes[0], changes[-1]
    version = last.paper.version
    if kind is Kind.WITHDRAWAL:
        return f"withdrawn (v{version})"
    if kind is Kind.CROSS_LIST:
        before = first.previous.categories if first.previous else (last.paper.primary_category,)
        return "cross-listed into " + ", ".join(
            name for name in last.paper.categories if name not in before
        )
    if seen is not None:
        return f"v{seen.version} → v{version}" if seen.version < version else "edited"
    if first.previous is not None and not matches_any(queries, first.previous):
        return f"now matches (v{version})"
    return f"first time here (v{version})"


def matches_any(queries: Mapping[str, Query], paper: Paper) -> bool:
    """Whether a paper matches any of these saved queries."""
    analysed = analyse(paper)
    return any(matches(query, analysed) for query in queries.values())
