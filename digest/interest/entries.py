"""Makes papers of what the entries of libraries say, whichever program wrote them. Pure.

An entry has fields. Their names are folded before they are looked up: `Archive Location`, `archive_location`
and `archivelocation` are one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from urllib.parse import unquote

from digest.model.errors import UsageError
from digest.model.libraries import LibraryPaper
from digest.model.papers import ArxivId

Entry = tuple[str, Mapping[str, object], str]
"""One entry of a file: where it is, what was read of it, and what is wrong with it."""

NO_PAPERS = ("attachment", "note", "annotation")
"""Items of Zotero's that are no papers."""

_LONGEST = 20_000
"""Characters of a field that count: no abstract is longer."""

_LONGEST_TITLE = 1_000
_LONGEST_NAME = 60
_DEEPEST = 6
"""How deep a text may be in the lists and objects of a field."""

_TITLES = (
    *("title", "titles", "displayname", "documenttitle", "articletitle", "papertitle"),
    *("wholetitle", "name"),
)
_ABSTRACTS = (
    *("abstract", "abstractnote", "abstracts", "abstracttext"),
    *("summary", "descriptions"),
)
_NOTES = ("extra", "note", "notes", "howpublished", "annote", "addendum", "comment", "comments")
"""Free text. It may name other papers as well."""

_DOIS = (
    *("doi", "dois", "digitalobjectidentifier", "doilink", "externalids", "identifiers"),
    *("identifier", "ids", "url", "urls", "link", "links", "ee"),
    *_NOTES,
)
_IDS = (
    *("eprint", "eprints", "arxivid", "arxiv", "arxiveprints", "arxivnumber", "archiveid"),
    *("archivelocation", "preprint", "eprintid"),
    *_DOIS,
    *("bibcode", "pdf", "pdfurl", "urlpdf", "urlabs", "adsurl", "openaccesspdf", "arxivurl", "arxivlink"),
    *("primarylocation", "bestoalocation", "locations", "id", "number", "volume", "journal"),
    *("journaltitle", "publicationtitle", "publication", "containertitle", "journalname", "secondarytitle"),
    *("pages", "eid", "articlenumber", "publisher", "accessionnumber", "reportnumber"),
    *("bdskurl1", "bdskurl2", "localurl", "file", "fileattachments"),
)
"""Where an id may be, by how surely it is the paper's own: as programs and databases name these fields."""

_READ = frozenset((*_TITLES, "subtitle", *_ABSTRACTS, *_IDS))

_INNER = ("title", "value", "description", "text", "content")
"""Where the text is in a field that is an object, as in `{"title": …, "source": …}`."""

_OWN_WORDS = frozenset(
    "abs accepted also appear appeared archive arxiv as at available be doi e eprint eprints figures forthcoming"
    " from full http https id identifier in link location number on online org pages pdf pp preprint preprints"
    " print prints publication published review submitted tex text to under unpublished url version with www".split()
)
"""Words before an id in a note that leave it the paper's own. With "A reply to" it is another one's."""

