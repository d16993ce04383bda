"""Reads a library's file: BibTeX, RIS, CSL-JSON, or lines of ids and addresses; its content says which. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any
from urllib.parse import unquote

from digest.model.errors import ConfigurationError, UsageError
from digest.model.libraries import LibraryPaper, LibraryReading
from digest.model.papers import ArxivId

_LARGEST = 50_000_000
_MOST_TROUBLES = 100
_HINT = "A library is BibTeX, RIS, CSL-JSON, or a text file with an arXiv id or address on each line."

_JSON_START = re.compile(r'\A\s*\[?\s*\{\s*["}]')
_RIS_START = re.compile(r"^TY {1,2}-", re.MULTILINE)
_BIBTEX_START = re.compile(
    r"(?:^|(?<=[})]))[ \t]*@[ \t]*(\w+)(?:\s*([{(])(?:([^,={}\"\n]*)(?:,|(?=\})))?"
    r"|([^,={}()\"\n]*),(?=\s*[\w-]+\s*=))",
    re.MULTILINE,
)
"""An entry begins a line, or follows at once on the brace that ends another; its key or brace may be missing."""
_FIELD_START = re.compile(r"^\s*,?\s*[\w-]+\s*=", re.MULTILINE)

_DOIS = ("doi", "url", "urls", "extra", "note", "notes", "howpublished")
_IDS = (
    *("eprint", "arxivid", "arxiv", "archiveid", "archive_location", "archivelocation"),
    *(
        *_DOIS,
        "number",
        "volume",
        "journal",
        "journaltitle",
        "publicationtitle",
        "container-title",
        "journal_name",
    ),
    *("secondary_title", "pages", "eid", "publisher", "accession_number"),
)
"""Where an id may be, by how surely it is the paper's own: as BibTeX, RIS, CSL and Zotero name these fields."""

_PARTING = re.compile(r"[\s,;<>()\[\]{}\"'|\\]+")
_DOI = re.compile(r"(?:^|doi\.org/|\bdoi[:=]?\s*)(10\.(?!48550/)\d{4,9}/[!$-;=@-z~]+(?<![.,;)]))", re.IGNORECASE)
"""A DOI, but not arXiv's own, which says no more than the id."""

_BRACES = re.compile(
    r"(\$[^$]*\$|\{\\[a-z]+[^{}]*\}|(?:\\[a-z]+\s*|[_^])(?:\{(?:[^{}]|\{[^{}]*\})*\})*|\\.)|[{}]", re.IGNORECASE
)
"""The braces of BibTeX that only keep capitals, as in {B}ayesian; what is TeX is in the group, and stays."""

_MARKUP = re.compile(r"</?(?:jats:)?(?:p|i|b|em|strong|su[bp]|sc|span|title|italic|bold)\b[^<>]*>", re.IGNORECASE)
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


Entry = tuple[str, Mapping[str, object], str]
"""One entry of a file: where it is, what was read of it, and what is wrong with it."""


def read_library(name: str, content: bytes) -> LibraryReading:
    """Read the file of a library. What is spoiled in one entry costs none of the others.

    Raise `ConfigurationError`: it is too large, or no paper in it can be read.
    """
    if len(content) > _LARGEST:
        raise ConfigurationError(f"{name} has more than {_LARGEST // 1_000_000} MB", hint=_HINT)
    is_wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    eight_bits = content.decode("utf-16", "replace").encode() if is_wide else content.removeprefix(b"\xef\xbb\xbf")
    text = "\n".join(map(_decode, eight_bits.splitlines()))
    papers: dict[LibraryPaper, None] = {}
    troubles = []
    for place, fields, fault in _read_entries(text):
        paper = make_paper(fields)
        if paper:
            papers[paper] = None
        if trouble := fault or ("" if paper else "has neither a title nor an id"):
            troubles.append(f"{place} {trouble}")
    if not papers:
        raise ConfigurationError(f"{name} holds no paper: {(troubles or ['it is empty'])[0]}", hint=_HINT)
    return LibraryReading(tuple(papers), tuple(troubles[:_MOST_TROUBLES]), hashlib.sha256(content).hexdigest())


