"""Makes up values to try templates with: digests, and what else templates see.

No paper here exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any, get_args, get_origin, get_type_hints

from digest.model.announcements import Kind
from digest.model.errors import QueryError
from digest.model.messages import (
    Coverage,
    Digest,
    DigestEntry,
    Form,
    Group,
    Links,
    NearLibrary,
    Occasion,
    Sequel,
    StoredText,
)
from digest.model.papers import ArxivId, Author, Field, Paper, Reason, Span
from digest.model.people import OwnQuery, SignupRequest
from digest.model.subscriptions import Abstracts, Grouping
from digest.render.digests import DigestView, view_digest, view_papers
from digest.render.pages import MembershipView
from digest.render.papers import PaperView

EVENING = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)
DAY = date(2026, 11, 19)
"""The sample digests' papers were found at 22:47 US Eastern time on Thu 19 Nov 2026."""

SAMPLE_LINKS = Links(
    unsubscribe="https://digest.example.org/u/Qm9vdHN0cmFwcGluZzEyMw",
    unsubscribe_mail="mailto:leave@example.org?subject=unsubscribe",
    web_view="https://digest.example.org/d/VGFpbCBsYXRlbmN5IGZpcg",
    feed="https://digest.example.org/f/U29tZSBzZWNyZXQgZmVlZC.atom",
    home="https://digest.example.org/",
    refs="https://digest.example.org/refs",
    preferences="https://digest.example.org/p/WW91cnMgYW5kIG5vYm9keX",
    likes="https://digest.example.org/p/WW91cnMgYW5kIG5vYm9keX/d/VGFpbCBsYXRlbmN5IGZpcg",
)

ABSTRACT = (
    "Shared accelerators are cheap on average and slow at the worst moment. We measure where the "
    "worst moments come from on a cluster of 96 GPUs and find that four in five begin with a copy "
    "nobody waits for. A scheduler that holds such copies back for at most $10^{-3}$ s brings the "
    "99.9th percentile down by a factor of 7 while the mean moves by less than 2 %. It needs no "
    "change to programs, and it fits on one page."
)
AUTHORS = (
    Author("Marit Solheim", ("University of Bergen",)),
    Author("Doruk Ayd\u0131n", ("Boğaziçi University",)),
    Author("Ana Lúcia Prates"),
    Author("Kwabena Owusu-Ansah"),
)


def make_paper(number: int = 1, **fields: Any) -> Paper:  # noqa: ANN401 - of whatever types
    """Make a paper announced on 19 November 2026, with any field of `Paper` given."""
    moment = datetime(2026, 11, 18, 15, 30, tzinfo=UTC)
    paper = Paper(
        id=ArxivId(202611, 15000 + number),
        version=1,
        title="Tail latency below $10^{-3}$ s on shared GPUs",
        abstract=ABSTRACT,
        authors=AUTHORS,
        categories=("cs.PF", "cs.DC"),
        published=moment,
        updated=moment,
    )
    return replace(paper, **fields)


def make_entry(
    number: int = 1,
    *,
    kind: Kind = Kind.NEW,
    label: str = "",
    queries: tuple[str, ...] = ("perf",),
    found: Sequence[tuple[Field, str]] = ((Field.CATEGORIES, "cs.PF"),),
    **fields: Any,  # noqa: ANN401 - the fields of Paper, whatever their types
) -> DigestEntry:
    """Make an entry; `found` says in which fields which words met the query."""
    paper = make_paper(number, **fields)
    query = queries[0] if queries else ""
    reasons = []
    for field, text in found:
        spans = _find(paper, field, text)
        if spans:
            reasons.append(Reason(f"{field}:{text}", spans, query=query))
    return DigestEntry(kind, paper, label, queries, tuple(reasons), DAY, change_id=number)


