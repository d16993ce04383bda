"""Shows what changed in a paper since its reader saw it, in one line or word by word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache

from markupsafe import Markup

from digest.compare import find_differences
from digest.model.papers import Paper
from digest.render.text import clean_text, shorten, show_plain
from digest.tex.places import find_place

_ONE_BY_ONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that put no blanks between words: each letter counts as one."""

_WORD = rf"(?:(?![{_ONE_BY_ONE}])\w)+"
_TOKEN = re.compile(rf"\s*(?:[{_ONE_BY_ONE}]|{_WORD}(?:[-'’.]{_WORD})*|[^\w\s])|\s+")
"""A word or a sign, with the blanks before it."""

_MOST_TOKENS = 2_000
_MOST_PAIRS = 20_000
"""Longer texts are not compared: the tokens of one text, and the pairs of equal tokens in both."""

_LEAST_KEPT = 0.25
"""If a smaller share of the longer text's words is kept, it is written anew and reads better whole."""

_KEPT_TEXTS = 1_024

LONGEST_MINOR = 40
"""Characters of the words on a minor change."""

_LONGEST_COMMENT = 140
_LONGEST_TITLE = 90
_MOST_NAMES = 3
UNCHANGED = "title, authors and abstract as before"
"""Said of a new version whose record reads like the one before: only its full text has changed."""

_CLAUSE = re.compile(r"(?<=[;,.])\s+")
_LENGTHS = re.compile(
    r"(?i)\W*(?:v\d+\W+)?\d++\s*+\+?\s*(?:[\w-]++ )?(?:pages?|pp|fig(?:ure)?s?|tables?)\b.{0,16}"
)
_JOURNAL = re.compile(r"(?:\D{3,}?(?=,|[\s(]{0,9}\d|\Z)|.*)")
_OF_VERSION = re.compile(r"(?i)\A\W*v(?:er(?:sion)?\b\.?)?\s?\d+\W+(?!version)")
_WITHDRAWN = re.compile(
    r"(?i)\A(?:\d+ pages.{0,40} )?(?:th(?:is|e) \w+ (?:has been|is|was) )?withdrawn"
    r"(?> by (?:(?:the|all|arXiv) )*\w+(?:\(s\))?)?[\s.,:;]*(?=\w)"
)
"""What a comment says before the reason of a withdrawal."""

_LEAST = ("DOI", "categories")
_NAMES = {"withdrawn": "withdrawal", "journal_ref": "journal reference", "dois": "DOI"}
_LISTS = ("authors", "dois", "categories")
_PARTS = (
    "withdrawn",
    "comment",
    "title",
    "authors",
    "journal_ref",
    "dois",
    "abstract",
    "categories",
)
"""By the names of `find_differences`, in the order they are shown."""

_CHANGED = Markup('<{0}><span class="said">[{1}: </span>{2}<span class="said">]</span></{0}>')


