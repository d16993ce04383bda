"""A query in the part of arXiv's own syntax that arXiv reads as it is meant.

arXiv's API (arXiv/arxiv-search, classic API, since November 2025) knows no precedence, reads chains from
the right, takes a missing operator for OR, negates single terms only and matches `*` against stems. So
everything goes out as pairs in parentheses, an ANDNOT always between two operands, each term as one plain
word or between quotes.

What comes back is held against the query again here. If arXiv can't be asked exactly, it is asked
for more: that costs a few papers over the line, never a lost one. Exactly the same papers come for words and
phrases in plain letters, categories, identifiers, DOIs and dates, however joined; more for names, beginnings of
words, accents as written, words with Greek letters or figures, exact words, and `all:`. No name and no exact word
excludes anything there.
Five things are lost at arXiv: an accent that a title has and the query hasn't (it does not fold them:
`Schrodinger` won't bring it to `Schrödinger`), a word that formulas part elsewhere than around Greek letters and
figures (`nbody` won't bring it to `$N$body`), the part of a word that no sign parts (`cdm` won't bring it to
`ΛCDM`), a DOI that a paper writes in other letters, big or small, and a name with a sign at the edge of a part
(`Jose' Carlos`, `H. -W. Braun`), which it takes for a part of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from digest.model import taxonomy
from digest.query.canonical import canonicalise
from digest.query.names import NamePattern, PersonPattern, fold_as_arxiv
from digest.query.queries import Query
from digest.query.tokens import Operator
from digest.query.tree import (
    WORD_PREFIXES,
    And,
    Condition,
    Node,
    Not,
    Or,
    Prefix,
    Shape,
    intern_condition,
    split_range,
    spread_condition,
    spread_keyword,
)
from digest.query.words import (
    fold,
    fold_word,
    is_stop_word,
    part_names,
    part_word,
    read_word,
    split_words,
    stem,
)
from digest.tex.reader import EDGE, GREEK

_FIRST_MINUTE, _LAST_MINUTE = "198001010000", "299912312359"
_EVERYTHING = f"submittedDate:[{_FIRST_MINUTE} TO {_LAST_MINUTE}]"
"""What a query that only excludes is taken from: arXiv can't negate a group by itself."""

_NOTHING = f"submittedDate:[{_FIRST_MINUTE} TO {_FIRST_MINUTE}]"
"""Before arXiv began: excluded if anything that arXiv understands would exclude too much."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_PLAIN_NAME = re.compile(r"[a-z]+")
_LETTERS = {name: letter for letter, name in GREEK.items()}
_FIGURES = re.compile(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])")
_UNSAFE = re.compile(r"[\"\\\[\]\r\n]+")

_SUFFIXES = """
ability able ably al alism alistic alities ality ally ance ances ancies ancy ant ants ate ated ately ates ating
ation ational ationally ations ative atively ativeness ativity ator ators bility ble bles bly ed edly eed eli
ence ences encies ency ent ential entially ently ents er ers es ful fullness fully fulness ial ially ibility
ible ic ical ically icate icates icating icative ication icities icity ics ied ier ies ily iness ing ingly ings
ion ional ionally ions ism isms ist istic ists ities ity ive ively iveness ives ivities ivity ization izations
ize ized izer izers izes izing less lessness logic logical logically logies logy ly ment mental ments ness
nesses ous ously ousness s sses tion tional tionally tions y
"""
_ENDINGS = tuple(
    (suffix[:end], suffix[end:]) for suffix in _SUFFIXES.split() for end in range(1, len(suffix))
)
"""The endings that Porter takes away as what has begun of each, and what follows."""


def to_arxiv(query: Query | Node) -> str:
    """Return a query as arXiv's `search_query` parameter (before URL encoding)."""
    tree = query.tree if isinstance(query, Query) else query
    return _write(canonicalise(tree), is_wanted=True)


def _write(node: Node, *, is_wanted: bool) -> str:
    """Return a node as text. If it is not wanted, it excludes, and must never exclude too much."""
    match node:
        case Condition(prefix, Shape.EXACT, text):  # arXiv knows stems alone, and no stop words
            if not is_wanted or all(is_stop_word(word.text) for word in split_words(text)):
                return _EVERYTHING if is_wanted else _NOTHING
            return _write_condition(intern_condition(prefix, Shape.PHRASE, text), is_wanted=True)
        case Condition():
            return _write_condition(node, is_wanted=is_wanted)
        case Not(operand):
            return f"({_EVERYTHING} ANDNOT {_write(operand, is_wanted=not is_wanted)})"
        case Or(operands):
            return _pair("OR", [_write(operand, is_wanted=is_wanted) for operand in operands])
        case And(operands):
            wanted = [
                _write(part, is_wanted=is_wanted) for part in operands if not isinstance(part, Not)
            ]
            negated = [part.operand for part in operands if isinstance(part, Not)]
            excluded = [_write(operand, is_wanted=not is_wanted) for operand in negated]
            excluded = [clause for clause in excluded if clause != _NOTHING]
            base = _pair("AND", wanted or [_EVERYTHING])
            return f"({base} ANDNOT {_pair('OR', excluded)})" if excluded else base


