"""Reads the libraries of live subscriptions again if they changed, and completes their papers.

A file is read at each check of arXiv, Zotero once a day. What can't be read keeps its last state. A paper has its
title and abstract from the store, else from its library, else from arXiv, which is asked for each id once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from digest.arxiv.client import IDS_LIMIT
from digest.arxiv.pages import fetch_papers
from digest.config import Config
from digest.interest.files import read_library
from digest.model.clock import write_day
from digest.model.errors import ArxivError, ConfigurationError, OutsideError, count
from digest.model.libraries import ZOTERO, LibraryPaper, LibraryReading
from digest.poll.installation import Site
from digest.poll.record import PollReport
from digest.store import libraries as library_store
from digest.store.libraries import LIKES, StoredLibrary
from digest.store.subscriptions import load_subscriptions

_REQUESTS: Final = 5
"""Requests of a run for abstracts that libraries lack: 500 papers."""

_ZOTERO_EVERY, _ZOTERO_AGAIN = timedelta(days=1), timedelta(hours=1)
"""How often Zotero is asked, and how soon again if it could not be read."""

_COUNTED: Final = 10_000
"""So many of the newest stored papers tell how rare a word is."""

_COUNTS_LAST = timedelta(days=30)


@dataclass(slots=True)
class LibraryReport:
    """What came of the libraries.

    Attributes:
        read: the sources whose papers were read.
        troubles: sentences, each told once: what can't be read.
    """

    read: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def read_libraries(site: Site, polled: PollReport, *, asks_again: bool = False) -> LibraryReport:
    """Read what changed, forget what no live subscription names, and count words where that is due.

    Args:
        polled: what the check of arXiv just came to; if it failed, arXiv is asked for nothing more.
        asks_again: ask Zotero at once if it could not be read.
    """
    report, now = LibraryReport(), site.clock.now()
    with site.store.read() as conn:
        named = list_sources(conn)
        held = library_store.load_states(conn)
    for source in named:
        library = held.get(source)
        if library is None or _is_due(library, now, asks_again=asks_again):
            _read(site, report, source, library, now)
    unnamed = [source for source in held if source not in named and not source.startswith(LIKES)]
    if unnamed:
        with site.store.begin() as conn:
            library_store.delete_libraries(conn, unnamed)
    if not polled.failures and (polled.was_due or report.read):
        _ask_arxiv(site, report)
    if named or any(source.startswith(LIKES) for source in held):
        _count_words(site, now)
    return report


def list_sources(conn: Connection) -> list[str]:
    """Return the sources that live subscriptions name."""
    wanted = [due.subscription for due in load_subscriptions(conn)]
    return list(dict.fromkeys(source for one in wanted for source in (*one.library, *one.not_like)))


def _is_due(library: StoredLibrary, now: datetime, *, asks_again: bool) -> bool:
    if not library.source.startswith(ZOTERO) or library.asked_at is None:
        return True
    pause = _ZOTERO_AGAIN * (not asks_again) if library.trouble else _ZOTERO_EVERY
    return now - library.asked_at >= pause


def _read(site: Site, report: LibraryReport, source: str, library: StoredLibrary | None, now: datetime) -> None:
    had, trouble, reading = library or StoredLibrary(0, source), "", None
    try:
        reading = read_source(site.config, source, had.version)
    except (ConfigurationError, OutsideError) as error:
        trouble = error.message.rstrip(".")
        if trouble != had.trouble:
            report.troubles.append(describe_trouble(site.config, replace(had, trouble=trouble), now))
    if reading is None and trouble == had.trouble and not source.startswith(ZOTERO):
        return
    papers = None
    if reading is not None:
        with site.store.read() as conn:
            papers = complete(conn, reading.papers)
        report.read.append(source)
    version, troubles = (reading.version, reading.troubles) if reading else ("", ())
    with site.store.begin() as conn:
        library_store.save_library(
            conn, source, papers, at=now, version=version, trouble=trouble, troubles=troubles
        )


def read_source(config: Config, source: str, version: str = "") -> LibraryReading | None:
    """Read a library from its file or from Zotero; None if it is as it was.

    Args:
        version: of the state that is known.

    Raises:
        ConfigurationError: the file is not there, or is no library.
        OutsideError: Zotero did not answer well.
    """
    name = name_source(config, source)
    try:
        content = Path(source).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{name} can't be read: {error.strerror}", hint="Check the path and its permissions."
        ) from error
    return None if hashlib.sha256(content).hexdigest() == version else read_library(name, content)


def name_source(config: Config, source: str) -> str:
    """Return a source as the operator wrote it: paths count from the configuration's folder."""
    return source.removeprefix(f"{config.folder}/")


def describe_trouble(config: Config, library: StoredLibrary, now: datetime) -> str:
    """Say why a library can't be read, and what counts meanwhile."""
    if library.read_at is None:
        return f"{library.trouble}."
    read_on = write_day(library.read_at.astimezone(config.zone).date(), now)
    return f"{library.trouble}. What was read on {read_on} still counts."


def complete(conn: Connection, papers: Sequence[LibraryPaper]) -> list[LibraryPaper]:
    """Return papers of a library with the title, abstract and id under which they are stored, if they are."""
    known = library_store.find_known(conn, papers)
    found = ((paper, known.get(str(paper.arxiv_id or "")) or known.get(paper.doi)) for paper in papers)
    return [
        replace(stored, doi=paper.doi, collection=paper.collection) if stored else paper for paper, stored in found
    ]


def _ask_arxiv(site: Site, report: LibraryReport) -> None:
    """Ask for papers of which only the id or the title is known. The answers belong to the libraries alone."""
    with site.store.read() as conn:
        ids = library_store.load_unasked(conn, _REQUESTS * IDS_LIMIT)
    if not ids:
        return
    site.progress.begin("poll", f"{count(len(ids), 'paper')} of libraries, for their abstracts")
    found = 0
    for start in range(0, len(ids), IDS_LIMIT):
        some = ids[start : start + IDS_LIMIT]
        try:
            pages = list(fetch_papers(site.client, some))
        except ArxivError as error:
            report.troubles.append(f"{error.message}. The next run asks for the abstracts of libraries again.")
            break
        papers = {paper.id: (paper.title, paper.abstract) for one in pages for paper in one.page.papers}
        found += len(papers)
        with site.store.begin() as conn:
            library_store.save_answers(conn, some, papers, site.clock.now())
    site.progress.end("poll", f"abstracts of {count(found, 'paper')} of libraries")


def _count_words(site: Site, now: datetime) -> None:
    """Count words anew if it was not done, is long ago, or was done over half of what is stored now."""
    with site.store.read() as conn:
        row, stored = library_store.load_counts(conn), library_store.count_stored(conn)
        is_due = row is None or now - row.made_at >= _COUNTS_LAST or stored >= 2 * row.papers
        texts = library_store.load_newest(conn, _COUNTED) if is_due else ()
    if texts:
        from digest.interest.nearness import Weights  # noqa: PLC0415 - only who has a library pays for numpy

        counts = Weights().count(texts).to_bytes()
        with site.store.begin() as conn:
            library_store.save_counts(conn, counts, stored, now)
