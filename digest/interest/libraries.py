"""Reads the libraries of live subscriptions again if they changed, and completes their papers.

A file is read at each check of arXiv, Zotero once a day. What can't be read keeps its last state. A
paper has its title and abstract from the store, else from its library, else from arXiv, which is
asked for each id once.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from digest import __version__
from digest.arxiv.client import IDS_LIMIT, ArxivClient
from digest.arxiv.pages import fetch_papers
from digest.config import Config
from digest.interest.child import FILE_SECONDS, load_file, read_apart
from digest.interest.step import FULL_DAY, STAND_INS, fold_title, load_weights
from digest.interest.tables import (
    LIKES,
    StoredLibrary,
    StoredLibraryPaper,
    delete_libraries,
    find_known,
    load_answers,
    load_counts,
    load_libraries,
    load_sources,
    load_states,
    load_unasked,
    load_words,
    save_answers,
    save_counts,
    save_library,
)
from digest.interest.zotero import fetch_zotero
from digest.model.clock import Clock, monotonic, write_day
from digest.model.errors import ArxivError, ConfigurationError, OutsideError, UsageError
from digest.model.libraries import ZOTERO, LibraryPaper, LibraryReading, ZoteroSource
from digest.model.numbers import count
from digest.model.papers import ArxivId
from digest.poll.record import PollReport
from digest.site import Site
from digest.store import Store, papers
from digest.store.dialect import make_storable
from digest.wire import Wire

_log = logging.getLogger("digest.interest")

_REQUESTS: Final = 5
"""Requests of a run for abstracts that libraries lack: 500 papers."""

_ZOTERO_EVERY = timedelta(days=1)
"""How often Zotero is asked."""

_ZOTERO_AGAIN = timedelta(hours=1)
"""How soon it is asked again if it could not be read."""

_ZOTERO_SECONDS = 60.0
_ZOTERO_BYTES = 10_000_000
"""How long one answer of Zotero's may take, and how long it may be."""

_ALL_SECONDS: Final = 180
"""How long all libraries of a check may take: what is left then is read at the next check."""

_COUNTED: Final = 10_000
"""How many of the newest stored papers are read to know how rare a word is."""

_COUNTS_LAST = timedelta(days=30)


@dataclass(slots=True)
class LibraryReport:
    """What came of the libraries."""

    read: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def read_libraries(site: Site, polled: PollReport, *, asks_again: bool = False) -> LibraryReport:
    """Read what changed, forget what no live subscription names, and count words if that is due.

    Args:
        polled: what the check of arXiv just came to; if it failed, arXiv is asked for nothing more.
        asks_again: ask Zotero at once if it could not be read.
    """
    report = LibraryReport()
    now = site.clock.now()
    with site.store.read() as conn:
        named = load_sources(conn)
        held = load_states(conn)
    libraries = [held.get(source, StoredLibrary(0, source)) for source in named]
    due = [library for library in libraries if _is_due(library, now, asks_again=asks_again)]
    until = monotonic() + _ALL_SECONDS
    for library in sorted(due, key=_had_trouble):  # what was slow comes last
        left = until - monotonic()
        if left <= 0:
            name = name_source(site.config, library.source)
            took = f"the others took {_ALL_SECONDS} seconds"
            report.troubles.append(f"{name} was not read: {took}. The next check reads it.")
        else:
            _read(site, report, library, now, left)
    likes = [source for source in held if source.startswith(LIKES)]
    unnamed = held.keys() - {*named, *likes}
    if unnamed:
        with site.store.begin() as conn:
            delete_libraries(conn, sorted(unnamed))
    if not polled.failures and (polled.was_due or report.read):
        _ask_arxiv(site, report)
    if named or likes:
        _count_words(site, now, again=polled.was_due)
    return report


def _had_trouble(library: StoredLibrary) -> bool:
    return library.trouble != ""


def store_library(
    site: Site, polled: PollReport, source: str, reading: LibraryReading | None
) -> None:
    """Store one library, if it has changed since it was stored.

    It is completed from fetched papers and by arXiv.
    """
    now = site.clock.now()
    if reading is not None and polled.failures:
        # Without all papers, the next call must complete it as well.
        _save(site, source, replace(reading, version=""), now)
    elif reading is not None:
        _save(site, source, reading, now)
    if not polled.failures:
        _ask_arxiv(site, LibraryReport(), source)
    _count_words(site, site.clock.now(), again=polled.was_due)


def _save(site: Site, source: str, reading: LibraryReading, now: datetime) -> None:
    troubles = reading.troubles
    with site.store.read() as conn:
        papers = merge_duplicates(complete_papers(conn, reading.papers))
    with site.store.begin() as conn:
        save_library(conn, source, papers, at=now, version=reading.version, troubles=troubles)


