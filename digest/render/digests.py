"""Shows a digest as a whole: its words, what was checked, its groups, and what it leaves out.

What was checked is said in the same sentence in every medium. A digest without papers says which of
three things happened: the check was complete and nothing matched, it is not complete yet, or it
failed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from digest.model.announcements import EASTERN, Kind, announcement_moment
from digest.model.clock import write_day
from digest.model.messages import (
    HIDDEN_LIBRARY,
    Coverage,
    Digest,
    DigestEntry,
    Form,
    NearLibrary,
    Occasion,
    WhyFirst,
)
from digest.model.numbers import count
from digest.model.slots import SlotKind, SlotName
from digest.model.subscriptions import Abstracts, Grouping, TurnFailure, UncheckedTurn
from digest.query import parse_query
from digest.query.tree import Prefix, walk_conditions
from digest.render.papers import PaperView
from digest.render.precedence import explain_dot, name_library, say_why_first
from digest.render.text import clean_text, name_zone, shorten, write_long_day

_LONGEST_NAME = 120
_LONGEST_PART = 60
_LONGEST_QUERY = 300
_FIRST_NEWS = (Kind.NEW, Kind.CROSS_LIST, Kind.KNOWN)
_OLDER = "older paper"
"""What is counted of a paper that its reader meets at a later version."""

_IT_FOLLOWS = "What is missing comes in your next digest"
_NAMED_DAYS = 3

_FAILURES = {
    TurnFailure.ARXIV_FAILED: "arXiv did not answer",
    TurnFailure.NOT_ANNOUNCED: "arXiv announced nothing",
    TurnFailure.DID_NOT_RUN: "Digest did not run",
}


class CoverageState(StrEnum):
    """How far the check got: to the end, a part of the way, nowhere; or none was made yet."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class CoverageView:
    """What was checked.

    Attributes:
        state: see `CoverageState`.
        sentence: what was checked, without capital and last full stop: `all 615 papers of Mon 8 Aug
            were checked`.
    """

    state: CoverageState
    sentence: str


