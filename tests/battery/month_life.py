"""Lives a month: real processes at the product's times, on bad days, while papers change and processes die."""

from __future__ import annotations

import heapq
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from digest.poll.rules import POLL_TIMES
from tests.battery.month_arxiv import MonthArxiv
from tests.battery.month_installation import Ended, MonthInstallation
from tests.battery.month_oracle import EASTERN, Oracle, announcement_at, id_order, last_announcement

_AFTER_POLL_TIME = timedelta(minutes=2)
_AGAIN = timedelta(minutes=40)
_SOON = timedelta(minutes=2)
_BEFORE_A_LOOK = timedelta(minutes=1)
_BOOTSTRAP_TRIES = 40
_PAIRS = 0.03
"""How often a second process is started beside the first."""

_CALM_FROM, _CALM_UNTIL = time(3), time(19)
"""Eastern times of the last day between which nothing goes wrong any more."""

_CATEGORIES = ("nlin.CG", "stat.ML", "hep-lat", "cs.LG", "math.CO", "quant-ph", "q-bio.NC")
_CANDIDATE_AGES = timedelta(hours=20), timedelta(days=8)


@dataclass(frozen=True)
class Plan:
    """What a month holds; the seed decides everything else but the scheduling of real processes.

    `at` is when `digest run` is called, in Eastern time.
    """

    seed: int
    announcements: int = 30
    cross_lists: int = 58
    withdrawals: int = 58
    edits: int = 20
    kills: int = 24
    at: tuple[time, ...] = POLL_TIMES


@dataclass
class Tally:
    """What was done, and what the verdict has to know.

    Attributes:
        kills: processes that were killed before they ended.
        fed: changes ordered, by kind.
        run_requests: requests of each run.
        bootstrapped_at: when the first look was complete (UTC).
        known_before: papers public by then, by the oracle.
        announcements: Eastern dates of the announcements lived through.
        oracle_missed: states that only a reading of everything at the end brought.
    """

    kills: int = 0
    pairs: int = 0
    fed: dict[str, int] = field(default_factory=dict)
    run_requests: list[int] = field(default_factory=list)
    bootstrapped_at: datetime | None = None
    known_before: frozenset[str] = frozenset()
    announcements: list[str] = field(default_factory=list)
    oracle_missed: int = 0

    @property
    def mark(self) -> tuple[int, int]:
        """Month and number of the highest id known at the first look."""
        return max(map(id_order, self.known_before))


