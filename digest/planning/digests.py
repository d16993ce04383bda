"""One digest of one subscription: its papers in order, labelled, with reasons; and its deliveries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from digest import signing
from digest.announcements import Kind, latest_mailing
from digest.messages import Digest, DigestEntry, Occasion
from digest.papers import Field, Reason
from digest.query import analyse, find_reasons, matches
from digest.subscriptions import Cadence, CadenceKind, Destination, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date
    from typing import TypeAlias

    from digest.comparing import StoredChange
    from digest.matching import ActiveRevision
    from digest.messages import Coverage
    from digest.query import AnalysedPaper, Query

    EntryMaker: TypeAlias = Callable[
        [Sequence[StoredChange], Mapping[str, Query], "Seen | None", Occasion, "date | None"], DigestEntry
    ]

_DAYS_END = time(23, 59)
_KIND_ORDER = (Kind.NEW, Kind.KNOWN, Kind.CROSS_LIST, Kind.REPLACEMENT, Kind.METADATA, Kind.WITHDRAWAL)


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
class Seen:
    """What the reader of one subscription saw of a paper before: the highest version sent."""

    version: int


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """A delivery to be stored with its digest."""

    destination: Destination
    part: int
    parts: int
    idempotency_key: str


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
            record; asked only where the digest stands for several mailings.
        make: makes an entry as `make_entry` does, such as one that remembers those of other digests.
    """
    subscription = due.subscription
    by_paper: dict[int, list[StoredChange]] = {}
    for change in sorted(changes, key=lambda change: change.id):
        by_paper.setdefault(change.paper_key, []).append(change)
    texts = [(revision.name, revision.text) for revision in due.revisions]
    readable = {name: queries[name] for name, _ in texts if name in queries}
    entries = sorted(
        (
            (make or make_entry)(
                found,
                readable,
                seen.get(key),
                occasion,
                find_mailing(found[-1], *(announced or {}).get(key, (None, None)), coverage),
            )
            for key, found in by_paper.items()
        ),
        key=_reading_order,
    )
    shown = len(entries) if subscription.cap is None else min(subscription.cap, len(entries))
    return Digest(
        subscription=subscription.name,
        title=subscription.title or subscription.name,
        slot=slot,
        occasion=occasion,
        planned_at=now,
        zone=zone_of(subscription.cadence),
        entries=tuple(entries),
        shown=shown,
        queries=tuple(texts),
        coverage=replace(coverage, matched=None if occasion.is_look_back else len(entries)),
    )


def find_mailing(
    change: StoredChange, mailing: date | None, datestamp: date | None, coverage: Coverage
) -> date | None:
    """Return the mailing under whose day a change is told; None where a digest stands for one mailing alone.

    A new paper's mailing is known by its id. What changed of another became public on the day of its
    record, which lies behind the evening of the mailing, or else was found when it was.

    Args:
        change: the paper's last change.
        mailing: Eastern date of the mailing that brought the paper; None where it is not known.
        datestamp: the day arXiv last changed the paper's record (UTC); None where it is not known.
        coverage: the mailings the digest stands for.
    """
    if coverage.since is None or coverage.mailing is None:
        return None
    if change.kind is Kind.NEW and mailing is not None:
        return min(mailing, coverage.mailing)
    public_at = datetime.combine(datestamp, _DAYS_END, tzinfo=UTC) if datestamp else change.found_at
    return min(max(latest_mailing(min(public_at, change.found_at)), coverage.since), coverage.mailing)


def zone_of(cadence: Cadence) -> str:
    """Return the zone a subscription's dates are shown in: its own, or arXiv's for announcements."""
    return cadence.zone if cadence.kind is CadenceKind.CLOCK else "America/New_York"


def plan_deliveries(
    digest: Digest, destinations: Iterable[Destination], count_parts: Callable[[Destination], int], *, scope: str
) -> tuple[DeliveryPlan, ...]:
    """Return one delivery for each destination and part; what readers fetch themselves has none.

    Keys follow from what is delivered where, never from an attempt or a clock.

    Args:
        digest: the digest.
        destinations: where it goes.
        count_parts: how many messages it takes at a destination.
        scope: names the subscription apart from every other one anywhere: mail servers and Slack know many
            installations, and a name may be given to another subscription later.
    """
    plans = []
    for destination in destinations:
        if destination.is_pulled:
            continue
        parts = count_parts(destination)
        plans += [
            DeliveryPlan(
                destination,
                part,
                parts,
                signing.idempotency_key(scope, digest.slot, str(destination), part),
            )
            for part in range(parts)
        ]
    return tuple(plans)


