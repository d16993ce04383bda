"""Ways to damage a page.

Each takes a source of chance, a page and another page, and returns a third.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Final

from tests.battery.fuzz_words import DATES, DOCTYPES, NAMESPACES, NUMBERS, PIECES, TEXTS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    Mutator = Callable[[random.Random, bytes, bytes], bytes]

_TAG = re.compile(rb"<[^!?][^>]*>")
_OPENING = re.compile(rb"<([A-Za-z][\w:.-]*)([^>]*?)(/?)>")
_NUMBER = re.compile(rb"\d+")
_DATE = re.compile(
    rb"\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-][\d:]+))?|"
    rb"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} [\d:]+ \S{3,5}"
)
_DECLARATION = re.compile(rb"<\?xml[^>]*>\s*")
_ENTRY = re.compile(rb"<entry>.*?</entry>|<record>.*?</record>|<item>.*?</item>", re.DOTALL)
_PREFIX = re.compile(rb"xmlns(?::\w+)?=|arxiv:|opensearch:")
_TEXT = re.compile(rb">([^<>]+)<")


_CONTROLS = (
    *(*range(32), 0x7F, 0x85, 0x9F),
    *(0x200E, 0x2028, 0x202E, 0xFEFF, 0xFFFE, 0xD800, 0x110000),
)
_COVERS = (
    (b"<!--", b"-->"),
    (b"<![CDATA[", b"]]>"),
    (b"<a>", b"</a>"),
    (b"<a:b xmlns:a='u'>", b"</a:b>"),
)


def flip_bits(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Turn bits around, or whole bytes."""
    bent = bytearray(body)
    for _n in range(draw.choice((1, 1, 1, 2, 4, 16))):
        if bent:
            at = draw.randrange(len(bent))
            bits = draw.choice((1, 2, 4, 8, 16, 32, 64, 128, draw.randrange(1, 256)))
            bent[at] ^= bits
    return bytes(bent)


