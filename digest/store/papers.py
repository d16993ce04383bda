"""Papers and the texts they had. No text is ever overwritten.

A text that comes back (A, B, A again) is the row it was the first time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

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

_IN_ORDER = (papers.c.month, papers.c.number, papers.c.id)
"""The order in which papers were announced."""

_LATEST = (
    select(papers.c.arxiv_id, papers.c.announcement, versions)
    .join(versions, versions.c.id == papers.c.latest_version_id)
    .order_by(*_IN_ORDER)
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
"""Bytes of a packed paper, at this many times its number.

They are its version, 0 for none, and how its hash begins.
"""

_IDENTITY = ("paper_id", "version", "content_hash")
"""What two texts must differ in: texts that hash alike are one."""

_BEGUN = 6
"""Hexadecimal digits of a hash that stay.

Of 16 million new wordings one is taken for the old one.
"""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What stays of a paper that matched nothing: how its hash begins.

    `at` is when it was forgotten (UTC), None for long ago.
    """

    version: int
    begun_hash: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """Between which moments all that arXiv announced is stored, because harvests brought it.

    That is from the UTC day since which the first one asked for everything, to when the last
    complete one began.
    """

    since: date
    until: datetime


def load_stored_span(conn: Connection) -> StoredSpan | None:
    """Return what harvests cover without a gap; None if none was complete yet.

    An installation that asks arXiv's search stores what its saved queries brought, which says
    nothing of others.
    """
    until = _load_last_harvest(conn)
    since = _load_first_harvested_day(conn)
    if until is None or since is None or load_newest_paper(conn) is None:
        return None
    forgotten_to = load_mark(conn, FORGOTTEN)
    if forgotten_to:
        change = changes_table.c
        kept = select(func.min(change.found_at)).where(change.id > forgotten_to)
        kept_since = conn.execute(kept).scalar() or until
        next_day = kept_since.date() + timedelta(days=1)
        since = max(since, next_day)
    return StoredSpan(since, until)


def _load_last_harvest(conn: Connection) -> datetime | None:
    """Return when the last complete harvest began (UTC)."""
    is_harvests = (cursors.c.source == Source.HARVEST, cursors.c.query_key == "")
    found = select(cursors.c.last_complete_at).where(*is_harvests)
    return conn.execute(found).scalar()


def _load_first_harvested_day(conn: Connection) -> date | None:
    """Return the UTC day since which the first harvests asked for everything."""
    runs = poll_runs.c
    is_complete = runs.outcome.in_((RunOutcome.COMPLETE, RunOutcome.EMPTY))
    found = select(func.min(runs.window_from))
    firsts = found.where(runs.source == Source.HARVEST, runs.is_bootstrap, is_complete)
    return conn.execute(firsts).scalar()


def load_submitted(conn: Connection, first: datetime, last: datetime) -> Iterator[Paper]:
    """Yield the stored papers whose first version was submitted between two moments (UTC).

    Both are included.
    """
    submitted = versions.c.published
    found = _LATEST.where(submitted >= first, submitted <= last)
    within = found.execution_options(yield_per=_BATCH)
    for row in conn.execute(within):
        yield read(row)


def list_submitted(conn: Connection, first: datetime, last: datetime) -> list[int]:
    """Return the keys of the texts that `load_submitted` reads, in the same order."""
    submitted = versions.c.published
    found = _LATEST.with_only_columns(versions.c.id)
    return list(conn.execute(found.where(submitted.between(first, last))).scalars())


def list_newest(
    conn: Connection, *, day: date | None = None, limit: int | None = None
) -> list[int]:
    """Return the keys of the texts of the papers announced last, as they read now.

    Args:
        day: of an announcement, for the papers that it brought as new; None for all papers.
    """
    newest_first = (papers.c.month.desc(), papers.c.number.desc(), papers.c.id)
    found = select(papers.c.latest_version_id).where(papers.c.latest_version_id.is_not(None))
    if day is not None:
        found = found.where(papers.c.announcement == day)
    return list(conn.execute(found.order_by(*newest_first).limit(limit)).scalars())


