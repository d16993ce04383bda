"""Reads a library's file, whatever program wrote it: its content says which form it has. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import partial

from digest.interest import bibtex
from digest.interest.entries import Entry, make_paper
from digest.interest.forms import TAGGED, find_table, read_json, read_lines, read_table, read_tagged
from digest.model.errors import ConfigurationError
from digest.model.libraries import LibraryPaper, LibraryReading

MOST_ENTRIES = 20_000
_MOST_TROUBLES = 100
_HINT = (
    "A library is BibTeX, RIS, CSL-JSON or CSV, an export of EndNote (.enw), PubMed (.nbib) or Web of Science,"
    " or a text file with an arXiv id or address on each line."
)

_PACKED = "Export the library as BibTeX or RIS: as text, and not packed."
_ANY_EXPORT = "Export the library as BibTeX, RIS or CSL-JSON."
_ADDRESSES = "Save the addresses of the papers as a text file, one on each line."
_REFUSED = (
    (r"%PDF-", "a PDF file", "Give a text file with the arXiv id of each paper on a line."),
    (r"PK\x03\x04", "a zip file, as those of Word and Excel are", _PACKED),
    (r"\x1f\x8b|7z\xbc\xaf|Rar!|BZh|\xfd7zXZ", "a packed file", _PACKED),
    (r"\xd0\xcf\x11\xe0", "a file of an older Word or Excel", _PACKED),
    (r"\{\\rtf", "a rich text (RTF)", _PACKED),
    (r"SQLite format 3", "a database, as Zotero and Mendeley keep one", _ANY_EXPORT),
    (
        r"\s*+<(?s:.*)<records>",
        "EndNote's XML",
        "In EndNote choose File, Export, and as output style BibTeX or RefMan (RIS).",
    ),
    (
        r"\s*+<(?s:.*)<PubmedArticle",
        "PubMed's XML",
        "In PubMed choose Save, and as format PubMed: that makes an .nbib file.",
    ),
    (r"\s*+<(?s:.*)<rdf:RDF", "RDF", "In Zotero choose Export, and as format BibTeX, RIS or CSL JSON."),
    (r"\s*+<!DOCTYPE NETSCAPE-Bookmark", "a list of bookmarks (HTML)", _ADDRESSES),
    (r"(?i)\s*+<(?:!DOCTYPE html|html|head|body)", "a web page (HTML)", f"{_ANY_EXPORT} {_ADDRESSES}"),
    (r"\s*+<", "XML", _ANY_EXPORT),
    (
        r"(?sm)(?:.*^)?[ \t]*+\\(?:documentclass|begin\{thebibliography|bibitem|bibdata|refsection)",
        "a file of LaTeX",
        "Give the BibTeX file (.bib) from which it was made.",
    ),
    (r"(?:---\s*+)?(?:references:|- (?:id|title|type):)", "YAML", "Export the library as CSL-JSON or BibTeX."),
)
"""What is no library, though it may hold one: how it begins, what it is, and what to do instead."""

_HEAD = 2_000
"""So many bytes say what a file is."""

_JSON_START = re.compile(r'\A\s*+\[?\s*+\{\s*+["}]')
_FORMS = (
    (bibtex.START, bibtex.read_bibtex),
    *((form.start, partial(read_tagged, form)) for form in TAGGED),
)


def read_library(name: str, content: bytes) -> LibraryReading:
    """Read the file of a library. What is spoiled in one entry costs none of the others.

    Raise `ConfigurationError`: it is over a limit, or of another form, or no paper in it can be read.
    """
    eight_bits = _narrow(content).removeprefix(b"\xef\xbb\xbf")
    for head in (content[:_HEAD].decode("latin-1"), eight_bits[:_HEAD].decode("latin-1")):
        for start, form, advice in _REFUSED:
            if re.match(start, head):
                raise ConfigurationError(f"{name} is {form}, and no library", hint=advice)
    text = "\n".join(map(_decode, eight_bits.splitlines()))
    papers: dict[LibraryPaper, None] = {}
    troubles = []
    for number, (place, fields, fault) in enumerate(_read_entries(name, text)):
        if number == MOST_ENTRIES:
            raise ConfigurationError(
                f"{name} has more than {MOST_ENTRIES:,} entries",
                hint="Export the papers that matter most, such as those of one collection.",
            )
        paper = make_paper(fields)
        if paper:
            papers[paper] = None
        if trouble := fault or ("" if paper else "has neither a title nor an id"):
            troubles.append(f"{place} {trouble}")
    if not papers:
        why = (troubles or ["it is empty"])[0]
        raise ConfigurationError(f"{name} holds no paper: {why}", hint=_HINT)
    version = hashlib.sha256(content).hexdigest()
    return LibraryReading(tuple(papers), tuple(troubles[:_MOST_TROUBLES]), version)


def _narrow(content: bytes) -> bytes:
    """Return a text in UTF-16, with a mark or without, as UTF-8, and any other as it is."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace").encode()
    zeros = [content[first:_HEAD:2].count(0) for first in (0, 1)]
    if max(zeros) <= 3 * min(zeros) or max(zeros) * 4 < len(content[:_HEAD]):
        return content
    return content.decode("utf-16-be" if zeros[0] > zeros[1] else "utf-16-le", "replace").encode()


def _decode(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:  # some programs still write as Windows did
        return line.decode("cp1252", "replace")


def _read_entries(name: str, text: str) -> Iterator[Entry]:
    try:
        yield from _choose_form(text)(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{name} is too long: {error.message}", hint=error.hint) from error


def _choose_form(text: str) -> Callable[[str], Iterator[Entry]]:
    if _JSON_START.match(text):
        return read_json
    if find_table(text):
        return read_table
    starts = {found.start(): read for start, read in _FORMS if (found := start.search(text))}
    return starts[min(starts)] if starts else read_lines
