"""After days away: the next check has everything announced since, once, in order, day by day."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from digest.model.announcements import (
    Kind,
    announcement_moment,
    announcements_between,
    has_announcement,
)
from digest.model.clock import ManualClock
from digest.model.papers import ArxivId
from digest.store.papers import count_announced
from digest.store.schema import papers, versions
from tests.conftest import IS_NIGHTLY
from tests.fakes.archive import DemoPaper, open_window
from tests.harness.papers import made_up
from tests.integration.faulty import FaultyArxiv, World, assert_nothing_wrong_is_stored, surrounded

NEW = 60
"""New papers of an announcement: enough for its neighbours not to blur where it begins and ends."""

REVISED = 6
LISTED = 250
HELD = (25, 30, 35)
"""Places within an announcement of papers that were submitted ten days before it."""

BACK = datetime(2026, 12, 18, 13, tzinfo=UTC)
"""A Friday morning in New York: when Digest is back."""

FIRST_ANNOUNCEMENT = date(2026, 10, 18)
QUERY = "ti:tenth"


@dataclass
class Story:
    """What is announced, announcement by announcement, and what of it is to be found after a pause.

    Attributes:
        states: every state of every paper, as `DemoArxiv` takes them.
        by_announcement: ids announced for the first time, by Eastern date of the announcement.
    """

    states: list[DemoPaper] = field(default_factory=list)
    by_announcement: dict[date, list[str]] = field(default_factory=dict)

    def at(self, moment: datetime) -> dict[str, DemoPaper]:
        """Return each paper in the state it was in at a moment."""
        return {state.id: state for state in self.states if state.announced <= moment}


def tell_story() -> Story:
    """Make up two months of announcements, without one holiday, with held papers and versions."""
    story = Story()
    draw = random.Random(4)  # noqa: S311 - the same papers every time
    numbers = Counter[str]()
    day = FIRST_ANNOUNCEMENT
    recent = list[DemoPaper]()
    while announcement_moment(day) <= BACK:
        if has_announcement(day):
            fresh = list(_announce(day, numbers, draw))
            revised = [
                _revise(paper, day) for paper in draw.sample(recent, min(REVISED, len(recent)))
            ]
            story.states += [*fresh, *revised]
            story.by_announcement[day] = [paper.id for paper in fresh]
            of = {paper.id: paper for paper in (*recent, *fresh, *revised)}
            recent = list(of.values())[-5 * NEW :]
        day += timedelta(days=1)
    return story


def _announce(day: date, numbers: Counter[str], draw: random.Random) -> Iterator[DemoPaper]:
    opens, closes = open_window(day)
    window = closes - opens
    moments = sorted((opens + window * draw.random()).astimezone(UTC) for _ in range(NEW))
    month = f"{day:%y%m}"
    for place, moment in enumerate(moments):
        numbers[month] += 1
        submitted = moment.replace(microsecond=0)
        if place in HELD:
            submitted -= timedelta(days=10)
        word = "Tenth" if place % 10 == 0 else "Other"
        yield made_up(
            0,
            submitted,
            id=f"{month}.{numbers[month]:05d}",
            announced=announcement_moment(day),
            title=f"{word} paper of {day:%-d %b}",
            categories=("cs.PF",),
        )


def _revise(paper: DemoPaper, day: date) -> DemoPaper:
    moment = announcement_moment(day)
    return replace(
        paper, submitted=(*paper.submitted, moment - timedelta(hours=7)), announced=moment
    )


STORY = tell_story()


@dataclass
class Pause:
    """Time in which nobody looked.

    From a look in the morning of one day to the one after so many days away.
    """

    days: int

    @property
    def last_look(self) -> datetime:
        return BACK - timedelta(days=self.days + 1)

    @property
    def announcements(self) -> list[date]:
        return list(announcements_between(self.last_look, BACK))

    def find_changes(self) -> set[tuple[str, str, int]]:
        """Return what is to be found afterwards.

        What came out, and what was revised, each as it is now.
        """
        before = STORY.at(self.last_look)
        after = STORY.at(BACK)
        changes = set()
        for id_, state in after.items():
            is_known = id_ in before
            if is_known and before[id_].version >= state.version:
                continue
            is_new = not is_known and state.version == 1
            kind = Kind.NEW if is_new else Kind.REPLACEMENT
            changes.add((str(kind), id_, state.version))
        return changes

    def count_new(self) -> dict[date, int]:
        """Return how many papers of each announcement are to be found in their first version."""
        after = STORY.at(BACK)
        counted = {}
        for day in self.announcements:
            ids = STORY.by_announcement[day]
            counted[day] = sum(after[id_].version == 1 for id_ in ids)
        return counted


@pytest.fixture
def pause(request: pytest.FixtureRequest) -> Pause:
    return Pause(request.param)


@pytest.fixture
def world(tmp_path: Path, pause: Pause) -> Iterator[World]:
    """An installation that looked daily until it went away, with the clock at its return."""
    clock = ManualClock(pause.last_look - timedelta(days=1))
    folder = tmp_path / "here"
    folder.mkdir()
    arxiv = FaultyArxiv(STORY.states, clock, page_size=LISTED)
    with surrounded(folder, arxiv) as world:
        world.configure({"tenth": QUERY})
        world.run()
        clock.set(pause.last_look)
        world.run()
        world.reports.clear()
        clock.set(BACK)
        yield world


PAUSES = (1, 5, 45) if IS_NIGHTLY else (5,)
"""Days; forty-five take their time, and one test below has them every day."""

EACH_PAUSE = pytest.mark.parametrize(
    "pause", PAUSES, indirect=True, ids=lambda days: f"{days} days"
)


@EACH_PAUSE
def test_one_check_after_a_pause_has_everything_announced_since_once(
    world: World, pause: Pause
) -> None:
    before = world.list_changes()
    report = world.run()
    assert report.poll.failures == []
    found = world.list_changes()[len(before) :]
    assert sorted(found) == sorted(pause.find_changes())
    new = [ArxivId.parse(id_) for kind, id_, _ in found if kind == Kind.NEW]
    assert new == sorted(new), (
        "ids are given out in the order of announcement, and so are the changes"
    )
    assert_nothing_wrong_is_stored(world)
    with world.reading() as conn:
        latest = select(papers.c.arxiv_id, versions.c.version)
        rows = conn.execute(
            latest.join(versions, versions.c.id == papers.c.latest_version_id)
        ).all()
        stored = {row.arxiv_id: row.version for row in rows}
    now = STORY.at(BACK)
    assert stored == {id_: now[id_].version for id_ in stored}
    assert world.is_covered()
    world.clock.advance(timedelta(minutes=40))
    confirming = world.run()
    assert (confirming.poll.was_due, confirming.poll.kinds) == (True, {})
    assert len(world.list_changes()) == len(before) + len(found)


@EACH_PAUSE
def test_the_days_that_were_caught_up_with_are_named_with_what_each_brought(
    world: World, pause: Pause
) -> None:
    copy = shutil.copytree(world.folder, world.folder.with_name("copy"))
    report = world.run()
    assert report.poll.caught_up == pause.announcements
    assert date(2026, 11, 26) not in report.poll.announcements, "a holiday"
    assert_counts(report.poll.announcements, pause)
    with world.reading() as conn:
        stored = count_announced(conn, pause.announcements[0], pause.announcements[-1])
    assert stored == report.poll.announcements
    world.clock.advance(timedelta(minutes=1))
    world.folder = copy
    shown = " ".join(world.command("run").split())
    named = [f"{day:%a} {day.day} {day:%b} ({stored[day]} new)" for day in pause.announcements]
    if len(named) > 8:
        named[2:-1] = [f"… {len(named) - 3} more …"]
    *others, last = named
    days = f"{', '.join(others)} and {last}"
    assert f"Caught up with the announcements of {days}." in shown


def assert_counts(counted: Mapping[date, int], pause: Pause) -> None:
    """Each announcement has its papers.

    Over weeks an estimate may take one of a held paper's neighbours amiss.
    """
    truth = pause.count_new()
    assert sum(counted.values()) == sum(truth.values())
    slack = 0 if pause.days < 10 else 1
    assert counted.keys() == truth.keys()
    differences = [abs(counted[day] - truth[day]) for day in truth]
    assert max(differences, default=0) <= slack
    assert differences.count(0) >= len(truth) * 0.8


@pytest.mark.parametrize("pause", [45], indirect=True)
def test_a_check_that_was_broken_off_loses_no_change_that_moved_up_the_list_meanwhile(
    world: World, pause: Pause
) -> None:
    before = world.list_changes()
    world.arxiv.faults.add("429", skip=4)
    assert world.run().poll.failures
    ((day, skipped),) = re.findall(r"from%3D(.*?)%26skip%3D(\d+)", world.last_run().next_token)
    papers = STORY.at(BACK).values()
    listed = [paper for paper in papers if paper.announced.date().isoformat() == day]
    listed.sort(key=lambda paper: (paper.announced, paper.order))
    read = listed[: int(skipped)]
    now = world.clock.now()
    edited = [replace(paper, journal_ref="J. 1", announced=now) for paper in read[-20:]]
    world.arxiv.add(*edited)
    world.clock.advance(timedelta(hours=2))
    made = len(world.arxiv.requests)
    assert world.run().poll.failures == []
    assert world.arxiv.requests[made].param("from") == day, (
        "that day's list is read from its beginning"
    )
    since_then = world.list_changes()[len(before) :]
    found = {change for change in since_then if change[0] != Kind.METADATA}
    assert found == pause.find_changes()
