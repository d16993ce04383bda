"""Addresses as they are written: of servers, files and destinations. No message repeats a secret."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TypeAlias
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit, urlunsplit

from digest.config.values import find_variable, read_each, read_line, read_lines, suggest
from digest.model.clock import LOOPBACK_HOSTS
from digest.model.destinations import (
    FEED_SUFFIXES,
    Destination,
    DestinationKind,
    mail_to,
    normalise_address,
)
from digest.model.errors import ConfigurationError, UsageError
from digest.model.libraries import ZOTERO
from digest.model.people import Signup

ChooseProxy: TypeAlias = "Callable[[str], Proxy | None]"
"""From the URL of a request to the proxy that it goes through."""

_SQLITE_PREFIX = "sqlite:///"
_SMTP_HINT = "Write smtp://host:25, smtp+starttls://name@host:587 or smtps://name@host:465."
_STORE_HINT = "Write sqlite:///digest.db, or postgresql://name:password@host/database."
_POSTGRESQL = re.compile(r"postgresql://[^/?#]*/[^/?#]+")
_BIND = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>\d{1,5})", re.ASCII)
_PASSWORD = re.compile(
    r"(?P<name>\A[^/]*//[^/@:]*:).*(?=@)|(?<=[?&])(?P<option>(?:ssl)?password=)[^&]*"
)
_PROXY = re.compile(
    r"https?://([^/?#@\s]*@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?/?", re.IGNORECASE
)
_SLACK_ADDRESS = re.compile(r"#[^\s#,:]{1,80}|[A-Z][A-Z0-9]{7,}")
_DOMAIN = re.compile(r"@?(?:[a-z0-9-]+\.)+[a-z0-9-]{2,}", re.ASCII | re.IGNORECASE)
_HOST_NAME = re.compile(
    r"(?=[^.].{0,252}$)(?!.*(?:^|\.)\d+$)(?:(?:^|\.)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+",
    re.ASCII | re.IGNORECASE,
)
_LAST_PORT = 65535
_PORTS = f"A port is {_LAST_PORT} at most."

_HERE = ("localhost", "127.0.0.0/8", "::1")
"""This machine, as NO_PROXY would name it."""


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine; also for "", which leads nowhere."""
    return not url or urlsplit(url).hostname in LOOPBACK_HOSTS


def mask_password(url: str) -> str:
    """Return a URL with *** in place of its password, wherever in the URL it is written."""
    return _PASSWORD.sub(lambda match: f"{match[match.lastgroup or 0]}***", url)


def read_mail_address(value: object) -> str:
    """Read a mail address, into its one spelling."""
    try:
        return normalise_address(read_line(value))
    except UsageError as error:
        raise ConfigurationError(error.message, hint=error.hint) from error


def read_host_name(value: object) -> str:
    """Read a machine's name, in small letters."""
    name = read_line(value)
    if not _HOST_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is not a host name", hint="Write a name such as mail.example.org."
        )
    return name.lower()


def read_reachable(value: object) -> str:
    """Read how arXiv can reach the operator: a mail address or a web page, in plain ASCII for a header."""
    text = read_line(value)
    if "@" in text and "://" not in text:
        return read_mail_address(text)
    if "://" not in text or not text.isascii():
        raise ConfigurationError(
            f"{text!r} is not a mail address or web page",
            hint="Write you@example.org or https://example.org/you.",
        )
    return read_http_url(text)


