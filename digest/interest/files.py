"""Reads a library's file, whatever program wrote it: its content says which form it has. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import partial

from digest.interest import bibtex
from digest.interest.entries import MOST_ENTRIES, NO_PAPERS, Entry, make_paper, make_refusal
from digest.interest.forms import (
    TABLE_START,
    TAGGED,
    read_json,
    read_lines,
    read_table,
    read_tagged,
)
from digest.model.errors import ConfigurationError
from digest.model.libraries import LibraryPaper, LibraryReading

_MOST_TROUBLES = 100
_HINT = (
    "A library is BibTeX, RIS, CSL-JSON or CSV, an export of EndNote (.enw), PubMed (.nbib) or Web"
    " of Science, or a text file with an arXiv id or address on each line."
)

_PACKED = "Export the library as BibTeX or RIS: as text, and not packed."
_ANY_EXPORT = "Export the library as BibTeX, RIS or CSL-JSON."
_ADDRESSES = "Save the addresses of the papers as a text file, one on each line."
_LATEX = (
    r"(?sm)(?:.*^)?[ \t]*+"
    r"\\(?:documentclass|begin\{thebibliography|bibitem|bibdata|refsection)"
)
_REFUSED = (
    (r"%PDF-", "a PDF file", "Give a text file with the arXiv id of each paper on a line."),
    (r"PK\x03\x04", "a zip file, as those of Word and Excel are", _PACKED),
    (r"\x1f\x8b|7z\xbc\xaf|Rar!|BZh|\xfd7zXZ", "a packed file", _PACKED),
    (r"\xd0\xcf\x11\xe0", "a file of an older Word or Excel", _PACKED),
    (r"\{\\rtf", "a rich text (RTF)", _PACKED),
    (r"SQLite format 3", "a database, as Zotero and Mendeley keep one", _ANY_EXPORT),
    (
        r"\s*+(?=<)(?s:.*)<records>",
        "EndNote's XML",
        "In EndNote choose File, Export, and as output style BibTeX or RefMan (RIS).",
    ),
    (
        r"\s*+(?=<)(?s:.*)<PubmedArticle",
        "PubMed's XML",
        "In PubMed choose Save, and as format PubMed: that makes an .nbib file.",
    ),
    (
        r"\s*+(?=<)(?s:.*)<rdf:RDF",
        "RDF",
        "In Zotero choose Export, and as format BibTeX, RIS or CSL JSON.",
    ),
    (r"\s*+<!DOCTYPE NETSCAPE-Bookmark", "a list of bookmarks (HTML)", _ADDRESSES),
    (
        r"(?i)\s*+<(?:!DOCTYPE html|html|head|body)",
        "a web page (HTML)",
        f"{_ANY_EXPORT} {_ADDRESSES}",
    ),
    (r"\s*+<", "XML", _ANY_EXPORT),
    (
        _LATEX,
        "a file of LaTeX",
        "Give the BibTeX file (.bib) from which it was made.",
    ),
    (
        r"(?:---\s*+)?(?:references:|- (?:id|title|type):)",
        "YAML",
        "Export the library as CSL-JSON or BibTeX.",
    ),
)
"""What is no library, though it may hold one: how it begins, what it is, and what to do instead."""

_HEAD = 2_000
"""So many bytes say what a file is."""

_WIDE = (
    (rb"\xff\xfe|\xfe\xff", "utf-16"),
    (rb"(?:[\t-\r -~]\0){4}", "utf-16-le"),
    (rb"(?:\0[\t-\r -~]){4}", "utf-16-be"),
)
_JSON_START = re.compile(r'\A\s*+\[?\s*+\{\s*+["}]')
_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], Iterator[Entry]]], ...] = (
    (_JSON_START, read_json),
    (TABLE_START, read_table),
    (bibtex.START, bibtex.read_bibtex),
    *(
        (re.compile(f"^{line}", re.MULTILINE), partial(read_tagged, first, tag, names))
        for first, line, tag, names in TAGGED
    ),
)


def read_library(name: str, content: bytes) -> LibraryReading:
    """Read the file of a library. What is spoiled in one entry costs none of the others.

    Raise `ConfigurationError`: it is over a limit, or of another form, or no paper in it can be
    read.
    """
    try:
        return _read(content)
    except ConfigurationError as error:
        raise ConfigurationError(f"{name} {error.message}", hint=error.hint) from error


def _read(content: bytes) -> LibraryReading:
    eight_bits = _narrow(content).removeprefix(b"\xef\xbb\xbf")
    for start, form, advice in _REFUSED:
        if re.match(start, eight_bits[:_HEAD].decode("latin-1")):
            raise ConfigurationError(f"is {form}, and no library", hint=advice)
    text = "\n".join(map(_decode, eight_bits.splitlines()))
    papers: dict[LibraryPaper, None] = {}
    troubles = []
    for number, (place, fields, fault) in enumerate(_read_entries(text)):
        if number == MOST_ENTRIES:
            raise make_refusal()
        if not NO_PAPERS.isdisjoint((fields.get("itemType"), fields.get("Item Type"))):
            continue
        paper = make_paper(fields)
        if paper:
            papers[paper] = None
        if trouble := fault or ("" if paper else "has neither a title nor an id"):
            troubles.append(f"{place} {trouble}")
    if not papers:
        why = (troubles or ["it is empty"])[0]
        raise ConfigurationError(f"holds no paper: {why}", hint=_HINT)
    version = hashlib.sha256(content).hexdigest()
    return LibraryReading(tuple(papers), tuple(troubles[:_MOST_TROUBLES]), version)


def _narrow(content: bytes) -> bytes:
    """Return a text in UTF-16, with a mark or without, as UTF-8, and any other as it is."""
    for start, coding in _WIDE:
        if re.match(start, content):
            return content.decode(coding, "replace").encode()
    return content


def _decode(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:  # some programs still write as Windows did
        return line.decode("cp1252", "replace")


def _read_entries(text: str) -> Iterator[Entry]:
    """Read the form of which a sign comes first in a text; without any it is a list."""
    read: Callable[[str], Iterator[Entry]] = read_lines
    first = len(text)
    for sign, read_form in _FORMS:
        found = sign.search(text)
        if found and found.start() < first:
            first = found.start()
            read = read_form
    return read(text)
