"""Tries a query: how it is read, what it would have brought, and what comes near it.

It asks the store alone.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection

from digest.inspect.queries import FEW_ANNOUNCEMENTS, describe_rate
from digest.model.announcements import (
    Kind,
    StoredChange,
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
from digest.store import changes, papers, words
from digest.store.papers import MATCHED, StoredSpan

_log = logging.getLogger("digest.trial")

DAYS = 30
"""How far back a trial looks."""

SHOWN = 10
"""How many papers it shows as today's digest."""

BROAD = 40.0
"""Papers an announcement above which nobody reads them all."""

RARE = 0.2
"""Papers an announcement below which there is less than one a week."""

_AT_ONCE = 1_500
"""Texts that are read together."""

_FEW_ON_SHELF = 500
"""Of a shelf on which fewer are needed, these are read anew, together with new ones."""

_VARIANTS = 2
"""Closer or wider forms that are shown of a query."""

_TITLES = 5
"""Titles that are shown of the papers another wording gains, and of those it loses."""

_MOST_OPERANDS = 12
"""Parts of a query that are left out in turn."""

_MOST_FAULTS = 4
"""Terms that are left out of a text until it can be read."""

_LONGEST_VARIED = 400
"""Characters of the longest query that is varied."""

_TALLEST = 70
"""How high the bar is of the day that brought most."""

_MOST_DAYS = 0.8
"""The share of announcements that makes a mail come on most weekdays."""

_HELD_BACK = timedelta(days=4)
"""How long before its announcement a paper may be submitted, over a weekend and a holiday."""

_WORDS = frozenset((Prefix.ALL, Prefix.TITLE, Prefix.ABSTRACT))
_OPERATORS = frozenset(("AND", "OR", "NOT", "ANDNOT"))
_TERM = re.compile(r'[^\s()"]*"[^"]*"?|[^\s()]+|[()]')
_FORM = re.compile(r"(?!submittedDate)(?:(?:NOT )?[A-Za-z]+:|\()[^;?,]{0,500}|\S{1,80}\*")
"""What is put in the place of a term: with a prefix, in parentheses, or the beginning of a word."""

_BUILDING = f"The papers of the last {DAYS} days are being read. Look again in a moment."
_EMPTY = (
    "No papers are stored here yet. Look again tomorrow, and see what a query would have brought."
)
_NOT_OFFERED = (
    "This service stores only what its own saved queries find, so others cannot be tried here."
)
_TOO_BROAD = f"it brings more than {BROAD:.0f} papers a day, more than most people read"
_BY_PERSON = "papers by this person"


class Fault(NamedTuple):
    """The term of a text that can't be read: where it begins, where its fault is, where it ends."""

    start: int
    place: int
    end: int


def view_problem(error: QueryError) -> ProblemView:
    """Say what is wrong, at its place, and the nearest form that works."""
    text = error.text
    fault = _find_fault(error)
    suggestion = ""
    for repaired in _list_repairs(error):
        if repaired != text and _is_readable(repaired):
            suggestion = repaired
            break
    return ProblemView(
        message=error.message,
        before=text[: fault.place],
        marked=text[fault.place : fault.end],
        after=text[fault.end :],
        hint=error.hint,
        suggestion=suggestion,
    )


def _find_fault(error: QueryError) -> Fault:
    """Return where the term stands that cannot be read."""
    place = min(error.position, len(error.text))
    for term in _TERM.finditer(error.text):
        if term.start() <= place < term.end():
            return Fault(term.start(), place, term.end())
    return Fault(place, place, place)


def _list_repairs(error: QueryError) -> Iterator[str]:
    """Yield texts near one that cannot be read, the nearest first."""
    text = error.text
    if error.instead:
        yield error.instead
    hinted = _follow_hint(error)
    nearer = [text] if hinted is None else [hinted, text]
    for one in nearer:
        yield one
        yield _close(one)
    yield from _leave_faults_out(error)
    found = re.findall(r"\w[\w.'-]*", text)
    words = " ".join(word for word in found if word not in _OPERATORS)
    yield f'"{words}"'
    yield words


def _follow_hint(error: QueryError) -> str | None:
    """Return a text with the form that its error names; None if it names none for this place."""
    instead = error.form
    if not _FORM.fullmatch(instead):
        return None
    text = error.text
    fault = _find_fault(error)
    if instead.endswith(":"):
        _, _, value = text[fault.place : fault.end].partition(":")
        instead += value
    _, _, quoted = error.form.partition('"')
    name = quoted.rstrip('"')
    end = fault.end
    if name and text.startswith(name, fault.place):
        end = fault.place + len(name)
    return text[: fault.start] + instead + text[end:]