def _is_due(library: StoredLibrary, now: datetime, *, asks_again: bool) -> bool:
    if not library.source.startswith(ZOTERO) or library.asked_at is None:
        return True
    if library.trouble and asks_again:
        return True
    pause = _ZOTERO_AGAIN if library.trouble else _ZOTERO_EVERY
    return now - library.asked_at >= pause


def _read(
    site: Site, report: LibraryReport, had: StoredLibrary, now: datetime, left: float
) -> None:
    reading, trouble = _try_reading(site.config, site.clock, had, left)
    if trouble not in ("", had.trouble):
        report.troubles.append(describe_trouble(site.config, replace(had, trouble=trouble), now))
    if reading is not None:
        report.read.append(had.source)
        _save(site, had.source, reading, now)
    elif trouble != had.trouble or had.source.startswith(ZOTERO):
        with site.store.begin() as conn:
            save_library(conn, had.source, None, at=now, trouble=trouble)


def _try_reading(
    config: Config, clock: Clock, had: StoredLibrary, left: float = _ALL_SECONDS
) -> tuple[LibraryReading | None, str]:
    """Return what was read if it has changed, and why it can't be read, with what to do."""
    try:
        return read_source(config, clock, had.source, had.version, left=left), ""
    except (ConfigurationError, OutsideError) as error:
        name = f"{had.source}: " if had.source.startswith(ZOTERO) else ""
        # What could be read before, and fails outside, is asked again, unbidden.
        needs_help = isinstance(error, ConfigurationError) or had.read_at is None
        hint = error.hint if needs_help else ""
        return None, make_storable(f"{name}{error.message}. {hint}".rstrip(". "))
    except Exception as error:  # noqa: BLE001 - a form that nobody foresaw stops no run
        _log.exception("a library can't be read")
        form = f"its content is of an unexpected form ({type(error).__name__})"
        return None, f"{name_source(config, had.source)} can't be read: {form}"


def read_source(
    config: Config,
    clock: Clock,
    source: str,
    version: str = "",
    *,
    left: float = _ALL_SECONDS,
) -> LibraryReading | None:
    """Read a library from its file or from Zotero; None if it is as it was.

    `left`: seconds that all libraries together may still take.

    Raise `ConfigurationError`: the file is not there, or is no library, or it is over a limit.
    Raise `OutsideError`: Zotero did not answer well.
    """
    name = name_source(config, source)
    if source.startswith(ZOTERO):
        wire = Wire(
            {"User-Agent": f"preprint-digest/{__version__}"},
            deadline=_ZOTERO_SECONDS,
            limit=_ZOTERO_BYTES,
            choose_proxy=config.choose_proxy,
            now=clock.now,
        )
        asked = ZoteroSource.parse(source)
        return fetch_zotero(wire, config.zotero.url, config.zotero.key, asked, version, clock=clock)
    content = load_file(name, Path(source))
    if hashlib.sha256(content).hexdigest() == version:
        return None
    return read_apart(name, content, min(FILE_SECONDS, left))


def name_source(config: Config, source: str) -> str:
    """Return a source as the operator wrote it: paths count from the configuration's folder."""
    return source.removeprefix(f"{config.folder}/")


def describe_trouble(config: Config, library: StoredLibrary, now: datetime) -> str:
    """Say why a library can't be read, and what counts meanwhile."""
    if library.read_at is None:
        return f"{library.trouble}."
    read_on = write_day(library.read_at.astimezone(config.zone).date(), now)
    return f"{library.trouble}. What was read on {read_on} still counts."


def complete_papers(conn: Connection, papers: Sequence[LibraryPaper]) -> list[LibraryPaper]:
    """Return papers of a library with the title, abstract and id under which they are stored."""
    known = find_known(conn, papers)
    completed = []
    for paper in papers:
        stored = known.get(str(paper.arxiv_id or "")) or known.get(paper.doi)
        if stored:
            completed.append(replace(stored, doi=paper.doi, collection=paper.collection))
        else:
            completed.append(paper)
    return completed


def merge_duplicates(held: Sequence[LibraryPaper]) -> list[LibraryPaper]:
    """Return each paper of a library once.

    Two with one id, DOI or title are one, but not if their ids differ.
    """
    merged: list[LibraryPaper] = []
    places: dict[object, int] = {}
    for paper in held:
        names = [name for name in (paper.arxiv_id, paper.doi, fold_title(paper.title)) if name]
        same = [places[name] for name in names if name in places]
        place = next((one for one in same if _may_be_one(merged[one], paper)), len(merged))
        if place == len(merged):
            merged.append(paper)
        else:
            merged[place] = _merge(merged[place], paper)
        places |= dict.fromkeys(names, place)
    return merged


def _may_be_one(had: LibraryPaper, paper: LibraryPaper) -> bool:
    """Whether the ids of two papers may be those of one."""
    if had.arxiv_id is None or not paper.arxiv_id:
        return True
    return had.arxiv_id == paper.arxiv_id


