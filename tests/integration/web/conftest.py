"""Installations with a first digest sent, served from this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from digest.pipeline import LinkMaker, Site, run_pass
from tests.integration.web.world import World, live_in, served


@dataclass
class Desk:
    """A served installation and somebody who asks it things."""

    world: World
    site: Site
    http: httpx.Client

    @property
    def links(self) -> LinkMaker:
        return self.world.links(self.site)

    def feed_path(self, suffix: str = "atom", generation: int = 0) -> str:
        return f"/f/{self.links.feed_token('perf-team', generation)}.{suffix}"


@contextmanager
def _open_desk(world: World) -> Iterator[Desk]:
    site = world.open()
    try:
        run_pass(site)
        with served(site) as url, httpx.Client(base_url=url, headers={"Accept-Encoding": "identity"}) as http:
            yield Desk(world, site, http)
    finally:
        site.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One for everybody who only reads."""
    with live_in(tmp_path_factory.mktemp("shared")) as world, _open_desk(world) as desk:
        yield desk


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with live_in(tmp_path) as world:
        yield world


@pytest.fixture
def desk(world: World) -> Iterator[Desk]:
    """One for whoever changes something."""
    with _open_desk(world) as desk:
        yield desk