def _pair(operator: str, operands: Sequence[str]) -> str:
    """Join operands two by two, halving, so that even long lists nest only a few parentheses deep."""
    if len(operands) == 1:
        return operands[0]
    middle = len(operands) // 2
    return f"({_pair(operator, operands[:middle])} {operator} {_pair(operator, operands[middle:])})"


def _pair_any(clauses: Iterable[str]) -> str:
    return _pair("OR", list(dict.fromkeys(clauses)))


def _write_condition(condition: Condition, *, is_wanted: bool) -> str:  # noqa: PLR0911 - one for each kind
    match condition.prefix:
        case Prefix.ALL:
            return _write_all(condition, is_wanted=is_wanted)
        # Excluded, neither is asked for. arXiv takes more names for one than we do,
        # and who handed a paper in for an author.
        case Prefix.AUTHOR if is_wanted:
            return _write_author(condition)
        case Prefix.PERSON if is_wanted:
            return _write_person(condition)
        case Prefix.CATEGORY:
            return _write_category(condition)
        case Prefix.SUBMITTED:
            start, end = split_range(condition.text)
            return f"submittedDate:[{max(start, _FIRST_MINUTE)} TO {min(end, _LAST_MINUTE)}]"
        case Prefix.ID | Prefix.DOI as prefix:
            return _write_term(prefix, condition.text)
        case prefix if prefix in WORD_PREFIXES:
            return _write_words(condition, is_wanted=is_wanted)
        case _:  # arXiv can't be asked: here it is decided
            return _EVERYTHING if is_wanted else _NOTHING


def _write_term(prefix: Prefix, text: str) -> str:
    safe = _UNSAFE.sub(" ", text)
    is_plain = _PLAIN.fullmatch(safe) is not None and safe.upper() not in Operator.__members__
    return f"{prefix}:{safe}" if is_plain else f'{prefix}:"{safe}"'


def _write_words(condition: Condition, *, is_wanted: bool) -> str:
    prefix = condition.prefix
    if condition.shape is Shape.PHRASE:
        return _write_spellings(prefix, condition.text, is_wanted=is_wanted)
    words = [word.text for word in split_words(condition.text)]
    last = []
    if condition.shape is Shape.BEGINNING:
        last = [_write_beginning(prefix, words.pop(), is_wanted=is_wanted)]
    kept = [word for word in words if not is_stop_word(word)]
    return _pair(
        "AND", [*(_write_spellings(prefix, word, is_wanted=is_wanted) for word in kept), *last]
    )


def _write_spellings(prefix: Prefix, text: str, *, is_wanted: bool) -> str:
    """Return a word or a phrase as written and, wanted, as arXiv may hold it besides."""
    return _pair_any(
        _write_term(prefix, spelling) for spelling in (_spell(text) if is_wanted else (text,))
    )


@lru_cache(maxsize=2**10)
def _spell(text: str) -> Sequence[str]:
    """Return a text as written, without its accents and, if formulas may be meant, as they may be written."""
    words = [word.text for word in split_words(text)]
    parted = list(map(_part, words))
    lettered = [[_LETTERS.get(part, part) for part in parts] for parts in parted]
    spellings = [text, fold(text).strip() or text]
    if lettered != [[fold(word)] for word in words]:
        joined = [word if is_stop_word(word) else read_word(word) for word in words]
        if not any(word.endswith(EDGE) for word in joined):
            spellings.append(" ".join(joined))
        spellings.append(
            " ".join(" ".join(part_word(word) or (fold_word(word),)) for word in words)
        )
        spellings += (" ".join(map(" ".join, parted)), " ".join(map(" ".join, lettered)))
        spellings.append(" ".join(map("".join, lettered)))
    return tuple(dict.fromkeys(spellings))


def _part(word: str) -> list[str]:
    """Return the parts of a word: those it has, and those it may have if a formula is written out: `h0`."""
    found = part_word(word) or (fold_word(word),)
    return [
        name for part in found for run in _FIGURES.split(part) if run for name in part_names(run)
    ]


