from __future__ import annotations

import gzip
import tracemalloc

import pytest

from digest.arxiv import documents
from digest.arxiv.documents import BODY_LIMIT, SNIPPET_LIMIT, Document, check_body
from digest.model.errors import ArxivError, ArxivHostile, ArxivThrottled, ArxivTruncated, ArxivUnreadable


def read(body: bytes) -> list[str]:
    return [part.text or "" for part in Document(body, roots={"r": (), "s": ("list",)}, entries=("p",))]


def test_parts_come_in_order_and_everything_else_stays_in_the_root() -> None:
    document = Document(b"<r><a>1</a><p>x</p><b>2</b><p>y</p><c>3</c></r>", roots={"r": ()}, entries=("p",))
    assert [part.text for part in document] == ["x", "y"]
    assert [(child.tag, child.text) for child in document.root if child.tag != "p"] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
    ]


def test_the_root_is_not_given_out_before_the_document_was_read_to_its_end() -> None:
    with pytest.raises(RuntimeError, match="not been read"):
        _ = Document(b"<r/>", roots={"r": ()}, entries=("p",)).root


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf<r><p>x</p></r>",
        b"  \n<r><p>x</p></r>",
        b"<?xml version='1.0'?><!-- hello > --><?pi ?><r><p>x</p></r>",
        b"<?xml version='1.0' encoding='us-ascii'?><r><p>x</p></r>",
        b"<r><p><!-- left out -->x</p></r>",
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
        pytest.param(b"<!DOCTYPE html><html><body>Hi</body></html>", ArxivUnreadable, id="web page"),
        pytest.param(
            b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0"><html/>',
            ArxivUnreadable,
            id="XHTML",
        ),
        pytest.param(b"<HTML><body><p>Hi</HTML>", ArxivUnreadable, id="old web page"),
        pytest.param(b"<other><p>x</p></other>", ArxivUnreadable, id="another root"),
        pytest.param("<r><p>x</p></r>".encode("utf-16"), ArxivUnreadable, id="UTF-16"),
        pytest.param("<r><p>x</p></r>".encode("utf-16-be"), ArxivUnreadable, id="UTF-16 without a mark"),
        pytest.param(b"<?xml version='1.0' encoding='utf-7'?><r><p>x</p></r>", ArxivUnreadable, id="UTF-7"),
        pytest.param(b"<?xml version='1.0' encoding='latin-1'?><r><p>x</p></r>", ArxivUnreadable, id="Latin"),
        pytest.param(b"<r><p>x</p>", ArxivTruncated, id="cut off"),
        pytest.param(b"<r><p>x</p></r", ArxivTruncated, id="cut off at the last byte"),
        pytest.param(b"<r><p>x</p></r><r/>", ArxivTruncated, id="two documents"),
        pytest.param(b"<r><p>x & y</p></r>", ArxivTruncated, id="bare ampersand"),
        pytest.param(b"<r><p>&nbsp;</p></r>", ArxivTruncated, id="unknown entity"),
        pytest.param(b"<r><p>\x00</p></r>", ArxivUnreadable, id="null early"),
        pytest.param(b"<r><p>" + b"x" * 99 + b"\x00</p></r>", ArxivTruncated, id="null late"),
        pytest.param(b"<r><p>\xff</p></r>", ArxivTruncated, id="no UTF-8"),
        pytest.param(b"<r><!-- ", ArxivTruncated, id="open comment"),
        pytest.param(b"<r>" + b"<p>" * 5000 + b"</p>" * 5000 + b"</r>", ArxivTruncated, id="deep"),
    ],
)
def test_what_is_no_whole_xml_of_the_right_kind_is_its_own_error(body: bytes, expected: type[ArxivError]) -> None:
    with pytest.raises(ArxivError) as caught:
        read(body)
    assert type(caught.value) is expected
    assert caught.value.hint


