import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from digest.model.errors import DigestError
from digest.model.messages import Message
from digest.people.stored import STORED
from digest.render.contexts import ErrorContext, StoredContext
from digest.render.mail import MailIdentity
from digest.render.pages import UnsubscribeContext
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS
from tests.samples import sample_digest, sample_start, sample_trials
from tests.unit.render.conftest import KEY, MakeDelivery

Render = Callable[[str], Message]


@pytest.fixture
def render(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Render:
    """Renders the sample digest for a destination given as text."""
    return lambda to: renderer.render(sample_digest(), deliver(to), SAMPLE_LINKS, identity)


@pytest.mark.parametrize(
    ("to", "media_type", "name"),
    [
        ("mailto:a@b.example", "message/rfc822", "demo-team-mailing-2026-11-19.eml"),
        ("slack:#x", "application/json", "demo-team-mailing-2026-11-19.json"),
        ("slack-webhook:team", "application/json", "demo-team-mailing-2026-11-19.json"),
        ("file:digests", "text/html", "mailing-2026-11-19-demo-team.html"),
        ("console", "text/plain", "demo-team-mailing-2026-11-19.txt"),
    ],
)
def test_a_destination_gets_its_medium(render: Render, to: str, media_type: str, name: str) -> None:
    message = render(to)
    assert (message.media_type, message.name) == (media_type, name)
    assert message.idempotency_key == KEY
    assert message.body


@pytest.mark.parametrize("to", ["feed", "file:feeds/gpu.atom"])
def test_what_readers_fetch_is_never_sent(render: Render, to: str) -> None:
    with pytest.raises(DigestError, match="is a feed"):
        render(to)


def test_a_page_stands_on_its_own_and_needs_nothing_from_elsewhere(renderer: Renderer) -> None:
    page = renderer.render_page(sample_digest(), SAMPLE_LINKS)
    assert not re.search(r"<script|<img|<link|url\(|@import| style=| on\w+=", page)


CONTEXTS: dict[str, Any] = {
    "unsubscribe.html": UnsubscribeContext(
        "demo <b>", "r…@example.org", action="/u/token?a=1&b=2", token="sample"
    ),
    "unsubscribed.html": UnsubscribeContext("demo <b>"),
    "stored.html": StoredContext(STORED),
    "error.html": ErrorContext(404, "There is no <b>", "Look again."),
    "start.html": sample_start(sample_trials()[0]),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_pages_allow_one_style_by_its_hash_and_a_script_of_our_own(
    renderer: Renderer, name: str
) -> None:
    page = renderer.render_web(name, CONTEXTS[name])
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    hashes = [
        base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles
    ]
    assert [f"'sha256-{one}'" for one in hashes] == [renderer.web_style_hash()]
    assert re.findall(r"<script.*?>", page) == ['<script src="live.js" defer>'] * (
        name == "start.html"
    )
    assert not re.search(r" style=| on\w+=", page)
    assert "<b>" not in page.replace("<b>r…@example.org</b>", "")
    assert '<html lang="en" dir="ltr">' in page
    assert page.count("<h1>") == 1
    assert "Thank you to arXiv" in page
