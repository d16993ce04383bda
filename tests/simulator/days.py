"""So many days of an installation, drawn from a seed: `python -m tests.simulator.days`.

All is judged after each pass. Papers come out, late ones among them, and change; operators edit the
file, readers leave and come back; arXiv, the mail server and Slack have bad days; and one pass in
six dies at one of the points where a process may. A week, a month and a year are the same life at
another length: only the longer ones meet what is deleted when it is old.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click

from digest.model.cadences import Cadence
from digest.plan.slots import next_slot
from tests.fakes.spoiling import KINDS as FAULTS
from tests.fakes.spoiling import THIN_PAGES
from tests.postgres_servers import create_database, quick_server
from tests.simulator.deaths import ForkedProcesses, Point
from tests.simulator.fail_points import POINTS
from tests.simulator.life import (
    CADENCES,
    CATEGORIES,
    CHANNELS,
    KINDS,
    TEXTS,
    WISHES,
    WORDS,
    Life,
    living,
)
from tests.simulator.oracle import Watch
from tests.simulator.received import Broken

_HOURS = (5, 7, 12)
"""Between the passes of a day."""

_DEATHS = 1 / 6
_TROUBLES = 1 / 5
_EVENTS = 0.6
"""How often a pass dies, and a request to arXiv is spoiled.

The third is how often something happens on a day besides papers.
"""

_TRANSACTIONS = 90
"""A pass has about as many; it may die before each."""

_REFUSALS = {
    True: ("is_archived", "not_in_channel", "restricted_action"),
    False: ("token_revoked", "missing_scope", "account_inactive"),
}
"""What Slack says of a channel, and of a token."""

_BRIEF = 0.3
"""Real seconds of a silence: long enough to be one."""

_SPOILED = [kind for kind in FAULTS if kind not in ("redirect", "odd_entry", *THIN_PAGES)]
"""A redirect is a mistake in the file, which nobody makes here.

