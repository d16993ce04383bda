"""Pages bent in every way: each reader gives a page or an `ArxivError`, and nothing else ever."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import parse_oai
from digest.arxiv.rss import parse_rss
from digest.errors import ArxivError, ArxivTruncated
from tests.unit.arxiv.pages import (
    atom_author,
    atom_entry,
    atom_feed,
    atom_line,
    atom_listing,
    error_feed,
    legacy_feed,
    oai_entry,
    oai_error,
    oai_page,
    raw_paper,
    raw_version,
    rss_item,
    rss_listing,
)

Reader = Callable[[bytes], object]

WHOLE: list[tuple[Reader, bytes]] = [
    (parse_atom, atom_feed(atom_entry(authors=atom_author("Ö", "X")), atom_entry("hep-th/9901001v2"), total=9)),
    (parse_atom, legacy_feed()),
    (parse_atom, error_feed("incorrect id format for abc")),
    (parse_oai, oai_page(oai_entry(), oai_entry(raw_paper(authors="A (1) ((1) B)")), token="a%26b")),
    (parse_oai, oai_page(oai_entry(raw_paper(versions=raw_version(12, "Sun, 1 Nov 2026 10:00:00 GMT"))))),
    (parse_oai, oai_error("noRecordsMatch")),
    (parse_rss, rss_listing(rss_item(), rss_item("2611.00002v9", "cross"))),
    (parse_rss, atom_listing(atom_line(), atom_line("2611.00002v9", "cross"))),
]
PIECES = [
    *(
        b"<",
        b">",
        b"&",
        b"/",
        b'"',
        b"'",
        b"\0",
        b"\xff",
        b"\xc3",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<?x ?>",
    ),
    *(
        b"&#0;",
        b"&#x1F600;",
        b"&a;",
        b"<!DOCTYPE a [<!ENTITY a 'b'>]>",
        b"v0",
        b"99999999999",
        b"-1",
        b"Rate exceeded.",
    ),
    *(
        b"xmlns='urn:x'",
        b"<entry/>",
        b"<record/>",
        b"<item/>",
        b"0001-01-01T00:00:00+23:59",
        b"\xe2\x80\xae",
        b"\xef\xbb\xbf",
    ),
]


@st.composite
def mutated(draw: st.DrawFn, body: bytes) -> bytes:
    """Cut, repeat, replace and insert, a few times over."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(body)))
        end = draw(st.integers(start, min(len(body), start + 200)))
        filling = draw(st.sampled_from([b"", body[start:end] * 2, *PIECES]) | st.binary(max_size=8))
        body = body[:start] + filling + body[end:]
    return body


@pytest.mark.parametrize(("read", "body"), WHOLE)
@settings(max_examples=150)
@given(data=st.data())
def test_a_mutated_page_is_a_page_or_a_typed_error(read: Reader, body: bytes, data: st.DataObject) -> None:
    bent = data.draw(mutated(body))
    with suppress(ArxivError):
        assert read(bent) is not None


@pytest.mark.parametrize("read", [parse_atom, parse_oai, parse_rss])
@settings(max_examples=150)
@given(body=st.binary(max_size=300))
def test_bytes_of_any_kind_are_a_page_or_a_typed_error(read: Reader, body: bytes) -> None:
    with pytest.raises(ArxivError):
        read(body)


@pytest.mark.parametrize(("read", "body"), WHOLE)
def test_a_page_is_whole_or_refused_at_every_single_byte(read: Reader, body: bytes) -> None:
    whole = len(body.rstrip())
    for cut in range(whole):
        with pytest.raises(ArxivTruncated):
            read(body[:cut])
