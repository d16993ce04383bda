# ruff: noqa: RUF001 - some of these signs look like others
"""Reads what people paste or write for a query that the language has not: addresses, rows, other signs.

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
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from urllib.parse import parse_qsl, unquote

from digest.model import taxonomy
from digest.model.errors import QueryError
from digest.query.tokens import CURLY_QUOTES, PREFIXES
from digest.query.tree import Prefix

_WIDE = {
    code: unicodedata.normalize("NFKC", chr(code))
    for code in (*range(0xFE10, 0xFE17), *range(0xFE50, 0xFE6C), *range(0xFF01, 0xFF5F), 0x3000)
} | {0x2236: ":", 0xA789: ":", 0x3001: ",", 0x3002: ".", 0xAC: "!", 0x2212: "-"}
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
    rf"[\"{CURLY_QUOTES}][\s(!-]*(?!(?:Ti|Co|Au):\w)(?i:{'|'.join(PREFIXES)})\s*:"  # Ti:sapphire is a crystal
)

_ADDRESS = re.compile(
    r"<?(?:https?://)?(?:[a-z\d-]+\.)*arxiv\.org(?::\d{1,5})?/(?P<path>[^\s?#<>]*)(?:\?(?P<query>[^#<>]*))?(?:#\S*)?>?",
    re.IGNORECASE,
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
    r"<?(?:https?://)?(?:(?P<orcid>(?:[\w-]+\.){0,5}orcid\.org\b\S*|(?:arxiv\.org/a/)?(?:\d{4}-){3}\d{3}[\dX]\S*)"
    r"|(?:[\w-]+\.){0,5}(?:scholar\.google|semanticscholar|inspirehep)\.[a-z.]+(?:/\S*)?)",
    re.IGNORECASE,
)
_SITE_HINT = 'Write words instead, such as abs:"tail latency", or a name, such as author:"Josiah S. Carberry".'
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
"""What the longer search form calls its subjects -> the archives each is for."""

_OPERATORS = {"OR": "OR", "NOT": "ANDNOT"}
_SAYS_NOTHING = re.compile(
    r"(?:advanced|abstracts|abs|size|start|skip|show|order|source|searchtype|query|search_query|version|utm_\w+"
    rf"|terms-.*|date-date_type|classification-(?:{'|'.join(_SUBJECTS)}|physics_archives))=.*"
    r"|date-filter_by=all_dates|classification-include_cross_list=include"
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
    """Return a text without invisible signs, and with the language's own signs for those of other keyboards."""
    text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return "".join(sign for sign in text.translate(_WIDE) if unicodedata.category(sign) != "Cf")


def normalise_quotes(text: str) -> str:
    """Return a text with `"` for the quotation marks of TeX, of shells and of other languages."""
    return _OTHER_QUOTES.sub(lambda found: found[1] or f'"{found[2]}"', text)