def make_entry(
    changes: Sequence[StoredChange],
    queries: Mapping[str, Query],
    seen: Seen | None,
    occasion: Occasion,
    mailing: date | None = None,
    *,
    ready: AnalysedPaper | None = None,
    explain: Callable[[Query, AnalysedPaper], Sequence[Reason]] = find_reasons,
) -> DigestEntry:
    """Make the entry of one paper.

    Args:
        changes: all its changes that are told, oldest first.
        queries: the subscription's saved queries by name.
        seen: what its reader saw before; None for nothing.
        occasion: why the digest exists.
        mailing: under whose day it is told; None where the digest stands for one mailing alone.
        ready: the paper as its last change found it, analysed already.
        explain: says why a paper matches as `find_reasons` does, such as `Clauses`, which remembers.
    """
    last = changes[-1]
    kind = Kind.KNOWN if occasion.is_look_back else _merge_kinds([change.kind for change in changes])
    analysed = ready or analyse(last.paper)
    found = {name: explain(query, analysed) for name, query in queries.items()}
    matched = [name for name, reasons in found.items() if reasons]  # whatever matches has a reason
    reasons = [Reason(reason.clause, reason.spans, name) for name in matched for reason in found[name]]
    return DigestEntry(
        kind=kind,
        paper=last.paper,
        label=_label(kind, changes, queries, seen),
        change_note=_note_changes(last) if kind in (Kind.REPLACEMENT, Kind.METADATA) else "",
        queries=tuple(matched or queries),
        reasons=tuple(reasons),
        found_at=last.found_at,
        change_id=last.id,
        mailing=mailing,
    )


def _merge_kinds(kinds: Sequence[Kind]) -> Kind:
    if len(kinds) == 1 or kinds[-1] is Kind.WITHDRAWAL:
        return kinds[-1]
    return min(kinds, key=_KIND_ORDER.index)


def _label(kind: Kind, changes: Sequence[StoredChange], queries: Mapping[str, Query], seen: Seen | None) -> str:
    first, last = changes[0], changes[-1]
    version = last.paper.version
    if kind is Kind.WITHDRAWAL:
        return f"withdrawn (v{version})"
    if kind is Kind.CROSS_LIST:
        before = set(first.previous.categories) if first.previous else set()
        return "cross-listed into " + ", ".join(name for name in last.paper.categories if name not in before)
    if kind not in (Kind.REPLACEMENT, Kind.METADATA):
        return ""
    if seen is not None and seen.version < version:
        return f"v{seen.version} → v{version}"
    if first.previous is not None and not _matched_any(queries, first):
        return f"now matches (v{version})"
    return f"first time here (v{version})"


def _matched_any(queries: Mapping[str, Query], change: StoredChange) -> bool:
    if change.previous is None:
        return False
    before = analyse(change.previous)
    return any(matches(query, before) for query in queries.values())


_FIELD_WORDS = {"journal_ref": "journal reference", "dois": "DOI"}


def _note_changes(change: StoredChange) -> str:
    """Say what changed, the authors' own comment first: it is what "accepted at …" stands in."""
    names = [_FIELD_WORDS.get(name, name) for name in change.fields if name not in ("version", "withdrawn")]
    comment = f"“{change.paper.comment}”" if "comment" in change.fields and change.paper.comment else ""
    others = [name for name in names if name != "comment" or not comment]
    changed = " and ".join([", ".join(others[:-1]), others[-1]] if len(others) > 1 else others)
    return "; ".join(part for part in (comment, f"{changed} changed" if changed else "") if part)


def _reading_order(entry: DigestEntry) -> tuple[int, int, int, int, int, tuple[int, int]]:
    """The newest mailing; kinds in order; inside: an author asked for, words in the title, clauses, newest id."""
    fields = {span.field for reason in entry.reasons for span in reason.spans}
    clauses = {reason.clause for reason in entry.reasons}
    month, number = entry.paper.id.announcement_order
    return (
        -entry.mailing.toordinal() if entry.mailing else 0,
        _KIND_ORDER.index(entry.kind),
        -int(Field.AUTHORS in fields),
        -int(Field.TITLE in fields),
        -len(clauses),
        (-month, -number),
    )