class AnnouncedText(NamedTuple):
    """What is listed of a text without reading it; see `list_announced` for the day."""

    key: int
    paper_key: int
    announcement: date | None
    published: datetime
    categories: str


def list_announced(
    conn: Connection, first: date, after: datetime, *, with_held_back: bool = False
) -> list[AnnouncedText]:
    """Return the papers announced since a day, as they read now.

    If the day is not known, it is None, and the paper was first submitted after a moment (UTC); or,
    with those that were held back, its id is of that month or later.
    """
    text = versions.c
    day = papers.c.announcement
    is_late = true() if with_held_back else text.published > after
    is_recent = (day >= first) | (day.is_(None) & is_late)
    first_month = after.year * 100 + after.month
    is_there = text.is_withdrawn.is_(False)
    found = _LATEST.where(papers.c.month >= first_month, is_recent, is_there)
    listed = found.with_only_columns(text.id, text.paper_id, day, text.published, text.categories)
    return [AnnouncedText(*row) for row in conn.execute(listed)]


def load_unassigned(conn: Connection) -> dict[int, datetime]:
    """Return when the papers met as new that belong to no announcement yet were submitted.

    Moments are UTC, by the paper's key, in the order of their announcement.
    """
    change = changes_table.c
    text = versions.c
    found = select(papers.c.id, text.published).select_from(papers)
    brought = found.join(changes_table).join(versions, text.id == change.version_id)
    has_no_day = papers.c.announcement.is_(None)
    new = brought.where(has_no_day, change.kind == Kind.NEW)
    rows = conn.execute(new.order_by(*_IN_ORDER))
    return {row.id: row.published for row in rows}


def load_days_before(conn: Connection, keys: Iterable[int]) -> dict[int, date]:
    """Return the announcement that brought the papers with lower ids of a paper's month, if any.

    It is found by the paper's key.
    """
    paper = papers.c
    others = papers.alias()
    earlier = others.c
    is_before = (earlier.month == paper.month) & (earlier.number < paper.number)
    day = func.max(earlier.announcement).label("day")
    found = select(paper.id, day).join(others, is_before)
    rows = select_by(conn, found.group_by(paper.id), paper.id, keys)
    return {row.id: row.day for row in rows if row.day}


def assign_announcements(conn: Connection, announcements: Mapping[int, date]) -> None:
    """Keep which announcement brought each new paper, by its key."""
    rows = [{"key": key, "of": announcement} for key, announcement in announcements.items()]
    if not rows:
        return
    change = changes_table.c
    of_papers = update(papers).where(papers.c.id == bindparam("key"))
    conn.execute(of_papers.values(announcement=bindparam("of")), rows)
    brought = update(changes_table).where(change.paper_id == bindparam("key"))
    new = brought.where(change.kind == Kind.NEW)
    conn.execute(new.values(announced_on=bindparam("of")), rows)


def count_announced(conn: Connection, first: date, last: date) -> dict[date, int]:
    """Return how many papers each announcement of a span of Eastern dates brought, if any."""
    day = papers.c.announcement
    stored = select(day, func.count()).where(day >= first, day <= last).group_by(day)
    packed = select(forgotten_days).where(forgotten_days.c.announcement.between(first, last))
    counts = Counter[date]()
    for found in (stored, packed):
        for announcement, number in conn.execute(found):
            counts[announcement] += number
    return counts


def load_newest_paper(
    conn: Connection, *, is_harvested: bool = False
) -> tuple[ArxivId, date | None] | None:
    """Return the paper announced last of all stored, with its datestamp; None if none is stored.

    If `is_harvested`, only of those that a harvest has shown with their datestamps: another one
    must show them again. What a search or a question for ids brought before it proves nothing of
    harvests.
    """
    paper = papers.c
    found = select(paper.arxiv_id, paper.datestamp).where(paper.archive == "")
    if is_harvested:
        found = found.where(paper.datestamp.is_not(None))
    newest_first = found.order_by(paper.month.desc(), paper.number.desc())
    row = conn.execute(newest_first.limit(1)).one_or_none()
    if row is None:
        return None
    return ArxivId.parse(row.arxiv_id), row.datestamp


