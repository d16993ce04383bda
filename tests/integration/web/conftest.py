"""Installations with a first digest sent, served from this process."""

from __future__ import annotations

import re
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
from tests.harness.installation import copy_database
from tests.harness.serving import serve_site
from tests.integration.web.world import World, live_in

ORIGIN = "https://localhost:8000"
"""That of `web.base_url`, which browsers send with each form."""


def read_fields(page: httpx.Response) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))


@dataclass
class ServedSite:
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
        """Press the first button of a page, as a browser does.

        `changes` are to the fields that are sent.
        """
        assert "<form " in page.text, page.text
        action = re.search(r'<form [^>]*action="([^"]+)"', page.text)
        url = page.url.join(action[1]) if action else page.url
        headers = {} if origin is None else {"Origin": origin}
        return self.http.post(url, data=read_fields(page) | changes, headers=headers)

    def feed_path(self, suffix: str = "atom", generation: int = 0) -> str:
        return f"/f/{self.links.feed_token('perf-team', generation)}.{suffix}"


@contextmanager
def serve_installation(
    world: World, mails: tuple[ReceivedMail, ...] = (), *, is_new: bool = True
) -> Iterator[ServedSite]:
    with closing(world.open()) as site:
        if is_new and not mails:
            run_pass(site)
        with (
            serve_site(site) as url,
            httpx.Client(base_url=url, headers={"Accept-Encoding": "identity"}) as http,
        ):
            yield ServedSite(world, site, http, mails or world.mail.mails)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSite]:
    """One for everybody who only reads."""
    with live_in(tmp_path_factory.mktemp("shared")) as world, serve_installation(world) as served:
        yield served


@pytest.fixture
def served(shared: ServedSite, tmp_path: Path) -> Iterator[ServedSite]:
    """One for whoever changes something.

    A copy of the shared one's database, and a world of its own.
    """
    copy_database(shared.world.folder, tmp_path)
    with live_in(tmp_path) as world, serve_installation(world, shared.mails) as served:
        yield served
