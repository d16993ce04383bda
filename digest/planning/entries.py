"""A paper's entry in a digest: what was announced, what changed since its reader saw it, and why it is there."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from digest.announcements import Kind, latest_mailing
from digest.messages import DigestEntry, Sequel, StoredText
from digest.papers import Reason
from digest.planning.ordering import KIND_ORDER
from digest.query import analyse, find_reasons, matches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from digest.comparing import StoredChange
    from digest.messages import Coverage, Occasion
    from digest.papers import Paper
    from digest.query import AnalysedPaper, Query

    EntryMaker: TypeAlias = Callable[["Told", Mapping[str, Query]], DigestEntry]

_DAYS_END = time(23, 59)
_FIRST_NEWS = (Kind.NEW, Kind.CROSS_LIST)
"""Kinds that stay what a paper is told as, though it was replaced meanwhile."""

_WITHOUT_BEFORE = (*_FIRST_NEWS, Kind.KNOWN)
"""Kinds of which nothing is held against an earlier text."""

_UNLABELLED = (Kind.NEW, Kind.KNOWN)
_EDITED = (Kind.REPLACEMENT, Kind.METADATA)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reader of one subscription saw of a paper before.

    Attributes:
        version: the highest version sent.
        key: of the stored text that was sent last at that version; 0 where it is not known.
        paper: the paper as that text reads; None where it was not loaded.
    """

    version: int
    key: int = 0
    paper: Paper | None = field(default=None, compare=False)


class Told(NamedTuple):
    """What is told of one paper.

    Attributes:
        changes: all its changes that are told, oldest first.
        occasion: why the digest exists.
        seen: what its reader saw before; None for nothing.
        mailing: under whose day it is told; None where the digest stands for one mailing alone.
        sequel: what became of it since; see `find_sequel`.
    """

    changes: Sequence[StoredChange]
    occasion: Occasion
    seen: Seen | None = None
    mailing: date | None = None
    sequel: Sequel | None = None


def make_entry(
    told: Told,
    queries: Mapping[str, Query],
    *,
    ready: AnalysedPaper | None = None,
) -> DigestEntry:
    """Make the entry of one paper; it names no saved query where none of them is met, now or before.

    Args:
        told: what is told of it.
        queries: the subscription's saved queries by name.
        ready: the paper as its last change found it, analysed already.
    """
    changes, seen = told.changes, told.seen
    last = changes[-1]
    kind = merge_kinds(changes, told.occasion)
    analysed = ready or analyse(last.paper)
    found = {name: find_reasons(query, analysed) for name, query in queries.items()}
    matched = [name for name, reasons in found.items() if reasons]  # whatever matches has a reason
    reasons = [Reason(reason.clause, reason.spans, name) for name in matched for reason in found[name]]
    return DigestEntry(
        kind=kind,
        paper=last.paper,
        label=_label(kind, changes, queries, seen),
        change_note=_note_changes(last) if kind in _EDITED else "",
        queries=tuple(matched or _find_matched_before(changes, seen, queries)),
        reasons=tuple(reasons),
        found_at=last.found_at,
        change_id=last.id,
        mailing=told.mailing,
        before=None if kind in _WITHOUT_BEFORE else _find_before(changes[0], seen),
        sequel=told.sequel,
    )


def _find_matched_before(
    changes: Sequence[StoredChange], seen: Seen | None, queries: Mapping[str, Query]
) -> list[str]:
    """Return the queries a paper matched when it last matched any: what was withdrawn mostly does no more."""
    texts = [text for change in reversed(changes) for text in (change.paper, change.previous) if text is not None]
    texts += [seen.paper] if seen is not None and seen.paper is not None else []
    for text in texts:
        before = analyse(text)
        if matched := [name for name, query in queries.items() if matches(query, before)]:
            return matched
    return []


def merge_kinds(changes: Sequence[StoredChange], occasion: Occasion) -> Kind:
    """Return as what a paper is told of which there are several changes, oldest first.

    Withdrawn is withdrawn, whatever was announced before and touched since.
    """
    if occasion.is_look_back:
        return Kind.KNOWN
    if len(changes) == 1:
        return changes[0].kind
    kinds = [change.kind for change in changes]
    if kinds[-1] is Kind.WITHDRAWAL or (Kind.WITHDRAWAL in kinds and changes[-1].paper.is_withdrawn):
        return Kind.WITHDRAWAL
    return min(kinds, key=KIND_ORDER.index)


