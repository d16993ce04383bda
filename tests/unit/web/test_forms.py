from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from digest.config import Config
from digest.model.errors import UsageError
from digest.web.forms import MOST_FIELDS, Form, find_origin, name_network, read_form

FORM = "application/x-www-form-urlencoded"


def make_request(
    body: bytes = b"", kind: str = FORM, *, peer: str = "", forwarded: tuple[str, ...] = ()
) -> Request:
    headers = [(b"content-type", kind.encode()), *((b"x-forwarded-for", line.encode()) for line in forwarded)]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    return Request(scope | {"state": {"body": body}, "client": (peer, 1) if peer else None})


def network(peer: str, *forwarded: str) -> str:
    trusted = ("127.0.0.1", "10.0.0.5", "::1")
    config = cast("Config", SimpleNamespace(web=SimpleNamespace(trusted_proxies=trusted)))
    return name_network(make_request(peer=peer, forwarded=forwarded), config)


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=MOST_FIELDS))
def test_what_a_browser_writes_is_read_as_it_was(fields: list[tuple[str, str]]) -> None:
    assert read_form(make_request(urlencode(fields).encode())) == Form(tuple(fields))


def test_a_field_that_is_not_there_is_empty_and_boxes_of_one_name_are_all_there() -> None:
    form = read_form(make_request(b"kinds=new&kinds=replacement&q=", f"{FORM}; charset=UTF-8"))
    assert (form.get("kinds"), form.get_all("kinds"), form.get("q")) == ("new", ["new", "replacement"], "")
    assert (form.get("answer"), form.get_all("answer")) == ("", [])


@pytest.mark.parametrize(
    "body",
    [
        "é=1".encode(),
        b"a=%ff",
        b"a=%ed%a0%80",
        b"a=%00",
        b"%00=a",
        b"a",
        b"a=1&",
        b"&".join([b"a=1"] * (MOST_FIELDS + 1)),
    ],
)
def test_what_is_no_form_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(UsageError):
        read_form(make_request(body))


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data; boundary=x", "application/json"])
def test_a_body_of_another_kind_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="carries no form"):
        read_form(make_request(b"a=1", kind))


@given(st.binary(max_size=80), st.sampled_from([FORM, "x"]))
def test_any_body_is_read_or_refused(body: bytes, kind: str) -> None:
    with suppress(UsageError):
        read_form(make_request(body, kind))


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Digest.example.org", "https://digest.example.org"),
        ("https://digest.example.org:443/papers", "https://digest.example.org"),
        ("https://digest.example.org:8443", "https://digest.example.org:8443"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:80", "http://[::1]"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(url: str, origin: str) -> None:
    assert find_origin(url) == origin


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("::2", "::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        ("fe80::1%eth0", "fe80::/48"),
        ("", ""),
        ("testclient", ""),
    ],
)
def test_a_network_is_what_asks_together(peer: str, expected: str) -> None:
    assert network(peer) == expected


def test_only_a_proxy_of_ours_says_who_asks() -> None:
    assert network("198.51.100.1", "203.0.113.7") == "198.51.100.0/24"
    assert network("127.0.0.1", "203.0.113.7") == "203.0.113.0/24"
    assert network("::ffff:127.0.0.1", "2001:db8::1") == "2001:db8::/48"


def test_what_a_client_wrote_itself_stands_further_left_and_does_not_count() -> None:
    assert network("127.0.0.1", "1.1.1.1, 203.0.113.7, 10.0.0.5") == "203.0.113.0/24"
    assert network("127.0.0.1", "1.1.1.1", "203.0.113.7") == "203.0.113.0/24"


@pytest.mark.parametrize("forwarded", [(), ("",), ("10.0.0.5, ::1",), ("unknown",), ("203.0.113.7, _hidden",)])
def test_a_client_that_no_proxy_names_is_unknown(forwarded: tuple[str, ...]) -> None:
    assert network("127.0.0.1", *forwarded) == ""
