"""What stories are lived in: an arXiv, small or large, and installations beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine

from digest.model.clock import ManualClock, RemoteClock
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.mail import MailSink
from tests.fakes.slack import SlackReceiver
from tests.harness.installation import Installation
from tests.harness.papers import START, made_up
from tests.harness.stand_in import StandIn
from tests.postgres_servers import create_database
from tests.simulator.days import working_folder
from tests.simulator.deaths import ForkedProcesses
from tests.simulator.fail_points import perf_team
from tests.simulator.life import Life

_CONFIG = """
[arxiv]
contact = "ops@example.org"
source = "{source}"
api_url = "{arxiv.url}/api/query"
oai_url = "{arxiv.url}/oai"

[mail]
from = "digest@example.org"
smtp = "{mail.url}"

[slack]
url = "{slack.url}"

[defaults]
when = "{when}"
{extra}

[queries]
perf = '{query}'

[[subscriptions]]
name = "perf-team"
follow = ["perf"]
to = ["mailto:reader@example.org", "slack:#papers", "feed", "file:feeds/perf.atom"]
"""

_numbers = count(1)


@pytest.fixture
def real_data() -> Path:
    folder = os.environ.get("DIGEST_REAL_DATA")
    if not folder:
        pytest.skip("DIGEST_REAL_DATA names no folder of real papers")
    return Path(folder)


@pytest.fixture
def stand_in(real_data: Path) -> Iterator[Callable[..., StandIn]]:
    running: list[StandIn] = []

    def start(papers: list[str], now: str) -> StandIn:
        running.append(StandIn(real_data, papers, now))
        return running[-1]

    yield start
    for process in running:
        process.close()


@pytest.fixture
def old_papers() -> list[DemoPaper]:
    """Papers of the days before; a story may have others."""
    return [
        made_up(number, START - timedelta(days=4) + timedelta(minutes=number))
        for number in range(1, 21)
    ]


@pytest.fixture
def arxiv(old_papers: list[DemoPaper]) -> Iterator[DemoArxiv]:
    with DemoArxiv(old_papers, ManualClock(START), pace=3.0) as running:
        yield running
        assert running.violations == ()


@pytest.fixture
def clock(arxiv: DemoArxiv) -> ManualClock:
    moving = arxiv.clock
    assert isinstance(moving, ManualClock)
    return moving


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[..., Installation]]:
    """Return a function that makes an installation beside an arXiv, small or large.

    In the end all that came to its readers is held against what was planned.
    """
    made: list[Installation] = []
    with ExitStack() as stack:
        mail = stack.enter_context(MailSink())

        def make(
            arxiv: DemoArxiv,
            *,
            source: str = "harvest",
            extra: str = "",
            query: str = "cat:cs.PF",
            when: str = "daily at 06:00 UTC",
        ) -> Installation:
            # Beside the small arXiv its own clock will do; the large one is a process of its own.
            is_small = isinstance(arxiv, DemoArxiv)
            clock = arxiv.clock if is_small else RemoteClock(arxiv.clock_url)
            slack = stack.enter_context(SlackReceiver(clock))
            here = stack.enter_context(closing(Installation(tmp_path, clock, arxiv, mail, slack)))
            servers = {"arxiv": arxiv, "mail": mail, "slack": slack}
            here.write(
                _CONFIG.format(**servers, source=source, extra=extra, query=query, when=when)
            )
            made.append(here)
            return here

        yield make
        assert [dict(here.judge().findings) for here in made] == [{} for _ in made]


@pytest.fixture(scope="session")
def forked_processes() -> Iterator[ForkedProcesses]:
    with ForkedProcesses() as one:
        yield one


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    with working_folder() as folder:
        yield folder


@pytest.fixture
def make_database(
    request: pytest.FixtureRequest, quick_folder: Path
) -> Callable[[str], tuple[str, str]]:
    """Return a function that makes an empty database of a kind.

    It returns its URL and that of its server.
    """

    def make(kind: str) -> tuple[str, str]:
        if kind == "sqlite":
            return f"sqlite:///{quick_folder / 'digest.db'}", ""
        server: Engine = request.getfixturevalue("postgresql_server")
        admin = server.url.set(drivername="postgresql").render_as_string(hide_password=False)
        return create_database(server, f"mortal_{next(_numbers)}"), admin

    return make


@pytest.fixture
def live(
    forked_processes: ForkedProcesses,
    quick_folder: Path,
    make_database: Callable[[str], tuple[str, str]],
) -> Callable[[str], AbstractContextManager[Life]]:
    """Return a function that sets up an installation on a kind of database.

    It is the noon after a day with news.
    """

    @contextmanager
    def begin(kind: str) -> Iterator[Life]:
        with perf_team(quick_folder, forked_processes, *make_database(kind)) as one:
            yield one

    return begin
