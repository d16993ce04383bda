"""The tables of libraries: as they were last read, what readers like, and how often a word is met."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from digest.model.libraries import LibraryPaper, Opinion
from digest.model.papers import ArxivId
from digest.store.dialect import dialect_insert, make_storable, select_by
from digest.store.schema import (
    libraries,
    library_papers,
    near_days,
    papers,
    subscriptions,
    versions,
    word_counts,
)
from digest.store.subscriptions import forget_days

LIKES = "likes:"
"""How the source of what somebody likes begins."""


_NAMING = (subscriptions.c.library, subscriptions.c.not_like)
_HAS_LIBRARY = or_(*(column != "" for column in _NAMING))


def write_likes_source(subscription_id: int, reader: str = "") -> str:
    """Return the source of what a reader, or the operator (""), likes in a subscription, and what they do not."""
    return f"{LIKES}{subscription_id}:{reader}"


def read_likes_source(source: str) -> int:
    """Return the key of the subscription that `write_likes_source` wrote."""
    return int(source.split(":")[1])


def is_liked_by(reader: str) -> ColumnElement[bool]:
    """Whether a library is what somebody likes, in whichever subscription."""
    return libraries.c.source.startswith(LIKES) & libraries.c.source.endswith(
        f":{reader}", autoescape=True
    )


@dataclass(frozen=True, slots=True)
class StoredLibraryPaper:
    """A paper of a stored library.

    Attributes:
        opinion: of a paper somebody likes or does not; None in other libraries.
        asked_at: when arXiv was asked for its abstract (UTC); None if it never was.
    """

    paper: LibraryPaper
    opinion: Opinion | None = None
    asked_at: datetime | None = None

    @property
    def is_unasked(self) -> bool:
        """Whether arXiv must still be asked for its abstract."""
        return self.asked_at is None and self.paper.arxiv_id is not None and not self.paper.abstract


@dataclass(frozen=True, slots=True)
class StoredLibrary:
    """A library as it was last read.

    Attributes:
        version: names the state that was read; another state has another one.
        asked_at: when its source was last asked whether it changed (UTC).
    """

    id: int
    source: str
    version: str = ""
    read_at: datetime | None = None
    asked_at: datetime | None = None
    trouble: str = ""
    troubles: tuple[str, ...] = ()
    papers: tuple[StoredLibraryPaper, ...] = field(default=(), repr=False)


def load_libraries(conn: Connection, sources: Collection[str]) -> dict[str, StoredLibrary]:
    """Return stored libraries with their papers, by source; one that was never asked for is missing."""
    known = load_states(conn, sources)
    held: dict[int, list[StoredLibraryPaper]] = {one.id: [] for one in known.values()}
    in_order = select(library_papers).order_by(library_papers.c.position)
    for row in select_by(conn, in_order, library_papers.c.library_id, held):
        held[row.library_id].append(_read_paper(row))
    return {source: replace(one, papers=tuple(held[one.id])) for source, one in known.items()}


def load_states(
    conn: Connection, sources: Collection[str] | None = None
) -> dict[str, StoredLibrary]:
    """Return how libraries were last read, by source, without their papers; None for all libraries."""
    every = select(libraries).order_by(libraries.c.id)
    rows = (
        conn.execute(every)
        if sources is None
        else select_by(conn, every, libraries.c.source, sources)
    )
    return {
        row.source: StoredLibrary(**{**row._asdict(), "troubles": tuple(row.troubles)})
        for row in rows
    }


def _read_paper(row: Any) -> StoredLibraryPaper:  # noqa: ANN401 - a row of `library_papers`
    id_ = ArxivId.parse(row.arxiv_id) if row.arxiv_id else None
    paper = LibraryPaper(row.title, row.abstract, id_, row.doi, row.collection)
    opinion = Opinion(row.opinion) if row.opinion else None
    return StoredLibraryPaper(paper, opinion, row.asked_at)


def _require_library(conn: Connection, source: str) -> int:
    """Return the key of a library, which is stored empty if it was not known."""
    empty = {"source": source, "version": "", "trouble": "", "troubles": []}
    conn.execute(
        dialect_insert(conn, libraries).on_conflict_do_nothing(index_elements=["source"]), empty
    )
    return int(
        conn.execute(select(libraries.c.id).where(libraries.c.source == source)).scalar_one()
    )


def save_library(
    conn: Connection,
    source: str,
    held: Sequence[LibraryPaper] | None,
    *,
    at: datetime,
    version: str = "",
    trouble: str = "",
    troubles: Sequence[str] = (),
) -> None:
    """Store what a source was found to hold; None for unchanged, or for one that could not be read."""
    source, version, trouble, *troubles = map(make_storable, (source, version, trouble, *troubles))
    key = _require_library(conn, source)
    kept = load_answers(conn, held) if held else []
    values: dict[str, Any] = {"asked_at": at, "trouble": trouble}
    if held is not None:
        values |= {"read_at": at, "version": version, "troubles": troubles}
    # Another process that reads it now waits here, and then stores the same.
    conn.execute(update(libraries).where(libraries.c.id == key).values(values))
    if held is not None:
        conn.execute(delete(library_papers).where(library_papers.c.library_id == key))
        forget_days(conn, or_(*(column.contains(source, autoescape=True) for column in _NAMING)))
        rows = [_write_paper(key, position, one) for position, one in enumerate(kept)]
        conn.execute(insert(library_papers), rows) if rows else None


def load_answers(conn: Connection, held: Sequence[LibraryPaper]) -> list[StoredLibraryPaper]:
    """Return papers with what arXiv answered when it was asked for them, in whatever library they were then."""
    was_asked = library_papers.c.asked_at.is_not(None)
    asked = {row.arxiv_id: row for row in conn.execute(select(library_papers).where(was_asked))}
    kept = []
    for paper in held:
        if (answer := asked.get(str(paper.arxiv_id))) and not paper.abstract:
            answered = replace(paper, title=answer.title or paper.title, abstract=answer.abstract)
            kept.append(StoredLibraryPaper(answered, asked_at=answer.asked_at))
        else:
            kept.append(StoredLibraryPaper(paper))
    return kept


def _write_paper(library_id: int, position: int, stored: StoredLibraryPaper) -> dict[str, Any]:
    paper = stored.paper
    return {
        "library_id": library_id,
        "position": position,
        "arxiv_id": str(paper.arxiv_id or ""),
        "doi": paper.doi,
        "title": make_storable(paper.title),
        "abstract": make_storable(paper.abstract),
        "collection": make_storable(paper.collection),
        "opinion": stored.opinion or "",
        "asked_at": stored.asked_at,
    }


def save_like(
    conn: Connection,
    subscription_id: int,
    paper: LibraryPaper,
    opinion: Opinion,
    at: datetime,
    *,
    reader: str = "",
) -> bool:
    """Store what a reader, or the operator, says of a paper, in place of what they said; False for the same."""
    key = _require_library(conn, write_likes_source(subscription_id, reader))
    conn.execute(
        update(libraries).where(libraries.c.id == key).values(read_at=at)
    )  # one after the other
    same = _find_like(key, paper.arxiv_id)
    if conn.execute(select(library_papers.c.opinion).where(same)).scalar() == opinion:
        return False
    conn.execute(delete(library_papers).where(same))
    last = select(func.max(library_papers.c.position)).where(library_papers.c.library_id == key)
    position = conn.execute(last).scalar()
    row = _write_paper(
        key, 0 if position is None else position + 1, StoredLibraryPaper(paper, opinion)
    )
    forget_days(conn, subscriptions.c.id == subscription_id)
    conn.execute(insert(library_papers), row)
    return True


def delete_like(
    conn: Connection, subscription_id: int, arxiv_id: ArxivId, reader: str = ""
) -> bool:
    """Forget what a reader, or the operator, said of a paper; False if nothing was said."""
    key = _require_library(conn, write_likes_source(subscription_id, reader))
    forget_days(conn, subscriptions.c.id == subscription_id)
    return bool(conn.execute(delete(library_papers).where(_find_like(key, arxiv_id))).rowcount)


def _find_like(key: int, arxiv_id: ArxivId | None) -> ColumnElement[bool]:
    return (library_papers.c.library_id == key) & (library_papers.c.arxiv_id == str(arxiv_id))


def load_likes(
    conn: Connection, subscription_id: int, reader: str = ""
) -> tuple[StoredLibraryPaper, ...]:
    """Return what a reader, or the operator, likes and does not, in the order in which it was said."""
    source = write_likes_source(subscription_id, reader)
    found = load_libraries(conn, [source]).get(source)
    return found.papers if found else ()


def delete_libraries(conn: Connection, sources: Collection[str]) -> None:
    """Delete libraries, with their papers."""
    named = libraries.c.source.in_(sources)
    conn.execute(
        delete(library_papers).where(
            library_papers.c.library_id.in_(select(libraries.c.id).where(named))
        )
    )
    conn.execute(delete(libraries).where(named))


def find_known(conn: Connection, held: Sequence[LibraryPaper]) -> dict[str, LibraryPaper]:
    """Return the stored papers that a library has, as they read now, by the id and by each DOI they are known by.

    Few papers have a DOI, so all of them are read, however many are asked for.
    """
    ids = [str(paper.arxiv_id) for paper in held if paper.arxiv_id]
    dois = {paper.doi for paper in held if paper.doi and not paper.arxiv_id}
    latest = select(papers.c.arxiv_id, versions.c.title, versions.c.abstract, versions.c.dois)
    latest = latest.join(versions, versions.c.id == papers.c.latest_version_id)
    latest = latest.where(versions.c.is_withdrawn.is_(False))
    rows = select_by(conn, latest, papers.c.arxiv_id, ids)
    if dois:
        with_doi = select(versions.c.id, versions.c.dois).where(cast(versions.c.dois, Text) != "[]")
        wanted = [
            row.id
            for row in conn.execute(with_doi)
            if not dois.isdisjoint(map(str.lower, row.dois))
        ]
        rows += select_by(conn, latest, versions.c.id, wanted)
    found: dict[str, LibraryPaper] = {}
    for row in rows:
        paper = LibraryPaper(row.title, row.abstract, ArxivId.parse(row.arxiv_id))
        found |= dict.fromkeys((row.arxiv_id, *map(str.lower, row.dois)), paper)
    return found


def load_unasked(conn: Connection, limit: int, source: str = "") -> list[ArxivId]:
    """Return the ids of papers without an abstract, in all libraries or one, that arXiv was not asked for yet."""
    is_open = (library_papers.c.abstract == "") & library_papers.c.asked_at.is_(None)
    found = (
        select(library_papers.c.arxiv_id).where(is_open, library_papers.c.arxiv_id != "").distinct()
    )
    one = select(libraries.c.id).where(libraries.c.source == source)
    found = found.where(library_papers.c.library_id.in_(one)) if source else found
    ids = conn.execute(found.order_by(library_papers.c.arxiv_id.desc()).limit(limit)).scalars()
    return list(map(ArxivId.parse, ids))


def save_answers(
    conn: Connection,
    asked: Collection[ArxivId],
    answers: Mapping[ArxivId, LibraryPaper],
    at: datetime,
) -> None:
    """Note that arXiv was asked for papers of libraries, and keep the title and abstract of those it knows."""
    forget_days(conn, _HAS_LIBRARY)
    for id_ in asked:
        found = answers.get(id_)
        values = {"title": found.title, "abstract": found.abstract} if found else {}
        is_open = (library_papers.c.abstract == "") & (library_papers.c.arxiv_id == str(id_))
        conn.execute(update(library_papers).where(is_open).values(asked_at=at, **values))


def load_counts(conn: Connection) -> Any:  # noqa: ANN401 - a row of `word_counts`
    """Return the newest count of words over stored papers: `made_at`, `papers` and `counts`; None before any."""
    return conn.execute(
        select(word_counts).order_by(word_counts.c.id.desc()).limit(1)
    ).one_or_none()


def save_counts(conn: Connection, counts: bytes, number: int, at: datetime) -> None:
    """Store a new count of words in place of the last one."""
    conn.execute(delete(word_counts))
    conn.execute(delete(near_days))
    conn.execute(insert(word_counts), {"made_at": at, "papers": number, "counts": counts})


def load_sources(conn: Connection) -> list[str]:
    """Return the sources that live subscriptions name."""
    named = select(subscriptions.c.library, subscriptions.c.not_like).where(
        subscriptions.c.ended_at.is_(None)
    )
    rows = conn.execute(named.where(_HAS_LIBRARY).distinct())
    return sorted({source for row in rows for text in row for source in text.splitlines()})


def load_ordered(conn: Connection) -> list[int]:
    """Return the subscriptions, live or not, put in order by a library, or by what their readers like."""
    likes = conn.execute(
        select(libraries.c.source).where(libraries.c.source.startswith(LIKES))
    ).scalars()
    liked = set(map(read_likes_source, likes))
    return sorted(
        liked.union(conn.execute(select(subscriptions.c.id).where(_HAS_LIBRARY)).scalars())
    )


def load_texts(
    conn: Connection, *, day: date | None = None, limit: int | None = None
) -> list[tuple[str, str]]:
    """Return title and abstract of the stored papers announced last, as they read now.

    Args:
        day: of an announcement, for the papers that it brought as new; None for all papers.
    """
    found = (
        select(versions.c.title, versions.c.abstract)
        .join(papers, versions.c.id == papers.c.latest_version_id)
        .where(true() if day is None else papers.c.announcement == day)
        .order_by(papers.c.month.desc(), papers.c.number.desc(), papers.c.id)
        .limit(limit)
    )
    return [(row.title, row.abstract) for row in conn.execute(found)]
