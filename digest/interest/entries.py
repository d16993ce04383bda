"""Makes papers of what the entries of libraries say, whichever program wrote them. Pure.

An entry has fields. Their names are folded before they are looked up: how a program writes small
letters, blanks and hyphens in them makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from typing import TypeVar
from urllib.parse import unquote

from digest.model.errors import ConfigurationError
from digest.model.libraries import LibraryPaper
from digest.model.papers import ArxivId

Entry = tuple[str, Mapping[str, object], str]
"""One entry of a file: where it is, what was read of it, and what is wrong with it."""

Named = TypeVar("Named")

NO_PAPERS = frozenset(("annotation", "attachment", "note"))
"""Items of Zotero's that are no papers."""

MOST_ENTRIES = 20_000
"""Entries a file may have; macros of BibTeX count, too."""

_LONGEST = 20_000
"""Characters of a field that count: no abstract is longer."""

_LONGEST_TITLE = 1_000
_TITLES = (
    *("title", "titles", "displayname", "documenttitle", "articletitle", "papertitle"),
    *("ti", "wholetitle", "titel", "titre", "titolo", "título", "name"),
)
_ABSTRACTS = (
    *("abstract", "abstractnote", "abstracts", "abstracttext", "ab"),
    *("summary", "descriptions"),
)
_DOIS = (
    *("doi", "dois", "di", "digitalobjectidentifier", "doilink", "externalids", "identifiers"),
    *("identifier", "ids", "url", "urls", "link", "links", "ee"),
    *("extra", "note", "notes", "howpublished", "annote", "addendum", "comment", "comments"),
)
_IDS = (
    *("eprint", "eprints", "arxivid", "arxiv", "arxiveprints", "arxivnumber", "archiveid"),
    *("archivelocation", "preprint", "eprintid"),
    *_DOIS,
    *("bibcode", "pdf", "pdfurl", "urlpdf", "urlabs", "adsurl", "openaccesspdf", "arxivurl"),
    *("primarylocation", "bestoalocation", "locations", "id", "number", "volume", "journal"),
    *("journaltitle", "publicationtitle", "publication", "containertitle", "journalname"),
    *("secondarytitle", "pages", "eid", "articlenumber", "publisher", "accessionnumber"),
    *("reportnumber", "arxivlink", "bdskurl1", "bdskurl2", "localurl", "file", "fileattachments"),
)
"""Where an id may be, by how surely it is the paper's own: as programs and databases name these
fields."""

_INNER = ("title", "value", "description", "text", "content")
"""Where the text is in a field that is an object, as in `{"title": …, "source": …}`."""

_OWN_WORDS = frozenset(
    (
        *("abs", "accepted", "also", "appear", "appeared", "archive", "arxiv", "as", "at"),
        *("available", "be", "doi", "e", "eprint", "eprints", "figures", "forthcoming", "from"),
        *("full", "http", "https", "id", "identifier", "in", "link", "location", "number"),
        *("on", "online", "org", "pages", "pdf", "pp", "preprint", "preprints", "print"),
        *("prints", "publication", "published", "review", "submitted", "tex", "text", "to"),
        *("under", "unpublished", "url", "version", "with", "www"),
    )
)
"""Words before an id that leave it the paper's own. With "A reply to" it is another one's."""

_FOLDED = re.compile(r"[\W_]++")
_LETTERS = re.compile(r"[^\W\d_]++")
_CLAUSES = re.compile(r"[\n;]")
_BIBCODE = re.compile(r"\d{4}arxiv(\d{4})\.?(\d{4,5})[a-z.]", re.IGNORECASE)
"""How ADS names a paper of arXiv's: 2021arXiv210100001B."""

