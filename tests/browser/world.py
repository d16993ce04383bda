"""What people meet: a served installation that knows 30 days of papers, and a mailbox."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime, time, timedelta
from email.message import EmailMessage
from pathlib import Path

from digest.model.announcements import announcement_moment, has_announcement
from digest.model.clock import ManualClock
from digest.web import create_app
from tests.battery.full_day import list_papers
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.loopback import LOOPBACK
from tests.fakes.writing import Writer
from tests.harness.installation import Installation, installed, read_text
from tests.harness.papers import made_up
from tests.harness.serving import find_port, serve_app
from tests.integration.web.world import EVENING

NOW = EVENING
"""Thursday's announcement is out, and so are those of the 30 days before it."""

KNOWN = timedelta(days=30)
TO_COME = timedelta(days=30)

TEAM = "perf-team"
"""A subscription of the operator's file that people may join; its digests are public."""

JOINABLE = {
    "name": TEAM,
    "title": "Performance",
    "follow": ["perf"],
    "to": ["mailto:reader@example.org", "feed"],
    "joinable": True,
    "archive": "public",
}

_PASSES = (time(3, 47), time(8, 30))
"""When everything due is done (UTC).

When an announcement is out, and when it is past nine in Berlin.
"""

_BY_CHANCE = 10
"""Papers of each announcement besides the two that stories wait for."""


def write_papers(around: date) -> Iterator[DemoPaper]:
    """Yield the papers of 30 days before a date and 30 after it.

    Two of each announcement are as stories need them.
    """
    draw = random.Random(20_261_119)  # noqa: S311 - the same papers every time, and nothing secret
    writer = Writer(draw)
    real = list(list_papers())
    draw.shuffle(real)
    numbers: Counter[str] = Counter()
    day = around - KNOWN
    while day <= around + TO_COME:
        if has_announcement(day):
            out = announcement_moment(day)
            by_chance = [writer.write()._asdict() for _ in range(_BY_CHANCE)]
            month = f"{day:%y%m}"
            for fields in (*_write_wanted(day), *real[-2:], *by_chance):
                numbers[month] += 1
                id_ = f"{month}.{numbers[month]:05d}"
                yield made_up(0, out - timedelta(hours=9), announced=out, id=id_, **fields)
            del real[-2:]
        day += timedelta(days=1)


def _write_wanted(day: date) -> tuple[dict[str, object], ...]:
    """Return the fields of the two papers that stories wait for on a day."""
    written = f"{day:%-d %B}"
    followed: dict[str, object] = {
        "title": f"Tail latency as of {written}",
        "categories": ("cs.PF", "cs.DC"),
    }
    other: dict[str, object] = {
        "title": f"Queues that never drain, {written}",
        "abstract": "We wait.",
        "categories": ("cs.DC",),
    }
    return followed, other


@dataclass
class World(Installation):
    """A served installation. Time passes when it is told to."""

    clock: ManualClock
    _: KW_ONLY
    url: str

    def run_pass(self) -> None:
        """Do all that is due now, as `digest serve` does it."""
        assert self.run().troubles == []

    def live(self, days: int) -> None:
        """Let days pass."""
        for _ in range(days * len(_PASSES)):
            self._step()

    def _step(self) -> None:
        now = self.clock.now()
        days = (now.date(), now.date() + timedelta(days=1))
        moments = (datetime.combine(day, at, tzinfo=UTC) for day in days for at in _PASSES)
        self.clock.set(min(moment for moment in moments if moment > now))
        self.run_pass()

    def next_mail(self, address: str, within: int = 4) -> EmailMessage:
        """Let time pass until one more mail comes to an address, and return it.

        It comes within so many days.
        """
        before = len(self.list_mails(address))
        until = self.clock.now() + timedelta(days=within)
        self.run_pass()
        while len(self.list_mails(address)) == before:
            assert self.clock.now() < until, f"no mail came to {address} within {within} days"
            self._step()
        return self.list_mails(address)[before]

    def find_link(self, mail: EmailMessage, below: str) -> str:
        """Return the address in a mail that leads below a path of ours, such as `/c/`."""
        text = read_text(mail)
        found = re.search(re.escape(f"{self.url}{below}") + r"[\w-]+", text)
        assert found is not None, text
        return found[0]


@contextmanager
def live_in(folder: Path, now: ManualClock) -> Iterator[World]:
    """Open a world, with the database that lies in a folder or an empty one."""
    port = find_port()
    url = f"http://{LOOPBACK}:{port}"
    arxiv = DemoArxiv(list(write_papers(NOW.date())), now)
    with installed(World, folder, arxiv, url=url) as world:
        world.write_file(
            {"perf": "cat:cs.PF"},
            [JOINABLE],
            web={"base_url": url, "bind": f"{LOOPBACK}:{port}", "signup": "open"},
            defaults={"when": "weekdays at 09:00 Europe/Berlin"},
        )
        with serve_app(create_app(world.site), port):
            yield world


def live_through_a_month(folder: Path) -> None:
    """Make a database that has met every announcement of the 30 days before `NOW`.

    Each was met on its evening.
    """
    clock = ManualClock(NOW - KNOWN + timedelta(days=1))
    with live_in(folder, clock) as world:
        while clock.now() <= NOW:
            if has_announcement((clock.now() - timedelta(days=1)).date()):
                world.run_pass()
            clock.advance(timedelta(days=1))
