"""Reads forms, and says whether a page of ours sent them.

A form of a page carries a token that is bound to the address it is sent to and to the day. The
secret that it is made from never leaves the server, so no other site can write such a form
(cross-site request forgery).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from httpx import URL

from digest.model import secrets
from digest.model.errors import Forbidden, UsageError

if TYPE_CHECKING:
    from starlette.requests import Request

    from digest.web.endpoints import Shell

MOST_FIELDS = 60

_URLENCODED = "application/x-www-form-urlencoded"

_ONE_CLICK_PART = re.compile(
    rb"(?:\r\n)?(?P<line>--[^\r\n]{1,70})\r\n(?P<headers>(?:[^\r\n]+\r\n)+)\r\nOne-Click\r\n(?P=line)--\s*"
)

_ONE_CLICK_NAME = re.compile(
    rb'content-disposition:\s*form-data;\s*name="?List-Unsubscribe"?\s*', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Form:
    """What somebody sent: names and values, in their order."""

    fields: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """Return the first value of a field, "" if it is missing."""
        return next(iter(self.get_all(name)), "")

    def get_all(self, name: str) -> list[str]:
        """Return every value of a field, as tick boxes of one name send them."""
        return [value for given, value in self.fields if given == name]


def read_form(request: Request) -> Form:
    """Read the body of a request, which is here already, as a form, or refuse it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = read_body(request)
    if kind != _URLENCODED and body:
        raise UsageError("this request carries no form", hint=f"Send it as {_URLENCODED}.")
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise UsageError(
            "this form can't be read", hint="Open its page again and send it from there."
        ) from error
    if any("\0" in text for field in fields for text in field):
        raise UsageError("this form holds a character that no text has (NUL)", hint="Leave it out.")
    return Form(tuple(fields))


def read_body(request: Request) -> bytes:
    """Return the body of a request, as it was read before any endpoint was called; b"" for none."""
    body: bytes = getattr(request.state, "body", b"")
    return body


def is_one_click(request: Request) -> bool:
    """Whether a mail program asks to unsubscribe: with just that one field, in either encoding (RFC 8058 §3.2)."""
    body = read_body(request)
    part = _ONE_CLICK_PART.fullmatch(body)
    if part is None or not request.headers.get("content-type", "").lower().startswith(
        "multipart/form-data"
    ):
        return body == b"List-Unsubscribe=One-Click"
    names = [
        line
        for line in part["headers"].split(b"\r\n")
        if line.lower().startswith(b"content-disposition")
    ]
    return len(names) == 1 and _ONE_CLICK_NAME.fullmatch(names[0]) is not None


def make_form_token(shell: Shell, path: str) -> str:
    """Return what a form sends in its hidden field `token`; `path` is where to, as this server sees it."""
    return _derive_token(shell, path, shell.site.clock.now().date())


def read_own_form(request: Request) -> Form:
    """Read a form, or refuse it if no page of ours sent it, today or yesterday, to just this address."""
    form = read_form(request)
    shell: Shell = request.app.state.shell
    url = shell.site.config.web.base_url
    today = shell.site.clock.now().date()
    given = form.get("token").encode("utf-8", "surrogatepass")
    known = [
        _derive_token(shell, request.scope["path"], today - timedelta(days)).encode()
        for days in (0, 1)
    ]
    is_known = any([hmac.compare_digest(given, token) for token in known])  # noqa: C419 - each, however it ends
    if not url:
        raise Forbidden(
            "no form is taken here", hint="The operator of this service has to set web.base_url."
        )
    if not is_known or request.headers.getlist("origin") != [find_origin(url)]:
        raise Forbidden(
            "the page of this form was opened at another address than this service's"
            if is_known
            else "this form did not come from a page of this service, or its page is old",
            hint=f"Open the page again at {url}, and press its button there.",
        )
    return form


def read_button(form: Form, field: str, known: Collection[str]) -> str:
    """Return which button of a page was pressed, as a field of the form says; it is one of those it has."""
    button = form.get(field)
    if button not in known:
        raise UsageError(
            "this page has no such button", hint="Open the page again, and press a button there."
        )
    return button


def find_origin(url: str) -> str:
    """Return the origin of a web address as browsers write it: without a usual port."""
    parts = URL(url)
    return f"{parts.scheme}://{parts.netloc.decode('ascii')}"


def find_host(url: str) -> str:
    """Return the host of a web address as browsers write it: in small letters and in ASCII."""
    return URL(url).raw_host.decode("ascii")


def _derive_token(shell: Shell, path: str, day: date) -> str:
    return secrets.derive_token(shell.secret(), "form", path, day.isoformat())
