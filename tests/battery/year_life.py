"""Living through the year: looks, turns, and everything that is changed, breaks off or fails meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from heapq import heappop, heappush
from zoneinfo import ZoneInfo

from digest.model.announcements import EASTERN, has_mailing
from digest.model.cadences import Cadence, QuietHours, choose_zone
from digest.model.clock import ManualClock
from tests.battery.year_installation import Wanted, YearInstallation
from tests.battery.year_plan import Diary, Plan, change_wanted, make_wanted
from tests.fakes.arxiv import DemoArxiv

LOOKS = (time(0, 35), time(3, 35), time(9, 5), time(15, 5), time(22, 50))
"""Eastern times at which whoever serves asks arXiv, as soon as it is worth a request."""

CRON = (time(5, 10), time(8, 20), time(14, 40), time(21, 5))
"""Times (UTC) at which cron calls, in weeks without a server."""

_TICK = timedelta(hours=1)
_MOMENT = timedelta(seconds=1)
_QUARTER_DAY = timedelta(hours=6)
_AWAY = (timedelta(hours=2), timedelta(hours=9), timedelta(hours=30), timedelta(days=3), timedelta(days=6))


class Life:
    """One installation beside one arXiv, from a moment before the first mailing until after the last.

    Args:
        plan: what the year is made of.
        arxiv: it moves on by `clock`.
        clock: everybody's time.
        here: the installation.
        tell: is told of each month.
    """

    def __init__(
        self,
        plan: Plan,
        arxiv: DemoArxiv,
        clock: ManualClock,
        here: YearInstallation,
        *,
        tell: Callable[[str], None],
    ) -> None:
        self.diary = Diary()
        self._plan, self._arxiv, self._clock, self._here = plan, arxiv, clock, here
        self._tell = tell
        self._rng = random.Random(plan.seed * 7919 + 1)  # noqa: S311 - a seeded life, no secret
        self._wanted: dict[str, Wanted] = {}
        self._events: list[tuple[datetime, int, Callable[[], None]]] = []
        self._away_until: datetime | None = None
        self._fails_until: datetime | None = None
        self._is_well = True
        self._number = 0
        self._pauses: dict[tuple[str, str], datetime] = {}

    def live(self) -> None:
        """Live through it all."""
        begin = self._clock.now()
        calm = datetime.combine(self._plan.last, time(23), tzinfo=EASTERN).astimezone(UTC)
        for number in range(self._plan.subscriptions):
            self._want(make_wanted(f"reader-{number:02d}", self._rng))
        self._write()
        self._here.start()
        self._here.look()
        self._make_events(begin + timedelta(days=2), calm - timedelta(days=3))
        month = 0
        end = calm + timedelta(days=self._plan.longest_pause + 8)  # so that whatever waits is told
        while (now := self._clock.now()) < end:
            if now.month != month:
                month = now.month
                self._tell(f"{now:%B}: {sum(self.diary.counts.values())} things done so far")
            self._step(now)
        self._here.stop()

    def _step(self, now: datetime) -> None:
        while self._events and self._events[0][0] <= now:
            self._clock.advance(_MOMENT)  # nothing else happens at the very same moment
            heappop(self._events)[2]()
            self._clock.advance(_MOMENT)
        if self._away_until is not None:
            self._come_back()
            return
        is_cron = self._is_cron(now)
        is_waiting = self._work(is_cron=is_cron)
        now = self._clock.now()
        self._clock.set(self._find_stop(now, is_cron=is_cron, is_waiting=is_waiting))

    def _work(self, *, is_cron: bool) -> bool:
        """Do what `digest serve` does when its jobs come round, or what one `digest run` does."""
        now = self._clock.now()
        local = now.astimezone(EASTERN)
        is_time = any(
            abs(datetime.combine(local.date(), at, tzinfo=EASTERN) - local) < timedelta(minutes=5) for at in LOOKS
        )
        if is_cron or is_time:
            self._is_well = self._here.look()
            self.diary.counts["looks"] += 1
            if not self._is_well:
                self.diary.counts["looks that failed"] += 1
        return self._here.plan(timedelta(0) if is_cron else None)

    def _find_stop(self, now: datetime, *, is_cron: bool, is_waiting: bool) -> datetime:
        """Return when there is something to do next."""
        stops = [self._events[0][0]] if self._events else []
        if is_cron:
            return max(now, min([*stops, _next_of(CRON, now, ZoneInfo("UTC"))]))
        stops.append(self._next_look(now))
        if (due := self._here.find_next_due(now)) is not None:
            stops.append(due)
        if is_waiting:
            stops.append(now + _TICK)
        return max(now, min(stops))

    def _next_look(self, now: datetime) -> datetime:
        """Return when arXiv is asked next: twice a mailing, once a day otherwise, more often where it failed."""
        after = now
        while True:
            stop = _next_of(LOOKS, after, EASTERN)
            local = stop.astimezone(EASTERN)
            evening = local.date() if local.hour > 12 else local.date() - timedelta(days=1)
            if not self._is_well or (local.time() in (LOOKS[0], LOOKS[4]) and has_mailing(evening)):
                return stop
            if local.time() == LOOKS[2] and not has_mailing(evening):
                return stop
            after = stop

    def _is_cron(self, now: datetime) -> bool:
        """Whether cron does the work this week: one in four, the same ones for a seed."""
        return (now.date().toordinal() // 7 + self._plan.seed) % 4 == 0

    def _make_events(self, begin: datetime, end: datetime) -> None:
        weeks = (end - begin) / timedelta(days=7)
        for count, done in (
            (round(weeks * self._plan.a_week), self._change),
            (self._plan.downtimes, self._leave),
            (self._plan.outages, self._fail),
            (4, self._add),
            (4, self._end),
        ):
            for _ in range(count):
                self._schedule(begin + (end - begin) * self._rng.random(), done)

    def _change(self) -> None:
        name = self._rng.choice(sorted(self._wanted))
        draw = self._rng.random()
        if draw < 1 / 2:
            self._want(change_wanted(self._wanted[name], self._rng))
            self._take_over("edits")
        elif ("command", name) not in self._pauses:
            self._pause_by_command(name)

    def _add(self) -> None:
        self._want(make_wanted(f"reader-{len(self.diary.wanted):02d}", self._rng))
        self._take_over("subscriptions added")

    def _end(self) -> None:
        name = self._rng.choice(sorted(self._wanted))
        if ("command", name) in self._pauses:
            return
        del self._wanted[name]
        self._take_over("subscriptions ended")
        self.diary.ended[name] = self._clock.now()

    def _begin_pause(self, by: str, name: str, until: datetime) -> None:
        self._pauses[by, name] = self._clock.now()
        self.diary.note_pause(name, self._clock.now(), until)

    def _end_pause(self, by: str, name: str) -> None:
        """Note that a pause ends now and not when it was said to."""
        begun, now = self._pauses.pop((by, name)), self._clock.now()
        others = [pause for pause in self.diary.pauses[name] if pause[0] != begun]
        self.diary.pauses[name] = [*others, (begun, now)]
        self.diary.shake(now, name)

    def _pause_by_command(self, name: str) -> None:
        now = self._clock.now()
        wanted = self._wanted[name]
        quiet = QuietHours.parse(wanted.quiet_hours) if wanted.quiet_hours else None
        zone = choose_zone(Cadence.parse(wanted.when), quiet)
        day = now.astimezone(ZoneInfo(zone)).date() + timedelta(
            days=self._rng.randint(1, min(12, self._plan.longest_pause))
        )
        until = datetime.combine(day, time.min, tzinfo=ZoneInfo(zone)).astimezone(UTC)
        is_open = self._rng.random() < 1 / 2
        said = () if is_open else ("--until", day.isoformat())
        self._here.command("subscription", "pause", name, *said)
        self.diary.counts["pauses by command"] += 1
        self._begin_pause("command", name, until)
        self._schedule(until, partial(self._resume if is_open else self._forget, name))

    def _resume(self, name: str) -> None:
        self._here.command("subscription", "resume", name)
        self.diary.counts["resumptions"] += 1
        self._end_pause("command", name)

    def _forget(self, name: str) -> None:
        del self._pauses["command", name]

    def _schedule(self, at: datetime, done: Callable[[], None]) -> None:
        self._number += 1
        heappush(self._events, (at, self._number, done))

    def _leave(self) -> None:
        """Let nobody work for a while."""
        self._away_until = max(self._away_until or self._clock.now(), self._clock.now() + self._rng.choice(_AWAY))
        self.diary.counts["downtimes"] += 1

    def _come_back(self) -> None:
        """Start again after a downtime; the file may have been edited meanwhile."""
        assert self._away_until is not None
        self._here.stop()
        self._clock.set(max(self._away_until, self._clock.now()))
        self._away_until = None
        self._here.start()
        self.diary.shake(self._clock.now())
        self._is_well = self._here.look()

    def _fail(self) -> None:
        """Let arXiv fail for a while."""
        span = self._rng.choice(_AWAY)
        self._arxiv.faults.clear()
        self._arxiv.faults.add(self._rng.choice(("500", "503")), times=100_000)
        self.diary.counts["outages"] += 1
        until = self._clock.now() + span
        self._fails_until = max(self._fails_until or until, until)
        self._schedule(until, self._mend)

    def _mend(self) -> None:
        if self._fails_until is not None and self._fails_until <= self._clock.now():
            self._arxiv.faults.clear()
            self._fails_until, self._is_well = None, False
            self.diary.shake(self._clock.now() + _QUARTER_DAY)

    def _want(self, wanted: Wanted) -> None:
        self._wanted[wanted.name] = wanted
        self.diary.note_wanted(self._clock.now(), wanted)

    def _take_over(self, what: str) -> None:
        self._write()
        self._here.reload()
        self.diary.counts[what] += 1

    def _write(self) -> None:
        self._here.write(self._wanted.values())


def _next_of(times: tuple[time, ...], after: datetime, zone: ZoneInfo) -> datetime:
    """Return the next moment at which a clock shows one of some times."""
    today = after.astimezone(zone).date()
    moments = (_on(today + timedelta(days=day), at, zone) for day in (0, 1) for at in times)
    return min(moment for moment in moments if moment > after)


def _on(day: date, at: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
