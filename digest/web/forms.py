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
from digest.web.shell import Shell, shell_of

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_FIELDS = 60

_URLENCODED = "application/x-www-form-urlencoded"

_ONE_CLICK_PART = re.compile(
    rb"(?:\r\n)?(?P<line>--[^\r\n]{1,70})\r\n"
    rb"(?P<headers>(?:[^\r\n]+\r\n)+)\r\nOne-Click\r\n(?P=line)--\s*"
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
        values = self.get_all(name)
        return values[0] if values else ""

    def get_all(self, name: str) -> list[str]:
        """Return every value of a field, as tick boxes of one name send them."""
        return [value for given, value in self.fields if given == name]


def read_form(request: Request) -> Form:
    """Read the body of a request, which is here already, as a form, or refuse it."""
    media_type = request.headers.get("content-type", "").partition(";")[0]
    is_form = media_type.strip().lower() == _URLENCODED
    body = read_body(request)
    if body and not is_form:
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
    if any("\0" in name or "\0" in value for name, value in fields):
        raise UsageError("this form holds a character that no text has (NUL)", hint="Leave it out.")
    return Form(tuple(fields))


def read_body(request: Request) -> bytes:
    """Return the body of a request, as it was read before any endpoint was called; b"" for none."""
    body: bytes = getattr(request.state, "body", b"")
    return body


def is_one_click(request: Request) -> bool:
    """Whether a mail program asks to unsubscribe (RFC 8058 §3.2).

    It sends just that one field, in either encoding.
    """
    body = read_body(request)
    part = _ONE_CLICK_PART.fullmatch(body)
    media_type = request.headers.get("content-type", "").lower()
    if part is None or not media_type.startswith("multipart/form-data"):
        return body == b"List-Unsubscribe=One-Click"
    headers = part["headers"].split(b"\r\n")
    names = [line for line in headers if line.lower().startswith(b"content-disposition")]
    return len(names) == 1 and _ONE_CLICK_NAME.fullmatch(names[0]) is not None


def make_form_token(shell: Shell, path: str) -> str:
    """Return what a form sends in its hidden field `token`.

    `path` is where the form is sent to, as this server sees it.
    """
    return _derive_token(shell, path, shell.site.clock.now().date())


def read_own_form(request: Request) -> Form:
    """Read a form that a page of ours sent to just this address, today or yesterday.

    Any other is refused.
    """
    form = read_form(request)
    shell = shell_of(request)
    url = shell.site.config.web.base_url
    is_known = _is_known_token(shell, request.scope["path"], form.get("token"))
    if not url:
        raise Forbidden(
            "no form is taken here", hint="The operator of this service has to set web.base_url."
        )
    hint = f"Open the page again at {url}, and press its button there."
    if not is_known:
        raise Forbidden(
            "this form did not come from a page of this service, or its page is old", hint=hint
        )
    if request.headers.getlist("origin") != [find_origin(url)]:
        raise Forbidden(
            "the page of this form was opened at another address than this service's", hint=hint
        )
    return form


def _is_known_token(shell: Shell, path: str, given: str) -> bool:
    """Whether a page of today or yesterday holds this token; both take the same time to tell."""
    today = shell.site.clock.now().date()
    yesterday = today - timedelta(days=1)
    token = given.encode("utf-8", "surrogatepass")
    is_known = False
    for day in (today, yesterday):
        known = _derive_token(shell, path, day).encode()
        is_known |= hmac.compare_digest(token, known)
    return is_known


def read_button(form: Form, field: str, known: Collection[str]) -> str:
    """Return which button of a page was pressed, as a field of the form says.

    It is one of those that the page has.
    """
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
