"""Shows what changed in a paper since its reader saw it, in one line or word by word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup

from digest.compare import find_differences
from digest.model.numbers import count
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
"""If a smaller share of the longer text's words is kept, it is new, and reads better whole."""

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


class _Run(NamedTuple):
    part: Part
    tokens: Sequence[str]


@lru_cache(_KEPT_TEXTS)
def compare_words(before: str, after: str) -> tuple[DiffPiece, ...]:
    """Return the pieces of two texts, in order; of two neighbours what is gone comes first."""
    # A blank before the first word lets it be compared with words that have one.
    old = _TOKEN.findall(f" {before}")
    new = _TOKEN.findall(f" {after}")
    return _join(_compare(old, new), " ")


def compare_lists(before: Sequence[str], after: Sequence[str]) -> tuple[DiffPiece, ...]:
    """Return the pieces of two lists of names, name by name, a comma between them."""
    old = [f", {name}" for name in before]
    new = [f", {name}" for name in after]
    return _join(_compare(old, new), ", ")


def count_words(pieces: Iterable[DiffPiece], part: Part) -> int:
    """Return how many words are in the pieces of one part; signs do not count."""
    total = 0
    for piece in pieces:
        if piece.part is part:
            total += sum(_is_word(token) for token in _TOKEN.findall(piece.text))
    return total


def _is_word(token: str) -> bool:
    return any(letter.isalnum() for letter in token)


def _compare(before: Sequence[str], after: Sequence[str]) -> list[_Run]:
    runs = _match(before, after)
    kept = sum(len(run.tokens) for run in runs if run.part is Part.KEPT)
    if kept < _LEAST_KEPT * max(len(before), len(after)):
        runs = [_Run(Part.GONE, before), _Run(Part.COME, after)]
    return [run for run in runs if run.tokens]


def _match(before: Sequence[str], after: Sequence[str]) -> list[_Run]:
    """Find what two texts share; nothing if they are too long to compare."""
    counts = Counter(after)
    pairs = sum(counts[token] for token in before)
    if max(len(before), len(after)) > _MOST_TOKENS or pairs > _MOST_PAIRS:
        return []
    runs: list[_Run] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal":
            runs.append(_Run(Part.KEPT, before[first:last]))
        else:
            runs.append(_Run(Part.GONE, before[first:last]))
            runs.append(_Run(Part.COME, after[begin:end]))
    return runs


def _join(runs: Sequence[_Run], lead: str) -> tuple[DiffPiece, ...]:
    """Make pieces of runs, without the `lead` that was put before the first token of both texts."""
    pieces = [DiffPiece(run.part, "".join(run.tokens)) for run in runs]
    if not pieces:
        return ()
    first = pieces[0]
    text = first.text.removeprefix(lead)
    if first.part is not Part.KEPT and len(pieces) > 1:
        second = pieces[1]
        pieces[1] = replace(second, text=second.text.removeprefix(lead))
        if second.part is Part.KEPT:
            # If only one text has it, what separates it from the beginning of the other comes
            # after it.
            text += lead
    pieces[0] = replace(first, text=text)
    return tuple(piece for piece in pieces if piece.text)


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
    views = [_view(part, before, after) for part in _PARTS if part in differing]
    title = show_plain(after.title)
    if shown is not None and show_plain(shown.title) != title:
        for at, view in enumerate(views):
            if view.name == "title":
                views[at] = replace(view, summary=f"title now “{shorten(title, _LONGEST_TITLE)}”")
    return tuple(views)


def join_summaries(revisions: Sequence[RevisionView]) -> str:
    """Say in one line what changed; a DOI and categories only if nothing else did."""
    telling = [one.summary for one in revisions if one.name not in _LEAST]
    if not telling:
        telling = [one.summary for one in revisions]
    return "; ".join(telling) or UNCHANGED