def truncate(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Let it break off, often near the end."""
    if draw.random() < 0.5:
        return body[: -draw.randint(1, 40)]
    return body[: draw.randrange(len(body) + 1)]


def cut(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Take something out of the middle, anywhere or between two tags."""
    if draw.random() < 0.5:
        start = draw.randrange(len(body) + 1)
        length = draw.choice((1, 2, 10, 100, 1_000))
        return body[:start] + body[start + length :]
    edges = [match.start() for match in _TAG.finditer(body)] or [0]
    start, end = sorted((draw.choice(edges), draw.choice(edges)))
    return body[:start] + body[end:]


def insert(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Put something of use to attackers, or noise, anywhere or between two tags."""
    edges = [match.start() for match in _TAG.finditer(body)] if draw.random() < 0.5 else []
    at = draw.choice(edges) if edges else draw.randrange(len(body) + 1)
    piece = draw.choice(PIECES) if draw.random() < 0.9 else draw.randbytes(9)
    return body[:at] + piece + body[at:]


def splice(draw: random.Random, body: bytes, other: bytes) -> bytes:
    """Begin as one page and go on as another, anywhere or at the beginning of an entry."""
    if draw.random() < 0.5:
        end = draw.randrange(len(body) + 1)
        start = draw.randrange(len(other) + 1)
        return body[:end] + other[start:]
    entry = draw.choice((b"<entry", b"<record>", b"<item>", b"</"))
    ours = [match.start() for match in re.finditer(entry, body)] or [len(body)]
    theirs = [match.start() for match in re.finditer(entry, other)] or [0]
    return body[: draw.choice(ours)] + other[draw.choice(theirs) :]


def duplicate(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Let an element come twice, there or elsewhere."""
    start, end = _pick_element(draw, body)
    at = end if draw.random() < 0.7 else _pick_element(draw, body)[1]
    return body[:at] + body[start:end] + body[at:]


def remove(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Leave an element out, or only what is in it."""
    start, end = _pick_element(draw, body)
    if draw.random() < 0.3:
        opened = body.find(b">", start) + 1
        closed = max(body.rfind(b"<", start, end), 0)
        return body[:opened] + body[closed:]
    return body[:start] + body[end:]


def reorder(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Let two elements change places."""
    first, second = sorted((_pick_element(draw, body), _pick_element(draw, body)))
    if first[1] > second[0]:
        return body  # one is in the other
    between = body[first[1] : second[0]]
    changed = body[slice(*second)] + between + body[slice(*first)]
    return body[: first[0]] + changed + body[second[1] :]


def rename(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Give an element another name, at both of its ends."""
    start, end = _pick_element(draw, body)
    opening = _OPENING.match(body, start)
    if opening is None:
        return body
    name = opening[1]
    alike = (name[:-1] or b"x", name + b"s", name.swapcase(), b"x:" + name)
    new = draw.choice((*alike, b"entry", b"record", b"item", b"a"))
    inner = body[start + 1 + len(name) : end]
    if inner.endswith(b"</" + name + b">"):
        inner = inner.removesuffix(name + b">") + new + b">"
    return body[: start + 1] + new + inner + body[end:]


def hide(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Wrap an element into a comment, a CDATA section, or another element."""
    start, end = _pick_element(draw, body)
    before, after = draw.choice(_COVERS)
    return body[:start] + before + body[start:end] + after + body[end:]


def declare(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Give it a document type, with or without entities that are used."""
    declaration = _DECLARATION.match(body)
    at = declaration.end() if declaration else 0
    at = draw.choice((at, at, at, 0, draw.randrange(len(body) + 1)))
    before = draw.choice((b"", b"<!-- > -->", b"<?x <!-- ?>", b" "))
    bent = body[:at] + before + draw.choice(DOCTYPES) + body[at:]
    if draw.random() < 0.5:
        return bent
    return _replace(draw, bent, _TEXT, (b">&a;<", b">&c;<", b">&x;<", b">&nbsp;<"))


def swell(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Make an attribute, a name, a text, a comment or a number of them very large."""
    size = draw.choice((100, 1_000, 10_000, 100_000)) if draw.random() < 0.995 else 2_000_000
    piece = draw.choice((b"x", b"\xc3\xb6", b"(", b"$", b"a(,", b"\\", b" and ", b"&#65;", b"1"))
    filling = piece * (size // 2)
    tags = list(_OPENING.finditer(body))
    if not tags:
        return body + filling
    tag = draw.choice(tags)
    at = tag.end(1)
    ways = (b" a='" + filling + b"'", b" " * size, b" " + filling, b" a='' b=''" * (size // 20))
    if draw.random() < 0.5:
        return body[:at] + draw.choice(ways) + body[at:]
    flood = (
        filling,
        b"<a/>" * (size // 4),
        b"<!--" + filling + b"-->",
        b"<?x " + filling + b"?>",
        tag[0] * (size // 50),
    )
    return body[: tag.end()] + draw.choice(flood) + body[tag.end() :]


def nest(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Nest elements deeper than anybody does, closed again or not."""
    depth = draw.choice((10, 150, 250, 1_000, 5_000)) if draw.random() < 0.99 else 200_000
    end = draw.choice([match.end() for match in _TAG.finditer(body)] or [0])
    name = draw.choice((b"a", b"entry", b"record", b"item", b"title", b"author"))
    opening = b"<" + name + b">"
    closing = b"</" + name + b">" if draw.random() < 0.8 else b""
    return body[:end] + opening * depth + closing * depth + body[end:]


def zip_up(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Leave it packed, or half of it."""
    packed = gzip.compress(body, 1, mtime=0)
    part = packed[: draw.randrange(len(packed))]
    mixed = (packed[:10] + body, body + packed, b"\x1f\x8b" + body)
    return draw.choice((packed, part, *mixed))


def recode(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Write it in another encoding, say that it is in one, or put marks of order about."""
    name = draw.choice(("utf-16", "utf-16-be", "utf-32", "latin-1", "utf-7", "cp037", "utf-8-sig"))
    declared = re.sub(rb"UTF-8", name.encode(), body, count=1)
    text = body.decode("utf-8", "replace")
    encoded = text.encode(name, "replace")
    marked = (b"\xef\xbb\xbf" + body, b" \n" + body)
    return draw.choice((declared, encoded, *marked, body * 2))


def change_namespace(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Swap a namespace for another, or take a prefix or a declaration away."""
    if draw.random() < 0.6:
        namespace = draw.choice([one for one in NAMESPACES if one])
        return _replace(draw, body, re.compile(re.escape(namespace)), NAMESPACES)
    return _replace(draw, body, _PREFIX, (b"", b"xmlns:y=", b"y:", b"xmlns="))


def change_number(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Replace a number by one that is out of range or none at all."""
    return _replace(draw, body, _NUMBER, NUMBERS)


def change_date(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Replace a date likewise."""
    return _replace(draw, body, _DATE, DATES)


def add_controls(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Put control characters into a text, plainly or by reference."""
    code = draw.choice(_CONTROLS)
    plain = chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else b"\xf4\x90\x80\x80"
    texts = list(_TEXT.finditer(body))
    at = draw.randint(*draw.choice(texts).span(1)) if texts else 0
    written = draw.choice((plain, b"&#%d;" % code, b"&#x%x;" % code))
    return body[:at] + written + body[at:]


def lose_entry(draw: random.Random, body: bytes, other: bytes) -> bytes:
    """Leave a whole entry out, or let another one stand in its place.

    Of this page, or of the other one.
    """
    entries = [match.span() for match in _ENTRY.finditer(body)]
    if not entries:
        return body
    start, end = draw.choice(entries)
    first, last = draw.choice(entries)
    others = [match[0] for match in _ENTRY.finditer(other)]
    instead = draw.choice((b"", body[first:last], *others[:1]))
    return body[:start] + instead + body[end:]


def garble(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Replace a text by words that mean something in author lines, comments, ids or TeX."""
    words = b"".join(draw.choice(TEXTS) for _n in range(draw.randint(1, 12)))
    return _replace(draw, body, _TEXT, (b">" + words + b"<",))


def _replace(
    draw: random.Random, body: bytes, pattern: re.Pattern[bytes], fillings: tuple[bytes, ...]
) -> bytes:
    places = [match.span() for match in pattern.finditer(body)]
    if not places:
        return body
    start, end = draw.choice(places)
    return body[:start] + draw.choice(fillings) + body[end:]


def _pick_element(draw: random.Random, body: bytes) -> tuple[int, int]:
    """Return where an element begins and ends, as far as a look at its tags can tell."""
    tags = list(_OPENING.finditer(body))
    if not tags:
        return 0, 0
    tag = draw.choice(tags)
    closing = b"</" + tag[1] + b">"
    at = -1 if tag[3] else body.find(closing, tag.end())
    return tag.start(), tag.end() if at < 0 else at + len(closing)


_WHOLE = (
    lose_entry,
    garble,
    duplicate,
    remove,
    reorder,
    rename,
    hide,
    change_namespace,
    change_number,
    change_date,
    add_controls,
)
_BREAKING = (flip_bits, truncate, cut, insert, splice, declare, swell, nest, zip_up, recode)
MUTATORS: Final[tuple[Mutator, ...]] = (*_WHOLE, *_WHOLE, *_BREAKING)
"""Those that mostly leave it well-formed get further, and come twice as often."""

_RARE = frozenset({swell, nest, zip_up, recode})


def mutate(draw: random.Random, body: bytes, other: bytes) -> bytes:
    """Damage a page in one to three ways."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        way = draw.choice(MUTATORS)
        if way in _RARE and draw.random() < 0.7:
            way = draw.choice(MUTATORS)  # costly or soon refused: enough of these come all the same
        body = way(draw, body, other)
    return body