def make_digest(entries: Sequence[DigestEntry], **fields: Any) -> Digest:  # noqa: ANN401 - the same
    """Make a digest of Thu 19 Nov 2026, with any field of `Digest` given."""
    is_by_query = fields.get("group_by") is Grouping.QUERY
    form = _choose_form(fields.get("shown", len(entries)))
    digest = Digest(
        subscription="demo-team",
        title="Demo team",
        slot="mailing:2026-11-19",
        occasion=Occasion.SCHEDULED,
        planned_at=EVENING,
        zone="Europe/Berlin",
        entries=tuple(entries),
        groups=tuple(_group(entries, form, is_by_query=is_by_query)),
        shown=len(entries),
        queries=(("perf", "cat:cs.PF"), ("gpu", "cat:cs.PF AND abs:GPU")),
        coverage=make_coverage(len(entries)),
        id=1,
    )
    return replace(digest, **fields)


def _choose_form(shown: int) -> Form:
    """Return how much is said of each of so many papers, as digests are planned."""
    if shown <= 8:  # noqa: PLR2004 - as digests are planned
        return Form.TWO_SENTENCES
    return Form.SENTENCE if shown <= 25 else Form.TITLE  # noqa: PLR2004 - the same


def _group(entries: Sequence[DigestEntry], form: Form, *, is_by_query: bool) -> Iterator[Group]:
    """Put neighbours of one heading and one form into a group."""

    def find_group(entry: DigestEntry) -> tuple[str, Form]:
        heading = entry.kind.capitalize()
        if is_by_query:
            heading = entry.queries[0] if entry.queries else "Others"
        return heading, Form.CHANGE if entry.shows_change else form

    for (heading, said), run in groupby(entries, find_group):
        yield Group(heading, len(list(run)), said, is_by_query)


def make_coverage(matched: int | None, **fields: Any) -> Coverage:  # noqa: ANN401 - the same
    """Make the coverage of a complete check of the announcement of Thu 19 Nov 2026."""
    coverage = Coverage(
        announcement=date(2026, 11, 19),
        is_complete=True,
        compared=4_120,
        matched=matched,
        checked_at=EVENING,
        source="harvest",
        new=1_412,
        is_settled=True,
    )
    return replace(coverage, **fields)


def quiet_digests() -> dict[str, Digest]:
    """Return digests without papers, by what happened.

    Nothing matched; or the check is not complete, is awaited, or failed.
    """
    incomplete = make_coverage(0, is_complete=False, is_settled=False, new=180)
    awaited = replace(incomplete, is_awaited=True, new=0)
    failure = "arXiv has not answered"
    failed = make_coverage(0, failure=failure, failing_since=EVENING, is_complete=False)
    return {
        "quiet": make_digest(()),
        "incomplete": make_digest((), coverage=incomplete),
        "awaited": make_digest((), coverage=awaited),
        "failed": make_digest((), coverage=failed),
    }


def _find(paper: Paper, field: Field, text: str) -> tuple[Span, ...]:
    spans = []
    for index, value in enumerate(_values(paper, field)):
        start = value.find(text)
        if start >= 0:
            spans.append(Span(field, start, start + len(text), index))
    return tuple(spans)


def _values(paper: Paper, field: Field) -> tuple[str, ...]:
    if field is Field.AUTHORS:
        return tuple(author.name for author in paper.authors)
    value = getattr(paper, field.value)
    return value if isinstance(value, tuple) else (str(value),)


def _make_samples() -> Iterator[Digest]:
    """Make digests with every kind of paper, much and little said of each, in every form.

    Those without papers come last.
    """
    busy = make_digest((*_make_ordinary_entries(), *_make_odd_entries()))
    yield busy
    yield replace(busy, shown=3, group_by=Grouping.QUERY, abstracts=Abstracts.FULL)
    yield replace(busy, occasion=Occasion.FIRST_DIGEST, abstracts=Abstracts.NONE)
    several = make_coverage(len(busy.entries), since=date(2026, 11, 18), announcements=2)
    yield replace(busy, coverage=several)
    replaced = busy.entries[-2]
    yield make_digest([replaced], groups=(Group("New versions", 1, Form.MINOR),))
    long = [make_entry(number, abstract=ABSTRACT * 4) for number in range(1, 41)]
    yield make_digest(long)
    yield from quiet_digests().values()


