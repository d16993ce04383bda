"""Bodies from outside: entries one by one, and each way of being no whole page a typed error."""

from __future__ import annotations

import gzip

import pytest

from digest.arxiv.documents import BODY_LIMIT, Document, MalformedEntry, check_body, quarantine
from digest.model.errors import (
    ArxivError,
    ArxivHostile,
    ArxivThrottled,
    ArxivTruncated,
    ArxivUnreadable,
)


def read(body: bytes, *, depth: int = 1) -> list[str]:
    return [part.text or "" for part in Document(body, root="r", entry="p", depth=depth)]


def test_entries_come_in_order_and_everything_else_stays_in_the_root() -> None:
    document = Document(
        b"<r><a>1</a><p>x</p><b>2</b><p>y</p><c>3</c></r>", root="r", entry="p", depth=1
    )
    assert [part.text for part in document] == ["x", "y"]
    assert [child.text for child in document.root if child.tag != "p"] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "body",
    [
        *(b"\xef\xbb\xbf<r><p>x</p></r>", b"  \n<r><p>x</p></r>"),
        *(
            b"<?xml version='1.0'?><!-- hello > --><?pi ?><r><p>x</p></r>",
            b"<r><p><!-- left out -->x</p></r>",
        ),
        b"<r><p><![CDATA[x]]></p></r>",
    ],
)
def test_xml_may_begin_in_every_way_xml_may_begin(body: bytes) -> None:
    assert read(body) == ["x"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"", ArxivTruncated, id="nothing"),
        pytest.param(b" \n ", ArxivTruncated, id="blanks"),
        pytest.param(b"Rate exceeded.", ArxivThrottled, id="rate"),
        pytest.param(b"\n rate EXCEEDED, come back", ArxivThrottled, id="rate in other words"),
        pytest.param(b"Service unavailable", ArxivUnreadable, id="text"),
        pytest.param(b"{}", ArxivUnreadable, id="JSON"),
        pytest.param(gzip.compress(b"<r/>"), ArxivUnreadable, id="gzip without saying so"),
        pytest.param(
            b"<!DOCTYPE html><html><body>Hi</body></html>", ArxivUnreadable, id="web page"
        ),
        pytest.param(
            b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0"><html/>',
            ArxivUnreadable,
            id="XHTML",
        ),
        pytest.param(b"<HTML><body><p>Hi</HTML>", ArxivUnreadable, id="old web page"),
        pytest.param(b"<other><p>x</p></other>", ArxivUnreadable, id="another root"),
        pytest.param("<r><p>x</p></r>".encode("utf-16"), ArxivUnreadable, id="UTF-16"),
        pytest.param(
            "<r><p>x</p></r>".encode("utf-16-be"), ArxivUnreadable, id="UTF-16 without a mark"
        ),
        pytest.param(
            b"<?xml version='1.0' encoding='utf-7'?><r><p>x</p></r>", ArxivUnreadable, id="UTF-7"
        ),
        pytest.param(b"<r><p>x</p>", ArxivTruncated, id="cut off"),
        pytest.param(b"<r><p>x</p></r", ArxivTruncated, id="cut off at the last byte"),
        pytest.param(b"<r><p>x</p></r><r/>", ArxivTruncated, id="two documents"),
        pytest.param(b"<r><p>x & y</p></r>", ArxivTruncated, id="bare ampersand"),
        pytest.param(b"<r><p>&nbsp;</p></r>", ArxivTruncated, id="unknown entity"),
        pytest.param(b"<r><p>\x00</p></r>", ArxivUnreadable, id="null early"),
        pytest.param(b"<r><p>\xff</p></r>", ArxivTruncated, id="no UTF-8"),
        pytest.param(b"<r><!-- ", ArxivTruncated, id="open comment"),
        pytest.param(b"<r>" + b"<a>" * 5000 + b"</a>" * 5000 + b"</r>", ArxivTruncated, id="deep"),
    ],
)
def test_what_is_no_whole_xml_of_the_right_kind_is_its_own_error(
    body: bytes, expected: type[ArxivError]
) -> None:
    with pytest.raises(ArxivError) as caught:
        read(body)
    assert type(caught.value) is expected
    assert caught.value.hint


