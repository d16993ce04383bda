"""Compares records from arXiv with what is stored, and names the changes.

Ids are given out in order when papers are announced, so "new" is decided by ids and by what is
stored, never by a date: 1 paper in 25 is announced over a week after the date it carries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from digest import tex
from digest.model.announcements import Change, Kind, KnownPaper
from digest.model.papers import ArxivId, Paper

LAG = timedelta(days=3)
"""How far behind a replica of arXiv's may be: a text that comes back sooner may be its past."""

INDEX_LAG = timedelta(days=2)
"""How far arXiv's search may be behind its harvest: hours mostly, a day at times."""

_TEXT_FIELDS = ("title", "abstract", "authors", "comment", "journal_ref", "dois")
"""Compared fields, in the order they are reported.

Categories and withdrawal have kinds of their own.
"""

_ONLY_HARVEST_HAS = ("report_no", "license")
"""Fields that saved queries may ask for and the search API never carries.

Their absence there says nothing.
"""


@dataclass(frozen=True, slots=True)
class KnownBefore:
    """What a source had already announced when Digest first checked arXiv.

    Up to there, nothing is new.

    Attributes:
        mark: `ArxivId.announcement_order` of the newest paper then; a never-stored first version is
            new only above it. (0, 0) if the source shows only what is recent anyway.
        since: a never-stored higher version is new only if submitted from this moment on (UTC); an
            older one was merely edited. None: never.
        began_on: UTC day of that first check; what was last touched before it was public then,
            whatever its id and whether or not the check met it. None if that is not known.
    """

    is_bootstrap: bool = False
    mark: tuple[int, int] = (0, 0)
    since: datetime | None = None
    began_on: date | None = None


def compare_papers(
    papers: Iterable[Paper],
    known: Mapping[ArxivId, KnownPaper],
    known_before: KnownBefore,
    as_of: datetime | None = None,
) -> tuple[Change, ...]:
    """Hold papers against what is stored; return one change for each that differs, in id order.

    A paper that occurs twice (pages overlap) counts once, at its highest version. What shows an
    older state than the stored one (see `is_outdated`) is no change. `as_of` is arXiv's own time of
    the page (UTC).
    """
    changes = []
    for paper in keep_latest(papers):
        change = _compare_one(paper, known.get(paper.id), known_before, as_of)
        if change is not None:
            changes.append(change)
    return tuple(changes)


def keep_latest(papers: Iterable[Paper]) -> list[Paper]:
    """Return each paper once, at the highest version it occurs with, in id order."""
    latest: dict[ArxivId, Paper] = {}
    for paper in papers:
        seen = latest.get(paper.id)
        if seen is None or paper.version >= seen.version:
            latest[paper.id] = paper
    return [latest[id_] for id_ in sorted(latest)]