def _decode(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:  # some programs still write as Windows did
        return line.decode("cp1252", "replace")


def _read_entries(text: str) -> Iterator[Entry]:
    if text.lstrip().startswith("<"):
        return iter([("it", {}, "is a web page or other XML")])
    forms = {_JSON_START: _read_json, _RIS_START: _read_ris, _BIBTEX_START: _read_bibtex}
    return next((read for start, read in forms.items() if start.search(text)), _read_lines)(text)


def _cut(text: str, start: re.Pattern[str]) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield each start's line, its parts, and what follows: an entry without an end costs no other."""
    found = list(start.finditer(text))
    line, counted = 1, 0
    for one, end in zip(found, [*(other.start() for other in found[1:]), len(text)], strict=True):
        line += text.count("\n", counted, one.start())
        counted = one.start()
        yield line, one.groups(""), text[one.end() : end]


def _read_bibtex(text: str) -> Iterator[Entry]:
    from pybtex.database.input import bibtex  # noqa: PLC0415 - most commands read no library
    from pybtex.utils import CaseInsensitiveDict  # noqa: PLC0415 - as above

    macros = CaseInsensitiveDict(bibtex.month_names)
    for line, (kind, opening, key, bare), rest in _cut(text, _BIBTEX_START):
        faults: list[Exception] = []
        body = f"@{kind}{opening or '{'}{rest}"
        parser = bibtex.LowLevelParser(body, keyless_entries=True, macros=macros, handle_error=faults.append)
        nothing: tuple[str, Any] = ("comment", ())
        name, read = next(iter(parser), nothing)
        if name.lower() not in ("comment", "preamble", "string"):
            is_sound = all(isinstance(fault, bibtex.UndefinedMacro) for fault in faults)
            is_whole = is_sound and not _FIELD_START.search(body[parser.pos :])
            fault = f"has a brace, a quote or a comma too many or too few by line {line + parser.lineno - 1}"
            fields = {field: _BRACES.sub(r"\1", "".join(parts)) for field, parts in read[1]}
            fault = ("" if is_whole else fault) if opening else "has no { before its key"
            yield f"line {line}: the entry {(key if opening else kind + bare).strip()}".rstrip(), fields, fault


def _read_ris(text: str) -> Iterator[Entry]:
    import rispy  # noqa: PLC0415 - most commands read no library

    for line, _, rest in _cut(text, _RIS_START):
        try:
            read, fault = rispy.loads(f"TY  -{rest}\nER  - ")[0], ""
        except Exception as error:  # noqa: BLE001 - whatever one record makes its reader raise costs no other
            read, fault = {}, f"can't be read ({type(error).__name__})"
        yield f"line {line}: the record", read, fault


def _read_json(text: str) -> Iterator[Entry]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield "the JSON", {}, f"is broken: {error}"
        return
    items = read.get("items", [read]) if isinstance(read, dict) else read
    for number, item in enumerate(items if isinstance(items, list) else (), 1):
        yield f"item {number}", item if isinstance(item, dict) else {}, ""


def _read_lines(text: str) -> Iterator[Entry]:
    for number, written in enumerate(text.split("\n"), 1):
        words = re.split(r"(?:^|\s)#", written)[0].strip()
        named = [*map(str, _find_ids(words)), _find_doi(words)]
        yield from ((f"line {number}", {"eprint": name, "doi": name}, "") for name in filter(None, named))
        if words and not any(named):
            yield f"line {number}", {}, "has no arXiv id, address or DOI"


def make_paper(entry: Mapping[str, object], collection: str = "") -> LibraryPaper | None:
    """Make a paper of the fields of an entry; None if it has no title, no id at arXiv and no DOI."""
    joined = {
        name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in entry.items()
    }
    fields = {name.lower(): str(value or "") for name, value in joined.items()}
    title = _clean(fields.get("title") or fields.get("primary_title", ""))
    abstract = _clean(fields.get("abstract") or fields.get("abstractnote") or fields.get("notes_abstract", ""))
    arxiv_id = next((id_ for name in _IDS for id_ in _find_ids(fields.get(name, ""))), None)
    doi = next((doi for name in _DOIS if (doi := _find_doi(fields.get(name, "")))), "")
    return LibraryPaper(title, abstract, arxiv_id, doi, collection) if title or arxiv_id or doi else None


def _find_ids(text: str) -> Iterator[ArxivId]:
    for piece in _PARTING.split(text):
        try:
            id_ = ArxivId.parse(piece.strip(".:").lower())
        except UsageError:
            continue
        if id_.is_possible:
            yield id_


def _find_doi(text: str) -> str:
    found = _DOI.search(unquote(text.replace("\\", "")).strip())
    return found[1].lower() if found else ""


def _clean(text: str) -> str:
    return " ".join(_UNSTORABLE.sub(" ", unescape(_MARKUP.sub("", text))).split())
