"""Makes one digest of one subscription, its papers in order and labelled, and its deliveries."""

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
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
        queries: its saved queries, parsed, by name; one that cannot be read any more is simply
            missing.
        coverage: what was checked; `matched` is filled in here.
        load_later: returns what else was found of papers by their keys, though the subscription
            does not ask for it; called only if the digest is for several announcements.
        make: makes an entry as `make_entry` does, such as one that remembers those of other
            digests.
        rank: says what of its entries comes first and last, and what they are near to.
    """
    subscription = due.subscription
    texts = tuple([(revision.name, revision.text) for revision in due.revisions])
    names = [name for name, _ in texts]
    readable = {name: queries[name] for name in names if name in queries}
    later = load_later() if coverage.since is not None else {}
    make_one = make or make_entry
    made: list[DigestEntry] = []
    for key, found in _group_by_paper(changes).items():
        sequel = find_sequel(found, later.get(key, ()), occasion)
        made.append(make_one(Shown(found, occasion, seen.get(key), sequel), readable))
    ranked: Sequence[DigestEntry] = made
    precedence = Precedence()
    if rank:
        ranked, precedence = rank(made)
    entries, groups = arrange(ranked, subscription.group_by, names, subscription.show, precedence)
    excludes = subscription.exclude or subscription.exclude_papers
    is_sample = occasion is Occasion.FIRST_DIGEST and len(entries) >= FIRST_DIGEST_PAPERS
    is_of_last = not occasion.is_of_past and not coverage.last_shown_at
    return Digest(
        subscription=subscription.name,
        title=subscription.title,
        slot=slot,
        occasion=occasion,
        planned_at=now,
        zone=choose_zone(subscription.cadence, subscription.quiet_hours),
        entries=entries,
        shown=min(len(entries), subscription.show or len(entries)),
        queries=texts,
        coverage=_count_matched(coverage, len(entries) if is_of_last else None),
        groups=groups,
        group_by=subscription.group_by,
        abstracts=subscription.abstracts,
        remark="What you exclude was left out." if excludes and not entries else "",
        is_nearest=is_sample and any(precedence.nearness.values()),
    )


def _group_by_paper(changes: Iterable[StoredChange]) -> dict[int, list[StoredChange]]:
    """Return the changes of each paper by its key, the oldest first."""
    by_paper: dict[int, list[StoredChange]] = {}
    for change in sorted(changes, key=_get_id):
        by_paper.setdefault(change.paper_key, []).append(change)
    return by_paper


def _get_id(change: StoredChange) -> int:
    return change.id


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
        divide: which papers each of its messages at a destination shows; None for one that shows
            them all.
        scope: names the subscription apart from every other one anywhere: mail servers and Slack
            know many installations, and a name may be given to another subscription later.
    """
    plans = []
    for destination in destinations:
        if destination.is_pulled:
            continue
        shares = divide(destination)
        for part, share in enumerate(shares):
            key = secrets.idempotency_key(scope, digest.slot, str(destination), part)
            plans.append(DeliveryPlan(destination, part, len(shares), key, share))
    return tuple(plans)


def last_sent_until(earlier: Sequence[EarlierDigest]) -> date | None:
    """Return the last announcement that an earlier digest is for to its end; None if none is.

    A first digest shows old papers, whatever was checked before it: it is for no announcement.
    """
    until: date | None = None
    for one in earlier:
        announced = one.coverage.announcement
        is_for_whole_announcement = one.occasion is Occasion.SCHEDULED and one.coverage.is_complete
        if is_for_whole_announcement and announced is not None:
            until = max(announced, until or announced)
    return until


def is_already_sent(coverage: Coverage, earlier: Sequence[EarlierDigest]) -> bool:
    """Whether an earlier digest is for the last announcement: then a quiet day is not news."""
    last = coverage.announcement
    until = last_sent_until(earlier)
    return until is not None and last is not None and until >= last


def find_last_papers(coverage: Coverage, earlier: Sequence[EarlierDigest]) -> datetime | None:
    """Return when papers of these announcements may have been shown last (UTC); None if never."""
    first = coverage.since or coverage.announcement
    if first is None:
        return None
    shown = [one.planned_at for one in earlier if one.papers and _has_seen(one.coverage, first)]
    return max(shown, default=None)


def _has_seen(coverage: Coverage, announcement: date) -> bool:
    """Whether anything of an announcement can have been there: nothing of one not out yet."""
    last = coverage.announcement
    if last is None:
        return False
    if coverage.is_awaited:
        last -= _DAY
    return last >= announcement


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
    changes = shown.changes
    last = changes[-1]
    kind = merge_kinds(changes, shown.occasion)
    reasons = _find_reasons(queries, ready or analyse(last.paper))
    matched = list(dict.fromkeys([reason.query for reason in reasons]))  # what matches has a reason
    return DigestEntry(
        kind=kind,
        paper=last.paper,
        label=_label(kind, changes, queries, shown.seen),
        queries=tuple(matched or _find_matched_before(changes, shown.seen, queries)),
        reasons=reasons,
        announced=find_shown_change(changes, shown.occasion).announced,
        change_id=last.id,
        before=_find_before(kind, shown.seen),
        sequel=shown.sequel,
    )