class Life:
    """One month being lived.

    Args:
        plan: what it holds.
        arxiv: standing at the moment it begins.
        here: the installation, never run before.
        oracle: reads along.
        tell: is told of each day.
    """

    def __init__(
        self,
        plan: Plan,
        arxiv: MonthArxiv,
        here: MonthInstallation,
        oracle: Oracle,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._plan, self._arxiv, self._here, self._oracle, self._tell = plan, arxiv, here, oracle, tell
        self._draw = random.Random(plan.seed)  # noqa: S311 - the same month for the same seed
        self.tally = Tally()
        self._armings = 0
        self._is_calm = False
        self._touched: set[str] = set()
        self._stirred: list[datetime] = []
        self._agenda: list[tuple[datetime, int, Callable[[], None]]] = []
        self._looks_left = 0

    def live(self) -> Tally:
        """Live it through; return what was done."""
        self._bootstrap()
        self._write_agenda()
        while self._agenda:
            moment, _, act = heapq.heappop(self._agenda)
            self._move_to(moment)
            act()
        self._read_along()
        self.tally.oracle_missed = self._oracle.read(self._arxiv.now(), whole=True)
        return self.tally

    def _bootstrap(self) -> None:
        """Take the first look, through faults and one death, until it is complete."""
        self._read_along()
        self._arm()
        for number in range(_BOOTSTRAP_TRIES):
            self._run(self._die_at_request(1 + self._draw.randrange(2)) if number == 0 else None)
            if self._is_bootstrapped():
                break
            self._move_to(self._arxiv.now() + timedelta(minutes=20))
        else:
            broken = sum(bool(one.violation) for one in self._arxiv.list_asked())
            words = f"no complete first look in {_BOOTSTRAP_TRIES} tries, {broken} requests against the pace"
            raise RuntimeError(f"{words}: {self._here.endings[-1].errors.strip()[-300:]}")
        self.tally.bootstrapped_at = self._arxiv.now()
        self.tally.known_before = frozenset(self._oracle.history)

    def _write_agenda(self) -> None:
        day = self._arxiv.now().astimezone(EASTERN).date()
        announcements: list[date] = []
        while len(announcements) < self._plan.announcements:
            if announcement_at(day) > self._arxiv.now() and last_announcement(announcement_at(day)) == day:
                announcements.append(day)
            day += timedelta(days=1)
        self.tally.announcements = [day.isoformat() for day in announcements]
        last = announcements[-1] + timedelta(days=1)
        calm_from = datetime.combine(last, _CALM_FROM, tzinfo=EASTERN)
        ends = datetime.combine(last, _CALM_UNTIL, tzinfo=EASTERN)
        day = self._arxiv.now().astimezone(EASTERN).date()
        while day <= last:
            for at in self._plan.at:
                moment = datetime.combine(day, at, tzinfo=EASTERN) + _AFTER_POLL_TIME
                if self._arxiv.now() < moment < ends:
                    self._enter(moment, self._look)
                    self._looks_left += moment < calm_from
            day += timedelta(days=1)
        self._enter(calm_from, self._calm_down)
        for announcement in announcements:
            self._stirred.append(announcement_at(announcement) + self._arxiv.lag)
            self._enter(announcement_at(announcement) - timedelta(hours=2), self._tell_day)
        begins, stops = (
            announcement_at(announcements[0]) + timedelta(hours=21),
            announcement_at(announcements[-2]) - timedelta(hours=10),
        )
        for kind in ("cross_lists", "withdrawals", "edits"):
            for _ in range(getattr(self._plan, kind)):
                self._enter(begins + (stops - begins) * self._draw.random(), getattr(self, f"_feed_{kind}"))

    def _enter(self, moment: datetime, act: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (moment, len(self._agenda) + self._draw.randrange(1 << 40), act))

    def _look(self) -> None:
        self._looks_left -= not self._is_calm
        self._try_look(tries=2)

    def _try_look(self, tries: int) -> None:
        """Run once; again later what died, failed or found news, as cron would."""
        self._read_along()
        is_deadly = not self._is_calm and self._draw.random() < self._choose_death_rate()
        ended = self._run(self._choose_death() if is_deadly else None)
        if tries and (ended.code != 0 or ended.found_news):
            soon = ended.was_killed and self._draw.random() < 1 / 2
            moment = self._arxiv.now() + (_SOON if soon else _AGAIN)
            self._enter(moment, lambda: self._try_look(tries - 1))

    def _run(self, deadly: Callable[[float], bool] | None) -> Ended:
        before = self._arxiv.count_requests()
        pair = deadly is None and self._draw.random() < _PAIRS
        ended = self._here.run(deadly, pair=pair)
        self._arxiv.wait_idle()
        self.tally.run_requests.append(self._arxiv.count_requests() - before)
        self.tally.kills += ended.was_killed
        self.tally.pairs += pair
        self._read_along()
        return ended

    def _choose_death_rate(self) -> float:
        owed = self._plan.kills - self.tally.kills
        return max(0.04, 1.15 * owed / max(self._looks_left, 1))

    def _choose_death(self) -> Callable[[float], bool]:
        way = self._draw.random()
        if way < 0.4:
            moment = (0.2 + 0.8 * self._draw.random()) * self._here.usual_seconds
            return lambda lived: lived > moment
        if way < 0.9:
            return self._die_at_request(1 + self._draw.randrange(5))
        mails = len(self._here.mail.mails)
        return lambda _: len(self._here.mail.mails) > mails

    def _die_at_request(self, number: int) -> Callable[[float], bool]:
        limit, delay = self._arxiv.count_requests() + number, 0.2 * self._draw.random()
        since: list[float] = []

        def is_time(lived: float) -> bool:
            if not since and self._arxiv.count_requests() >= limit:
                since.append(lived)
            return bool(since) and lived - since[0] >= delay

        return is_time

    def _read_along(self) -> None:
        """Let the oracle read if anything may have become public since it last did."""
        now, last = self._arxiv.now(), self._oracle.readings[-1] if self._oracle.readings else None
        if last is not None and not any(last < moment <= now for moment in self._stirred):
            return
        if self._armings:
            self._arxiv.disarm()
        self._oracle.read(now)
        if self._armings and not self._is_calm:
            self._arm()
        self._move_to(self._arxiv.now() + _BEFORE_A_LOOK)

    def _arm(self) -> None:
        self._armings += 1
        self._arxiv.arm(self._plan.seed * 100_000 + self._armings)

    def _calm_down(self) -> None:
        self._is_calm = True
        self._arxiv.disarm()

    def _move_to(self, moment: datetime) -> None:
        if moment > self._arxiv.now():
            self._arxiv.set_now(moment)

    def _feed_cross_lists(self) -> None:
        paper_id = self._choose_paper()
        if paper_id is not None:
            had = self._oracle.history[paper_id][-1].state.categories
            category = self._draw.choice([name for name in _CATEGORIES if name not in had])
            self._arxiv.cross_list(paper_id, category)
            self._stir("cross-listed")

    def _feed_withdrawals(self) -> None:
        paper_id = self._choose_paper()
        if paper_id is not None:
            by_version = self._draw.random() < 0.6
            self._arxiv.withdraw(paper_id, by_version=by_version)
            self._stir("withdrawal by version" if by_version else "withdrawal by mark")

    def _feed_edits(self) -> None:
        paper_id = self._choose_paper()
        if paper_id is not None:
            self._arxiv.edit(paper_id, f"J. Made Up {self._draw.randrange(1, 99)} (2016) 1")
            self._stir("edit")

    def _stir(self, kind: str) -> None:
        self.tally.fed[kind] = self.tally.fed.get(kind, 0) + 1
        self._stirred.append(self._arxiv.now() + self._arxiv.lag)

    def _choose_paper(self) -> str | None:
        """Return a paper that came out days ago and was never touched."""
        now, (youngest, oldest) = self._arxiv.now(), _CANDIDATE_AGES
        fit = sorted(
            paper_id
            for paper_id, seen in self._oracle.history.items()
            if paper_id not in self._touched
            and len(seen) == 1
            and youngest < now - seen[0].seen_at < oldest
            and self._arxiv.is_settled(paper_id)
        )
        if not fit:
            return None
        self._touched.add(chosen := self._draw.choice(fit))
        return chosen

    def _is_bootstrapped(self) -> bool:
        if not self._here.database.exists():
            return False
        with sqlite3.connect(f"file:{self._here.database}?mode=ro", uri=True) as conn:
            has_cursors = conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'cursors'").fetchone()
            found = has_cursors and conn.execute("SELECT 1 FROM cursors WHERE source = 'harvest'")
            is_there = bool(found and found.fetchone())
        conn.close()
        return is_there

    def _tell_day(self) -> None:
        tally = self.tally
        self._tell(
            f"{self._arxiv.now().astimezone(EASTERN):%a %-d %b}: {len(self._oracle.history):,} papers public · "
            f"{len(tally.run_requests)} runs · {sum(tally.run_requests)} requests · {tally.kills} kills"
        )
