"""Addresses of arXiv's pages and interfaces, read as the query that brings the same papers.

    export.arxiv.org/api/query?search_query=…&id_list=…       the search interface
    arxiv.org/search/?query=…&searchtype=…                     the search page, also /search/cs
    arxiv.org/search/advanced?terms-0-term=…                   its longer form
    arxiv.org/a/warner_s_1                                     what one author wrote
    arxiv.org/list/cs.PF/new, rss.arxiv.org/rss/cs.PF+cs.DC    listings and feeds
    arxiv.org/abs/2603.10026                                   one paper
    search_query=…&id_list=…, query=…&searchtype=…             what stands behind the ? of a search

Names of parameters: arXiv/arxiv-search, `controllers/simple/forms.py` and `controllers/advanced/forms.py`;
its terms bind as ours do: NOT, then AND, then OR. How many results a page has, and in which order, is no
part of a query.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from digest.model import taxonomy
from digest.model.errors import QueryError
from digest.query.tokens import WILDCARDS
from digest.query.tree import Prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


_ADDRESS = re.compile(
    r"\s*<?(?:https?://)?(?P<host>(?:[a-z\d-]+\.)?arxiv\.org|(?:dx\.)?doi\.org(?=/10\.48550/))(?::\d{1,5})?"
    r"/(?P<path>[^\s?#<>]*)"
    r"(?:\?(?P<query>[^\s#<>]*(?:[ \t]+(?!\S*://)[^\s#<>]+)*))?(?:#[^\s<>]*)?>?\s*",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\s*(?:[\w/]*\?)?(?P<path>)"
    r"(?P<query>(?:(?P<is_api>search_query|id_list)|query)=[^\s#<>]*(?:[ \t]+[^\s#<>]+)*)\s*"
)
_SPACED = re.compile(r"(?:search_query|id_list|query|terms-\d+-term)=[^&]*|[^&\s]*")
"""What may have blanks that were not encoded, as in `…?search_query=ti:"tail latency"&start=0`; or has none."""

_PARAMETER = re.compile(r"([^&=;]+)=([^&]*)")
_API = re.compile(r"api/query/?")
_ADVANCED = re.compile(r"search/advanced/?")
_ORCID_PAGE = re.compile(r"a/[\d-]+")
_AUTHOR_PAGE = re.compile(r"a/(?P<name>[A-Za-z\-]+(?:_[A-Za-z\-]+)*_[A-Za-z]+)_\d+(?:\.\w+)?/?")
_LISTING = re.compile(r"(?:list|archive|rss|atom|year)/(?P<names>[A-Za-z.+-]+?)(?:/.*)?")
_PAPER = re.compile(r"(?:(?:abs|pdf|html|format)/|10\.48550/)(?P<id>.+?)(?:\.pdf)?/?")
_SEARCH = re.compile(r"search(?:/(?P<archives>[a-z,-]+))?/?")
_TERM = re.compile(r"terms-(\d+)-term")
_PLAIN = re.compile(r"\w[\w.-]*\**")
_HINT = "Paste the address of a search, a listing, an author or a paper, or write the query itself."
_PIECE = re.compile(r'"[^"]*"|[^\s"]+')
_WILDCARD = re.compile(r"[*?]")
_WILDCARD_IN_NAME = re.compile(r"(?<!\w)\*|\*(?![\s,*]|\Z)|\?")
"""For the search pages these stand for any letters; here only a `*` at the end of a word does."""


_FIELDS: Mapping[str, Prefix] = {
    "all": Prefix.ALL,
    "title": Prefix.TITLE,
    "author": Prefix.AUTHOR,
    "abstract": Prefix.ABSTRACT,
    "comments": Prefix.COMMENT,
    "journal_ref": Prefix.JOURNAL_REF,
    "report_num": Prefix.REPORT_NO,
    "paper_id": Prefix.ID,
    "doi": Prefix.DOI,
    "cross_list_category": Prefix.CATEGORY,
}
"""What the search pages call a field -> ours. Classes, ORCID and author ids are known to arXiv alone."""

_PHYSICS = (
    "astro-ph cond-mat gr-qc hep-ex hep-lat hep-ph hep-th math-ph nlin nucl-ex nucl-th physics quant-ph".split()  # noqa: SIM905  # thirteen quoted words read worse
)
_SUBJECTS: Mapping[str, Sequence[str]] = {
    "computer_science": ["cs"],
    "economics": ["econ"],
    "eess": ["eess"],
    "mathematics": ["math"],
    "physics": _PHYSICS,
    "q_biology": ["q-bio"],
    "q_finance": ["q-fin"],
    "statistics": ["stat"],
}
"""What the longer search page calls its subjects -> the archives each stands for."""

_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}")


class _Parameter(NamedTuple):
    name: str
    value: list[Letter]
    place: int


def read_address(text: str) -> Pasted | None:
    """Return the query an address of arXiv stands for; None where the text is no such address.

    Raises:
        QueryError: it is one, but of a page that is no search, or asks for what only arXiv knows.
    """
    address = _ADDRESS.fullmatch(text) or _PART.fullmatch(text)
    is_alone = address is not None and all(map(_SPACED.fullmatch, (address["query"] or "").split("&")))
    return _Address(text, address).read() if address and is_alone else None


class _Address:
    """Reads one address."""

    def __init__(self, text: str, address: re.Match[str]) -> None:
        self._text = text
        self._path = address["path"]
        if address.re is _PART:
            self._path = "api/query" if address["is_api"] else "search"
        self._start = address.start("path")
        self._query = Composer()
        self._remarks: list[str] = []
        start, end = address.span("query")
        self._parameters = [
            _Parameter(found[1], decode_value(text, *found.span(2)), found.start(2))
            for found in (_PARAMETER.finditer(text, start, end) if start >= 0 else ())
        ]

    def read(self) -> Pasted:
        readers: Mapping[re.Pattern[str], Callable[[re.Match[str]], Pasted]] = {
            _API: self._read_api,
            _ADVANCED: self._read_advanced,
            _SEARCH: self._read_search,
            _AUTHOR_PAGE: self._read_author_page,
            _LISTING: self._read_listing,
            _PAPER: self._read_paper,
        }
        found = next(filter(None, (pattern.fullmatch(self._path) for pattern in readers)), None)
        if found is None:
            is_orcid = _ORCID_PAGE.match(self._path) is not None
            wrong = "Whose ORCID this is, arXiv alone knows" if is_orcid else "This page of arXiv's is no search"
            self._fail(self._start, wrong, 'Write author:"Keiko Lindquell".' if is_orcid else _HINT)
        return readers[found.re](found)

    def _fail(self, place: int, message: str, hint: str) -> NoReturn:
        raise QueryError(message, text=self._text, position=place, hint=hint)

    def _find(self, name: str) -> _Parameter | None:
        return next((each for each in self._parameters if each.name == name and spell(each.value).strip()), None)

    def _is_set_to(self, name: str, value: str) -> bool:
        found = self._find(name)
        return found is not None and spell(found.value) == value

    def _finish(self, described: str) -> Pasted:
        if not self._query:
            self._fail(self._start, "This address looks for nothing", _HINT)
        pasted = self._query.finish(described, len(self._text))
        return pasted._replace(message="; ".join((pasted.message, *self._remarks)))

    def _read_api(self, _: re.Match[str]) -> Pasted:
        query, ids = self._find("search_query"), self._find("id_list")
        if query:
            self._query.copy(_enclose(query.value, query.place) if ids else query.value)
        if ids:
            self._query.join("AND", ids.place)
            self._query.copy(_enclose(_list_ids(ids), ids.place) if query else _list_ids(ids))
        return self._finish("a search of arXiv's interface")

    def _read_search(self, page: re.Match[str]) -> Pasted:
        query, kind = self._find("query"), self._find("searchtype")
        if query:
            self._query.copy(self._read_value(query, kind))
        if page["archives"]:
            place = self._start + page.start("archives")
            self._limit(page["archives"].split(","), place)
        return self._finish("a search of arXiv's pages")

    def _read_advanced(self, _: re.Match[str]) -> Pasted:
        terms, count = Composer(), 0
        for name in [each.name for each in self._parameters]:
            number = _TERM.fullmatch(name)
            term = self._find(name) if number else None
            if term is None or number is None:
                continue
            count += 1
            operator = self._find(f"terms-{number[1]}-operator")
            written = spell(operator.value).strip() if operator else "AND"
            terms.join("ANDNOT" if written == "NOT" else "OR" if written == "OR" else "AND", term.place)
            terms.copy(self._read_value(term, self._find(f"terms-{number[1]}-field")))
        if terms:
            self._query.copy(_enclose(terms.letters, self._start) if count > 1 else terms.letters)
        self._limit(list(self._list_archives()), self._start)
        self._limit_dates()
        return self._finish("a search of arXiv's pages")

    def _list_archives(self) -> Iterator[str]:
        one = self._find("classification-physics_archives")
        for subject, archives in _SUBJECTS.items():
            if not self._find(f"classification-{subject}"):
                continue
            is_one = subject == "physics" and one is not None and spell(one.value) in archives
            yield from [spell(one.value)] if is_one and one else archives
        if self._is_set_to("classification-include_cross_list", "exclude"):
            self._remarks.append("cross-lists are taken, too")

    def _limit(self, archives: Sequence[str], place: int) -> None:
        known = [name for name in archives if taxonomy.is_archive(name) or taxonomy.is_category(name)]
        if known:
            self._query.join("AND", place)
            self._query.write(f"cat:({' OR '.join(known)})" if len(known) > 1 else f"cat:{known[0]}", place)

    def _limit_dates(self) -> None:
        kind = self._find("date-filter_by")
        if kind is None or self._is_set_to("date-filter_by", "all_dates"):
            return
        if self._is_set_to("date-filter_by", "past_12"):
            self._remarks.append("the last twelve months are left out, as only new papers are looked for")
            return
        start, end = (self._find(f"date-{name}") for name in ("from_date", "to_date"))
        if self._is_set_to("date-filter_by", "specific_year"):
            start = end = self._find("date-year")
        given = start or end
        if given is None:
            self._fail(kind.place, "There is no date in this address", "Fill the dates in before you copy it.")
        for each in (start, end):
            if each and not _DATE.fullmatch(spell(each.value)):
                self._fail(each.place, f"{spell(each.value)!r} is no date", "Write it like 2026-03-01.")
        ends = [spell(each.value) if each else "*" for each in (start, end)]
        self._query.join("AND", given.place)
        self._query.write(f"submittedDate:[{' TO '.join(ends)}]", given.place)
        if not self._is_set_to("date-date_type", "submitted_date_first"):
            self._remarks.append("its dates are taken for those of the first submission")

    def _read_value(self, parameter: _Parameter, kind: _Parameter | None) -> list[Letter]:
        """Return what is sought in one field; several words must all occur, as on the search pages."""
        name = spell(kind.value) if kind else "all"
        prefix = _FIELDS.get(name)
        if kind and prefix is None:
            message = f"What arXiv calls {name!r} can't be looked for here: its interfaces don't say it"
            self._fail(kind.place, message, f"Known are {' '.join(_FIELDS)}.")
        pieces = list(self._split_value(prefix or Prefix.ALL, parameter.value))
        clauses = Composer()
        for piece in pieces:
            clauses.join("AND", piece[0].place)
            clauses.write(f"{prefix or Prefix.ALL}:", piece[0].place)
            clauses.copy(piece)
        if not pieces:
            self._fail(parameter.place, "There is no word to look for", _HINT)
        return _enclose(clauses.letters, parameter.place) if len(pieces) > 1 else clauses.letters

    def _split_value(self, prefix: Prefix, value: list[Letter]) -> Iterator[list[Letter]]:
        """Yield what is sought one by one, each ready to stand behind a prefix."""
        if prefix in (Prefix.ID, Prefix.DOI, Prefix.CATEGORY):
            pattern, wildcard = re.compile(r'[^"]+'), None
        elif prefix is Prefix.AUTHOR:
            pattern, wildcard = re.compile(r'[^";]+'), _WILDCARD_IN_NAME
        else:
            pattern, wildcard = _PIECE, _WILDCARD
        for found in pattern.finditer(spell(value)):
            start, end = found.start(), found.end()
            while start < end and value[start].char.isspace():
                start += 1
            while start < end and value[end - 1].char.isspace():
                end -= 1
            piece = value[start:end]
            if not any(letter.char.isalnum() for letter in piece):
                continue
            if pattern is _PIECE and (found[0].startswith('"') or _PLAIN.fullmatch(found[0])):
                yield piece
                continue
            wild = wildcard.search(spell(piece)) if wildcard else None
            if wild:
                message = f"{wild[0]} can't stand here: {WILDCARDS}"
                self._fail(piece[wild.start()].place, message, "Look for the beginning of the word: transf*.")
            yield _quote(piece)

    def _read_author_page(self, page: re.Match[str]) -> Pasted:
        place = self._start + page.start("name")
        self._query.write("au:", place)
        self._query.copy(decode_value(self._text, place, place + len(page["name"])))
        self._remarks.append("whoever bears that name: which of them it is, arXiv alone knows")
        return self._finish("an author's page")

    def _read_listing(self, page: re.Match[str]) -> Pasted:
        start = self._start + page.start("names")
        for name in re.finditer(r"[^+]+", page["names"]):
            place = start + name.start()
            self._query.join("OR", place)
            self._query.write("cat:", place)
            self._query.copy(decode_value(self._text, place, place + len(name[0])))
        return self._finish("a listing of arXiv's")

    def _read_paper(self, page: re.Match[str]) -> Pasted:
        place = self._start + page.start("id")
        self._query.write('id:"', place)
        self._query.copy(decode_value(self._text, place, place + len(page["id"])))
        self._query.write('"', place)
        return self._finish("the page of one paper")


def _enclose(letters: Sequence[Letter], place: int) -> list[Letter]:
    return [Letter("(", place), *letters, Letter(")", letters[-1].place if letters else place)]


def _list_ids(parameter: _Parameter) -> list[Letter]:
    ids = Composer()
    for found in re.finditer(r"[^,\s]+", spell(parameter.value)):
        letters = parameter.value[found.start() : found.end()]
        ids.join("OR", letters[0].place)
        ids.write('id:"', letters[0].place)
        ids.copy(letters)
        ids.write('"', letters[-1].place)
    return ids.letters


def _quote(letters: Sequence[Letter]) -> list[Letter]:
    first, last = letters[0].place, letters[-1].place
    return [Letter('"', first), *letters, Letter('"', last)]


class Pasted(NamedTuple):
    """What was made of a pasted text.

    Attributes:
        text: the query.
        places: for each character of it, and for its end, which one of the pasted text it comes from.
        message: what was understood, in a sentence.
    """

    text: str
    places: tuple[int, ...]
    message: str


class Letter(NamedTuple):
    """One character, and where it stands in what was pasted."""

    char: str
    place: int


_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_BLANKS = re.compile(r"\s+")


def decode_value(text: str, start: int, end: int, plus: str = " ") -> list[Letter]:
    """Return the characters a part of an address stands for: `%22` is a quotation mark, `+` a blank."""
    return list(_decode(text, start, end, plus))


def _decode(text: str, start: int, end: int, plus: str) -> Iterator[Letter]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    place, begun = start, start
    while place < end:
        escaped = _ESCAPED.match(text, place, end)
        if escaped:
            begun = begun if decoder.getstate()[0] else place
            yield from (Letter(char, begun) for char in decoder.decode(bytes.fromhex(escaped[1])))
            place = escaped.end()
        else:
            yield from (Letter(char, begun) for char in decoder.decode(b"", final=True))
            decoder.reset()
            yield Letter(plus if text[place] == "+" else text[place], place)
            place += 1
    yield from (Letter(char, begun) for char in decoder.decode(b"", final=True))


def spell(letters: Iterable[Letter]) -> str:
    """Return characters as one text."""
    return "".join(letter.char for letter in letters)


class Composer:
    """Puts a query together from copied characters and from words of our own.

    Attributes:
        letters: what it has so far.
    """

    def __init__(self) -> None:
        self.letters: list[Letter] = []

    def __bool__(self) -> bool:
        return bool(self.letters)

    def write(self, text: str, place: int) -> None:
        """Add a text of our own, for what stands at a place."""
        self.letters += (Letter(char, place) for char in text)

    def copy(self, letters: Iterable[Letter]) -> None:
        """Add characters as they were pasted."""
        self.letters += letters

    def join(self, operator: str, place: int) -> None:
        """Add an operator, unless nothing stands before it."""
        if self.letters:
            self.write(f" {operator} ", place)

    def finish(self, described: str, end: int) -> Pasted:
        """Return the query; its text follows the words that say what it was made of."""
        text = spell(self.letters)
        return Pasted(
            text,
            (*(letter.place for letter in self.letters), end),
            f"{described}, read as {_shorten(_BLANKS.sub(' ', text).strip())}",
        )


_LONGEST_SHOWN = 200


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
