"""An installation that has lived through a fortnight.

Lived through once, and copied for each test.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from digest.model.clock import ManualClock
from digest.store import Store, open_store, subscriptions
from tests.fakes.archive import read_demo_papers
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.slack import SlackReceiver
from tests.harness.installation import Installation, installed

PAPER = re.compile(r"(?<!\d)2611\.\d{5}(?!\d)")
"""Ids of the fortnight's papers."""

FIRST_DIGEST = datetime(2026, 11, 9, 20, 0, tzinfo=UTC)
MORNINGS = [
    datetime(2026, 11, day, 8, 5, tzinfo=UTC) for day in (10, 11, 12, 13, 16, 17, 18, 19, 20)
]
"""Just after 09:00 in Berlin.

The announcement of the evening before is there, and all digests are due.
"""

PAUSED_SINCE = MORNINGS[5]
PAUSED_UNTIL = datetime(2026, 11, 29, 23, 0, tzinfo=UTC)
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
class World(Installation):
    """The installation of the fortnight, with an arXiv, a mailbox and a Slack that are alive."""

    clock: ManualClock

    def write_config(self) -> Path:
        servers = {"arxiv": self.arxiv.url, "smtp": self.mail.url, "slack": self.slack.url}
        self.write(CONFIG.format(**servers))
        return self.config_file

    def open_store(self) -> Store:
        return open_store(f"sqlite:///{self.folder / 'digest.db'}")


@contextmanager
def surrounded(folder: Path, now: datetime) -> Iterator[World]:
    """Start everything outside of an installation, and configure one to use it."""
    folder.mkdir(parents=True, exist_ok=True)
    arxiv = DemoArxiv(read_demo_papers(), ManualClock(now))
    slack = SlackReceiver(arxiv.clock, channels=("papers",))
    with installed(World, folder, arxiv, slack=slack) as world:
        world.write_config()
        refusal = "550 5.1.1 no such user"
        world.mail.script.reply("RCPT", refusal, times=99, match="old@digest.example")
        yield world


def live_through(folder: Path) -> None:
    """Live through the fortnight, in about two seconds.

    Its database and feed are left in the folder.
    """
    with surrounded(folder, FIRST_DIGEST) as world:
        for moment in (FIRST_DIGEST, *MORNINGS):
            world.clock.set(moment)
            world.run()
            if moment == PAUSED_SINCE:
                with world.site.store.begin() as conn:
                    (due,) = subscriptions.load(conn, names=["perf-mail"])
                    subscriptions.pause(conn, due.id, PAUSED_UNTIL)


def count_arrived(world: World) -> Counter[tuple[str, str]]:
    """Count how often each paper came to each place."""
    counts: Counter[tuple[str, str]] = Counter()
    for mail in world.mail.mails:
        text = mail.raw.replace(b"=\r\n", b"").decode()
        place = mail.recipients[0]
        counts.update((place, id_) for id_ in set(PAPER.findall(text)))
    for post in world.slack.messages:
        if post.thread_ts:
            text = json.dumps(post.blocks)
            counts.update(("slack", id_) for id_ in set(PAPER.findall(text)))
    return counts
