"""A small installation to be served: three papers, and a subscription to mail, Slack and a feed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from digest.model.clock import ManualClock
from digest.model.papers import Author
from tests.fakes.archive import DemoPaper, plan_announcement
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation, installed
from tests.harness.serving import Served

EVENING = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)
"""22:47 Eastern time of Thu 19 Nov: the announcement is out."""

SUNDAY = datetime(2026, 11, 23, 3, 47, tzinfo=UTC)
"""22:47 of Sun 22 Nov: the next one is."""

READER = "mailto:reader@example.org"

_CONFIG = """
[arxiv]
contact = "ops@example.org"
api_url = "{arxiv.api_url}"
oai_url = "{arxiv.oai_url}"

[mail]
from = "digest@example.org"
smtp = "{mail.url}"

[slack]
url = "{slack.url}"

[web]
base_url = "https://localhost:8000"
bind = "127.0.0.1:0"

[defaults]
when = "{when}"

[queries]
perf = "cat:cs.PF"

[[subscriptions]]
name = "perf-team"
follow = ["perf"]
to = {to}
"""

TO = ("mailto:reader@example.org", "mailto:second@example.org", "slack:#papers", "feed")


def make_paper(number: int, title: str, submitted: datetime) -> DemoPaper:
    return DemoPaper(
        id=f"2611.{number:05d}",
        announced=plan_announcement(submitted),
        submitted=(submitted,),
        title=title,
        abstract="We measure, and report what we found.",
        authors=(Author("Ada Example"), Author("Bo Sample")),
        categories=("cs.PF", "cs.DC"),
    )


PAPERS = tuple(
    make_paper(15_000 + number, title, datetime(2026, 11, 19, 9, number, tzinfo=UTC))
    for number, title in enumerate(
        ("Tail latency on shared GPUs", "Queues that never drain", "Clocks & caches")
    )
)
LATER = make_paper(
    15_900, "A later paper about stopwatches", datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
)


@dataclass
class World(Installation):
    """The small installation; it can be served as people serve it."""

    def write_config(
        self, *, to: tuple[str, ...] = TO, when: str = "daily at 02:00 UTC", extra: str = ""
    ) -> None:
        servers = {"arxiv": self.arxiv, "mail": self.mail, "slack": self.slack}
        text = _CONFIG.format(**servers, to=list(to), when=when)
        self.write(text.replace("'", '"') + extra)

    def serve(self, *arguments: str, descriptors: int = 0, program: str = "digest") -> Served:
        return Served(self, *arguments, descriptors=descriptors, program=program)


@contextmanager
def live_in(folder: Path, now: datetime = EVENING) -> Iterator[World]:
    with installed(World, folder, DemoArxiv(PAPERS, ManualClock(now))) as world:
        world.write_config()
        yield world
