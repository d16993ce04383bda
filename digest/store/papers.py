"""Papers and the texts they had. No text is ever overwritten.

A text that comes back (A, B, A again) is the row it was the first time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    bindparam,
    case,
    delete,
    exists,
    func,
    null,
    select,
    true,
    tuple_,
    update,
)

from digest.model.announcements import Change, Kind, KnownPaper
from digest.model.errors import StoreBusy
from digest.model.papers import FIVE_DIGITS_SINCE, ArxivId, Author, Paper
from digest.model.polls import RunOutcome, Source
from digest.store.dialect import dialect_insert, in_chunks, select_by, upsert
from digest.store.schema import changes as changes_table
from digest.store.schema import (
    cursors,
    forgotten,
    forgotten_days,
    marks,
    papers,
    poll_runs,
    versions,
)

_BATCH = 1_000
"""Papers read at once: a month has twenty thousand."""

_LATEST = (
    select(papers.c.arxiv_id, papers.c.announcement, versions)
    .join(versions, versions.c.id == papers.c.latest_version_id)
    .order_by(papers.c.month, papers.c.number, papers.c.id)
)
"""Stored papers as they read now, in the order of their announcement."""

STORED = "changes"
MATCHED = "matched"
FORGOTTEN = "forgotten"

_LENGTH = case((papers.c.month >= FIVE_DIGITS_SINCE, len("YYMM.NNNNN")), else_=len("YYMM.NNNN"))
HAS_USUAL_ID = (papers.c.archive == "") & (func.length(papers.c.arxiv_id) == _LENGTH)
"""Whether a paper has an id of today's kind, spelled as arXiv does."""

_CAN_BE_PACKED = HAS_USUAL_ID | (papers.c.archive != "")

SLOT = 4
"""Bytes of a packed paper, at this many times its number: its version, 0 for none, and how its hash begins."""

_BEGUN = 6
"""Hexadecimal digits of a hash that stay: of 16 million new wordings one is taken for the old one."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What stays of a paper that matched nothing: how its hash begins; `at` is when (UTC), None for long ago."""

    version: int
    begun_hash: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """Between which moments all that arXiv announced is stored, because harvests brought it.

    That is from the UTC day since which the first one asked for everything, to when the last complete one began.
    """

    since: date
    until: datetime


def load_stored_span(conn: Connection) -> StoredSpan | None:
    """Return what harvests cover without a gap; None if none was complete yet.

    An installation that asks arXiv's search stores what its saved queries brought, which says nothing of others.
    """
    own = (cursors.c.source == Source.HARVEST, cursors.c.query_key == "")
    cursor = conn.execute(select(cursors).where(*own)).one_or_none()
    since = select(func.min(poll_runs.c.window_from)).where(
        poll_runs.c.source == Source.HARVEST,
        poll_runs.c.is_bootstrap,
        poll_runs.c.outcome.in_((RunOutcome.COMPLETE, RunOutcome.EMPTY)),
    )
    first = conn.execute(since).scalar()
    if (
        cursor is None
        or cursor.last_complete_at is None
        or first is None
        or load_newest_paper(conn) is None
    ):
        return None
    if forgotten := load_mark(conn, FORGOTTEN):
        kept = select(func.min(changes_table.c.found_at)).where(changes_table.c.id > forgotten)
        kept_since = conn.execute(kept).scalar() or cursor.last_complete_at
        first = max(first, kept_since.date() + timedelta(days=1))
    return StoredSpan(first, cursor.last_complete_at)


def load_submitted(conn: Connection, first: datetime, last: datetime) -> Iterator[Paper]:
    """Yield the stored papers whose first version was submitted between two moments (UTC), both included."""
    within = _LATEST.where(versions.c.published >= first, versions.c.published <= last)
    for row in conn.execute(within.execution_options(yield_per=_BATCH)):
        yield read_paper(row)


