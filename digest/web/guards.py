"""Guards every answer: headers, known names of this service, limits, and a log without secrets."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from digest.config import Config
from digest.config.addresses import split_bind
from digest.config.settings import WebSettings
from digest.model.clock import LOOPBACK_HOSTS, monotonic
from digest.web.forms import find_host

_log = logging.getLogger("digest.web")

BODY_LIMIT = 64 * 1024
"""Bytes; a one-click POST has a hundred."""

BODY_SECONDS = 10.0
"""How long a body may take to arrive."""

BAD = 400
"""From this status on an answer is a refusal."""

_NETWORK_BITS = {4: 24, 6: 48}
"""How much of an address names a network: what one customer of a provider gets, or little more."""

_PREFIXES = ("f", "u", "d", "a", "p", "c", "k", "refs")
"""Below all but the last the path is a secret; for papers it shows what somebody reads."""

_HEALTH = ("/livez", "/readyz")

_FILES = ("/robots.txt", "/favicon.svg", "/favicon.ico", "/live.js", "/digest.js")
_KNOWN = frozenset({"/", "/live", "/subscribe", "/link", "/private", "/stored", *_FILES, *_HEALTH})

_FREQUENT = ("/f/…", "/live")
"""Readers ask for feeds day and night, and a page asks for this with every word that is typed."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::\d*)?")
"""What a client asks by: a name or an address, and perhaps a port."""

_Address: TypeAlias = IPv4Address | IPv6Address


def write_headers(style: str) -> dict[str, str]:
    """Return the headers of every answer that does not say otherwise.

    `style` allows the pages' own style. With a stricter policy for referrers, browsers would not
    say either where a form of ours comes from.
    """
    policy = (
        f"default-src 'none'; style-src {style}; script-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "X-Robots-Tag": "noindex",
        "Cache-Control": "no-store",
    }


def find_hosts(web: WebSettings) -> frozenset[str]:
    """Return the names by which this service may be asked.

    None if it has no public address: it may be asked by any.
    """
    if not web.base_url:
        return frozenset()
    bound, _ = split_bind(web.bind)
    return frozenset({find_host(web.base_url), bound.lower(), *LOOPBACK_HOSTS})


class KnownHosts:
    """Refuses requests by a name that is not ours.

    A page elsewhere may have made its name point here.
    """

    def __init__(
        self, app: ASGIApp, hosts: Collection[str], *, fail: Callable[[int, str, str], Response]
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._fail = fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it.

        Health is shown by any name, to programs that watch the machine.
        """
        answer: ASGIApp = self._app
        is_open = scope["type"] != "http" or not self._hosts or scope["path"] in _HEALTH
        if not is_open and not self._is_known(Headers(scope=scope).getlist("host")):
            answer = self._fail(
                400,
                "This service does not go by that name.",
                "A proxy in front of it has to pass on the Host that it was asked for.",
            )
        await answer(scope, receive, send)

    def _is_known(self, asked: Sequence[str]) -> bool:
        """Whether a request has one name, and that is ours."""
        if len(asked) != 1:
            return False
        match = _HOST.fullmatch(asked[0].lower())
        return match is not None and (match[1] or match[2]) in self._hosts


class BodyLimit:
    """Reads bodies before anything else does, up to a limit in bytes and seconds."""

    def __init__(self, app: ASGIApp, *, fail: Callable[[int], Response]) -> None:
        self._app = app
        self._fail = fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole body in its state, or refuse it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        body = None
        status = 413
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_body(scope, receive)
        except TimeoutError:
            status = 408
        if body is None:
            answer = self._fail(status)
            answer.headers["Connection"] = "close"
            await answer(scope, receive, send)
        else:
            scope.setdefault("state", {})["body"] = body
            await self._app(scope, receive, send)


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    """Return the body.

    None if it is too long, by its own word or by its bytes, or its sender has gone.
    """
    announced = Headers(scope=scope).get("content-length", "0")
    if announced.isdecimal() and int(announced) > BODY_LIMIT:
        return None
    body = bytearray()
    try:
        async for piece in Request(scope, receive).stream():
            body += piece
            if len(body) > BODY_LIMIT:
                return None
    except ClientDisconnect:
        return None
    return bytes(body)


class EveryAnswer:
    """Adds headers to every answer that does not say otherwise, and logs every request.

    It is logged by what was asked for, never by its secret.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, its answer back with the headers, and log how it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = monotonic()
        status = 500

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    given.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_guarded)
        finally:
            milliseconds = round((monotonic() - began) * 1000)
            fields = {"status": status, "milliseconds": milliseconds}
            name = name_path(scope["path"])
            level = logging.DEBUG if name in _FREQUENT and status < BAD else logging.INFO
            _log.log(level, "%s %s", scope["method"], name, extra={"fields": fields})


def name_path(path: str) -> str:
    """Return what may be logged of a path: which page it is, and never a token.

    What follows `?` is none of it.
    """
    if path in _KNOWN:
        return path
    prefix, _, rest = path.removeprefix("/").partition("/")
    return f"/{prefix}/…" if prefix in _PREFIXES and rest else "(no such page)"


def name_network(request: Request, config: Config) -> str:
    """Return from which network a request comes: `203.0.113.0/24` or `2001:db8:1::/48`.

    "" if that is unknown. Only what a proxy of ours says of its client counts: the rightmost
    address that is no proxy of ours itself.
    """
    peer = _read_address(request.client.host if request.client else "")
    trusted = {_read_address(text) for text in config.web.trusted_proxies}
    if peer in trusted:
        peer = _find_client(request, trusted)
    if peer is None:
        return ""
    bits = _NETWORK_BITS[peer.version]
    return str(ip_network(f"{peer}/{bits}", strict=False))


def _find_client(request: Request, trusted: Collection[_Address | None]) -> _Address | None:
    """Return the address for which our proxies ask; None if they do not say."""
    said = ",".join(request.headers.getlist("x-forwarded-for"))
    for text in reversed(said.split(",")):
        if text.strip():
            client = _read_address(text)
            if client not in trusted:
                return client
    return None


def _read_address(text: str) -> _Address | None:
    """Return an address, with a port, quotes or neither; None if it is none.

    It is one of IPv4 if it is written as one of IPv6, too.
    """
    text = text.strip(' \t"')
    if "]" in text:
        text = text.partition("]")[0].removeprefix("[")
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
