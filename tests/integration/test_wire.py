"""One exchange over HTTP, over real connections.

Every way it can end, and whether the request was out.
"""

from __future__ import annotations

import gzip
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from digest.model.clock import monotonic
from digest.wire import (
    AnswerDamaged,
    AnswerTooLarge,
    ExchangeError,
    HttpAnswer,
    Wire,
    ask_status,
    load_authorities,
)
from tests.fakes.certificate import make_certificate
from tests.fakes.loopback import Answer, Ending, LoopbackServer

LIMIT = 10_000


def ask(
    url: str,
    *,
    deadline: float = 20.0,
    silence: float = 5.0,
    **what: Any,  # noqa: ANN401 - as `Wire.ask` has them
) -> HttpAnswer:
    wire = Wire({"User-Agent": "digest-test"}, deadline=deadline, limit=LIMIT)
    arguments = {"body": b"{}"} | what
    return wire.ask("POST", f"{url}/secret-path?a=b", silence=silence, **arguments)


def fail(url: str, **what: Any) -> ExchangeError:  # noqa: ANN401 - as `ask` has them
    with pytest.raises(ExchangeError) as caught:
        ask(url, **what)
    assert "secret-path" not in str(caught.value)
    assert "Errno" not in str(caught.value)
    return caught.value


def test_a_request_goes_out_as_it_is_and_its_answer_comes_back_whole_and_unpacked() -> None:
    with LoopbackServer(
        Answer("Pınar’s nine papers".encode(), 422, headers=(("X-More", "yes"),))
    ) as place:
        answer = ask(place.url, headers={"Content-Type": "application/json"})
    (visit,) = place.visits
    assert (visit.method, visit.path, visit.params, visit.body) == (
        "POST",
        "/secret-path",
        (("a", "b"),),
        b"{}",
    )
    assert visit.headers["user-agent"] == "digest-test"
    assert visit.headers["content-type"] == "application/json"
    assert (answer.status, answer.text, answer.headers["x-more"]) == (
        422,
        "Pınar’s nine papers",
        "yes",
    )
    assert answer.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (Ending.DROP, "disconnected"),
        (Ending.RESET, "reset"),
        (Ending.CUT, "closed"),
        (Ending.HANG, "nothing came for 0.3 seconds"),
    ],
)
def test_an_answer_that_gets_lost_leaves_the_request_out(ending: Ending, reason: str) -> None:
    with LoopbackServer(
        Answer(b"x" * 5_000, headers=(("Content-Encoding", "identity"),), ending=ending)
    ) as place:
        failure = fail(place.url, silence=0.3)
    assert failure.was_out
    assert reason in str(failure)
    assert len(place.visits) == 1


@pytest.mark.parametrize(
    "ending", [Ending.TRICKLE, Ending.TRICKLE_UNSAID, Ending.TRICKLE_HEAD, Ending.HANG], ids=str
)
def test_an_answer_that_never_ends_is_ended(ending: Ending) -> None:
    with LoopbackServer(
        Answer(b"x" * 1_000, headers=(("Content-Encoding", "identity"),), ending=ending)
    ) as place:
        begun = monotonic()
        failure = fail(place.url, deadline=0.3)
    assert "no complete answer came within 0.3 seconds" in str(failure)
    assert 0.3 <= monotonic() - begun < 3


def test_if_nobody_listens_nothing_was_out() -> None:
    with LoopbackServer(Answer()) as place:
        url = place.url
    failure = fail(url)
    assert not failure.was_out
    assert str(failure) == "Connection refused"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_like_any_other_and_nobody_goes_there(status: int) -> None:
    with (
        LoopbackServer(Answer()) as elsewhere,
        LoopbackServer(Answer(b"", status, headers=(("Location", elsewhere.url),))) as place,
    ):
        assert ask(place.url).status == status
    assert elsewhere.visits == []


@pytest.mark.parametrize(
    ("body", "coding", "kind"),
    [
        (gzip.compress(b" " * (LIMIT + 1)), "gzip", AnswerTooLarge),
        (b"no gzip", "gzip", AnswerDamaged),
        (gzip.compress(gzip.compress(b"small")), "gzip, gzip", AnswerDamaged),
    ],
    ids=["too large unpacked", "damaged", "packed twice"],
)
def test_a_body_that_cannot_be_used_is_refused(
    body: bytes, coding: str, kind: type[ExchangeError]
) -> None:
    packed = Answer(body, headers=(("Content-Encoding", coding),))
    with LoopbackServer(packed) as place:
        failure = fail(place.url)
    assert type(failure) is kind
    assert failure.was_out


def test_a_status_that_says_all_is_not_followed_by_a_wait_for_its_body() -> None:
    with LoopbackServer(Answer(b"x" * 5_000, 404, ending=Ending.TRICKLE)) as place:
        begun = monotonic()
        assert ask(place.url, unread=range(404, 405)).status == 404
        assert ask_status(place.url, silence=5) == 404
        assert monotonic() - begun < 4


class Refused(Exception):
    """A last check that says no."""


def refuse() -> None:
    raise Refused


def test_what_the_last_check_refuses_does_not_leave() -> None:
    with LoopbackServer(Answer()) as place, pytest.raises(Refused):
        ask(place.url, check=refuse)
    assert place.visits == []


def test_a_request_that_is_broken_off_during_the_last_check_does_not_leave() -> None:
    wire = Wire({}, deadline=20, limit=LIMIT)
    with (
        LoopbackServer(Answer()) as place,
        pytest.raises(ExchangeError, match="this process stopped") as caught,
    ):
        wire.ask("GET", place.url, silence=5, check=wire.hang_up)
    assert not caught.value.was_out
    assert place.visits == []


def test_no_log_shows_the_address(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), LoopbackServer(Answer()) as place:
        ask(place.url, body=b"unmistakable words")
    assert "secret-path" not in caplog.text
    assert "unmistakable" not in caplog.text


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    """A place behind TLS, whose certificate this process trusts."""
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
    load_authorities.cache_clear()
    with LoopbackServer(Answer(b"ok"), tls=certificate.load()) as place:
        yield place
    load_authorities.cache_clear()


def test_the_last_check_comes_after_tls_stands_and_before_the_request(
    secure: LoopbackServer,
) -> None:
    seen: list[int] = []
    assert ask(secure.url, check=lambda: seen.append(len(secure.visits))).text == "ok"
    assert (seen, len(secure.visits)) == ([0], 1)


def hang_up_on(url: str, is_ready: Callable[[], bool]) -> ExchangeError:
    """Ask in one thread; hang up in another once it is ready, again and again, as a stop does."""
    wire = Wire({}, deadline=20, limit=LIMIT)
    failures: list[ExchangeError] = []

    def wait() -> None:
        with pytest.raises(ExchangeError) as caught:
            wire.ask("GET", url, silence=10)
        failures.append(caught.value)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    until = monotonic() + 5
    while waiting.is_alive() and monotonic() < until:
        if is_ready():
            wire.hang_up()
        waiting.join(timeout=0.01)
    (failure,) = failures
    assert "this process stopped the request" in str(failure)
    return failure


def test_a_connection_that_is_being_secured_is_broken_off_and_nothing_was_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        failure = hang_up_on(f"https://127.0.0.1:{silent.getsockname()[1]}", lambda: True)
    assert not failure.was_out


def test_an_answer_that_is_waited_for_is_broken_off_at_once() -> None:
    with LoopbackServer(Answer(ending=Ending.HANG)) as place:
        failure = hang_up_on(place.url, lambda: bool(place.visits))
    assert failure.was_out
