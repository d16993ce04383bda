"""The world around a kill battery.

A clock, an arXiv, a mail server, a Slack that loses answers, a database.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from digest.model.papers import Author
from tests.battery.kill_plan import CATEGORIES
from tests.fakes.archive import DemoPaper
from tests.fakes.loopback import Answer, Ending, Request
from tests.fakes.mail import MailSink, ReceivedMail
from tests.fakes.slack import SlackReceiver
from tests.harness.arrivals import Arrival, list_posts, read_mail
from tests.postgres_servers import create_database, quick_server

BEGIN = datetime(2026, 11, 3, 6, 0, tzinfo=UTC)
"""A Tuesday after the end of summer time.

The battery's days follow it at the pace of real time, with jumps.
"""

_LONGEST_SLEEP = 2.0
_TITLES = ("Tail latency of {}", "A note on {}", "{} revisited", "Towards fast {}", "Measuring {}")
_SENTENCE = "We measure, and report what we found. "
_THINGS = (
    "caches",
    "queues",
    "schedulers",
    "page tables",
    "log structures",
    "pipelines",
    "vector units",
    "locks",
)


class PacedClock:
    """Simulated time that runs as fast as real time, and can be moved on. Sleeping takes real time.

    A sleep ends early after a while: whoever still has reason to wait asks again, and a process
    that is asked to stop is not kept.

    Attributes:
        followers: called whenever it was moved on.
    """

    is_simulated = True

    def __init__(self, begin: datetime) -> None:
        self._begin = begin
        self._since = time.monotonic()
        self._moved = timedelta(0)
        self.followers: list[Callable[[], None]] = []

    def now(self) -> datetime:
        return self._begin + timedelta(seconds=time.monotonic() - self._since) + self._moved

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(min(max(seconds, 0.0), _LONGEST_SLEEP))

    def move_to(self, moment: datetime) -> None:
        self._moved += max(moment - self.now(), timedelta(0))
        for follow in self.followers:
            follow()


class CountingMail(MailSink):
    """A mail server that remembers of each mail only what the verdict needs."""

    def __init__(self) -> None:
        super().__init__()
        self.arrivals: list[Arrival] = []

    def keep(self, mail: ReceivedMail) -> int:
        self.arrivals += read_mail(mail)
        return len(self.arrivals)


class LossySlack(SlackReceiver):
    """A Slack that stores messages and now and then drops the connection before its answer."""

    def __init__(
        self, clock: PacedClock, channels: tuple[str, ...], *, seed: int, lossy: float
    ) -> None:
        super().__init__(clock, channels=channels, history_lag=1.0)
        self._draw = random.Random(seed)  # noqa: S311 - the same losses for the same seed
        self.lossy = lossy
        self.lost = self.limited = 0

    @property
    def arrivals(self) -> list[Arrival]:
        return list_posts(self)

    def _answer(self, request: Request) -> Answer:
        answer = super()._answer(request)
        self.limited += answer.status == 429
        is_posted = request.path.endswith("chat.postMessage") and b'"ok": true' in answer.body
        if is_posted and self._draw.random() < self.lossy:
            self.lost += 1
            return Answer(status=0, ending=Ending.DROP)
        return answer


class Press:
    """Brings out papers: one or two in each category a step, some in a second, some ids late.

    Attributes:
        categories: every paper brought out so far, by id.
        late: how many of them came behind papers of higher ids.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - the same papers for the same seed
        self._number = 10_000
        self._held: list[tuple[str, int]] = []
        self.categories: dict[str, tuple[str, ...]] = {}
        self.late = 0

    def publish(self, moment: datetime, *, holds_back: bool = True) -> list[DemoPaper]:
        """Return the papers that are announced at a moment.

        Those held back keep their lower ids.
        """
        due = [paper_id for paper_id, wait in self._held if wait <= 0 or not holds_back]
        self._held = [(paper_id, wait - 1) for paper_id, wait in self._held if paper_id not in due]
        papers = [self._make(paper_id, moment, self._draw.choice(CATEGORIES)) for paper_id in due]
        self.late += len(due)
        if holds_back and self._draw.random() < 0.4:
            self._held.append((self._next_id(moment), self._draw.randrange(1, 3)))
        for category in CATEGORIES:
            papers += [
                self._make(self._next_id(moment), moment, category)
                for _ in range(self._draw.choice((1, 1, 2)))
            ]
        return papers

    def _next_id(self, moment: datetime) -> str:
        self._number += 1
        return f"{moment:%y%m}.{self._number:05d}"

    def _make(self, paper_id: str, moment: datetime, category: str) -> DemoPaper:
        others = [other for other in CATEGORIES if other != category]
        second = (self._draw.choice(others),) if self._draw.random() < 0.2 else ()
        self.categories[paper_id] = (category, *second)
        return DemoPaper(
            id=paper_id,
            announced=moment,
            submitted=(moment - timedelta(hours=7, minutes=self._draw.randrange(50)),),
            title=self._draw.choice(_TITLES).format(self._draw.choice(_THINGS)),
            abstract="".join([_SENTENCE] * self._draw.randrange(2, 9)),
            authors=(Author("Ada Example"), Author("Bo Sample")),
            categories=(category, *second),
        )


@contextmanager
def open_database(mode: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database: a file, or a real PostgreSQL of its own."""
    if mode == "sqlite":
        yield f"sqlite:///{folder / 'digest.db'}"
        return
    with quick_server() as admin:
        yield create_database(admin, "digest")
