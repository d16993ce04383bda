"""What a post holds, and what it says of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from digest.model.messages import Digest, Links
from digest.model.papers import Author
from digest.render.mail import MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry
from tests.unit.render.conftest import MakeDelivery, plan_digest


@pytest.fixture
def post(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Any:  # noqa: ANN401 - what JSON holds
    def write(digest: Digest, links: Links = SAMPLE_LINKS) -> Any:  # noqa: ANN401 - the same
        body = renderer.render(digest, deliver("webhook:lab"), links, identity).body
        assert len(body) <= 256_000
        event = json.loads(body)
        return event["data"]

    return write


def ids(first: int, last: int) -> list[str]:
    return [f"2611.15{number:03d}" for number in range(first, last + 1)]


def test_a_post_holds_100_papers_and_counts_links_and_names_the_rest(post: Any) -> None:  # noqa: ANN401 - a fixture
    data = post(make_digest([make_entry(number) for number in range(1, 121)]))
    assert [paper["id"] for paper in data["papers"]] == ids(1, 100)
    assert data["rest"] == {"count": 20, "url": SAMPLE_LINKS.web_view, "ids": ids(101, 120)}
    few = post(make_digest([make_entry(number) for number in range(1, 4)]), Links())
    assert len(few["papers"]) == 3
    assert few["rest"] == {"count": 0, "url": None, "ids": []}


def test_a_post_is_no_longer_than_256_kb_and_a_paper_too_long_for_it_keeps_no_other_away(
    post: Any,  # noqa: ANN401 - a fixture
) -> None:
    crowd = tuple(
        Author(f"Member {number} of a collaboration", ("A laboratory",)) for number in range(5_000)
    )
    entries = [
        make_entry(1, authors=crowd),
        *(make_entry(n, abstract="π" * 2_000) for n in range(2, 60)),
    ]
    data = post(make_digest(entries))
    told = [paper["number"] for paper in data["papers"]]
    assert told == list(range(2, told[-1] + 1))
    assert len(told) > 15
    assert data["rest"]["count"] == 59 - len(told)
    assert data["rest"]["ids"] == [*ids(1, 1), *ids(told[-1] + 1, 59)]


def test_a_post_has_the_digests_headings_and_each_papers_form_reason_place_and_links(
    post: Any,  # noqa: ANN401 - a fixture
) -> None:
    digest = plan_digest(30, comment="Accepted at OSDI 2026; code: https://github.com/made/up")
    data = post(digest)
    first, *_, last = data["papers"]
    assert data["groups"][0] == {"title": "Read first", "count": 5, "form": "one sentence"}
    assert [group["title"] for group in data["groups"]] == list(
        dict.fromkeys(p["heading"] for p in data["papers"])
    )
    assert (first["form"], first["why_first"]) == (
        "one sentence",
        "in two of your queries · accepted at OSDI 2026",
    )
    assert (last["form"], last["why_first"], last["place"]) == (
        "title",
        "",
        "accepted at OSDI 2026",
    )
    assert {"label": "Code", "url": "https://github.com/made/up"} in last["links"]
