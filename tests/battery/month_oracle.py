"""What arXiv announced, by a reader that shares nothing with Digest: each state of each paper, and since when."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from html import unescape
from urllib.parse import quote
from zoneinfo import ZoneInfo

AGENT = "month-oracle"
"""How this reader signs its requests, so that they are never taken for the product's."""

BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)
EASTERN = ZoneInfo("America/New_York")
_NO_ANNOUNCEMENT = (4, 5)
_PAPER = re.compile(r"<record>(.*?)</record>", re.DOTALL)
_VERSION = re.compile(r'<version version="v(\d+)">(.*?)</version>', re.DOTALL)
_TOKEN = re.compile(r"<resumptionToken[^>]*>([^<]+)</resumptionToken>")
_BETWEEN_REQUESTS = 10.0
_FOREVER = 400


@dataclass(frozen=True)
class State:
    """What arXiv says of a paper, as far as a change can show."""

    version: int
    categories: frozenset[str]
    is_withdrawn: bool
    journal_ref: str


@dataclass(frozen=True)
class Sighting:
    """A state, when this reader first saw it, and the Eastern date of the last announcement by then.

    Attributes:
        state: what is said of the paper.
        after: the reading before, which did not show it yet (UTC).
        seen_at: the moment of the reading (UTC): from then on at the latest it was there.
        announcement: the last announcement that was visible then.
        submitted: when the present version was handed in (UTC).
        comes_by_announcement: an announcement brought it: the paper's first state, or a higher version.
    """

    state: State
    after: datetime
    seen_at: datetime
    announcement: date
    submitted: datetime
    comes_by_announcement: bool


@dataclass
class Oracle:
    """A reader of everything arXiv shows, without faults.

    Attributes:
        url: the OAI-PMH base address.
        pause: lets simulated time pass between two requests, so that the pace is this reader's own affair.
        lag: how long after an announcement the interface shows it.
        history: sightings by paper, oldest first.
        readings: when it read (UTC).
        unclear: papers whose comment speaks of a withdrawal without arXiv's mark: readers may differ.
    """

    url: str
    pause: Callable[[float], object]
    lag: timedelta = timedelta(0)
    history: dict[str, list[Sighting]] = field(default_factory=dict)
    readings: list[datetime] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)

    def read(self, now: datetime, *, whole: bool = False) -> int:
        """Read what changed lately, everything the first time; return how many states were never seen before."""
        since = now - timedelta(days=3 if self.readings and not whole else _FOREVER)
        announcement = last_announcement(now - self.lag)
        found = 0
        for body in self._fetch_pages(since.date()):
            for text in _PAPER.findall(body):
                found += self._note(text, now, announcement)
        self.readings.append(now)
        return found

    def _note(self, text: str, now: datetime, announcement: date) -> int:
        paper_id, state, submitted = _read_paper(text)
        seen = self.history.setdefault(paper_id, [])
        if not state.is_withdrawn and "withdr" in _field(text, "comments").lower():
            self.unclear.add(paper_id)
        if seen and seen[-1].state == state:
            return 0
        by_announcement = not seen or state.version > seen[-1].state.version
        after = self.readings[-1] if self.readings else BEGINNING
        seen.append(Sighting(state, after, now, announcement, submitted, by_announcement))
        return 1

    def _fetch_pages(self, since: date) -> Iterator[str]:
        asked = f"verb=ListRecords&metadataPrefix=arXivRaw&from={since.isoformat()}"
        while asked:
            body = self._fetch(asked)
            yield body
            token = _TOKEN.search(body)
            asked = f"verb=ListRecords&resumptionToken={quote(unescape(token[1]), safe='')}" if token else ""

    def _fetch(self, asked: str) -> str:
        self.pause(_BETWEEN_REQUESTS)
        request = urllib.request.Request(f"{self.url}?{asked}", headers={"User-Agent": AGENT})  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
            body: str = answer.read().decode()
        if "<ListRecords>" not in body and 'code="noRecordsMatch"' not in body:
            raise RuntimeError(f"the oracle was answered with {body[:200]!r}")
        return body


def last_announcement(moment: datetime) -> date:
    """Return the Eastern date of the last announcement at or before a moment: 20:00, Sunday to Thursday."""
    day = moment.astimezone(EASTERN).date()
    while day.weekday() in _NO_ANNOUNCEMENT or announcement_at(day) > moment:
        day -= timedelta(days=1)
    return day


def announcement_at(day: date) -> datetime:
    """Return when the announcement of an Eastern date goes out, in UTC."""
    return datetime.combine(day, time(20), tzinfo=EASTERN).astimezone(UTC)


def expect_kind(before: State | None, after: Sighting, *, is_behind: bool, oldest: datetime) -> str:
    """Return the kind of change that has to be stored for a step from one state to the next.

    Args:
        before: None for a paper never stored.
        after: what it is now.
        is_later_part: its id is no higher than the highest known at the first look, so that it is no news.
        oldest: a paper first met at a higher version was merely edited if that is from before this moment.
    """
    now = after.state
    if before is None:
        if now.version == 1:
            return "known" if is_behind else "new"
        if after.submitted < oldest:
            return "known"
        return "withdrawn" if now.is_withdrawn else "replaced"
    if now.is_withdrawn and not before.is_withdrawn:
        return "withdrawn"
    if now.version > before.version:
        return "replaced"
    return "cross-listed" if now.categories - before.categories else "edited"


def id_order(paper_id: str) -> tuple[int, int]:
    """Return month and number: a larger pair was given out later."""
    month, _, number = paper_id.partition(".")
    return int(month), int(number)


def _read_paper(text: str) -> tuple[str, State, datetime]:
    versions = sorted((int(number), inner) for number, inner in _VERSION.findall(text))
    number, last = versions[-1]
    state = State(
        version=number,
        categories=frozenset(_field(text, "categories").split()),
        is_withdrawn="<source_type>I</source_type>" in last,
        journal_ref=_field(text, "journal-ref"),
    )
    return _field(text, "id"), state, parsedate_to_datetime(_field(last, "date"))


def _field(text: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return " ".join(unescape(found[1]).split()) if found else ""
