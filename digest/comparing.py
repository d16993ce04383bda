"""What a run found out: records from arXiv held against all that is stored, as changes.

Ids are given out in order when papers are announced, so "new" is decided by ids and by what is
stored, never by a date: 1 paper in 25 is announced over a week after the date it carries.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from digest import tex
from digest.announcements import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from digest.papers import ArxivId, Paper


@dataclass(frozen=True, slots=True)
class KnownPaper:
    """A paper as stored: its key, the row of its latest text, and the paper itself."""

    key: int
    version_id: int
    paper: Paper


@dataclass(frozen=True, slots=True)
class Change:
    """One finding about one paper.

    Attributes:
        kind: what it is.
        paper: the paper as it is now; fields the source could not tell are filled from what was stored.
        known: the paper as stored before; None for one never stored.
        fields: names of what differs from `known`, in a fixed order; () for one never stored.
    """

    kind: Kind
    paper: Paper
    known: KnownPaper | None = None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change as committed: what matching and planning work on.

    Attributes:
        id: grows in the order changes were committed.
        kind: what it is.
        paper: the paper as this change found it.
        previous: the paper as it was stored before; None for the first change of a paper.
        fields: names of what differs.
        run_id: the poll run that found it.
        found_at: when that was (UTC).
        paper_key: the stored paper's key, the same for all changes of one paper.
    """

    id: int
    kind: Kind
    paper: Paper
    previous: Paper | None
    fields: tuple[str, ...]
    run_id: int
    found_at: datetime
    paper_key: int


@dataclass(frozen=True, slots=True)
class Horizon:
    """What a source had already announced when Digest first looked: behind it, nothing is news.

    Attributes:
        is_bootstrap: this run is that first look itself.
        mark: `ArxivId.announcement_order` of the newest paper then; a never-stored first version is
            news only above it. (0, 0) where the source shows only what is recent anyway.
        since: a never-stored higher version is news only if submitted from this moment on (UTC); an
            older one was merely edited. None: never.
    """

    is_bootstrap: bool = False
    mark: tuple[int, int] = (0, 0)
    since: datetime | None = None


_TEXT_FIELDS = ("title", "abstract", "authors", "comment", "journal_ref", "dois")
"""Compared fields, in the order they are reported; categories and withdrawal have kinds of their own."""

_ONLY_HARVEST_TELLS = ("report_no", "license", "submitter", "versions")
"""Fields the search API never carries: their absence there says nothing."""


def compare_papers(
    papers: Iterable[Paper], known: Mapping[ArxivId, KnownPaper], horizon: Horizon
) -> tuple[Change, ...]:
    """Hold papers against what is stored; return one change for each that differs, in id order.

    A paper that occurs twice (pages overlap) counts once, at its highest version.
    """
    latest: dict[ArxivId, Paper] = {}
    for paper in papers:
        seen = latest.get(paper.id)
        if seen is None or paper.version >= seen.version:
            latest[paper.id] = paper
    changes = (_compare_one(latest[id_], known.get(id_), horizon) for id_ in sorted(latest))
    return tuple(change for change in changes if change is not None)


def content_hash(paper: Paper) -> str:
    """Return a SHA-256 (hex) over everything of a paper that readers or queries can see.

    The licence, the submitter and the version history are left out: not every source tells them,
    and the same text must hash alike whoever brought it and however its accents were written.
    """
    names = ("title", "abstract", "authors", "comment", "journal_ref", "dois")
    visible = [*(_comparable(paper, name) for name in names), sorted(paper.categories), paper.is_withdrawn]
    return hashlib.sha256(json.dumps(visible, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _compare_one(paper: Paper, known: KnownPaper | None, horizon: Horizon) -> Change | None:
    if known is None:
        return Change(_classify_unseen(paper, horizon), paper)
    if paper.version < known.paper.version:
        return None  # a stale replica or page; what is stored is newer
    merged = _fill_from_stored(paper, known.paper)
    fields = find_differences(known.paper, merged)
    kind = _classify_seen(merged, known.paper, fields)
    if kind is None:
        return None
    return Change(Kind.KNOWN if horizon.is_bootstrap and kind is Kind.METADATA else kind, merged, known, fields)


def _classify_unseen(paper: Paper, horizon: Horizon) -> Kind:
    if horizon.is_bootstrap:
        return Kind.KNOWN
    if paper.version == 1:
        return Kind.NEW if paper.id.announcement_order > horizon.mark else Kind.KNOWN
    if horizon.since is None or paper.updated < horizon.since:
        return Kind.KNOWN
    return Kind.WITHDRAWAL if paper.is_withdrawn else Kind.REPLACEMENT


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
    names = []
    if after.version != before.version:
        names.append("version")
    names += [name for name in _TEXT_FIELDS if _comparable(before, name) != _comparable(after, name)]
    if set(after.categories) != set(before.categories):
        names.append("categories")
    if after.is_withdrawn != before.is_withdrawn:
        names.append("withdrawn")
    return tuple(names)


def _comparable(paper: Paper, name: str) -> object:
    r"""Return a field as readers see it: one interface sends `\\"o`, the other `ö`, for the same paper."""
    if name == "authors":
        return tuple(tex.to_plain(author.name) for author in paper.authors)
    value = getattr(paper, name)
    return tex.to_plain(value) if isinstance(value, str) else value


def _fill_from_stored(paper: Paper, stored: Paper) -> Paper:
    missing: dict[str, Any] = {
        name: getattr(stored, name) for name in _ONLY_HARVEST_TELLS if not getattr(paper, name)
    }
    same_names = [a.name for a in paper.authors] == [a.name for a in stored.authors]
    if same_names and not any(a.affiliations for a in paper.authors):
        missing["authors"] = stored.authors
    if stored.is_withdrawn and paper.version == stored.version:
        missing["is_withdrawn"] = True  # the search API has no mark for it
    return replace(paper, **missing) if missing else paper
