"""Finds what arXiv announced in the last days that is near a library and not in it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
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
from digest.model.messages import DigestEntry, NearLibrary
from digest.model.papers import ArxivId, Paper
from digest.render.contexts import MissedContext
from digest.render.papers import PaperView
from digest.render.text import show_plain
from digest.site import Site
from digest.store.papers import load_announced, load_newest_paper, load_stored_span, load_versions

_HELD_BACK = timedelta(days=100)
"""So long before its announcement almost every paper was submitted at the earliest, and no id was given before."""

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
    """Compare the papers announced since a day (Eastern date) with a library, and return the nearest.

    None of them is in the library, by its id, DOI or title; nor is any withdrawn, or only replaced in these days.
    """
    library = [one.paper for one in stored.papers]
    near = [paper for paper in library if paper.title]
    texts = [(paper.title, paper.abstract) for paper in near]
    if not near:
        hint = "Give papers with titles, or with ids at arXiv. If arXiv did not answer, call this again later."
        raise UsageError("the titles of the papers in this library are not known", hint=hint)
    names = {
        name for paper in library for name in (paper.arxiv_id, paper.doi, fold_title(paper.title))
    }
    known = names - {None, ""}
    found, now = list[tuple[int, ArxivId, int, Paper]](), site.clock.now()
    site.progress.begin("compare", "what was announced with your library")
    with site.store.read() as conn:
        days, interest = _load_days(conn, first, now), Interest(load_weights(conn), texts)
        for start in range(0, len(days), _AT_ONCE):
            some = load_versions(conn, islice(days, start, start + _AT_ONCE))
            measured = interest.measure([(paper.title, paper.abstract) for paper in some.values()])
            found += [
                (-one, paper.id, key, paper)
                for one, (key, paper) in zip(measured, some.items(), strict=True)
            ]
            found = sorted(found)[: asked["limit"] + len(library)]  # its own papers are nearest
            site.progress.update(f"{start + len(some):,} of {len(days):,} papers")
        reach, newest = load_stored_span(conn), load_newest_paper(conn, is_harvested=True)
    site.progress.end("compare", "done")
    read_until = datetime.combine(newest[1], time.max, tzinfo=UTC) if newest and newest[1] else now
    last = latest_announcement(reach.until if reach else read_until)
    papers, held = list[PaperView](), 0
    for *_, key, paper in found:
        if not known.isdisjoint((paper.id, fold_title(paper.title), *map(str.lower, paper.dois))):
            held += 1
        elif len(papers) < asked["limit"]:
            text = (paper.title, paper.abstract)
            alike = interest.compare(Texts.read([text]))[0]
            if alike.max() >= _LEAST_NEAR:
                title = show_plain(near[alike.argmax()].title)
                entry = DigestEntry(Kind.NEW, paper, "", (), (), days[key], near=NearLibrary(title))
                why = ", ".join(word for word, _ in interest.explain(text))
                papers.append(PaperView(entry, len(papers) + 1, why_first=why))
    return MissedContext(
        **asked,
        span=(first, latest_announcement(now)),
        read_until=last if last < latest_announcement(now) else None,
        announced=len(days),
        held=held,
        in_library=len(library),
        without_text=len(library) - len(near),
        unasked=sum(one.is_unasked for one in stored.papers),
        troubles=stored.troubles,
        papers=tuple(papers),
    )


def _load_days(conn: Connection, first: date, now: datetime) -> dict[int, date]:
    """Return when papers were announced, by their texts' keys, from the order of ids; only those since a day."""
    since = announcement_moment(first) - _HELD_BACK
    announced = load_announced(conn, first, since, with_held_back=True)
    stored = [(key, paper.published) for key, _, paper in announced]
    days = estimate_announcements(
        [submitted for _, submitted in stored], [*announcements_between(since, now)]
    )
    return {key: day for (key, _), day in zip(stored, days, strict=True) if day >= first}
