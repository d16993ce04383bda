"""Addresses as they are written: servers, files, destinations. No message repeats a secret."""

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
_SMTP_SCHEMES = ("smtp", "smtp+starttls", "smtps")
_SMTP_HINT = "Write smtp://host:25, smtp+starttls://name@host:587 or smtps://name@host:465."
_STORE_HINT = "Write sqlite:///digest.db, or postgresql://name:password@host/database."
_POSTGRESQL = re.compile(r"postgresql://[^/?#]*/[^/?#]+")
_BIND = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>\d{1,5})", re.ASCII)
_PASSWORD = re.compile(
    r"""
    (?P<name>\A[^/]*//[^/@:]*:).*(?=@)               # smtp://name:password@host
    | (?<=[?&])(?P<option>(?:ssl)?password=)[^&]*    # postgresql:///base?password=…
    """,
    re.VERBOSE,
)
_PROXY = re.compile(
    r"https?://([^/?#@\s]*@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?/?", re.IGNORECASE
)
_DOMAIN = re.compile(r"@?(?:[a-z0-9-]+\.)+[a-z0-9-]{2,}", re.ASCII | re.IGNORECASE)
_HOST_NAME = re.compile(
    r"""
    (?=[^.].{0,252}$)                                   # 253 characters at most
    (?!.*(?:^|\.)\d+$)                                  # an address, 192.0.2.1, is no name
    (?:(?:^|\.)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+   # mail.example.org, with no dash at an end
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
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
    return _PASSWORD.sub(lambda match: f"{match['name'] or match['option']}***", url)


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
    """Read how arXiv can reach the operator: an address or a web page, in ASCII for a header."""
    text = read_line(value)
    is_page = "://" in text
    if "@" in text and not is_page:
        return read_mail_address(text)
    if not is_page or not text.isascii():
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
            hint=f"Write https://, host and path. {_PORTS} Leave out name, password, and what "
            "follows ? or #.",
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def read_private_url(value: object) -> str:
    """Read a web address, kept as written. It may be a secret, so no message repeats it."""
    url = read_line(value)
    parts = _split_web(url)
    if parts is None or parts.fragment or not url.isascii():
        raise ConfigurationError(
            "is not a web address",
            hint="Write the whole address, from https:// on. Leave out name, password, and what "
            "follows #.",
        )
    if parts.scheme == "http" and not is_loopback(url):
        raise ConfigurationError(
            "must start with https://", hint="http:// is allowed for 127.0.0.1 only."
        )
    return url


def read_secure_url(value: object) -> str:
    """Read a web address that must be https, unless it is on this machine; no slash ends it."""
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
        raise ConfigurationError(
            "is not the address of an HTTP proxy",
            hint="Write http://host:port, or http://name:password@host:port, with %40 for an @ of "
            "the password. Other kinds, as socks, can't be used.",
        )
    return url


def read_slack_url(value: object) -> str:
    """Read the address of Slack's Web API, with a trailing slash as slack_sdk wants it."""
    return read_secure_url(value) + "/"


def make_webhook_reader(pattern: str, shown: str) -> Callable[[object], str]:
    """Return a reader of an incoming webhook's URL, which a pattern must match whole.

    The URL is a secret: messages repeat only what is `shown`.
    """

    def read(value: object) -> str:
        parts = _split_web(read_line(value))
        url = ""
        if parts is not None:
            bare = parts._replace(path=parts.path.rstrip("/"), fragment="")
            url = urlunsplit(bare)
        is_here = bool(url) and is_loopback(url)
        if is_here or re.fullmatch(pattern, url, re.ASCII):
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
    if parts is None or parts.scheme not in _SMTP_SCHEMES or not parts.hostname:
        raise ConfigurationError(f"{mask_password(url)!r} is not a mail server", hint=_SMTP_HINT)
    if parts.path.strip("/") or parts.query or parts.fragment or parts.password is not None:
        raise ConfigurationError(
            f"{mask_password(url)!r} holds more than a name, host and port",
            hint=f"{_SMTP_HINT} Put the password in DIGEST_MAIL_PASSWORD or "
            "DIGEST_MAIL_PASSWORD_FILE.",
        )
    return url


REACHED = (read_http_url, read_secure_url, read_private_url, read_slack_url, read_smtp_url)
"""Readers of addresses that Digest makes requests to, or sends mail by, or is reached at."""


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
    _, _, server = parts.netloc.rpartition("@")
    options = parse_qs(parts.query).get("host", [""])
    in_option = options[-1].split(",")  # ?host=one,two: the last option counts
    hosts = []
    for text in [server, *in_option]:
        is_socket = text.startswith(("/", "@", "%2F"))
        host = None if is_socket else urlsplit(f"//{text}").hostname
        if host and host not in LOOPBACK_HOSTS:
            hosts.append(host)
    return hosts


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
    domains = set()
    addresses = set()
    for text in read_lines(value):
        has_mailbox = "@" in text.strip("@")  # @example.org is a domain
        if has_mailbox:
            addresses.add(read_mail_address(text))
        elif _DOMAIN.fullmatch(text):
            domains.add(text.removeprefix("@").lower())
        else:
            near = suggest(text, ("closed", "open"), "")
            raise ConfigurationError(
                f"{text!r} is neither a domain nor a mail address",
                hint=near
                or 'Write "closed", "open", or a list such as ["example.org", "ada@example.com"].',
            )
    return Signup(domains=frozenset(domains), addresses=frozenset(addresses))


def read_reverse_proxies(value: object) -> tuple[str, ...]:
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
    """Read where a digest goes into the one spelling it is stored by; a path stays as written.

    A mail address and a Slack channel need no prefix: `you@example.org`, `#papers`. A file of mail
    addresses, `mailto:@members.txt`, is not read yet.
    """
    destination = Destination.parse(_complete_prefix(text.strip()))
    address = destination.address
    has_two_slashes = re.match("//(?!/)", address)
    if has_two_slashes:  # three are right: file:///srv is an absolute path
        raise ConfigurationError(
            f"{text!r} is not a destination",
            hint=f"Write {destination.kind}:{address.lstrip('/')}, without //.",
        )
    traits = destination.traits
    if traits.pattern and not re.fullmatch(traits.pattern, address):
        raise ConfigurationError(f"{text!r} is not {traits.what}", hint=traits.hint)
    match destination.kind:
        case DestinationKind.MAIL if not destination.is_member_list:
            # What is copied from a link may hold %2B (RFC 6068 §2).
            return mail_to(read_mail_address(unquote(address)))
        case DestinationKind.FILE if not destination.is_pulled and not address.endswith("/"):
            suffixes = ", ".join(FEED_SUFFIXES)
            raise ConfigurationError(
                f"{text!r} is neither a feed's file nor a folder",
                hint=f"A feed's file ends in {suffixes}. A folder of pages ends in /.",
            )
        case _:
            return destination


def _complete_prefix(word: str) -> str:
    """Return a destination with the prefix that its form makes plain."""
    if word.startswith("#"):
        return f"slack:{word}"
    if "@" in word and ":" not in word:
        return f"mailto:{word}"
    return word


def write_destination(text: str) -> str:
    """Return a destination as a file has it: in its one spelling, or as it is with a `$NAME`."""
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


@dataclass(frozen=True, slots=True)
class MemberList:
    """What a file of mail addresses says: where they are, and what is wrong with other lines."""

    members: list[Destination]
    wrong: list[str]


def read_members(path: Path) -> MemberList:
    """Read a file of mail addresses, one a line: `ada@example.org` or `Ada <ada@example.org>`.

    What follows a `#`, at the start or after a blank, is a comment. A file without any address is
    refused: by accident it would unsubscribe everybody.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} can't be read: {error}",
            hint="It holds mail addresses, one a line, as UTF-8. Until it can be read, everybody "
            "stays subscribed.",
        ) from error
    members: dict[Destination, None] = {}
    wrong = []
    for number, line in enumerate(lines, 1):
        text = re.sub(r"(?:^|\s)#.*", "", line).strip(" \t\"',;")
        if not text:
            continue
        match = re.fullmatch(r"(?:[^<>]*<)?(?:mailto:)?([^<>]*)>?", text, re.IGNORECASE)
        written = match[1] if match else text
        try:
            address = read_mail_address(written)
        except ConfigurationError as error:
            wrong.append(f"line {number} of {path.name} is left out: {error.message}")
        else:
            members[mail_to(address)] = None
    if not members:
        said = "; ".join([f"{path} holds no mail address", *wrong[:1]])
        raise ConfigurationError(said, hint="Write one a line, or take out the file.")
    return MemberList([*members], wrong)


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
    """Write a path below the folder as seen from there, as the folder may move; others absolute."""
    resolved = []
    for place in destinations:
        if place.kind is not DestinationKind.FILE:
            resolved.append(place)
            continue
        path = str(see_from(folder, place.address))
        if place.address.endswith("/"):
            path += "/"
        resolved.append(Destination(place.kind, path))
    return tuple(resolved)


def see_from(folder: Path, path: str) -> Path:
    """Return a path as seen from a folder if it lies there, else the whole path."""
    whole = Path(os.path.normpath(folder / expand_home(path)))
    return whole.relative_to(folder) if whole.is_relative_to(folder) else whole


def resolve_sources(sources: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return sources of libraries, files by their absolute paths."""
    resolved = []
    for source in sources:
        if source.lower().startswith(ZOTERO):  # its prefix gets small letters
            resolved.append(ZOTERO + source[len(ZOTERO) :])
        else:
            resolved.append(str(folder / expand_home(source)))
    return tuple(resolved)


def _split(url: str) -> SplitResult | None:
    """Split an address; None if it is malformed, has a blank, or a port that cannot be."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return parts if port != 0 and " " not in url else None


def _split_web(url: str) -> SplitResult | None:
    """Split a web address; None if it is none, or names a user."""
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https"):
        return None
    return parts if parts.hostname and "@" not in parts.netloc else None


@dataclass(frozen=True, slots=True)
class Proxy:
    """A forward proxy: its URL, which may hold a password and is never shown whole, and its origin.

    The `origin` is the variable or the setting that names it.
    """

    url: str = field(repr=False)
    origin: str

    def __str__(self) -> str:
        scheme, _, rest = self.url.partition("://")
        host = rest.rpartition("@")[2].rstrip("/")
        return f"the proxy {scheme}://{host}, from {self.origin}"


def choose_proxy(
    environ: Mapping[str, str], configured: str, origin: str, url: str
) -> Proxy | None:
    """Return the proxy for a request; None if it needs none, as one to this machine.

    What is `configured`, at an `origin` in the settings, beats the environment. If a variable is
    there in capitals and in small letters, the small ones count, as for curl.
    """
    unset = ("", "")
    variables = {}
    for name, text in sorted(environ.items()):  # small letters come last, and so are kept
        variables[name.lower()] = (name, text.strip())
    parts = urlsplit(url)
    of_scheme = variables.get(f"{parts.scheme}_proxy", unset)
    of_all = variables.get("all_proxy", unset)
    candidates = [(origin, configured), of_scheme, of_all]
    given = [(source, address) for source, address in candidates if address]
    if not given:
        return None
    source, written = given[0]
    _, no_proxy = variables.get("no_proxy", unset)
    exempt = [*_HERE, *no_proxy.lower().replace(",", " ").split()]
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    if any(_covers(entry, host, port) for entry in exempt):
        return None
    try:
        return Proxy(read_proxy(written), source)
    except ConfigurationError as error:
        raise ConfigurationError(f"{source} {error.message}", hint=error.hint) from None


def _covers(entry: str, host: str, port: int | None) -> bool:
    """Tell whether an entry of NO_PROXY means a host.

    It is `*`, a domain with all below it, an address or a network.
    """
    with contextlib.suppress(ValueError):  # one of the two is a name: they are compared as names
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    if entry == "*":
        return True
    name = entry.removesuffix(f":{port}").strip("[]")
    domain = name.removeprefix("*").lstrip(".")
    return bool(domain) and f".{host}".endswith(f".{domain}")
