"""How a mail server's URL is read."""

from __future__ import annotations

import pytest

from digest.deliver.transports.smtp_connection import Security, parse_mail_server
from digest.model.errors import ConfigurationError


@pytest.mark.parametrize(
    ("url", "security", "port"),
    [
        ("smtp://mail.example.org", Security.NONE, 25),
        ("smtp://localhost:2525", Security.NONE, 2525),
        ("smtp+starttls://mail.example.org", Security.STARTTLS, 587),
        ("smtps://mail.example.org", Security.TLS, 465),
        ("smtps://mail.example.org:4650/", Security.TLS, 4650),
        ("SMTPS://mail.example.org", Security.TLS, 465),
    ],
)
def test_the_scheme_says_how_the_connection_is_protected_and_gives_the_usual_port(
    url: str, security: Security, port: int
) -> None:
    server = parse_mail_server(url)
    assert (server.security, server.port) == (security, port)


def test_an_ipv6_address_is_read_and_shown_in_brackets() -> None:
    server = parse_mail_server("smtp://[::1]:2525")
    assert server.host == "::1"
    assert str(server) == "smtp://[::1]:2525"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "mail.example.org",
            "http://mail.example.org",
            "smtp://",
            "smtp://mail.example.org:port",
        ),
        *(
            "smtp://mail.example.org:99999",
            "smtp://mail.example.org/inbox",
            "smtp://mail.example.org?tls=yes",
        ),
    ],
)
def test_an_unreadable_url_is_refused_with_the_forms_that_work(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_mail_server(url)
    assert "smtp+starttls://name@host" in caught.value.hint


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_mail_server("smtps://me:hunter2@mail.example.org")
    assert "DIGEST_MAIL_PASSWORD" in caught.value.hint
    assert "hunter2" not in caught.value.message + caught.value.hint


def test_a_user_without_a_password_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs a password"):
        parse_mail_server("smtps://me@mail.example.org")


def test_a_login_beyond_ascii_is_refused_before_it_fails_in_the_middle_of_the_night() -> None:
    with pytest.raises(ConfigurationError, match="beyond ASCII"):
        parse_mail_server("smtps://me@mail.example.org", password="pässword")


def test_a_password_is_not_shown_when_the_server_is_printed() -> None:
    server = parse_mail_server("smtps://me@mail.example.org", password="hunter2")
    assert "hunter2" not in f"{server} {server!r}"
