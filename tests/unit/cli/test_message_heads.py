from __future__ import annotations

import json
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.cli.delivery import mask_links, read_head
from digest.model.messages import Message
from digest.model.secrets import derive_token


def make_mail(text: str) -> Message:
    mail = EmailMessage()
    mail["From"] = "Digest <d@example.org>"
    mail["To"] = "r@example.org"
    mail["Subject"] = "2 papers: μpath"
    mail["List-Unsubscribe"] = "<https://digest.example.org/u/abcdefghijklmnopqrstuv>"
    mail.set_content(text)
    mail.add_alternative("<p>not this</p>", subtype="html")
    return Message("message/rfc822", mail.as_bytes(), "key")


def test_a_mail_shows_its_head_and_the_first_lines_of_its_text() -> None:
    lines = read_head(
        make_mail("Good morning, https://digest.example.org/u/abcdefghijklmnop\n" + "line\n" * 40)
    )
    assert lines[:4] == [
        "From: Digest <d@example.org>",
        "To: r@example.org",
        "Date: None",
        "Subject: 2 papers: μpath",
    ]
    assert "Good morning, https://digest.example.org/u/***" in lines
    assert lines[-1] == "…"
    assert not any("not this" in line or "List-Unsubscribe" in line for line in lines)


def test_a_slack_message_shows_its_text_and_the_texts_of_its_blocks_in_order() -> None:
    payload = {
        "text": "fallback",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "Title"}},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": "one\ntwo"}]},
            {"type": "divider"},
        ],
    }
    lines = read_head(Message("application/json", json.dumps(payload).encode(), "key"))
    assert lines == ["fallback", "Title", "one", "two"]


def test_a_text_shows_its_lines_whatever_its_bytes() -> None:
    assert read_head(Message("text/plain", b"a\n\xff", "key")) == ["a", "\ufffd"]


@pytest.mark.parametrize("kind", ["u", "d", "f"])
@given(secret=st.text(min_size=1, max_size=8))
def test_no_token_survives_in_an_address(kind: str, secret: str) -> None:
    token = derive_token(secret, kind)
    for text in (
        f"see https://digest.example.org/sub/{kind}/{token}.",
        f"<http://127.0.0.1:80/{kind}/{token}.atom>",
    ):
        assert token not in mask_links(text)
        assert f"/{kind}/***" in mask_links(text)


def test_addresses_of_papers_stay() -> None:
    text = "https://arxiv.org/abs/2611.15012v1 and https://arxiv.org/abs/hep-th/9901001"
    assert mask_links(text) == text
