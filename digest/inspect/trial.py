"""Tries a query: how it is read, what it would have brought and what comes near it, from the store alone."""

from __future__ import annotations

import ctypes
import logging
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import compress
from typing import NamedTuple

from sqlalchemy import Connection

from digest.inspect.queries import FEW_ANNOUNCEMENTS, describe_rate
from digest.model.announcements import (
    Kind,
    announcement_moment,
    earliest_announcement,
    has_announcement,
    latest_announcement,
)
from digest.model.clock import write_day
from digest.model.errors import DigestError, QueryError
from digest.model.messages import DigestEntry
from digest.model.numbers import count
from digest.model.papers import Paper
from digest.model.subscriptions import Grouping
from digest.people.preferences import read_text
from digest.plan.order import arrange
from digest.query import (
    And,
    Condition,
    Node,
    Not,
    Or,
    PaperIndex,
    Prefix,
    Query,
    Shape,
    find_reasons,
    parse_query,
)
from digest.query.canonical import print_condition, print_tree
from digest.query.description import describe_query, guess_person, note_other_words
from digest.query.tree import intern_condition
from digest.render.contexts import BarView, DifferenceView, ProblemView, TrialView, VariantView
from digest.render.papers import PaperView
from digest.render.text import open_sentence, show_plain
from digest.site import Site
from digest.store.changes import load_cross_lists
from digest.store.papers import (
    MATCHED,
    StoredSpan,
    load_announced,
    load_mark,
    load_stored_span,
    load_versions,
)

DAYS, SHOWN = 30, 10
"""How far back a trial looks, and how many papers it shows as today's digest."""

MEANWHILE = 4_000
"""Papers that go on answering while they are read anew. More are let go first: twice as many take much memory."""

BROAD, RARE = 40.0, 0.2
"""Papers an announcement, above which nobody reads them all, and below which there is less than one a week."""

_log = logging.getLogger("digest.trial")
_VARIANTS, _TITLES, _MOST_OPERANDS, _MOST_FAULTS = 2, 5, 12, 4
_LONGEST_VARIED, _TALLEST, _MOST_DAYS = 400, 70, 0.8
_HELD_BACK = timedelta(days=4)
"""How long before an announcement a paper of it may have been submitted, over a weekend and a holiday."""

_WORDS = frozenset((Prefix.ALL, Prefix.TITLE, Prefix.ABSTRACT))
_OPERATORS = frozenset(("AND", "OR", "NOT", "ANDNOT"))
_TERM = re.compile(r'[^\s()"]*"[^"]*"?|[^\s()]+|[()]')
_IN_HINT = re.compile(
    r"(?:Write (?:for example )?|Did you mean )"
    r"((?!submittedDate)(?:(?:NOT )?[A-Za-z]+:|\()[^;?,]{0,500}|\S{1,80}\*)(?:\.\Z|\? )"
)
_BUILDING = f"The papers of the last {DAYS} days are being read. Look again in a moment."
_EMPTY = (
    "No papers are stored here yet. Look again tomorrow, and see what a query would have brought."
)
_TOO_BROAD = f"it brings more than {BROAD:.0f} papers a day, more than most people read"
_BY_PERSON = "papers by this person"


def view_problem(error: QueryError) -> ProblemView:
    """Say what is wrong, at its place, and the nearest form that works."""
    text, (_, place, end) = error.text, _find_fault(error)
    suggestion = next(
        (one for one in _list_repairs(error) if one != text and _is_readable(one)), ""
    )
    return ProblemView(
        error.message, text[:place], text[place:end], text[end:], error.hint, suggestion
    )


def _find_fault(error: QueryError) -> tuple[int, int, int]:
    """Return where the term begins that cannot be read, where its fault is, and where it ends."""
    place = min(error.position, len(error.text))
    found = next(
        (one for one in _TERM.finditer(error.text) if one.start() <= place < one.end()), None
    )
    return (found.start(), place, found.end()) if found else (place, place, place)