def load_mark(conn: Connection, name: str, *, lock: bool = False) -> int:
    """Return a counter, such as the change up to which all is matched.

    `lock` keeps others from moving it.
    """
    found = select(marks.c.value).where(marks.c.name == name)
    if lock:
        found = found.with_for_update()
    return int(conn.execute(found).scalar_one())


def write(paper: Paper, key: int, content_hash: str) -> dict[str, Any]:
    """Return the row of `versions` that keeps a paper's text; see `read`."""
    authors = [[author.name, *author.affiliations] for author in paper.authors]
    return {
        "paper_id": key,
        "version": paper.version,
        "content_hash": content_hash,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": authors,
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


def read(row: Row[Any]) -> Paper:
    """Return the paper that a row of `versions`, with its paper's `arxiv_id`, keeps."""
    id_ = ArxivId.parse(row.arxiv_id)
    authors = [Author(name, tuple(affiliations)) for name, *affiliations in row.authors]
    categories = row.categories.split()
    return Paper(
        id=id_,
        version=row.version,
        title=row.title,
        abstract=row.abstract,
        authors=tuple(authors),
        categories=tuple(categories),
        published=row.published,
        updated=row.updated,
        comment=row.comment,
        journal_ref=row.journal_ref,
        dois=tuple(row.dois),
        report_no=row.report_no,
        license=row.license,
        is_withdrawn=row.is_withdrawn,
    )


def _find_unmatched(conn: Connection, keys: Collection[int], change_id: int) -> Sequence[int]:
    """Return those of some papers that matched nothing and have no change after one."""
    paper = papers.c
    change = changes_table.c
    later = exists().where(change.paper_id == paper.id, change.id > change_id)
    found = select(paper.id).where(paper.id.in_(keys))
    unmatched = found.where(paper.is_kept.is_(False), ~later)
    return conn.execute(unmatched).scalars().all()


def load_known(conn: Connection, ids: Iterable[ArxivId]) -> dict[ArxivId, KnownPaper]:
    """Return what is stored of some papers; those never stored are missing."""
    stored = papers.c
    found = select(stored.arxiv_id, stored.datestamp, stored.as_of, versions)
    latest = found.join(versions, versions.c.id == stored.latest_version_id)
    known = {}
    for chunk in in_chunks(str(id_) for id_ in ids):
        rows = conn.execute(latest.where(stored.arxiv_id.in_(chunk))).all()
        earlier = _load_earlier(conn, [row.paper_id for row in rows])
        for row in rows:
            paper = replace(read(row), datestamp=row.datestamp)
            hashes = frozenset(earlier.get(row.paper_id, ()))
            known[paper.id] = KnownPaper(
                key=row.paper_id, version_id=row.id, paper=paper, as_of=row.as_of, earlier=hashes
            )
    return known


def load_record_hashes(conn: Connection, ids: Iterable[str]) -> dict[str, bytes]:
    """Return the hashes of the harvest's records that papers' latest texts were read from.

    They are found by the papers' ids. One whose latest text came otherwise is missing.
    """
    paper = papers.c
    found = select(paper.arxiv_id, paper.record_hash).where(paper.record_hash.is_not(None))
    rows = select_by(conn, found, paper.arxiv_id, ids)
    return {row.arxiv_id: row.record_hash for row in rows}


def load_forgotten(conn: Connection, ids: Iterable[ArxivId]) -> dict[ArxivId, Forgotten]:
    """Return what stays of those of some papers that were forgotten."""
    asked = {str(id_): id_ for id_ in ids}
    rows = select_by(conn, select(papers), papers.c.arxiv_id, asked)
    found = {}
    for row in rows:
        if row.forgotten_at is not None:
            kept = Forgotten(row.forgotten_version, row.forgotten_hash, row.forgotten_at)
            found[asked[row.arxiv_id]] = kept
    # A paper that came again has a row and packed bytes, too. Then the row counts.
    with_row = {row.arxiv_id for row in rows}
    others = [id_ for text, id_ in asked.items() if text not in with_row]
    packed = load_packed(conn, {(id_.archive, id_.month) for id_ in others})
    for id_ in others:
        month = packed.get((id_.archive, id_.month), b"")
        kept_of_it = _read_packed(month, id_.number)
        usual_digits = 5 if id_.month >= FIVE_DIGITS_SINCE else 4
        if kept_of_it and (id_.archive or id_.digits == usual_digits):
            found[id_] = kept_of_it
    return found


def _read_packed(month: bytes, number: int) -> Forgotten | None:
    """Return what the packed bytes of a month keep of the paper with a number; None for nothing."""
    start = SLOT * number
    slot = month[start : start + SLOT]
    if not slot or not slot[0]:
        return None
    return Forgotten(slot[0], slot[1:].hex())


def load_packed(
    conn: Connection, months: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], bytes]:
    """Return what is packed of archives ("" for ids of today) and months.

    Look into `papers` before.
    """
    of_month = tuple_(forgotten.c.archive, forgotten.c.month)
    rows = select_by(conn, select(forgotten), of_month, months)
    return {(row.archive, row.month): row.papers for row in rows}


