"""Remarks on single words and phrases of a query: what they find here, and what they would find at arXiv."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from digest import taxonomy
from digest.papers import ArxivId
from digest.query.notes import Note, NoteKind
from digest.query.people import PARTICLES
from digest.query.spreading import spread_keyword
from digest.query.tree import Condition, Prefix, Shape
from digest.query.words import fold, is_stop_word, split_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.query.parsing import Term

_OPERATOR = re.compile(r"(?<!\S)(AND|OR|ANDNOT|NOT)(?!\S)")
_SMALL_OPERATOR = re.compile(r"(?<=\w)\s(or|andnot|and not)\s(?=\w)(?!not\b|less\b)")
"""Of those in small letters, the ones that are rare in phrases: nobody means `supply and demand` otherwise."""

_FIELD = re.compile(r"(?:^|\s)(ti|abs|au|author|co|jr|cat|rn|id|doi|all|submittedDate):\S", re.IGNORECASE)
_SWALLOWED = re.compile(rf"(?<!\w)(?:{'|'.join(Prefix)}):\S.*", re.IGNORECASE)
_STARRED = re.compile(r"\w+\*(?=\s|\Z)")
_SIGNED = re.compile(r"\w[+#*^~@&=<>|!%]+(?!\s|\Z)|\w[+#^~@&=<>|%]|(?<!\w)[+#^~@&=<>|%]\w")
"""A sign at a word that may belong to it: of `C++`, `C#`, `C*-algebra`; stops, brackets and hyphens never do."""

_NEGATING = frozenset("!~¬−–—")
_LONGEST_SHOWN = 80
_PARTING = ",;|&+/"
_CLOSING = "]}>'’,;."
"""Signs before a prefix that are meant for NOT; what parts two conditions; what may follow the last."""

_TEX = re.compile(r"[\\$]")
_WORDED = frozenset(
    (Prefix.TITLE, Prefix.ABSTRACT, Prefix.COMMENT, Prefix.JOURNAL_REF, Prefix.REPORT_NO, Prefix.ALL)
)
_STEMMED = frozenset((Prefix.TITLE, Prefix.ABSTRACT, Prefix.ALL))

_NAMES = """
Bézier Bäcklund Čech Cesàro Erdős Fréchet Gödel Gröbner Hörmander Kähler Loève Löwner Löwenheim Lévy Möbius
Mössbauer Painlevé Plücker Poincaré Rényi Schrödinger Szegő Szemerédi Teichmüller
"""
_ACCENTED: Final = {fold(name): name for name in _NAMES.split()}
"""Names that stand in titles with their accents as a rule: folded -> with them."""


def remark_on_term(term: Term) -> Iterator[Note]:
    """Yield what the author of a query should know of one of its terms."""
    condition = term.condition
    messages = [*_remark_on_quotes(term)]
    swallowed = [*_remark_on_prefix(term)]
    messages += swallowed
    if condition is not None and not swallowed:
        messages += _remark_on_signs(term, condition)
        messages += _remark_on_words(condition)
        messages += _remark_on_value(term, condition)
    yield from (Note(kind, term.position, message) for kind, message in messages)


def _remark_on_quotes(term: Term) -> Iterator[tuple[NoteKind, str]]:
    if not term.token.is_quoted:
        return
    value = term.token.value.strip()
    operator, small, field = (found.search(value) for found in (_OPERATOR, _SMALL_OPERATOR, _FIELD))
    if operator and operator[0] != value:
        message = f"{operator[1]} is a word to look for here: between quotes it joins nothing"
        yield NoteKind.QUOTED_OPERATOR, message
    elif small and term.condition is not None:
        prefix, joining = term.condition.prefix, "ANDNOT" if "not" in small[1] else "OR"
        meant = "either word" if joining == "OR" else "one word without the other"
        message = f"{small[1]} joins nothing between quotes; {meant} is {prefix}:(… {joining} …)"
        yield NoteKind.QUOTED_OPERATOR, message
    if field:
        yield NoteKind.QUOTED_OPERATOR, f"{field[1]}: is a word to look for here: between quotes it is no prefix"


def _remark_on_prefix(term: Term) -> Iterator[tuple[NoteKind, str]]:
    """Yield what to write where a sign or a word right before a prefix makes it one more word: `+ti:gpu`."""
    token, condition = term.token, term.condition
    if token.is_quoted or condition is None or spread_keyword(condition.text):
        return
    found = (
        _SWALLOWED.search(token.value[:_LONGEST_SHOWN]) if condition.prefix in _WORDED | {Prefix.AUTHOR} else None
    )
    if found is None:
        return
    before, name = token.value[: found.start()], found[0].partition(":")[0]
    written = f"{name}:[… TO …]" if "[" in found[0] else found[0].rstrip(_CLOSING)
    if token.prefix is not None and not before:
        message = f"{token.prefix}:{found[0]} has two prefixes, and {name} is a word here; write {written}"
    elif token.prefix is None and _NEGATING.issuperset(before):
        message = f"{before} excludes nothing here, and {name} is a word; write NOT {written}"
    elif token.prefix is None and not any(map(str.isalnum, before)):
        message = f"with {before} before it {name}: is no prefix but a word; write {written}"
    else:
        first = token.value[: len(before.rstrip(_PARTING))]
        whole = f"{token.prefix}:{first}" if token.prefix else first
        message = f"{name}: is no prefix within a word; write {whole} AND {written}, or OR between them"
    yield NoteKind.READ_AS, message


def _remark_on_signs(term: Term, condition: Condition) -> Iterator[tuple[NoteKind, str]]:
    """Yield what became of signs that may have been meant: a * between quotes, and those of `C++`."""
    written = term.token.value
    if condition.prefix not in _WORDED or spread_keyword(condition.text) or _TEX.search(written):
        return
    stars = _STARRED.findall(written) if term.token.is_quoted else []
    if stars:
        beginning = f"{condition.prefix}:{stars[-1]}"
        message = f"between quotes a * is left out, here and at arXiv; without them {beginning} finds beginnings"
        yield NoteKind.WILDCARD, message
    if _SIGNED.search(written):
        shown = f'"{written}"' if term.token.is_quoted else written
        words = " ".join(word.text for word in split_words(written))
        message = (
            f"{shown} is looked for as {words}, wherever that stands: signs are no part of words, here or at arXiv"
        )
        yield NoteKind.LEFT_OUT, message


def _remark_on_words(condition: Condition) -> Iterator[tuple[NoteKind, str]]:
    if condition.prefix not in _WORDED or spread_keyword(condition.text):
        return
    words = [word.text for word in split_words(condition.text)]
    if condition.shape is Shape.BEGINNING and condition.prefix in _STEMMED:
        beginning = words[-1]
        stemmed = stem(fold(beginning))
        if not stemmed.startswith(fold(beginning)):
            message = (
                f"arXiv compares {beginning}* with stems ({stemmed}) and would find nothing; "
                "here words that begin so are found"
            )
            yield NoteKind.WILDCARD, message
    kept = [word for word in words if not is_stop_word(word)]
    if condition.shape is not Shape.PHRASE and len(kept) > 1:
        together = " and ".join(kept) + ("*" if condition.shape is Shape.BEGINNING else "")
        quoted = f'{condition.prefix}:"{" ".join(words)}"'
        message = f"{together} may stand anywhere in the field; {quoted} finds them side by side"
        yield NoteKind.HYPHEN, message
    yield from _remark_on_accents(condition, kept)


def _remark_on_accents(condition: Condition, words: list[str]) -> Iterator[tuple[NoteKind, str]]:
    if condition.prefix is Prefix.ALL:
        return  # where arXiv folds accents, too
    for word in words:
        folded = fold(word)
        if folded != word and folded.isascii():
            yield NoteKind.ACCENTS, f"{word} and {folded} are one word here; arXiv would find the first alone"
        elif folded in _ACCENTED:
            accented = _ACCENTED[folded]
            yield NoteKind.ACCENTS, f"{folded} finds {accented}, too, here; arXiv would not"


def _remark_on_value(term: Term, condition: Condition) -> Iterator[tuple[NoteKind, str]]:
    written = term.token.value.strip()
    if condition.prefix is Prefix.CATEGORY and condition.shape is Shape.WORD and "*" not in written:
        name = condition.text
        if taxonomy.is_archive(name) and (name in taxonomy.RETIRED or not taxonomy.is_category(name)):
            subject = taxonomy.ARCHIVES[name]
            message = (
                f"cat:{name} is all of {subject} here; arXiv would look for {name} alone: it needs cat:{name}.*"
            )
            yield NoteKind.ARXIV_DIFFERS, message
    if condition.prefix is Prefix.ALL and any(one.prefix is Prefix.ID for one in spread_keyword(condition.text)):
        message = f"{written} is looked for as an id and as a word anywhere; id:{written} is the paper alone"
        yield NoteKind.READ_AS, message
    particle = written.partition(" ")[0]
    # Only in small letters, as typed: in capitals it is a given name, too, as in Van Vu.
    if condition.prefix is Prefix.PERSON and particle in PARTICLES and "," not in written:
        message = (
            f"{particle} is taken for a given name here; everybody of that last name is "
            f'au:"{written}", and one person has a given name before it'
        )
        yield NoteKind.READ_AS, message
    if condition.prefix is Prefix.ID and not ArxivId.parse(condition.text).is_possible:
        message = (
            f"No paper can match: arXiv gave out no id like {condition.text}; numbers have five digits since 2015"
            " (2603.10026), four before (0706.1234), and until March 2007 an archive (hep-th/9901001)"
        )
        yield NoteKind.NEVER_MATCHES, message
    if condition.prefix is Prefix.ID and written.lower() != condition.text.lower():
        yield NoteKind.ARXIV_DIFFERS, f"arXiv would find nothing under {written}, only under {condition.text}"
