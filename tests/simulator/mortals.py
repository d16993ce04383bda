"""An installation whose processes die: what stands around it, what is seen of it, what its database holds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine, create_engine, make_url, text

from digest.config import load_config
from digest.deliver.feeds import load_feed
from digest.model.clock import ManualClock, SystemClock
from digest.serve.installation import open_site
from digest.site import Site
from digest.store.subscriptions import load_subscriptions
from tests.acceptance.made import START, made_up
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.fakes.mail import MailSink
from tests.fakes.slack import SlackReceiver
from tests.simulator.dying import ENDED, Nursery, Point, shut_database

OLD, NEWS = 2, 4
"""Papers known from the first look, and papers that came out since: two to a page."""

MEDIA = ("mail", "Slack", "feed")

_LEASE = 61
"""Seconds after which a claim that is not kept alive lapses, and a silent worker counts as gone."""

_PREFIX = {"mail": "mailto:", "Slack": "slack:"}
_owners = itertools.count(1)


@dataclass(frozen=True)
class Stored:
    """What a database holds of the day's news.

    Attributes:
        papers: stored ones, those from before among them.
        look: how the latest look at arXiv stands.
        cursor: whether the day counts as looked at.
        matched: changes held against the saved queries.
        digests: frozen ones.
    """

    papers: int
    look: str
    cursor: str
    matched: int
    digests: int


class Mortal:
    """An installation with one reader of mail, one channel and one feed, on the noon after a day with news.

    Args:
        folder: empty.
        database: its URL; without tables yet.
        admin: a database of the same PostgreSQL server, "" on SQLite.
    """

    def __init__(  # noqa: PLR0917 - all that stands around it
        self,
        folder: Path,
        database: str,
        admin: str,
        arxiv: DemoArxiv,
        mail: MailSink,
        slack: SlackReceiver,
        nursery: Nursery,
    ) -> None:
        self.folder, self.admin = folder, admin
        self.arxiv, self.mail, self.slack, self.nursery = arxiv, mail, slack, nursery
        self.clock = arxiv.clock
        assert isinstance(self.clock, ManualClock)
        self.is_sqlite = database.startswith("sqlite")
        self.environ = {"DIGEST_SLACK_TOKEN": slack.token, "DIGEST_TEST_CLOCK": arxiv.clock_url}
        self.engine = self._work_on(database)

    def _work_on(self, database: str) -> Engine:
        places = ["mailto:reader@example.org", "slack:#papers", "feed", "file:feeds/perf.atom"]
        content = write_config(
            self.arxiv.url,
            {"perf": "cat:cs.PF"},
            [{"name": "perf-team", "follow": ["perf"], "to": places}],
            store={"url": database},
            mail={"smtp": self.mail.url},
            slack={"url": self.slack.url},
            web={"base_url": "http://localhost"},
            defaults={"when": "daily at 12:00 UTC", "look_back": "0 days"},
        )
        (self.folder / "digest.toml").write_text(content, encoding="utf-8")
        driver = "sqlite" if self.is_sqlite else "postgresql+psycopg"
        return create_engine(make_url(database).set(drivername=driver), pool_pre_ping=True)

    def settle_in(self) -> None:
        """Take the first look, and let a day with news go by."""
        self.run()
        self.arxiv.add(*(made_up(OLD + n, START + timedelta(hours=1)) for n in range(1, NEWS + 1)))
        self.advance(timedelta(days=1))

    def run(self, point: Point | None = None, expect: int = ENDED) -> None:
        """Let one process run; it ends as expected."""
        code = self.nursery.run(self.folder, self.environ, self.new_owner(), point, self.admin)
        assert code == expect, f"{code} at {point}: {self.nursery.read_log()}"
        if point is not None and point.happens == "outage, death" and not self.is_sqlite:
            shut_database(self.admin, str(self.engine.url.database), is_open=True)
        self.await_silence()

    def close(self) -> None:
        self.engine.dispose()

    @staticmethod
    def new_owner() -> str:
        return f"process {next(_owners)}"

    def advance(self, by: timedelta) -> None:
        assert isinstance(self.clock, ManualClock)
        self.clock.advance(by)

    def let_leases_lapse(self) -> None:
        """Let the database's own clock go on by a minute, as far as anybody can tell."""
        with self.engine.begin() as conn:
            conn.execute(text(f"UPDATE deliveries SET lease_until = lease_until - {_LEASE}"))
            conn.execute(text(f"UPDATE workers SET seen_at = seen_at - {_LEASE}"))

    def await_silence(self) -> None:
        """Wait until PostgreSQL has noticed who is gone, and rolled back what they had begun."""
        while self.count_busy():
            SystemClock().sleep(0.01)

    def count_busy(self) -> int:
        """Count the connections in the middle of something."""
        if self.is_sqlite:
            return 0
        ((busy,),) = self.ask(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'"
        )
        assert isinstance(busy, int)
        return busy

    def ask(self, statement: str) -> list[tuple[object, ...]]:
        """Read from its database."""
        with self.engine.connect() as conn:
            return [tuple(row) for row in conn.execute(text(statement))]

    @property
    def stored(self) -> Stored:
        """What its database holds."""
        ((papers, look, moved, matched, digests),) = self.ask(
            "SELECT (SELECT count(*) FROM papers),"
            " (SELECT outcome FROM poll_runs WHERE source = 'harvest' ORDER BY id DESC LIMIT 1),"
            " (SELECT count(*) FROM cursors JOIN poll_runs ON poll_runs.id = last_complete_run_id"
            "  WHERE cursors.source = 'harvest' AND NOT is_bootstrap),"
            f" (SELECT value FROM marks WHERE name = 'matched') - {OLD},"
            " (SELECT count(*) FROM digests)"
        )
        return Stored(papers, str(look), "moved" if moved else "old", matched, digests)  # type: ignore[arg-type]  # counts

    def look_at(self, medium: str) -> str:
        """Say how a medium stands: its deliveries' states and how many copies came, such as `sending 1`.

        Of Slack only the message in the channel counts. Of a feed it says how many papers are served and how many
        are in its file, such as `4/0`.
        """
        if medium == "feed":
            return f"{self.count_served()}/{self.count_in_file()}"
        first = f"destination LIKE '{_PREFIX[medium]}%' AND part = 0"
        states = self.ask(f"SELECT state FROM deliveries WHERE {first} ORDER BY id")
        names = "+".join(str(state) for (state,) in states) or "none"
        posts = [post for post in self.slack.messages if not post.thread_ts]
        return f"{names} {len(self.mail.mails if medium == 'mail' else posts)}"

    def count_in_file(self) -> int:
        path = self.folder / "feeds" / "perf.atom"
        return _count_entries(path.read_bytes()) if path.exists() else 0

    def count_served(self) -> int:
        with self.opened() as site, site.store.read() as conn:
            (due,) = load_subscriptions(conn)
            return _count_entries(site.renderer.render_atom(load_feed(conn, site, due)))

    @contextmanager
    def opened(self) -> Iterator[Site]:
        """Look into it without working on it."""
        config = load_config(self.folder / "digest.toml", self.environ)
        site = open_site(config, self.clock, owner="onlooker", jitter=lambda: 0.5)
        yield site
        site.close()

    def find_told(self) -> set[str]:
        """Return the ids of the news that every medium has brought to its readers by now."""
        (mail, *others) = {mail.raw for mail in self.mail.mails}
        assert not others, "one mail, however often it came, byte for byte alike"
        texts = [
            mail.decode(),
            " ".join(words for post in self.slack.messages if post.thread_ts for words in post.block_texts),
            (self.folder / "feeds" / "perf.atom").read_text(),
        ]
        return set.intersection(*({*re.findall(r"2603\.\d{5}", words)} for words in texts))


@contextmanager
def mortal(folder: Path, database: str, admin: str, nursery: Nursery) -> Iterator[Mortal]:
    """Set one up that has taken its first look."""
    clock = ManualClock(START)
    old = [made_up(number, START - timedelta(days=4)) for number in range(1, OLD + 1)]
    with ExitStack() as stack:
        arxiv = stack.enter_context(DemoArxiv(old, clock, page_size=2))
        mail = stack.enter_context(MailSink())
        slack = stack.enter_context(SlackReceiver(clock))
        one = Mortal(folder, database, admin, arxiv, mail, slack, nursery)
        stack.callback(one.close)
        one.settle_in()
        yield one


def _count_entries(feed: bytes) -> int:
    """Count the papers of a feed; one without any holds a note that says so."""
    return len({*re.findall(rb"/abs/(2603\.\d{5})", feed)})