def list_packed(packed: bytes) -> set[int]:
    """Return the numbers of the papers of one month that are packed."""
    return {number for number, version in enumerate(packed[::SLOT]) if version}


def pack_forgotten(conn: Connection, before: datetime, limit: int) -> int:
    """Put 4 bytes in the place of each row of a paper forgotten before a moment (UTC).

    The newest paper keeps its row, and so do ids and versions that arXiv never gives. One that
    comes again gets a row, which counts from then on. Return how many were packed.
    """
    paper = papers.c
    load_mark(conn, MATCHED, lock=True)  # nobody else packs meanwhile
    is_old = paper.forgotten_at < before
    fits_in_a_byte = paper.forgotten_version.between(1, 255)
    is_not_newest = paper.arxiv_id.not_in(_load_newest_ids(conn))
    found = select(paper.id).where(is_old, fits_in_a_byte, _CAN_BE_PACKED, is_not_newest)
    is_due = paper.id.in_(found.limit(limit))
    # `is_old` is asked once more: one of them may come again right now.
    taken = delete(papers).where(is_due & is_old)
    rows = conn.execute(taken.returning(papers)).all()
    _add_to_months(conn, rows)
    _add_to_days(conn, rows)
    return len(rows)


def _load_newest_ids(conn: Connection) -> list[str]:
    """Return the id of the newest paper, and that of the newest one which a harvest has shown."""
    ids = []
    for is_harvested in (False, True):
        newest = load_newest_paper(conn, is_harvested=is_harvested)
        if newest:
            ids.append(str(newest[0]))
    return ids


def _add_to_months(conn: Connection, rows: Sequence[Row[Any]]) -> None:
    """Pack papers into the bytes of their months."""
    stored = load_packed(conn, {(row.archive, row.month) for row in rows})
    packed = {key: bytearray(month) for key, month in stored.items()}
    for row in rows:
        month = packed.setdefault((row.archive, row.month), bytearray())
        begun_hash = bytes.fromhex(row.forgotten_hash[:_BEGUN])
        start = SLOT * row.number
        end = start + SLOT
        if len(month) < end:
            missing = end - len(month)
            month.extend(bytes(missing))
        month[start:end] = bytes([row.forgotten_version, *begun_hash])
    for (archive, number), month in packed.items():
        key = {"archive": archive, "month": number}
        changed = {"papers": month}
        upsert(conn, forgotten, key | changed, changed)


def _add_to_days(conn: Connection, rows: Sequence[Row[Any]]) -> None:
    """Count papers with those of their announcements that are packed."""
    days = Counter(row.announcement for row in rows if row.announcement)
    for day, number in days.items():
        row = {"announcement": day, "papers": number}
        more = {"papers": forgotten_days.c.papers + number}
        upsert(conn, forgotten_days, row, more)


