"""Reads one term of a query: the condition it asks for, or a refusal, and notes on how it was read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping

from digest import tex
from digest.model import taxonomy
from digest.model.errors import UsageError
from digest.model.papers import ArxivId
from digest.query.canonical import needs_quotes, print_condition
from digest.query.names import SEVERAL, Person, UnclearPerson, is_generation, spell_name
from digest.query.pasted import normalise_signs
from digest.query.tokens import (
    BETWEEN_WORDS,
    CURLY_QUOTES,
    PREFIX_WITHIN,
    WILDCARDS,
    NoteKind,
    QuerySource,
    TermToken,
)
from digest.query.tree import (
    LICENCES,
    WORD_PREFIXES,
    Condition,
    Prefix,
    Shape,
    UnreadableRange,
    intern_condition,
    is_doi,
    spell_id,
    spell_licence,
    spell_range,
    spread_keyword,
)
from digest.query.words import Word, is_stop_word, split_words

_WILDCARD = re.compile(r"[*?]")
_WILDCARD_IN_NAME = re.compile(r"(?<![\w.])\*|\*(?![\s,_*]|\Z)|\?")
_WILDCARD_IN_QUOTES = re.compile(r"(?<=\w)\?(?=\w)")
"""Elsewhere between quotes signs are mere signs: "is it all you need?"."""
_OPERATOR_IN_QUOTES = re.compile(r"(?<=\S\s)(?:AND|OR|ANDNOT|NOT)(?=\s+\S)")
_WILD_WORD = re.compile(r"(?<![^\s,*?])([^\s,*?]*)[*?]+([^\s,]*)")
_NAMES_AFTER = re.compile(
    r"(?:[ ]+(?!(?:AND|OR|ANDNOT|NOT)\b)\w[\w.'’-]*(?=[\s)]|\Z)){1,3}", re.IGNORECASE
)
"""What goes on with a name without quotes: `author:Percy Liang`."""
_ARTICLE = re.compile(r"\W*(?:a|[Aa]n|[Tt]he)\s")
_SIGN_OF_WORD = re.compile(
    r"(?<!\S)(?:\.(?=[^\W\d])|:(?=\w)|--)|\+(?!\d)|[#@*<>~→←↔±×÷√∞≈≠≤≥⁺⁻†‡★☆♭♯€£¥]"
)
"""`.NET`, `C#`, `H→ZZ`, `latency[ti]`: with these signs a word is another one."""
_SYNTAX = re.compile(r"[\[\]{}^~=:/|\\&]")
"""Signs that look like syntax: no words of a text, unless somebody quotes them."""
_INITIALS_AFTER = re.compile(
    r"([^\W\d_][\w'’ -]*[^\W_])[,_\s]+([A-Z]{2,3}|((?!(?i:ng)\Z)[^\W\d_aeiouyAEIOUY]{2,3}))\.?"
)
_LICENCE_VERSION = re.compile(r"-\d\.\d\Z")
_CATEGORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_LIKE_ARCHIVE = re.compile(r"(?:hep|nucl|quant|astro)-[A-Za-z]{2,3}")
_MOST_GUESSED = 4
_NOT_IN_QUOTES = re.compile(r'["$\\]|\w\?\w')
_NOT_IN_WORDS = re.compile(
    rf'[\s"$\\()*?+&%|\[\]{{}}^~=:/;{CURLY_QUOTES}]|,(?!\d)|{BETWEEN_WORDS.pattern}|{PREFIX_WITHIN.pattern}',
    re.IGNORECASE,
)
"""Signs that would be read otherwise, or as TeX, if a value that holds them were printed."""

_NOT_FROM_TEX = str.maketrans("%+", "  ")
"""So would these if TeX wrote them: as signs of an address. They part words as blanks do."""


def read_condition(
    source: QuerySource, term: TermToken, inherited: Prefix | None
) -> Condition | None:
    """Return what a term asks for; None if it says nothing by itself and is left out, with a note.

    `inherited` is the prefix of the group it is in. Raises QueryError if the field can't be asked
    like that.
    """
    prefix = term.prefix or inherited or Prefix.ALL
    if term.is_exact and _READERS[prefix] is not _read_words:
        value = f'"{term.value}"' if term.is_quoted else term.value
        message = f"{prefix}: is never stemmed, so it takes no ="
        source.fail(term.position, message, f"Write {prefix}:{value}.")
    return _READERS[prefix](source, term, prefix)


def _read_star(source: QuerySource, term: TermToken) -> tuple[str, bool]:
    """Take a trailing `*` off a value and say if there was one; between quotes it is a mere sign."""
    if term.is_quoted:
        _refuse_wildcard(source, term, _WILDCARD_IN_QUOTES.search(term.value))
        if found := _OPERATOR_IN_QUOTES.search(term.value) or PREFIX_WITHIN.search(term.value):
            message = f"{found[0]} is a word to search for here, because it is between quotes"
            source.note(NoteKind.READ_AS, term.position, message)
        if term.value.startswith("="):
            message = "between quotes a = is ignored; before them it finds the exact words"
            source.note(NoteKind.LEFT_OUT, term.position, message)
        return term.value, False
    value = term.value.rstrip("*")
    _refuse_wildcard(source, term, _WILDCARD.search(value))
    if not value:
        source.fail(
            term.value_position,
            "* needs the beginning of a word before it",
            "Write it like transf*.",
        )
    return value, value != term.value


def _refuse_wildcard(
    source: QuerySource, term: TermToken, found: re.Match[str] | None, *, is_name: bool = False
) -> None:
    """Refuse a `*` or `?` that is for letters elsewhere than at the end of a word, with what comes nearest."""
    if found is None:
        return
    is_sign = term.value[found.start() :].startswith("*-")  # as in C*-algebra
    nearest = f'"{term.value}"' if is_sign else _WILD_WORD.sub(_find_nearest, term.value).strip()
    if " " in nearest:
        nearest = f'"{nearest}"' if is_name else f"({' AND '.join(nearest.split())})"
    prefix = Prefix.AUTHOR if is_name else term.prefix or (Prefix.ALL if is_sign else None)
    written = f"{prefix}:{nearest}" if prefix else nearest
    hint = (
        f"Write for example {written}."
        if any(map(str.isalnum, nearest))
        else "Write it like transf*."
    )
    sign = f"{found[0]} cannot be used here: {WILDCARDS}"
    source.fail(term.value_position + found.start(), sign, hint)


def _find_nearest(word: re.Match[str]) -> str:
    beginning, behind = word.groups()
    if beginning and (behind or word[0].endswith("*")):
        return f"{beginning.rstrip('^')}*"
    return _WILDCARD.sub("", word[0])


def _read_words(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition | None:
    value, has_star = _read_star(source, term)
    plain = _resolve_tex(value).translate(_NOT_FROM_TEX) if "\\" in value or "$" in value else value
    words = list(split_words(plain))
    if not words:
        _leave_out_sign(source, term)
        return None
    if has_star and term.is_exact:
        message, hint = (
            "= wants the word as it is, and * more",
            f"Write {prefix}:{value}*, or {prefix}:={value}.",
        )
        source.fail(term.value_position + len(value), message, hint)
    if has_star and words[-1].end < len(plain):
        message = "* needs the beginning of a word directly before it"
        nearest = f"{term.prefix}:" * bool(term.prefix) + f"{words[-1].text}*"
        source.fail(term.value_position + len(value), message, f"Write for example {nearest}.")
    kept = [
        word for word in words if not is_stop_word(word.text) or (has_star and word is words[-1])
    ]
    shape = (
        Shape.BEGINNING
        if has_star
        else Shape.PHRASE
        if term.is_quoted and len(kept) > 1
        else Shape.WORD
    )
    if term.is_exact:
        kept, shape = words, Shape.EXACT
    if not kept:
        message = f"{term.value!r} is too common to search for and was left out"
        source.note(NoteKind.LEFT_OUT, term.position, message)
        return None
    condition = _name_everywhere(plain, words, kept, shape) if prefix is Prefix.ALL else None
    is_one = words[0].end - words[0].start == len(plain)
    if not is_one and (condition is None or not spread_keyword(condition.text)):
        is_row = shape in (Shape.PHRASE, Shape.EXACT)  # in which the others keep their places
        rest = dict.fromkeys(
            words[words.index(kept[0]) : words.index(kept[-1]) + 1] if is_row else kept
        )
        _note_left_out(source, term, plain, [word for word in words if word not in rest], rest)
    if condition is not None:
        _note_everywhere(source, term, condition)
        return condition
    return intern_condition(prefix, shape, _join_words(words, kept, shape))


def _note_left_out(
    source: QuerySource, term: TermToken, plain: str, out: list[Word], rest: Collection[Word]
) -> None:
    """Say which words and signs count for nothing; an article before others is not missed."""
    missed = out[1:] if out and _ARTICLE.match(plain, 0, out[0].end + 1) else out
    signs = (
        [] if term.is_quoted or "$" in term.value or "\\" in term.value else _SYNTAX.findall(plain)
    )
    parted = (plain[word.start : word.end] for word in missed)
    lost = dict.fromkeys((*parted, *_SIGN_OF_WORD.findall(plain), *signs))
    if lost:
        verb, found = "is" if len(lost) == 1 else "are", " ".join(word.text for word in rest)
        whole = " ".join(term.value.split())
        message = f'{", ".join(lost)} {verb} left out, as at arXiv: of {whole} only "{found}" is searched for'
        message += "; in quotes, words keep their places" * bool(
            missed and len(rest) > 1 and not term.is_quoted
        )
        message += "; without quotes a * finds beginnings of words" * ("*" in lost)
        exact = (f"{term.prefix}:" if term.prefix else "") + f'="{term.value}"'
        message += f"; {exact} finds all its words" * bool(missed and term.is_quoted)
        source.note(NoteKind.LEFT_OUT, term.position, message)


def _resolve_tex(value: str) -> str:
    """Return a value with its TeX as it shows, edges of formulas marked as they are in texts."""
    marked = "".join(piece.text for piece in tex.parse_words(value))
    return normalise_signs(unicodedata.normalize("NFC", " ".join(marked.split())))


def _join_words(words: list[Word], kept: list[Word], shape: Shape) -> str:
    """Return words as one text; in a phrase, stop words between others keep their places."""
    if shape in (Shape.WORD, Shape.BEGINNING):
        return "-".join(word.text for word in kept)
    return " ".join(word.text for word in words[words.index(kept[0]) : words.index(kept[-1]) + 1])


def _name_everywhere(plain: str, words: list[Word], kept: list[Word], shape: Shape) -> Condition:
    """Return an `all:` condition. Its text keeps its signs: names, categories and DOIs need them."""
    keyword = plain.strip().rstrip(".,;").rstrip()
    if shape is not Shape.BEGINNING and spread_keyword(keyword):
        shape = Shape.PHRASE if shape is Shape.WORD and needs_quotes(keyword) else shape
        return intern_condition(Prefix.ALL, shape, taxonomy.spell_name(keyword))
    whole = " ".join(plain[kept[0].start : kept[-1].end].split())
    text = unicodedata.normalize("NFC", whole.lower())
    is_quoted = shape is Shape.PHRASE or (shape is Shape.EXACT and " " in text)
    is_printable = not (_NOT_IN_QUOTES if is_quoted else _NOT_IN_WORDS).search(text)
    if len(kept) == 1 or not is_printable:
        text = _join_words(words, kept, shape)
    return intern_condition(Prefix.ALL, shape, taxonomy.spell_name(text))


def _note_everywhere(source: QuerySource, term: TermToken, condition: Condition) -> None:
    """Say what finds a category or a paper that is written alone."""
    if term.prefix is not Prefix.ALL and (keywords := spread_keyword(condition.text)):
        said = "is searched for in every field"
        if not any(said in note.message for note in source.notes):
            message = f"{condition.text} {said}; {print_condition(keywords[0])} finds it alone"
            source.note(NoteKind.READ_AS, term.position, message)
    archive, _, subject = condition.text.partition(".")
    is_like_one = subject.replace("-", "").isalpha() and taxonomy.is_archive(archive)
    if not term.is_quoted and (is_like_one or _LIKE_ARCHIVE.fullmatch(condition.text)):
        _name_category(
            source, term, Prefix.CATEGORY, condition.text
        )  # notes one that arXiv does not have


def _leave_out_sign(source: QuerySource, term: TermToken) -> None:
    if term.prefix is not None or term.is_quoted:
        source.fail(
            term.value_position,
            f"There is no word in {term.value!r}",
            "Only words can be searched for.",
        )
    source.note(
        NoteKind.LEFT_OUT, term.position, f"{term.value!r} contains no word and was left out"
    )


def _read_author(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition | None:
    _refuse_wildcard(source, term, _WILDCARD_IN_NAME.search(term.value), is_name=True)
    name = spell_name(term.value.rstrip(" ,;"))
    for text in (term.value.rstrip(" ;"), name):  # signs of the one may hide what the other says
        if SEVERAL.search(text):
            names = [
                f'au:"{one.strip()}"' for one in SEVERAL.split(text) if any(map(str.isalpha, one))
            ]
            message = f"{term.value!r} is more than one name"
            source.fail(term.value_position, message, f"Write ({' AND '.join(names)}).")
    if not name:
        _leave_out_sign(source, term)
        return None
    _note_initials(source, term)
    if name.endswith("*") and " " not in name:
        return intern_condition(prefix, Shape.BEGINNING, name[:-1])
    return intern_condition(prefix, Shape.PHRASE if " " in name else Shape.WORD, name)


def _note_initials(source: QuerySource, term: TermToken) -> None:
    """Say how to write a name whose initials follow together, as PubMed prints it: they would be a whole name."""
    found = _INITIALS_AFTER.fullmatch(term.value.strip())
    if found and not is_generation(found[2]) and (found[3] or not found[1].isupper()):
        initials = f'if these are initials, write au:"{found[1]}, {found[2][0]}"'
        source.note(
            NoteKind.READ_AS, term.position, f"{found[2]} is read as a whole name; {initials}"
        )


def _read_person(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    _refuse_wildcard(source, term, _WILDCARD.search(term.value), is_name=True)
    if "," not in term.value:
        _note_initials(source, term)
    try:
        return intern_condition(prefix, Shape.PHRASE, Person.parse(term.value).text)
    except UnclearPerson as error:
        hint = f'Write au:{term.value}. It finds everybody of that name; author:"Keiko Lindquell" is one person.'
        behind = _NAMES_AFTER.match(source.text, term.value_position + len(term.value))
        if behind and not term.is_quoted:
            hint = f'Write author:"{term.value}{behind[0]}".'
        source.fail(term.value_position, str(error), hint)


def _read_category(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    value = term.value.strip().rstrip(",;|/&")
    base = value.rstrip("*")
    if not _CATEGORY.fullmatch(base):
        hint = "Write cat:cs.PF for one, cat:cs or cat:cs.* for a whole archive."
        source.fail(term.value_position, f"{value!r} cannot be the name of a category", hint)
    name = base.rstrip(".")
    if base == value or (base != name and taxonomy.is_archive(name)):
        return _name_category(source, term, prefix, name)
    begun = (
        id_[: len(base)]
        for id_ in taxonomy.CATEGORIES
        if id_.casefold().startswith(base.casefold())
    )
    spelled = next(begun, "")
    if not spelled:
        source.note(
            NoteKind.UNKNOWN_CATEGORY,
            term.value_position,
            f"no category of arXiv begins with {base}",
        )
    return intern_condition(prefix, Shape.BEGINNING, spelled or base)


def _name_category(source: QuerySource, term: TermToken, prefix: Prefix, name: str) -> Condition:
    if taxonomy.is_archive(name):
        return intern_condition(prefix, Shape.WORD, taxonomy.spell_name(name))
    canonical = taxonomy.canonical_category(name)
    if not taxonomy.is_category(name):
        nearest = taxonomy.nearest_category(name)
        near = " or ".join((nearest,) if nearest else taxonomy.list_subjects(name)[:_MOST_GUESSED])
        guess = f"; perhaps {near} is meant" if near else ""
        message = f"{name!r} is not a category of arXiv{guess}"
        source.note(NoteKind.UNKNOWN_CATEGORY, term.value_position, message)
    elif taxonomy.spell_name(name) in taxonomy.RETIRED:
        message = f"{name} is no longer used and is read as {canonical}"
        source.note(NoteKind.RETIRED_CATEGORY, term.value_position, message)
    return intern_condition(prefix, Shape.WORD, canonical)


def _read_id(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    try:
        id_, version = ArxivId.parse_versioned(term.value)
    except UsageError as error:
        source.fail(term.value_position, error.message, error.hint)
    return intern_condition(prefix, Shape.WORD, spell_id(id_, version))


def _read_doi(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    value = term.value.strip()
    doi = value[max(value.find("10."), 0) :]
    if not is_doi(doi):
        hint = "A DOI looks like 10.1103/PhysRevLett.116.061102."
        source.fail(term.value_position, f"{value!r} is not a DOI", hint)
    return intern_condition(prefix, Shape.WORD, doi)


def _read_licence(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    value = _LICENCE_VERSION.sub("", "-".join(term.value.casefold().split()))
    name = next(
        (name for name in (spell_licence(value), value, f"cc-{value}") if name in LICENCES), None
    )
    if name is None:
        hint = f"Known: {', '.join(LICENCES)}."
        source.fail(term.value_position, f"{term.value!r} is not a licence of arXiv", hint)
    message = 'licences are known only of harvested papers (source = "harvest"), not of papers from a search'
    if not any(note.kind is NoteKind.LICENCE for note in source.notes):
        source.note(NoteKind.LICENCE, term.position, message)
    return intern_condition(prefix, Shape.WORD, name)


def _read_range(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    try:
        return intern_condition(prefix, Shape.RANGE, spell_range(term.value))
    except UnreadableRange as error:
        hint = "Write submittedDate:[20260301 TO 20260331]: year, month, day, and hour and minute if you like."
        source.fail(term.value_position, str(error), hint)


_READERS: Mapping[Prefix, Callable[[QuerySource, TermToken, Prefix], Condition | None]] = {
    **dict.fromkeys((*WORD_PREFIXES, Prefix.ALL), _read_words),
    Prefix.AUTHOR: _read_author,
    Prefix.PERSON: _read_person,
    Prefix.CATEGORY: _read_category,
    Prefix.ID: _read_id,
    Prefix.DOI: _read_doi,
    Prefix.LICENCE: _read_licence,
    Prefix.SUBMITTED: _read_range,
}


PHRASED = frozenset(
    (None, *(prefix for prefix, read in _READERS.items() if read in (_read_words, _read_author)))
)
"""What may precede words that are meant side by side, or as one name."""