def _leave_faults_out(error: QueryError) -> Iterator[str]:
    """Yield a text without its first fault, then without the next one, too, and so on."""
    left: QueryError | None = error
    for _ in range(_MOST_FAULTS):
        if left is None:
            return
        fault = _find_fault(left)
        rest = left.text[: fault.start] + left.text[fault.end :]
        shorter = " ".join(rest.split())
        yield shorter
        yield _close(shorter)
        left = _find_error(shorter)


def _close(text: str) -> str:
    """Return a text with the quotes and parentheses closed that it opens."""
    has_open_quote = text.count('"') % 2 == 1
    quoted = text + '"' if has_open_quote else text
    unclosed = text.count("(") - text.count(")")
    return quoted.ljust(len(quoted) + unclosed, ")")


def _find_error(text: str) -> QueryError | None:
    try:
        read_text(text)
    except QueryError as error:
        return error
    return None


def _is_readable(text: str) -> bool:
    return _find_error(text) is None


def describe_mails(counted: Sequence[int], days: int) -> str:
    """Say what announcements of some days bring somebody.

    For example: `About 6 papers a day, one mail each weekday`.
    """
    announcements = len(counted)
    papers = sum(counted)
    if not papers or announcements < FEW_ANNOUNCEMENTS:
        known = count(papers, "paper") if papers else "No papers"
        return f"{known} in the last {count(days, 'day')}"
    busy = sum(number > 0 for number in counted)
    if busy == announcements:
        often = "one mail each weekday"
    elif busy >= _MOST_DAYS * announcements:
        often = "one mail on most weekdays"
    else:
        often = "a mail only when there are any"
    rate = describe_rate(papers, announcements, days)
    return f"{open_sentence(rate)}, {often}"


def list_narrower(tree: Node, categories: Sequence[str]) -> Iterator[tuple[str, Node]]:
    """Yield what is closer than a query, with what was changed.

    The most frequent categories of its papers are given.
    """
    operands = tree.operands if isinstance(tree, And) else (tree,)
    is_category = isinstance(tree, Condition) and tree.prefix is Prefix.CATEGORY
    within: list[tuple[str, Node]] = []
    for name in categories:
        limit = intern_condition(Prefix.CATEGORY, Shape.WORD, name)
        narrower = limit if is_category else And((*operands, limit))
        within.append((f"only in {limit.text}", narrower))
    yield from within[:1]
    yield "the words in the title", _move(tree, Prefix.TITLE)
    yield from within[1:]


def list_wider(tree: Node) -> Iterator[tuple[str, Node]]:
    """Yield what reaches farther than a query, with what was changed."""
    yield "the words apart from one another", _move(tree, None, is_apart=True)
    yield "the words in any field", _move(tree, Prefix.ALL)
    operands = tree.operands if isinstance(tree, And) else ()
    wanted = [operand for operand in operands if not isinstance(operand, Not)]
    for operand in wanted[:_MOST_OPERANDS]:
        rest = tuple(other for other in operands if other is not operand)
        if not rest:
            continue  # one word said twice
        left_out = "one part"
        if isinstance(operand, Condition):
            left_out = print_condition(operand).removeprefix("all:")
        wider = And(rest) if len(rest) > 1 else rest[0]
        yield f"without {left_out}", wider


def _move(node: Node, field: Prefix | None, *, is_apart: bool = False) -> Node:
    """Return a query with its words sought in another field, or its phrases taken apart."""
    match node:
        case Condition(prefix, Shape.PHRASE, text) if prefix in _WORDS and is_apart:
            words = text.split()
            return And(tuple(intern_condition(prefix, Shape.WORD, word) for word in words))
        case Condition(prefix, shape, text) if prefix in _WORDS:
            return intern_condition(field or prefix, shape, text)
        case And(operands) | Or(operands):
            moved = [_move(operand, field, is_apart=is_apart) for operand in operands]
            return type(node)(tuple(moved))
        case _:
            return node


class Kept(NamedTuple):
    """What is kept of a paper beside its words.

    That is the key of its text, when it was announced, and its category. Of a cross-listed one also
    where to, in words, and the number of what it was before.
    """

    key: int
    day: date
    category: str
    cross_listed: str = ""
    before: int = -1