def forget_unmatched(conn: Connection, before: datetime, at: datetime, limit: int) -> int:
    """Forget the texts of papers that matched nothing and did not change since a moment (UTC).

    Ids stay, so that nothing comes as new again or is taken for missing; so do versions, and how
    the texts' hashes begin. Return how many changes were read.
    """
    matched = load_mark(conn, MATCHED, lock=True)  # nobody gives a first digest meanwhile
    forgotten_to = load_mark(conn, FORGOTTEN)
    change = changes_table.c
    is_due = (change.id > forgotten_to) & (change.id <= matched)
    old = select(change.id, change.paper_id).where(is_due, change.found_at < before)
    rows = conn.execute(old.order_by(change.id).limit(limit)).all()
    if not rows:
        return 0
    last = rows[-1].id
    keys = _find_unmatched(conn, {row.paper_id for row in rows}, last)
    _forget_texts(conn, keys, at)
    move = update(marks).where(marks.c.name == FORGOTTEN)
    conn.execute(move.values(value=last))
    return len(rows)


def _forget_texts(conn: Connection, keys: Sequence[int], at: datetime) -> None:
    """Delete the texts and changes of papers.

    Their rows keep the version, and how the hash begins.
    """
    paper = papers.c
    text = versions.c
    is_latest = text.id == paper.latest_version_id
    version = select(text.version).where(is_latest)
    begun_hash = select(func.substr(text.content_hash, 1, _BEGUN)).where(is_latest)
    forget = update(papers).where(paper.id.in_(keys))
    forgotten_now = forget.values(
        latest_version_id=None,
        record_hash=None,
        forgotten_version=version.scalar_subquery(),
        forgotten_hash=begun_hash.scalar_subquery(),
        forgotten_at=at,
    )
    conn.execute(forgotten_now)
    their_changes = delete(changes_table).where(changes_table.c.paper_id.in_(keys))
    conn.execute(their_changes)
    their_texts = delete(versions).where(text.paper_id.in_(keys))
    conn.execute(their_texts)


def mark_matched(conn: Connection, change_ids: Iterable[int]) -> None:
    """Note that the papers of these changes matched something: they are never forgotten."""
    for chunk in in_chunks(change_ids):
        theirs = select(changes_table.c.paper_id).where(changes_table.c.id.in_(chunk))
        keep = update(papers).where(papers.c.id.in_(theirs))
        conn.execute(keep.values(is_kept=True))


def _load_earlier(conn: Connection, keys: Sequence[int]) -> dict[int, list[str]]:
    """Return the hashes of all texts but the latest, by paper."""
    text = versions.c
    found = select(text.paper_id, text.content_hash).join(papers)
    of_papers = found.where(text.paper_id.in_(keys))
    left_behind = of_papers.where(text.id != papers.c.latest_version_id)
    hashes: dict[int, list[str]] = {}
    for row in conn.execute(left_behind):
        hashes.setdefault(row.paper_id, []).append(row.content_hash)
    return hashes


def load(conn: Connection, id_: ArxivId) -> KnownPaper | None:
    """Return what is stored of one paper, None if it never was."""
    return load_known(conn, [id_]).get(id_)


def load_versions(conn: Connection, version_ids: Iterable[int]) -> dict[int, Paper]:
    """Return papers as they read at stored texts, by the texts' keys."""
    found = select(papers.c.arxiv_id, versions).join(papers)
    rows = select_by(conn, found, versions.c.id, version_ids)
    return {row.id: read(row) for row in rows}


def save(conn: Connection, changes: Sequence[Change]) -> dict[ArxivId, int]:
    """Insert the papers never stored; return the keys of all."""
    keys: dict[ArxivId, int] = {}
    rows = []
    for change in changes:
        if change.known:
            keys[change.paper.id] = change.known.key
        else:
            rows.append(_write_id(change.paper.id))
    if rows:
        comes_again = papers.c.forgotten_at.is_not(None)
        add = dialect_insert(conn, papers).on_conflict_do_update(
            index_elements=["arxiv_id"], set_={"forgotten_at": null()}, where=comes_again
        )
        added = add.returning(papers.c.id, papers.c.arxiv_id)
        for row in conn.execute(added, rows):
            keys[ArxivId.parse(row.arxiv_id)] = row.id
    _require(len(keys), len(changes))
    return keys


