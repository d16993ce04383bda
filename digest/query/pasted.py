# ruff: noqa: RUF001 - some of these signs look like others
"""Reads what people paste or write that the language has not: addresses, rows, other signs.

    export.arxiv.org/api/query?search_query=…&id_list=…       the search interface
    arxiv.org/search/?query=…&searchtype=…                     the search page, also /search/cs
    arxiv.org/search/advanced?terms-0-term=…                   the longer search form
    arxiv.org/a/warner_s_1                                     what one author wrote
    arxiv.org/list/cs.PF/new, rss.arxiv.org/rss/cs.PF+cs.DC    listings and feeds
    arxiv.org/catchup/cs.PF/2026-08-20                         the listing of one day
    arxiv.org/abs/2603.10026                                   one paper
    search_query=…&id_list=…, query=…&searchtype=…             what follows the ? of a search
    cat:cs.AI+AND+abs:%22tail%20latency%22&start=0             what follows search_query=
    cs.AI+cs.CV, or cs.AI, cs.CV                               any of these categories

A `+` is a blank only if something shows that it comes from an address: an escape such as %22, a
parameter such as `&start=0`, or a `+` beside an operator, a date or before a prefix. So `abs:C++`
keeps its signs, and so does what is between quotation marks.

Signs of other keyboards are read as ours, and invisible signs are left out. Quotes around a query
are parentheses; around mere words they make a phrase. A row of categories means any of them,
whatever sign or blank parts them.

Names of parameters: arXiv/arxiv-search, `controllers/simple/forms.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from digest.model import taxonomy
from digest.model.errors import QueryError
from digest.query.tokens import CURLY_QUOTES, PREFIXES
from digest.query.tree import Prefix

_COMPATIBLE = (
    *range(0xFE10, 0xFE17),  # signs for columns of text
    *range(0xFE50, 0xFE6C),  # small signs
    *range(0xFF01, 0xFF5F),  # wide ASCII
    0x3000,  # a wide blank
)
_WIDE = {code: unicodedata.normalize("NFKC", chr(code)) for code in _COMPATIBLE}
_WIDE |= {0x2236: ":", 0xA789: ":", 0x3001: ",", 0x3002: ".", 0xAC: "!", 0x2212: "-"}
_WIDE |= dict.fromkeys(range(0x2010, 0x2016), "-")
"""Signs of other keyboards and of word processors -> ours. Raised and lowered ones are formulas."""
_OTHER_QUOTES = re.compile(
    rf"(\"[^\"]*\"|[{CURLY_QUOTES}][^{CURLY_QUOTES}\"]*[{CURLY_QUOTES}\"])"
    r"|(?<![\w\\])(?:``|[`'‚‘‛])((?:[^`'‚‘’‛\"]|(?<=\w)['’](?=\w))+)(?<=\S)(?:''|[`'‘’])(?!\w)"
)
"""Quotation marks of TeX, of shells and of other languages; an apostrophe within a word is none."""
_ENTITY = re.compile(r"&#?\w+;")

_NAME = (
    rf"\b(?=[A-Za-z])(?i:{'|'.join(sorted(taxonomy.ARCHIVES, key=len, reverse=True))})"
    r"(?:\.(?:[A-Za-z-]*\*|[A-Za-z-]{2,}))?(?![\w*?:]|[-.]\w|/\d)"
)
_LABEL = (
    rf"(?<![\w.:=/{CURLY_QUOTES}\"'-])(?!(?i:cat)\s*:)"
    r"(?i:cat(?:egor(?:y|ies))?|subjects?|primary)\s*(?:[:.=]|-*>)+\s*(?:cat:)?"
)
"""What may precede a category in place of `cat:`."""
_QUOTES = f"\"{CURLY_QUOTES}'`"
_ALONE = re.compile(r'("[^"]*"|\$[^$]*\$)|(?<!\w)\|+|\|+(?!\w)|\s(&&)\s')
_NO_SIGN = re.compile(rf"(?i:cat)\s*:|[\s{_QUOTES}]")
_NEGATION = re.compile(r"(?:[-!]|NOT\s+)\Z", re.IGNORECASE)
"""Before categories with blanks between them it goes with the first."""
_QUOTED_QUERY = re.compile(
    # Ti:sapphire is a crystal.
    rf"[\"{CURLY_QUOTES}][\s(!-]*(?!(?:Ti|Co|Au):\w)(?i:{'|'.join(PREFIXES)})\s*:"
)

_ADDRESS = re.compile(
    r"""
    <?(?:https?://)?
    (?:[a-z\d-]+\.)*arxiv\.org(?::\d{1,5})?/    # export.arxiv.org/
    (?P<path>[^\s?#<>]*)                        # api/query
    (?:\?(?P<query>[^#<>]*))?                   # ?search_query=all:electron
    (?:\#\S*)?>?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PART = re.compile(r"(?:[\w/]*\?)?(?P<query>(?:search_query|id_list|query)=[^#<>]*)")
_SEARCHED = frozenset(("search_query", "id_list", "query"))
"""Parameters that may have blanks which were not encoded."""

_DOI = re.compile(
    r'(?i)(?<![\w:/."])(?:doi:\s*)?(?:[\w:/.]*doi\.org/|(?=10\.48550/a))(10\.48550/arxiv\.)?'
)
"""A DOI as an address, or arXiv's own for a paper, which no record holds."""
_AUTHOR_PAGE = re.compile(r"a/([A-Za-z\-]+(?:_[A-Za-z\-]+)*_[A-Za-z]+)_\d+(?:\.\w+)?/?")
_LISTING = re.compile(r"(?:list|archive|rss|atom|year|catchup)/([A-Za-z.+-]+?)(?:/([\d/-]*).*)?")
_TERM = re.compile(r"terms-(\d+)-term")
_PAPER = re.compile(r"(?:abs|pdf|html|format)/(.+?)(?:\.pdf)?/?")
_ADVANCED = re.compile(r"search/advanced/?")
_SEARCH = re.compile(
    rf"search(?:/(?P<archives>(?:,|(?:{'|'.join(taxonomy.ARCHIVES)})(?![a-z-]))+))?/?"
)
_OTHER_SITE = re.compile(
    r"""
    <?(?:https?://)?
    (?:
        (?P<orcid>
            (?:[\w-]+\.){0,5}orcid\.org\b\S*                        # orcid.org/0000-0002-1825-0097
            | (?:arxiv\.org/a/)?(?:\d{4}-){3}\d{3}[\dX]\S*          # 0000-0002-1825-0097
        )
        | (?:[\w-]+\.){0,5}
          (?:scholar\.google|semanticscholar|inspirehep)\.[a-z.]+   # scholar.google.com/scholar
          (?:/\S*)?
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SITE_HINT = (
    'Write words instead, such as abs:"tail latency", '
    'or a name, such as author:"Josiah S. Carberry".'
)
_HINT = "Paste the address of a search, a listing, an author or a paper, or write the query itself."

_PLAIN = re.compile(r"\w[\w.*?-]*")
_PIECE = re.compile(r'"[^"]*"|[^\s"]+')
_FIELDS: Mapping[str, Prefix] = {
    "all": Prefix.ALL,
    "title": Prefix.TITLE,
    "author": Prefix.AUTHOR,
    "author_id": Prefix.AUTHOR,
    "abstract": Prefix.ABSTRACT,
    "comments": Prefix.COMMENT,
    "journal_ref": Prefix.JOURNAL_REF,
    "report_num": Prefix.REPORT_NO,
    "paper_id": Prefix.ID,
    "doi": Prefix.DOI,
    "cross_list_category": Prefix.CATEGORY,
}
"""What the search page calls a field -> ours. Classes and ORCID iDs are known to arXiv alone."""

_PHYSICS = (
    "astro-ph",
    "cond-mat",
    "gr-qc",
    "hep-ex",
    "hep-lat",
    "hep-ph",
    "hep-th",
    "math-ph",
    "nlin",
    "nucl-ex",
    "nucl-th",
    "physics",
    "quant-ph",
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
"""What the longer search form calls its subjects -> the archives each is for."""

_OPERATORS = {"OR": "OR", "NOT": "ANDNOT"}
_SAYS_NOTHING = re.compile(
    rf"""
    (?:
        advanced|abstracts|abs|size|start|skip|show|order|source|searchtype|query|search_query
        | version
        | utm_\w+
        | terms-.*
        | date-date_type
        | classification-(?:{"|".join(_SUBJECTS)}|physics_archives)
    )
    =.*
    | date-filter_by=all_dates
    | classification-include_cross_list=include
    """,
    re.VERBOSE,
)
"""Parameters of a search that are read elsewhere, or say how results are shown."""

_IN_WORDS = {"classification-include_cross_list": "that cross-lists are excluded"} | dict.fromkeys(
    ("date-filter_by", "date-year", "date-from_date", "date-to_date"), "its dates"
)
_PAGING = re.compile(
    r"(?:&(?:id_list=|(?:start|max_results|size)=\d*|(?:sortBy|sortOrder|order)=[\w-]*)){1,20}\s*\Z"
)
_ESCAPE = re.compile(r"%(?:2[\dA-F]|3[A-F]|5[BD]|[C-F][\dA-F]%[89AB][\dA-F])", re.IGNORECASE)
"""Signs of the language, and letters beyond ASCII: no text has these but one from an address."""

_PLUS = re.compile(r'("[^"]*")|\+')
_JOINING = re.compile(
    rf'"[^"]*"|(\+(?:(?:AND|OR|ANDNOT|NOT)\+|TO\+[\d*]|(?:{"|".join(Prefix)}):))', re.IGNORECASE
)
_LONGEST_SHOWN = 200
_MOST_ENCODED = 9
"""What was encoded more often is not read: each round takes as long as the whole text."""


def normalise_signs(text: str) -> str:
    """Return a text without invisible signs, and with ours for the signs of other keyboards."""
    resolved = _ENTITY.sub(lambda found: unescape(found[0]), text)
    translated = resolved.translate(_WIDE)
    return "".join([sign for sign in translated if unicodedata.category(sign) != "Cf"])


def normalise_quotes(text: str) -> str:
    """Return a text with `"` for the quotation marks of TeX, of shells and of other languages."""
    return _OTHER_QUOTES.sub(lambda found: found[1] or f'"{found[2]}"', text)


def write_out(text: str) -> str:
    """Return a text with our signs for what it has of other signs.

    `cat:(… OR …)` for a row of categories, `(…)` for a query between quotes, AND for `&&`.
    """
    patterns = _patterns()
    names = patterns.name.findall(text)
    if names and "(" in text:
        text = _write_out_titles(text, names)
    if names:
        text = patterns.label.sub("cat:", text)
    if len(names) > 1 or _QUOTED_QUERY.search(text):
        text = patterns.row_or_value.sub(_write_out, text)
    if "|" not in text and "&&" not in text:
        return text
    return _ALONE.sub(_write_out_operator, text)


def _write_out_titles(text: str, names: Iterable[str]) -> str:
    """Return a text with `cat:cs.PF` for `Performance (cs.PF)`, as arXiv prints it."""
    for name in dict.fromkeys(map(taxonomy.spell_name, names)):
        title = re.escape(taxonomy.CATEGORIES.get(name, ""))
        if title:
            text = re.sub(rf"(?i)\b{title} *\({name}\)|\b{name} *\({title}\)", f"cat:{name}", text)
    return text


def _write_out_operator(found: re.Match[str]) -> str:
    if found[1]:  # a phrase or a formula
        return found[1]
    return " AND " if found[2] else " OR "


class _Patterns(NamedTuple):
    """The patterns of a name, of a label, and of a row or a value that holds none."""

    name: re.Pattern[str]
    label: re.Pattern[str]
    row_or_value: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Return the patterns that find categories; they are compiled at first use."""
    begin = r"(?<![\w.:=/@#+'’])(?<!\w-)(?<!:\()(?:(?i:cat)\s*:\s*)?"
    one = rf"(?:(?i:cat)\s*:\s*)?(?:{_NAME}|[{_QUOTES}]\s*{_NAME}\s*[{_QUOTES}])"
    between = r"(?:\s*[,;|/\\+&•·・]+\s*(?:(?:and/or|and|or)\s+)?|\s+(?:and/or|[-*])\s+|\s+)"
    row = rf"(?P<row>{one}(?:{between}{one})+(?:\s+(?:and|or)\s+{one})?)"
    opened = rf"(?P<open>[\[{{<({_QUOTES}]\s*)?"
    closed = rf"(?(open)\s*[\]}}>){_QUOTES}])"
    tail = r"(?P<tail>\s*[,;|/\\+&.]+)?"
    quoted = rf'"[^"]*"|[{CURLY_QUOTES}][^"{CURLY_QUOTES}]*["{CURLY_QUOTES}]'
    value = rf"(?:(?<!\w)[^\W\d]+\s*:\s*)?(?<!=)=*(?:{quoted})|(?<!\w)[^\W\d]+\s*:\s*[^\s(\"]+"
    row_or_value = rf"{begin}{opened}{row}{closed}{tail}|{value}"
    return _Patterns(
        name=re.compile(_NAME),
        label=re.compile(rf"{_LABEL}(?={_NAME})"),
        row_or_value=re.compile(row_or_value),
    )


def _write_out(found: re.Match[str]) -> str:
    whole = found[0]
    row = found["row"]
    if row is None:
        return f"({write_out(whole[1:-1])})" if _QUOTED_QUERY.match(whole) else whole
    names = re.findall(_NAME, row)
    if not _is_row(found, names, re.split(_NAME, row)[1:-1]):
        return whole
    blank = " " if found["tail"] else ""
    return f"cat:({' OR '.join(names)}){blank}"


def _is_row(found: re.Match[str], names: Sequence[str], gaps: Iterable[str]) -> bool:
    """Tell whether names in a row, with gaps between them, are meant as categories."""
    are_ids = ["." in name or "-" in name for name in names]  # `math, physics` may be words
    if all(_NO_SIGN.sub("", gap) for gap in gaps):
        return any(are_ids) or ":" in found[0]
    if not all(are_ids) and found[0].count(":") != len(names):
        return False
    start = found.start()
    before = found.string[max(start - len("ANDNOT "), 0) : start]
    return _NEGATION.search(before) is None


def read_pasted(text: str) -> tuple[str, str] | None:
    """Return the query that a pasted text is for, and what was understood.

    None if the text is a query as it is.
    """
    stripped = text.strip()
    for _ in range(_MOST_ENCODED):
        if re.match(r"<?https?%", stripped, re.IGNORECASE):
            stripped = unquote(stripped)
    site = _OTHER_SITE.fullmatch(stripped)
    if site is not None:
        message = "Only addresses at arXiv are understood"
        if site["orcid"]:
            message = "arXiv does not tell ORCID iDs"
        raise QueryError(message, text=text, position=0, hint=_SITE_HINT)
    found = _ADDRESS.fullmatch(stripped) or _PART.fullmatch(stripped)
    parameters = _read_parameters(found["query"] or "") if found else None
    if found is not None and parameters is not None:
        address = _Address(text, found, parameters)
        return _describe("an address at arXiv", address.read(), address.lost)
    decoded = _DOI.sub(_write_doi, _decode(stripped))
    written = write_out(decoded)
    if written != decoded:
        is_row = "cat:(" in written
        described = "any of several categories" if is_row else "a query in other signs"
        return _describe(described, written)
    return None if decoded == stripped else _describe("a part of an address", decoded)


def _write_doi(found: re.Match[str]) -> str:
    return "id:" if found[1] else "doi:"


def _describe(described: str, query: str, lost: Sequence[str] = ()) -> tuple[str, str]:
    shown = " ".join(query.split())
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[: _LONGEST_SHOWN - 1]}…"
    not_kept = f"; not kept: {', '.join(dict.fromkeys(lost))}" if lost else ""
    return query, f"{described}, read as {shown}{not_kept}"


def _read_parameters(query: str) -> dict[str, str] | None:
    """Return the parameters of an address; None if something else is beside it."""
    if "://" in query:
        return None
    for part in query.split("&"):
        name, _, _ = part.partition("=")
        if name not in _SEARCHED and re.search(r"\s", part):
            return None
    written = [(name, value) for name, value in parse_qsl(query) if value.strip()]
    return {name: _unescape(value) for name, value in written}


def _unescape(text: str) -> str:
    """Return what a value is for that was encoded more than once, as links within links are."""
    for _ in range(_MOST_ENCODED):
        text = unquote(text) if _ESCAPE.search(text) else text
    return text


def _decode(text: str) -> str:
    """Return what a part of an address is for that was encoded more than once."""
    decoded, cuts = _PAGING.subn("", text)
    is_from_address = cuts > 0
    for _ in range(_MOST_ENCODED):
        if is_from_address or _is_encoded(decoded):
            decoded = unquote(_PLUS.sub(lambda found: found[1] or " ", decoded))
        is_from_address = False
    return decoded


def _is_encoded(text: str) -> bool:
    if _ESCAPE.search(text):
        return True
    return any(found[1] for found in _JOINING.finditer(text))


def _write_categories(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"cat:{names[0]}"
    return f"cat:({' OR '.join(names)})"


class _Address:
    """Reads one address, of which the parameters are known.

    `lost` is what the query does not keep, in words.
    """

    def __init__(self, text: str, address: re.Match[str], parameters: Mapping[str, str]) -> None:
        self._text = text
        self._parameters = parameters
        self._start = 0
        self.lost: list[str] = []
        if address.re is _ADDRESS:
            self._path = unquote(address["path"])
            self._start = max(text.find(address["path"]), 0)
        elif "query" in parameters:
            self._path = "search"
        else:
            self._path = "api/query"

    def read(self) -> str:
        path = self._path
        if path.rstrip("/") == "api/query":
            return self._read_api()
        if _ADVANCED.fullmatch(path):
            return self._read_advanced()
        if found := _SEARCH.fullmatch(path):
            return self._read_search(re.findall(r"[^,]+", found["archives"] or ""))
        if found := _AUTHOR_PAGE.fullmatch(path):
            self.lost.append("which person of this name it is")
            return f"au:{found[1]}"
        if found := _LISTING.fullmatch(path):
            if found[2]:
                self.lost.append(f"the date {found[2].strip('/')}")
            names = list(filter(None, found[1].split("+")))
            return _write_categories(names or [""])
        if found := _PAPER.fullmatch(path):
            return f'id:"{found[1]}"'
        raise self._fail("This page of arXiv is not a search", _HINT)

    def _fail(self, message: str, hint: str) -> QueryError:
        return QueryError(message, text=self._text, position=self._start, hint=hint)

    def _read_api(self) -> str:
        query = self._parameters.get("search_query", "")
        listed = re.findall(r"[^,\s]+", self._parameters.get("id_list", ""))
        ids = " OR ".join(f'id:"{id_}"' for id_ in listed)
        if query and ids:
            return f"({query}) AND ({ids})"
        if not query and not ids:
            raise self._fail("This address searches for nothing", _HINT)
        return query or ids

    def _read_search(self, archives: Sequence[str]) -> str:
        clauses = self._read_clauses("query", "searchtype")
        return self._limit(" AND ".join(clauses), archives)

    def _read_advanced(self) -> str:
        """Return the terms of the longer form. NOT binds before AND, and AND before OR, as here."""
        query = ""
        for name in self._parameters:
            found = _TERM.fullmatch(name)
            if found is not None:
                query = self._add_term(query, name, found[1])
        return self._limit(query, self._list_archives())

    def _add_term(self, query: str, name: str, number: str) -> str:
        """Return a query and a term of the longer form, joined as the form says."""
        clauses = self._read_clauses(name, f"terms-{number}-field")
        if not clauses:
            return query
        term = f"({' AND '.join(clauses)})" if len(clauses) > 1 else clauses[0]
        operator = self._parameters.get(f"terms-{number}-operator", "AND")
        if query:
            return f"{query} {_OPERATORS.get(operator, 'AND')} {term}"
        if operator == "NOT" and self.lost:
            self.lost.append(f"NOT {term}")
            return query
        return term

    def _list_archives(self) -> list[str]:
        """Return the archives that the longer form is limited to."""
        archives: list[str] = []
        for subject, known in _SUBJECTS.items():
            if f"classification-{subject}" in self._parameters:
                archives += known
        of_physics = self._parameters.get("classification-physics_archives", "")
        if of_physics not in archives:
            return archives
        others = [archive for archive in _PHYSICS if archive != of_physics]
        return [archive for archive in archives if archive not in others]

    def _read_clauses(self, query: str, field: str) -> list[str]:
        kind = self._parameters.get(field, "all")
        value = self._parameters.get(query, "")
        if kind not in _FIELDS:
            self.lost.append(f"{value} as {kind}")
            return []
        return list(_write_clauses(_FIELDS[kind], value))

    def _limit(self, query: str, archives: Sequence[str]) -> str:
        if not query and self.lost:
            said = "can't be searched for here: arXiv's interfaces do not give it"
            hint = f"Known fields: {' '.join(_FIELDS)}."
            raise self._fail(f"{self.lost[0]} {said}", hint)
        if not query and not archives:
            raise self._fail("This address searches for nothing", _HINT)
        for name, value in self._parameters.items():
            written = f"{name}={value}"
            if not _SAYS_NOTHING.fullmatch(written):
                self.lost.append(_IN_WORDS.get(name, written))
        if not archives:
            return query
        limit = _write_categories(archives)
        return f"({query}) AND {limit}" if query else limit


def _write_clauses(prefix: Prefix, value: str) -> Iterator[str]:
    """Yield what is sought in one field: several words must all occur, as on the search page."""
    if prefix in (Prefix.ID, Prefix.DOI, Prefix.CATEGORY):
        pieces = [value]
    elif prefix is Prefix.AUTHOR:
        pieces = _list_people(re.sub(r"\+|_\d+\b", " ", value))
    else:
        pieces = _PIECE.findall(value)
    for piece in pieces:
        bare = piece.replace('"', "").strip()
        if not any(map(str.isalnum, bare)):
            continue
        is_plain = bare == piece.strip() and _PLAIN.fullmatch(bare) is not None
        yield f"{prefix}:{bare}" if is_plain else f'{prefix}:"{bare}"'


def _list_people(value: str) -> list[str]:
    """Return the parts of an author search, each of which one author must have.

    See `services/index/authors.py` of arXiv's search. Without a sign between them, words may be
    different people's. Several commas, with which arXiv finds nobody, part people here.
    """
    quotes = value.count('"')
    if quotes > 0 and quotes % 2 == 0:
        return value.split('"')
    if ";" in value:
        return value.split(";")
    if value.count(",") == 1:
        return [value]
    return re.split(r"," if "," in value else r"\s+", value)