def _write_beginning(prefix: Prefix, word: str, *, is_wanted: bool) -> str:
    """Return `word*`, beside it other spellings, and words of each shorter stem that `*` alone would miss."""
    if not is_wanted:
        return f"{prefix}:{word}*"
    folded, parts = fold_word(word), _part(word)
    lettered = "".join(_LETTERS.get(part, part) for part in parts)
    begun = (letter for name, letter in _LETTERS.items() if name.startswith(folded))
    clauses = [f"{prefix}:{beginning}*" for beginning in (word, folded, lettered, *begun)]
    if len(parts) > 1:
        before = _write_spellings(prefix, " ".join(parts[:-1]), is_wanted=True)
        clauses.append(f"({before} AND {prefix}:{parts[-1]}*)")
    if prefix in (Prefix.TITLE, Prefix.ABSTRACT, Prefix.ALL):
        clauses += [_write_term(prefix, longer) for longer in find_shorter_stems(word)]
    return _pair_any(clauses)


@lru_cache(maxsize=2**10)
def find_shorter_stems(beginning: str) -> tuple[str, ...]:
    """Return one word for each stem that doesn't begin so, though some of its words do.

    `operato*` alone would not bring `operators`, whose stem is `oper`; `operator`, asked as a word, does.
    """
    folded = fold(beginning)
    words: dict[str, str] = {}
    for begun, ending in (("", ""), ("", "ed"), ("", "ing"), *_ENDINGS):
        found = stem(folded + ending) if folded.endswith(begun) else folded
        if not found.startswith(folded):
            words.setdefault(found, beginning + ending)
    return tuple(words.values())


def _write_all(condition: Condition, *, is_wanted: bool) -> str:
    """Ask arXiv's wider `all:` for what is wanted; exclude only by the fields that we exclude by."""
    if not is_wanted:
        parts = [part for part in spread_condition(condition) if part.prefix is not Prefix.AUTHOR]
        return _pair_any(_write_condition(part, is_wanted=False) for part in parts)
    clauses = [_write_words(condition, is_wanted=True)]
    for part in spread_keyword(condition.text):
        clauses.append(_write_term(Prefix.ALL, condition.text))
        if part.prefix is Prefix.CATEGORY:
            others = (name for name in taxonomy.names_of(part.text) if name != condition.text)
            clauses += [_write_term(Prefix.CATEGORY, name) for name in others]
    return _pair_any(clauses)


def _write_author(condition: Condition) -> str:
    if condition.shape is Shape.BEGINNING:
        return f"au:{fold_as_arxiv(fold(condition.text))}*"
    name = NamePattern.parse(condition.text)
    if (
        "*" in condition.text and not name.given
    ):  # then its index is asked for each part as it is written
        return _write_term(Prefix.AUTHOR, fold_as_arxiv(fold(condition.text)))
    if len(name.last) == 1 and _PLAIN.fullmatch(name.last[0]) and _PLAIN.fullmatch(name.given[0]):
        return f"au:{name.last[0]},{name.given[0]}"  # the one form of arXiv's that knows initials
    return _write_term(Prefix.AUTHOR, condition.text.partition(",")[0])


def _write_person(condition: Condition) -> str:
    """Ask for the last name with the first initial, and for both names in any order if all are written out."""
    person = PersonPattern.parse(condition.text)
    clauses = []
    for last in sorted(person.last_names):
        if len(last) > 1 or not (
            _PLAIN_NAME.fullmatch(last[0]) and _PLAIN_NAME.fullmatch(person.initial)
        ):
            clauses.append(_write_term(Prefix.AUTHOR, " ".join(last)))
        else:
            clauses.append(f"au:{last[0]},{person.initial}")
            swapped = (" ".join((*last, *given)) for given in sorted(person.swapped_names))
            clauses += [_write_term(Prefix.AUTHOR, name) for name in swapped]
    return _pair_any(clauses)


def _write_category(condition: Condition) -> str:
    text = condition.text
    if condition.shape is Shape.BEGINNING:
        folded = text.casefold()
        known = [id_ for id_ in taxonomy.CATEGORIES if id_.casefold().startswith(folded)]
        return _pair_any([f"cat:{text}*", *_write_names(known, besides=text)])
    if not taxonomy.is_archive(text):
        return _pair_any(_write_term(Prefix.CATEGORY, name) for name in taxonomy.names_of(text))
    members = [id_ for id_ in taxonomy.CATEGORIES if taxonomy.archive_of(id_) == text]
    bare = [f"cat:{text}"] if taxonomy.is_category(text) else []
    whole = [f"cat:{text}.*"] if any("." in id_ for id_ in members) else []
    return _pair_any([*bare, *whole, *_write_names(members, besides=f"{text}.")])


def _write_names(categories: Iterable[str], besides: str) -> list[str]:
    """Return the other names of categories, but those that begin like the ones already asked for."""
    names = (name for category in categories for name in taxonomy.names_of(category))
    return [f"cat:{name}" for name in names if not name.casefold().startswith(besides.casefold())]
