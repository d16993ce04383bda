"""Slack is reached over TLS: the certificate is checked, and the last look is taken once the connection stands."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from digest.deliver.transports.slack import SlackTransport
from digest.model.errors import DeliveryError
from tests.fakes.certificate import make_certificate
from tests.integration.transports.slack_posts import PAPERS, make_post

_ANSWER = b'{"ok": true, "channel": "C000PAPERS", "ts": "1795339450.000100", "message": {}}'


class _Slack(http.server.BaseHTTPRequestHandler):
    posts: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.posts.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(_ANSWER)))
        self.end_headers()
        self.wfile.write(_ANSWER)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A Slack behind TLS, whose certificate this process trusts."""
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
    _Slack.posts.clear()
    with http.server.HTTPServer(("127.0.0.1", 0), _Slack) as server:
        server.socket = certificate.load().wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}/api/"
        server.shutdown()
        thread.join()


def test_a_post_goes_out_over_tls(url: str) -> None:
    assert SlackTransport(token="xoxb-1", url=url).send(make_post(), PAPERS).remote_id == "1795339450.000100"
    assert _Slack.posts == ["/api/chat.postMessage"]


def test_a_certificate_that_nobody_vouches_for_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(DeliveryError, match="certificate"):
        SlackTransport(token="xoxb-1", url=url).send(make_post(), PAPERS)
    assert _Slack.posts == []


def test_what_is_ours_no_more_when_the_connection_stands_is_not_posted(url: str) -> None:
    looks: list[bool] = []

    def is_ours() -> bool:
        looks.append(True)
        return False

    with pytest.raises(DeliveryError, match="claim on it ended") as caught:
        SlackTransport(token="xoxb-1", url=url).send(make_post(), PAPERS, is_ours)
    assert looks == [True]
    assert not caught.value.ambiguous
    assert _Slack.posts == []