_FOLDED = re.compile(r"[\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_CLAUSES = re.compile(r"[\n;]")
_PIECE = re.compile(r"[^\s,;<>()\[\]{}\"'|\\]+")
_WITH_ID = re.compile(r"\d{4}\.\d{4}|/\d{7}")
_ADDRESS_END = re.compile(
    r"(\d{4}\.\d{4,5}|[a-z-]{2,16}(?:\.[a-z]{2})?/\d{7})(?:v\d{1,5})?(\.pdf(?::[a-z/-]*+)?)?/?(?:[?#].*)?\Z"
)
"""How an address or a path ends that names a paper."""

_PLACES = re.compile(r"arxiv|ar5iv|alphaxiv|lanl\.gov/|/papers/\Z")
"""What says, before such an end, that this is an id of arXiv's."""

_BIBCODE = re.compile(r"\d{4}arxiv(\d{4})\.?(\d{4,5})[a-z.]")
_DOI = re.compile(
    r"(?:^|doi\.org/|\bdoi[:=]?\s{0,9})(10\.(?!48550/)\d{4,9}/[!$-;=@-z~]+(?<![.,;)]))", re.IGNORECASE
)
"""A DOI, but not arXiv's own, which says no more than the id."""

_MARKUP = re.compile(
    r"</?(?:jats:)?(?:p|i|b|em|strong|su[bp]|sc|span|div|title|italic|bold)\b[^<>]*>", re.IGNORECASE
)
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


def make_paper(entry: Mapping[str, object], collection: str = "") -> LibraryPaper | None:
    """Make a paper of the fields of an entry; None if it has no title, no id at arXiv and no DOI."""
    fields: dict[str, list[str]] = {}
    for name, value in entry.items():
        folded = fold_name(name)
        if folded in _READ:
            fields.setdefault(folded, []).extend(_list_texts(value))
    title = _clean(next(_list_fields(fields, _TITLES), ""))
    if title and (subtitle := _clean(next(_list_fields(fields, ("subtitle",)), ""))):
        title = f"{title}: {subtitle}"
    abstract = next((texts for name in _ABSTRACTS if (texts := fields.get(name))), [])
    arxiv_id = next(_find_ids(fields), None)
    doi = next(_find_dois(fields), "")
    if not (title or arxiv_id or doi):
        return None
    told = _clean(" ".join(dict.fromkeys(abstract)))
    return LibraryPaper(title[:_LONGEST_TITLE], told[:_LONGEST], arxiv_id, doi, collection)


def fold_name(name: str) -> str:
    """Return a field's name, the same however a program writes it."""
    return _FOLDED.sub("", name[:_LONGEST_NAME]).lower()


def _list_texts(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the texts in a field, however its program nests them."""
    if isinstance(value, Mapping):
        inner = [value[name] for name in _INNER if name in value]
        value = inner or list(value.values())
    if isinstance(value, list) and depth < _DEEPEST:
        for one in value:
            yield from _list_texts(one, depth + 1)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        text = str(value)[:_LONGEST]
        if text.strip():
            yield text


def _list_fields(fields: Mapping[str, list[str]], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        yield from fields.get(name, ())


def _find_ids(fields: Mapping[str, list[str]]) -> Iterator[ArxivId]:
    for name in _IDS:
        for text in fields.get(name, ()):
            for clause in _list_clauses(name, text):
                for start, id_ in list_ids(clause):
                    if name in _NOTES and not _is_own(clause[:start]):
                        break
                    yield id_


def _find_dois(fields: Mapping[str, list[str]]) -> Iterator[str]:
    for name in _DOIS:
        for text in fields.get(name, ()):
            for clause in _list_clauses(name, text):
                before, doi = find_doi(clause)
                if doi and (name not in _NOTES or _is_own(before)):
                    yield doi


def _list_clauses(name: str, text: str) -> list[str]:
    return _CLAUSES.split(_MARKUP.sub("", text)) if name in _NOTES else [text]


def _is_own(before: str) -> bool:
    """Whether what stands before an id in a note leaves it the paper's own."""
    return _OWN_WORDS.issuperset(_LETTERS.findall(before.lower()))


def list_ids(text: str) -> Iterator[tuple[int, ArxivId]]:
    """Yield the ids of arXiv that a text names, plainly, in an address or in a path, with their places."""
    for piece in _PIECE.finditer(text):
        written = piece[0].strip(".:*_`").lower()
        if id_ := _parse_id(written) or _parse_address(written):
            yield piece.start(), id_


def _parse_address(written: str) -> ArxivId | None:
    if found := _BIBCODE.search(written):
        return _parse_id(f"{found[1]}.{found[2]}")
    found = _ADDRESS_END.search(written)
    if found is None:
        return None
    before = written[: found.start()]
    is_file = found[2] and (not before or before[-1] in "/:-_ ")
    return _parse_id(found[1]) if is_file or _PLACES.search(before) else None


def _parse_id(written: str) -> ArxivId | None:
    if not _WITH_ID.search(written):
        return None
    try:
        id_ = ArxivId.parse(written)
    except UsageError:
        return None
    return id_ if id_.is_possible else None


def find_doi(text: str) -> tuple[str, str]:
    """Return what stands before the first DOI in a text, and the DOI in small letters; "" for none."""
    plain = unquote(text.replace("\\", "")).strip()
    found = _DOI.search(plain)
    return (plain[: found.start()], found[1].lower()) if found else ("", "")


def _clean(text: str) -> str:
    return " ".join(_UNSTORABLE.sub(" ", unescape(_MARKUP.sub("", text))).split())
