"""Slack refuses messages for their size: smaller ones come in their place, each paper once, in one thread."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from digest.store import views
from digest.store.database import load_violations
from tests.integration.test_delivering import CHANNEL, pass_by
from tests.integration.test_lanes import by_night
from tests.integration.web.world import World, live_in, make_paper

MANY = [
    make_paper(16_000 + number, f"Paper {number} on queues", datetime(2026, 11, 19, 10, number, tzinfo=UTC))
    for number in range(12)
]
PAPERS = 15


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with live_in(tmp_path) as world:
        world.arxiv.add(*MANY)
        yield world


def told(world: World) -> list[list[str]]:
    """Return the papers each message of the thread tells, in the order of posting."""
    return [
        list(dict.fromkeys(re.findall(r"2611\.\d{5}", " ".join(one.block_texts))))
        for one in world.slack.messages
        if one.thread_ts
    ]


def states(world: World) -> dict[int, str]:
    site = world.open()
    try:
        with site.store.read() as conn:
            assert load_violations(conn) == []
            return {one.delivery.id: one.delivery.state.value for one in views.list_deliveries(conn)}
    finally:
        site.close()


def check_told_once(world: World) -> None:
    flat = [id_ for papers in told(world) for id_ in papers]
    assert len(flat) == len(set(flat)) == PAPERS
    parent, *others = world.slack.messages
    assert parent.thread_ts == ""
    assert {one.thread_ts for one in others} <= {parent.ts}


@by_night
def test_a_part_refused_for_its_size_comes_in_halves_in_the_same_thread_and_order(world: World) -> None:
    world.write_config(to=CHANNEL)
    pass_by(world, 1)
    whole = [id_ for papers in told(world) for id_ in papers]
    world.slack.workspace._messages.clear()
    (world.folder / "digest.db").unlink()
    world.slack.workspace.most_text = 900
    pass_by(world, 1)
    check_told_once(world)
    assert [id_ for papers in told(world) for id_ in papers] == whole
    assert set(states(world).values()) == {"sent", "superseded"}
    shown = world.run("delivery", "show", "2").stdout
    assert re.search(r"state +split", shown)
    assert re.search(r"instead +Deliveries \d+, \d+, in smaller parts", shown)
    assert "msg_blocks_too_long" in shown
    refused = world.run("delivery", "retry", "2")
    assert refused.returncode == 2
    assert re.search(r"Deliveries \d+, \d+ came in its place, being smaller", refused.stderr)
    assert "split" in world.run("delivery", "list").stdout
    listed = json.loads(world.run("delivery", "list", "--json").stdout)
    assert {one["share"] for one in listed if one["replaces"] == 2} == {"0-7", "7-15"}


def test_a_refused_parent_says_in_few_words_how_many_papers_are_in_its_thread(world: World) -> None:
    world.write_config(to=CHANNEL)
    world.slack.workspace.most_text = 700
    pass_by(world, 1)
    check_told_once(world)
    assert f"*{PAPERS} in the thread*" in world.slack.messages[0].block_texts


@by_night
def test_what_is_refused_as_one_paper_is_told_in_few_words_and_then_given_up_with_its_reason(world: World) -> None:
    world.write_config(to=CHANNEL)
    file = world.folder / "digest.toml"
    file.write_text(file.read_text().replace('base_url = "https://localhost:8000"', ""))
    world.slack.workspace.most_text = 100
    pass_by(world, 1)
    check_told_once(world)
    world.slack.workspace._messages.clear()
    (world.folder / "digest.db").unlink()
    world.slack.workspace.most_text = 20
    pass_by(world, 1)
    assert world.slack.messages == ()
    assert set(states(world).values()) == {"superseded", "dead"}
    listed = json.loads(world.run("delivery", "list", "--json", "--state", "failed").stdout)
    assert any("It cannot be made shorter" in one["last_error"] for one in listed)


@by_night
def test_a_part_whose_template_grew_since_it_was_planned_is_divided_before_anything_is_sent(world: World) -> None:
    world.write_config(to=CHANNEL)
    world.slack.faults.add("ratelimited", retry_after="60", path="chat.post")
    pass_by(world, 1, timedelta(minutes=5))
    templates = world.folder / "own"
    (templates / "slack").mkdir(parents=True)
    each = "{{ link(paper.url, paper.title) }}\n" + "z" * 1_200
    papers = f"{{% for group in groups %}}{{% for paper in group.papers %}}{each}\n\n{{% endfor %}}{{% endfor %}}"
    (templates / "slack" / "thread.txt").write_text(f"fallback: x\n\n{papers}")
    text = (world.folder / "digest.toml").read_text()
    (world.folder / "digest.toml").write_text(f'templates = "own"\n{text}')
    pass_by(world, 2)
    check_told_once(world)
    assert "superseded" in states(world).values()
