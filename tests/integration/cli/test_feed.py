"""Feeds and their secret addresses, against the real web shell."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx
import pytest

from digest.config import load_config
from digest.model.clock import RemoteClock
from digest.serve.installation import open_site
from digest.web import WebServer, create_app
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World


def fetch(world: World, *addresses: str) -> list[httpx.Response]:
    """Ask a server started now for each address."""
    config = load_config(world.folder / "digest.toml", world.environ)
    site = open_site(config, RemoteClock(world.arxiv.clock_url), owner="web", jitter=lambda: 0.5)
    server = WebServer(create_app(site), "127.0.0.1", 0)
    server.start()
    try:
        with httpx.Client(base_url=server.url) as http:
            return [http.get(urlsplit(address).path) for address in addresses]
    finally:
        server.stop()
        site.close()


@pytest.mark.usefixtures("world")
def test_the_list_shows_feeds_but_no_secret(digest: Shell) -> None:
    assert digest("feed", "list", "--json").json[1] == {
        "subscription": "perf-team",
        "feed": "feed",
        "state": "open",
        "queries": ["perf", "gpu", "follow"],
        "addresses": None,
    }


@pytest.mark.usefixtures("world")
def test_the_secret_addresses_are_listed_together_where_they_are_asked_for(digest: Shell) -> None:
    listed = digest("feed", "list", "--secret").out
    assert digest("feed", "list", "perf-team", "--secret").out.strip() in listed
    assert "/f/" not in digest("feed", "list").out


def test_the_address_printed_is_the_one_the_server_answers_at(world: World, digest: Shell) -> None:
    atom = digest("feed", "list", "perf-team", "--secret").out.strip()
    addresses = digest("feed", "list", "perf-team", "--secret", "--json").json[0]["addresses"]
    assert addresses["atom"] == atom
    assert atom.startswith("http://127.0.0.1:8000/f/")
    answers = fetch(world, atom, addresses["json"])
    assert [answer.status_code for answer in answers] == [200, 200]
    assert "Tail latency" in answers[0].text
    assert len(answers[1].json()["items"]) == 11


def test_a_revoked_feed_answers_nowhere_until_it_gets_another_address(
    world: World, digest: Shell
) -> None:
    old = digest("feed", "list", "perf-team", "--secret").out.strip()
    for _ in range(2):
        digest("feed", "revoke", "perf-team")
    assert "was revoked" in digest("feed", "list", "perf-team", "--secret", expect=2).err
    new = digest("feed", "rotate", "perf-team").out.strip()
    assert digest("feed", "list", "perf-team", "--secret").out.strip() == new != old
    assert [answer.status_code for answer in fetch(world, old, new)] == [410, 200]


def test_without_a_public_address_there_is_none_to_print_and_none_is_made_void(
    world: World, digest: Shell
) -> None:
    before = digest("feed", "list", "perf-team", "--secret").out
    world.edit('base_url = "http', '# base_url = "http')
    for command in (["list", "--secret"], ["rotate"]):
        said = digest("feed", *command, "perf-team", expect=3)
        assert "nothing says where `digest serve` can be reached" in said.err
        assert 'base_url = "https://…"' in said.err
    assert "needs base_url under [web]" in digest("feed", "list").out
    world.edit('# base_url = "http', 'base_url = "http')
    assert digest("feed", "list", "perf-team", "--secret").out == before


@pytest.mark.usefixtures("world")
def test_a_subscription_without_a_feed_is_told_how_to_get_one(digest: Shell) -> None:
    said = digest("feed", "list", "gpu-mail", "--secret", expect=2)
    assert "the subscription gpu-mail has no feed with an address" in said.err
    assert 'Add "feed" to its `to`' in said.err
    assert "Did you mean 'perf-team'?" in digest("feed", "rotate", "perf-taem", expect=2).err