def load_announced(
    conn: Connection, first: date, after: datetime, *, with_held_back: bool = False
) -> Iterator[tuple[int, date | None, Paper]]:
    """Yield the papers announced since a day, as they read now: the text's key, the day, the paper.

    If the day is not known, it is None, and the paper was first submitted after a moment (UTC); or, with those
    that were held back, its id is of that month or later.
    """
    is_late = true() if with_held_back else versions.c.published > after
    is_recent = (papers.c.announcement >= first) | (papers.c.announcement.is_(None) & is_late)
    since = papers.c.month >= after.year * 100 + after.month
    recent = _LATEST.where(since, is_recent, versions.c.is_withdrawn.is_(False))
    for row in conn.execute(recent.execution_options(yield_per=_BATCH)):
        yield row.id, row.announcement, read_paper(row)


def load_unassigned(conn: Connection) -> dict[int, datetime]:
    """Return when the papers met as new that belong to no announcement yet were submitted (UTC), by key.

    They are in the order of their announcement.
    """
    found = (
        select(papers.c.id, versions.c.published)
        .join(changes_table, changes_table.c.paper_id == papers.c.id)
        .join(versions, versions.c.id == changes_table.c.version_id)
        .where(papers.c.announcement.is_(None), changes_table.c.kind == Kind.NEW)
        .order_by(papers.c.month, papers.c.number, papers.c.id)
    )
    return {row.id: row.published for row in conn.execute(found)}


def load_days_before(conn: Connection, keys: Iterable[int]) -> dict[int, date]:
    """Return the announcement that brought the papers with lower ids of its month, by a paper's key, if any."""
    earlier = papers.alias()
    is_before = (earlier.c.month == papers.c.month) & (earlier.c.number < papers.c.number)
    found = select(papers.c.id, func.max(earlier.c.announcement).label("day")).join(
        earlier, is_before
    )
    rows = select_by(conn, found.group_by(papers.c.id), papers.c.id, keys)
    return {row.id: row.day for row in rows if row.day}


def assign_announcements(conn: Connection, announcements: Mapping[int, date]) -> None:
    """Keep which announcement brought each new paper, by its key."""
    rows = [{"key": key, "of": announcement} for key, announcement in announcements.items()]
    is_new = (changes_table.c.paper_id == bindparam("key")) & (changes_table.c.kind == Kind.NEW)
    if rows:
        conn.execute(
            update(papers)
            .where(papers.c.id == bindparam("key"))
            .values(announcement=bindparam("of")),
            rows,
        )
        conn.execute(update(changes_table).where(is_new).values(announced_on=bindparam("of")), rows)


def count_announced(conn: Connection, first: date, last: date) -> dict[date, int]:
    """Return how many papers each announcement of a span of Eastern dates brought, if any."""
    day = papers.c.announcement
    counted = select(day, func.count()).where(day >= first, day <= last).group_by(day)
    packed = select(forgotten_days).where(forgotten_days.c.announcement.between(first, last))
    counts = Counter({row[0]: row[1] for row in conn.execute(counted)})
    return counts + Counter({row[0]: row[1] for row in conn.execute(packed)})


def load_newest_paper(
    conn: Connection, *, is_harvested: bool = False
) -> tuple[ArxivId, date | None] | None:
    """Return the paper announced last of all that are stored, with its datestamp; None if none is.

    If `is_harvested`, only of those that a harvest has shown with their datestamps: another one must show them
    again. What a search or a question for ids brought before it proves nothing of harvests.
    """
    newest = select(papers.c.arxiv_id, papers.c.datestamp).where(papers.c.archive == "")
    if is_harvested:
        newest = newest.where(papers.c.datestamp.is_not(None))
    row = conn.execute(
        newest.order_by(papers.c.month.desc(), papers.c.number.desc()).limit(1)
    ).one_or_none()
    return (ArxivId.parse(row.arxiv_id), row.datestamp) if row else None


def load_mark(conn: Connection, name: str, *, lock: bool = False) -> int:
    """Return a counter, such as the change up to which all is matched; `lock` keeps others from moving it."""
    found = select(marks.c.value).where(marks.c.name == name)
    return int(conn.execute(found.with_for_update() if lock else found).scalar_one())


def write_paper(paper: Paper, key: int, content_hash: str) -> dict[str, Any]:
    """Return the row of `versions` that keeps a paper's text; see `read_paper`."""
    return {
        "paper_id": key,
        "version": paper.version,
        "content_hash": content_hash,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": [[author.name, *author.affiliations] for author in paper.authors],
        "categories": " ".join(paper.categories),
        "comment": paper.comment,
        "journal_ref": paper.journal_ref,
        "dois": list(paper.dois),
        "report_no": paper.report_no,
        "license": paper.license,
        "published": paper.published,
        "updated": paper.updated,
        "is_withdrawn": paper.is_withdrawn,
    }


