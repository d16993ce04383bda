"""A small installation to be served.

An arXiv of three papers, a mailbox, a Slack, and a digest.toml.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from digest.config import load_config
from digest.model.clock import Clock, ManualClock, monotonic
from digest.model.papers import Author
from digest.plan.links import LinkMaker, make_links
from digest.serve.installation import open_site
from digest.site import Site
from digest.web import WebServer, create_app
from tests.command_line import run_digest
from tests.fakes.archive import DemoPaper, plan_announcement
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.mail import MailSink
from tests.fakes.slack import SlackReceiver

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
class World:
    """Everything on 127.0.0.1, and the folder of one installation."""

    folder: Path
    clock: Clock
    arxiv: DemoArxiv
    mail: MailSink
    slack: SlackReceiver
    environ: dict[str, str] = field(default_factory=dict)

    def write_config(
        self, *, to: tuple[str, ...] = TO, when: str = "daily at 02:00 UTC", extra: str = ""
    ) -> None:
        text = _CONFIG.format(
            arxiv=self.arxiv, mail=self.mail, slack=self.slack, to=list(to), when=when
        )
        (self.folder / "digest.toml").write_text(text.replace("'", '"') + extra, encoding="utf-8")

    def open(self, owner: str = "test") -> Site:
        config = load_config(self.folder / "digest.toml", self.environ)
        return open_site(config, self.clock, owner=owner, jitter=lambda: 0.5)

    def links(self, site: Site) -> LinkMaker:
        with site.store.read() as conn:
            return make_links(conn, site.config)

    def serve(self, *arguments: str, descriptors: int = 0, program: str = "digest") -> Served:
        return Served(self, *arguments, descriptors=descriptors, program=program)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_digest(self.folder, self.environment(), *arguments)

    def environment(self) -> dict[str, str]:
        root = str(Path(__file__).parents[3])
        return {
            **os.environ,
            **self.environ,
            "PYTHONPATH": root,
            "DIGEST_TEST_CLOCK": self.arxiv.clock_url,
        }


class Served:
    """`digest serve` as a process of its own, with so many descriptors at most; 0 for as many as we have."""

    def __init__(
        self, world: World, *arguments: str, descriptors: int = 0, program: str = "digest"
    ) -> None:
        self.lines: list[str] = []
        self.log: list[str] = []
        limited = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh"] if descriptors else []
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [*limited, sys.executable, "-m", *program.split(), "serve", *arguments],
            cwd=world.folder,
            env=world.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._readers = [
            threading.Thread(target=_collect, args=(self.process.stdout, self.lines), daemon=True),
            threading.Thread(target=_collect, args=(self.process.stderr, self.log), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        wait_until(lambda: bool(self.lines) or self.process.poll() is not None, 30)
        assert self.lines, "\n".join(self.log)

    @property
    def url(self) -> str:
        return self.lines[0].split()[2]

    def stop(self, number: int = signal.SIGTERM, seconds: float = 15.0) -> tuple[int, float]:
        """Send a signal; return the exit code and how long it took."""
        began = monotonic()
        self.process.send_signal(number)
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(5)
        return code, monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _collect(stream: IO[str], lines: list[str]) -> None:
    lines.extend(line.rstrip("\n") for line in iter(stream.readline, ""))


def wait_until(is_so: object, seconds: float = 15.0) -> None:
    assert callable(is_so)
    pause = threading.Event()
    until = monotonic() + seconds
    while not is_so():
        assert monotonic() < until, f"not so within {seconds:g} s"
        pause.wait(0.05)


@contextmanager
def live_in(folder: Path, now: datetime = EVENING) -> Iterator[World]:
    clock = ManualClock(now)
    with ExitStack() as stack:
        arxiv = stack.enter_context(DemoArxiv(PAPERS, clock))
        mail = stack.enter_context(MailSink())
        slack = stack.enter_context(SlackReceiver(clock))
        world = World(folder, clock, arxiv, mail, slack, {"DIGEST_SLACK_TOKEN": slack.token})
        world.write_config()
        yield world


def find_shell(app: ASGIApp) -> Starlette:
    """Return the web shell itself, out of what guards it."""
    while not isinstance(app, Starlette):
        app = vars(app)["_app"]
    return app


def find_routes(app: ASGIApp) -> list[Route]:
    return [route for route in find_shell(app).routes if isinstance(route, Route)]


@contextmanager
def served(site: Site, **settings: object) -> Iterator[str]:
    """Serve a site's web shell from this process; yield its address."""
    with serving(create_app(site, **settings)) as url:  # type: ignore[arg-type]  # create_app's own keywords
        yield url


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve an application from this process; yield its address."""
    web = WebServer(app, "127.0.0.1", 0)
    web.start()
    try:
        yield web.url
    finally:
        web.stop()