def _list_repairs(error: QueryError) -> Iterator[str]:
    """Yield texts near one that cannot be read, the nearest first."""
    text, (start, place, end) = error.text, _find_fault(error)
    if error.instead:
        yield error.instead
    nearer = [text]
    if said := _IN_HINT.search(error.hint):
        instead = said[1] + (text[place:end].partition(":")[2] if said[1].endswith(":") else "")
        name = said[1].partition('"')[2].rstrip('"')
        last = place + len(name) if name and text.startswith(name, place) else end
        nearer.insert(0, text[:start] + instead + text[last:])
    for one in nearer:
        yield from (one, _close(one))
    left: QueryError | None = error
    for _ in range(_MOST_FAULTS):
        if left is not None:
            start, _, end = _find_fault(left)
            shorter = " ".join((left.text[:start] + left.text[end:]).split())
            yield from (shorter, _close(shorter))
            left = _find_error(shorter)
    words = " ".join(word for word in re.findall(r"\w[\w.'-]*", text) if word not in _OPERATORS)
    yield from (f'"{words}"', words)


def _close(text: str) -> str:
    """Return a text with the quotes and parentheses closed that it opens."""
    return text + '"' * (text.count('"') % 2) + ")" * (text.count("(") - text.count(")"))


def _find_error(text: str) -> QueryError | None:
    try:
        read_text(text)
    except QueryError as error:
        return error
    return None


def _is_readable(text: str) -> bool:
    return _find_error(text) is None


def describe_mails(counted: Sequence[int], days: int) -> str:
    """Say what announcements of some days bring somebody: `About 6 papers a day, one mail each weekday`."""
    papers, busy = sum(counted), sum(map(bool, counted))
    if not papers or len(counted) < FEW_ANNOUNCEMENTS:
        return (
            f"{count(papers, 'paper') if papers else 'No papers'} in the last {count(days, 'day')}"
        )
    often = "one mail each weekday" if busy == len(counted) else "one mail on most weekdays"
    often = often if busy >= _MOST_DAYS * len(counted) else "a mail only when there are any"
    return f"{open_sentence(describe_rate(papers, len(counted), days))}, {often}"


def list_narrower(tree: Node, categories: Sequence[str]) -> Iterator[tuple[str, Node]]:
    """Yield what is closer than a query, with what was changed; its papers' most frequent categories are given."""
    operands = tree.operands if isinstance(tree, And) else (tree,)
    is_category = isinstance(tree, Condition) and tree.prefix is Prefix.CATEGORY
    limits = [intern_condition(Prefix.CATEGORY, Shape.WORD, name) for name in categories]
    within = [
        (f"only in {one.text}", one if is_category else And((*operands, one))) for one in limits
    ]
    yield from (*within[:1], ("the words in the title", _move(tree, Prefix.TITLE)), *within[1:])


def list_wider(tree: Node) -> Iterator[tuple[str, Node]]:
    """Yield what reaches farther than a query, with what was changed."""
    yield "the words apart from one another", _move(tree, None, is_apart=True)
    yield "the words in any field", _move(tree, Prefix.ALL)
    operands = tree.operands if isinstance(tree, And) else ()
    for operand in [one for one in operands if not isinstance(one, Not)][:_MOST_OPERANDS]:
        rest = tuple(other for other in operands if other is not operand)
        left_out = (
            print_condition(operand).removeprefix("all:")
            if isinstance(operand, Condition)
            else "one part"
        )
        yield f"without {left_out}", And(rest) if len(rest) > 1 else rest[0]


def _move(node: Node, field: Prefix | None, *, is_apart: bool = False) -> Node:
    """Return a query with its words sought in another field, or its phrases taken apart."""
    match node:
        case Condition(prefix, shape, text) if prefix in _WORDS:
            words = text.split() if is_apart and shape is Shape.PHRASE else ()
            apart = tuple(intern_condition(prefix, Shape.WORD, word) for word in words)
            return And(apart) if apart else intern_condition(field or prefix, shape, text)
        case And(operands) | Or(operands):
            return type(node)(
                tuple(_move(operand, field, is_apart=is_apart) for operand in operands)
            )
        case _:
            return node


class Kept(NamedTuple):
    """What is kept of a paper beside its words: the key of its text, when it was announced, and its category.

    Of a cross-listed one also where to, in words, and the number of what it was before.
    """

    key: int
    day: date
    category: str
    cross_listed: str = ""
    before: int = -1