@dataclass(frozen=True, slots=True)
class QueryView:
    """A saved query of a digest: its name, "" for none, and its text, at most 300 characters."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class DigestView:
    """A digest as templates see it.

    Attributes:
        title: what the digest is called.
        day: its date, `Thu 19 Nov`, or the dates of its announcements, `17–19 Nov`.
        long_day: the same, `Thursday 19 November 2026`.
        count: how many papers it holds, shown or not.
        headline: `9 papers`, or in few words why there is none.
        kinds: `8 new, 1 replaced`; "" if there are none, and of papers that were known before.
        introduction: what a reader should know first (a first digest, a quiet day, a failure); ""
            mostly.
        is_first_digest: it holds recent papers of a saved query that is new.
        coverage: what was checked: `coverage.state` and `coverage.sentence`.
        abstracts: how much of each abstract it shows: `short`, `full` or `none`.
        queries: its saved queries.
        near: what the dot at some of its papers means: `near your library`; "" if none has one.
    """

    subscription: str
    title: str
    day: str
    long_day: str
    count: int
    headline: str
    kinds: str
    introduction: str
    is_first_digest: bool
    coverage: CoverageView
    queries: tuple[QueryView, ...]
    abstracts: Abstracts = Abstracts.SHORT
    near: str = ""


@dataclass(frozen=True, slots=True)
class GroupView:
    """Papers under one heading.

    Attributes:
        title: the heading: `Read first`, `New`, `quant-ph`, or a saved query's name.
        is_name: the heading is the name of a category or a saved query.
        count: how many of these papers the digest holds, shown or not.
        form: how much is said of each: `two sentences`, `one sentence` or `title`.
    """

    title: str
    is_name: bool
    count: int
    form: Form
    papers: tuple[PaperView, ...]


@dataclass(frozen=True, slots=True)
class RestView:
    """What a message leaves out: counted always, and linked.

    Attributes:
        count: how many papers.
        url: the page that shows all of them, "" if there is none.
        papers: all of them if there is no page, so that a text can list their titles; () otherwise.
        parts: what they are, if they are of several categories or saved queries: `cs.LG 40 ·
            stat.ML 12`.
    """

    count: int = 0
    url: str = ""
    papers: tuple[PaperView, ...] = ()
    parts: str = ""


def view_digest(digest: Digest) -> DigestView:
    """Return what templates see of a digest."""
    day, long_day = name_slot(digest)
    title = clean_text(digest.title)
    introduction = write_introduction(digest)
    queries = [view_query(name, text) for name, text in digest.queries]
    return DigestView(
        subscription=clean_text(digest.subscription),
        title=shorten(title, _LONGEST_NAME),
        day=day,
        long_day=long_day,
        count=len(digest.entries),
        headline=write_headline(digest),
        kinds=_count_kinds(digest),
        introduction=clean_text(introduction),
        is_first_digest=digest.occasion.is_of_past,
        coverage=_view_coverage(digest),
        queries=tuple(queries),
        abstracts=digest.abstracts,
        near=explain_dot(_find_near(digest)),
    )


def _find_near(digest: Digest) -> NearLibrary | None:
    """Return to what the first paper of a digest with a dot is near; None if none has one."""
    return next((entry.near for entry in digest.entries if entry.near), None)


def _view_coverage(digest: Digest) -> CoverageView:
    is_sample = digest.occasion is Occasion.FIRST_DIGEST
    coverage = describe_coverage(digest.coverage, digest.zone, is_sample=is_sample)
    if digest.unchecked and SlotName.parse(digest.slot).kind is SlotKind.RUN:
        failed = say_unchecked(digest.unchecked).removesuffix(".")
        coverage = replace(coverage, sentence=f"{coverage.sentence}. {failed}")
    return coverage


def view_query(name: str, text: str) -> QueryView:
    """Return what templates see of a saved query; its name only if it says more than its text."""
    spoken = name.replace("-", " ")
    is_named = spoken not in (text, text.replace("-", " "))
    shown = shorten(clean_text(text), _LONGEST_QUERY)
    return QueryView(clean_text(name) if is_named else "", shown)


def write_headline(digest: Digest) -> str:
    """Say in a few words what a digest brings: how many papers, or why there is none."""
    if digest.entries:
        papers = count(len(digest.entries), "paper")
        return f"{papers} or more" if digest.coverage.total else papers
    if digest.occasion is Occasion.TRIAL:
        return "No papers"
    match describe_coverage(digest.coverage).state:
        case CoverageState.COMPLETE:
            return "No new papers"
        case CoverageState.FAILED:
            return "arXiv could not be read"
        case CoverageState.INCOMPLETE | CoverageState.NONE:
            return "Nothing more yet" if digest.coverage.last_shown_at else "Nothing yet"


def write_introduction(digest: Digest) -> str:
    """Say what a reader should know before the papers; "" on an ordinary day."""
    return f"{_tell_unchecked(digest)} {_introduce(digest)}".strip()


def _tell_unchecked(digest: Digest) -> str:
    """Say which turns brought no digest, and why; "" if none failed. `at once` has no turns."""
    if not digest.unchecked or SlotName.parse(digest.slot).kind is SlotKind.RUN:
        return ""
    late = [turn for turn in digest.unchecked if turn.is_late]
    closed = [turn for turn in digest.unchecked if not turn.is_late]
    said = say_unchecked(closed, digest.zone, "No digest came on {}")
    if closed and _has_papers_before(digest, closed[-1].due_at):
        whose = "Its" if len(closed) == 1 else "Their"
        said += f" {whose} papers are below."
    said_late = say_unchecked(late, digest.zone, "This digest was due on {}")
    return f"{said} {said_late}".strip()


def _has_papers_before(digest: Digest, moment: datetime) -> bool:
    return any(announcement_moment(one.announced) <= moment for one in digest.entries)


def say_unchecked(
    turns: Iterable[UncheckedTurn],
    zone: str = EASTERN.key,
    what: str = "What arXiv announced on {} was checked late",
) -> str:
    """Say on which days something failed, and why: `No digest came on Friday 3 June: …`."""
    days_of: dict[TurnFailure, list[date]] = {}
    for turn in turns:
        local = turn.due_at.astimezone(ZoneInfo(zone))
        days_of.setdefault(turn.failure, []).append(local.date())
    sentences = []
    for failure, days in days_of.items():
        happened = what.format(_join_days(days))
        sentences.append(f"{happened}: {_FAILURES[failure]}.")
    return " ".join(sentences)


def _join_days(days: Sequence[date]) -> str:
    """Name some days, the first to the last of many: `Monday 19 and Tuesday 20 September`."""
    months = {(day.year, day.month) for day in days}
    if len(months) == 1:
        named = [f"{day:%A} {day.day}" for day in days]
        month = f" {days[-1]:%B}"
    else:
        named = [f"{day:%A} {day.day} {day:%B}" for day in days]
        month = ""
    if len(named) > _NAMED_DAYS:
        return f"{len(named)} days from {named[0]} to {named[-1]}{month}"
    return _join_words(named, "and") + month


def _introduce(digest: Digest) -> str:
    if digest.entries:
        return _introduce_papers(digest) + _say_cut(digest.coverage)
    if digest.occasion is Occasion.TRIAL:
        return _explain_empty_trial(digest)
    names = _name_queries(digest)
    match describe_coverage(digest.coverage).state:
        case CoverageState.COMPLETE:
            return f"{_explain_quiet_day(digest, names)} {digest.remark}".rstrip()
        case CoverageState.NONE:
            return f"What matches {names} comes with the next digest."
        case CoverageState.FAILED | CoverageState.INCOMPLETE:
            return ""  # the line above says what is missing, and when it comes


def _explain_quiet_day(digest: Digest, names: str) -> str:
    zone = ZoneInfo(digest.zone)
    checked = (digest.coverage.checked_at or digest.planned_at).astimezone(zone)
    planned = digest.planned_at.astimezone(zone)
    is_today = checked.date() == planned.date()
    day = "" if is_today else f"{write_day(checked, digest.planned_at)} "
    said = f"Checked {day}{checked:%H:%M} {name_zone(checked)}: nothing"
    if digest.coverage.last_shown_at is None:
        return f"{said} new matched {names}."
    shown = digest.coverage.last_shown_at.astimezone(zone)
    earlier = f"{write_day(shown, digest.planned_at)} {shown:%H:%M} {name_zone(shown)}"
    return f"{said} more matched {names} since the digest of {earlier}."


def _introduce_papers(digest: Digest) -> str:
    match digest.occasion:
        case Occasion.FIRST_DIGEST:
            return f"Welcome. {_introduce_sample(digest)}. From now on you get only new ones."
        case Occasion.TRIAL:
            return "A preview of what it brings. Nothing was sent."
        case Occasion.ALREADY_SENT:
            return (
                "Taken as sent before the database was restored: kept on record here, and not sent"
                " again."
            )
        case Occasion.SCHEDULED | Occasion.LETTER:
            return ""


def _introduce_sample(digest: Digest) -> str:
    """Say how the papers of a first digest were chosen."""
    total = len(digest.entries)
    if digest.is_nearest:
        library = name_library(_find_near(digest) or HIDDEN_LIBRARY)
        return f"These are the {total} recent papers nearest to {library}"
    whose = "for your queries" if len(digest.queries) > 1 else "for your query"
    if total > 1:
        return f"These are the {total} newest papers {whose}"
    return f"This is the newest paper {whose}"


def _say_cut(coverage: Coverage) -> str:
    if not coverage.total:
        return ""
    may = f" arXiv's search finds {coverage.total:,} papers that may match."
    return f"{may} The newest {coverage.compared:,} were checked."


def _explain_empty_trial(digest: Digest) -> str:
    """Say that arXiv has nothing, or nothing that the query means here."""
    raw = digest.queries[0][1]
    text = shorten(clean_text(raw), _LONGEST_NAME)
    compared = digest.coverage.compared
    if compared:
        papers = count(compared, "paper")
        return (
            f"arXiv's search names {papers} that {text} does not mean as Digest reads it."
            " `digest explain PAPER QUERY` says which clause each fails."
        )
    query = parse_query(raw)
    nothing = f"arXiv has no paper that matches {text}."
    if query.futility:
        return nothing
    prefixes = {condition.prefix for condition in walk_conditions(query.tree)}
    if prefixes <= {Prefix.AUTHOR, Prefix.PERSON}:
        return f"{nothing} Try another spelling of the name, or the family name alone."
    return (
        f"{nothing} Try another word, a wider one (GPU OR accelerator, transf*), or leave a clause"
        " out."
    )


def _name_queries(digest: Digest) -> str:
    names = _join_words([f"“{name}”" for name, _ in digest.queries], "or")
    if len(names) <= _LONGEST_NAME:
        return names
    return "the saved query" if len(digest.queries) == 1 else "the saved queries"


def _join_words(words: list[str], last: str) -> str:
    """Write a list as `a`, `a and b`, `a, b and c`, with `last` before the last of them."""
    if len(words) < 2:  # noqa: PLR2004 - one word needs no "and"
        return "".join(words)
    *others, final = words
    return f"{', '.join(others)} {last} {final}"


def _count_kinds(digest: Digest) -> str:
    kinds = {entry.kind for entry in digest.entries}
    if kinds <= {Kind.KNOWN} or digest.occasion.is_of_past:
        return ""
    totals = Counter(_name_kind(entry) for entry in digest.entries)
    older = totals.pop(_OLDER, 0)
    parts = [f"{total:,} {kind}" for kind, total in totals.items()]
    if older:
        parts.append(f"{count(older, _OLDER)}, new to you")
    return ", ".join(parts)


def _name_kind(entry: DigestEntry) -> str:
    """Return what a paper is counted as; if its reader meets it only now, it is no new version."""
    if entry.is_withdrawn:
        return Kind.WITHDRAWAL
    is_itself = entry.shows_change or entry.kind in _FIRST_NEWS
    return entry.kind if is_itself else _OLDER


def view_papers(digest: Digest) -> tuple[PaperView, ...]:
    """Return the papers of a digest, numbered from 1."""
    is_by_query = digest.group_by is Grouping.QUERY
    is_of_one_query = len(digest.queries) == 1
    views: list[PaperView] = []
    for group in digest.groups:
        first = len(views)
        members = digest.entries[first : first + group.count]
        why_first = group.reasons or ((),) * group.count
        under = group.title if group.is_name and is_by_query else ""
        for entry, reasons in zip(members, why_first, strict=True):
            number = len(views) + 1
            view = PaperView(
                entry,
                number,
                is_first_digest=digest.occasion.is_of_past,
                under=under,
                is_of_one_query=is_of_one_query,
                form=group.form,
                why_first=say_why_first(entry, reasons),
                is_place_said=any(reason.why is WhyFirst.PLACE for reason in reasons),
                heading=group.title,
            )
            views.append(view)
    return tuple(views)


def group_papers(digest: Digest, papers: Sequence[PaperView]) -> tuple[GroupView, ...]:
    """Put neighbours under the headings that the digest gives them."""
    counts: Counter[str] = Counter()
    for group in digest.groups:
        counts[group.title] += group.count
    views: list[GroupView] = []
    start = papers[0].number - 1 if papers else 0
    end = 0
    for group in digest.groups:
        first = end
        end = first + group.count
        begin = max(0, first - start)
        members = tuple(papers[begin : max(0, end - start)])
        if not members:
            continue
        title = shorten(clean_text(group.title), _LONGEST_NAME)
        view = GroupView(title, group.is_name, counts[group.title], group.form, members)
        if views and views[-1].title == title:  # such as minor changes
            before = views.pop()
            view = replace(before, papers=before.papers + members)
        views.append(view)
    return tuple(views)


def view_rest(papers: Sequence[PaperView], url: str) -> RestView:
    """Return what a message leaves out, and so counts and links, or lists."""
    listed = () if url else tuple(papers)
    return RestView(len(papers), url, listed, _count_parts(papers))


def _count_parts(papers: Sequence[PaperView]) -> str:
    """Say what is left out: of which categories, saved queries or kinds; "" if all is of one."""
    totals = Counter(clean_text(paper.heading) for paper in papers)
    if len(totals) <= 1:
        return ""
    parts = []
    for heading, total in totals.items():
        name = shorten(heading, _LONGEST_PART)
        parts.append(f"{name} {total:,}")
    return shorten(" · ".join(parts), _LONGEST_QUERY)


def find_most(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count up to `most` that fits, 0 for none.

    It asks as rarely as halving allows.
    """
    if most < 1 or fits(most):
        return max(most, 0)
    return bisect_left(range(1, most), x=True, key=lambda count: not fits(count))