def _merge(had: LibraryPaper, paper: LibraryPaper) -> LibraryPaper:
    """Return one paper of two: the text of the one that has more, and all their names."""
    kept = max(had, paper, key=_rate)
    id_ = had.arxiv_id or paper.arxiv_id
    doi = had.doi or paper.doi
    return replace(kept, arxiv_id=id_, doi=doi, collection=had.collection)


def _rate(paper: LibraryPaper) -> tuple[bool, bool]:
    return paper.abstract != "", paper.title != ""


def _ask_arxiv(site: Site, report: LibraryReport, source: str = "") -> None:
    """Ask for papers of which only the id or the title is known.

    The answers belong to the libraries alone.
    """
    with site.store.read() as conn:
        ids = load_unasked(conn, _REQUESTS * IDS_LIMIT, source)
    if not ids:
        return
    site.progress.begin("poll", f"{count(len(ids), 'paper')} of libraries, for their abstracts")
    found = 0
    for start in range(0, len(ids), IDS_LIMIT):
        some = ids[start : start + IDS_LIMIT]
        try:
            papers = fetch_texts(site.client, some)
        except ArxivError as error:
            again = "The next run asks for the abstracts of libraries again."
            report.troubles.append(f"{error.message}. {again}")
            break
        found += len(papers)
        with site.store.begin() as conn:
            save_answers(conn, some, papers, site.clock.now())
    site.progress.end("poll", f"{found:,} of {len(ids):,} found")


def fetch_texts(client: ArxivClient, ids: Sequence[ArxivId]) -> dict[ArxivId, LibraryPaper]:
    """Ask arXiv for papers by id; those it does not know are missing. May raise `ArxivError`."""
    texts = {}
    for fetched in fetch_papers(client, ids):
        for paper in fetched.page.papers:
            texts[paper.id] = LibraryPaper(paper.title, paper.abstract, paper.id)
    return texts


def _count_words(site: Site, now: datetime, *, again: bool) -> None:
    """Count words if that was not done yet.

    `again`: also if it is long ago, or was over no more than half of what is stored now.
    """
    with site.store.read() as conn:
        row = load_counts(conn)
        if row is not None and not again:
            return
        stored = papers.count_papers(conn)
        is_old = row is not None and now - row.made_at >= _COUNTS_LAST
        if not (row is None or is_old or stored >= 2 * row.papers):
            return
        if not papers.list_newest(conn, limit=1):
            return
        from digest.interest.nearness import Weights  # noqa: PLC0415 - only libraries need numpy

        site.progress.begin("match", "how rare words are")
        counted = Weights().count_words(load_words(conn, limit=_COUNTED))
    with site.store.begin() as conn:
        save_counts(conn, counted.to_bytes(), stored, now)
    site.progress.end("match", "counted")


def read_anew(config: Config, clock: Clock, store: Store | None, source: str) -> StoredLibrary:
    """Return a library as a run would store it now.

    Zotero is asked only before its first reading.
    """
    with store.read() if store else nullcontext() as conn:
        held = load_libraries(conn, [source]) if conn else {}
        had = held.get(source, StoredLibrary(0, source))
        if source.startswith(ZOTERO) and had.read_at:
            return had
        reading, trouble = _try_reading(config, clock, had)
        if reading is None:
            return replace(had, trouble=trouble)
        if conn:
            kept = load_answers(conn, merge_duplicates(complete_papers(conn, reading.papers)))
        else:
            kept = [StoredLibraryPaper(paper) for paper in merge_duplicates(reading.papers)]
        return replace(
            had, read_at=clock.now(), trouble="", troubles=reading.troubles, papers=tuple(kept)
        )


def check_library(
    conn: Connection, held: Sequence[LibraryPaper]
) -> tuple[date | None, list[tuple[LibraryPaper, bool]]]:
    """Leave each paper of a library out in turn: do the others bring it to the top tenth of a day?

    The day is the newest with enough stored papers. If there is none, None is for the newest papers
    of all.

    Raise `UsageError`: the library has too few papers, or words were not counted yet.
    """
    from digest.interest import nearness  # noqa: PLC0415 - as above

    weights = load_weights(conn)
    texts = [(paper.title, paper.abstract) for paper in held]
    if len(held) <= 1 or not weights.papers:
        hint = "`digest library show` shows what there is."
        if not weights.papers:
            hint = "`digest run` counts words."
        raise UsageError("a check needs two papers in the library, and stored papers", hint=hint)
    announced = papers.count_announced(conn, date.min, date.max)
    full_days = [day for day, number in announced.items() if number >= FULL_DAY]
    day = max(full_days, default=None)
    compared = load_words(conn, day=day, limit=None if day else STAND_INS)
    interest = nearness.Interest(weights, texts)
    least = nearness.find_least(interest.measure(nearness.Texts(compared)))
    others = nearness.measure_each_to_others(weights, texts)
    return day, [(paper, near >= least) for paper, near in zip(held, others, strict=True)]