def read_http_url(value: object) -> str:
    """Read an http or https address of host, port and path, without a trailing slash."""
    url = read_line(value)
    parts = _split_web(url)
    if parts is None or parts.query or parts.fragment:
        raise ConfigurationError(
            f"{mask_password(url)!r} is not a web address",
            hint=f"Write https://, host and path. {_PORTS} Leave out name, password, and what follows ? or #.",
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def read_private_url(value: object) -> str:
    """Read a web address that is asked as it is; it may be a secret, so no message repeats it."""
    url = read_line(value)
    parts = _split_web(url)
    if parts is None or parts.fragment or not url.isascii():
        raise ConfigurationError(
            "is not a web address",
            hint="Write the whole address, from https:// on. Leave out name, password, and what follows #.",
        )
    if parts.scheme == "http" and not is_loopback(url):
        raise ConfigurationError(
            "must start with https://", hint="http:// is allowed for 127.0.0.1 only."
        )
    return url


def read_secure_url(value: object) -> str:
    """Read a web address that must be https, unless it is on this machine; without a trailing slash."""
    url = read_http_url(value)
    if not url.startswith("https:") and not is_loopback(url):
        raise ConfigurationError(
            f"{url!r} must start with https://, because secrets are sent to it",
            hint="http:// is allowed for 127.0.0.1 only. Put a proxy with a certificate in front.",
        )
    return url


def read_proxy(value: object) -> str:
    """Read the address of a forward proxy; it may hold a password, so no message repeats it."""
    text = read_line(value)
    url = text if "://" in text else f"http://{text}"
    if _split(url) is None or not _PROXY.fullmatch(url):
        hint = "Write http://host:port, or http://name:password@host:port, with %40 for an @ of the password."
        hint += " Other kinds, as socks, can't be used."
        raise ConfigurationError("is not the address of an HTTP proxy", hint=hint)
    return url


def read_slack_url(value: object) -> str:
    """Read the address of Slack's Web API, with a trailing slash as slack_sdk wants it."""
    return read_secure_url(value) + "/"


def incoming(pattern: str, shown: str) -> Callable[[object], str]:
    """Return how the URL of an incoming webhook, all of a pattern, is read: a secret that no message repeats."""

    def read(value: object) -> str:
        parts = _split_web(read_line(value))
        url = urlunsplit(parts._replace(path=parts.path.rstrip("/"), fragment="")) if parts else ""
        if re.fullmatch(pattern, url, re.ASCII) or (url and is_loopback(url)):
            return url
        raise ConfigurationError(
            "is not the URL of an incoming webhook",
            hint=f"Copy the whole address: {shown}",
        )

    return read


def read_smtp_url(value: object) -> str:
    """Read the mail server's address: scheme, name, host and port, and nothing else."""
    url = read_line(value)
    parts = _split(url)
    if (
        parts is None
        or parts.scheme not in ("smtp", "smtp+starttls", "smtps")
        or not parts.hostname
    ):
        raise ConfigurationError(f"{mask_password(url)!r} is not a mail server", hint=_SMTP_HINT)
    if parts.path.strip("/") or parts.query or parts.fragment or parts.password is not None:
        raise ConfigurationError(
            f"{mask_password(url)!r} holds more than a name, host and port",
            hint=f"{_SMTP_HINT} Put the password in DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE.",
        )
    return url


def read_store_url(value: object) -> str:
    """Read the database's address."""
    url = read_line(value)
    if url in (_SQLITE_PREFIX, f"{_SQLITE_PREFIX}:memory:"):
        raise ConfigurationError(
            f"{url!r} names no file, so nothing would be kept", hint=_STORE_HINT
        )
    if not url.startswith(_SQLITE_PREFIX) and not _POSTGRESQL.match(url):
        raise ConfigurationError(f"{mask_password(url)!r} is not a database", hint=_STORE_HINT)
    return url


def find_remote_hosts(url: str) -> list[str]:
    """Return the other machines that a PostgreSQL address names."""
    parts = urlsplit(url)
    destinations = [
        parts.netloc.rpartition("@")[2],
        *parse_qs(parts.query).get("host", [""])[-1].split(","),
    ]
    hosts = [
        urlsplit(f"//{place}").hostname
        for place in destinations
        if not place.startswith(("/", "@", "%2F"))
    ]
    return [host for host in hosts if host and host not in LOOPBACK_HOSTS]


def read_bind(value: object) -> str:
    """Read where to listen."""
    text = read_line(value)
    match = _BIND.fullmatch(text)
    if match is None or int(match["port"]) > _LAST_PORT:
        raise ConfigurationError(
            f"{text!r} is not a host and port", hint=f"Write 127.0.0.1:8000 or [::1]:8000. {_PORTS}"
        )
    return text


def read_signup(value: object) -> Signup:
    """Read who may subscribe by themselves."""
    if value in ("closed", "open"):
        return Signup(is_open=value == "open")
    domains, addresses = set(), set()
    for text in read_lines(value):
        if "@" in text.strip("@"):
            addresses.add(read_mail_address(text))
        elif _DOMAIN.fullmatch(text):
            domains.add(text.removeprefix("@").lower())
        else:
            hint = 'Write "closed", "open", or a list such as ["example.org", "ada@example.com"].'
            hint = suggest(text, ("closed", "open"), "") or hint
            raise ConfigurationError(f"{text!r} is neither a domain nor a mail address", hint=hint)
    return Signup(domains=frozenset(domains), addresses=frozenset(addresses))


def read_proxies(value: object) -> tuple[str, ...]:
    """Read the addresses of reverse proxies."""
    try:
        return tuple(str(ip_address(text)) for text in read_lines(value))
    except ValueError as error:
        raise ConfigurationError(
            str(error), hint="Write addresses such as 10.0.0.5, not names."
        ) from error


def split_bind(bind: str) -> tuple[str, int]:
    """Return the address listened at, without brackets, and the TCP port; 0 for any free one."""
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


def read_destination(text: str) -> Destination:
    """Read where a digest goes into the one spelling by which it is stored; a path is still as written.

    A mail address and a Slack channel need no prefix: `you@example.org`, `#papers`. A file of mail
    addresses, `mailto:@members.txt`, is not read yet.
    """
    word = text.strip()
    prefix = (
        "slack:" if word.startswith("#") else "mailto:" if "@" in word and ":" not in word else ""
    )
    destination = Destination.parse(prefix + word)
    if re.match("//(?!/)", destination.address):  # an absolute path may have three
        raise ConfigurationError(
            f"{text!r} is not a destination",
            hint=f"Write {destination.kind}:{destination.address.lstrip('/')}, without //.",
        )
    if destination.kind is DestinationKind.MAIL and not destination.address.startswith("@"):
        # What is copied from a link may hold %2B (RFC 6068 §2).
        return mail_to(read_mail_address(unquote(destination.address)))
    if destination.kind is DestinationKind.SLACK and not _SLACK_ADDRESS.fullmatch(
        destination.address
    ):
        raise ConfigurationError(
            f"{text!r} is not a Slack channel",
            hint="Write slack:#papers or the channel's id. A name has no space, comma or colon.",
        )
    if destination.kind is DestinationKind.FILE and not (
        destination.is_pulled or destination.address.endswith("/")
    ):
        raise ConfigurationError(
            f"{text!r} is neither a feed's file nor a folder",
            hint=f"A feed's file ends in {', '.join(FEED_SUFFIXES)}. A folder of pages ends in /.",
        )
    return destination


def write_destination(text: str) -> str:
    """Return a destination as it is written in a file: in its one spelling, or as it is if it has a `$NAME`."""
    return text.strip() if find_variable(text) else str(read_destination(text))


def read_destinations(value: object) -> tuple[Destination, ...]:
    """Read where digests go: one destination or several."""
    destinations = read_each(value, read_destination)
    if not destinations:
        raise ConfigurationError("names no destination", hint='Write for example to = "feed".')
    return destinations


def read_operator_destinations(value: object) -> tuple[Destination, ...]:
    """Read where alarms go: none, one, or a list of destinations that messages are sent to."""
    destinations = () if value in ("", []) else read_each(value, read_destination)
    for place in destinations:
        if place.is_pulled:
            raise ConfigurationError(
                f"{place} is not pushed to anybody, so an alarm there would come too late",
                hint='Write for example to = "mailto:ops@example.org".',
            )
        if place.address.startswith("@"):
            raise ConfigurationError(
                f"{place} is a file of addresses", hint="Write each address here."
            )
    return tuple(dict.fromkeys(destinations))


def read_members(path: Path) -> tuple[list[Destination], list[str]]:
    """Read a file of mail addresses, one a line, as `ada@example.org` or `Ada <ada@example.org>`.

    What follows a `#`, at the start or after a blank, is a comment. What is wrong with others is
    returned, too. One without any address is refused: nobody is unsubscribed by an accident.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} can't be read: {error}",
            hint="It holds mail addresses, one a line, as UTF-8. Until it can be read, everybody stays"
            " subscribed.",
        ) from error
    found, wrong = dict[Destination, None](), []
    for number, line in enumerate(lines, 1):
        text = re.sub(r"(?:^|\s)#.*", "", line).strip(" \t\"',;")
        named = re.fullmatch(r"(?:[^<>]*<)?(?:mailto:)?([^<>]*)>?", text, re.IGNORECASE)
        try:
            if text:
                found[
                    Destination(
                        DestinationKind.MAIL, read_mail_address(named[1] if named else text)
                    )
                ] = None
        except ConfigurationError as error:
            wrong.append(f"line {number} of {path.name} is left out: {error.message}")
    if not found:
        said = "; ".join([f"{path} holds no mail address", *wrong[:1]])
        raise ConfigurationError(said, hint="Write one a line, or take out the file.")
    return [*found], wrong


def expand_home(path: str) -> Path:
    """Return a path with a home folder in place of `~` or `~name`."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(
            f"{path!r}: no such home folder", hint="Write the whole path."
        ) from error