def describe_coverage(
    coverage: Coverage, zone: str = EASTERN.key, *, is_sample: bool = False
) -> CoverageView:
    """Say to a reader how far the check got.

    Args:
        zone: the reader's IANA zone, for times of day; announcements keep arXiv's dates.
        is_sample: the digest is a sample of recent papers, so no announcement can be incomplete.
    """
    local = ZoneInfo(zone)
    announcement = coverage.announcement
    is_search = coverage.source == "query"
    is_whole_search = announcement is None and coverage.is_complete and is_search
    checked = _write_moment(coverage, coverage.checked_at, local)
    if is_sample or is_whole_search:
        asked = "arXiv's search was asked" if is_search else "arXiv was checked"
        return CoverageView(CoverageState.COMPLETE, f"{asked}{checked}")
    if coverage.failure:
        moment = _write_moment(coverage, coverage.failing_since, local)
        begun = f" since{moment}" if moment else ""
        sentence = f"papers may be missing. {coverage.failure}{begun}. {_IT_FOLLOWS}"
        return CoverageView(CoverageState.FAILED, sentence)
    if announcement is None:
        return CoverageView(CoverageState.NONE, "no announcement has been checked yet")
    if coverage.is_awaited:
        sentence = "arXiv's newest announcement is late. Its papers come when it is out"
        return CoverageView(CoverageState.INCOMPLETE, sentence)
    days = _write_announcements(coverage.since, announcement)
    if coverage.is_complete:
        papers = f"all {_count_new(coverage)}papers of {days}"
        verb = "searched" if is_search else "checked"
        return CoverageView(CoverageState.COMPLETE, f"{papers} were {verb}")
    sentence = f"papers of {days} may be missing: arXiv was last checked{checked}. {_IT_FOLLOWS}"
    return CoverageView(CoverageState.INCOMPLETE, sentence)


