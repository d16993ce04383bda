"""What the author of a query should know before it is saved: where it means less, more or else than it seems.

Nothing here refuses a query. Each note names one place and says in a sentence what was found there. Of arXiv's
own search only what is known is told: a missing operator is OR there, `all:` is wider, and accents count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from digest import taxonomy
from digest.query.confining import list_members
from digest.query.evaluation import TEXTS
from digest.query.notes import Note, NoteKind
from digest.query.parsing import read_terms
from digest.query.spreading import spread_keyword
from digest.query.tree import And, Condition, Not, Or, Prefix, Shape, walk_conditions
from digest.query.words import fold, is_stop_word, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from digest.query.parsing import Term
    from digest.query.queries import Query
    from digest.query.tree import Node

_DAYS_OF_WEEK: Final = 7
_MANY_PAPERS: Final = 3
_MOST_LOOKED_UP: Final = 20

_OPERATOR = re.compile(r"(?<!\S)(AND|OR|ANDNOT|NOT)(?!\S)")
_SMALL_OPERATOR = re.compile(r"(?<=\w)\s(or|andnot|and not)\s(?=\w)(?!not\b|less\b)")
"""Of those in small letters, the ones that are rare in phrases: nobody means `supply and demand` otherwise."""

_QUOTED_PREFIX = re.compile(rf"(?:^|\s)({'|'.join(Prefix)}):\S", re.IGNORECASE)
_SWALLOWED_PREFIX = re.compile(rf"(?<!\w)({'|'.join(Prefix)}):\S", re.IGNORECASE)
_STARRED = re.compile(r"\w+\*(?=\s|\Z)")
_SIGNED = re.compile(r"\w[+#*^~@&=<>|!%]+(?!\s|\Z)|\w[+#^~@&=<>|%]|(?<!\w)[+#^~@&=<>|%]\w")
"""A sign at a word that may belong to it: of `C++`, `C#`, `C*-algebra`; stops, brackets and hyphens never do."""

_LETTERS = re.compile(r"[a-z]{4,}")
_TEX = re.compile(r"[\\$]")
_WORDED = frozenset((*TEXTS, Prefix.ALL))


def lint_query(query: Query, *, daily_papers: Mapping[str, float] | None = None) -> tuple[Note, ...]:
    """Return all notes on a query, those of its reading among them, in the order of their places.

    Args:
        query: as `parse_query` gave it.
        daily_papers: category -> how many papers a day carry it, cross-lists among them, as the store counts.
    """
    terms = read_terms(query.text)
    notes = [*query.notes, *_tell_volume(query.tree, daily_papers or {}), *_tell_width(terms)]
    for term in terms:
        notes += (Note(kind, term.position, message) for kind, message in _remark_on_term(term))
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: note.position))


def offer_beginnings(query: Query, find_texts: Callable[[Sequence[str], str], Iterable[str]]) -> tuple[Note, ...]:
    """Return a note for each word that no stored paper has, but many begin with: `dequantiz`, which needs a `*`.

    Args:
        query: as `parse_query` gave it.
        find_texts: given fields of papers and some letters, returns the texts there that hold these letters.
    """
    return tuple(
        Note(NoteKind.WILDCARD, term.position, message)
        for term in read_terms(query.text)[:_MOST_LOOKED_UP]
        if (message := _offer_beginning(term, find_texts))
    )


def _offer_beginning(term: Term, find_texts: Callable[[Sequence[str], str], Iterable[str]]) -> str:
    condition = term.condition
    if condition is None or condition.prefix not in _WORDED or condition.shape is not Shape.WORD:
        return ""
    word = condition.text
    if not _LETTERS.fullmatch(word):
        return ""
    fields = (
        (TEXTS[Prefix.TITLE], TEXTS[Prefix.ABSTRACT])
        if condition.prefix is Prefix.ALL
        else (TEXTS[condition.prefix],)
    )
    continued, papers = re.compile(rf"\b{word}(\w*)", re.IGNORECASE), 0
    for text in find_texts(fields, word):
        endings = continued.findall(text)
        if "" in endings:
            return ""
        papers += bool(endings)
    if papers < _MANY_PAPERS:
        return ""
    written = f"{term.token.prefix}:{word}*" if term.token.prefix else f"{word}*"
    return f"no stored paper has the word {word}, and {papers:,} have words that begin so: {written} finds them"


def _tell_width(terms: list[Term]) -> Iterator[Note]:
    """Yield, once, that `all:` is another thing at arXiv."""
    wide = (term for term in terms if term.condition is not None and term.condition.prefix is Prefix.ALL)
    for term in wide:
        said = "" if term.token.prefix else "a word without a prefix is all:, and "
        message = f"{said}all: is wider at arXiv: there it also holds names of categories and years"
        yield Note(NoteKind.ALL, term.position, message)
        return


def _remark_on_term(term: Term) -> Iterator[tuple[NoteKind, str]]:
    if term.token.is_quoted:
        yield from _remark_on_quotes(term)
    condition = term.condition
    if condition is None or condition.prefix not in _WORDED or spread_keyword(condition.text):
        return
    swallowed = None if term.token.is_quoted else _SWALLOWED_PREFIX.search(term.token.value)
    if swallowed:
        yield NoteKind.READ_AS, f"{swallowed[1]}: is a word here; a prefix stands after a blank or a parenthesis"
        return
    yield from _remark_on_signs(term, condition)
    yield from _remark_on_words(condition)


def _remark_on_quotes(term: Term) -> Iterator[tuple[NoteKind, str]]:
    value = term.token.value.strip()
    operator, small, prefix = (found.search(value) for found in (_OPERATOR, _SMALL_OPERATOR, _QUOTED_PREFIX))
    if operator and operator[0] != value:
        yield (
            NoteKind.QUOTED_OPERATOR,
            f"{operator[1]} is a word to look for here: between quotes it joins nothing",
        )
    elif small and term.condition is not None:
        field, joining = term.condition.prefix, "ANDNOT" if "not" in small[1] else "OR"
        meant = "either word" if joining == "OR" else "one word without the other"
        message = f"{small[1]} joins nothing between quotes; {meant} is {field}:(… {joining} …)"
        yield NoteKind.QUOTED_OPERATOR, message
    if prefix:
        yield NoteKind.QUOTED_OPERATOR, f"{prefix[1]}: is a word to look for here: between quotes it is no prefix"


def _remark_on_signs(term: Term, condition: Condition) -> Iterator[tuple[NoteKind, str]]:
    """Yield what became of signs that may have been meant: a * between quotes, and those of `C++`."""
    written = term.token.value
    if _TEX.search(written):
        return
    stars = _STARRED.findall(written) if term.token.is_quoted else []
    if stars:
        beginning = f"{condition.prefix}:{stars[-1]}"
        yield NoteKind.WILDCARD, f"between quotes a * is left out; without them {beginning} finds beginnings"
    if _SIGNED.search(written):
        shown = f'"{written}"' if term.token.is_quoted else written
        words = " ".join(word.text for word in split_words(written))
        yield NoteKind.LEFT_OUT, f"{shown} is looked for as {words}: signs are no part of words"


def _remark_on_words(condition: Condition) -> Iterator[tuple[NoteKind, str]]:
    words = [word.text for word in split_words(condition.text)]
    kept = [word for word in words if not is_stop_word(word)]
    if condition.shape is not Shape.PHRASE and len(kept) > 1:
        together = " and ".join(kept) + ("*" if condition.shape is Shape.BEGINNING else "")
        quoted = f'{condition.prefix}:"{" ".join(words)}"'
        yield NoteKind.PHRASE, f"{together} may stand anywhere in the field; {quoted} finds them side by side"
    if condition.prefix is Prefix.ALL:
        return  # where arXiv folds accents, too
    for word in kept:
        folded = fold(word)
        if folded != word and folded.isascii():
            yield NoteKind.ACCENTS, f"{word} and {folded} are one word here, and two at arXiv"


def _tell_volume(tree: Node, daily_papers: Mapping[str, float]) -> Iterator[Note]:
    """Yield how much comes of a query that looks at no words at all."""
    if _only_excludes(tree):
        message = "It only excludes: nearly all of arXiv matches, whatever it is about"
        yield Note(NoteKind.VOLUME, 0, message)
        return
    conditions = list(walk_conditions(tree))
    if not all(one.prefix is Prefix.CATEGORY and list_members(one) for one in conditions):
        return
    counted = _count(tree, daily_papers)
    if counted is None:
        message = "It names categories alone: every paper of them matches, whatever it is about"
    else:
        message = f"{_write_volume(counted)}: it names categories alone"
        is_exact = isinstance(tree, Condition) and len(_list_subjects(tree)) == 1
        message = message if is_exact else f"at most {message}"
    yield Note(NoteKind.VOLUME, 0, message)


def _only_excludes(node: Node) -> bool:
    """Tell whether a paper that meets no condition at all matches."""
    match node:
        case Condition():
            return False
        case Not(operand):
            return not _only_excludes(operand)
        case And(operands):
            return all(map(_only_excludes, operands))
        case Or(operands):
            return any(map(_only_excludes, operands))


def _count(node: Node, daily_papers: Mapping[str, float]) -> float | None:
    """Return how many papers a day match at most; None where that is not known."""
    match node:
        case Condition():
            known = [_count_subject(subject, daily_papers) for subject in _list_subjects(node)]
            return sum(known) if known and any(daily_papers.values()) else None
        case And(operands):
            counts = [_count(part, daily_papers) for part in operands if not isinstance(part, Not)]
            return min((count for count in counts if count is not None), default=None)
        case Or(operands):
            parts = [_count(part, daily_papers) for part in operands]
            known = [part for part in parts if part is not None]
            return sum(known) if len(known) == len(parts) else None
        case Not():
            return None


def _list_subjects(condition: Condition) -> set[str]:
    return {taxonomy.canonical_category(name) for name in list_members(condition)}


def _count_subject(subject: str, daily_papers: Mapping[str, float]) -> float:
    return max((daily_papers.get(name, 0.0) for name in taxonomy.names_of(subject)), default=0.0)


def _write_volume(papers: float) -> str:
    if papers >= 1:
        return f"about {_pluralise(round(papers))} a day"
    weekly = round(papers * _DAYS_OF_WEEK)
    return f"about {_pluralise(weekly)} a week" if weekly else "less than one paper a week"


def _pluralise(papers: int) -> str:
    return f"{papers:,} paper{'' if papers == 1 else 's'}"