def read_paper(row: Row[Any]) -> Paper:
    """Return the paper that a row of `versions`, with its paper's `arxiv_id`, keeps."""
    return Paper(
        id=ArxivId.parse(row.arxiv_id),
        version=row.version,
        title=row.title,
        abstract=row.abstract,
        authors=tuple(Author(name, tuple(affiliations)) for name, *affiliations in row.authors),
        categories=tuple(row.categories.split()),
        published=row.published,
        updated=row.updated,
        comment=row.comment,
        journal_ref=row.journal_ref,
        dois=tuple(row.dois),
        report_no=row.report_no,
        license=row.license,
        is_withdrawn=row.is_withdrawn,
    )


def load_known(conn: Connection, ids: Iterable[ArxivId]) -> dict[ArxivId, KnownPaper]:
    """Return what is stored of some papers; those never stored are missing."""
    known = {}
    for chunk in in_chunks(str(id_) for id_ in ids):
        found = (
            select(papers.c.arxiv_id, papers.c.datestamp, papers.c.as_of, versions)
            .join(versions, versions.c.id == papers.c.latest_version_id)
            .where(papers.c.arxiv_id.in_(chunk))
        )
        rows = conn.execute(found).all()
        earlier = _load_earlier(conn, [row.paper_id for row in rows])
        for row in rows:
            paper = replace(read_paper(row), datestamp=row.datestamp)
            known[paper.id] = KnownPaper(
                key=row.paper_id,
                version_id=row.id,
                paper=paper,
                as_of=row.as_of,
                earlier=frozenset(earlier.get(row.paper_id, ())),
            )
    return known


def load_forgotten(conn: Connection, ids: Iterable[ArxivId]) -> dict[ArxivId, Forgotten]:
    """Return what stays of those of some papers that were forgotten."""
    asked = {str(id_): id_ for id_ in ids}
    rows = select_by(conn, select(papers), papers.c.arxiv_id, asked)
    found = {
        asked[row.arxiv_id]: Forgotten(row.forgotten_version, row.forgotten_hash, row.forgotten_at)
        for row in rows
        if row.forgotten_at is not None
    }
    others = asked.keys() - {
        row.arxiv_id for row in rows
    }  # a paper that came again has both, and its row counts
    packed = load_packed(conn, {(asked[text].archive, asked[text].month) for text in others})
    for id_ in map(asked.__getitem__, others):
        start = SLOT * id_.number
        version, *begun = packed.get((id_.archive, id_.month), b"")[start : start + SLOT] or b"\0"
        if version and (id_.archive or id_.digits == 4 + (id_.month >= FIVE_DIGITS_SINCE)):
            found[id_] = Forgotten(version, bytes(begun).hex())
    return found


def load_packed(
    conn: Connection, months: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], bytes]:
    """Return what is packed of archives ("" for ids of today) and months; look into `papers` before."""
    of_month = tuple_(forgotten.c.archive, forgotten.c.month)
    return {
        (row.archive, row.month): row.papers
        for row in select_by(conn, select(forgotten), of_month, months)
    }


def list_packed(packed: bytes) -> set[int]:
    """Return the numbers of the papers of one month that are packed."""
    return {number for number, version in enumerate(packed[::SLOT]) if version}


