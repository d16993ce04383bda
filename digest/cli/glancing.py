"""A look at a rendered message: the first lines a reader saw, without the secret addresses in it."""

from __future__ import annotations

import json
import re
from email import message_from_bytes, policy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.messages import Message

_LINES = 24
_HEADERS = ("From", "To", "Date", "Subject", "Message-ID")


def glance_at(message: Message) -> list[str]:
    """Return the head of a mail, of a Slack message or of a text, as lines; secret addresses are masked."""
    if message.media_type == "message/rfc822":
        lines = _read_mail(message.body)
    elif message.media_type == "application/json":
        lines = _read_slack(message.body)
    else:
        lines = iter(message.body.decode("utf-8", "replace").splitlines())
    return [mask_links(line) for line in _first(lines)]


def mask_links(text: str) -> str:
    """Return a text in which no address works that is a secret of its reader: feeds, pages, ways to leave."""
    return re.sub(r"(https?://[^\s\"'<>]*?/[a-z])/[\w-]{16,}", r"\1/***", text)


def _first(lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number >= _LINES:
            yield "…"
            return
        yield line


def _read_mail(body: bytes) -> Iterator[str]:
    mail = message_from_bytes(body, policy=policy.default)
    for name in _HEADERS:
        yield f"{name}: {mail[name]}"
    text = mail.get_body(("plain",))
    if text is not None:
        yield ""
        yield from text.get_content().splitlines()


def _read_slack(body: bytes) -> Iterator[str]:
    payload = json.loads(body)
    yield str(payload.get("text", ""))
    yield ""
    for block in payload.get("blocks", ()):
        for text in _find_texts(block):
            yield from text.splitlines()


def _find_texts(part: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Yield the texts of a block, in order, however deep."""
    if isinstance(part, dict):
        text = part.get("text")
        if isinstance(text, str):
            yield text
        for value in part.values():
            if isinstance(value, dict | list):
                yield from _find_texts(value)
    elif isinstance(part, list):
        for value in part:
            yield from _find_texts(value)
