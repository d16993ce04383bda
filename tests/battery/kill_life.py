"""Lives a kill battery: steps of papers, while processes are killed and paused.

Then restarts, in good order.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import httpx

from digest.model.messages import FEED_ENTRIES
from digest.poll.rules import next_poll_time
from digest.web.feeds import CHECK_AGAIN
from tests.battery.kill_book import Book
from tests.battery.kill_plan import TURN_HOUR, KillPlan
from tests.battery.kill_world import CountingMail, LossySlack, PacedClock, Press
from tests.battery.replicas import LONGEST_AIM, Replica, await_ready
from tests.harness.installation import Installation
from tests.simulator.planted import wanted

SHORTEST_LIFE = 3.0
"""Seconds a replica lives at least between two of its deaths."""

_USUAL_LIFE = 8.0
_LONG_LIFE = 40.0
_LONG_LIVES = 0.25
"""Seconds of work after which it dies at the latest, and how many are given longer.

A look at arXiv keeps
its pace, and one that dies over it is waited for as long as a worker may be silent."""

_EARLY = 0.1
"""How often it dies a little after it was started, ready or not."""

_LOOK = 0.05
_ASK_EVERY = 0.5
_HASTEN_EVERY = 4.0
_FEED_EVERY = 4.0
_FEED_LAG = CHECK_AGAIN + 1.5
"""Seconds for which a replica may go on showing a feed as it was."""

_BACKLOG = 1.5
"""Steps' worth of deliveries that may wait before the next papers come out."""
_STUCK = 40.0
"""Seconds a step may take before time is moved on a little, as it does where people wait."""
_NUDGE = timedelta(minutes=30)
_GIVE_UP = 600.0
_PATIENCE = timedelta(hours=2)
"""Longer than a digest waits for an announcement that is not complete."""
_ENTRY = re.compile(r"<entry>.*?<id>([^<]+)</id>.*?</entry>", re.DOTALL)
_NOTICE = "Nothing has matched"
"""What the one entry of an empty feed says, until there are papers."""


@dataclass
class Tally:
    """What was done, and what was seen on the way.

    Attributes:
        kills, pauses, long_pauses, restarts, steps: how many there were.
        seconds: how long each phase took, by name.
        feed_troubles: what was wrong with a feed while it was watched.
        feeds_read: how many feeds were read meanwhile.
        known_by: until when (simulated UTC) each paper had been found, at the latest.
        helped: deliveries held that the operator sent again, having looked into the mail server's
            book.
        restarted_after: the last delivery planned before the restarts.
        copies_before: copies too many before the restarts, by way out.
    """

    kills: int = 0
    pauses: int = 0
    long_pauses: int = 0
    restarts: int = 0
    steps: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    feed_troubles: list[str] = field(default_factory=list)
    feeds_read: int = 0
    known_by: dict[str, datetime] = field(default_factory=dict)
    helped: list[int] = field(default_factory=list)
    restarted_after: int = 0
    copies_before: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass
class Surroundings(Installation):
    """The folder that the processes work in, and everything outside of them.

    Attributes:
        marker: a file that a planted fault makes where it is weakest.
        book: reads the database, once there is one.
    """

    clock: PacedClock
    mail: CountingMail
    slack: LossySlack
    _: KW_ONLY
    press: Press
    marker: Path
    book: Book = field(init=False)


def next_turn(moment: datetime) -> datetime:
    """Return when daily readers are told next what was found by a moment."""
    turn = moment.replace(hour=TURN_HOUR, minute=0, second=0, microsecond=0)
    return turn if turn >= moment else turn + timedelta(days=1)