def find_telling(changes: Sequence[StoredChange], occasion: Occasion) -> StoredChange:
    """Return the change under whose day a paper is told: the one that made it new, else the last of its kind."""
    kind = merge_kinds(changes, occasion)
    of_kind = [change for change in changes if change.kind is kind] or [changes[-1]]
    return of_kind[0] if kind in _FIRST_NEWS else of_kind[-1]


def find_mailing(
    change: StoredChange, mailing: date | None, datestamp: date | None, coverage: Coverage
) -> date | None:
    """Return the mailing under whose day a change is told; None where a digest stands for one mailing alone.

    A new paper's mailing is known by its id. What changed of another became public on the day of its
    record, which lies behind the evening of the mailing, or else was found when it was.

    Args:
        change: the change that is told.
        mailing: Eastern date of the mailing that brought the paper; None where it is not known.
        datestamp: the day arXiv last changed the paper's record (UTC); None where it is not known.
        coverage: the mailings the digest stands for.
    """
    if coverage.since is None or coverage.mailing is None:
        return None
    if change.kind is Kind.NEW and mailing is not None:
        return min(mailing, coverage.mailing)
    return min(max(_find_public_day(change, datestamp), coverage.since), coverage.mailing)


def find_sequel(
    changes: Sequence[StoredChange], later: Sequence[StoredChange], occasion: Occasion, datestamp: date | None
) -> Sequel | None:
    """Return what became of a paper after what is told of it: replaced or withdrawn; None where nothing did.

    Args:
        changes: all its changes that are told, oldest first.
        later: further ones that are not told, as its subscription does not ask for them.
        occasion: why the digest exists: a look back tells papers as they are.
        datestamp: the day arXiv last changed the paper's record (UTC); None where it is not known.
    """
    told = find_telling(changes, occasion)
    since = [change for change in (*changes, *later) if change.id > told.id]
    if occasion.is_look_back or not since:
        return None
    last = max(since, key=lambda change: change.id)
    if last.paper.is_withdrawn and not told.paper.is_withdrawn:
        kind = Kind.WITHDRAWAL
    elif last.paper.version > told.paper.version:
        kind = Kind.REPLACEMENT
    else:
        return None
    before, after = StoredText(told.paper, told.text_key), StoredText(last.paper, last.text_key)
    return Sequel(kind, _find_public_day(last, datestamp), before, after)


def _find_public_day(change: StoredChange, datestamp: date | None) -> date:
    public_at = datetime.combine(datestamp, _DAYS_END, tzinfo=UTC) if datestamp else change.found_at
    return latest_mailing(min(public_at, change.found_at))


def _find_before(first: StoredChange, seen: Seen | None) -> StoredText | None:
    """Return the text a reader knows, or else the one that was stored before the first change that is told."""
    if seen is not None and seen.paper is not None:
        return StoredText(seen.paper, seen.key)
    return StoredText(first.previous, first.previous_key) if first.previous is not None else None


def _label(kind: Kind, changes: Sequence[StoredChange], queries: Mapping[str, Query], seen: Seen | None) -> str:
    if kind in _UNLABELLED:  # as most are
        return ""
    first, last = changes[0], changes[-1]
    version = last.paper.version
    if kind is Kind.WITHDRAWAL:
        return f"withdrawn (v{version})"
    if kind is Kind.CROSS_LIST:
        before = set(first.previous.categories) if first.previous else set()
        return "cross-listed into " + ", ".join(name for name in last.paper.categories if name not in before)
    if seen is not None:
        return f"v{seen.version} → v{version}" if seen.version < version else f"edited (v{version})"
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
    """Say what changed, the authors' own comment first: it is what "accepted at …" stands in.

    Read where the text before is not at hand, as by the release before this one.
    """
    names = [_FIELD_WORDS.get(name, name) for name in change.fields if name not in ("version", "withdrawn")]
    comment = f"“{change.paper.comment}”" if "comment" in change.fields and change.paper.comment else ""
    others = [name for name in names if name != "comment" or not comment]
    changed = " and ".join([", ".join(others[:-1]), others[-1]] if len(others) > 1 else others)
    return "; ".join(part for part in (comment, f"{changed} changed" if changed else "") if part)
