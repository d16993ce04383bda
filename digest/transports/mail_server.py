"""Which mail server to talk to, and how: read from a URL.

`smtp://host` is plain (a mail server on this machine or network), `smtp+starttls://host` upgrades
before anything is said (RFC 3207), `smtps://host` starts with TLS (RFC 8314). Certificates are always
verified, and no scheme falls back to a weaker one.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from digest.clock import LOOPBACK_HOSTS
from digest.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


class Security(StrEnum):
    """How the connection is protected, named as in the URL."""

    NONE = "smtp"
    STARTTLS = "smtp+starttls"
    TLS = "smtps"


DEFAULT_PORTS = {Security.NONE: 25, Security.STARTTLS: 587, Security.TLS: 465}

_HOW_TO = "Write smtp://host:25, smtp+starttls://host:587 or smtps://host:465; the port may be left out."


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server that takes our mail.

    Attributes:
        host: name or address; with TLS, the name its certificate must carry.
        port: TCP port.
        security: how the connection is protected.
        user: whom to log in as; "" for no login.
        password: the password of `user`.
        ca_file: PEM certificates trusted besides the system's; None for the system's alone.
    """

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: Path | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.security}://{host}:{self.port}"

    def open_tls(self) -> ssl.SSLContext:
        """Return a context that verifies the server's certificate and name.

        Raises:
            ConfigurationError: the extra certificates cannot be read.
        """
        context = ssl.create_default_context()
        if self.ca_file is not None:
            try:
                context.load_verify_locations(self.ca_file)
            except OSError as error:
                raise ConfigurationError(
                    f"the mail server's certificates in {self.ca_file} can't be read: {error}",
                    hint="Name a PEM file with the authority's certificate, or leave it out for public ones.",
                ) from error
        return context


def parse_mail_server(url: str, *, user: str = "", password: str = "", ca_file: Path | None = None) -> MailServer:
    """Read a mail server's URL; `user` counts where the URL names none.

    Raises:
        ConfigurationError: the URL cannot be read, carries a password, or would send one in the clear.
    """
    parts = urlsplit(url)
    try:
        security = Security(parts.scheme)
        port = parts.port
    except ValueError:
        raise ConfigurationError("the mail server's URL cannot be read", hint=_HOW_TO) from None
    if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ConfigurationError("the mail server's URL names no host, or more than one", hint=_HOW_TO)
    server = MailServer(
        host=parts.hostname,
        port=port or DEFAULT_PORTS[security],
        security=security,
        user=_read_user(parts) or user,
        password=password,
        ca_file=ca_file,
    )
    _check_login(server)
    return server


def _read_user(parts: SplitResult) -> str:
    if parts.password is not None:
        raise ConfigurationError(
            "the mail server's URL carries a password",
            hint="Take it out of the URL and set DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE.",
        )
    return unquote(parts.username or "")


def _check_login(server: MailServer) -> None:
    if not server.user:
        return
    if not server.password:
        raise ConfigurationError(
            f"logging in to {server} as {server.user} needs a password",
            hint="Set DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE.",
        )
    if not (server.user + server.password).isascii():
        raise ConfigurationError(
            f"the login for {server} has characters beyond ASCII, which SMTP logins don't carry reliably",
            hint="Choose a user and password of ASCII characters.",
        )
    if server.security is Security.NONE and server.host not in LOOPBACK_HOSTS:
        raise ConfigurationError(
            f"logging in to {server} would send the password in the clear",
            hint="Write smtp+starttls://… or smtps://…",
        )
