from __future__ import annotations

import pytest

from digest.arxiv.atom import parse_atom
from digest.arxiv.client import ArxivAddresses
from digest.arxiv.exchange import check_status, gate_outcome
from digest.model.clock import GateOutcome, RequestOutcome
from digest.model.errors import (
    ArxivError,
    ArxivFaulted,
    ArxivHostile,
    ArxivMoved,
    ArxivRefused,
    ArxivRejected,
    ArxivThrottled,
    ArxivTruncated,
    ArxivUnreachable,
    ArxivUnreadable,
)
from digest.wire import HttpAnswer
from tests.fakes.pages import atom_feed, error_feed

RATE = b"Rate exceeded."
WEB_PAGE = b"<!DOCTYPE html><html><body><h1>Error 503 first byte timeout</h1></body></html>"


def judge(
    status: int, body: bytes = WEB_PAGE, media_type: str = "text/html", **headers: str
) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    check_status(HttpAnswer(status, {"content-type": media_type, **named}, body), parse_atom)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/atom+xml; charset=utf-8",
        "text/xml",
        "application/xml",
        "application/RSS+XML",
        "",
    ],
)
def test_a_page_passes_under_every_name_xml_goes_by(media_type: str) -> None:
    judge(200, atom_feed(), media_type)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (429, ArxivThrottled),
        (406, ArxivThrottled),
        (503, ArxivThrottled),
        (403, ArxivRefused),
        (301, ArxivMoved),
        (302, ArxivMoved),
        (308, ArxivMoved),
        (400, ArxivRejected),
        (404, ArxivRejected),
        (414, ArxivRejected),
        (500, ArxivFaulted),
        (502, ArxivFaulted),
        (504, ArxivFaulted),
        (204, ArxivFaulted),
    ],
)
def test_each_status_is_its_own_error_whatever_the_body_is(
    status: int, expected: type[ArxivError]
) -> None:
    for body in (
        WEB_PAGE,
        b"",
        b"Not Acceptable",
        atom_feed(),
        b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>",
    ):
        with pytest.raises(ArxivError) as caught:
            judge(status, body)
        assert type(caught.value) is expected
        assert caught.value.hint


@pytest.mark.parametrize("status", [200, 301, 400, 403, 404, 406, 429, 500, 503])
def test_rate_exceeded_is_throttling_under_every_status(status: int) -> None:
    with pytest.raises(ArxivThrottled) as caught:
        judge(status, RATE, "text/plain", retry_after="90")
    assert caught.value.retry_after == 90.0


def test_where_nothing_is_at_an_address_it_and_its_setting_are_named() -> None:
    place = ArxivAddresses(oai_url="https://x.example/oai").describe(
        "https://x.example/oai?verb=ListRecords"
    )
    with pytest.raises(ArxivRejected) as caught:
        check_status(HttpAnswer(404, {}, WEB_PAGE), parse_atom, place=place)
    assert caught.value.message == (
        "arXiv rejects the request (404): nothing is at oai_url under [arxiv], https://x.example/oai"
    )


def test_an_error_feed_says_more_than_its_status() -> None:
    with pytest.raises(ArxivRejected, match="incorrect id format for abc"):
        judge(400, error_feed("incorrect id format for abc"), "application/atom+xml")
    with pytest.raises(ArxivFaulted, match="internal error"):
        judge(500, error_feed("The server encountered an internal error."), "application/atom+xml")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [(atom_feed(), "text/html; charset=utf-8"), (WEB_PAGE, "text/html"), (b"ok", "text/plain")],
)
def test_a_promised_page_of_another_type_is_unreadable(body: bytes, media_type: str) -> None:
    with pytest.raises(ArxivUnreadable):
        judge(200, body, media_type)


def test_a_redirect_names_the_address_to_configure() -> None:
    with pytest.raises(ArxivMoved, match=r"https://new\.example/api") as caught:
        judge(301, b"", location="https://new.example/api?search_query=x")
    assert "[arxiv]" in caught.value.hint
    with pytest.raises(ArxivMoved, match="does not name"):
        judge(302, b"")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, RequestOutcome.OK),
        (ArxivRejected("x"), RequestOutcome.OK),
        (ArxivRefused("x"), RequestOutcome.REFUSED),
        (ArxivUnreachable("x"), RequestOutcome.FAILED),
        (ArxivFaulted("x"), RequestOutcome.FAILED),
        (ArxivTruncated("x"), RequestOutcome.FAILED),
        (ArxivHostile("x"), RequestOutcome.FAILED),
        (ArxivMoved("x"), RequestOutcome.FAILED),
    ],
)
def test_the_gate_is_told_how_it_went(error: ArxivError | None, outcome: RequestOutcome) -> None:
    assert gate_outcome(error) == GateOutcome(outcome)


def test_the_gate_is_told_how_long_arxiv_wants_to_be_left_alone() -> None:
    assert gate_outcome(ArxivThrottled("x", retry_after=30.0)) == GateOutcome(
        RequestOutcome.THROTTLED, 30.0
    )
