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
    await PlainTextResponse(str(len(read_body(Request(scope)))))(scope, receive, send)


def post(
    pieces: Iterable[bytes], *, announced: int | None = None, method: str = "POST"
) -> tuple[int, bytes]:
    """Send a body piece by piece through the limit; return status and body of the answer."""
    waiting: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
    ]
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
    asyncio.run(BodyLimit(_echo_length, fail=fail)(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_a_body_within_the_limit_arrives_whole(pieces: list[bytes]) -> None:
    assert post(pieces) == (200, str(sum(map(len, pieces))).encode())


def test_a_body_may_have_just_as_many_bytes_as_the_limit_says() -> None:
    assert post([bytes(BODY_LIMIT)])[0] == 200
    assert post([bytes(BODY_LIMIT), b"x"])[0] == 413


def test_a_body_announced_as_too_long_is_not_even_read() -> None:
    assert post([], announced=BODY_LIMIT + 1)[0] == 413
