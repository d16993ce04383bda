"""What the year must have come to: the database, read without the product's code, held against the diary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.battery.stored import StoredChange, Told, read_book
from tests.battery.verdict import Verdict
from tests.battery.year_installation import Wanted
from tests.battery.year_papers import MadeUp
from tests.battery.year_plan import Diary

_DAY = timedelta(days=1)
_GRACE = timedelta(hours=13)
"""What a digest may be late besides: cron calls four times a day, a late mailing is told by the morning."""

_PERIODS = (
    ("daily", 1 * _DAY),
    ("weekdays", 3 * _DAY),
    ("mondays", 7 * _DAY),
    ("weekly", 7 * _DAY),
    ("tuesdays and", 4 * _DAY),
    ("on announcement", 5 * _DAY),
    ("at once", 0 * _DAY),
)
"""The longest time between two turns of each cadence; the mailings of holidays are deferred."""


@dataclass
class YearVerdict(Verdict):
    """A verdict that knows of each subscription the papers that were told to it."""

    told: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class Year:
    """The oracle of one year.

    Args:
        database: the SQLite file, which nobody has open any more.
        diary: what was done to whom and when.
        papers: all that came out, by id.
    """

    def __init__(self, database: Path, diary: Diary, papers: Mapping[str, MadeUp]) -> None:
        self._diary, self._papers = diary, papers
        self.verdict = YearVerdict()
        self._book = read_book(database)
        self._of = self._book.told_by_subscription

    def judge(self) -> YearVerdict:
        """Judge everything, and return the verdict."""
        self._judge_stored()
        for name in self._diary.wanted:
            self._judge_papers(name)
            self._judge_slots(name)
            for digest in self._of[name]:
                self._judge_moment(digest)
        papers = {change.id: paper for paper, states in self._book.changes.items() for change in states}
        for name, change_id in self._book.waiting:
            if name not in self._diary.ended:
                self.verdict.accuse("a match is in no digest", f"{papers[change_id]} of {name}")
        self.verdict.counts |= Counter(
            {
                "papers": len(self._papers),
                "subscriptions": len(self._diary.wanted),
                "digests": len(self._book.digests),
                "papers told, each to one subscription": sum(len(told) for told in self.verdict.told.values()),
            }
        )
        return self.verdict

    def _judge_stored(self) -> None:
        for paper in self._papers.keys() - self._book.changes.keys():
            self.verdict.accuse("a paper was never stored", paper)

    def _judge_papers(self, name: str) -> None:
        """Hold what was told against what was found while the subscription lasted."""
        told: dict[str, list[tuple[Told, int]]] = defaultdict(list)
        for digest in self._of[name]:
            for entry in digest.papers:
                told[entry.paper].append((digest, entry.version))
        self.verdict.told[name] = set(told)
        for paper, states in self._book.changes.items():
            expected = self._expect(name, paper, states)
            if not expected and told[paper]:
                self.verdict.accuse("a paper was told to somebody who did not ask", f"{paper} to {name}")
            elif expected:
                self._judge_paper(name, paper, expected, told[paper])

    def _expect(self, name: str, paper: str, states: Sequence[StoredChange]) -> list[StoredChange]:
        """Return the states of a paper that a subscription is to be told of."""
        if paper not in self._papers:
            return []
        wanted = self._diary.wanted[name]
        begin, end = wanted[0][0], self._diary.ended.get(name)
        if not self._papers[paper].queries & set(wanted[0][1].queries):
            return []
        kinds = {*wanted[0][1].kinds}
        news = [
            state for number, state in enumerate(states) if state.kind in kinds or _is_overtaken(number, state)
        ]
        return [state for state in news if state.found_at >= begin and (end is None or state.found_at < end)]

    def _judge_paper(
        self, name: str, paper: str, expected: Sequence[StoredChange], told: Sequence[tuple[Told, int]]
    ) -> None:
        what = f"{paper} to {name}: {', '.join(f'v{version} in {one.slot}' for one, version in told) or 'never'}"
        versions = [version for _, version in told]
        if any(later <= earlier for earlier, later in pairwise(versions)):
            self.verdict.accuse("a paper was told twice", what)
        if len(told) > len(expected):
            self.verdict.accuse("a paper was told more often than it had news", what)
        for state in expected:
            digest = next((one for one, version in told if version >= state.state.version), None)
            if digest is not None:
                self._judge_promptness(digest, state, what)
            elif self._was_to_be_told(name, state.found_at):
                self.verdict.accuse("a paper was never told", f"{what}, found {state.found_at:%Y-%m-%d %H:%M}")
            else:
                self.verdict.counts["papers left untold by subscriptions that ended"] += 1

    def _was_to_be_told(self, name: str, found_at: datetime) -> bool:
        """Whether what was found then was due before the subscription ended, and it did not rest when it did."""
        ended = self._diary.ended.get(name)
        if ended is None:
            return True
        rested = any(begin <= ended <= end for begin, end in self._diary.pauses.get(name, ()))
        return not rested and ended > self._find_limit(name, found_at, ended)

    def _judge_promptness(self, digest: Told, state: StoredChange, what: str) -> None:
        limit = self._find_limit(digest.subscription, state.found_at, digest.planned_at)
        if digest.planned_at > limit:
            when = self._diary.wanted_at(digest.subscription, digest.planned_at).when
            late = digest.planned_at - limit
            self.verdict.accuse("a paper was told late", f"{what}: {late} after {limit:%Y-%m-%d %H:%M} ({when})")

    def _find_limit(self, name: str, found_at: datetime, planned_at: datetime) -> datetime:
        """Return by when what was found was to be told, if nothing has shaken the subscription since."""
        shaken = [at for at, whose in self._diary.shaken if whose in ("", name) and found_at <= at <= planned_at]
        wanted = self._diary.wanted_at(name, planned_at)
        period = next(span for words, span in _PERIODS if wanted.when.startswith(words))
        night = _DAY if wanted.quiet_hours else timedelta(0)
        return max([found_at, *shaken]) + period + night + _GRACE

    def _judge_slots(self, name: str) -> None:
        """A name is used once, and within a kind they sort as time goes."""
        kinds: dict[str, list[str]] = defaultdict(list)
        for digest in self._of[name]:
            slot = digest.slot
            kind = slot.partition(":")[0] if ":" in slot else ("week" if "-W" in slot else "day")
            kinds[kind].append(f"run:{int(slot[4:]):09d}" if kind == "run" else slot)
        for slots in kinds.values():
            for earlier, later in pairwise(slots):
                if later <= earlier:
                    self.verdict.accuse("slots do not grow", f"{name}: {later} behind {earlier}")

    def _judge_moment(self, digest: Told) -> None:
        """Nothing goes out in quiet hours or in a pause, nor before its time of day."""
        name, at = digest.subscription, digest.planned_at
        wanted = self._diary.wanted_at(name, at)
        what = f"{name} {digest.slot} at {at:%Y-%m-%d %H:%M}Z ({wanted.when}; quiet {wanted.quiet_hours})"
        if any(begin <= at < end for begin, end in self._diary.pauses.get(name, ())):
            self.verdict.accuse("a digest was made in a pause", what)
        if _is_quiet(wanted, at):
            self.verdict.accuse("a digest was made in quiet hours", what)
        if _is_early(wanted, digest):
            self.verdict.accuse("a digest was made before its time", what)


def _is_overtaken(number: int, state: StoredChange) -> bool:
    """Whether a replacement is all there ever was to meet of a paper: it came out while nobody looked."""
    return number == 0 and state.kind == "replaced"


def _is_quiet(wanted: Wanted, at: datetime) -> bool:
    if not wanted.quiet_hours:
        return False
    hours, _, zone = wanted.quiet_hours.partition(" ")
    begin, end = (time.fromisoformat(part) for part in hours.split("-"))
    now = at.astimezone(ZoneInfo(zone or _zone_of(wanted))).time()
    return begin <= now < end if begin < end else now >= begin or now < end


def _is_early(wanted: Wanted, digest: Told) -> bool:
    """Whether a digest of a day was made before that day's time; not where clocks skip or repeat that time."""
    if wanted.when.partition(" ")[0] not in ("daily", "weekdays", "tuesdays") or ":" in digest.slot[:8]:
        return False
    if "-W" in digest.slot:
        return False
    at = wanted.when.partition(" at ")[2][:5]
    zone = ZoneInfo(_zone_of(wanted))
    due = datetime.fromisoformat(f"{digest.slot}T{at}").replace(tzinfo=zone)
    return digest.planned_at < due.astimezone(UTC) - timedelta(hours=1)


def _zone_of(wanted: Wanted) -> str:
    return wanted.when.partition(",")[0].rpartition(" ")[2]
