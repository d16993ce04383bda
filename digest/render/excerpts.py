"""Papers in a few lines for a terminal, with what a query met in them marked, in its surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.papers import Field
from digest.render.cleaning import clean_text
from digest.render.marking import find_spans, show_plain, show_segments
from digest.render.presentation import PaperView
from digest.render.terminal import NARROWEST, lay_out
from digest.render.terminal_styles import apply_styles, styled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from digest.messages import DigestEntry
    from digest.papers import Paper, Span

_TEXTS = (Field.TITLE, Field.ABSTRACT, Field.COMMENT, Field.JOURNAL_REF, Field.REPORT_NO)
_FIELDS = {
    Field.TITLE: "title",
    Field.ABSTRACT: "abstract",
    Field.AUTHORS: "author",
    Field.COMMENT: "comment",
    Field.JOURNAL_REF: "journal reference",
    Field.CATEGORIES: "category",
    Field.REPORT_NO: "report number",
    Field.ID: "id",
    Field.DOIS: "DOI",
}
_INDENT = " " * 14
_MOST_NAMES = 3


def write_papers(entries: Iterable[DigestEntry], *, width: int, color: bool) -> str:
    """Write papers one below the other: id and title, where the query is met in the abstract, and who wrote it.

    Args:
        entries: the papers, with reasons.
        width: columns of the terminal.
        color: whether to use ANSI sequences; what was met stands in [brackets] otherwise.
    """
    lines: list[str] = []
    for number, entry in enumerate(entries, start=1):
        view = PaperView(entry, number)
        written = [f"  {view.id:<12}{view.title_styled}"]
        about = cut_around(entry.paper.abstract, find_spans(entry, Field.ABSTRACT), width - len(_INDENT))
        written += [f"{_INDENT}{about}"] if about else []
        written.append(
            _INDENT + styled(" · ".join(filter(None, (_name_few(entry), view.categories, view.why))), "dim")
        )
        lines += [part for line in written for part in lay_out(line, max(width, NARROWEST))]
    return "".join(f"{apply_styles(line, color=color)}\n" for line in lines)


def _name_few(entry: DigestEntry) -> str:
    names = [show_plain(author.name) for author in entry.paper.authors]
    more = f" +{len(names) - _MOST_NAMES}" if len(names) > _MOST_NAMES + 1 else ""
    return ", ".join(names[:_MOST_NAMES] if more else names) + more


def quote_places(paper: Paper, spans: Iterable[Span], width: int) -> Iterator[tuple[str, str]]:
    """Yield the field of each place, in words, and the place in its surroundings, marked; names stand whole.

    Places of one text that fit into one excerpt are shown by it together.
    """
    by_field: dict[tuple[Field, int], list[tuple[int, int]]] = {}
    for span in spans:
        by_field.setdefault((span.field, span.index), []).append((span.start, span.end))
    for (field, index), places in by_field.items():
        text = _read(paper, field, index)
        yield _FIELDS[field], cut_around(text, tuple(places), width)


def _read(paper: Paper, field: Field, index: int) -> str:
    value = getattr(paper, field)
    if field in _TEXTS or field is Field.ID:
        return str(value)
    return str(getattr(value[index], "name", value[index]))


def cut_around(text: str, spans: tuple[tuple[int, int], ...], width: int) -> str:
    """Return the part of a raw text around its first marked place, styled, cut between words to `width` letters.

    "" where nothing is marked.
    """
    letters: list[tuple[str, bool]] = []
    for segment in show_segments(text, spans):
        cleaned = clean_text(f"|{segment.text}|")[1:-1]
        letters += [(letter, segment.is_marked) for letter in cleaned]
    first = next((place for place, (_, is_marked) in enumerate(letters) if is_marked), None)
    if first is None:
        return ""
    start, end = _choose_window("".join(letter for letter, _ in letters), first, width)
    shown, run, was_marked = "…" if start else "", "", False
    for letter, is_marked in (*letters[start:end], ("", False)):
        if is_marked != was_marked or not letter:
            shown += styled(run, "mark") if was_marked and run else run
            run, was_marked = "", is_marked
        run += letter
    return shown.rstrip(".,;: ") + "…" if end < len(letters) else shown


def _choose_window(plain: str, first: int, width: int) -> tuple[int, int]:
    """Return where an excerpt begins and ends: a third of it before the place, if there is so much."""
    room = max(width - 4, 20)
    if len(plain) <= room:
        return 0, len(plain)
    start = max(0, min(first - room // 3, len(plain) - room))
    if start:
        blank = plain.find(" ", start, first)
        start = blank + 1 if blank >= 0 else start
    end = min(len(plain), start + room)
    if end < len(plain):
        blank = plain.rfind(" ", first + 1, end + 1)
        end = blank if blank > 0 else end
    return start, end
