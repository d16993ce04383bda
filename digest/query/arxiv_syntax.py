"""A query in the part of arXiv's own syntax that arXiv reads as it is meant.

arXiv's API (arXiv/arxiv-search, classic API, since November 2025) knows no precedence, reads chains
from the right, takes a missing operator for OR, negates single terms only and matches `*` against
stems. So everything goes out as pairs in parentheses, an ANDNOT always between two operands, each
term as one plain word or between quotes.

What comes back is held against the query again here. If arXiv can't be asked exactly, it is asked
for more: that costs a few papers over the line, never a lost one. Exactly the same papers come for
words and phrases in plain letters, categories, identifiers, DOIs and dates, however joined; more
for names, beginnings of words, accents as written, words with Greek letters or figures, exact
words, and `all:`. No name and no exact word excludes anything there.

Five things are lost at arXiv:
- an accent that a title has and the query hasn't: `Schrodinger` won't bring it to `Schrödinger`;
- a word that formulas part elsewhere than around Greek letters and figures: `nbody` won't bring it
  to `$N$body`;
- the part of a word that no sign parts: `cdm` won't bring it to `ΛCDM`;
- a DOI that a paper writes in other letters, big or small;
- a name with a sign at the edge of a part, which it takes for a part of its own: `Jose' Carlos`,
  `H. -W. Braun`.
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

_FIRST_MINUTE = "198001010000"
_LAST_MINUTE = "299912312359"
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
ability able ably al alism alistic alities ality ally ance ances ancies ancy ant ants ate ated
ately ates ating ation ational ationally ations ative atively ativeness ativity ator ators
bility ble bles bly ed edly eed eli ence ences encies ency ent ential entially ently ents er ers
es ful fullness fully fulness ial ially ibility ible ic ical ically icate icates icating icative
ication icities icity ics ied ier ies ily iness ing ingly ings ion ional ionally ions ism isms
ist istic ists ities ity ive ively iveness ives ivities ivity ization izations ize ized izer
izers izes izing less lessness logic logical logically logies logy ly ment mental ments ness
nesses ous ously ousness s sses tion tional tionally tions y
"""
_ENDINGS: list[tuple[str, str]] = []
"""The endings that Porter takes away as what has begun of each, and what follows."""
for _suffix in _SUFFIXES.split():
    _ENDINGS += [(_suffix[:end], _suffix[end:]) for end in range(1, len(_suffix))]


def to_arxiv(query: Query | Node) -> str:
    """Return a query as arXiv's `search_query` parameter (before URL encoding)."""
    tree = query.tree if isinstance(query, Query) else query
    return _write(canonicalise(tree), is_wanted=True)


def _write(node: Node, *, is_wanted: bool) -> str:
    """Return a node as text. If it is not wanted, it excludes, and must never exclude too much."""
    match node:
        case Condition(prefix, Shape.EXACT, text):  # arXiv knows stems alone, and no stop words
            has_stop_words_alone = all(is_stop_word(word.text) for word in split_words(text))
            if not is_wanted or has_stop_words_alone:
                return _write_undecided(is_wanted=is_wanted)
            return _write_condition(intern_condition(prefix, Shape.PHRASE, text), is_wanted=True)
        case Condition():
            return _write_condition(node, is_wanted=is_wanted)
        case Not(operand):
            return f"({_EVERYTHING} ANDNOT {_write(operand, is_wanted=not is_wanted)})"
        case Or(operands):
            return _pair("OR", [_write(operand, is_wanted=is_wanted) for operand in operands])
        case And(operands):
            return _write_conjunction(operands, is_wanted=is_wanted)


def _write_conjunction(operands: Sequence[Node], *, is_wanted: bool) -> str:
    wanted: list[str] = []
    excluded: list[str] = []
    for operand in operands:
        if not isinstance(operand, Not):
            wanted.append(_write(operand, is_wanted=is_wanted))
            continue
        clause = _write(operand.operand, is_wanted=not is_wanted)
        if clause != _NOTHING:
            excluded.append(clause)
    base = _pair("AND", wanted or [_EVERYTHING])
    return f"({base} ANDNOT {_pair('OR', excluded)})" if excluded else base


