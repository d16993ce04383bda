"""An installation that has lived through a fortnight.

Lived through once, and copied for each test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from digest.config import load_config
from digest.model.clock import ManualClock
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from digest.store import Store, open_store, subscriptions
from tests.fakes.archive import read_demo_papers
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.mail import MailSink
from tests.fakes.slack import SlackReceiver

FIRST_DIGEST = datetime(2026, 11, 9, 20, 0, tzinfo=UTC)
MORNINGS = [
    datetime(2026, 11, day, 8, 5, tzinfo=UTC) for day in (10, 11, 12, 13, 16, 17, 18, 19, 20)
]
"""Just after 09:00 in Berlin.

The announcement of the evening before is there, and all digests are due.
"""

PAUSED_SINCE = MORNINGS[5]
NOW = datetime(2026, 11, 20, 8, 20, tzinfo=UTC)
"""A quarter of an hour later, and ten minutes before arXiv is worth another request."""

CONFIG = """\
[arxiv]
contact = "ops@digest.example"
api_url = "{arxiv}/api/query"
oai_url = "{arxiv}/oai"

[mail]
from = "digest@digest.example"
smtp = "{smtp}"

[slack]
url = "{slack}"

[web]
base_url = "http://127.0.0.1:8000"

[defaults]
when = "weekdays at 09:00 Europe/Berlin"
kinds = ["new", "cross-listed", "replaced", "withdrawn"]

[queries]
perf = "cat:cs.PF"
gpu = "ti:GPU OR abs:GPU"
follow = 'au:"Ingrith Solvane"'
broken = "ti:(gpu OR"

[[subscriptions]]
name = "perf-team"
follow = ["perf", "gpu", "follow"]
to = ["slack:#papers", "feed"]

[[subscriptions]]
name = "gpu-mail"
follow = ["gpu"]
to = "mailto:reader@digest.example"
when = "daily at 07:30 Europe/Berlin"

[[subscriptions]]
name = "old-mail"
follow = ["follow", "gpu"]
to = "mailto:old@digest.example"

[[subscriptions]]
name = "perf-mail"
follow = ["perf"]
to = "mailto:second@digest.example"

[[subscriptions]]
name = "gpu-static"
follow = ["gpu", "broken"]
to = "file:feeds/gpu.atom"
"""


@dataclass
class World:
    """An arXiv, a mailbox and a Slack that are alive, and the folder of an installation beside them."""

    folder: Path
    clock: ManualClock
    arxiv: DemoArxiv
    mail: MailSink
    slack: SlackReceiver

    @property
    def environ(self) -> dict[str, str]:
        return {"DIGEST_TEST_CLOCK": self.arxiv.clock_url, "DIGEST_SLACK_TOKEN": self.slack.token}

    def write_config(self) -> Path:
        text = CONFIG.format(arxiv=self.arxiv.url, smtp=self.mail.url, slack=self.slack.url)
        path = self.folder / "digest.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def edit_config(self, before: str, after: str) -> None:
        path = self.folder / "digest.toml"
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after), encoding="utf-8")

    def open_store(self) -> Store:
        return open_store(f"sqlite:///{self.folder / 'digest.db'}")


@contextmanager
def surrounded(folder: Path, now: datetime) -> Iterator[World]:
    """Start everything outside of an installation, and configure one to use it."""
    folder.mkdir(parents=True, exist_ok=True)
    clock = ManualClock(now)
    with (
        DemoArxiv(read_demo_papers(), clock) as arxiv,
        MailSink() as mail,
        SlackReceiver(clock, channels=("papers",)) as slack,
    ):
        world = World(folder, clock, arxiv, mail, slack)
        world.write_config()
        mail.script.reply("RCPT", "550 5.1.1 no such user", times=99, match="old@digest.example")
        yield world


def live_through(folder: Path) -> None:
    """Live through the fortnight, in about two seconds.

    Its database and feed are left in the folder.
    """
    with surrounded(folder, FIRST_DIGEST) as world:
        config = load_config(folder / "digest.toml", world.environ)
        with closing(open_site(config, world.clock, owner="test", jitter=lambda: 0.5)) as site:
            for moment in (FIRST_DIGEST, *MORNINGS):
                world.clock.set(moment)
                run_pass(site)
                if moment == PAUSED_SINCE:
                    with site.store.begin() as conn:
                        (due,) = subscriptions.load(conn, names=["perf-mail"])
                        subscriptions.pause(conn, due.id, datetime(2026, 11, 29, 23, 0, tzinfo=UTC))
