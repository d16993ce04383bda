"""Slack refuses messages for their size.

They come again with fewer papers, and count and link the others.
"""

from __future__ import annotations

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from digest.store import attempts, backups
from tests.integration.test_delivering import CHANNEL, pass_by
from tests.integration.test_lanes import by_night
from tests.integration.web.world import World, make_paper

MANY = [
    make_paper(
        16_000 + number, f"Paper {number} on queues", datetime(2026, 11, 19, 10, number, tzinfo=UTC)
    )
    for number in range(12)
]
PAPERS = 15


@pytest.fixture
def world(world: World) -> World:
    world.arxiv.add(*MANY)
    return world


def list_shown(world: World) -> list[str]:
    """Return the papers that the thread shows, in the order of posting."""
    texts = [" ".join(one.block_texts) for one in world.slack.messages if one.thread_ts]
    shown: list[str] = []
    for text in texts:
        shown += dict.fromkeys(re.findall(r"2611\.\d{5}", text))
    return shown


def states(world: World) -> dict[int, str]:
    with closing(world.open()) as site, site.store.read() as conn:
        assert backups.load_violations(conn) == []
        return {
            one.delivery.id: one.delivery.state.value
            for one in attempts.load_stored_deliveries(conn)
        }


def test_a_part_refused_for_its_size_shows_fewer_papers_and_links_the_others(world: World) -> None:
    world.write_config(to=CHANNEL)
    pass_by(world, 1)
    whole = list_shown(world)
    assert len(set(whole)) == PAPERS
    world.slack.workspace._messages.clear()
    (world.folder / "digest.db").unlink()
    world.slack.workspace.most_text = 900
    pass_by(world, 1)
    parent, part = world.slack.messages
    assert part.thread_ts == parent.ts
    shown = list_shown(world)
    assert shown == whole[:3]
    assert f"{PAPERS - len(shown)} more in the browser" in " ".join(part.block_texts)
    assert set(states(world).values()) == {"sent"}
    said = world.call("delivery", "show", "2").stdout
    assert f"papers 1 to {PAPERS}, of which it shows {len(shown)}" in said
    assert "msg_blocks_too_long" in said
    for id_ in whole[2:4]:
        hidden = "it is counted there" in world.call("explain", id_, "perf-team").stdout
        assert hidden is (id_ not in shown)


@by_night
def test_a_part_whose_template_grew_since_it_was_planned_shows_what_fits(world: World) -> None:
    world.write_config(to=CHANNEL)
    world.slack.faults.add("ratelimited", retry_after="60", path="chat.post")
    pass_by(world, 1, timedelta(minutes=5))
    templates = world.folder / "own"
    (templates / "slack").mkdir(parents=True)
    each = "{{ link(paper.url, paper.title) }}\n" + "z" * 1_200
    papers = (
        "{% for group in groups %}{% for paper in group.papers %}"
        f"{each}\n\n"
        "{% endfor %}{% endfor %}"
    )
    (templates / "slack" / "thread.txt").write_text(
        f'fallback: x\n\n{papers}\n\n{{% include "slack/rest.txt" %}}\n'
    )
    text = (world.folder / "digest.toml").read_text()
    (world.folder / "digest.toml").write_text(f'templates = "own"\n{text}')
    pass_by(world, 2)
    shown = list_shown(world)
    assert 0 < len(shown) < PAPERS
    text = " ".join(world.slack.messages[1].block_texts)
    assert f"{PAPERS - len(shown)} more in the browser" in text
    assert set(states(world).values()) == {"sent"}