class Shelf(NamedTuple):
    """Texts that were read together: their keys, an index of them, and their numbers as papers.

    A text that is no longer needed has a number beyond all others.
    """

    keys: Sequence[int]
    papers: PaperIndex
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class PaperSnapshot:
    """The papers of the last days as they were stored up to a change.

    They begin with the first day that is complete. The words of `kept` papers are on the `shelves`
    under their numbers, and after them those of cross-listed ones as they were before.
    """

    mark: int
    since: date
    kept: Sequence[Kept]
    shelves: Sequence[Shelf]

    def find(self, trees: Sequence[Node]) -> Iterator[list[int]]:
        """Yield the numbers of the texts that each query means, in growing order."""
        answers = [shelf.papers.find(trees) for shelf in self.shelves]
        for _ in trees:
            found: list[int] = []
            for shelf, answer in zip(self.shelves, answers, strict=True):
                found += map(shelf.numbers.__getitem__, next(answer))
            yield sorted(found)

    def list_words(self, condition: Condition) -> list[str]:
        """Return in order the words of titles and abstracts that one word finds by its stem."""
        words = (shelf.papers.list_words(condition) for shelf in self.shelves)
        return sorted(set().union(*words))

    def match(self, trees: Sequence[Node], first: date) -> list[list[int]]:
        """Return the numbers of the papers since a day that each query means.

        What it had meant before a cross-list is left out.
        """
        return [self._select(found, first) for found in self.find(trees)]

    def _select(self, found: Sequence[int], first: date) -> list[int]:
        kept = self.kept
        size = len(kept)
        every = set(found)
        selected = []
        for number in found:
            if number >= size:
                break  # papers as they were before they were cross-listed, or are not needed
            one = kept[number]
            if one.day >= first and one.before not in every:
                selected.append(number)
        return selected

    def load(self, conn: Connection, numbers: Iterable[int]) -> list[tuple[Kept, Paper]]:
        """Return papers by their numbers, but those whose texts are stored no more."""
        kept = [self.kept[number] for number in numbers]
        texts = papers.load_versions(conn, [one.key for one in kept])
        return [(one, texts[one.key]) for one in kept if one.key in texts]


def read_snapshot(
    conn: Connection, reach: StoredSpan, now: datetime, shelves: Iterable[Shelf] = ()
) -> PaperSnapshot:
    """Read the papers of the last days, which takes some seconds.

    Of what is on `shelves` nothing is read again: no text is ever overwritten.
    """
    mark = papers.load_mark(conn, MATCHED)
    first = list_days(now)[0]
    kept, before = _list_kept(conn, first, latest_announcement(now))
    keys = [*(one.key for one in kept), *before]
    number_of = {key: number for number, key in enumerate(keys)}
    filled = tuple(_read_shelves(conn, number_of, shelves))
    return PaperSnapshot(mark, max(reach.since, first), kept, filled)


def _list_kept(conn: Connection, first: date, last: date) -> tuple[list[Kept], list[int]]:
    """Return the papers since a day, and the keys of cross-listed ones as they were before."""
    begin = announcement_moment(first)
    kept = []
    ids = set()
    for text in papers.list_announced(conn, first, begin - _HELD_BACK):
        ids.add(text.paper_key)
        announced = text.announcement or earliest_announcement(text.published)
        category, _, _ = text.categories.partition(" ")
        kept.append(Kept(text.key, min(announced, last), sys.intern(category)))
    latest = {change.paper_key: change for change in changes.load_cross_lists(conn, begin)}
    old = [one for one in latest.values() if one.previous and one.paper_key not in ids]
    for number, change in enumerate(old, len(kept) + len(old)):
        kept.append(_keep_cross_list(change, number))
    return kept, [change.previous_key for change in old]


def _read_shelves(
    conn: Connection, number_of: Mapping[int, int], shelves: Iterable[Shelf]
) -> Iterator[Shelf]:
    """Yield the shelves on which enough is needed, and read what is on none of them."""
    missing = dict(number_of)
    for shelf in shelves:
        needed = number_of.keys() & shelf.keys
        if len(needed) < _FEW_ON_SHELF:
            continue
        for key in needed:
            del missing[key]
        numbers = [number_of.get(key, len(number_of)) for key in shelf.keys]
        yield shelf._replace(numbers=array("l", numbers))
    to_read = iter(missing)
    while some := list(islice(to_read, _AT_ONCE)):
        texts = words.load(conn, some)
        keys = array("q", texts)
        index = PaperIndex(texts.values())
        yield Shelf(keys, index, array("l", map(number_of.__getitem__, keys)))


