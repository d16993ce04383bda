"""What is put into pages to damage them: each list is a few lines of pieces parted by bars."""

from __future__ import annotations

from typing import Final


def _split(*lines: bytes) -> tuple[bytes, ...]:
    return tuple(piece for line in lines for piece in line.split(b"|"))


PIECES: Final = _split(
    b"<|>|&|/|\"|'|\0|\xff|\xc3|<!--|-->|<![CDATA[|]]>|<?x ?>",
    b"&#0;|&#x1F600;|&a;|&amp;|&lt;|v0|-1|Rate exceeded.",
    b"xmlns='urn:x'|<entry/>|<record/>|<item/>|<error code='noRecordsMatch'/>",
    b"<resumptionToken/>|<channel/>|\r\n",
    b"\xe2\x80\xae|\xef\xbb\xbf|\xed\xa0\x80|\xf4\x90\x80\x80|\xc0\x80",
    b"\xef\xbf\xbf|<?xml version='1.0'?>",
    b"<?xml version='1.0' encoding='utf-7'?>| status='deleted'|$^|((1)|\\|<!-- -- -->",
    b"<a b='<'/>|</entry>",
)
NUMBERS: Final = _split(
    b"|0|1|-1|+1|00|7|2500|99999|999999999|9999999999|9999999999999999999999999999999999999999",
    b"1e9|1.5|0x10|NaN",
    b"\xd9\xa1\xd9\xa2|\xe2\x91\xa0|1_000| 3 |\xc2\xb2",
)
DATES: Final = (
    b"9" * 5_000,
    *_split(
        b"|now|0000-00-00T00:00:00Z|0001-01-01T00:00:00+23:59|9999-12-31T23:59:59-23:59",
        b"2026-02-30|20261120",
        b"2026-11-20T24:00:00Z|2026-11-20T10:00:60Z|2026-W47-5|2026-11-20T10:00:00,5+00:00",
        b"2026-11-20T10:00:00+99:99",
        b"Sun, 31 Feb 2026 10:00:00 GMT|Sun, 1 Jan 0000 10:00:00 GMT",
        b"Sun, 1 Jan 9999 23:59:59 -2359",
        b"1 Nov 2026 25:00:00 +9999|Xxx, 1 Xxx 2026 10:00:00 GMT|1 Jan 0001 00:00:00 +2359",
        b"2026-11-20",
    ),
)
TEXTS: Final = _split(
    b"A. One|B.C. Two|, | and |; |: |(|)|(1)|(1,3) |((1) X, (2) Y)|[1,2]",
    b"Jr.| for the X Collaboration| et al",
    b"(1 and 2)|(X, Y|(a)|\\'e|\\v{Z}|{|}|$|\\begin{a}|\\end{a}|^|_|~|--|``",
    b"this paper is withdrawn|\n  ",
    b"$^{a}$|\\frac|\n\n|&#13;|10.1/a;|doi:|hep-th/9901001v1|2611.00001v2|v3",
    b"cs.PF|\xc3\xb6|o\xcc\x88|\xe2\x80\xa8|&#xA0;",
)
NAMESPACES: Final = _split(
    b"http://www.w3.org/2005/Atom|http://arxiv.org/schemas/atom|http://a9.com/-/spec/opensearch/1.1/|",
    b"http://www.openarchives.org/OAI/2.0/|http://arxiv.org/OAI/arXivRaw/|http://arxiv.org/OAI/arXiv/",
)
DOCTYPES: Final = (
    b'<!DOCTYPE a [<!ENTITY a "b">]>',
    (
        b'<!DOCTYPE a [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">'
        b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
    ),
    b'<!DOCTYPE a SYSTEM "file:///etc/passwd">',
    b'<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p; <!ENTITY x SYSTEM "file:///etc/passwd">]>',
    b"<!doctype html><html><head>",
    b'<!DOCTYPE a [<!ATTLIST entry status CDATA "deleted">]>',
)
