r"""Reads the author line of the `arXivRaw` format: one string, written by authors, in TeX.

Source: https://info.arxiv.org/help/prep.html#author. The customs met in it:

    A. One (CERN), B. Two and C. Three (DESY, Hamburg)   affiliations; those before share the next
    A. One (1), B. Two (1 and 2) ((1) CERN, (2) DESY)    footnote marks with a list at the end
    The X Collaboration: A. One, B. Two, Jr., et al      it is an author; a suffix is not
    A. One, for the X Collaboration (164 authors)        the same after a name; remarks are dropped
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from digest.arxiv.documents import fold_line
from digest.model.papers import Author
from digest.tex import to_plain

SHARED_LIMIT = 100
"""At most that many names before an affiliation share it; with more it is one name's own."""

_TOKEN = re.compile(r"\\.|[(),;:]|[^\\(),;:]+|\\", re.DOTALL)
_ENDER = re.compile(r"[,;]")
_SUPERSCRIPT = re.compile(
    r"""
    \$\s*\^\s*(?:\{([^${}]{1,40})\}|([\w*]))\s*\$         # $^{1,2}$, $^*$
    | \[(\d{1,3}(?:\s*,\s*\d{1,3}){0,9})\]                # [1, 2]
    """,
    re.VERBOSE,
)
_AND = re.compile(r"(?:(?<=\s)|\A)(?:and|AND|&)(?=\s|\Z)")
_AND_WORDS = ("and", "AND", "&")
_BEHALF = re.compile(r"(?:(?<=\s)|\A)(?=(?:for|on behalf of|representing) the\s)", re.IGNORECASE)
_BEHALF_WORDS = re.compile(
    r"\A(?:and\s+)?(?:(?:for|on behalf of|representing)\s+)?(?:the\s+)?", re.IGNORECASE
)
_COLLABORATION = re.compile(r"\bcollaborations?\Z", re.IGNORECASE)
_TEAM_NOTE = re.compile(
    r"\A(?:for|on behalf of|and|representing)\b.*\b(?:teams?|consorti\w+|groups?)\Z", re.IGNORECASE
)
_REMARK = re.compile(
    r"\A(?:eds?\b|editors?\b|with (?:an )?append|appendix"
    r"|deceased|speaker|present|corresponding|\d+ authors)",
    re.IGNORECASE,
)
_ET_AL = re.compile(r"(?:\A|\s)et\.?\s+al\b\.?\s*\Z|\A\s*(?:\d+\s+)?others\s*\Z", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:[JS]r|I{2,3}|IV|Ph\.?\s?D|M\.?\s?D)\.?")
_MARKS = re.compile(
    r"""
    \s*(?:\d{1,3}|[A-Za-z]|[*†‡§¶]{1,3})                                    # 1, a, †
    (?:(?:\s*[,;&+-]\s*|\s+and\s+|\s+)(?:\d{1,3}|[A-Za-z]))*\s*             # 1 and 2, 1-3, a;b
    """,
    re.VERBOSE,
)
_MARK = re.compile(
    r"""
    (?P<low>\d{1,3})\s*-\s*(?P<high>\d{1,3})        # 1-3
    | \d{1,3}                                       # 12
    | (?<![A-Za-z])[A-Za-z](?![A-Za-z])             # a
    | [*†‡§¶]{1,3}                                  # ††
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(r"\(\s*(\d{1,3})\s*\)|(?:(?<=[,;\s])|\A)(\d{1,3})\s*[:=]\s")
_LETTERED = re.compile(r"\(\s*([A-Za-z]|[*†‡§¶]{1,3})\s*\)")
_INITIAL = re.compile(r"\.(?=[^\W\d_])")
_TRAILING_DOT = re.compile(r"(?<=[^\W\d_.]{5})\.\Z")
_TEX = re.compile(r"[\\{}$~^`]")


class _Kind(Enum):
    TEXT = auto()
    GROUP = auto()
    """What was between parentheses, without them."""
    END = auto()
    """A comma, an "and", or whatever else ends a name."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    text: str
    start: int


@dataclass(slots=True)
class _Segment:
    """One name with the parentheses after it."""

    name: str = ""
    groups: list[str] = field(default_factory=list)


def parse_authors(text: str) -> tuple[Author, ...]:
    """Read an author line; return the authors in order, TeX resolved, each with its affiliations.

    Never raises. A line that follows no custom gives its words as names rather than nothing.
    """
    line = fold_line(text)
    marked = line.replace(r"\&", "&")
    grouped = _SUPERSCRIPT.sub(lambda found: f" ({found[1] or found[2] or found[3]}) ", marked)
    segments, notes = _read_segments(_close_parentheses(grouped))
    authors = tuple(_join_authors(segments, notes))
    if authors:
        return authors
    whole = read_name(line)
    return (Author(whole),) if whole else ()


def read_name(text: str) -> str:
    """Return one name as people write it: no TeX, "F.A.Li" as "F. A. Li", no marks after it."""
    name = fold_line(text)
    if _TEX.search(name):
        name = fold_line(to_plain(name))
    name = name.strip(" ,;:").rstrip("*†‡§¶ ,;")
    if "." in name:
        if not _COLLABORATION.search(name):
            name = _INITIAL.sub(". ", name)
        name = _TRAILING_DOT.sub("", name)
    return fold_line(name)


def _close_parentheses(line: str) -> str:
    """Close each open parenthesis before the next comma or semicolon, or at the end."""
    opened: list[int] = []
    for token in _TOKEN.finditer(line):
        if token[0] == "(":
            opened.append(token.start())
        elif token[0] == ")" and opened:
            opened.pop()
    pieces: list[str] = []
    done = 0
    for start in opened:
        ender = _ENDER.search(line, max(start, done))
        end = ender.start() if ender else len(line)
        pieces += [line[done:end], ")"]
        done = end
    return "".join([*pieces, line[done:]])


def _read_segments(line: str) -> tuple[list[_Segment], dict[str, str]]:
    """Split a line into names with their parentheses, and the list that explains footnote marks."""
    segments = [_Segment()]
    notes: dict[str, str] = {}
    first_mark: _Token | None = None
    for token in _split_tokens(line):
        current = segments[-1]
        if token.kind is _Kind.END:
            segments.append(_Segment())
            first_mark = None
        elif token.kind is _Kind.GROUP and _is_note(token.text):
            notes |= _read_notes(token.text)
        elif token.kind is _Kind.GROUP:
            if not current.name and not current.groups and _MARKS.fullmatch(token.text):
                first_mark = token
            current.groups.append(token.text)
        elif first_mark is not None:
            # "(1) CERN, (2) DESY" without parentheses around: nobody is named from here on.
            return segments[:-1], notes | _read_notes(line[first_mark.start :])
        elif current.groups:
            segments.append(_Segment(token.text))
        else:
            current.name = token.text
    return segments, notes


def _split_tokens(line: str) -> Iterator[_Token]:
    buffer: list[str] = []
    start = depth = 0
    for match in _TOKEN.finditer(line):
        mark = match[0]
        if mark == "(":
            depth += 1
        elif mark == ")":
            depth -= 1
        if depth < 0:
            depth = 0  # closed without being opened: not worth a word
        elif depth == 0 and mark == ")":
            yield _Token(_Kind.GROUP, "".join(buffer).strip(), start)
            buffer = []
        elif depth == 0 and mark in {",", ";", ":"}:
            yield from _split_names("".join(buffer))
            yield _Token(_Kind.END, mark, match.start())
            buffer = []
        elif depth == 1 and mark == "(":
            yield from _split_names("".join(buffer))
            buffer = []
            start = match.start()
        else:
            buffer.append(mark)
    yield from _split_names("".join(buffer))


def _split_names(text: str) -> Iterator[_Token]:
    """Split what is between two marks at each "and", and before "for the …"."""
    # A look for the words is cheaper than the patterns, which nearly no name needs.
    before, *behalf = _BEHALF.split(text) if "the" in text.lower() else [text]
    has_and = any(word in before for word in _AND_WORDS)
    names = _AND.split(before) if has_and else [before]
    for place, name in enumerate([*names, *behalf]):
        if place:
            yield _Token(_Kind.END, "and", 0)
        if name.strip():
            yield _Token(_Kind.TEXT, name.strip(), 0)


def _is_note(group: str) -> bool:
    """Whether a parenthesis begins with a mark, and so says what marks are for."""
    return bool(_NUMBERED.match(group) or _LETTERED.match(group))


def _read_notes(text: str) -> dict[str, str]:
    """Read "(1) CERN, (2) DESY" into what each mark is for."""
    pattern = _NUMBERED if _NUMBERED.match(text) else _LETTERED
    marks = list(pattern.finditer(text))
    ends = [mark.start() for mark in marks[1:]]
    ends.append(len(text))
    notes = {}
    for mark, end in zip(marks, ends, strict=False):
        meaning = _read_affiliation(text[mark.end() : end])
        if meaning:
            name = next(filter(None, mark.groups()))
            notes[name] = meaning
    return notes


def _read_affiliation(text: str) -> str:
    plain = fold_line(to_plain(text)) if _TEX.search(text) else fold_line(text)
    plain = plain.strip(" ,;")
    plain = re.sub(r"(?: ?[,;]| (?:and|&)){1,9}\Z", "", plain).strip()
    is_balanced = plain.count("(") == plain.count(")")
    return plain if is_balanced else plain.rstrip(") ")


def _join_authors(segments: Sequence[_Segment], notes: dict[str, str]) -> Iterator[Author]:
    """Resolve marks, give shared affiliations to the names before, and name collaborations."""
    waiting: list[Author] = []
    for segment in _join_suffixes(segments):
        author, is_shared = _read_author(segment, notes)
        collaborations = [Author(name) for name in map(_read_collaboration, segment.groups) if name]
        if author is None:
            waiting += collaborations
            continue
        if is_shared:
            yield from _share(author.affiliations, waiting)
            waiting = []
        waiting += [author, *collaborations]
        if author.affiliations:
            yield from waiting
            waiting = []
    yield from waiting


def _share(affiliations: tuple[str, ...], authors: Sequence[Author]) -> Iterator[Author]:
    """Give affiliations to the authors before, but to no collaboration, nor to too many."""
    are_few = len(authors) < SHARED_LIMIT
    for author in authors:
        if are_few and not _COLLABORATION.search(author.name):
            yield Author(author.name, affiliations)
        else:
            yield author


def _join_suffixes(segments: Sequence[_Segment]) -> list[_Segment]:
    """Join `Jr.` and its like to the name before."""
    joined: list[_Segment] = []
    before = _Segment()
    for segment in segments:
        suffix = segment.name.strip()
        if before.name and not before.groups and _SUFFIX.fullmatch(suffix):
            before = _Segment(f"{before.name}, {suffix}", segment.groups)
            joined[-1] = before
        else:
            before = segment
            joined.append(segment)
    return joined


def _read_author(segment: _Segment, notes: dict[str, str]) -> tuple[Author | None, bool]:
    """Return the author, None if a segment names nobody; and whether names before may share."""
    name = _ET_AL.sub("", segment.name)
    if _BEHALF.match(name):
        name = _BEHALF_WORDS.sub("", name)
    name = read_name(name)
    affiliations: list[str] = []
    is_shared = False
    for group in segment.groups:
        marked = _resolve_marks(group, notes)
        if marked is not None:
            affiliations += marked
        elif not _REMARK.match(group) and not _read_collaboration(group):
            affiliation = _read_affiliation(group)
            if affiliation:
                affiliations.append(affiliation)
            is_shared = True
    if not name:
        return None, is_shared
    return Author(name, tuple(dict.fromkeys(affiliations))), is_shared


def _resolve_marks(group: str, notes: dict[str, str]) -> list[str] | None:
    """Return what the marks in a parenthesis are for; None if it holds words, not marks."""
    if not _MARKS.fullmatch(group):
        return None
    marks: list[str] = []
    for match in _MARK.finditer(group):
        if match["low"]:
            low = int(match["low"])
            high = min(int(match["high"]), low + SHARED_LIMIT)
            marks += map(str, range(low, high + 1))
        else:
            marks.append(match[0])
    known = [notes[mark] for mark in marks if mark in notes]
    return known if known or not group.strip().isalpha() else None


def _read_collaboration(group: str) -> str:
    if not _COLLABORATION.search(group) and not _TEAM_NOTE.match(group):
        return ""
    return read_name(_BEHALF_WORDS.sub("", group))
