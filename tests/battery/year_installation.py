"""The installation that lives through the year: its file, its database, and what is done with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner
from sqlalchemy import func, select

from digest.cli import cli
from digest.config import load_config
from digest.match.step import match
from digest.model.subscriptions import SubscriptionState
from digest.plan.step import plan
from digest.poll.step import check_gaps, poll
from digest.serve.configuration import sync_roster
from digest.serve.installation import open_site
from digest.store.schema import subscriptions
from tests.battery.year_papers import QUERIES
from tests.fakes.config_file import write_config

if TYPE_CHECKING:
    from digest.poll.installation import Site
    from tests.fakes.arxiv import DemoArxiv


@dataclass(frozen=True)
class Wanted:
    """A subscription as the file has it."""

    name: str
    queries: tuple[str, ...]
    when: str
    kinds: tuple[str, ...] = ("new", "cross-listed")
    when_empty: str = "skip"
    quiet_hours: str = ""

    def list_wishes(self) -> dict[str, object]:
        """Return its lines in `digest.toml`."""
        return {**asdict(self), "to": f"mailto:{self.name}@example.org"}


class YearInstallation:
    """An installation in a folder, worked in process with the real pipeline on a real SQLite file."""

    def __init__(self, folder: Path, arxiv: DemoArxiv) -> None:
        self.folder, self._arxiv = folder, arxiv
        self._site: Site | None = None

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.folder / "digest.db"

    @property
    def _environ(self) -> dict[str, str]:
        return {"DIGEST_TEST_CLOCK": self._arxiv.clock_url}

    def write(self, wanted: Iterable[Wanted]) -> None:
        """Write the file; who works takes it over with `reload` or `start`."""
        text = write_config(
            self._arxiv.url,
            {name: text for name, (text, _) in QUERIES.items()},
            [one.list_wishes() for one in wanted],
            defaults={"look_back": "0 days"},
        )
        (self.folder / "digest.toml").write_text(text, encoding="utf-8")

    def start(self) -> None:
        """Begin to work, as `digest serve` does: the file is read."""
        config = load_config(self.folder / "digest.toml", self._environ)
        site = open_site(config, self._arxiv.clock, owner="year", jitter=lambda: 0.5)
        self._site = site
        sync_roster(site)

    def stop(self) -> None:
        """Stop working; harmless when done twice."""
        if self._site is not None:
            self._site.close()
        self._site = None

    def reload(self) -> None:
        """Take over the edited file while at work."""
        config = load_config(self.folder / "digest.toml", self._environ)
        site = self._at_work
        site.config = replace(site.config, queries=config.queries, subscriptions=config.subscriptions)
        sync_roster(site)

    def look(self) -> bool:
        """Ask arXiv if it is time, and match; return whether all went well."""
        site = self._at_work
        polled = poll(site)
        check_gaps(site, polled)
        match(site, first_digests=not polled.is_cut_short, awaiting=polled.awaiting)
        return not polled.failures

    def plan(self, patience: timedelta | None) -> bool:
        """Plan what is due; return whether somebody waits for a mailing."""
        report = plan(self._at_work, patience=patience)
        assert report.failures == [], report.failures
        return bool(report.waiting)

    def find_next_due(self, after: datetime) -> datetime | None:
        """Return the next moment at which somebody is due."""
        earliest = select(func.min(subscriptions.c.next_due_at)).where(
            subscriptions.c.next_due_at > after, subscriptions.c.state != SubscriptionState.ENDED
        )
        with self._at_work.store.read() as conn:
            moment: datetime | None = conn.execute(earliest).scalar()
        return moment

    def command(self, *arguments: str) -> str:
        """Call the real command line."""
        runner = CliRunner()
        called = ["--config", str(self.folder / "digest.toml"), *arguments]
        done = runner.invoke(cli, called, env=self._environ, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    @property
    def _at_work(self) -> Site:
        assert self._site is not None, "nobody works"
        return self._site
