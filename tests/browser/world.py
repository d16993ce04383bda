"""What people meet: a served installation that knows 30 days of papers, and a mailbox for its mails."""

from __future__ import annotations

import random
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from email.message import EmailMessage
from pathlib import Path

from digest.config import load_config
from digest.model.announcements import announcement_moment, has_announcement
from digest.model.clock import ManualClock
from digest.plan.links import LinkMaker, make_links
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from digest.site import Site
from digest.web import WebServer, create_app
from tests.acceptance.made import made_up
from tests.battery.full_day import list_papers
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.fakes.loopback import LOOPBACK
from tests.fakes.mail import MailSink
from tests.fakes.writing import Writer
from tests.integration.web.world import EVENING

NOW = EVENING
"""Thursday's announcement is out, and so are those of the 30 days before it."""

KNOWN = timedelta(days=30)
TO_COME = timedelta(days=30)

TEAM = "perf-team"
"""A subscription of the operator's file that people may join; its digests are public."""

_PASSES = (time(3, 47), time(8, 30))
"""When everything due is done (UTC).

When an announcement is out, and when it is past nine in Berlin.
"""

_BY_CHANCE = 10
"""Papers of each announcement besides the two that stories wait for."""


def write_papers(around: date) -> Iterator[DemoPaper]:
    """Yield the papers of 30 days before a date and 30 after it, two of each announcement as stories need them."""
    draw = random.Random(20_261_119)  # noqa: S311 - the same papers every time, and nothing secret
    writer = Writer(draw)
    real = list(list_papers())
    draw.shuffle(real)
    numbers: dict[str, int] = {}
    day = around - KNOWN
    while day <= around + TO_COME:
        if has_announcement(day):
            out = announcement_moment(day)
            said = f"{day:%-d %B}"
            wanted = (
                {"title": f"Tail latency as of {said}", "categories": ("cs.PF", "cs.DC")},
                {
                    "title": f"Queues that never drain, {said}",
                    "abstract": "We wait.",
                    "categories": ("cs.DC",),
                },
            )
            for fields in (
                *wanted,
                *real[-2:],
                *(writer.write()._asdict() for _ in range(_BY_CHANCE)),
            ):
                month = f"{day:%y%m}"
                numbers[month] = numbers.get(month, 0) + 1
                id_ = f"{month}.{numbers[month]:05d}"
                yield made_up(0, out - timedelta(hours=9), announced=out, id=id_, **fields)
            del real[-2:]
        day += timedelta(days=1)


@dataclass
class World:
    """A served installation. Everything is on 127.0.0.1, and time passes when it is told to."""

    url: str
    site: Site
    clock: ManualClock
    mail: MailSink

    @property
    def links(self) -> LinkMaker:
        """Makes the secret addresses of this installation."""
        with self.site.store.read() as conn:
            return make_links(conn, self.site.config)

    def run_pass(self) -> None:
        """Do all that is due now, as `digest serve` does it."""
        report = run_pass(self.site)
        assert report.troubles == []

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

    def mails(self, address: str) -> list[EmailMessage]:
        """Return the mails that came to an address, oldest first."""
        return [mail.message for mail in self.mail.mails if mail.recipients == (address,)]

    def next_mail(self, address: str, within: int = 4) -> EmailMessage:
        """Let time pass until one more mail comes to an address, so many days at most, and return it."""
        before = len(self.mails(address))
        until = self.clock.now() + timedelta(days=within)
        self.run_pass()
        while len(self.mails(address)) == before:
            assert self.clock.now() < until, f"no mail came to {address} within {within} days"
            self._step()
        return self.mails(address)[before]

    def find_link(self, mail: EmailMessage, below: str) -> str:
        """Return the address in a mail that leads below a path of ours, such as `/c/`."""
        part = mail.get_body(("plain",))
        assert part is not None
        text = part.get_content()
        found = re.search(re.escape(f"{self.url}{below}") + r"[\w-]+", text)
        assert found is not None, text
        return found[0]


@contextmanager
def live_in(folder: Path, now: ManualClock) -> Iterator[World]:
    """Open a world, with the database that lies in a folder or an empty one."""
    with ExitStack() as stack:
        arxiv = stack.enter_context(DemoArxiv(list(write_papers(NOW.date())), now))
        mail = stack.enter_context(MailSink())
        url = f"http://{LOOPBACK}:{_find_port()}"
        bind = url.removeprefix("http://")
        text = write_config(
            arxiv.url,
            {"perf": "cat:cs.PF"},
            [
                {
                    "name": TEAM,
                    "title": "Performance",
                    "follow": ["perf"],
                    "to": ["mailto:reader@example.org", "feed"],
                    "joinable": True,
                    "archive": "public",
                }
            ],
            mail={"smtp": mail.url},
            web={"base_url": url, "bind": bind, "signup": "open"},
            defaults={"when": "weekdays at 09:00 Europe/Berlin"},
        )
        (folder / "digest.toml").write_text(text, encoding="utf-8")
        config = load_config(folder / "digest.toml", {})
        site = open_site(config, now, owner="test", jitter=lambda: 0.5)
        stack.callback(site.close)
        host, _, port = bind.rpartition(":")
        web = WebServer(create_app(site), host, int(port))
        web.start()
        stack.callback(web.stop)
        yield World(url, site, now, mail)


def live_through_a_month(folder: Path) -> None:
    """Make a database that has met every announcement of the 30 days before `NOW`, each on its evening."""
    clock = ManualClock(NOW - KNOWN + timedelta(days=1))
    with live_in(folder, clock) as world:
        while clock.now() <= NOW:
            if has_announcement((clock.now() - timedelta(days=1)).date()):
                world.run_pass()
            clock.advance(timedelta(days=1))


def copy_database(source: Path, folder: Path) -> None:
    """Copy a world's database to the folder of another."""
    with sqlite3.connect(source / "digest.db") as old, sqlite3.connect(folder / "digest.db") as new:
        old.backup(new)
    old.close()
    new.close()


def _find_port() -> int:
    """Return a free port; what is served must know its own address before it is served."""
    with socket.create_server((LOOPBACK, 0)) as free:
        return int(free.getsockname()[1])