@pytest.mark.parametrize(
    "body",
    [
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


def test_a_prolog_of_a_million_comments_takes_no_time() -> None:
    body = b"<!---->" * 1_000_000 + b"<!DOCTYPE r []><r/>"
    with pytest.raises(ArxivHostile):
        check_body(body)


def test_an_entry_that_stands_where_none_belongs_is_no_entry_and_no_page_either() -> None:
    for body in (b"<r><p>x</p><a><p>y</p></a></r>", b"<r><p>x<p>y</p></p></r>", b"<r><a><p/></a></r>"):
        with pytest.raises(ArxivUnreadable, match="where none belongs"):
            read(body)


def test_text_between_the_entries_may_be_entries_that_something_hides() -> None:
    for body in (b"<r><p>x</p><![CDATA[<p>y</p>]]></r>", b"<r><![CDATA[<p>y</p>]]><p>x</p></r>", b"<r>y</r>"):
        with pytest.raises(ArxivUnreadable, match="there is text"):
            read(body)
    assert read(b"<r>\n <!-- y --><p>x</p> \n<a>y</a>\t</r>") == ["x"]


def test_entries_may_be_held_by_a_child_of_the_root_and_then_by_one_alone() -> None:
    def read_held(body: bytes) -> list[str]:
        document = Document(body, roots={"r": ("list", "other")}, entries=("p",))
        return [entry.text or "" for entry in document]

    assert read_held(b"<r><a/><list><p>x</p><b/><p>y</p></list><c/></r>") == ["x", "y"]
    for body in (b"<r><list><p>x</p></list><list/></r>", b"<r><other/><list><p>x</p></list></r>"):
        with pytest.raises(ArxivUnreadable, match="more than one list"):
            read_held(body)
    with pytest.raises(ArxivUnreadable, match="where none belongs"):
        read_held(b"<r><p>x</p><list><p>y</p></list></r>")


@pytest.mark.parametrize(
    "body",
    [
        b"<r>" + b"<a/>" * 20_000 + b"</r>",
        b"<r>" + b"<p/><a/>" * 5_000 + b"</r>",
        b"<r>" + b"<p><a/><a/></p>" * 7_000 + b"</r>",
        b"<s>" + b"<a/>" * 5_000 + b"</s>",
    ],
    ids=["beside", "between", "within", "beside the list"],
)
def test_more_elements_than_any_page_has_are_not_kept(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_ELEMENTS", 20_000)
    with pytest.raises(ArxivHostile):
        read(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<?xml version='1.0' encoding='utf8'?><r><p>\xc3\xb6</p></r>", ["\u00f6"]),
        (b"<?xml version='1.0' encoding='ascii'?><r><p>x</p></r>", ["x"]),
        (b"\xef\xbb\xbf<?xml version='1.0' standalone = 'yes' ?><r><p>x</p></r>", ["x"]),
        (b'<?xml version="1.1"?>\n<!-- <?xml ?> --><r><p>x</p></r>', ["x"]),
    ],
)
def test_a_declaration_may_say_what_is_true_in_other_words(body: bytes, expected: list[str]) -> None:
    assert read(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"<?xml version='1.0'?><?xml version='1.0' encoding='utf-7'?><r/>",
        b"<?xml version='1.0' " + b" " * 999 + b"encoding='utf-7'?><r/>",
        b"<?xml encoding='UTF-8'?><r/>",
        b"<?xml version='1.0' encoding='UTF-8' version='1.0'?><r/>",
        b" <?xml version='1.0'?><r/>",
        b"<?xml version='1.0'><r/>",
    ],
)
def test_a_damaged_or_second_declaration_is_no_way_around_the_encoding(body: bytes) -> None:
    with pytest.raises(ArxivUnreadable):
        read(body)


def test_a_tag_of_many_megabytes_is_a_tag() -> None:
    assert read(b"<r><p a='" + b"x" * 20_000_000 + b"'>x</p></r>") == ["x"]


def test_an_entry_put_aside_is_kept_as_the_very_bytes_that_came() -> None:
    body = (
        b"<?xml version='1.0' encoding='utf8'?><n:r xmlns:n='urn:n'><!-- > --><n:p/>\n<n:p a='&gt;>'>&#246;</n:p>"
        b"<n:p>\xc3\xb6<![CDATA[</n:p>]]></n:p\n> <n:p a='>'/></n:r>"
    )
    document = Document(body, roots={"{urn:n}r": ()}, entries=("{urn:n}p",))
    assert len(list(document)) == 4
    kept = document.quarantine({3: "d", 1: "b", 2: "c", 0: "a"})
    assert [(entry.position, entry.snippet, entry.error) for entry in kept] == [
        (0, b"<n:p/>", "a"),
        (1, b"<n:p a='&gt;>'>&#246;</n:p>", "b"),
        (2, b"<n:p>\xc3\xb6<![CDATA[</n:p>]]></n:p\n>", "c"),
        (3, b"<n:p a='>'/>", "d"),
    ]


def test_memory_holds_a_handful_of_entries_at_a_time() -> None:
    body = b"<r>" + (b"<p>" + b"<i>word</i>" * 50 + b"</p>") * 4_000 + b"</r>"
    tracemalloc.start()
    count = sum(1 for _ in Document(body, roots={"r": ()}, entries=("p",)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 4_000
    assert peak < 1_000_000
    assert SNIPPET_LIMIT < 10_000