@dataclass(frozen=True, slots=True)
class PaperSnapshot:
    """The papers of the last days as they were stored up to a change, from the first day that is complete.

    The words of `kept` papers are in `papers`, and after them those of cross-listed ones as they were before.
    """

    mark: int
    since: date
    kept: Sequence[Kept]
    papers: PaperIndex

    def match(self, trees: Iterable[Node], first: date) -> list[list[int]]:
        """Return the numbers of the papers since a day that queries mean and had not meant before a cross-list."""
        size, kept = len(self.kept), self.kept
        return [
            [
                n
                for n in sorted(found)
                if n < size and kept[n].day >= first and kept[n].before not in found
            ]
            for found in map(set, self.papers.find(trees))
        ]

    def load(self, conn: Connection, numbers: Iterable[int]) -> list[tuple[Kept, Paper]]:
        """Return papers by their numbers, but those whose texts are stored no more."""
        kept = [self.kept[number] for number in numbers]
        texts = load_versions(conn, [one.key for one in kept])
        return [(one, texts[one.key]) for one in kept if one.key in texts]


def read_snapshot(conn: Connection, reach: StoredSpan, now: datetime) -> PaperSnapshot:
    """Read the papers of the last days, which takes some seconds."""
    mark = load_mark(conn, MATCHED)
    kept: list[Kept] = []
    first, last = list_days(now)[0], latest_announcement(now)

    def read() -> Iterator[Paper]:
        ids = set()
        for key, announcement, paper in load_announced(
            conn, first, announcement_moment(first) - _HELD_BACK
        ):
            ids.add(paper.id)
            day = min(announcement or earliest_announcement(paper.published), last)
            kept.append(Kept(key, day, sys.intern(paper.primary_category)))
            yield paper
        changes = {
            change.paper.id: change for change in load_cross_lists(conn, announcement_moment(first))
        }
        old = [
            change for change in changes.values() if change.previous and change.paper.id not in ids
        ]
        for before, change in enumerate(old, len(kept) + len(old)):
            was = change.previous.categories if change.previous else ()
            into = f"cross-listed into {', '.join(name for name in change.paper.categories if name not in was)}"
            kept.append(
                Kept(change.text_key, change.announced, change.paper.primary_category, into, before)
            )
            yield change.paper
        yield from (change.previous or change.paper for change in old)

    return PaperSnapshot(mark, max(reach.since, first), kept, PaperIndex(read()))


def list_days(now: datetime) -> list[date]:
    """Return the days a trial counts, in order, up to that of the last announcement."""
    last = latest_announcement(now)
    return [last - timedelta(days=back) for back in reversed(range(DAYS))]