def pack_forgotten(conn: Connection, before: datetime, limit: int) -> int:
    """Put 4 bytes in the place of each row of a paper forgotten before a moment (UTC); return of how many.

    The newest paper keeps its row, and so do ids and versions that arXiv never gives. One that comes again gets a
    row, which counts from then on.
    """
    load_mark(conn, MATCHED, lock=True)  # nobody else packs meanwhile
    newest = (load_newest_paper(conn, is_harvested=is_harvested) for is_harvested in (False, True))
    due = select(papers.c.id).where(
        papers.c.forgotten_at < before,
        papers.c.forgotten_version.between(1, 255),
        _CAN_BE_PACKED,
        papers.c.arxiv_id.not_in([str(found[0]) for found in newest if found]),
    )
    is_due = papers.c.id.in_(due.limit(limit)) & (
        papers.c.forgotten_at < before
    )  # it may come again right now
    rows = conn.execute(delete(papers).where(is_due).returning(papers)).all()
    packed = {
        key: bytearray(old)
        for key, old in load_packed(conn, {(r.archive, r.month) for r in rows}).items()
    }
    for row in rows:
        whole, start = packed.setdefault((row.archive, row.month), bytearray()), SLOT * row.number
        whole.extend(bytes(max(0, start + SLOT - len(whole))))
        whole[start : start + SLOT] = bytes(
            [row.forgotten_version, *bytes.fromhex(row.forgotten_hash[:_BEGUN])]
        )
    for (archive, month), whole in packed.items():
        upsert(
            conn,
            forgotten,
            {"archive": archive, "month": month, "papers": whole},
            {"papers": whole},
        )
    for day, number in Counter(row.announcement for row in rows if row.announcement).items():
        more = {"papers": forgotten_days.c.papers + number}
        upsert(conn, forgotten_days, {"announcement": day, "papers": number}, more)
    return len(rows)


def forget_unmatched(conn: Connection, before: datetime, at: datetime, limit: int) -> int:
    """Forget the texts of papers that matched nothing and did not change since a moment (UTC).

    Ids stay, so that nothing comes as new again or is taken for missing; so do versions, and how the texts' hashes
    begin. Return how many changes were read.
    """
    matched = load_mark(conn, MATCHED, lock=True)  # nobody gives a first digest meanwhile
    is_due = (changes_table.c.id > load_mark(conn, FORGOTTEN)) & (changes_table.c.id <= matched)
    old = select(changes_table.c.id, changes_table.c.paper_id).where(
        is_due, changes_table.c.found_at < before
    )
    rows = conn.execute(old.order_by(changes_table.c.id).limit(limit)).all()
    if not rows:
        return 0
    is_later = (changes_table.c.paper_id == papers.c.id) & (changes_table.c.id > rows[-1].id)
    unmatched = select(papers.c.id).where(papers.c.is_kept.is_(False), ~exists().where(is_later))
    keys = (
        conn.execute(unmatched.where(papers.c.id.in_({row.paper_id for row in rows})))
        .scalars()
        .all()
    )
    latest = versions.c.id == papers.c.latest_version_id
    found = (versions.c.version, func.substr(versions.c.content_hash, 1, _BEGUN))
    version, begun = (select(column).where(latest).scalar_subquery() for column in found)
    forget = update(papers).where(papers.c.id.in_(keys))
    conn.execute(
        forget.values(
            latest_version_id=None, forgotten_version=version, forgotten_hash=begun, forgotten_at=at
        )
    )
    conn.execute(delete(changes_table).where(changes_table.c.paper_id.in_(keys)))
    conn.execute(delete(versions).where(versions.c.paper_id.in_(keys)))
    conn.execute(update(marks).where(marks.c.name == FORGOTTEN).values(value=rows[-1].id))
    return len(rows)


def mark_matched(conn: Connection, change_ids: Iterable[int]) -> None:
    """Note that the papers of these changes matched something: they are never forgotten."""
    for chunk in in_chunks(change_ids):
        theirs = select(changes_table.c.paper_id).where(changes_table.c.id.in_(chunk))
        conn.execute(update(papers).where(papers.c.id.in_(theirs)).values(is_kept=True))


def _load_earlier(conn: Connection, keys: Sequence[int]) -> dict[int, list[str]]:
    """Return the hashes of all texts but the latest, by paper."""
    left_behind = (
        select(versions.c.paper_id, versions.c.content_hash)
        .join(papers, papers.c.id == versions.c.paper_id)
        .where(versions.c.paper_id.in_(keys), versions.c.id != papers.c.latest_version_id)
    )
    hashes: dict[int, list[str]] = {}
    for row in conn.execute(left_behind):
        hashes.setdefault(row.paper_id, []).append(row.content_hash)
    return hashes


def load_paper(conn: Connection, id_: ArxivId) -> KnownPaper | None:
    """Return what is stored of one paper, None if it never was."""
    return load_known(conn, [id_]).get(id_)