def _write_undecided(*, is_wanted: bool) -> str:
    """Return a clause for what arXiv can't be asked: here it is decided."""
    return _EVERYTHING if is_wanted else _NOTHING


def _pair(operator: str, operands: Sequence[str]) -> str:
    """Join operands two by two, halving, so that even long lists nest only a few deep."""
    if len(operands) == 1:
        return operands[0]
    middle = len(operands) // 2
    first = _pair(operator, operands[:middle])
    second = _pair(operator, operands[middle:])
    return f"({first} {operator} {second})"


def _pair_any(clauses: Iterable[str]) -> str:
    return _pair("OR", list(dict.fromkeys(clauses)))


def _write_condition(condition: Condition, *, is_wanted: bool) -> str:  # noqa: PLR0911 - by kind
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
            first = max(start, _FIRST_MINUTE)
            last = min(end, _LAST_MINUTE)
            return f"submittedDate:[{first} TO {last}]"
        case Prefix.ID | Prefix.DOI as prefix:
            return _write_term(prefix, condition.text)
        case prefix if prefix in WORD_PREFIXES:
            return _write_words(condition, is_wanted=is_wanted)
        case _:
            return _write_undecided(is_wanted=is_wanted)


def _write_term(prefix: Prefix, text: str) -> str:
    safe = _UNSAFE.sub(" ", text)
    is_plain = _PLAIN.fullmatch(safe) is not None and safe.upper() not in Operator.__members__
    return f"{prefix}:{safe}" if is_plain else f'{prefix}:"{safe}"'


def _write_words(condition: Condition, *, is_wanted: bool) -> str:
    prefix = condition.prefix
    if condition.shape is Shape.PHRASE:
        return _write_spellings(prefix, condition.text, is_wanted=is_wanted)
    words = [word.text for word in split_words(condition.text)]
    beginning = words.pop() if condition.shape is Shape.BEGINNING else ""
    kept = [word for word in words if not is_stop_word(word)]
    clauses = [_write_spellings(prefix, word, is_wanted=is_wanted) for word in kept]
    if beginning:
        clauses.append(_write_beginning(prefix, beginning, is_wanted=is_wanted))
    return _pair("AND", clauses)


def _write_spellings(prefix: Prefix, text: str, *, is_wanted: bool) -> str:
    """Return a word or a phrase as written and, wanted, as arXiv may hold it besides."""
    spellings = _spell(text) if is_wanted else (text,)
    return _pair_any(_write_term(prefix, spelling) for spelling in spellings)


@lru_cache(maxsize=2**10)
def _spell(text: str) -> Sequence[str]:
    """Return a text as written, without its accents and, if formulas may be meant, as those may be.

    A formula may be written as one word, in parts, and with Greek letters or their names.
    """
    words = [word.text for word in split_words(text)]
    parted: list[str] = []
    lettered: list[list[str]] = []
    for word in words:
        parts = _part(word)
        parted.append(" ".join(parts))
        lettered.append([_LETTERS.get(part, part) for part in parts])
    spellings = [text, fold(text).strip() or text]
    if lettered != [[fold(word)] for word in words]:
        joined = [word if is_stop_word(word) else read_word(word) for word in words]
        if not any(word.endswith(EDGE) for word in joined):
            spellings.append(" ".join(joined))
        spellings += [
            " ".join(" ".join(_list_own_parts(word)) for word in words),
            " ".join(parted),
            " ".join(map(" ".join, lettered)),
            " ".join(map("".join, lettered)),
        ]
    return tuple(dict.fromkeys(spellings))


def _list_own_parts(word: str) -> tuple[str, ...]:
    return part_word(word) or (fold_word(word),)


def _part(word: str) -> list[str]:
    """Return the parts of a word: those it has, and those of a formula written out, as `h0`."""
    names: list[str] = []
    for part in _list_own_parts(word):
        for run in filter(None, _FIGURES.split(part)):
            names += part_names(run)
    return names


