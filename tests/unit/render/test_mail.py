import email
import email.policy
import re
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest

from digest.model.errors import TemplateError
from digest.model.messages import Digest, Links
from digest.render import MailIdentity, Renderer
from digest.render.samples import (
    SAMPLE_LINKS,
    make_digest,
    make_entry,
    quiet_digests,
    sample_digest,
)
from tests.unit.render.conftest import MakeDelivery

Write = Callable[..., bytes]


@pytest.fixture(scope="module")
def write(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Write:
    """Renders a digest as the bytes of a mail."""

    def write_mail(digest: Digest, links: Links = SAMPLE_LINKS, to: str = "mailto:reader@example.org") -> bytes:
        return renderer.render_mail(digest, deliver(to), links, identity).body

    return write_mail


def _parse(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    assert not any(part.defects for part in message.walk())
    return message


def _part(raw: bytes, kind: str) -> str:
    body = _parse(raw).get_body((kind,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def test_without_any_way_to_leave_no_dead_link_is_printed(write: Write) -> None:
    raw = write(sample_digest(), Links())
    assert b"List-Unsubscribe" not in raw
    assert "nsubscribe" not in _part(raw, "html") + _part(raw, "plain")
    assert 'href=""' not in _part(raw, "html")


def test_a_title_given_to_a_subscription_stands_in_its_subjects(write: Write) -> None:
    titled = replace(quiet_digests()["quiet"], title="Graphs")
    assert _parse(write(titled))["Subject"] == "No new papers (Graphs, Thu 19 Nov)"
    long = make_digest(
        (make_entry(title="One of many words " * 9),), title="Everything about graphs, and more of it"
    )
    assert _parse(write(long))["Subject"] == (
        "1 paper: One of many words One of many words One … (Everything about …, Thu 19 Nov)"
    )


def _shown(html: str) -> int:
    return html.count("<h3 ")


def test_abstracts_shorten_in_steps_as_a_digest_grows(write: Write) -> None:
    abstract = "Words of an abstract that goes on. " * 40
    longest = []
    for count in (10, 50, 75, 95):
        html = _part(write(make_digest([make_entry(n, abstract=abstract) for n in range(1, count + 1)])), "html")
        found = re.findall(r'<p class="abstract"[^>]*>(.*?)</p>', html)
        longest.append(max((len(one) for one in found), default=0))
        assert _shown(html) == count
    assert longest[0] == len(abstract.strip())
    assert 200 < longest[1] <= 402
    assert 0 < longest[2] <= 202
    assert longest[3] == 0


def test_a_template_that_leaves_no_room_is_an_error(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/digest.html").write_text(f"<html><body>{'<p>long</p>' * 20_000}</body></html>")
    with pytest.raises(TemplateError, match="before any paper") as caught:
        Renderer([tmp_path]).render_mail(sample_digest(), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity)
    assert "Shorten" in caught.value.hint
