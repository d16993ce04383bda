"""The tables of libraries: as last read, what readers like, and how often a word is met."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    update,
)

from digest.model.libraries import LibraryPaper, Opinion
from digest.model.papers import ArxivId
from digest.store import words
from digest.store.dialect import dialect_insert, make_storable, select_by
from digest.store.papers import list_newest
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


_LIKE = subscriptions.c.library
_NOT_LIKE = subscriptions.c.not_like
_HAS_LIBRARY = or_(_LIKE != "", _NOT_LIKE != "")


def write_likes_source(subscription_id: int, reader: str = "") -> str:
    """Return the source of what a reader, or the operator (""), likes in a subscription and not."""
    return f"{LIKES}{subscription_id}:{reader}"


def read_likes_source(source: str) -> int:
    """Return the key of the subscription that `write_likes_source` wrote."""
    return int(source.split(":")[1])


def is_liked_by(reader: str) -> ColumnElement[bool]:
    """Whether a library is what somebody likes, in whichever subscription."""
    source = libraries.c.source
    is_theirs = source.endswith(f":{reader}", autoescape=True)
    return source.startswith(LIKES) & is_theirs


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
        if self.asked_at is not None or self.paper.abstract:
            return False
        return self.paper.arxiv_id is not None


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
    """Return stored libraries with their papers, by source, without those never asked for."""
    known = load_states(conn, sources)
    held: dict[int, list[StoredLibraryPaper]] = {one.id: [] for one in known.values()}
    in_order = select(library_papers).order_by(library_papers.c.position)
    for row in select_by(conn, in_order, library_papers.c.library_id, held):
        held[row.library_id].append(_read_paper(row))
    stored = {}
    for source, one in known.items():
        stored[source] = replace(one, papers=tuple(held[one.id]))
    return stored


def load_states(
    conn: Connection, sources: Collection[str] | None = None
) -> dict[str, StoredLibrary]:
    """Return how libraries were last read, by source, without their papers; None for all."""
    every = select(libraries).order_by(libraries.c.id)
    rows: Iterable[Any]
    if sources is None:
        rows = conn.execute(every)
    else:
        rows = select_by(conn, every, libraries.c.source, sources)
    states = {}
    for row in rows:
        state = StoredLibrary(**row._asdict())
        states[row.source] = replace(state, troubles=tuple(row.troubles))
    return states


def _read_paper(row: Any) -> StoredLibraryPaper:  # noqa: ANN401 - a row of `library_papers`
    id_ = ArxivId.parse(row.arxiv_id) if row.arxiv_id else None
    paper = LibraryPaper(row.title, row.abstract, id_, row.doi, row.collection)
    opinion = Opinion(row.opinion) if row.opinion else None
    return StoredLibraryPaper(paper, opinion, row.asked_at)


def _require_library(conn: Connection, source: str) -> int:
    """Return the key of a library, which is stored empty if it was not known."""
    empty = {"source": source, "version": "", "trouble": "", "troubles": []}
    add = dialect_insert(conn, libraries).on_conflict_do_nothing(index_elements=["source"])
    conn.execute(add, empty)
    found = select(libraries.c.id).where(libraries.c.source == source)
    return int(conn.execute(found).scalar_one())


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
    """Store what a source was found to hold; None for unchanged, or for one that can't be read."""
    source = make_storable(source)
    key = _require_library(conn, source)
    kept = load_answers(conn, held) if held else []
    values: dict[str, Any] = {"asked_at": at, "trouble": make_storable(trouble)}
    if held is not None:
        values["read_at"] = at
        values["version"] = make_storable(version)
        values["troubles"] = [make_storable(one) for one in troubles]
    # Another process that reads it now waits here, and then stores the same.
    conn.execute(update(libraries).where(libraries.c.id == key).values(values))
    if held is None:
        return
    conn.execute(delete(library_papers).where(library_papers.c.library_id == key))
    likes = _LIKE.contains(source, autoescape=True)
    dislikes = _NOT_LIKE.contains(source, autoescape=True)
    forget_days(conn, or_(likes, dislikes))
    rows = [_write_paper(key, position, one) for position, one in enumerate(kept)]
    if rows:
        conn.execute(insert(library_papers), rows)


