from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from digest.web.forms import read_body
from digest.web.guards import BODY_LIMIT, BodyLimit, name_path

TOKENS = st.text(st.characters(exclude_characters="/"), min_size=1, max_size=30)


@given(st.sampled_from("fudapck"), TOKENS)
def test_no_token_is_logged(prefix: str, token: str) -> None:
    assert name_path(f"/{prefix}/{token}") == f"/{prefix}/…"


@given(st.text(max_size=40))
def test_an_unknown_path_is_not_logged_at_all(path: str) -> None:
    assert name_path(f"/x{path}") == "(no such page)"


def test_which_paper_somebody_looks_up_is_not_logged() -> None:
    assert name_path("/refs/2611.14886.bib") == "/refs/…"


@pytest.mark.parametrize("path", ["/", "/livez", "/readyz"])
def test_pages_without_a_secret_are_logged_by_name(path: str) -> None:
    assert name_path(path) == path


async def _echo_length(scope: Scope, receive: Receive, send: Send) -> None:
    body = read_body(Request(scope))
    response = PlainTextResponse(str(len(body)))
    await response(scope, receive, send)


def post(
    pieces: Iterable[bytes], *, announced: int | None = None, method: str = "POST"
) -> tuple[int, bytes]:
    """Send a body piece by piece through the limit; return status and body of the answer."""
    waiting: list[Message] = []
    for piece in pieces:
        waiting.append({"type": "http.request", "body": piece, "more_body": True})
    waiting.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    def fail(status: int) -> Response:
        return PlainTextResponse("refused", status)

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": "/u/x",
        "headers": headers,
        "query_string": b"",
    }
    limit = BodyLimit(_echo_length, fail=fail)
    asyncio.run(limit(scope, receive, send))
    start, *parts = sent
    body = b"".join(part.get("body", b"") for part in parts)
    return start["status"], body


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_a_body_within_the_limit_arrives_whole(pieces: list[bytes]) -> None:
    length = sum(len(piece) for piece in pieces)
    status, body = post(pieces)
    assert status == 200
    assert body == str(length).encode()


def test_a_body_may_have_just_as_many_bytes_as_the_limit_says() -> None:
    longest = bytes(BODY_LIMIT)
    status, _ = post([longest])
    assert status == 200
    status, _ = post([longest, b"x"])
    assert status == 413


def test_a_body_announced_as_too_long_is_not_even_read() -> None:
    status, _ = post([], announced=BODY_LIMIT + 1)
    assert status == 413