def resolve_path(path: str, folder: Path) -> Path | None:
    """Return an absolute path, counted from the configuration's folder; None for ""."""
    return Path(os.path.normpath(folder / expand_home(path))) if path else None


def resolve_store_url(url: str, folder: Path) -> str:
    """Return a database address whose path, if SQLite's, is absolute."""
    if not url.startswith(_SQLITE_PREFIX):
        return url
    path, mark, options = url.removeprefix(_SQLITE_PREFIX).partition("?")
    return f"{_SQLITE_PREFIX}{resolve_path(path, folder)}{mark}{options}"


def resolve_destinations(
    destinations: Iterable[Destination], folder: Path
) -> tuple[Destination, ...]:
    """Write paths below the folder, which may move, as seen from it; others absolute."""
    return tuple(
        Destination(
            place.kind, f"{see_from(folder, place.address)}{'/' * place.address.endswith('/')}"
        )
        if place.kind is DestinationKind.FILE
        else place
        for place in destinations
    )


def see_from(folder: Path, path: str) -> Path:
    """Return a path as seen from a folder if it lies there, else the whole path."""
    whole = Path(os.path.normpath(folder / expand_home(path)))
    return whole.relative_to(folder) if whole.is_relative_to(folder) else whole


def resolve_sources(sources: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return sources of libraries, files by their absolute paths."""
    return tuple(
        ZOTERO + one[len(ZOTERO) :]
        if one.lower().startswith(ZOTERO)
        else str(folder / expand_home(one))
        for one in sources
    )


def _split(url: str) -> SplitResult | None:
    """Split an address; None if it cannot be, or its port is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return parts if port != 0 and " " not in url else None


def _split_web(url: str) -> SplitResult | None:
    """Split a web address; None if it is none, or names a user."""
    parts = _split(url)
    is_web = (
        parts and parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    )
    return parts if is_web else None


@dataclass(frozen=True, slots=True)
class Proxy:
    """A forward proxy: its URL, which may hold a password and is never shown whole, and who names it."""

    url: str = field(repr=False)
    origin: str

    def __str__(self) -> str:
        scheme, _, rest = self.url.partition("://")
        return f"the proxy {scheme}://{rest.rpartition('@')[2].rstrip('/')}, from {self.origin}"


def choose_proxy(
    environ: Mapping[str, str], configured: str, origin: str, url: str
) -> Proxy | None:
    """Return the proxy for a request; None if it goes straight there, as each one to this machine does.

    What is `configured`, at an `origin` in the settings, beats the environment. Of a variable in
    both cases the small one counts, as for curl.
    """
    named = {name.lower(): (name, text.strip()) for name, text in sorted(environ.items())}
    parts = urlsplit(url)
    destinations = [named.get(f"{parts.scheme}_proxy"), named.get("all_proxy")]
    name, written = next(
        (one for one in [(origin, configured), *destinations] if one and one[1]), ("", "")
    )
    exempt = [*_HERE, *named.get("no_proxy", ("", ""))[1].lower().replace(",", " ").split()]
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    if not written or any(_covers(one, parts.hostname or "", port) for one in exempt):
        return None
    try:
        return Proxy(read_proxy(written), name)
    except ConfigurationError as error:
        raise ConfigurationError(f"{name} {error.message}", hint=error.hint) from None


def _covers(exempt: str, host: str, port: int | None) -> bool:
    """Tell whether an entry of NO_PROXY means a host: `*`, a domain with all below it, an address or a network."""
    with contextlib.suppress(ValueError):
        return ip_address(host) in ip_network(exempt.strip("[]"), strict=False)
    domain = exempt.removesuffix(f":{port}").strip("[]").removeprefix("*").lstrip(".")
    return exempt == "*" or (bool(domain) and f".{host}".endswith(f".{domain}"))