def _write_announcements(since: date | None, last: date) -> str:
    days = write_day(last, last)
    return f"{write_day(since, last)} to {days}" if since else days


def _count_new(coverage: Coverage) -> str:
    """Return how many papers were announced; "" for figures that do not belong together."""
    matched = coverage.matched or 0
    is_harvest = coverage.source != "query"
    is_known = is_harvest and coverage.new > 1 and coverage.new >= matched
    return f"{coverage.new:,} " if is_known else ""


def _write_moment(coverage: Coverage, moment: datetime | None, zone: ZoneInfo) -> str:
    """Write a moment after a blank, ` Thu 19 Nov 22:47 ET`; "" if it is not known."""
    if moment is None:
        return ""
    local = moment.astimezone(zone)
    day = write_day(local, coverage.announcement or local)
    return f" {day} {local:%H:%M} {name_zone(local)}"


def name_slot(digest: Digest) -> tuple[str, str]:
    """Return a digest's date, short (`Thu 19 Nov`) and long (`Thursday 19 November 2026`).

    That is the day of its announcement; of several it is both ends, `17–19 Nov`. Without any it is
    the day of its slot, or the one on which it was planned.
    """
    last = digest.coverage.announcement
    if digest.occasion is not Occasion.SCHEDULED or last is None:
        day = _find_day(digest)
        return write_day(day, day), write_long_day(day)
    since = digest.coverage.since
    is_week = SlotName.parse(digest.slot).kind is SlotKind.WEEK
    if since is None or not (is_week or digest.coverage.announcements > 1):
        return write_day(last, last), write_long_day(last)
    short = write_days(since, last, is_short=True)
    long = write_days(since, last)
    if since.year == last.year:  # otherwise both years are there already
        long += f" {last.year}"
    return short, long


def _find_day(digest: Digest) -> date:
    """Return the day of a digest's slot, or else the one on which it was planned."""
    planned = digest.planned_at.astimezone(ZoneInfo(digest.zone))
    return SlotName.parse(digest.slot).day or planned.date()


def write_days(first: date, last: date, *, is_short: bool = False) -> str:
    """Write two dates and what lies between: `17–19 November`, short `17–19 Nov`.

    Month and year are said twice if they differ.
    """
    month = "%b" if is_short else "%B"
    ended = f"{last.day} {last:{month}}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{ended}"
    begun = f"{first.day} {first:{month}}"
    if first.year != last.year:
        begun += f" {first.year}"
        ended += f" {last.year}"
    return f"{begun} – {ended}"
