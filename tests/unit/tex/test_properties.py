"""What holds for every text, however strange."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import lxml.etree
import lxml.html
from hypothesis import given
from hypothesis import strategies as st

from digest.tex import PieceKind, Segment, parse_tex, to_html, to_plain, to_segments
from digest.tex.commands import DECLARATIONS, DIVIDERS, FORMULA_COMMANDS, TEXT_COMMANDS
from digest.tex.symbols import MATH_ACCENTS, SYMBOLS

ELEMENTS = {"div", "sup", "sub", "i", "b", "code", "mark"}
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

names = st.sampled_from(
    sorted(
        {
            *SYMBOLS,
            *MATH_ACCENTS,
            *TEXT_COMMANDS,
            *FORMULA_COMMANDS,
            *DIVIDERS,
            *DECLARATIONS,
            "nonsense",
        }
    )
)
commands = names.map(lambda name: f"\\{name}")
signs = st.sampled_from(
    [
        *"${}^_&~%#'`\"-+=<>()[]|\\/ \n,.:",
        *("$$", "\\\\", "\\[", "\\]", "\\(", "\\)", "\\{", "\\}", "\\'", '\\"', "\\^"),
    ]
)
environments = st.sampled_from(["equation", "cases", "array", "abstract", "foo"]).flatmap(
    lambda name: st.sampled_from([f"\\begin{{{name}}}", f"\\end{{{name}}}"])
)
words = st.text(max_size=6) | st.sampled_from(
    ["x", "12", "GPU", "<b>", "&amp;", "e\u0301", "\u1112\u1161", "\ud800", "\u0338"]
)
tex = st.lists(commands | signs | words | environments, max_size=40).map("".join)
texts = tex | st.text(max_size=80)
spans = st.lists(st.tuples(st.integers(-5, 90), st.integers(-5, 90)), max_size=5)


def said(tree: lxml.etree._Element) -> str:
    """What a reader of the HTML sees."""
    return "".join(str(part) for part in tree.itertext())


def normalise(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@given(texts, spans)
def test_segments_joined_are_the_plain_text(text: str, highlights: list[tuple[int, int]]) -> None:
    segments = to_segments(text, highlights)
    joined = "".join(segment.text for segment in segments)
    assert normalise(joined) == to_plain(text)


@given(texts, spans)
def test_neighbouring_segments_differ_and_none_is_empty(
    text: str, highlights: list[tuple[int, int]]
) -> None:
    segments = to_segments(text, highlights)
    assert all(segment.text for segment in segments)
    assert all(one.is_marked is not other.is_marked for one, other in pairwise(segments))


@given(texts, spans)
def test_html_is_well_formed_and_has_our_elements_only(
    text: str, highlights: list[tuple[int, int]]
) -> None:
    html = to_html(text, highlights)
    strict = lxml.etree.fromstring(f"<div>{html}</div>")
    lenient = lxml.html.fragment_fromstring(html, create_parent="div")
    for tree in (strict, lenient):
        elements = list(tree.iter())
        assert {element.tag for element in elements} <= ELEMENTS
        assert not any(element.attrib for element in elements)
    assert said(strict) == said(lenient)


def read_words(html: str) -> list[str]:
    """Return the words that a reader of the HTML sees."""
    tree = lxml.etree.fromstring(f"<div>{html}</div>")
    return normalise(said(tree)).split()


@given(texts, spans)
def test_html_says_the_same_with_and_without_highlights(
    text: str, highlights: list[tuple[int, int]]
) -> None:
    marked = to_html(text, highlights)
    bare = to_html(text)
    assert read_words(marked) == read_words(bare)


@given(texts)
def test_nothing_forbidden_is_printed_and_white_space_is_folded(text: str) -> None:
    plain = to_plain(text)
    assert not FORBIDDEN.search(plain)
    html = to_html(text)
    assert not FORBIDDEN.search(html.replace("\n", ""))
    assert plain == " ".join(plain.split())
    assert unicodedata.is_normalized("NFC", plain)


@given(texts)
def test_pieces_stay_within_the_text_and_text_pieces_are_the_raw_text(text: str) -> None:
    for piece in parse_tex(text):
        assert 0 <= piece.start <= piece.end <= len(text)
        assert piece.kind is not PieceKind.FRACTION
        if piece.kind is PieceKind.TEXT:
            assert text[piece.start : piece.end] == piece.text


@given(texts, st.integers(0, 80), st.integers(1, 20))
def test_every_printed_piece_a_highlight_covers_is_marked(
    text: str, start: int, length: int
) -> None:
    end = start + length
    segments = to_segments(text, [(start, end)])
    marked = "".join(segment.text for segment in segments if segment.is_marked)
    bare = _without_composition(marked)
    for piece in parse_tex(text):
        is_covered = piece.start < end and start < piece.end
        if not is_covered:
            continue
        part = piece.text
        if piece.kind is PieceKind.TEXT:
            part = part[max(0, start - piece.start) : end - piece.start]
        assert _without_composition(part) in bare


def _without_composition(text: str) -> str:
    """Base characters only: composition may take neighbouring marks along."""
    without_blanks = "".join(text.split())
    decomposed = unicodedata.normalize("NFD", without_blanks)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


plain_words = st.text(
    st.characters(blacklist_characters="\\${}~`'-", blacklist_categories=("Cs", "Cc", "Cf", "Cn")),
    max_size=20,
)
CONVERTED = (r"$x^2$", r"\'e", r"\emph{", r"}", "$\\alpha$", "\\beta", "--", "``", "\\cite{a}")


@given(st.lists(plain_words | st.sampled_from(CONVERTED), max_size=12))
def test_characters_outside_formulas_and_commands_all_appear_in_order(parts: list[str]) -> None:
    text = " ".join(parts)
    plain = iter(unicodedata.normalize("NFD", to_plain(text)))
    for part in parts:
        if part in CONVERTED:
            continue
        for character in unicodedata.normalize("NFD", part):
            assert character.isspace() or character in plain


@given(
    st.text(st.characters(whitelist_categories=("L", "N")), max_size=60),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_plain_letters_are_cut_exactly_at_highlights(text: str, start: int, length: int) -> None:
    if not unicodedata.is_normalized("NFC", text):
        return
    end = start + length
    marked = text[start:end]
    if marked:
        parts = [
            Segment(text[:start], is_marked=False),
            Segment(marked, is_marked=True),
            Segment(text[end:], is_marked=False),
        ]
        expected = tuple(part for part in parts if part.text)
        assert to_segments(text, [(start, end)]) == expected