def _write_beginning(prefix: Prefix, word: str, *, is_wanted: bool) -> str:
    """Return `word*`, its other spellings, and a word of each stem that `*` alone would miss."""
    if not is_wanted:
        return f"{prefix}:{word}*"
    folded = fold_word(word)
    parts = _part(word)
    lettered = "".join([_LETTERS.get(part, part) for part in parts])
    begun = [letter for name, letter in _LETTERS.items() if name.startswith(folded)]
    beginnings = (word, folded, lettered, *begun)
    clauses = [f"{prefix}:{beginning}*" for beginning in beginnings]
    if len(parts) > 1:
        *earlier, last = parts
        before = _write_spellings(prefix, " ".join(earlier), is_wanted=True)
        clauses.append(f"({before} AND {prefix}:{last}*)")
    if prefix in (Prefix.TITLE, Prefix.ABSTRACT, Prefix.ALL):
        clauses += [_write_term(prefix, longer) for longer in find_shorter_stems(word)]
    return _pair_any(clauses)


@lru_cache(maxsize=2**10)
def find_shorter_stems(beginning: str) -> tuple[str, ...]:
    """Return one word for each stem that doesn't begin so, though some of its words do.

    `operato*` alone would not bring `operators`, whose stem is `oper`; `operator`, asked as a word,
    does.
    """
    folded = fold(beginning)
    words: dict[str, str] = {}
    for begun, ending in (("", ""), ("", "ed"), ("", "ing"), *_ENDINGS):
        found = stem(folded + ending) if folded.endswith(begun) else folded
        if not found.startswith(folded):
            words.setdefault(found, beginning + ending)
    return tuple(words.values())


def _write_all(condition: Condition, *, is_wanted: bool) -> str:
    """Ask arXiv's wider `all:` for what is wanted; exclude only by the fields of ours."""
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
    text = condition.text
    as_arxiv = fold_as_arxiv(fold(text))
    if condition.shape is Shape.BEGINNING:
        return f"au:{as_arxiv}*"
    name = NamePattern.parse(text)
    if "*" in text and not name.given:  # its index is asked for each part as it is written
        return _write_term(Prefix.AUTHOR, as_arxiv)
    if len(name.last) == 1:
        last = name.last[0]
        given = name.given[0]
        if _PLAIN.fullmatch(last) and _PLAIN.fullmatch(given):
            return f"au:{last},{given}"  # the one form of arXiv's that knows initials
    return _write_term(Prefix.AUTHOR, text.partition(",")[0])


def _write_person(condition: Condition) -> str:
    """Ask for the last name with the first initial, and for both names in any order if known."""
    person = PersonPattern.parse(condition.text)
    is_plain_initial = _PLAIN_NAME.fullmatch(person.initial) is not None
    clauses: list[str] = []
    for last in sorted(person.last_names):
        is_one_word = len(last) == 1 and _PLAIN_NAME.fullmatch(last[0]) is not None
        if not (is_one_word and is_plain_initial):
            clauses.append(_write_term(Prefix.AUTHOR, " ".join(last)))
            continue
        clauses.append(f"au:{last[0]},{person.initial}")
        for given in sorted(person.swapped_names):
            name = " ".join((*last, *given))
            clauses.append(_write_term(Prefix.AUTHOR, name))
    return _pair_any(clauses)


def _write_category(condition: Condition) -> str:
    text = condition.text
    if condition.shape is Shape.BEGINNING:
        folded = text.casefold()
        known = [id_ for id_ in taxonomy.CATEGORIES if id_.casefold().startswith(folded)]
        return _pair_any([f"cat:{text}*", *_write_names(known, besides=text)])
    if not taxonomy.is_archive(text):
        names = taxonomy.names_of(text)
        return _pair_any(_write_term(Prefix.CATEGORY, name) for name in names)
    members = [id_ for id_ in taxonomy.CATEGORIES if taxonomy.archive_of(id_) == text]
    clauses: list[str] = []
    if taxonomy.is_category(text):
        clauses.append(f"cat:{text}")
    if any("." in id_ for id_ in members):
        clauses.append(f"cat:{text}.*")
    return _pair_any([*clauses, *_write_names(members, besides=f"{text}.")])


def _write_names(categories: Iterable[str], besides: str) -> list[str]:
    """Return the other names of categories, but those that begin like the ones asked for."""
    asked_for = besides.casefold()
    clauses: list[str] = []
    for category in categories:
        names = taxonomy.names_of(category)
        others = [name for name in names if not name.casefold().startswith(asked_for)]
        clauses += [f"cat:{name}" for name in others]
    return clauses