class Part(StrEnum):
    """What became of a piece of text."""

    KEPT = "kept"
    GONE = "gone"
    COME = "come"


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A piece of two texts: in both, in the one before only, or in the one after only."""

    part: Part
    text: str


@lru_cache(_KEPT_TEXTS)
def compare_words(before: str, after: str) -> tuple[DiffPiece, ...]:
    """Return the pieces of two texts, in order; of two neighbours what is gone comes first."""
    # A blank before the first word lets it be compared with words that have one.
    return _join(_compare(_TOKEN.findall(f" {before}"), _TOKEN.findall(f" {after}")), " ")


def compare_lists(before: Sequence[str], after: Sequence[str]) -> tuple[DiffPiece, ...]:
    """Return the pieces of two lists of names, name by name, a comma between them."""
    old, new = ([f", {name}" for name in names] for names in (before, after))
    return _join(_compare(old, new), ", ")


def count_words(pieces: Iterable[DiffPiece], part: Part) -> int:
    """Return how many words are in the pieces of one part; signs do not count."""
    return sum(
        any(letter.isalnum() for letter in token)
        for piece in pieces
        if piece.part is part
        for token in _TOKEN.findall(piece.text)
    )


def _compare(before: Sequence[str], after: Sequence[str]) -> list[tuple[Part, Sequence[str]]]:
    counts = Counter(after)
    is_short = max(len(before), len(after)) <= _MOST_TOKENS
    runs: list[tuple[Part, Sequence[str]]] = []
    if is_short and sum(counts[token] for token in before) <= _MOST_PAIRS:
        for tag, first, last, begin, end in SequenceMatcher(
            None, before, after, autojunk=False
        ).get_opcodes():
            if tag == "equal":
                runs.append((Part.KEPT, before[first:last]))
            else:
                runs += [(Part.GONE, before[first:last]), (Part.COME, after[begin:end])]
    kept = sum(len(tokens) for part, tokens in runs if part is Part.KEPT)
    if kept < _LEAST_KEPT * max(len(before), len(after)):
        runs = [(Part.GONE, before), (Part.COME, after)]
    return [run for run in runs if run[1]]


def _join(runs: Sequence[tuple[Part, Sequence[str]]], lead: str) -> tuple[DiffPiece, ...]:
    """Make pieces of runs, without the `lead` that was put before the first token of both texts."""
    texts = [(part, "".join(tokens)) for part, tokens in runs]
    if not texts:
        return ()
    (part, text), *rest = texts
    text = text[len(lead) :]
    if part is not Part.KEPT and rest:
        second, first_kept = rest[0]
        rest[0] = second, first_kept[len(lead) :]
        # If only one text has it, what separates it from the beginning of the other comes after it.
        text += lead if second is Part.KEPT else ""
    return tuple(DiffPiece(part, text) for part, text in ((part, text), *rest) if text)


@dataclass(frozen=True, slots=True)
class RevisionView:
    """What changed in one part of a paper.

    Attributes:
        name: which: `withdrawal` (no longer), `title`, `authors`, `comment`, `journal reference`,
            `DOI`, `abstract`, `categories`.
        summary: it in a few words: `title was “…”`, `abstract +22 words`.
        pieces: all of it: what was kept, what is gone (`piece.part` is "gone"), what has come
            ("come").
    """

    name: str
    summary: str
    pieces: tuple[DiffPiece, ...]

    @property
    def html(self) -> Markup:
        """All of it as HTML: `<del>`, `<ins>`, and in `<span class="said">` what is read out."""
        return Markup("").join(map(_mark_html, self.pieces))


def view_revisions(
    before: Paper, after: Paper, *, shown: Paper | None = None
) -> tuple[RevisionView, ...]:
    """Return what changed in a paper, the authors' own comment first: it says "accepted at …".

    `shown` is the one of the two that a reader has before them; the second if not given.
    """
    differing = set(find_differences(before, after))
    if after.is_withdrawn:
        differing.discard("withdrawn")  # its kind says so already
    views = tuple(_view(part, before, after) for part in _PARTS if part in differing)
    if shown is None or show_plain(shown.title) == show_plain(after.title):
        return views
    title = f"title now “{shorten(show_plain(after.title), _LONGEST_TITLE)}”"
    return tuple(replace(view, summary=title) if view.name == "title" else view for view in views)


def join_summaries(revisions: Sequence[RevisionView]) -> str:
    """Say in one line what changed; a DOI and categories only if nothing else did."""
    telling = [one.summary for one in revisions if one.name not in _LEAST]
    return "; ".join(telling or [one.summary for one in revisions]) or UNCHANGED


def find_withdrawal_reason(paper: Paper) -> str:
    """Return why a paper was withdrawn, as its authors say."""
    return _WITHDRAWN.sub("", show_plain(paper.comment)) or "the authors give no reason"


def _say_comment(before: Paper, after: Paper) -> str:
    old, new = [_CLAUSE.split(show_plain(paper.comment)) for paper in (before, after)]
    known = {clause.strip(" ;,.").lower() for clause in old}
    come = [clause for clause in new if clause.strip(" ;,.").lower() not in known]
    said = " ".join([clause for clause in come if not _LENGTHS.fullmatch(clause)] or come).strip(
        " ;,."
    )
    said = _OF_VERSION.sub("", said)
    place = find_place(replace(after, comment=said, journal_ref=""))
    if place and said.lower().startswith(place.split()[0].lower()) and not re.search("[;,]", said):
        said = place
    return shorten(said, _LONGEST_COMMENT) or "comment edited"


def count_changed(pieces: Sequence[DiffPiece]) -> int:
    """Return how many words changed: those that are gone or those that have come, whichever are more."""
    return max(count_words(pieces, Part.GONE), count_words(pieces, Part.COME))


def _count_changes(pieces: Sequence[DiffPiece]) -> str:
    gone, come = count_words(pieces, Part.GONE), count_words(pieces, Part.COME)
    most = count_changed(pieces)
    if not most:
        return ": punctuation changed"
    words = f"{most:,} word{'' if most == 1 else 's'}"
    if gone and come:
        return f": {words} changed" if count_words(pieces, Part.KEPT) else " written anew"
    return f" {'+' if come else '−'}{words}"


def _name_changes(old: Sequence[str], new: Sequence[str]) -> str:
    # Two people may have one name.
    came, went = (
        list((Counter(one) - Counter(other)).elements()) for one, other in ((new, old), (old, new))
    )
    parts = [
        sign + (f"{len(names):,}" if len(names) > _MOST_NAMES else ", ".join(names))
        for sign, names in (("+", came), ("−", went))
        if names
    ]
    return " ".join(parts) or "in another order"


def _read_part(part: str, paper: Paper) -> list[str]:
    match part:
        case "withdrawn":
            return ["withdrawn" if paper.is_withdrawn else ""]
        case "authors":
            return [show_plain(author.name) for author in paper.authors]
        case "dois" | "categories":
            return [clean_text(name) for name in getattr(paper, part)]
        case _:
            return [show_plain(getattr(paper, part))]


def _view(part: str, before: Paper, after: Paper) -> RevisionView:
    old, new = (_read_part(part, paper) for paper in (before, after))
    pieces = compare_lists(old, new) if part in _LISTS else compare_words(old[0], new[0])
    match part:
        case "withdrawn":
            said = "no longer withdrawn"
        case "comment":
            said = _say_comment(before, after)
        case "title":
            said = f"title was “{shorten(old[0], _LONGEST_TITLE)}”"
        case "journal_ref":
            # Its volume and page are on the paper's own page.
            told = shorten(_JOURNAL.match(new[0])[0], _LONGEST_TITLE)  # type: ignore[index]  # it may be empty
            said = f"published in {told}" if told else "journal reference removed"
        case "dois":
            told = shorten(", ".join(name for name in new if name not in old), _LONGEST_TITLE)
            said = f"DOI {told or 'removed'}"
        case "abstract":
            said = f"abstract{_count_changes(pieces)}"
        case _:
            said = f"{part}: {_name_changes(old, new)}"
    return RevisionView(_NAMES.get(part, part), said, pieces)


def _mark_html(piece: DiffPiece) -> Markup:
    text = "" if piece.part is Part.KEPT else piece.text.strip(" ")
    if not text:
        return Markup.escape(piece.text)
    before, _, after = piece.text.partition(text)
    tag, said = ("del", "removed") if piece.part is Part.GONE else ("ins", "added")
    return Markup("{}{}{}").format(before, _CHANGED.format(tag, said, text), after)