def _keep_cross_list(change: StoredChange, before: int) -> Kept:
    paper = change.paper
    old_categories = change.previous.categories if change.previous else ()
    new = [name for name in paper.categories if name not in old_categories]
    return Kept(
        key=change.text_key,
        day=change.announced,
        category=paper.primary_category,
        cross_listed=f"cross-listed into {', '.join(new)}",
        before=before,
    )


def list_days(now: datetime) -> list[date]:
    """Return the days a trial counts, in order, up to that of the last announcement."""
    last = latest_announcement(now)
    return [last - timedelta(days=back) for back in reversed(range(DAYS))]


class QueryTrials:
    """Tries queries on the papers of the last days.

    These are read in the background when somebody needs them.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._snapshot: PaperSnapshot | None = None
        self._reader: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def is_reading(self) -> bool:
        """Whether papers are being read, which takes the processor from who asks meanwhile."""
        return self._reader is not None and self._reader.is_alive()

    def try_text(self, text: str) -> TrialView:
        """Say what a query means, what it would have brought and what comes near it.

        It never asks arXiv.
        """
        if self._site.config.arxiv.source != "harvest":
            return TrialView(text, is_offered=False, message=_NOT_OFFERED)
        trial = TrialView(text)
        query = None
        if text.strip():
            try:
                query = read_text(text)
            except QueryError as error:
                return TrialView(text, problem=view_problem(error))
            notes = tuple(note.message for note in query.notes)
            trial = TrialView(text, describe_query(query.tree), notes=notes)
        with self._site.store.read() as conn:
            snapshot = self._open(conn)
            if snapshot is None:
                is_empty = self._reader is None
                message = _EMPTY if is_empty else _BUILDING
                return replace(trial, message=message, is_ready=is_empty)
            if query is None:
                return trial
            return view_trial(trial, query, snapshot, self._site.clock.now(), conn)

    def compare(self, old: str, new: str) -> DifferenceView | None:
        """Say which papers of the last days another wording gains and loses.

        None where that cannot be said.
        """
        snapshot = self._snapshot
        if snapshot is None or not (_is_readable(old) and _is_readable(new)):
            return None
        trees = [read_text(text).tree for text in (old, new)]
        first = list_days(self._site.clock.now())[0]
        had, has = (set(numbers) for numbers in snapshot.match(trees, first))
        gained = has - had
        lost = had - has
        with self._site.store.read() as conn:
            gained_titles = _load_titles(conn, snapshot, gained)
            lost_titles = _load_titles(conn, snapshot, lost)
        return DifferenceView(
            gained=len(gained),
            lost=len(lost),
            kept=len(had & has),
            gained_titles=gained_titles,
            lost_titles=lost_titles,
        )

    def _open(self, conn: Connection) -> PaperSnapshot | None:
        """Return the papers as they were read last.

        Where others are stored now, begin to read them anew.
        """
        snapshot = self._snapshot
        if snapshot is not None and snapshot.mark == papers.load_mark(conn, MATCHED):
            return snapshot
        reach = papers.load_stored_span(conn)
        if reach:
            self._start_reader(reach)
        return snapshot

    def _start_reader(self, reach: StoredSpan) -> None:
        with self._starting:
            if self.is_reading:
                return
            self._reader = threading.Thread(
                target=self._read, args=(reach,), name="trial", daemon=True
            )
            self._reader.start()

    def _read(self, reach: StoredSpan) -> None:
        snapshot = self._snapshot
        shelves = snapshot.shelves if snapshot else ()
        try:
            with self._site.store.read() as conn:
                now = self._site.clock.now()
                self._snapshot = read_snapshot(conn, reach, now, shelves)
        except DigestError:  # who needs it next begins again
            _log.exception("the papers of the last days could not be read")


def _load_titles(
    conn: Connection, snapshot: PaperSnapshot, numbers: Iterable[int]
) -> tuple[str, ...]:
    """Return the titles of the last of some papers."""
    last = sorted(numbers, reverse=True)[:_TITLES]
    return tuple(show_plain(paper.title) for _, paper in snapshot.load(conn, last))


def view_trial(
    trial: TrialView, query: Query, snapshot: PaperSnapshot, now: datetime, conn: Connection
) -> TrialView:
    """Add to what a query means what it would have brought, and what comes near it."""
    kept = snapshot.kept
    days = [day for day in list_days(now) if day >= snapshot.since] or list_days(now)[-1:]
    last_day = days[-1]
    (found,) = snapshot.match([query.tree], days[0])
    counts = Counter(kept[number].day for number in found)
    counted = [counts[day] for day in days if has_announcement(day)]
    notes = [*trial.notes]
    if len(found) > BROAD * len(counted):
        notes.append(_TOO_BROAD)
    notes.extend(note_other_words(query.tree, snapshot, found))

    newest = max((one.day for one in kept), default=last_day)
    today = [number for number in found if kept[number].day == newest]
    shown = today
    if not today:
        shown = sorted(found, key=lambda number: (kept[number].day, number))
    texts = snapshot.load(conn, shown[-SHOWN:])
    entries = [_make_entry(one, paper, query) for one, paper in texts]
    arranged, _ = arrange(entries, Grouping.KIND, ())
    if not today:
        heading = "The last papers it would have brought"
    elif newest == last_day:
        heading = "Your digest today"
    else:
        heading = f"Your digest of {write_day(newest, last_day)}"
    return replace(
        trial,
        notes=tuple(notes),
        rate=describe_mails(counted, len(days)),
        bars=_draw_bars(days, counts),
        since=write_day(days[0], last_day) if len(days) < DAYS else "",
        heading=heading,
        papers=tuple(PaperView(entry, number) for number, entry in enumerate(arranged, 1)),
        more=max(len(today) - SHOWN, 0),
        variants=tuple(_find_variants(query, snapshot, found, days, len(counted))),
    )


def _draw_bars(days: Sequence[date], counts: Counter[date]) -> tuple[BarView, ...]:
    """Draw how many papers each day brought; a day without any has a bar, too."""
    most = max(counts.values(), default=1)
    bars = []
    for day in days:
        height = round(_TALLEST * counts[day] / most) or 1
        bars.append(BarView(write_day(day, days[-1]), counts[day], height))
    return tuple(bars)


def _make_entry(one: Kept, paper: Paper, query: Query) -> DigestEntry:
    kind = Kind.CROSS_LIST if one.cross_listed else Kind.NEW
    reasons = find_reasons(query, paper)
    return DigestEntry(kind, paper, one.cross_listed, (), reasons, one.day)


def _find_variants(
    query: Query,
    snapshot: PaperSnapshot,
    found: Sequence[int],
    days: Sequence[date],
    announcements: int,
) -> Iterator[VariantView]:
    """Yield what comes near a query.

    That is a person's papers, and two closer forms of a broad query, or wider ones of a rare.
    """
    total = len(found)
    is_broad = total > BROAD * announcements
    is_rare = total < RARE * announcements
    near: Iterable[tuple[str, Node]] = ()
    if len(query.text) <= _LONGEST_VARIED:
        if is_broad:
            near = list_narrower(query.tree, _list_frequent_categories(snapshot, found))
        elif is_rare:
            near = list_wider(query.tree)
    changes = {print_tree(tree).replace(f"{Prefix.ALL}:", ""): change for change, tree in near}
    changes[guess_person(query.text)] = _BY_PERSON
    others = []
    for view in _try_variants(changes, snapshot, days, announcements):
        is_fitting = 0 < view.papers < total if is_broad else view.papers > total
        if view.change != _BY_PERSON and is_fitting:
            others.append(view)
        elif view.change == _BY_PERSON and view.papers:
            yield view
    if not is_broad:
        others.sort(key=lambda view: view.papers)
    yield from others[:_VARIANTS]


def _list_frequent_categories(snapshot: PaperSnapshot, found: Iterable[int]) -> list[str]:
    categories = Counter(snapshot.kept[number].category for number in found)
    return [category for category, _ in categories.most_common(_VARIANTS)]


def _try_variants(
    changes: Mapping[str, str],
    snapshot: PaperSnapshot,
    days: Sequence[date],
    announcements: int,
) -> list[VariantView]:
    """Return what each text would have brought, of those that can be read."""
    texts = [text for text in changes if _is_readable(text)]
    trees = [parse_query(text).tree for text in texts]
    answers = snapshot.match(trees, days[0])
    views = []
    for text, numbers in zip(texts, answers, strict=True):
        papers = len(numbers)
        rate = describe_rate(papers, announcements, len(days))
        views.append(VariantView(text, changes[text], papers, rate))
    return views