def content_hash(paper: Paper) -> str:
    """Return a SHA-256 (hex) over everything of a paper that readers or queries can see.

    The same text must hash alike however its accents were written. What the search does not have
    is filled in from what is stored before.
    """
    visible = [_comparable(paper, name) for name in (*_TEXT_FIELDS, *_ONLY_HARVEST_HAS)]
    visible += [sorted(paper.categories), paper.is_withdrawn]
    text = json.dumps(visible, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_outdated(paper: Paper, known: KnownPaper, as_of: datetime | None) -> bool:
    """Whether a paper as it came shows an older state than the stored one.

    arXiv answers from replicas and caches, some of them hours behind, with today's date on the
    answer. What decides: the version; the harvest's datestamp of each paper; the time of the
    answer; and, on one and the same day, a text that was stored before and replaced since. The
    search has no datestamp and follows the harvest with some delay, so for that long it is not
    asked about a version the harvest has brought.
    """
    stored = known.paper
    if paper.version != stored.version:
        return paper.version < stored.version
    if known.as_of is not None and as_of is not None and as_of < known.as_of:
        return True
    seen_at = as_of or known.as_of
    if stored.datestamp is not None:
        if paper.datestamp is not None and paper.datestamp != stored.datestamp:
            return paper.datestamp < stored.datestamp
        if paper.datestamp is None and seen_at is not None:
            harvested_at = datetime.combine(stored.datestamp, time(), tzinfo=UTC)
            return seen_at - harvested_at < INDEX_LAG
    if seen_at is None or known.as_of is None or seen_at - known.as_of >= LAG:
        return False
    return _lost_categories_only(paper, stored) or _is_earlier_text(paper, known)


def _is_earlier_text(paper: Paper, known: KnownPaper) -> bool:
    """Whether a paper reads as the stored one did before it was changed."""
    return content_hash(_fill_from_stored(paper, known.paper)) in known.earlier


def _lost_categories_only(paper: Paper, stored: Paper) -> bool:
    """Whether all that differs is a cross-list missing.

    arXiv adds them daily and hardly ever takes one back.
    """
    lost = set(stored.categories) - set(paper.categories)
    if not lost:
        return False
    return find_differences(stored, _fill_from_stored(paper, stored)) == ("categories",)


def _compare_one(
    paper: Paper, known: KnownPaper | None, known_before: KnownBefore, as_of: datetime | None
) -> Change | None:
    if known is None:
        return Change(_classify_unseen(paper, known_before), paper)
    stored = known.paper
    merged = _fill_from_stored(paper, stored)
    fields = find_differences(stored, merged) + _find_first_known(paper, stored)
    kind = _classify_seen(merged, stored, fields)
    if kind is None or is_outdated(paper, known, as_of):
        return None
    if kind is Kind.METADATA:
        if paper.datestamp is None and stored.datestamp is not None:
            # The search words names and notes in its own way; the harvest's words are kept.
            return None
        if known_before.is_bootstrap:
            kind = Kind.KNOWN
    return Change(kind, merged, known, fields)


def compare_forgotten(paper: Paper, version: int, begun_hash: str) -> tuple[Change, ...]:
    """Hold a paper against what stays of one that matched nothing."""
    if paper.version < version:
        return ()
    is_same_version = paper.version == version
    if is_same_version and content_hash(paper).startswith(begun_hash):
        return ()
    kind = Kind.WITHDRAWAL if paper.is_withdrawn else Kind.REPLACEMENT
    if is_same_version and paper.datestamp is None:
        # The search words names and notes in its own way.
        kind = Kind.KNOWN
    return (Change(kind, paper, fields=("forgotten",)),)


def _classify_unseen(paper: Paper, known_before: KnownBefore) -> Kind:
    if known_before.is_bootstrap:
        return Kind.KNOWN
    touched_on = paper.datestamp
    began_on = known_before.began_on
    if touched_on is not None and began_on is not None and touched_on < began_on:
        return Kind.KNOWN
    if paper.version == 1:
        return Kind.NEW if is_first_news(paper, known_before) else Kind.KNOWN
    if known_before.since is None or paper.updated < known_before.since:
        return Kind.KNOWN
    return Kind.WITHDRAWAL if paper.is_withdrawn else Kind.REPLACEMENT


def is_first_news(paper: Paper, known_before: KnownBefore) -> bool:
    """Whether a first version that is not stored came out after a first check."""
    return paper.id.announcement_order > known_before.mark


def _classify_seen(paper: Paper, stored: Paper, fields: Sequence[str]) -> Kind | None:
    if paper.is_withdrawn and not stored.is_withdrawn:
        return Kind.WITHDRAWAL
    if paper.version > stored.version:
        return Kind.REPLACEMENT
    if set(paper.categories) - set(stored.categories):
        return Kind.CROSS_LIST
    return Kind.METADATA if fields else None


def find_differences(before: Paper, after: Paper) -> tuple[str, ...]:
    """Return the names of the fields that differ, in a fixed order, `version` first."""
    differs = {"version": after.version != before.version}
    differs |= {name: _differs(before, after, name) for name in _TEXT_FIELDS}
    differs["categories"] = set(after.categories) != set(before.categories)
    differs["withdrawn"] = after.is_withdrawn != before.is_withdrawn
    return tuple(name for name, is_other in differs.items() if is_other)


def _find_first_known(paper: Paper, stored: Paper) -> tuple[str, ...]:
    """Return what only the harvest says of a paper that a search brought.

    Saved queries may ask for it.
    """
    is_first_harvest = paper.datestamp is not None and stored.datestamp is None
    if not is_first_harvest or paper.version != stored.version:
        return ()
    names = []
    for name in _ONLY_HARVEST_HAS:
        if getattr(paper, name) != getattr(stored, name):
            names.append(name)
    return tuple(names)


def _differs(before: Paper, after: Paper, name: str) -> bool:
    """Whether a field reads differently."""
    if getattr(before, name) == getattr(after, name):
        return False  # as nearly all is: then it need not be read
    return _comparable(before, name) != _comparable(after, name)


def _comparable(paper: Paper, name: str) -> object:
    r"""Return a field as readers see it.

    For the same paper one interface sends `\\"o`, the other `ö`.
    """
    if name == "authors":  # "P. -L. Lions" here is "P.-L. Lions" there
        return tuple(tex.to_plain(author.name).replace(". -", ".-") for author in paper.authors)
    value = getattr(paper, name)
    return tex.to_plain(value) if isinstance(value, str) else value


def _fill_from_stored(paper: Paper, stored: Paper) -> Paper:
    """Return a paper with what its source does not say, taken from the stored one."""
    missing: dict[str, Any] = {}
    for name in _ONLY_HARVEST_HAS:
        if not getattr(paper, name):
            missing[name] = getattr(stored, name)
    names = [author.name for author in paper.authors]
    has_affiliations = any(author.affiliations for author in paper.authors)
    if not has_affiliations and names == [author.name for author in stored.authors]:
        missing["authors"] = stored.authors
    if paper.datestamp is None and paper.version == stored.version:
        missing["datestamp"] = stored.datestamp
        if stored.is_withdrawn:
            missing["is_withdrawn"] = True  # the search API has no mark for it
    return replace(paper, **missing) if missing else paper
