"""After days away: the next look has everything announced since, once and in order, and names the days."""

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
    """Make up two months of announcements, Sunday to Thursday except a holiday, with held papers and versions."""
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
    moments = sorted((opens + (closes - opens) * draw.random()).astimezone(UTC) for _ in range(NEW))
    for place, moment in enumerate(moments):
        numbers[f"{day:%y%m}"] += 1
        submitted = moment.replace(microsecond=0) - timedelta(days=10 if place in HELD else 0)
        yield made_up(
            0,
            submitted,
            id=f"{day:%y%m}.{numbers[f'{day:%y%m}']:05d}",
            announced=announcement_moment(day),
            title=f"{'Tenth' if place % 10 == 0 else 'Other'} paper of {day:%-d %b}",
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
        return {
            (
                str(Kind.NEW if id_ not in before and state.version == 1 else Kind.REPLACEMENT),
                id_,
                state.version,
            )
            for id_, state in after.items()
            if id_ not in before or before[id_].version < state.version
        }

    def count_new(self) -> dict[date, int]:
        """Return how many papers of each announcement are to be found in their first version."""
        after = STORY.at(BACK)
        return {
            day: sum(after[id_].version == 1 for id_ in STORY.by_announcement[day])
            for day in self.announcements
        }


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
def test_one_look_after_a_pause_has_everything_announced_since_once(
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
    assert f"Caught up with the announcements of {', '.join(named[:-1])} and {named[-1]}." in shown


def assert_counts(counted: Mapping[date, int], pause: Pause) -> None:
    """Each announcement has its papers.

    Over weeks an estimate may take one of a held paper's neighbours amiss.
    """
    truth = pause.count_new()
    assert sum(counted.values()) == sum(truth.values())
    slack = 0 if pause.days < 10 else 1
    assert counted.keys() == truth.keys()
    assert all(abs(counted[day] - truth[day]) <= slack for day in truth)
    assert sum(counted[day] == truth[day] for day in truth) >= len(truth) * 0.8


@pytest.mark.parametrize("pause", [45], indirect=True)
def test_a_look_that_was_broken_off_loses_no_change_that_moved_up_the_list_meanwhile(
    world: World, pause: Pause
) -> None:
    before = world.list_changes()
    world.arxiv.faults.add("429", skip=4)
    assert world.run().poll.failures
    ((day, skipped),) = re.findall(r"from%3D(.*?)%26skip%3D(\d+)", world.last_run().next_token)
    listed = [
        paper for paper in STORY.at(BACK).values() if paper.announced.date().isoformat() == day
    ]
    read = sorted(listed, key=lambda paper: (paper.announced, paper.order))[: int(skipped)]
    edited = [
        replace(paper, journal_ref="J. 1", announced=world.clock.now()) for paper in read[-20:]
    ]
    world.arxiv.add(*edited)
    world.clock.advance(timedelta(hours=2))
    made = len(world.arxiv.requests)
    assert world.run().poll.failures == []
    assert world.arxiv.requests[made].param("from") == day, (
        "that day's list is read from its beginning"
    )
    found = {found for found in world.list_changes()[len(before) :] if found[0] != Kind.METADATA}
    assert found == pause.find_changes()
