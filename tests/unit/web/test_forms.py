from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from digest.config import Config
from digest.model.errors import UsageError
from digest.web.forms import MOST_FIELDS, Form, find_origin, read_form
from digest.web.guards import name_network

FORM = "application/x-www-form-urlencoded"
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
BROKEN = [
    *b"\xc3\xa9=1 a=%ff a=%ed%a0%80 a=%00 %00=a a a=1&".split(b" "),
    b"a=1&" * MOST_FIELDS + b"a=1",
]
CONFIG = cast(
    "Config", SimpleNamespace(web=SimpleNamespace(trusted_proxies=("127.0.0.1", "10.0.0.5", "::1")))
)
NETWORKS = {
    "203.0.113.77": "203.0.113.0/24",
    "2001:db8:1:2::3": "2001:db8:1::/48",
    "::2": "::/48",
    "::ffff:203.0.113.77": "203.0.113.0/24",
    "fe80::1%eth0": "fe80::/48",
    "": "",
}
ORIGINS = {
    "https://Digest.example.org": "https://digest.example.org",
    "https://digest.example.org:443/papers": "https://digest.example.org",
    "https://digest.example.org:8443": "https://digest.example.org:8443",
    "http://[::1]:80": "http://[::1]",
    "https://bücher.example": "https://xn--bcher-kva.example",
}


def make_request(
    body: bytes = b"", kind: str = FORM, peer: str = "", forwarded: tuple[str, ...] = ()
) -> Request:
    headers = [
        (b"content-type", kind.encode()),
        *((b"x-forwarded-for", line.encode()) for line in forwarded),
    ]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    return Request(scope | {"state": {"body": body}, "client": (peer, 1) if peer else None})


def network(peer: str, *forwarded: str) -> str:
    return name_network(make_request(peer=peer, forwarded=forwarded), CONFIG)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=MOST_FIELDS))
def test_what_a_browser_writes_is_read_as_it_was(fields: list[tuple[str, str]]) -> None:
    assert read_form(make_request(urlencode(fields).encode())) == Form(tuple(fields))


def test_a_field_that_is_not_there_is_empty_and_boxes_of_one_name_are_all_there() -> None:
    form = read_form(make_request(b"kinds=new&kinds=replacement&q=", f"{FORM}; charset=UTF-8"))
    assert form.get("kinds") == "new"
    assert form.get_all("kinds") == ["new", "replacement"]
    assert form.get("q") == ""
    assert form.get("answer") == ""
    assert form.get_all("answer") == []


@pytest.mark.parametrize("body", BROKEN)
def test_what_is_no_form_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(UsageError):
        read_form(make_request(body))


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "multipart/form-data; boundary=x", "application/json"]
)
def test_a_body_of_another_kind_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="carries no form"):
        read_form(make_request(b"a=1", kind))


def test_an_origin_is_written_as_browsers_write_it() -> None:
    assert {url: find_origin(url) for url in ORIGINS} == ORIGINS


def test_a_network_is_what_asks_together() -> None:
    assert {peer: network(peer) for peer in NETWORKS} == NETWORKS


def test_only_a_proxy_of_ours_says_who_asks_and_what_stands_left_of_that_is_the_clients_own() -> (
    None
):
    assert network("198.51.100.1", "203.0.113.7") == "198.51.100.0/24"
    assert network("127.0.0.1", "203.0.113.7") == "203.0.113.0/24"
    assert network("::ffff:127.0.0.1", "2001:db8::1") == "2001:db8::/48"
    assert network("127.0.0.1", "1.1.1.1, 203.0.113.7, 10.0.0.5") == "203.0.113.0/24"
    assert network("127.0.0.1", "1.1.1.1", "203.0.113.7") == "203.0.113.0/24"


@pytest.mark.parametrize(
    ("hop", "expected"),
    [
        ("203.0.113.7:4711", "203.0.113.0/24"),
        (' "203.0.113.7:4711" ', "203.0.113.0/24"),
        ("[2001:db8::1]:443", "2001:db8::/48"),
        ('"[2001:db8::1]"', "2001:db8::/48"),
        ("[::ffff:203.0.113.7]:443", "203.0.113.0/24"),
        ("[fe80::1%25eth0]:443", "fe80::/48"),
        ("203.0.113.7:4711, 10.0.0.5:80, [::1]:443, ", "203.0.113.0/24"),
        *(("203.0.113.7, unknown", ""), ("203.0.113.7, 1:2", ""), ("203.0.113.7, ]", "")),
    ],
)
def test_a_proxy_may_add_ports_brackets_and_quotes(hop: str, expected: str) -> None:
    assert network("127.0.0.1", hop) == expected


@pytest.mark.parametrize(
    "forwarded", [(), ("",), ("10.0.0.5, ::1",), ("unknown",), ("203.0.113.7, _hidden",)]
)
def test_a_client_that_no_proxy_names_is_unknown(forwarded: tuple[str, ...]) -> None:
    assert network("127.0.0.1", *forwarded) == ""
