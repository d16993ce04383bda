"""Installations with a first digest sent, served from this process."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from digest.plan.links import LinkMaker
from digest.serve.steps import run_pass
from digest.site import Site
from tests.fakes.mail import ReceivedMail
from tests.harness.serving import serve_site
from tests.integration.web.world import World, live_in

ORIGIN = "https://localhost:8000"
"""That of `web.base_url`, which browsers send with each form."""


def read_fields(page: httpx.Response) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))


@dataclass
class Desk:
    """A served installation and somebody who asks it things.

    `mails` are those of the first digest, wherever it was sent from.
    """

    world: World
    site: Site
    http: httpx.Client
    mails: tuple[ReceivedMail, ...]

    @property
    def links(self) -> LinkMaker:
        return self.world.links(self.site)

    def press(
        self, page: httpx.Response, *, origin: str | None = ORIGIN, **changes: str
    ) -> httpx.Response:
        """Press the first button of a page, as a browser does; `changes` are to the fields that are sent."""
        assert "<form " in page.text, page.text
        action = re.search(r'<form [^>]*action="([^"]+)"', page.text)
        headers = {} if origin is None else {"Origin": origin}
        return self.http.post(
            page.url.join(action[1]) if action else page.url,
            data=read_fields(page) | changes,
            headers=headers,
        )

    def feed_path(self, suffix: str = "atom", generation: int = 0) -> str:
        return f"/f/{self.links.feed_token('perf-team', generation)}.{suffix}"


@contextmanager
def open_desk(
    world: World, mails: tuple[ReceivedMail, ...] = (), *, is_new: bool = True
) -> Iterator[Desk]:
    with closing(world.open()) as site:
        if is_new and not mails:
            run_pass(site)
        with (
            serve_site(site) as url,
            httpx.Client(base_url=url, headers={"Accept-Encoding": "identity"}) as http,
        ):
            yield Desk(world, site, http, mails or world.mail.mails)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One for everybody who only reads."""
    with live_in(tmp_path_factory.mktemp("shared")) as world, open_desk(world) as desk:
        yield desk


@pytest.fixture
def desk(shared: Desk, tmp_path: Path) -> Iterator[Desk]:
    """One for whoever changes something.

    A copy of the shared one's database, and a world of its own.
    """
    with (
        sqlite3.connect(shared.world.folder / "digest.db") as source,
        sqlite3.connect(tmp_path / "digest.db") as copy,
    ):
        source.backup(copy)
    source.close()
    copy.close()
    with live_in(tmp_path) as world, open_desk(world, shared.mails) as desk:
        yield desk