No look can store what a page leaves out, or what
nobody can read: the next one brings it, as test_faults_lists.py tells."""


_OUTAGES = ("429", "503", "500", "html", "truncate", "malformed", "drop", "reset")
_FOR_EVER = 100_000
_HOURLY = [when for when in CADENCES if " at " in when]


class Days:
    """One life being lived day by day, its oracle, and how often each thing happened."""

    def __init__(self, life: Life, seed: int) -> None:
        self.life = life
        self.watch = Watch(life)
        self.watch.look()
        self.counts: Counter[str] = Counter()
        self._draw = random.Random(seed)  # noqa: S311 - the same days for the same seed
        self._events: list[tuple[int, Callable[[], object]]] = [
            (12, self.change_paper),
            (4, self.hold),
            (4, self.edit_query),
            (4, self.edit_cadence),
            (3, self.begin_or_end),
            (3, self.leave),
            (3, self.come_back),
            (6, self.trouble_outside),
            (3, self.fail_at_the_hour),
            (3, self.refuse_posts),
        ]

    def live(self, days: int, tell: Callable[[str], object] = lambda _: None) -> None:
        """Live so many days, and let everything come to rest."""
        for day in range(days):
            self.live_day()
            if day % 30 == 29:
                tell(f"{self.life.clock.now():%a %-d %b}: {self.describe()}")
        self.come_to_rest()

    def live_day(self) -> None:
        """Live one day: papers, what else happens, and its passes."""
        for _ in range(self._draw.choice((0, 1, 1, 2, 3))):
            self.life.announce(self._draw.choice(CATEGORIES), self._draw.choice(WORDS))
        for hours in _HOURS:
            if self._draw.random() < _EVENTS:
                weights, events = zip(*self._events, strict=True)
                (event,) = self._draw.choices(events, weights)
                event()
                self.counts[event.__name__.replace("_", " ")] += 1
            self.life.advance(timedelta(hours=hours))
            if self._draw.random() < _TROUBLES:
                self.spoil()
            is_deadly = self._draw.random() < _DEATHS
            self.make_pass(self.choose_death() if is_deadly else None)

    def make_pass(self, point: Point | None = None) -> None:
        """Make one pass, which may die at a point, and look at everything."""
        self.life.mend()
        self.life.make_pass(point)
        self.counts["passes"] += 1
        self.watch.look()

    def choose_death(self) -> Point:
        """Return a point of the list, or one before any of the transactions of a pass."""
        if self._draw.random() < 2 / 3:
            return self._draw.choice(POINTS)
        return Point("digest.store.engine:Store.begin", skip=self._draw.randrange(_TRANSACTIONS))

    def spoil(self) -> None:
        """Let one to three requests to arXiv go wrong."""
        times = self._draw.choice((1, 1, 2, 3))
        self.life.arxiv.faults.add(self._draw.choice(_SPOILED), times=times, seconds=_BRIEF)
        self.counts["requests spoiled"] += times

    def hold(self) -> None:
        """Hold a paper back, or let one that was held come out."""
        if self.life.held and self._draw.random() < 1 / 2:
            held = self.life.held.pop(0)
            self.life.announce(
                self._draw.choice(CATEGORIES), self._draw.choice(WORDS), held_since=held
            )
        else:
            self.life.hold()

    def change_paper(self) -> None:
        """Give a paper a new version, another category or a journal, or withdraw it."""
        paper_id = self._draw.choice(sorted(self.life.papers))
        match self._draw.choice(("replaced", "cross-listed", "edited", "withdrawn")):
            case "replaced":
                self.life.replace_paper(paper_id, self._draw.choice(WORDS))
            case "cross-listed":
                self.life.cross_list(paper_id, self._draw.choice(CATEGORIES))
            case "edited":
                self.life.edit_paper(paper_id, f"J. Made Up {self._draw.randrange(99)}")
            case _:
                self.life.withdraw(paper_id)

    def edit_query(self) -> None:
        """Give a saved query another text."""
        texts = {self._draw.choice(("a", "b")): self._draw.choice(sorted(TEXTS))}
        self.life.change_file(replace(self.life.file, queries=self.life.file.queries | texts))

    def edit_cadence(self) -> None:
        """Give a subscription another cadence, and other kinds."""
        name = self._draw.choice(("team", "solo", "lab"))
        self.life.edit_wish(name, when=self._draw.choice(CADENCES), kinds=self._draw.choice(KINDS))

    def begin_or_end(self) -> None:
        """Take a subscription out of the file, or put it back."""
        name = self._draw.choice(("solo", "lab", "board"))
        wishes = dict(self.life.file.wishes)
        if wishes.pop(name, None) is None:
            wishes[name] = WISHES[name]
        self.life.change_file(replace(self.life.file, wishes=wishes))

    def leave(self) -> None:
        """Let somebody leave, now or while messages are on their way."""
        readers: list[tuple[str, str]] = []
        for name in sorted(self.life.file.wishes):
            readers += [(name, to) for to in WISHES[name].sent_to]
        name, place = self._draw.choice(readers)
        if self._draw.random() < 1 / 2:
            self.life.leave(place, name)
        else:
            self.life.announce("cs.PF", "latency")
            self.life.advance(timedelta(hours=24))
            self.life.make_pass(meanwhile=lambda: self.life.leave(place, name))
            self.watch.look()

    def come_back(self) -> None:
        """Let somebody who left come back."""
        if self.life.left:
            self.life.resubscribe(*self._draw.choice(sorted(self.life.left)))

    def trouble_outside(self) -> None:
        """Let the mail server or Slack lose, refuse or put off the next message."""
        mail = self.life.mail.script
        slack = self.life.slack.faults
        match self._draw.randrange(6):
            case 0:
                mail.reply("RCPT", "451 4.3.0 try later")
            case 1 | 2 as number:
                mail.drop("END", is_stored=number == 2)
            case number:
                kinds = ("drop_after", "drop_before", "ratelimited")
                slack.add(kinds[number - 3], times=1, path="chat.postMessage")

    def fail_at_the_hour(self) -> None:
        """Let arXiv fail from a digest's hour on, and be well again.

        It fails for ten minutes to thirty hours.
        """
        wishes = self.life.file.wishes
        names = [name for name in sorted(wishes) if wishes[name].when in _HOURLY]
        if not names:
            return
        cadence = Cadence.parse(wishes[self._draw.choice(names)].when)
        turn = next_slot(cadence, None, self.life.clock.now())
        assert turn is not None
        self.life.announce("cs.PF", "latency")
        self.life.advance(turn.due_at - self.life.clock.now())
        kind = self._draw.choice(_OUTAGES)
        self.life.arxiv.faults.add(kind, times=_FOR_EVER, seconds=_BRIEF)
        lasting = self._draw.choice((10, 45, 120, 600, 1_200, 1_800))
        over_at = turn.due_at + timedelta(minutes=lasting)
        while self.life.clock.now() < over_at:
            self.make_pass()
            left = over_at - self.life.clock.now()
            step = timedelta(hours=self._draw.choice((1, 3, 6)))
            self.life.advance(min(step, max(left, timedelta(0))))
        self.life.arxiv.faults.clear()
        for _ in range(2):
            self.life.advance(timedelta(minutes=self._draw.choice((1, 45, 130))))
            self.make_pass()

    def refuse_posts(self) -> None:
        """Let Slack refuse one channel, or the token, for hours to days."""
        hours = self._draw.choice((2, 5, 12, 30, 72, 200))
        channel = self._draw.choice((*CHANNELS, ""))
        code = self._draw.choice(_REFUSALS[bool(channel)])
        self.life.refuse(channel, code, timedelta(hours=hours))

    def come_to_rest(self) -> None:
        """Let nothing go wrong any more, and give everything its time."""
        self.life.mail.script.clear()
        self.life.mend(all_of_them=True)
        for faults in (self.life.slack.faults, self.life.arxiv.faults):
            faults.clear()
        for wait in (timedelta(hours=1), timedelta(days=8), timedelta(days=8)):
            self.life.advance(wait)
            self.make_pass()
        self.watch.look_at_the_end()

    def describe(self) -> str:
        """Say how much was lived."""
        counts = self.counts | {
            "deaths": self.life.deaths,
            "papers": len(self.life.papers),
            "mails": len(self.life.mail.mails),
            "posts": len(self.life.slack.messages),
        }
        return ", ".join(f"{number:,} {what}" for what, number in counts.items())


@contextmanager
def beginning(
    folder: Path, forked_processes: ForkedProcesses, database: str, admin: str, seed: int
) -> Iterator[Days]:
    """Begin a life on an empty database, for as long as a context lasts."""
    with living(folder, forked_processes, database, admin) as life:
        yield Days(life, seed)


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield a folder in memory if there is one.

    Who is killed leaves all it wrote to the kernel either way.
    """
    memory = Path("/dev/shm")  # noqa: S108 - the folder below it has a name of its own
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@click.command(help=__doc__.partition("\n\n")[0] if __doc__ else None)
@click.option("--days", type=click.IntRange(1), default=30, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--database", type=click.Choice(["sqlite", "postgresql"]), default="sqlite", show_default=True
)
def main(*, days: int, seed: int, database: str) -> None:
    """Live so many days, and exit with 1 if anything is wrong."""
    begun = time.monotonic()
    with ExitStack() as stack:
        folder = stack.enter_context(working_folder())
        forked_processes = stack.enter_context(ForkedProcesses())
        url = f"sqlite:///{folder / 'digest.db'}"
        admin = ""
        if database == "postgresql":
            server = stack.enter_context(quick_server())
            url = create_database(server, "days")
            admin = server.url.set(drivername="postgresql").render_as_string(hide_password=False)
        lived = stack.enter_context(beginning(folder, forked_processes, url, admin, seed))
        wrong = ""
        try:
            lived.live(days, click.echo)
        except Broken as broken:
            wrong = f"BROKEN on {lived.life.clock.now():%a %-d %b %Y %H:%M} UTC: {broken}"
        said = f"{days} days on {database}, seed {seed}, {time.monotonic() - begun:.0f} s"
        click.echo(f"{lived.describe()}\n{wrong}\n{said}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