def load_versions(conn: Connection, version_ids: Iterable[int]) -> dict[int, Paper]:
    """Return papers as they read at stored texts, by the texts' keys."""
    found = select(papers.c.arxiv_id, versions).join(papers, papers.c.id == versions.c.paper_id)
    return {row.id: read_paper(row) for row in select_by(conn, found, versions.c.id, version_ids)}


def save_papers(conn: Connection, changes: Sequence[Change]) -> dict[ArxivId, int]:
    """Insert the papers never stored; return the keys of all."""
    keys = {change.paper.id: change.known.key for change in changes if change.known}
    unseen = [change.paper for change in changes if not change.known]
    rows = [
        {
            "arxiv_id": str(paper.id),
            "month": paper.id.month,
            "number": paper.id.number,
            "archive": paper.id.archive,
            "is_kept": False,
        }
        for paper in unseen
    ]
    if rows:
        added = (
            dialect_insert(conn, papers)
            .on_conflict_do_update(
                index_elements=["arxiv_id"],
                set_={"forgotten_at": null()},
                where=papers.c.forgotten_at.is_not(None),
            )
            .returning(papers.c.id, papers.c.arxiv_id)
        )
        keys.update({ArxivId.parse(row.arxiv_id): row.id for row in conn.execute(added, rows)})
    _require(len(keys), len(changes))
    return keys


def save_texts(
    conn: Connection, rows: Sequence[dict[str, Any]]
) -> tuple[dict[int, int], list[int]]:
    """Insert the texts never stored; return the keys of all by paper, and which of them are texts that came back.

    What came back may have been written with other accents or blanks, which count as the same text: it
    is read as it was stored first, since that is where spans point into.
    """
    wanted = {(row["paper_id"], row["version"], row["content_hash"]) for row in rows}
    identity = (versions.c.paper_id, versions.c.version, versions.c.content_hash)
    added = dialect_insert(conn, versions).on_conflict_do_nothing(
        index_elements=[column.name for column in identity]
    )
    found = {
        (row.paper_id, row.version, row.content_hash): row.id
        for row in conn.execute(added.returning(versions.c.id, *identity), rows)
    }
    came_back = []
    for chunk in in_chunks(sorted(wanted - found.keys())):
        back = select(versions.c.id, *identity).where(tuple_(*identity).in_(chunk))
        for row in conn.execute(back):
            found[row.paper_id, row.version, row.content_hash] = row.id
            came_back.append(row.id)
    return {paper: key for (paper, _, _), key in found.items()}, came_back


def move_latest(
    conn: Connection,
    changes: Sequence[Change],
    keys: Mapping[ArxivId, int],
    texts: Mapping[int, int],
    as_of: datetime | None,
) -> None:
    """Make the new texts of papers their latest; refused as busy if another run was quicker."""
    move = (
        update(papers)
        .where(
            papers.c.id == bindparam("key"),
            papers.c.latest_version_id.is_not_distinct_from(bindparam("known_version_id")),
        )
        .values(
            latest_version_id=bindparam("now_version_id"),
            datestamp=bindparam("now_datestamp"),
            as_of=bindparam("now_as_of"),
        )
    )
    rows = [
        {
            "key": keys[change.paper.id],
            "known_version_id": change.known.version_id if change.known else None,
            "now_version_id": texts[keys[change.paper.id]],
            "now_datestamp": change.paper.datestamp,
            "now_as_of": as_of,
        }
        for change in changes
    ]
    _require(conn.execute(move, rows).rowcount, len(changes))


def _require(found: int, wanted: int) -> None:
    if found != wanted:
        raise StoreBusy(
            f"another process has already stored {wanted - found} of these papers",
            hint="Nothing is lost. The next check finds what differs from what it stored.",
        )


def count_papers(conn: Connection) -> int:
    """Return how many papers are stored, or were before they were forgotten."""
    stored = int(conn.execute(select(func.count()).select_from(papers)).scalar_one())
    for archive, month, packed in conn.execute(select(forgotten)).all():
        rows = select(papers.c.number).where(
            _CAN_BE_PACKED, papers.c.month == month, papers.c.archive == archive
        )
        stored += len(list_packed(packed).difference(conn.execute(rows).scalars()))
    return stored
