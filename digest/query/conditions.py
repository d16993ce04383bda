"""Reads one term of a query: the condition it asks for, or a refusal; and notes on how it was read.

`_READERS` has one reader for each prefix.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping

from digest import tex
from digest.model import taxonomy
from digest.model.errors import UsageError
from digest.model.papers import ArxivId
from digest.query.canonical import needs_quotes, print_condition
from digest.query.names import (
    SEVERAL,
    Person,
    UnclearPerson,
    has_several,
    is_generation,
    spell_name,
)
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
    rf'[\s"$\\()*?+&%|\[\]{{}}^~=:/;{CURLY_QUOTES}]|,(?!\d)'
    rf"|{BETWEEN_WORDS.pattern}|{PREFIX_WITHIN.pattern}",
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
        form = f"{prefix}:{value}"
        source.fail(term.position, message, f"Write {form}.", form=form)
    return _READERS[prefix](source, term, prefix)


def _read_star(source: QuerySource, term: TermToken) -> tuple[str, bool]:
    """Take a trailing `*` off a value, and say if there was one; between quotes it is a sign."""
    if term.is_quoted:
        _note_signs_in_quotes(source, term)
        return term.value, False
    value = term.value.rstrip("*")
    _refuse_wildcard(source, term, _WILDCARD.search(value))
    if not value:
        message = "* needs the beginning of a word before it"
        source.fail(term.value_position, message, "Write it like transf*.")
    return value, value != term.value


def _note_signs_in_quotes(source: QuerySource, term: TermToken) -> None:
    """Say what operators, prefixes and a `=` mean between quotes; refuse a `?` within a word."""
    _refuse_wildcard(source, term, _WILDCARD_IN_QUOTES.search(term.value))
    word = _OPERATOR_IN_QUOTES.search(term.value) or PREFIX_WITHIN.search(term.value)
    if word is not None:
        message = f"{word[0]} is a word to search for here, because it is between quotes"
        source.note(NoteKind.READ_AS, term.position, message)
    if term.value.startswith("="):
        message = "between quotes a = is ignored; before them it finds the exact words"
        source.note(NoteKind.LEFT_OUT, term.position, message)


def _refuse_wildcard(
    source: QuerySource, term: TermToken, found: re.Match[str] | None, *, is_name: bool = False
) -> None:
    """Refuse a `*` or `?` for letters elsewhere than at the end of a word; show what is nearest."""
    if found is None:
        return
    place = found.start()
    message = f"{found[0]} cannot be used here: {WILDCARDS}"
    is_sign = term.value[place:].startswith("*-")  # as in C*-algebra
    words = _WILD_WORD.sub(_find_nearest, term.value).strip()
    nearest = f'"{term.value}"' if is_sign else words
    if " " in nearest:
        nearest = f'"{nearest}"' if is_name else f"({' AND '.join(nearest.split())})"
    prefix = Prefix.AUTHOR if is_name else term.prefix
    if prefix is None and is_sign:
        prefix = Prefix.ALL
    written = f"{prefix}:{nearest}" if prefix else nearest
    has_word = any(map(str.isalnum, nearest))
    place += term.value_position
    if has_word:
        source.fail(place, message, f"Write for example {written}.", form=written)
    source.fail(place, message, "Write it like transf*.")


def _find_nearest(word: re.Match[str]) -> str:
    beginning, behind = word.groups()
    if beginning and (behind or word[0].endswith("*")):
        return f"{beginning.rstrip('^')}*"
    return _WILDCARD.sub("", word[0])


def _read_words(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition | None:
    value, has_star = _read_star(source, term)
    has_tex = "\\" in value or "$" in value
    plain = _resolve_tex(value).translate(_NOT_FROM_TEX) if has_tex else value
    words = list(split_words(plain))
    if not words:
        _leave_out_sign(source, term)
        return None
    if has_star:
        star = term.value_position + len(value)
        if term.is_exact:
            hint = f"Write {prefix}:{value}*, or {prefix}:={value}."
            source.fail(star, "= wants the word as it is, and * more", hint)
        if words[-1].end < len(plain):
            named = f"{term.prefix}:" if term.prefix else ""
            form = f"{named}{words[-1].text}*"
            message = "* needs the beginning of a word directly before it"
            source.fail(star, message, f"Write for example {form}.", form=form)
    kept, shape = _choose_words(term, words, has_star=has_star)
    if not kept:
        message = f"{term.value!r} is too common to search for and was left out"
        source.note(NoteKind.LEFT_OUT, term.position, message)
        return None
    everywhere = _name_everywhere(plain, words, kept, shape) if prefix is Prefix.ALL else None
    is_one = words[0].end - words[0].start == len(plain)
    is_keyword = everywhere is not None and bool(spread_keyword(everywhere.text))
    if not is_one and not is_keyword:
        # In a row the others keep their places.
        is_row = shape in (Shape.PHRASE, Shape.EXACT)
        rest = dict.fromkeys(_cut_row(words, kept) if is_row else kept)
        out = [word for word in words if word not in rest]
        _note_left_out(source, term, plain, out, rest)
    if everywhere is not None:
        _note_everywhere(source, term, everywhere)
        return everywhere
    return intern_condition(prefix, shape, _join_words(words, kept, shape))


def _choose_words(
    term: TermToken, words: list[Word], *, has_star: bool
) -> tuple[list[Word], Shape]:
    """Return the words that are searched for, and how: stop words count in exact words alone."""
    if term.is_exact:
        return words, Shape.EXACT
    kept = [word for word in words if not is_stop_word(word.text)]
    if has_star:
        last = words[-1]
        return ([*kept, last] if is_stop_word(last.text) else kept), Shape.BEGINNING
    is_phrase = term.is_quoted and len(kept) > 1
    return kept, Shape.PHRASE if is_phrase else Shape.WORD


def _note_left_out(
    source: QuerySource, term: TermToken, plain: str, out: list[Word], rest: Collection[Word]
) -> None:
    """Say which words and signs count for nothing; an article before others is not missed."""
    if out and _ARTICLE.match(plain, 0, out[0].end + 1):
        out = out[1:]
    lost = [plain[word.start : word.end] for word in out]
    lost += _SIGN_OF_WORD.findall(plain)
    is_plain = not term.is_quoted and "$" not in term.value and "\\" not in term.value
    if is_plain:
        lost += _SYNTAX.findall(plain)
    if not lost:
        return
    distinct = dict.fromkeys(lost)
    verb = "is" if len(distinct) == 1 else "are"
    whole = " ".join(term.value.split())
    found = " ".join(word.text for word in rest)
    left_out = f"{', '.join(distinct)} {verb} left out, as at arXiv"
    said = [f'{left_out}: of {whole} only "{found}" is searched for']
    if out and len(rest) > 1 and not term.is_quoted:
        said.append("in quotes, words keep their places")
    if "*" in distinct:
        said.append("without quotes a * finds beginnings of words")
    if out and term.is_quoted:
        prefix = f"{term.prefix}:" if term.prefix else ""
        said.append(f'{prefix}="{term.value}" finds all its words')
    source.note(NoteKind.LEFT_OUT, term.position, "; ".join(said))


def _resolve_tex(value: str) -> str:
    """Return a value with its TeX as it shows, edges of formulas marked as they are in texts."""
    marked = "".join(piece.text for piece in tex.parse_words(value))
    return normalise_signs(unicodedata.normalize("NFC", " ".join(marked.split())))


def _join_words(words: list[Word], kept: list[Word], shape: Shape) -> str:
    """Return words as one text; in a phrase, stop words between others keep their places."""
    if shape in (Shape.WORD, Shape.BEGINNING):
        return "-".join(word.text for word in kept)
    return " ".join(word.text for word in _cut_row(words, kept))


def _cut_row(words: list[Word], kept: list[Word]) -> list[Word]:
    """Return the words from the first kept one to the last, with the stop words between."""
    first = words.index(kept[0])
    last = words.index(kept[-1])
    return words[first : last + 1]


def _name_everywhere(plain: str, words: list[Word], kept: list[Word], shape: Shape) -> Condition:
    """Return an `all:` condition. Its text keeps signs: names, categories and DOIs need them."""
    keyword = plain.strip().rstrip(".,;").rstrip()
    if shape is not Shape.BEGINNING and spread_keyword(keyword):
        if shape is Shape.WORD and needs_quotes(keyword):
            shape = Shape.PHRASE
        return intern_condition(Prefix.ALL, shape, taxonomy.spell_name(keyword))
    whole = " ".join(plain[kept[0].start : kept[-1].end].split())
    text = unicodedata.normalize("NFC", whole.lower())
    is_quoted = shape is Shape.PHRASE or (shape is Shape.EXACT and " " in text)
    not_printable = _NOT_IN_QUOTES if is_quoted else _NOT_IN_WORDS
    if len(kept) == 1 or not_printable.search(text):
        text = _join_words(words, kept, shape)
    return intern_condition(Prefix.ALL, shape, taxonomy.spell_name(text))


def _note_everywhere(source: QuerySource, term: TermToken, condition: Condition) -> None:
    """Say what finds a category or a paper that is written alone."""
    text = condition.text
    keywords = () if term.prefix is Prefix.ALL else spread_keyword(text)
    said = "is searched for in every field"
    if keywords and not any(said in note.message for note in source.notes):
        alone = print_condition(keywords[0])
        message = f"{text} {said}; {alone} finds it alone"
        source.note(NoteKind.READ_AS, term.position, message)
    archive, _, subject = text.partition(".")
    has_archive = subject.replace("-", "").isalpha() and taxonomy.is_archive(archive)
    is_like_category = has_archive or _LIKE_ARCHIVE.fullmatch(text) is not None
    if is_like_category and not term.is_quoted:
        # This notes one that arXiv does not have.
        _name_category(source, term, Prefix.CATEGORY, text)


def _leave_out_sign(source: QuerySource, term: TermToken) -> None:
    if term.prefix is not None or term.is_quoted:
        message = f"There is no word in {term.value!r}"
        source.fail(term.value_position, message, "Only words can be searched for.")
    message = f"{term.value!r} contains no word and was left out"
    source.note(NoteKind.LEFT_OUT, term.position, message)


def _read_author(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition | None:
    _refuse_wildcard(source, term, _WILDCARD_IN_NAME.search(term.value), is_name=True)
    name = spell_name(term.value.rstrip(" ,;"))
    # Signs of the one may hide what the other says.
    _refuse_several(source, term, term.value.rstrip(" ;"))
    _refuse_several(source, term, name)
    if not name:
        _leave_out_sign(source, term)
        return None
    _note_initials(source, term)
    if name.endswith("*") and " " not in name:
        return intern_condition(prefix, Shape.BEGINNING, name[:-1])
    shape = Shape.PHRASE if " " in name else Shape.WORD
    return intern_condition(prefix, shape, name)


def _refuse_several(source: QuerySource, term: TermToken, text: str) -> None:
    """Refuse a text with more than one name; show each of them as a condition."""
    if not has_several(text):
        return
    names = [name.strip() for name in SEVERAL.split(text) if any(map(str.isalpha, name))]
    conditions = " AND ".join(f'au:"{name}"' for name in names)
    form = f"({conditions})"
    message = f"{term.value!r} is more than one name"
    source.fail(term.value_position, message, f"Write {form}.", form=form)


def _note_initials(source: QuerySource, term: TermToken) -> None:
    """Say how to write a name whose initials follow together, as PubMed prints it.

    They would be read as a whole name.
    """
    found = _INITIALS_AFTER.fullmatch(term.value.strip())
    if found is None:
        return
    last, initials, lower = found.groups()
    if is_generation(initials) or (lower is None and last.isupper()):
        return
    message = (
        f"{initials} is read as a whole name; "
        f'if these are initials, write au:"{last}, {initials[0]}"'
    )
    source.note(NoteKind.READ_AS, term.position, message)


def _read_person(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    _refuse_wildcard(source, term, _WILDCARD.search(term.value), is_name=True)
    if "," not in term.value:
        _note_initials(source, term)
    try:
        person = Person.parse(term.value)
    except UnclearPerson as error:
        behind = _NAMES_AFTER.match(source.text, term.value_position + len(term.value))
        if behind and not term.is_quoted:
            form = f'author:"{term.value}{behind[0]}"'
            source.fail(term.value_position, str(error), f"Write {form}.", form=form)
        hint = (
            f"Write au:{term.value}. It finds everybody of that name; "
            'author:"Keiko Lindquell" is one person.'
        )
        source.fail(term.value_position, str(error), hint)
    return intern_condition(prefix, Shape.PHRASE, person.text)


def _read_category(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    value = term.value.strip().rstrip(",;|/&")
    base = value.rstrip("*")
    if not _CATEGORY.fullmatch(base):
        hint = "Write cat:cs.PF for one, cat:cs or cat:cs.* for a whole archive."
        source.fail(term.value_position, f"{value!r} cannot be the name of a category", hint)
    name = base.rstrip(".")
    is_whole_archive = base != name and taxonomy.is_archive(name)  # `cs.*`
    if base == value or is_whole_archive:
        return _name_category(source, term, prefix, name)
    for id_ in taxonomy.CATEGORIES:
        if id_.casefold().startswith(base.casefold()):
            spelled = id_[: len(base)]
            return intern_condition(prefix, Shape.BEGINNING, spelled)
    message = f"no category of arXiv begins with {base}"
    source.note(NoteKind.UNKNOWN_CATEGORY, term.value_position, message)
    return intern_condition(prefix, Shape.BEGINNING, base)


def _name_category(source: QuerySource, term: TermToken, prefix: Prefix, name: str) -> Condition:
    if taxonomy.is_archive(name):
        return intern_condition(prefix, Shape.WORD, taxonomy.spell_name(name))
    canonical = taxonomy.canonical_category(name)
    if not taxonomy.is_category(name):
        nearest = taxonomy.nearest_category(name)
        likely = [nearest] if nearest else taxonomy.list_subjects(name)[:_MOST_GUESSED]
        guess = f"; perhaps {' or '.join(likely)} is meant" if likely else ""
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
    _, start, registrant = value.partition("10.")
    doi = start + registrant if start else value
    if not is_doi(doi):
        hint = "A DOI looks like 10.1103/PhysRevLett.116.061102."
        source.fail(term.value_position, f"{value!r} is not a DOI", hint)
    return intern_condition(prefix, Shape.WORD, doi)


def _read_licence(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    hyphened = "-".join(term.value.casefold().split())
    value = _LICENCE_VERSION.sub("", hyphened)
    spellings = (spell_licence(value), value, f"cc-{value}")
    name = next((spelling for spelling in spellings if spelling in LICENCES), None)
    if name is None:
        hint = f"Known: {', '.join(LICENCES)}."
        source.fail(term.value_position, f"{term.value!r} is not a licence of arXiv", hint)
    if not any(note.kind is NoteKind.LICENCE for note in source.notes):
        message = (
            'licences are known only of harvested papers (source = "harvest"), '
            "not of papers from a search"
        )
        source.note(NoteKind.LICENCE, term.position, message)
    return intern_condition(prefix, Shape.WORD, name)


def _read_range(source: QuerySource, term: TermToken, prefix: Prefix) -> Condition:
    try:
        return intern_condition(prefix, Shape.RANGE, spell_range(term.value))
    except UnreadableRange as error:
        hint = (
            "Write submittedDate:[20260301 TO 20260331]: "
            "year, month, day, and hour and minute if you like."
        )
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


_SIDE_BY_SIDE = (_read_words, _read_author)
PHRASED: frozenset[Prefix | None] = frozenset(
    (None, *(prefix for prefix, read in _READERS.items() if read in _SIDE_BY_SIDE))
)
"""What may precede words that are meant side by side, or as one name."""
