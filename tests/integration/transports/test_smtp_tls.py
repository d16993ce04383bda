"""Mail over TLS, and with a login: nothing is said to a server that can't prove who it is."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from digest.deliver.transports.smtp_connection import Timeouts
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import ConfigurationError, DeliveryError
from tests.fakes.certificate import has_openssl
from tests.fakes.mail import MailSink
from tests.integration.transports.conftest import make_mail
from tests.integration.transports.wire import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.deliver.transports.smtp import SmtpTransport

    OpenMail = Callable[..., SmtpTransport]

READER = Destination(DestinationKind.MAIL, "reader@example.org")
CERTIFICATES = Path(__file__).parent / "certificates"
"""A made-up authority, and a certificate of its for `elsewhere.example.org`.

Both last a century.
"""

needs_openssl = pytest.mark.skipif(
    not has_openssl(), reason="the mail sink makes its certificate with openssl"
)
both_ways = pytest.mark.parametrize("way", ["starttls", "implicit_tls"])


def _encrypted(way: str, login: tuple[str, str] | None = None) -> MailSink:
    return MailSink(starttls=way == "starttls", implicit_tls=way == "implicit_tls", login=login)


def _fail(transport: SmtpTransport) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        transport.send(make_mail(), READER)
    return caught.value


@needs_openssl
@both_ways
def test_a_certificate_nobody_vouches_for_is_refused_before_a_word_is_said(
    way: str, open_mail: OpenMail
) -> None:
    with _encrypted(way) as sink:
        failure = _fail(open_mail(sink.url))
        assert sink.mails == ()
    assert "certificate" in failure.message
    assert "SSL_CERT_FILE" in failure.hint
    assert failure.whole_transport
    assert not failure.permanent
    assert not failure.ambiguous


def test_a_certificate_for_another_name_is_refused(open_mail: OpenMail) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "elsewhere.pem")
    with WireServer(context=context) as server:
        failure = _fail(
            open_mail(f"smtps://{server.address}", ca_file=CERTIFICATES / "authority.pem")
        )
    assert "127.0.0.1" in failure.message
    assert failure.whole_transport
    assert server.commands == []


def test_a_server_without_starttls_gets_neither_mail_nor_password(open_mail: OpenMail) -> None:
    with WireServer() as server:
        transport = open_mail(f"smtp+starttls://me@{server.address}", password="hunter2")
        failure = _fail(transport)
    assert failure.permanent
    assert failure.whole_transport
    assert {command.split()[0].upper() for command in server.commands} <= {"EHLO", "QUIT"}


def test_speaking_tls_to_a_server_that_does_not_fails_for_every_mail_and_says_where_to_look(
    open_mail: OpenMail,
) -> None:
    with WireServer() as server:
        failure = _fail(open_mail(f"smtps://{server.address}"))
    assert failure.whole_transport
    assert not failure.ambiguous
    assert "smtp+starttls:// is usual on port 587" in failure.hint


def test_a_certificate_file_that_cannot_be_read_is_a_configuration_error(
    open_mail: OpenMail, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="can't be read"):
        open_mail("smtps://127.0.0.1", ca_file=tmp_path / "absent.pem")


@needs_openssl
@both_ways
def test_the_login_comes_once_the_server_has_proved_who_it_is_and_lets_mail_through(
    way: str, open_mail: OpenMail
) -> None:
    with _encrypted(way, login=("me", "hunter2")) as sink:
        url = sink.url.replace("://", "://me@")
        open_mail(url, password="hunter2", ca_file=sink.certificate).send(make_mail(), READER)
        assert [(mail.login, mail.is_encrypted, mail.raw) for mail in sink.mails] == [
            ("me", True, make_mail().body)
        ]


def test_a_refused_login_stops_the_whole_transport_and_names_the_password(
    open_mail: OpenMail,
) -> None:
    with MailSink(login=("me", "hunter2")) as sink:
        failure = _fail(open_mail(sink.url.replace("//", "//me@"), password="wrong"))
        assert sink.mails == ()
    assert failure.permanent
    assert failure.whole_transport
    assert "password" in failure.hint
    assert "wrong" not in failure.message


def test_a_server_that_offers_no_login_is_not_told_the_password(open_mail: OpenMail) -> None:
    with WireServer() as server:
        failure = _fail(open_mail(f"smtp://me@{server.address}", password="hunter2"))
    assert failure.permanent
    assert failure.whole_transport
    assert not any("AUTH" in command for command in server.commands)


STARTTLS_FIRST = "530 5.7.0 Must issue a STARTTLS command first"
LOGINS = {"offers": ("AUTH PLAIN LOGIN",)}


@pytest.mark.parametrize(
    ("url", "said", "hinted", "is_permanent"),
    [
        ("smtp://", {"replies": {"MAIL": STARTTLS_FIRST}}, "smtp+starttls://", True),
        ("smtp://", {"replies": {"RCPT": STARTTLS_FIRST}}, "smtp+starttls://", True),
        (
            "smtp://",
            {"replies": {"MAIL": "523 5.7.10 Encryption Needed"}},
            "smtp+starttls://",
            True,
        ),
        (
            "smtp://me@",
            LOGINS | {"replies": {"AUTH": "538 5.7.11 Encryption required"}},
            "smtp+starttls://",
            True,
        ),
        ("smtp://me@", {"offers": ("STARTTLS",)}, "only over encryption", True),
        ("smtp+starttls://me@", {}, "smtps:// on 465", True),
        (
            "smtp+starttls://me@",
            {
                "offers": ("STARTTLS",),
                "replies": {"STARTTLS": "454 4.7.0 TLS not available due to local problem"},
            },
            "smtps:// on 465",
            False,
        ),
        (
            "smtp://me@",
            LOGINS | {"replies": {"AUTH": "454 4.7.0 Too many login attempts"}},
            "by itself",
            False,
        ),
        (
            "smtp://me@",
            LOGINS | {"replies": {"AUTH": "421 4.7.0 Too many failed logins"}},
            "by itself",
            False,
        ),
        (
            "smtp://me@",
            {"offers": ("AUTH XOAUTH2 OAUTHBEARER",)},
            "app password, if your mail provider",
            True,
        ),
        (
            "smtp://me@",
            LOGINS | {"replies": {"AUTH": "534 5.7.9 Application-specific password required."}},
            "app password",
            True,
        ),
        (
            "smtp://me@",
            LOGINS
            | {
                "replies": {
                    "AUTH": "535 5.7.139 Authentication failed, basic authentication is disabled."
                }
            },
            "relay or another provider",
            True,
        ),
        (
            "smtp://me@",
            LOGINS | {"replies": {"AUTH": "504 5.7.4 Unrecognized authentication type"}},
            "relay",
            True,
        ),
        ("smtp://me@", LOGINS | {"replies": {"AUTH": "535 5.7.8 wrong"}}, "and the password", True),
        (
            "smtp://",
            {"replies": {"MAIL": "530 5.7.0 Authentication required"}},
            "login name in `mail.smtp`",
            True,
        ),
    ],
)
def test_what_keeps_every_mail_from_the_server_is_told_with_what_to_change(
    url: str, said: dict[str, Any], hinted: str, open_mail: OpenMail, *, is_permanent: bool
) -> None:
    with WireServer(**said) as server:
        failure = _fail(open_mail(f"{url}{server.address}", password="hunter2"))
    assert hinted in failure.hint
    assert failure.whole_transport
    assert failure.permanent == is_permanent
    assert ("password" in failure.hint) == (
        "password" in hinted or "relay" in hinted or "login name" in hinted
    )


def test_a_server_that_takes_tokens_alone_is_told_as_such_and_gets_no_password(
    open_mail: OpenMail,
) -> None:
    with WireServer(offers=("AUTH XOAUTH2 OAUTHBEARER",)) as server:
        failure = _fail(open_mail(f"smtp://me@{server.address}", password="hunter2"))
    assert "takes no password: it offers XOAUTH2 OAUTHBEARER alone" in failure.message
    assert not any("AUTH" in command for command in server.commands)


@pytest.mark.parametrize("scheme", ["smtp", "smtp+starttls"])
def test_a_port_that_speaks_tls_at_once_is_hinted_at(scheme: str, open_mail: OpenMail) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "elsewhere.pem")
    with WireServer(context=context) as server:
        failure = _fail(open_mail(f"{scheme}://{server.address}", timeouts=Timeouts(command=0.3)))
    assert failure.whole_transport
    assert "smtps:// on 465" in failure.hint
