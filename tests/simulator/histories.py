"""Histories of an installation, drawn at random, with a look at everything after each step."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from digest.render import Renderer
from digest.store import open_store
from tests.simulator.dying import Point
from tests.simulator.expectations import note_every_step
from tests.simulator.fail_points import TABLE
from tests.simulator.life import CADENCES, CATEGORIES, KINDS, TEXTS, WISHES, WORDS, Life, living
from tests.simulator.oracle import Watch

POINTS = (
    *(row.point for row in TABLE if row.point.happens == "death"),
    Point("digest.poll.record:RecordedRun.store_page"),
    Point("digest.poll.search:fetch_first_digest_papers"),
    Point("digest.store.matches:set_matched_mark"),
    Point("digest.store.matches:set_matched_mark", after=True),
    Point("digest.store.runs:move_cursor"),
    Point("digest.store.runs:move_cursor", after=True),
    Point("digest.store.subscriptions:store_slots", after=True),
    Point("digest.store.digests:save_digests"),
    Point("digest.store.outbox:claim_deliveries", after=True),
    Point("digest.store.attempts:claim_unknown", after=True),
    Point("digest.store.attempts:settle_ready"),
    Point("digest.store.attempts:mark_sent"),
    Point("digest.store.attempts:mark_sent", after=True),
    Point("tests.simulator.planted:between"),
)
"""Where a process dies in these histories: all the table has, and the edges of each transaction besides."""

_DEATHS = st.sampled_from(POINTS) | st.integers(0, 90).map(
    lambda skip: Point("digest.store.engine:Store.begin", skip=skip)
)
"""At a point, or before any of the transactions of a pass."""

_WAITS = (timedelta(minutes=20), timedelta(hours=5), timedelta(hours=24), timedelta(days=3))
_renderer = Renderer([])
_counts: dict[str, int] = {"steps": 0, "passes": 0, "deaths": 0, "looks": 0, "histories": 0}


class History(RuleBasedStateMachine):
    """One history on one database: `make_database` is told a folder, and tells the URL of one with tables."""

    def __init__(self, make_database: Callable[[Path], str]) -> None:
        super().__init__()
        self._stack = ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(dir=_choose_memory())))
        self.life: Life = self._stack.enter_context(living(folder, make_database(folder), _renderer))
        self.watch = Watch(self.life)
        self._looked = 0

    @rule(category=st.sampled_from(CATEGORIES), word=st.sampled_from(WORDS), count=st.integers(1, 3))
    def papers_are_announced(self, category: str, word: str, count: int) -> None:
        for _ in range(count):
            self.life.announce(category, word)

    @rule()
    def a_paper_is_held(self) -> None:
        self.life.hold()

    @precondition(lambda self: self.life.held)
    @rule(category=st.sampled_from(CATEGORIES), word=st.sampled_from(WORDS))
    def a_held_paper_comes_out(self, category: str, word: str) -> None:
        self.life.announce(category, word, held_since=self.life.held.pop(0))

    @rule(
        number=st.integers(0, 99), what=st.sampled_from(("replaced", "cross-listed", "withdrawn")), data=st.data()
    )
    def a_paper_is_changed(self, number: int, what: str, data: st.DataObject) -> None:
        paper_id = sorted(self.life.papers)[number % len(self.life.papers)]
        if what == "replaced":
            self.life.replace_paper(paper_id, data.draw(st.sampled_from(WORDS)))
        elif what == "cross-listed":
            self.life.cross_list(paper_id, data.draw(st.sampled_from(CATEGORIES)))
        else:
            self.life.withdraw(paper_id)

    @rule(wait=st.sampled_from(_WAITS))
    def time_passes(self, wait: timedelta) -> None:
        self.life.clock.advance(wait)

    @rule(wait=st.sampled_from(_WAITS))
    def a_pass_is_made(self, wait: timedelta) -> None:
        self.life.clock.advance(wait)
        self.life.run()

    @rule(
        category=st.sampled_from(CATEGORIES[:2]),
        wait=st.sampled_from(_WAITS[1:]),
        point=_DEATHS,
        is_taken_up=st.booleans(),
    )
    def a_day_ends_in_death(
        self,
        category: str,
        wait: timedelta,
        point: Point,
        is_taken_up: bool,  # noqa: FBT001 - drawn
    ) -> None:
        self.life.announce(category, "latency")
        self.life.clock.advance(wait)
        self.life.run(point)
        if is_taken_up:
            self.watch.look()
            self.life.run()

    @rule(point=_DEATHS)
    def a_pass_dies(self, point: Point) -> None:
        self.life.run(point)

    @rule(name=st.sampled_from(("a", "b")), text=st.sampled_from(sorted(TEXTS)))
    def a_query_is_edited(self, name: str, text: str) -> None:
        self.life.edit(replace(self.life.file, queries=self.life.file.queries | {name: text}))

    @rule(
        name=st.sampled_from(("team", "solo", "lab")), when=st.sampled_from(CADENCES), kinds=st.sampled_from(KINDS)
    )
    def a_cadence_is_edited(self, name: str, when: str, kinds: tuple[str, ...]) -> None:
        self.life.edit_wish(name, when=when, kinds=kinds)

    @rule(name=st.sampled_from(("solo", "lab", "board")))
    def a_subscription_begins_or_ends(self, name: str) -> None:
        wishes = dict(self.life.file.wishes)
        if name in wishes:
            del wishes[name]
        else:
            wishes[name] = WISHES[name]
        self.life.edit(replace(self.life.file, wishes=wishes))

    @rule(number=st.integers(0, 9), is_meanwhile=st.booleans())
    def somebody_leaves(self, number: int, is_meanwhile: bool) -> None:  # noqa: FBT001 - drawn
        places = [(place, name) for name, wish in WISHES.items() for place in wish.sent_to]
        place, name = places[number % len(places)]
        if name not in self.life.file.wishes:
            return
        if is_meanwhile:
            self.life.clock.advance(timedelta(hours=24))
            self.life.run(meanwhile=lambda: self.life.leave(place, name))
        else:
            self.life.leave(place, name)

    @precondition(lambda self: self.life.left)
    @rule(number=st.integers(0, 9))
    def somebody_comes_back(self, number: int) -> None:
        self.life.resubscribe(*sorted(self.life.left)[number % len(self.life.left)])

    @rule(
        what=st.sampled_from(
            ("mail lost", "mail dropped", "mail put off", "post lost", "post dropped", "slow down")
        )
    )
    def something_goes_wrong_outside(self, what: str) -> None:
        mail, slack = self.life.mail.script, self.life.slack.faults
        if what.startswith("mail"):
            if what == "mail put off":
                mail.reply("RCPT", "451 4.3.0 try later")
            else:
                mail.drop("END", is_stored=what == "mail lost")
        else:
            kind = {"post lost": "drop_after", "post dropped": "drop_before", "slow down": "ratelimited"}[what]
            slack.add(kind, times=1, path="chat.postMessage")

    @invariant()
    def all_is_as_promised(self) -> None:
        _counts["steps"] += 1
        if self._looked < len(self.life.passed) or self.life.left:
            self._looked = len(self.life.passed)
            self.watch.look()

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            _counts["histories"] += 1
            _counts["passes"] += len(self.life.passed)
            _counts["deaths"] += self.life.deaths
            _counts["looks"] += self.watch.looks
            self._stack.close()

    def come_to_rest(self) -> None:
        """Let nothing go wrong any more, and give everything its time."""
        self.life.mail.script.clear()
        self.life.slack.faults.clear()
        for wait in (timedelta(hours=1), timedelta(days=8), timedelta(days=8)):
            self.life.clock.advance(wait)
            self.life.run()
            self.watch.look()
        self.watch.look_at_the_end()


def count() -> str:
    """Say how much was lived."""
    return ", ".join(f"{number:,} {what}" for what, number in _counts.items())


def make_template(path: Path) -> None:
    """Make a SQLite database with tables, which writes down each step of a delivery."""
    store = open_store(f"sqlite:///{path}", create=True)
    with store.begin() as conn:
        note_every_step(conn)
        conn.exec_driver_sql("PRAGMA user_version")
    store.close()


def _choose_memory() -> Path | None:
    memory = Path("/dev/shm")  # noqa: S108 - the folder below it has a name of its own
    return memory if memory.is_dir() else None


def sqlite_maker(template: Path) -> Callable[[Path], str]:
    """Return a function that puts a copy of a template into a folder and tells its URL."""

    def make(folder: Path) -> str:
        shutil.copyfile(template, folder / "digest.db")
        return f"sqlite:///{folder / 'digest.db'}"

    return make