def _write_id(id_: ArxivId) -> dict[str, Any]:
    """Return the row of `papers` with which a paper begins."""
    return {
        "arxiv_id": str(id_),
        "month": id_.month,
        "number": id_.number,
        "archive": id_.archive,
        "is_kept": False,
    }


class SavedTexts(NamedTuple):
    """The keys of texts by paper, and of those texts that came back."""

    keys: dict[int, int]
    came_back: list[int]


def save_texts(conn: Connection, rows: Sequence[dict[str, Any]]) -> SavedTexts:
    """Insert the texts never stored; return the keys of all.

    What came back may have been written with other accents or blanks, which count as the same
    text: it is read as it was stored first, since that is where spans point into.
    """
    wanted = set()
    for row in rows:
        wanted.add(tuple(row[name] for name in _IDENTITY))
    columns = [versions.c[name] for name in _IDENTITY]
    insertion = dialect_insert(conn, versions)
    add = insertion.on_conflict_do_nothing(index_elements=_IDENTITY)
    key_of = {}
    for *identity, key in conn.execute(add.returning(*columns, versions.c.id), rows):
        key_of[tuple(identity)] = key
    stored = select(*columns, versions.c.id)
    came_back = []
    for chunk in in_chunks(sorted(wanted - key_of.keys())):
        those = stored.where(tuple_(*columns).in_(chunk))
        for *identity, key in conn.execute(those):
            key_of[tuple(identity)] = key
            came_back.append(key)
    keys = {paper: key for (paper, *_), key in key_of.items()}
    return SavedTexts(keys, came_back)


def move_latest(
    conn: Connection,
    changes: Sequence[Change],
    keys: Mapping[ArxivId, int],
    texts: Mapping[int, int],
    *,
    as_of: datetime | None,
    hashes: Mapping[str, bytes],
) -> None:
    """Make the new texts of papers their latest; refused as busy if another run was quicker.

    `hashes` are those of the harvest's records that the texts are of, by the papers' ids.
    """
    latest = papers.c.latest_version_id
    is_as_read = latest.is_not_distinct_from(bindparam("known_version_id"))
    move = update(papers).where(papers.c.id == bindparam("key"), is_as_read)
    moved = move.values(
        latest_version_id=bindparam("now_version_id"),
        datestamp=bindparam("now_datestamp"),
        as_of=bindparam("now_as_of"),
        record_hash=bindparam("now_record_hash"),
    )
    rows = []
    for change in changes:
        key = keys[change.paper.id]
        known = change.known.version_id if change.known else None
        row: dict[str, Any] = {"key": key, "known_version_id": known, "now_version_id": texts[key]}
        row |= {"now_datestamp": change.paper.datestamp, "now_as_of": as_of}
        row["now_record_hash"] = hashes.get(str(change.paper.id))
        rows.append(row)
    _require(conn.execute(moved, rows).rowcount, len(changes))


def _require(found: int, wanted: int) -> None:
    if found != wanted:
        raise StoreBusy(
            f"another process has already stored {wanted - found} of these papers",
            hint="Nothing is lost. The next check finds what differs from what it stored.",
        )


def count_papers(conn: Connection) -> int:
    """Return how many papers are stored, or were before they were forgotten."""
    paper = papers.c
    stored = select(func.count()).select_from(papers)
    number = int(conn.execute(stored).scalar_one())
    for archive, month, packed in conn.execute(select(forgotten)).all():
        is_of_month = (paper.month == month) & (paper.archive == archive)
        with_row = select(paper.number).where(_CAN_BE_PACKED, is_of_month)
        counted = set(conn.execute(with_row).scalars())
        only_packed = list_packed(packed) - counted
        number += len(only_packed)
    return number