def _make_ordinary_entries() -> Iterator[DigestEntry]:
    """Make one entry of each kind."""
    for number, kind in enumerate(Kind, 1):
        yield make_entry(number, kind=kind, label="v1 → v2", comment="9 pages", version=2)


def _make_odd_entries() -> tuple[DigestEntry, ...]:
    """Make entries with much, with little, withdrawn, replaced, and replaced once more since."""
    title = "<script>alert(1)</script> & <!channel> @here *bold* `code` " * 9
    journal = "J. Made Up 3"
    much = make_entry(
        11, title=title, authors=AUTHORS * 9, journal_ref=journal, dois=("10.5555/x",)
    )
    little = make_entry(12, title="0", abstract="", authors=(), categories=(), queries=(), found=())
    withdrawn = make_entry(
        13, kind=Kind.WITHDRAWAL, label="withdrawn", is_withdrawn=True, comment="It was off by ten."
    )
    before = StoredText(make_paper(1, title="Another title"))
    after = StoredText(withdrawn.paper)
    replaced = make_entry(14, kind=Kind.REPLACEMENT, label="v1 → v2", version=2)
    replaced = replace(replaced, before=before)
    sequel = Sequel(Kind.WITHDRAWAL, DAY, before, after)
    followed = replace(make_entry(15), near=NearLibrary("<b> & *x*"), sequel=sequel)
    return much, little, withdrawn, replaced, followed


SAMPLES = tuple(_make_samples())
"""Every sort of digest that a template must render."""

_KNOWN: dict[object, list[Any]] = {
    str: ["<i>"],
    int: [3, 0],
    bool: [True, False],
    float: [0.5],
    date: [DAY],
    DigestView: [view_digest(SAMPLES[0])],
    PaperView: [view_papers(SAMPLES[0])[0]],
    QueryError: [QueryError("<b>", text="gpu AND", position=7, hint="x")],
    SignupRequest: [
        SignupRequest((OwnQuery("gpu", "abs:GPU"), OwnQuery("odd", "ti:<&>", is_on=False)))
    ],
    MembershipView: [
        MembershipView("p-0", "x", "x", is_own=True, button="unsubscribe"),
        MembershipView("team", "<i>", "x", is_own=False, button="undo"),
    ],
    Mapping[str, Sequence[str]]: [
        dict.fromkeys(("address", "q", "days", "hour", "zone", "kinds", "feed", "joins"), ("<i>",))
    ],
    Mapping[Kind, str]: [{Kind.NEW: "<i>"}, {}],
    Mapping[str, str]: [dict.fromkeys(("", "when", "kinds", "move", "erase", "<i>"), "<i>"), {}],
}


def list_samples(kind: Any) -> list[Any]:  # noqa: ANN401 - any type that a template may see
    """Return values of a type: first the fullest one, last one with as little as it may have."""
    if kind in _KNOWN:
        return _KNOWN[kind]
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        return _list_tuples(inner)
    if inner:
        return [*list_samples(inner[0]), None]
    return _vary(kind) if is_dataclass(kind) else list(kind)


def _list_tuples(inner: tuple[Any, ...]) -> list[Any]:
    """Return tuples of some types: `inner` is one type and `...`, or the type of each member."""
    if inner[-1] is Ellipsis:
        values = list_samples(inner[0])
        return [(values[0], values[-1]), ()]
    return [tuple(list_samples(one)[0] for one in inner)]


def _vary(kind: Any) -> list[Any]:  # noqa: ANN401 - any dataclass
    """Return values of a dataclass in which one thing at a time is missing, different or alone."""
    hints = get_type_hints(kind)
    values: dict[str, list[Any]] = {}
    for field in fields(kind):
        values[field.name] = list(list_samples(hints[field.name]))
        if field.default is not MISSING:
            values[field.name].append(field.default)
    most = {name: ones[0] for name, ones in values.items()}
    least = {name: ones[-1] for name, ones in values.items()}
    varied = [most]
    for name, ones in values.items():
        varied += [most | {name: one} for one in ones[1:]]
    varied += [least | {name: ones[0]} for name, ones in values.items()]
    varied.append(least)
    return [kind(**members) for members in varied]