def _find_reasons(queries: Mapping[str, Query], paper: AnalysedPaper) -> tuple[Reason, ...]:
    """Return why a paper matches each query, in their order."""
    reasons = []
    for name, query in queries.items():
        found = find_reasons(query, paper)
        reasons += [Reason(reason.clause, reason.spans, name) for reason in found]
    return tuple(reasons)


def _find_before(kind: Kind, seen: Seen | None) -> StoredText | None:
    """Return the text that the reader of a paper had; None if the paper is new to them."""
    if seen is None or seen.paper is None or kind in _UNLABELLED:
        return None
    return StoredText(seen.paper, seen.key)


def _find_matched_before(
    changes: Sequence[StoredChange], seen: Seen | None, queries: Mapping[str, Query]
) -> list[str]:
    """Return the queries that a paper matched when it last matched any.

    What was withdrawn mostly matches none any more.
    """
    for text in _list_texts_before(changes, seen):
        before = analyse(text)
        matched = [name for name, query in queries.items() if matches(query, before)]
        if matched:
            return matched
    return []


def _list_texts_before(changes: Sequence[StoredChange], seen: Seen | None) -> Iterator[Paper]:
    """Yield the texts a paper had, the newest first, and last the one that its reader saw."""
    for change in reversed(changes):
        yield change.paper
        if change.previous is not None:
            yield change.previous
    if seen is not None and seen.paper is not None:
        yield seen.paper


def merge_kinds(changes: Sequence[StoredChange], occasion: Occasion) -> Kind:
    """Return the kind under which a paper with several changes, oldest first, is shown.

    Withdrawn is withdrawn, whatever was announced before and touched since.
    """
    if occasion.is_of_past:
        return Kind.KNOWN
    if len(changes) == 1:
        return changes[0].kind
    kinds = [change.kind for change in changes]
    is_still_withdrawn = Kind.WITHDRAWAL in kinds and changes[-1].paper.is_withdrawn
    if kinds[-1] is Kind.WITHDRAWAL or is_still_withdrawn:
        return Kind.WITHDRAWAL
    return min(kinds, key=KIND_ORDER.index)


def find_shown_change(changes: Sequence[StoredChange], occasion: Occasion) -> StoredChange:
    """Return the change a paper is shown for: what made it new, else the last of its kind."""
    kind = merge_kinds(changes, occasion)
    of_kind = [change for change in changes if change.kind is kind] or [changes[-1]]
    return of_kind[0] if kind in _FIRST_NEWS else of_kind[-1]


def find_sequel(
    changes: Sequence[StoredChange], later: Sequence[StoredChange], occasion: Occasion
) -> Sequel | None:
    """Return what became of a paper after what is shown of it: replaced or withdrawn, or None.

    `later` are further changes, which are not shown. A first digest shows papers as they are.
    """
    if occasion.is_of_past or (len(changes) == 1 and not later):  # as a rule
        return None
    shown = find_shown_change(changes, occasion)
    since = [change for change in (*changes, *later) if change.id > shown.id]
    if not since:
        return None
    last = max(since, key=_get_id)
    if last.paper.is_withdrawn and not shown.paper.is_withdrawn:
        kind = Kind.WITHDRAWAL
    elif last.paper.version > shown.paper.version:
        kind = Kind.REPLACEMENT
    else:
        return None
    before = StoredText(shown.paper, shown.text_key)
    after = StoredText(last.paper, last.text_key)
    return Sequel(kind, last.announced, before, after)


def _label(
    kind: Kind, changes: Sequence[StoredChange], queries: Mapping[str, Query], seen: Seen | None
) -> str:
    if kind in _UNLABELLED:  # as most are
        return ""
    paper = changes[-1].paper
    version = paper.version
    previous = changes[0].previous
    if kind is Kind.WITHDRAWAL:
        return f"withdrawn (v{version})"
    if kind is Kind.CROSS_LIST:
        before = previous.categories if previous else (paper.primary_category,)
        names = ", ".join([name for name in paper.categories if name not in before])
        return f"cross-listed into {names}"
    if seen is not None:
        return f"v{seen.version} → v{version}" if seen.version < version else "edited"
    if previous is not None and not matches_any(queries, previous):
        return f"now matches (v{version})"
    return f"first time here (v{version})"


def matches_any(queries: Mapping[str, Query], paper: Paper) -> bool:
    """Whether a paper matches any of these saved queries."""
    analysed = analyse(paper)
    return any(matches(query, analysed) for query in queries.values())