def write_out(text: str) -> str:
    """Return a text with `cat:(… OR …)` for a row of categories, and `(…)` for a query between quotes."""
    name_pattern, label_pattern, row_pattern = _patterns()
    names = name_pattern.findall(text)
    for name in dict.fromkeys(map(taxonomy.spell_name, names)):
        if title := re.escape(taxonomy.CATEGORIES.get(name, "")) * (
            "(" in text
        ):  # as arXiv prints it
            text = re.sub(rf"(?i)\b{title} *\({name}\)|\b{name} *\({title}\)", f"cat:{name}", text)
    if names:
        text = label_pattern.sub("cat:", text)
    if len(names) > 1 or _QUOTED_QUERY.search(text):
        text = row_pattern.sub(_write_out, text)
    if "|" not in text and "&&" not in text:
        return text
    return _ALONE.sub(lambda found: found[1] or (" AND " if found[2] else " OR "), text)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a name, a label, and a row or a value that holds none; compiled at first use."""
    one = rf"(?:(?i:cat)\s*:\s*)?(?:{_NAME}|[{_QUOTES}]\s*{_NAME}\s*[{_QUOTES}])"
    between = r"(?:\s*[,;|/\\+&•·・]+\s*(?:(?:and/or|and|or)\s+)?|\s+(?:and/or|[-*])\s+|\s+)"
    row = rf"(?P<row>{one}(?:{between}{one})+(?:\s+(?:and|or)\s+{one})?)"
    enclosed = rf"(?P<open>[\[{{<({_QUOTES}]\s*)?{row}(?(open)\s*[\]}}>){_QUOTES}])(?P<tail>\s*[,;|/\\+&.]+)?"
    begin = r"(?<![\w.:=/@#+'’])(?<!\w-)(?<!:\()(?:(?i:cat)\s*:\s*)?"
    quoted = rf'"[^"]*"|[{CURLY_QUOTES}][^"{CURLY_QUOTES}]*["{CURLY_QUOTES}]'
    value = rf"(?:(?<!\w)[^\W\d]+\s*:\s*)?(?<!=)=*(?:{quoted})|(?<!\w)[^\W\d]+\s*:\s*[^\s(\"]+"
    row_or_value = rf"{begin}{enclosed}|{value}"
    return re.compile(_NAME), re.compile(rf"{_LABEL}(?={_NAME})"), re.compile(row_or_value)


def _write_out(found: re.Match[str]) -> str:
    whole, row = found[0], found["row"]
    if row is None:
        return f"({write_out(whole[1:-1])})" if _QUOTED_QUERY.match(whole) else whole
    names = re.findall(_NAME, row)
    named = ["." in name or "-" in name for name in names]  # `math, physics` may be words
    if all(_NO_SIGN.sub("", gap) for gap in re.split(_NAME, row)[1:-1]):
        is_row = any(named) or ":" in whole
    else:
        before = found.string[max(found.start() - len("ANDNOT "), 0) : found.start()]
        is_row = (all(named) or whole.count(":") == len(names)) and not _NEGATION.search(before)
    return f"cat:({' OR '.join(names)}){' ' * bool(found['tail'])}" if is_row else whole


def read_pasted(text: str) -> tuple[str, str] | None:
    """Return the query that a pasted text is for, and what was understood.

    None if the text is a query as it is.
    """
    stripped = text.strip()
    for _ in range(_MOST_ENCODED):
        stripped = (
            unquote(stripped) if re.match(r"<?https?%", stripped, re.IGNORECASE) else stripped
        )
    if site := _OTHER_SITE.fullmatch(stripped):
        message = (
            "arXiv does not tell ORCID iDs"
            if site["orcid"]
            else "Only addresses at arXiv are understood"
        )
        raise QueryError(message, text=text, position=0, hint=_SITE_HINT)
    if found := _ADDRESS.fullmatch(stripped) or _PART.fullmatch(stripped):
        parameters = _read_parameters(found["query"] or "")
        if parameters is not None:
            address = _Address(text, found, parameters)
            return _describe("an address at arXiv", address.read(), address.lost)
    decoded = _DOI.sub(lambda found: "id:" if found[1] else "doi:", _decode(stripped))
    if (written := write_out(decoded)) != decoded:
        return _describe(
            "any of several categories" if "cat:(" in written else "a query in other signs", written
        )
    return None if decoded == stripped else _describe("a part of an address", decoded)


def _describe(described: str, query: str, lost: Sequence[str] = ()) -> tuple[str, str]:
    shown = " ".join(query.split())
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[: _LONGEST_SHOWN - 1]}…"
    not_kept = f"; not kept: {', '.join(dict.fromkeys(lost))}" if lost else ""
    return query, f"{described}, read as {shown}{not_kept}"


def _read_parameters(query: str) -> dict[str, str] | None:
    """Return the parameters of an address; None if something else is beside it."""
    parameters = {name: _unescape(value) for name, value in parse_qsl(query) if value.strip()}
    others = [part for part in query.split("&") if part.partition("=")[0] not in _SEARCHED]
    return None if "://" in query or re.search(r"\s", "&".join(others)) else parameters


def _unescape(text: str) -> str:
    """Return what a value is for that was encoded more than once, as links within links are."""
    for _ in range(_MOST_ENCODED):
        text = unquote(text) if _ESCAPE.search(text) else text
    return text


def _decode(text: str) -> str:
    """Return what a part of an address is for that was encoded more than once."""
    decoded, cuts = _PAGING.subn("", text)
    for _ in range(_MOST_ENCODED):
        if cuts or _ESCAPE.search(decoded) or any(one[1] for one in _JOINING.finditer(decoded)):
            decoded = unquote(_PLUS.sub(lambda found: found[1] or " ", decoded))
        cuts = 0
    return decoded


def _write_categories(names: Sequence[str]) -> str:
    return f"cat:({' OR '.join(names)})" if len(names) > 1 else f"cat:{names[0]}"


class _Address:
    """Reads one address, of which the parameters are known; `lost` is what the query does not keep, in words."""

    def __init__(self, text: str, address: re.Match[str], parameters: Mapping[str, str]) -> None:
        self._text = text
        self._parameters = parameters
        self.lost: list[str] = []
        if address.re is _ADDRESS:
            self._path, self._start = unquote(address["path"]), text.find(address["path"])
        else:
            self._path, self._start = ("search" if "query" in parameters else "api/query"), 0

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
            self.lost += [f"the date {found[2].strip('/')}"] if found[2] else []
            return _write_categories(list(filter(None, found[1].split("+"))) or [""])
        if found := _PAPER.fullmatch(path):
            return f'id:"{found[1]}"'
        raise self._fail("This page of arXiv is not a search", _HINT)

    def _fail(self, message: str, hint: str) -> QueryError:
        return QueryError(message, text=self._text, position=max(self._start, 0), hint=hint)

    def _read_api(self) -> str:
        query = self._parameters.get("search_query", "")
        ids = " OR ".join(
            f'id:"{id_}"' for id_ in re.findall(r"[^,\s]+", self._parameters.get("id_list", ""))
        )
        if not query and not ids:
            raise self._fail("This address searches for nothing", _HINT)
        return f"({query}) AND ({ids})" if query and ids else query or ids

    def _read_search(self, archives: Sequence[str]) -> str:
        clauses = self._read_clauses("query", "searchtype")
        return self._limit(" AND ".join(clauses), archives)

    def _read_advanced(self) -> str:
        """Return the terms of the longer form. NOT binds before AND, and AND before OR: there as here."""
        query = ""
        for name in self._parameters:
            found = _TERM.fullmatch(name)
            clauses = self._read_clauses(name, f"terms-{found[1]}-field") if found else []
            if found and clauses:
                term = f"({' AND '.join(clauses)})" if len(clauses) > 1 else clauses[0]
                written = self._parameters.get(f"terms-{found[1]}-operator", "AND")
                if written == "NOT" and not query and self.lost:
                    self.lost.append(f"NOT {term}")
                else:
                    query = f"{query} {_OPERATORS.get(written, 'AND')} {term}" if query else term
        archives = [
            archive
            for subject, known in _SUBJECTS.items()
            if f"classification-{subject}" in self._parameters
            for archive in known
        ]
        one = self._parameters.get("classification-physics_archives", "")
        if one in archives:
            archives = [
                archive for archive in archives if archive not in _PHYSICS or archive == one
            ]
        return self._limit(query, archives)

    def _read_clauses(self, query: str, field: str) -> list[str]:
        kind = self._parameters.get(field, "all")
        if kind not in _FIELDS:
            self.lost.append(f"{self._parameters.get(query, '')} as {kind}")
            return []
        return list(_write_clauses(_FIELDS[kind], self._parameters.get(query, "")))

    def _limit(self, query: str, archives: Sequence[str]) -> str:
        if not query and self.lost:
            message = (
                f"{self.lost[0]} can't be searched for here: arXiv's interfaces do not give it"
            )
            raise self._fail(message, f"Known fields: {' '.join(_FIELDS)}.")
        if not query and not archives:
            raise self._fail("This address searches for nothing", _HINT)
        for name, value in self._parameters.items():
            if not _SAYS_NOTHING.fullmatch(f"{name}={value}"):
                self.lost.append(_IN_WORDS.get(name) or f"{name}={value}")
        limit = _write_categories(archives) if archives else ""
        return f"({query}) AND {limit}" if query and limit else query or limit


def _write_clauses(prefix: Prefix, value: str) -> Iterator[str]:
    """Yield what is sought in one field: several words must all occur, as on the search page."""
    if prefix in (Prefix.ID, Prefix.DOI, Prefix.CATEGORY):
        pieces = [value]
    else:
        pieces = (
            _list_people(re.sub(r"\+|_\d+\b", " ", value))
            if prefix is Prefix.AUTHOR
            else _PIECE.findall(value)
        )
    for piece in pieces:
        bare = piece.replace('"', "").strip()
        if any(map(str.isalnum, bare)):
            is_plain = bare == piece.strip() and _PLAIN.fullmatch(bare)
            yield f"{prefix}:{bare}" if is_plain else f'{prefix}:"{bare}"'


def _list_people(value: str) -> list[str]:
    """Return the parts of an author search, each of which one author must have (`services/index/authors.py`).

    Without a sign between them, words may be different people's. Several commas, with which arXiv
    finds nobody, part people here.
    """
    if value.count('"') and value.count('"') % 2 == 0:
        return value.split('"')
    if ";" in value:
        return value.split(";")
    return [value] if value.count(",") == 1 else re.split(r"," if "," in value else r"\s+", value)