def find_withdrawal_reason(paper: Paper) -> str:
    """Return why a paper was withdrawn, as its authors say."""
    return _WITHDRAWN.sub("", show_plain(paper.comment)) or "the authors give no reason"


def _say_comment(before: Paper, after: Paper) -> str:
    """Say what the authors added to their comment, without page counts if there is more."""
    old = _CLAUSE.split(show_plain(before.comment))
    new = _CLAUSE.split(show_plain(after.comment))
    known = set(map(_fold_clause, old))
    come = [clause for clause in new if _fold_clause(clause) not in known]
    telling = [clause for clause in come if not _LENGTHS.fullmatch(clause)]
    said = " ".join(telling or come).strip(" ;,.")
    said = _OF_VERSION.sub("", said)
    place = find_place(replace(after, comment=said, journal_ref=""))
    if place and not re.search("[;,]", said):
        verb = place.split()[0]
        if said.lower().startswith(verb.lower()):
            said = place
    return shorten(said, _LONGEST_COMMENT) or "comment edited"


def _fold_clause(clause: str) -> str:
    return clause.strip(" ;,.").lower()


def count_changed(pieces: Sequence[DiffPiece]) -> int:
    """Return how many words changed: those gone or those that have come, whichever are more."""
    return max(count_words(pieces, Part.GONE), count_words(pieces, Part.COME))


def _count_changes(pieces: Sequence[DiffPiece]) -> str:
    gone = count_words(pieces, Part.GONE)
    come = count_words(pieces, Part.COME)
    most = max(gone, come)
    if not most:
        return ": punctuation changed"
    words = count(most, "word")
    if not (gone and come):
        return f" +{words}" if come else f" −{words}"
    return f": {words} changed" if count_words(pieces, Part.KEPT) else " written anew"


def _name_changes(old: Sequence[str], new: Sequence[str]) -> str:
    # Two people may have one name.
    came = list((Counter(new) - Counter(old)).elements())
    went = list((Counter(old) - Counter(new)).elements())
    said = []
    if came:
        said.append(f"+{_list_names(came)}")
    if went:
        said.append(f"−{_list_names(went)}")
    return " ".join(said) or "in another order"


def _list_names(names: Sequence[str]) -> str:
    """Return a few names, or how many there are."""
    return f"{len(names):,}" if len(names) > _MOST_NAMES else ", ".join(names)


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
    old = _read_part(part, before)
    new = _read_part(part, after)
    pieces = compare_lists(old, new) if part in _LISTS else compare_words(old[0], new[0])
    match part:
        case "withdrawn":
            said = "no longer withdrawn"
        case "comment":
            said = _say_comment(before, after)
        case "title":
            said = f"title was “{shorten(old[0], _LONGEST_TITLE)}”"
        case "journal_ref":
            said = _say_journal(new[0])
        case "dois":
            added = ", ".join(name for name in new if name not in old)
            said = f"DOI {shorten(added, _LONGEST_TITLE) or 'removed'}"
        case "abstract":
            said = f"abstract{_count_changes(pieces)}"
        case _:
            said = f"{part}: {_name_changes(old, new)}"
    return RevisionView(_NAMES.get(part, part), said, pieces)


def _say_journal(reference: str) -> str:
    """Say where a paper was published; its volume and page are on the paper's own page."""
    match = _JOURNAL.match(reference)
    journal = shorten(match[0], _LONGEST_TITLE) if match else ""
    return f"published in {journal}" if journal else "journal reference removed"


def _mark_html(piece: DiffPiece) -> Markup:
    text = piece.text.strip(" ")
    if piece.part is Part.KEPT or not text:
        return Markup.escape(piece.text)
    before, _, after = piece.text.partition(text)
    if piece.part is Part.GONE:
        changed = _CHANGED.format("del", "removed", text)
    else:
        changed = _CHANGED.format("ins", "added", text)
    return Markup("{}{}{}").format(before, changed, after)
