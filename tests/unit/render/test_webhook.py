"""What a post holds, and what it says of the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from digest.model.messages import Digest, DigestEntry, Links
from digest.model.papers import Author
from digest.render.mail import MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry
from tests.unit.render.conftest import MakeDelivery, plan_digest

Post = Callable[..., dict[str, Any]]
"""Renders a digest as a post, and returns what it holds."""


@pytest.fixture
def post(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Post:
    def write(digest: Digest, links: Links = SAMPLE_LINKS) -> dict[str, Any]:
        delivery = deliver("webhook:lab")
        body = renderer.render(digest, delivery, links, identity).body
        assert len(body) <= 256_000
        data: dict[str, Any] = json.loads(body)["data"]
        return data

    return write


def ids(first: int, last: int) -> list[str]:
    return [f"2611.15{number:03d}" for number in range(first, last + 1)]


def make_papers(count: int) -> list[DigestEntry]:
    return [make_entry(number) for number in range(1, count + 1)]


def test_a_post_holds_100_papers_and_counts_links_and_names_the_rest(post: Post) -> None:
    many = post(make_digest(make_papers(120)))
    assert [paper["id"] for paper in many["papers"]] == ids(1, 100)
    assert many["rest"] == {"count": 20, "url": SAMPLE_LINKS.web_view, "ids": ids(101, 120)}
    few = post(make_digest(make_papers(3)), Links())
    assert len(few["papers"]) == 3
    assert few["rest"] == {"count": 0, "url": None, "ids": []}


def test_a_post_is_no_longer_than_256_kb_and_a_paper_too_long_for_it_keeps_no_other_away(
    post: Post,
) -> None:
    where = ("A laboratory",)
    crowd = tuple(Author(f"Member {number} of a collaboration", where) for number in range(5_000))
    too_long = make_entry(1, authors=crowd)
    others = [make_entry(number, abstract="π" * 2_000) for number in range(2, 60)]
    data = post(make_digest([too_long, *others]))
    numbers = [paper["number"] for paper in data["papers"]]
    last = numbers[-1]
    assert numbers == list(range(2, last + 1))
    assert len(numbers) > 15
    assert data["rest"]["count"] == 59 - len(numbers)
    assert data["rest"]["ids"] == [*ids(1, 1), *ids(last + 1, 59)]


def test_a_post_has_the_digests_headings_and_each_papers_form_reason_place_and_links(
    post: Post,
) -> None:
    digest = plan_digest(30, comment="Accepted at OSDI 2026; code: https://github.com/made/up")
    data = post(digest)
    first, *_, last = data["papers"]
    assert data["groups"][0] == {"title": "Read first", "count": 5, "form": "one sentence"}
    titles = [group["title"] for group in data["groups"]]
    headings = dict.fromkeys(paper["heading"] for paper in data["papers"])
    assert titles == list(headings)
    assert first["form"] == "one sentence"
    assert first["why_first"] == "in two of your queries · accepted at OSDI 2026"
    assert last["form"] == "title"
    assert last["why_first"] == ""
    assert last["place"] == "accepted at OSDI 2026"
    assert {"label": "Code", "url": "https://github.com/made/up"} in last["links"]