@pytest.mark.parametrize(
    "forbidden",
    [
        *(
            b"\x01",
            b"\x0b",
            b"\x0c",
            b"\x1f",
            b"&#x1;",
            b"&#11;",
            b"&#x00;",
            b"&#0000012;",
            b"&#x1F;",
        ),
        *(
            b"\xed\xa0\x80",
            b"&#xD800;",
            b"&#57343;",
            b"\xef\xbf\xbe",
            b"\xef\xbf\xbf",
            b"&#xfffe;",
            b"&#65535;",
        ),
        *(b"&#x110000;", b"&#9999999999;"),
        pytest.param(b"x" * 99 + b"\x00", id="null"),
    ],
)
def test_what_no_xml_may_hold_is_left_out_and_the_rest_is_read(forbidden: bytes) -> None:
    text = forbidden.replace(b"\x00", b"") if b"\x00" in forbidden else b""
    allowed = "&#9;&#xA;&#xe9;&#x1D11E;\ud7ff\ue000".encode("utf-8", "surrogatepass")
    expected = text.decode() + "\t\né\U0001d11e\ud7ff\ue000"
    assert read(b"<r a='" + forbidden + b"'><p>" + forbidden + allowed + b"</p></r>") == [expected]


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOC\x01TYPE r [<!ENTITY a "lol">]><r><p>&a;</p></r>',
        b'<!DOC&#1;TYPE r [<!ENTITY a "lol">]><r><p>&a;</p></r>',
        b'<!DOCTYPE r [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]><r><p>&b;</p></r>',
        b'<?xml version="1.0"?><!-- x --><!DOCTYPE r SYSTEM "file:///etc/passwd"><r/>',
        b'\xef\xbb\xbf<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r><p>&x;</p></r>',
        b'<!DOCTYPE feed PUBLIC "x" "http://127.0.0.1:9/x.dtd"><r/>',
    ],
)
def test_a_document_type_is_refused_whatever_it_declares(body: bytes) -> None:
    with pytest.raises(ArxivHostile, match="document type"):
        read(body)


def test_a_body_over_the_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(ArxivHostile, match="25,000,000"):
        check_body(b"<r>" + b" " * BODY_LIMIT)


def test_an_entry_that_stands_where_none_belongs_is_no_entry_and_no_page_either() -> None:
    for body in (
        b"<r><p>x</p><a><p>y</p></a></r>",
        b"<r><p>x<p>y</p></p></r>",
        b"<r><a><p/></a></r>",
    ):
        with pytest.raises(ArxivUnreadable, match="where none belongs"):
            read(body)
    assert read(b"<r><a/><list><p>x</p><b/><p>y</p></list><c/></r>", depth=2) == ["x", "y"]


def test_text_between_the_entries_may_be_entries_that_something_hides() -> None:
    for body in (b"<r><p>x</p><![CDATA[<p>y</p>]]></r>", b"<r><![CDATA[<p>y</p>]]><p>x</p></r>"):
        with pytest.raises(ArxivUnreadable, match="there is text"):
            read(body)
    assert read(b"<r>\n <!-- y --><p>x</p> \n<a>y</a>\t</r>") == ["x"]


def test_an_entry_put_aside_is_kept_with_what_is_wrong_with_it() -> None:
    (entry,) = Document("<r><p a='>'>ö</p></r>".encode(), root="r", entry="p", depth=1)
    kept = quarantine(3, entry, MalformedEntry("no id"))
    assert kept.position == 3
    assert kept.error == "no id"
    assert kept.snippet.decode() == '<p a="&gt;">ö</p>'
