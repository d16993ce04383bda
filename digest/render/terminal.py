"""Lays text out for a terminal: the same lines for the same width, with colour or with [brackets].

A template writes logical lines. A tab parts a title from what is said about it, and both take two
lines at most. Other long lines are broken under their own beginning, as wide as a terminal shows
them (CJK letters take two columns).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from digest.model.characters import UNWANTED
from digest.model.messages import DigestEntry
from digest.model.papers import Author, Field, Paper, Span
from digest.model.subscriptions import Abstracts
from digest.render.papers import PaperView, clean_part, style_parts
from digest.render.text import (
    END,
    LINK_END,
    LINK_START,
    STARTS,
    STYLE,
    Spans,
    apply_styles,
    show_segments,
    styled,
)
from digest.tex import Segment

NARROWEST = 40
_FIELDS = {
    Field.AUTHORS: "author",
    Field.JOURNAL_REF: "journal reference",
    Field.CATEGORIES: "category",
    Field.REPORT_NO: "report number",
    Field.DOIS: "DOI",
}
_INDENT = " " * 14
_CUT = " …"
_BEGINNING = re.compile(rf"[{END}{''.join(STARTS.values())}]*(?: *[\w./-]*\d  | +|)")
_UNWANTED = re.compile(rf"(?![\x0f-\x13\x16-\x18])[{UNWANTED}\r\v\f\x85\u2028\u2029]")
"""What a stranger wrote and a template took as it was; the marks of styles stay."""
_PIECE = re.compile(f"(?:{STYLE.pattern})|.", re.DOTALL)


def write_papers(entries: Iterable[DigestEntry], *, width: int, color: bool) -> str:
    """Write papers one below the other: id and title, two lines of the abstract, who wrote it."""
    width = max(width, NARROWEST)
    lines: list[str] = []
    for number, entry in enumerate(entries, start=1):
        view = PaperView(entry, number)
        lines += _write_paper(view, width)
    return lay_out_lines("\n".join(lines), width, color=color) if lines else ""


def _write_paper(view: PaperView, width: int) -> Iterator[str]:
    """Yield the logical lines that say something."""
    title = style_parts(view.title_parts, "bold")
    snippet = view.style_snippet(width - len(_INDENT))
    said = (
        view.change,
        view.short_authors,
        view.place,
        view.categories,
        view.write_why(Abstracts.SHORT),
    )
    about = " · ".join(one for one in said if one)
    yield f"  {view.id:<12}{title}"
    if snippet:
        yield cut_line(_INDENT + snippet, width, 2)
    yield _INDENT + styled(about, "dim")


def quote_places(paper: Paper, spans: Iterable[Span], width: int) -> Iterator[tuple[str, str]]:
    """Yield the field of each place, in words, and an excerpt of about `width` letters.

    The place is marked. Places of one text that fit into one excerpt are shown by it together.
    """
    by_field: dict[tuple[Field, int], list[tuple[int, int]]] = {}
    for span in spans:
        places = by_field.setdefault((span.field, span.index), [])
        places.append((span.start, span.end))
    for (field, index), places in by_field.items():
        value = getattr(paper, field)
        one = value[index] if isinstance(value, tuple) else value
        text = one.name if isinstance(one, Author) else str(one)
        yield _FIELDS.get(field, field.value), cut_around(text, tuple(places), width)


def cut_around(text: str, spans: Spans, width: int) -> str:
    """Return the part of a raw text around its first marked place, styled, in `width` letters.

    It is cut between words. "" if nothing is marked.
    """
    segments = show_segments(text, spans)
    parts = [Segment(clean_part(raw), is_marked) for raw, is_marked in segments]
    plain = "".join(part.text for part in parts)
    first = _find_mark(parts)
    if first is None:
        return ""
    start, end = _choose_window(plain, first, width)
    shown = "…" if start else ""
    at = 0
    for part in parts:
        seen = part.text[max(start - at, 0) : max(end - at, 0)]
        shown += styled(seen, "mark") if part.is_marked and seen else seen
        at += len(part.text)
    return shown.rstrip(".,;: ") + "…" if end < len(plain) else shown


def _find_mark(parts: Iterable[Segment]) -> int | None:
    """Return the place of the first letter that is marked; None if none is."""
    at = 0
    for part in parts:
        if part.is_marked and part.text:
            return at
        at += len(part.text)
    return None


def _choose_window(plain: str, first: int, width: int) -> tuple[int, int]:
    """Return the ends of an excerpt: a third of it is before the place, if the text has that."""
    room = max(width - 4, 20)
    if len(plain) <= room:
        return 0, len(plain)
    start = max(0, min(first - room // 3, len(plain) - room))
    if start:
        start = plain.find(" ", start, first) + 1 or start
    end = min(len(plain), start + room)
    if end < len(plain):
        blank = plain.rfind(" ", first + 1, end + 1)
        end = blank if blank > 0 else end
    return start, end


def lay_out_lines(rendered: str, width: int, *, color: bool) -> str:
    """Lay out what a template wrote for a terminal of `width` columns; see `lay_out`."""
    logical = _UNWANTED.sub("", rendered).rstrip("\n")
    shown = ""
    for line in logical.split("\n"):
        for part in lay_out(line, width):
            shown += apply_styles(part, color=color) + "\n"
    return shown


def lay_out(line: str, width: int) -> list[str]:
    """Lay one logical line out within `width` columns.

    What follows a tab gets a line of its own, or the rest of the second line if the title takes
    two. Its first part, up to " · ", is never cut.
    """
    title, _, about = line.partition("\t")
    title = title.rstrip(" ")
    about = about.strip(" ")
    lines = _break(title, width)
    if not about:
        return lines
    indent = " " * measure(_beginning(title))
    if len(lines) == 1:
        return [title, cut_line(indent + about, width)]
    first, second, *others = lines
    rest = " ".join([second, *(other.removeprefix(indent) for other in others)])
    kept = about.partition(" · ")[0]
    room = max(width // 3, measure(f" · {kept}{_CUT}"))
    rest = cut_line(rest, width - room)
    return [first, cut_line(f"{rest} · {about}", width)]


def cut_line(line: str, width: int, most: int = 1) -> str:
    """Return as much of a line as `most` lines of `width` columns hold, cut between words."""
    if len(_break(line, width)) <= most:
        return line
    first, *others = _break(line, width - len(_CUT))[:most]
    parts = [first, *(other.lstrip(" ") for other in others)]
    return " ".join(parts) + _CUT


def measure(text: str) -> int:
    """Return how many columns a text takes."""
    from rich.cells import cell_len  # noqa: PLC0415 - only those who print to a terminal pay for it

    return cell_len(apply_styles(text, color=False))


def _beginning(line: str) -> str:
    match = _BEGINNING.match(line)
    return match[0] if match else ""


def _break(line: str, width: int) -> list[str]:
    if measure(line) <= width:
        return [line]
    beginning = measure(_beginning(line))
    indent = " " * min(beginning, width // 2)
    lines = [""]
    for word in _split_words(line, width - len(indent)):
        last = lines[-1]
        joined = last + word if last in ("", indent) else f"{last} {word}"
        if last.strip() and measure(joined) > width:
            lines.append(indent + word)
        else:
            lines[-1] = joined
    return _carry_styles(lines, indent)


def _split_words(line: str, width: int) -> list[str]:
    beginning = _beginning(line)
    words: list[str] = []
    for word in line[len(beginning) :].split(" "):
        words += _split_wide(word, width)
    words[0] = beginning + words[0]
    return words


def _split_wide(word: str, width: int) -> list[str]:
    """Cut a word wider than a line, such as a title in Chinese, when the line is full."""
    if measure(word) <= width:
        return [word]
    parts = [""]
    used = 0
    for found in _PIECE.finditer(word):
        letter = found[0]
        size = measure(letter)
        if used + size > width:
            parts.append("")
            used = 0
        parts[-1] += letter
        used += size
    return parts


def _carry_styles(lines: list[str], indent: str) -> list[str]:
    """End an open style or link at each line's end, and open it again after the next indent."""
    carried: list[str] = []
    style = ""
    link = ""
    for number, line in enumerate(lines):
        text = line
        if number:
            rest = line[len(indent) :]
            text = f"{indent}{link}{style}{rest}"
        for found in STYLE.finditer(text):
            mark = found[0]
            if mark == LINK_END or LINK_START.match(mark):
                link = mark.rstrip(LINK_END)
            else:
                style = mark.rstrip(END)
        if style:
            text += END
        if link:
            text += LINK_END
        carried.append(text)
    return carried
