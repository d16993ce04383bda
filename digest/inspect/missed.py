"""Finds what arXiv announced in the last days that is near a library and not in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from digest.interest.nearness import Interest, Texts
from digest.interest.step import fold_title, load_weights
from digest.interest.tables import StoredLibrary
from digest.model.announcements import (
    Kind,
    announcement_moment,
    announcements_between,
    estimate_announcements,
    latest_announcement,
)
from digest.model.errors import UsageError
from digest.model.libraries import LibraryPaper
from digest.model.messages import DigestEntry, NearLibrary
from digest.model.papers import ArxivId, Paper
from digest.render.contexts import MissedContext
from digest.render.papers import PaperView
from digest.render.text import show_plain
from digest.site import Progress, Site
from digest.store import papers, words

_HELD_BACK = timedelta(days=100)
"""So long before its announcement almost every paper was submitted at the earliest.

No id was given before.
"""

_AT_ONCE: Final = 500
"""Papers in memory at once."""

_LEAST_NEAR: Final = 2**40 // 16
"""The cosine below which two papers share a few words by chance; 1 is 2**40."""


def find_missed(
    site: Site,
    stored: StoredLibrary,
    first: date,
    **asked: Any,  # noqa: ANN401 - fields of `MissedContext` that say what was asked for
) -> MissedContext:
    """Compare the papers announced since a day (Eastern date) with a library; return the nearest.

    None of them is in the library, by its id, DOI or title; nor is any withdrawn, or only replaced
    in these days.
    """
    library = [one.paper for one in stored.papers]
    near = [paper for paper in library if paper.title]
    if not near:
        raise UsageError(
            "the titles of the papers in this library are not known",
            hint="Give papers with titles, or with ids at arXiv."
            " If arXiv did not answer, call this again later.",
        )
    now = site.clock.now()
    site.progress.begin("compare", "what was announced with your library")
    with site.store.read() as conn:
        days = _load_days(conn, first, now)
        texts = [_read_text(paper) for paper in near]
        interest = Interest(load_weights(conn), texts)
        # A library's own papers are nearest.
        most = asked["limit"] + len(library)
        nearest = _find_nearest(conn, site.progress, days, interest, most)
        reach = papers.load_stored_span(conn)
        newest = papers.load_newest_paper(conn, is_harvested=True)
    site.progress.end("compare", "done")
    read_until = now
    if reach:
        read_until = reach.until
    elif newest and newest[1]:
        read_until = datetime.combine(newest[1], time.max, tzinfo=UTC)
    last_read = latest_announcement(read_until)
    last = latest_announcement(now)
    unasked = [one for one in stored.papers if one.is_unasked]
    known = _list_names(library)
    unknown = {key: paper for key, paper in nearest.items() if not _is_known(paper, known)}
    views = _view_nearest(unknown, near, interest, days, asked["limit"])
    return MissedContext(
        **asked,
        span=(first, last),
        read_until=last_read if last_read < last else None,
        announced=len(days),
        held=len(nearest) - len(unknown),
        in_library=len(library),
        without_text=len(library) - len(near),
        unasked=len(unasked),
        troubles=stored.troubles,
        papers=tuple(views),
    )


def _find_nearest(
    conn: Connection,
    progress: Progress,
    days: Mapping[int, date],
    interest: Interest,
    most: int,
) -> dict[int, Paper]:
    """Return the papers that are nearest to a library, by their texts' keys, the nearest first.

    They are so many at most.
    """
    keys = list(days)
    nearest: list[tuple[int, ArxivId, int]] = []
    for start in range(0, len(keys), _AT_ONCE):
        some = words.load(conn, keys[start : start + _AT_ONCE])
        texts = Texts(paper.words.list_texts() for paper in some.values())
        measured = interest.measure(texts)
        for nearness, (key, paper) in zip(measured, some.items(), strict=True):
            nearest.append((-nearness, paper.id, key))
        nearest = sorted(nearest)[:most]
        done = start + len(some)
        progress.update(f"{done:,} of {len(keys):,} papers")
    found = papers.load_versions(conn, [key for _, _, key in nearest])
    return {key: found[key] for _, _, key in nearest}


def _list_names(library: Iterable[LibraryPaper]) -> set[str | ArxivId]:
    """Return all that the papers of a library are known by: ids, DOIs and titles."""
    names: set[str | ArxivId] = set()
    for paper in library:
        if paper.arxiv_id:
            names.add(paper.arxiv_id)
        names.update((paper.doi, fold_title(paper.title)))
    return names - {""}


def _is_known(paper: Paper, names: set[str | ArxivId]) -> bool:
    """Whether a paper is in the library that has these names."""
    own = {paper.id, fold_title(paper.title)}
    own.update(doi.lower() for doi in paper.dois)
    return not names.isdisjoint(own)


def _view_nearest(
    papers: Mapping[int, Paper],
    library: Sequence[LibraryPaper],
    interest: Interest,
    days: Mapping[int, date],
    limit: int,
) -> list[PaperView]:
    """Return the papers that share more than a few words with one of the library, and which one."""
    views: list[PaperView] = []
    for key, paper in papers.items():
        if len(views) >= limit:
            break
        text = _read_text(paper)
        alike = interest.compare(Texts.read([text]))[0]
        if alike.max() < _LEAST_NEAR:
            continue
        near = NearLibrary(show_plain(library[alike.argmax()].title))
        entry = DigestEntry(Kind.NEW, paper, "", (), (), days[key], near=near)
        carrying = [word for word, _ in interest.explain(text)]
        views.append(PaperView(entry, len(views) + 1, why_first=", ".join(carrying)))
    return views


def _read_text(paper: Paper | LibraryPaper) -> tuple[str, str]:
    return paper.title, paper.abstract


def _load_days(conn: Connection, first: date, now: datetime) -> dict[int, date]:
    """Return when papers were announced since a day, by their texts' keys.

    The days are estimated from the order of ids.
    """
    since = announcement_moment(first) - _HELD_BACK
    announced = papers.list_announced(conn, first, since, with_held_back=True)
    submitted_at = {text.key: text.published for text in announced}
    announcements = [*announcements_between(since, now)]
    days = estimate_announcements(list(submitted_at.values()), announcements)
    return {key: day for key, day in zip(submitted_at, days, strict=True) if day >= first}
