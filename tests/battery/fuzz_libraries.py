"""Files of libraries to mutate, ways to damage them, and what a reading of one must be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from digest.model.libraries import LibraryReading
from tests.battery.fuzz_mutators import add_controls, cut, flip_bits, recode, splice, truncate
from tests.battery.fuzz_pages import Seed
from tests.library_files import READ

if TYPE_CHECKING:
    import random

LIBRARIES: Final = tuple(Seed("library", written.encode()) for written, _ in READ.values())

_PIECES: Final = (
    *(
        "@article{k,",
        "@string{a = a # a}",
        "@",
        "{",
        "}",
        "{\\a{",
        '"',
        '"x" # ',
        "=",
        ",",
        "#",
        "$",
        "_{",
        "\\",
    ),
    *("TY  - JOUR", "ER  - ", "TI  - x", "PT J", "%0 Book", "%T ", "PMID- 1", "RT Book"),
    *("[", "]", '{"title": ', '{"items": [', ":", "null", "1e999", "\\ud800"),
    *(
        "title,doi",
        ";",
        "\t",
        '""',
        "2101.00001",
        "arxiv.org/abs/",
        "doi:10.1000/",
        "<p ",
        "</p>",
        "&amp;",
    ),
    *("\n", "\n\n", " ", "\r", "\0", "\u2028", "ü", "<", "%PDF-", "---\n- id: a"),
)


def damage(draw: random.Random, body: bytes, other: bytes) -> bytes:
    """Damage a library in one to three ways."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        way = draw.choice(
            (
                _put,
                _put,
                _swell,
                _move_lines,
                flip_bits,
                truncate,
                cut,
                splice,
                add_controls,
                recode,
            )
        )
        body = way(draw, body, other)
    return body


def _put(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Put a few pieces that mean something in a form somewhere."""
    at = draw.randrange(len(body) + 1)
    pieces = "".join(draw.choice(_PIECES) for _n in range(draw.randint(1, 8)))
    return body[:at] + pieces.encode() + body[at:]


def _swell(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Repeat one piece or two of them very often somewhere."""
    size = draw.choice((100, 1_000, 10_000)) if draw.random() < 0.98 else 100_000
    piece = "".join(draw.choice(_PIECES) for _n in range(draw.randint(1, 2)))
    at = draw.randrange(len(body) + 1)
    return body[:at] + piece.encode() * size + body[at:]


def _move_lines(draw: random.Random, body: bytes, _: bytes) -> bytes:
    """Repeat, drop or move a few lines."""
    lines = body.splitlines(keepends=True)
    start = draw.randrange(len(lines) + 1)
    some = lines[start : start + draw.randint(1, 4)]
    kept = lines if draw.random() < 0.5 else [*lines[:start], *lines[start + len(some) :]]
    at = draw.randrange(len(kept) + 1)
    return b"".join([*kept[:at], *some, *kept[at:]])


_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def judge_library(body: bytes, reading: LibraryReading) -> None:
    """Raise `AssertionError` if a reading holds what no library may hold."""
    assert reading.papers, "a library without a paper was taken for one"
    assert len(set(reading.papers)) == len(reading.papers), "a paper comes twice"
    for paper in reading.papers:
        assert paper.title or paper.arxiv_id or paper.doi, "a paper has no name"
        assert not _UNSTORABLE.search(paper.title + paper.abstract + paper.doi), (
            "a text can't be stored"
        )
        assert len(paper.title) <= 1_000, "a title has no end"
        assert paper.arxiv_id is None or paper.arxiv_id.is_possible, "an id that arXiv never gave"
    texts = sum(len(paper.title) + len(paper.abstract) for paper in reading.papers)
    assert texts <= 11 * len(body) + 1_000, "the papers are much longer than their file"
