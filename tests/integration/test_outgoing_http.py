"""How all that speak HTTP get out: through a proxy, and past an authority of a company's own."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.config.addresses import choose_proxy
from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.slack_webhook import WebhookTransport
from digest.deliver.transports.webhook import SignedWebhookTransport
from digest.model.clock import SystemClock
from digest.model.destinations import Destination
from digest.model.errors import DigestError
from digest.model.messages import Message
from digest.wire import load_authorities
from tests.fakes.certificate import Certificate, make_certificate
from tests.fakes.loopback import Answer, LoopbackServer
from tests.fakes.proxy import ForwardProxy
from tests.integration.arxiv.conftest import AGENT, WatchedGate
from tests.integration.transports.slack_posts import make_post

if TYPE_CHECKING:
    from digest.config.addresses import ChooseProxy


def _ask_arxiv(url: str, choose: ChooseProxy) -> None:
    addresses = ArxivAddresses(f"{url}/api", f"{url}/oai")
    ArxivClient(addresses, AGENT, WatchedGate(), SystemClock(), choose_proxy=choose).greet("query")


def _post_to_slack(url: str, choose: ChooseProxy) -> None:
    slack = SlackTransport(token="xoxb-1", url=f"{url}/api/", choose_proxy=choose)
    slack.send(make_post(), Destination.parse("slack:C0PAPERS00"))


def _post_to_slack_webhook(url: str, choose: ChooseProxy) -> None:
    hook = WebhookTransport(hooks={"lab": url}, choose_proxy=choose)
    hook.send(Message("application/json", b"{}", "key"), Destination.parse("slack-webhook:lab"))


def _post_to_webhook(url: str, choose: ChooseProxy) -> None:
    hook = SignedWebhookTransport(
        hooks={"lab": (url, bytes(32))}, now=SystemClock().now, choose_proxy=choose
    )
    hook.send(Message("application/json", b"{}", "key"), Destination.parse("webhook:lab"))


WAYS: dict[str, Callable[[str, ChooseProxy], None]] = {
    "arXiv": _ask_arxiv,
    "Slack": _post_to_slack,
    "Slack webhook": _post_to_slack_webhook,
    "webhook": _post_to_webhook,
}
STRAIGHT = partial(choose_proxy, {}, "", "")


def fail(way: str, url: str, choose: ChooseProxy = STRAIGHT) -> str:
    """Return what is said if it fails, message and hint.

    Of arXiv the message alone, as a run shows it.
    """
    with pytest.raises(DigestError) as caught:
        WAYS[way](url, choose)
    error = caught.value
    if way == "arXiv":
        return error.message
    return f"{error.message} | {error.hint}"


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Certificate]:
    """The certificate of a company's own authority, which SSL_CERT_FILE names."""
    made = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.path))
    load_authorities.cache_clear()
    yield made
    load_authorities.cache_clear()


@pytest.fixture
def outside(certificate: Certificate) -> Iterator[str]:
    """The port of a server behind TLS that refuses all in its own way."""
    with LoopbackServer(lambda _: Answer(b"teapot", 418), tls=certificate.load()) as server:
        yield server.url.rpartition(":")[2]


@pytest.mark.parametrize("way", WAYS)
def test_each_way_out_asks_the_proxy_for_what_is_outside_and_never_for_this_machine(
    way: str, outside: str
) -> None:
    with ForwardProxy() as proxy:
        choose = partial(
            choose_proxy, {"HTTPS_PROXY": proxy.url.replace("//", "//ada:p%25ss@")}, "", ""
        )
        assert "418" in fail(way, f"https://outside.test:{outside}", choose)
        assert proxy.asked == [f"CONNECT outside.test:{outside}"]
        assert [b64decode(login) for login in proxy.logins] == [b"ada:p%ss"]
        assert "418" in fail(way, f"https://127.0.0.1:{outside}", choose)
        assert len(proxy.asked) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("url", "refusal", "said"),
    [
        (
            "https://outside.test",
            "407 No",
            "the proxy refuses: 407, it wants a name and a password",
        ),
        ("http://outside.test", "407 No", "the proxy refuses: 407, it wants a name and a password"),
        ("https://outside.test", "403 Forbidden", "the proxy refuses: 403 Forbidden"),
    ],
)
def test_a_proxy_that_refuses_is_named_with_its_variable_and_without_its_password(
    way: str, url: str, refusal: str, said: str
) -> None:
    with ForwardProxy(refusal=refusal) as proxy:
        choose = partial(
            choose_proxy, {"all_proxy": proxy.url.replace("//", "//ada:secret@")}, "", ""
        )
        words = [fail(way, url, choose)]
    words.append(fail(way, url, choose))
    assert said in words[0]
    assert "the proxy can't be reached: Connection refused" in words[1]
    for one in words:
        assert f"the proxy {proxy.url}, from all_proxy" in one
        assert "secret" not in one


def test_what_is_asked_without_tls_goes_through_the_proxy_as_well() -> None:
    with LoopbackServer(lambda _: Answer(b"teapot", 418)) as server, ForwardProxy() as proxy:
        url = server.url.replace("127.0.0.1", "outside.test")
        choose = partial(choose_proxy, {}, proxy.url, "digest.toml")
        assert "418" in fail("arXiv", url, choose)
    (asked,) = proxy.asked
    assert asked.partition("?")[0] == f"GET {url}/api"


def test_a_proxy_behind_tls_is_trusted_by_the_same_certificates(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ForwardProxy(refusal="403 Forbidden", tls=certificate.load()) as proxy:
        choose = partial(choose_proxy, {}, proxy.url, "digest.toml")
        assert "the proxy refuses: 403" in fail("arXiv", "https://outside.test", choose)
        monkeypatch.delenv("SSL_CERT_FILE")
        load_authorities.cache_clear()
        words = fail("arXiv", "https://outside.test", choose)
    assert "the proxy can't be reached: the certificate can't be trusted" in words


@pytest.mark.parametrize("way", WAYS)
def test_a_certificate_of_an_unknown_authority_is_refused_with_a_hint_that_names_the_variable(
    way: str, outside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "418" in fail(way, f"https://127.0.0.1:{outside}")
    monkeypatch.delenv("SSL_CERT_FILE")
    load_authorities.cache_clear()
    words = fail(way, f"https://127.0.0.1:{outside}")
    assert "the certificate can't be trusted" in words
    assert "SSL_CERT_FILE" in words


@pytest.mark.parametrize(
    ("way", "status"), [*((way, 429) for way in WAYS), ("arXiv", 503), ("webhook", 503)]
)
@pytest.mark.parametrize("is_date", [True, False])
def test_each_way_out_waits_as_long_as_it_is_asked_to(
    way: str, status: int, *, is_date: bool
) -> None:
    until = format_datetime(SystemClock().now() + timedelta(seconds=65), usegmt=True)
    later = Answer(b"later", status, headers=(("Retry-After", until if is_date else "64.57"),))
    with LoopbackServer(lambda _: later) as server, pytest.raises(DigestError) as caught:
        WAYS[way](server.url, STRAIGHT)
    assert 60 < caught.value.retry_after <= 66  # type: ignore[attr-defined]