class QueryTrials:
    """Tries queries on the papers of the last days, which are read in the background when somebody needs them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._snapshot: PaperSnapshot | None = None
        self._reader: threading.Thread | None = None
        self._starting = threading.Lock()

    def try_text(self, text: str) -> TrialView:
        """Say what a query means, what it would have brought and what comes near it. It never asks arXiv."""
        if self._site.config.arxiv.source != "harvest":
            return TrialView(
                text,
                is_offered=False,
                message="This service stores only what its own saved queries find,"
                " so others cannot be tried here.",
            )
        trial, query = TrialView(text), None
        if text.strip():
            try:
                query = read_text(text)
            except QueryError as error:
                return TrialView(text, problem=view_problem(error))
            trial = TrialView(
                text, describe_query(query.tree), notes=tuple(note.message for note in query.notes)
            )
        with self._site.store.read() as conn:
            snapshot = self._open(conn)
            if snapshot is None:
                is_empty = self._reader is None
                return replace(trial, message=_EMPTY if is_empty else _BUILDING, is_ready=is_empty)
            return (
                view_trial(trial, query, snapshot, self._site.clock.now(), conn) if query else trial
            )

    def compare(self, old: str, new: str) -> DifferenceView | None:
        """Say which papers of the last days another wording gains and loses; None where that cannot be said."""
        snapshot = self._snapshot
        if snapshot is None or not (_is_readable(old) and _is_readable(new)):
            return None
        trees = [read_text(text).tree for text in (old, new)]
        had, has = map(set, snapshot.match(trees, list_days(self._site.clock.now())[0]))
        sides = [sorted(side, reverse=True)[:_TITLES] for side in (has - had, had - has)]
        with self._site.store.read() as conn:
            titles = [
                tuple(show_plain(paper.title) for _, paper in snapshot.load(conn, side))
                for side in sides
            ]
        return DifferenceView(len(has - had), len(had - has), len(had & has), *titles)

    def _open(self, conn: Connection) -> PaperSnapshot | None:
        """Return the papers as they were read last; where others are stored now, begin to read them anew."""
        snapshot = self._snapshot
        is_stale = snapshot is None or snapshot.mark != load_mark(conn, MATCHED)
        if is_stale and (reach := load_stored_span(conn)):
            with self._starting:
                if self._reader is None or not self._reader.is_alive():
                    self._reader = threading.Thread(
                        target=self._read, args=(reach,), name="trial", daemon=True
                    )
                    self._reader.start()
        return snapshot

    def _read(self, reach: StoredSpan) -> None:
        if self._snapshot is not None and len(self._snapshot.kept) > MEANWHILE:
            self._snapshot = None
            with suppress(AttributeError):  # glibc gives free memory back only when asked
                ctypes.CDLL(None).malloc_trim(0)
        try:
            with self._site.store.read() as conn:
                self._snapshot = read_snapshot(conn, reach, self._site.clock.now())
        except DigestError:  # who needs it next begins again
            _log.exception("the papers of the last days could not be read")


def view_trial(
    trial: TrialView, query: Query, snapshot: PaperSnapshot, now: datetime, conn: Connection
) -> TrialView:
    """Add to what a query means what it would have brought, and what comes near it."""
    days = [day for day in list_days(now) if day >= snapshot.since] or list_days(now)[-1:]
    (found,) = snapshot.match([query.tree], days[0])
    counts = Counter(snapshot.kept[number].day for number in found)
    most = max([1, *counts.values()])
    counted = [counts[day] for day in days if has_announcement(day)]
    is_broad = len(found) > BROAD * len(counted)
    newest = max((one.day for one in snapshot.kept), default=days[-1])
    today = [number for number in found if snapshot.kept[number].day == newest]
    shown = (today or sorted(found, key=lambda number: (snapshot.kept[number].day, number)))[
        -SHOWN:
    ]
    entries = [_make_entry(one, paper, query) for one, paper in snapshot.load(conn, shown)]
    heading = (
        "Your digest today"
        if newest == days[-1]
        else f"Your digest of {write_day(newest, days[-1])}"
    )
    return replace(
        trial,
        notes=(
            *trial.notes,
            *[_TOO_BROAD] * is_broad,
            *note_other_words(query.tree, snapshot.papers, found),
        ),
        rate=describe_mails(counted, len(days)),
        bars=tuple(
            BarView(
                write_day(day, days[-1]), counts[day], round(_TALLEST * counts[day] / most) or 1
            )
            for day in days
        ),
        since=write_day(days[0], days[-1]) if len(days) < DAYS else "",
        heading=heading if today else "The last papers it would have brought",
        papers=tuple(
            PaperView(entry, number)
            for number, entry in enumerate(arrange(entries, Grouping.KIND, ())[0], 1)
        ),
        more=max(len(today) - SHOWN, 0),
        variants=tuple(_find_variants(query, snapshot, found, days, len(counted))),
    )


def _make_entry(one: Kept, paper: Paper, query: Query) -> DigestEntry:
    kind = Kind.CROSS_LIST if one.cross_listed else Kind.NEW
    return DigestEntry(kind, paper, one.cross_listed, (), find_reasons(query, paper), one.day)


def _find_variants(
    query: Query,
    snapshot: PaperSnapshot,
    found: Sequence[int],
    days: Sequence[date],
    announcements: int,
) -> Iterator[VariantView]:
    """Yield what comes near: a person's papers, and two closer forms of a broad query, or wider ones of a rare."""
    total, is_broad = len(found), len(found) > BROAD * announcements
    near: Iterable[tuple[str, Node]] = ()
    if len(query.text) <= _LONGEST_VARIED and is_broad:
        categories = Counter(snapshot.kept[number].category for number in found).most_common(
            _VARIANTS
        )
        near = list_narrower(query.tree, [category for category, _ in categories])
    elif len(query.text) <= _LONGEST_VARIED and total < RARE * announcements:
        near = list_wider(query.tree)
    written = {print_tree(tree).replace(f"{Prefix.ALL}:", ""): change for change, tree in near}
    written[guess_person(query.text)] = _BY_PERSON
    texts = list(filter(_is_readable, written))
    answers = snapshot.match([parse_query(text).tree for text in texts], days[0])
    views = [
        VariantView(
            text, written[text], len(counted), describe_rate(len(counted), announcements, len(days))
        )
        for text, counted in zip(texts, answers, strict=True)
    ]
    yield from (view for view in views if view.change == _BY_PERSON and view.papers)
    fitting = (0 < view.papers < total if is_broad else view.papers > total for view in views)
    others = [view for view in compress(views, fitting) if view.change != _BY_PERSON]
    yield from (others if is_broad else sorted(others, key=lambda view: view.papers))[:_VARIANTS]