def load_answers(conn: Connection, held: Sequence[LibraryPaper]) -> list[StoredLibraryPaper]:
    """Return papers with what arXiv answered when it was asked for them, in whatever library."""
    was_asked = select(library_papers).where(library_papers.c.asked_at.is_not(None))
    asked = {row.arxiv_id: row for row in conn.execute(was_asked)}
    kept = []
    for paper in held:
        answer = asked.get(str(paper.arxiv_id))
        if answer is None or paper.abstract:
            kept.append(StoredLibraryPaper(paper))
            continue
        title = answer.title or paper.title
        answered = replace(paper, title=title, abstract=answer.abstract)
        kept.append(StoredLibraryPaper(answered, asked_at=answer.asked_at))
    return kept


def _write_paper(library_id: int, position: int, stored: StoredLibraryPaper) -> dict[str, Any]:
    paper = stored.paper
    arxiv_id = str(paper.arxiv_id) if paper.arxiv_id else ""
    title = make_storable(paper.title)
    abstract = make_storable(paper.abstract)
    collection = make_storable(paper.collection)
    return {
        "library_id": library_id,
        "position": position,
        "arxiv_id": arxiv_id,
        "doi": paper.doi,
        "title": title,
        "abstract": abstract,
        "collection": collection,
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
    """Store what a reader, or the operator, says of a paper now; False if they said so before."""
    key = _require_library(conn, write_likes_source(subscription_id, reader))
    one_at_a_time = update(libraries).where(libraries.c.id == key)
    conn.execute(one_at_a_time.values(read_at=at))
    same = _find_like(key, paper.arxiv_id)
    said = select(library_papers.c.opinion).where(same)
    if conn.execute(said).scalar() == opinion:
        return False
    conn.execute(delete(library_papers).where(same))
    held = library_papers.c
    last = select(func.max(held.position)).where(held.library_id == key)
    position = conn.execute(last).scalar()
    following = 0 if position is None else position + 1
    row = _write_paper(key, following, StoredLibraryPaper(paper, opinion))
    forget_days(conn, subscriptions.c.id == subscription_id)
    conn.execute(insert(library_papers), row)
    return True


def delete_like(
    conn: Connection, subscription_id: int, arxiv_id: ArxivId, reader: str = ""
) -> bool:
    """Forget what a reader, or the operator, said of a paper; False if nothing was said."""
    key = _require_library(conn, write_likes_source(subscription_id, reader))
    forget_days(conn, subscriptions.c.id == subscription_id)
    deleted = conn.execute(delete(library_papers).where(_find_like(key, arxiv_id)))
    return deleted.rowcount > 0


def _find_like(key: int, arxiv_id: ArxivId | None) -> ColumnElement[bool]:
    is_held = library_papers.c.library_id == key
    return is_held & (library_papers.c.arxiv_id == str(arxiv_id))


def load_likes(
    conn: Connection, subscription_id: int, reader: str = ""
) -> tuple[StoredLibraryPaper, ...]:
    """Return what a reader, or the operator, likes and does not, as it was said, in order."""
    source = write_likes_source(subscription_id, reader)
    found = load_libraries(conn, [source]).get(source)
    return found.papers if found else ()


def delete_libraries(conn: Connection, sources: Collection[str]) -> None:
    """Delete libraries, with their papers."""
    is_named = libraries.c.source.in_(sources)
    keys = select(libraries.c.id).where(is_named)
    conn.execute(delete(library_papers).where(library_papers.c.library_id.in_(keys)))
    conn.execute(delete(libraries).where(is_named))


def find_known(conn: Connection, held: Sequence[LibraryPaper]) -> dict[str, LibraryPaper]:
    """Return the stored papers that a library has, as they read now, by their ids and DOIs.

    Few papers have a DOI, so all of them are read, however many are asked for.
    """
    ids = [str(paper.arxiv_id) for paper in held if paper.arxiv_id]
    dois = {paper.doi for paper in held if paper.doi and not paper.arxiv_id}
    is_latest = versions.c.id == papers.c.latest_version_id
    said = (papers.c.arxiv_id, versions.c.title, versions.c.abstract, versions.c.dois)
    latest = select(*said).join(versions, is_latest).where(versions.c.is_withdrawn.is_(False))
    rows = select_by(conn, latest, papers.c.arxiv_id, ids)
    if dois:
        rows += select_by(conn, latest, versions.c.id, _find_versions(conn, dois))
    found: dict[str, LibraryPaper] = {}
    for row in rows:
        paper = LibraryPaper(row.title, row.abstract, ArxivId.parse(row.arxiv_id))
        found[row.arxiv_id] = paper
        found.update(dict.fromkeys(map(str.lower, row.dois), paper))
    return found


def _find_versions(conn: Connection, dois: set[str]) -> list[int]:
    """Return the keys of the stored texts that have any of some DOIs."""
    has_dois = cast(versions.c.dois, Text) != "[]"
    rows = conn.execute(select(versions.c.id, versions.c.dois).where(has_dois))
    return [row.id for row in rows if not dois.isdisjoint(map(str.lower, row.dois))]


def load_unasked(conn: Connection, limit: int, source: str = "") -> list[ArxivId]:
    """Return the ids of papers without an abstract that arXiv was not asked for yet.

    These are of all libraries, or of one.
    """
    own = library_papers.c
    was_not_asked = own.asked_at.is_(None)
    lacks_text = (own.arxiv_id != "") & (own.abstract == "")
    found = select(own.arxiv_id).where(lacks_text, was_not_asked).distinct()
    if source:
        one = select(libraries.c.id).where(libraries.c.source == source)
        found = found.where(own.library_id.in_(one))
    newest_first = found.order_by(own.arxiv_id.desc()).limit(limit)
    return [ArxivId.parse(id_) for id_ in conn.execute(newest_first).scalars()]


def save_answers(
    conn: Connection,
    asked: Collection[ArxivId],
    answers: Mapping[ArxivId, LibraryPaper],
    at: datetime,
) -> None:
    """Note that arXiv was asked for papers of libraries; keep titles and abstracts it knows."""
    forget_days(conn, _HAS_LIBRARY)
    lacks_text = library_papers.c.abstract == ""
    for id_ in asked:
        is_meant = library_papers.c.arxiv_id == str(id_)
        note = update(library_papers).where(lacks_text, is_meant).values(asked_at=at)
        found = answers.get(id_)
        if found:
            note = note.values(title=found.title, abstract=found.abstract)
        conn.execute(note)


def load_counts(conn: Connection) -> Any:  # noqa: ANN401 - a row of `word_counts`
    """Return the newest count of words over stored papers; None before any.

    It has `made_at`, `papers` and `counts`.
    """
    newest = select(word_counts).order_by(word_counts.c.id.desc()).limit(1)
    return conn.execute(newest).one_or_none()


def save_counts(conn: Connection, counts: bytes, number: int, at: datetime) -> None:
    """Store a new count of words in place of the last one."""
    conn.execute(delete(word_counts))
    conn.execute(delete(near_days))
    conn.execute(insert(word_counts), {"made_at": at, "papers": number, "counts": counts})


def load_sources(conn: Connection) -> list[str]:
    """Return the sources that live subscriptions name."""
    is_live = subscriptions.c.ended_at.is_(None)
    named = select(_LIKE, _NOT_LIKE).where(is_live, _HAS_LIBRARY).distinct()
    sources: set[str] = set()
    for likes, dislikes in conn.execute(named):
        sources.update(likes.splitlines(), dislikes.splitlines())
    return sorted(sources)


def load_ordered(conn: Connection) -> list[int]:
    """Return the subscriptions, live or not, put in order by a library or by what readers like."""
    likes = select(libraries.c.source).where(libraries.c.source.startswith(LIKES))
    with_library = select(subscriptions.c.id).where(_HAS_LIBRARY)
    ordered = {read_likes_source(source) for source in conn.execute(likes).scalars()}
    ordered.update(conn.execute(with_library).scalars())
    return sorted(ordered)


def load_words(
    conn: Connection, *, day: date | None = None, limit: int | None = None
) -> Iterator[list[Sequence[str]]]:
    """Yield the words of titles and abstracts of the stored papers announced last.

    Args:
        day: of an announcement, for the papers that it brought as new; None for all papers.
    """
    for _, paper in words.walk(conn, list_newest(conn, day=day, limit=limit)):
        yield paper.words.list_texts()
