"""HTTP requests that are sent once: no redirects, no proxy to this machine, a last look before they go."""

from __future__ import annotations

import http.client
import urllib.request
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from digest.clock import LOOPBACK_HOSTS
from digest.transports.fence import always_ours, require_ours

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT = 15.0
"""Seconds for connecting and for each read."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the answer it is."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def is_loopback(url: str) -> bool:
    """Tell whether the address is this machine's own."""
    return urlsplit(url).hostname in LOOPBACK_HOSTS


class _FencedConnection(http.client.HTTPConnection):
    """Asks once more whether to go on, when the connection stands and the request is all that is left."""

    def __init__(self, *args: Any, is_ours: Callable[[], bool], **options: Any) -> None:  # noqa: ANN401 - http.client's own
        super().__init__(*args, **options)
        self._is_ours = is_ours

    def connect(self) -> None:
        super().connect()
        require_ours(self._is_ours)


class _FencedSecureConnection(_FencedConnection, http.client.HTTPSConnection):
    """The same over TLS."""


class _FencedHandler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens fenced connections."""

    def __init__(self, is_ours: Callable[[], bool]) -> None:
        super().__init__()
        self._is_ours = is_ours

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_FencedConnection, is_ours=self._is_ours), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_FencedSecureConnection, is_ours=self._is_ours), request)


def build_opener(url: str, is_ours: Callable[[], bool] = always_ours) -> urllib.request.OpenerDirector:
    """Return an opener for `url` that follows no redirect, and uses no proxy to reach this machine.

    `is_ours` is asked before each request goes out over its connection.
    """
    proxies = urllib.request.ProxyHandler({}) if is_loopback(url) else urllib.request.ProxyHandler()
    return urllib.request.build_opener(proxies, _NoRedirects, _FencedHandler(is_ours))
