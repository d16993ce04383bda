"""arXiv's interfaces at another address: nothing follows them there, and each run says so."""

from __future__ import annotations

import pytest

from tests.fakes.loopback import Answer, LoopbackServer
from tests.integration.web.world import World

ELSEWHERE = "https://new.example/api"


@pytest.mark.parametrize("setting", ["api_url", "oai_url"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_run_names_the_new_address_and_fails(world: World, setting: str, status: int) -> None:
    world.write_config(to=("mailto:reader@example.org",))
    answer = Answer(b"moved", status, headers=(("Location", f"{ELSEWHERE}?verb=x"),))
    with LoopbackServer(answer) as server:
        world.environ[f"DIGEST_ARXIV_{setting.upper()}"] = f"{server.url}/old"
        done = world.call("run")
    assert done.returncode == 4
    assert f"arXiv now answers at {ELSEWHERE} ({status})" in done.stderr
    assert len(server.visits) == 1