_ID = re.compile(
    r"""
    (?:
        (?:^|(?<=[\s,;<>()\[\]{}"'|\\*`:]))(?:abs/|arxiv[:.]\s?)?  # arXiv: 2101.00001
        |(?:arxiv|ar5iv|alphaxiv|lanl\.gov|(?=/papers/))  # https://arxiv.org/abs/2101.00001
        [^\s,;<>()\[\]{}"'|\\?]{0,60}?[/:.]
        |[/_-](?=\d{4}\.\d{4,5}(?:v\d{1,5})?\.pdf)  # papers/2101.00001.pdf
    )
    (
        \d\d(?:0[1-9]|1[0-2])\.\d{4,5}  # 2101.00001
        |[a-z]{2,8}(?:-[a-z]{2,4})?(?:\.[a-z-]{2,8})?/\d\d(?:0[1-9]|1[0-2])\d{3}  # hep-th/9901001
    )
    (?:v\d{1,5})?(?!\w|[.-]\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""An id: alone, or in an address that says that it is one of arXiv's, or as the name of a PDF
file."""

_DOI = re.compile(
    r"(?:^|doi\.org/|\bdoi[:=]?\s{0,9})(10\.(?!48550/)\d{4,9}/[!$-;=@-z~]+(?<![.,;)]))",
    re.IGNORECASE,
)
"""A DOI, but not arXiv's own, which says no more than the id."""

_MARKUP = re.compile(
    r"</?(?:jats:)?(?:p|i|b|em|strong|su[bp]|sc|span|div|title|italic|bold)\b[^<>]*>", re.IGNORECASE
)
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


def make_refusal() -> ConfigurationError:
    """Return the error of a file with more than `MOST_ENTRIES`."""
    hint = "Export the papers that matter most, such as those of one collection."
    return ConfigurationError(f"has more than {MOST_ENTRIES:,} entries", hint=hint)


def make_paper(entry: Mapping[str, object], collection: str = "") -> LibraryPaper | None:
    """Make a paper of the fields of an entry; None if it has no title, no arXiv id and no DOI."""
    fields = {fold_name(name): list(_list_texts(value)) for name, value in entry.items()}
    titles = _find_field(fields, _TITLES)
    subtitles = _find_field(fields, ("subtitle",))
    parts = [_clean(text) for text in (*titles[:1], *subtitles[:1])]
    title = ": ".join([part for part in parts if part])
    abstracts = dict.fromkeys(_find_field(fields, _ABSTRACTS))
    told = _clean(" ".join(abstracts))
    arxiv_id = next(_find_own(fields, _IDS, list_ids), None)
    doi = next(_find_own(fields, _DOIS, list_dois), "")
    if not (title or arxiv_id or doi):
        return None
    return LibraryPaper(title[:_LONGEST_TITLE], told, arxiv_id, doi, collection)


def _find_field(fields: Mapping[str, list[str]], names: Iterable[str]) -> list[str]:
    """Return the texts of the first of some fields that has any."""
    for name in names:
        if fields.get(name):
            return fields[name]
    return []


def fold_name(name: object) -> str:
    """Return a field's name, the same however a program writes it."""
    return _FOLDED.sub("", str(name)[:60]).lower()


def _list_texts(value: object) -> Iterator[str]:
    """Yield the texts in a field, however its program nests them."""
    if isinstance(value, Mapping):
        inner = [value[name] for name in _INNER if name in value]
        value = inner or list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _list_texts(one)
    elif value:
        yield str(value)[:_LONGEST]


def _find_own(
    fields: Mapping[str, list[str]],
    names: Iterable[str],
    list_named: Callable[[str], Iterator[tuple[re.Match[str], Named]]],
) -> Iterator[Named]:
    """Yield what an entry calls itself, and not what a note says of other papers."""
    for name in names:
        for text in fields.get(name, ()):
            for clause in _CLAUSES.split(_MARKUP.sub("", text)):
                named = next(list_named(clause), None)  # what comes later is another paper's
                if named and _is_own(named[0]):
                    yield named[1]


def _is_own(found: re.Match[str]) -> bool:
    """Whether the words before a name leave it the paper's own."""
    before = found.string[: found.start()].rpartition(" ")[0]
    return _OWN_WORDS.issuperset(_LETTERS.findall(before.lower()))


def list_ids(text: str) -> Iterator[tuple[re.Match[str], ArxivId]]:
    """Yield the ids of arXiv's in a text, plain or in an address or a path, and where they are."""
    with_ids = _BIBCODE.sub(r"arxiv:\1.\2 ", text)
    for found in _ID.finditer(with_ids):
        id_ = ArxivId.parse(found[1].lower())
        if id_.is_possible:
            yield found, id_


def list_dois(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the DOIs in a text, in small letters, and where they are."""
    plain = unquote(text.replace("\\", "")).strip()
    for found in _DOI.finditer(plain):
        yield found, found[1].lower()


def _clean(text: str) -> str:
    plain = unescape(_MARKUP.sub("", text))
    return " ".join(_UNSTORABLE.sub(" ", plain).split())