class KillRun:
    """Lives one battery through, phase by phase."""

    def __init__(
        self,
        plan: KillPlan,
        world: Surroundings,
        replicas: list[Replica],
        tell: Callable[[str], object],
    ) -> None:
        self._plan = plan
        self._world = world
        self._replicas = replicas
        self._tell = tell
        self._draw = random.Random(plan.seed)  # noqa: S311 - the same decisions for the same seed
        self._dooms: dict[int, tuple[bool, float]] = {}
        self._ready_at: dict[int, tuple[int, float]] = {}
        self._wakes_at: dict[int, float] = {}
        self._asked_at = self._watched_at = self._told_at = self._hastened_at = 0.0
        self._stepped_at = self._moved_at = time.monotonic()
        self._fresh: list[str] = []
        self._seen: dict[str, list[tuple[float, list[str]]]] = {}
        self._per_step = 0
        self._pauses_left = plan.pauses
        self.tally = Tally()

    def live(self) -> Tally:
        """Live it through; the processes still run afterwards."""
        for phase in (self._begin, self._torment, self._drain, self._restart, self._finish):
            begun = time.monotonic()
            phase()
            self.tally.seconds[phase.__name__.strip("_")] = time.monotonic() - begun
            self._tell(
                f"{phase.__name__.strip('_')}: {time.monotonic() - begun:.0f} s · "
                f"{self._describe()}"
            )
        return self.tally

    def _begin(self) -> None:
        """Let the first look happen in peace: what it finds is no news."""
        world = self._world
        world.arxiv.add(
            *world.press.publish(world.clock.now() - timedelta(hours=20), holds_back=False)
        )
        world.press.categories.clear()
        self._replicas[0].start()  # alone: the first makes the tables
        await_ready(self._replicas[:1])
        for replica in self._replicas[1:]:
            replica.start()
        await_ready(self._replicas)
        self._wait_until(world.book.has_begun, "the first look is complete")

    def _torment(self) -> None:
        plan = self._plan
        tally = self.tally
        for replica in self._replicas:
            self._doom(replica)
        if plan.at_marks:
            wanted(self._world.marker).touch()
        while tally.kills < plan.kills or self._pauses_left or not self._has_brought_all():
            if self._is_stuck():
                break
            self._strike()
            self._turn_page()
            self._watch_feed()
            time.sleep(_LOOK)
        for number in list(self._wakes_at):
            self._wake(number)

    def _has_brought_all(self) -> bool:
        """Whether there were as many deliveries as there are to be, and a late paper.

        Few steps bring none.
        """
        return self._world.book.planned >= self._plan.deliveries and self._world.press.late > 0

    def _drain(self) -> None:
        """Let everything come to its end, nobody being killed any more.

        The operator helps with what is held.
        """
        self._world.slack.lossy = 0.0
        self._revive()
        self._flush()
        self._wait_until(self._is_quiet, "everything is delivered")

    def _restart(self) -> None:
        """Ask processes to stop and start them again, in the midst of delivering."""
        tally = self.tally
        world = self._world
        tally.restarted_after = world.book.last_delivery()
        tally.copies_before = world.book.count_copies(world.mail.arrivals, world.slack.arrivals)
        stops_at = {
            replica.number: time.monotonic() + self._draw.uniform(1, 4)
            for replica in self._replicas
        }
        while tally.restarts < self._plan.restarts and not self._is_stuck():
            for replica in self._replicas:
                if (
                    time.monotonic() > stops_at[replica.number]
                    and tally.restarts < self._plan.restarts
                    and replica.url
                ):
                    replica.ask_to_stop()
                    replica.await_stop()
                    replica.start()
                    tally.restarts += 1
                    stops_at[replica.number] = time.monotonic() + self._draw.uniform(
                        SHORTEST_LIFE, 9
                    )
            self._turn_page()
            self._watch_feed()
            time.sleep(_LOOK)
        self._revive()
        self._flush()
        self._wait_until(self._is_quiet, "everything is delivered after the restarts")

    def _finish(self) -> None:
        await_ready(self._replicas)

    def _strike(self) -> None:
        """Kill, pause and wake whose time has come; start what was killed at once."""
        now = time.monotonic()
        for number, moment in list(self._wakes_at.items()):
            if now >= moment:
                self._wake(number)
        for replica in self._replicas:
            if replica.number in self._wakes_at:
                continue
            if replica.note_strange_exit():
                replica.start()
                self._doom(replica)
            elif self._is_marked(replica) or self._is_doomed(replica, now):
                self._kill_or_pause(replica, now)

    def _is_marked(self, replica: Replica) -> bool:
        ripe = (
            time.monotonic() - replica.started_at >= SHORTEST_LIFE
            and self.tally.kills < self._plan.kills
        )
        if ripe and self._world.marker.exists():
            self._world.marker.unlink()
            return True
        return False

    def _kill_or_pause(self, replica: Replica, now: float) -> None:
        plan = self._plan
        tally = self.tally
        left = max(plan.kills - tally.kills, 0)
        if self._pauses_left and self._draw.random() < self._pauses_left / (
            self._pauses_left + left
        ):
            is_long = tally.long_pauses < plan.long_pauses and len(self._replicas) > 1
            is_long = is_long and self._draw.random() < 2 * plan.long_pauses / max(plan.pauses, 1)
            seconds = (
                plan.lease * self._draw.uniform(1.05, 1.5)
                if is_long
                else self._draw.uniform(0.2, 8)
            )
            replica.pause()
            self._pauses_left -= 1
            tally.pauses += 1
            tally.long_pauses += is_long
            self._wakes_at[replica.number] = now + seconds
        elif left:
            replica.kill(0.0 if plan.at_marks else self._draw.uniform(0, LONGEST_AIM))
            replica.start()
            tally.kills += 1
            if tally.kills == plan.kills:
                wanted(self._world.marker).unlink(missing_ok=True)
            self._doom(replica)
        else:
            self._doom(replica)

    def _wake(self, number: int) -> None:
        replica = next(one for one in self._replicas if one.number == number)
        replica.resume()
        del self._wakes_at[number]
        self._doom(replica)

    def _doom(self, replica: Replica) -> None:
        """Choose how long it lives.

        Mostly for some seconds of work, now and then not until it works.
        """
        is_early = self._draw.random() < _EARLY and not self._plan.at_marks
        longest = _LONG_LIFE if self._draw.random() < _LONG_LIVES else _USUAL_LIFE
        seconds = math.inf if self._plan.at_marks else self._draw.uniform(0.2, longest)
        self._dooms[replica.number] = (is_early, seconds)

    def _is_doomed(self, replica: Replica, now: float) -> bool:
        is_early, seconds = self._dooms[replica.number]
        if is_early:
            return now - replica.started_at >= max(seconds, SHORTEST_LIFE)
        if replica.url and self._ready_at.get(replica.number, (0, 0.0))[0] != replica.starts:
            self._ready_at[replica.number] = (replica.starts, now)
        starts, since = self._ready_at.get(replica.number, (0, 0.0))
        return (
            starts == replica.starts
            and now - since >= seconds
            and now - replica.started_at >= SHORTEST_LIFE
        )

    def _revive(self) -> None:
        for replica in self._replicas:
            if not replica.is_alive:
                replica.note_strange_exit()
                replica.start()
        await_ready(self._replicas)

    def _turn_page(self) -> None:
        """Bring out new papers once the last were found, told where due, and mostly delivered."""
        now = time.monotonic()
        if now - self._asked_at < _ASK_EVERY:
            return
        self._asked_at = now
        if self._fresh and now - self._hastened_at > _HASTEN_EVERY:
            self._hasten()
        if self._is_told() and self._world.book.count_open() < max(_BACKLOG * self._per_step, 8):
            self._step()
        elif now - self._stepped_at > _STUCK:
            self._stepped_at = now
            self._nudge()
        if now - self._told_at > 60:
            self._told_at = now
            self._tell(self._describe())

    def _is_told(self) -> bool:
        """Whether the last papers were found and matched, and all digests due were planned."""
        book = self._world.book
        clock = self._world.clock
        if self._fresh and not book.has_found(self._fresh):
            return False
        self.tally.known_by |= dict.fromkeys(self._fresh, clock.now())
        self._fresh = []
        return not book.has_due(clock.now())

    def _is_stuck(self) -> bool:
        is_stuck = time.monotonic() - self._moved_at > _GIVE_UP
        if is_stuck:
            self.tally.problems.append(f"no step for {_GIVE_UP:g} s")
        return is_stuck

    def _step(self) -> None:
        world = self._world
        before = world.book.planned
        world.clock.move_to(
            next_poll_time(world.clock.now()) + timedelta(seconds=20 + self._plan.skew)
        )
        papers = world.press.publish(world.clock.now() - timedelta(seconds=15))
        world.arxiv.add(*papers)
        self._fresh = [paper.id for paper in papers]
        self.tally.steps += 1
        self._stepped_at = self._moved_at = time.monotonic()
        self._hasten()
        self._per_step = max(
            self._per_step, (world.book.planned - before), world.book.planned // self.tally.steps
        )

    def _hasten(self) -> None:
        self._hastened_at = time.monotonic()
        awake = [replica for replica in self._replicas if replica.number not in self._wakes_at]
        if awake:
            self._draw.choice(awake).hasten()

    def _nudge(self) -> None:
        """Move on by half an hour, but not past the next look.

        There papers would come out unseen.
        """
        clock = self._world.clock
        clock.move_to(min(clock.now() + _NUDGE, next_poll_time(clock.now()) - timedelta(seconds=5)))

    def _flush(self) -> None:
        """Bring out nothing more, and let the daily readers' next turn come and go."""
        clock = self._world.clock
        self._wait_until(self._is_told, "the last papers are found")
        if not self._plan.daily:
            return
        last = max(self.tally.known_by.values(), default=clock.now())
        ends = next_turn(last) + _PATIENCE
        while clock.now() < ends:
            clock.move_to(next_poll_time(clock.now()) + timedelta(seconds=20))
            self._hasten()
            self._wait_until(self._is_told, "a look that brings nothing is over")

    def _is_quiet(self) -> bool:
        book = self._world.book
        world = self._world
        arrived = {arrival.key for arrival in (*world.mail.arrivals, *world.slack.arrivals)}
        helped = book.help_held(arrived, world.clock.now())
        self.tally.helped += helped
        return not helped and book.count_open() == 0 and not book.has_due(world.clock.now())

    def _wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        begun = nudged = self._moved_at = time.monotonic()
        while not is_so():
            now = time.monotonic()
            if now - nudged > _STUCK:
                nudged = now
                self._nudge()
            for replica in self._replicas:
                if replica.starts and replica.note_strange_exit():
                    replica.start()
            if now - begun > _GIVE_UP:
                self.tally.problems.append(f"not within {_GIVE_UP:g} s: {what}")
                return
            time.sleep(_ASK_EVERY)

    def _watch_feed(self) -> None:
        """Read a feed from some replica: no entry twice, none gone that was there."""
        now = time.monotonic()
        ready = [
            one
            for one in self._replicas
            if one.is_alive and one.url and one.number not in self._wakes_at
        ]
        if now - self._watched_at < _FEED_EVERY or not ready:
            return
        self._watched_at = now
        name = self._draw.choice(self._world.book.names)
        try:
            entries = self.read_feed(self._draw.choice(ready), name)
        except httpx.HTTPError:
            return  # it has just begun, or is overwhelmed: readers come again
        self.tally.feeds_read += 1
        if len(entries) != len(set(entries)):
            self.tally.feed_troubles.append(f"{name}: an entry stands twice")
        seen = self._seen.setdefault(name, [])
        for shown in (shown for at, shown in seen if at < now - _FEED_LAG):
            gone = [entry for entry in shown if entry not in entries]
            if gone and (
                shown[-len(gone) :] != gone or len(entries) < FEED_ENTRIES
            ):  # the oldest may go one day
                self.tally.feed_troubles.append(f"{name}: {len(gone)} entries are gone")
        seen.append((now, entries))
        del seen[:-20]

    def read_feed(self, replica: Replica, name: str) -> list[str]:
        """Return the ids of a feed's entries, as a reader gets them from a replica.

        Raises:
            HTTPError: it does not answer, or not well.
        """
        answer = httpx.get(
            f"{replica.url}/f/{self._world.book.feed_tokens[name]}.atom", timeout=30.0
        )
        answer.raise_for_status()
        return [entry[1] for entry in _ENTRY.finditer(answer.text) if _NOTICE not in entry[0]]

    def _describe(self) -> str:
        tally = self.tally
        world = self._world
        return (
            f"{tally.steps} steps · {world.book.planned:,} deliveries, "
            f"{world.book.count_open():,} open · "
            f"{len(world.mail.arrivals):,} mails, {len(world.slack.messages):,} posts · "
            f"{tally.kills} kills, {tally.pauses} pauses, {tally.restarts} restarts"
        )
