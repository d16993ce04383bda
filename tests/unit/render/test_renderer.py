import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from digest.model.errors import DigestError, TemplateError
from digest.model.messages import Links, Message
from digest.model.subscriptions import Destination
from digest.render import (
    ErrorContext,
    HomeContext,
    LeaveContext,
    LeftContext,
    MailIdentity,
    Renderer,
)
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry, odd_entries, sample_digest
from tests.unit.render.conftest import MakeDelivery

Render = Callable[[str], Message]


@pytest.fixture
def render(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Render:
    """Renders the sample digest for a destination given as text."""
    return lambda to: renderer.render(sample_digest(), deliver(to), SAMPLE_LINKS, identity)


@pytest.mark.parametrize(
    ("to", "media_type", "suffix"),
    [
        ("mailto:a@b.example", "message/rfc822", ".eml"),
        ("slack:#x", "application/json", ".json"),
        ("slack-webhook:team", "application/json", ".json"),
        ("file:digests", "text/html", ".html"),
        ("console", "text/plain", ".txt"),
    ],
)
def test_a_destination_gets_its_medium(render: Render, to: str, media_type: str, suffix: str) -> None:
    message = render(to)
    assert (message.media_type, message.name) == (media_type, f"demo-team-mailing-2026-11-19{suffix}")
    assert message.body


@pytest.mark.parametrize("to", ["feed", "file:feeds/gpu.atom"])
def test_what_readers_fetch_is_never_sent(render: Render, to: str) -> None:
    with pytest.raises(DigestError, match="is a feed"):
        render(to)


@pytest.mark.parametrize("to", ["mailto:a@b.example", "console", "file:digests"])
def test_everything_but_slack_takes_one_part(renderer: Renderer, to: str) -> None:
    digest = make_digest([make_entry(number) for number in range(1, 120)])
    assert renderer.count_parts(digest, Destination.parse(to)) == 1


def test_parts_of_a_thread_get_names_of_their_own(renderer: Renderer, deliver: MakeDelivery) -> None:
    message = renderer.render_slack(sample_digest(), deliver("slack:#x", part=1, parts=2), SAMPLE_LINKS)
    assert message.name == "demo-team-mailing-2026-11-19-2.json"


def test_a_page_is_complete_whatever_the_cap(renderer: Renderer) -> None:
    digest = make_digest([make_entry(number, title=f"Paper {number}") for number in range(1, 301)], shown=3)
    page = renderer.render_page(digest, Links())
    assert page.count('<div class="paper"') == 300
    assert "Paper 300" in page
    assert page.count("It needs no change to programs") == 300


def test_a_page_names_every_author_and_shows_whole_comments(renderer: Renderer) -> None:
    page = renderer.render_page(make_digest((*odd_entries(), make_entry(50, comment="c" * 900))), Links())
    assert "Given3302 Family3302" in page
    assert "c" * 900 in page


def test_a_page_stands_on_its_own_and_needs_nothing_from_elsewhere(renderer: Renderer) -> None:
    page = renderer.render_page(sample_digest(), SAMPLE_LINKS)
    assert not re.search(r"<script|<img|<link|url\(|@import| style=| on\w+=", page)


CONTEXTS: dict[str, Any] = {
    "leave.html": LeaveContext("demo <b>", "r…@example.org", "/u/token?a=1&b=2"),
    "left.html": LeftContext("demo <b>"),
    "error.html": ErrorContext(404, "There is no <b>", "Look again."),
    "home.html": HomeContext("ops@example.org", "mailing of Thu 19 Nov: complete", is_healthy=True),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_pages_allow_one_style_by_its_hash_and_no_script(renderer: Renderer, name: str) -> None:
    page = renderer.render_web(name, CONTEXTS[name])
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles]
    assert [f"'sha256-{one}'" for one in hashes] == [renderer.web_style_hash()]
    assert "<b>" not in page.replace("<b>r…@example.org</b>", "")
    assert '<html lang="en" dir="ltr">' in page
    assert page.count("<h1>") == 1
    assert "Thank you to arXiv" in page


def test_leaving_is_a_button_that_posts_what_one_click_posts(renderer: Renderer) -> None:
    page = renderer.render_web("web/leave.html", CONTEXTS["leave.html"])
    assert '<form method="post" action="/u/token?a=1&amp;b=2">' in page
    assert '<input type="hidden" name="List-Unsubscribe" value="One-Click">' in page
    assert '<button type="submit">' in page


def test_a_page_that_does_not_exist_is_a_templates_error(renderer: Renderer) -> None:
    with pytest.raises(TemplateError, match=r"no template web/nothing\.html"):
        renderer.render_web("nothing.html", CONTEXTS["left.html"])


def test_plain_text_is_broken_at_78_columns_but_for_links(renderer: Renderer) -> None:
    text = renderer.render_text(sample_digest(), SAMPLE_LINKS)
    assert all(len(line) <= 78 or line.startswith("https://") for line in text.splitlines())
    assert "It needs no change to programs" in " ".join(text.split())
