"""Reads the forms of libraries beside BibTeX: those with tags, JSON, tables, and lists of ids. Pure."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from digest.interest.entries import NO_PAPERS, Entry, find_doi, fold_name, list_ids


@dataclass(frozen=True, slots=True)
class TaggedForm:
    """A form in which each line begins with a tag, or goes on with the line before it.

    Attributes:
        start: a line that only this form has.
        tag: how a line with a tag looks: the tag, and what it says.
        first: the tag with which a record begins.
        names: what its tags say, as `make_paper` knows it. Others say nothing of use, or name other papers.
    """

    start: re.Pattern[str]
    tag: re.Pattern[str]
    first: str
    names: Mapping[str, str]


_ENDS: Final = "ER"
"""The tag that ends a record, where a form has one."""

_COMMON: Final = {"TI": "title", "AB": "abstract"}
_RIS: Final = {
    **_COMMON,
    **{"T1": "title", "BT": "whole_title", "N2": "abstract", "DO": "doi"},
    **dict.fromkeys(("UR", "L1", "L2", "L3", "L4", "LK", "UL"), "url"),
    **dict.fromkeys(("N1", "M1", "M2", "M3", "RN"), "notes"),
    **dict.fromkeys(("JO", "JF", "JA", "J1", "J2", "T2", "SP", "VL", "IS", "PB", "AN", "C1", "C7"), "pages"),
}
_TWO_BLANKS: Final = re.compile(r"([A-Z][A-Z0-9])(?: (.*)|\Z)")

TAGGED: Final = (
    # RIS: EndNote, Mendeley, Zotero, publishers; OJS and Embase write one blank before the hyphen.
    TaggedForm(
        re.compile(r"^TY[ \t]{0,2}-", re.MULTILINE),
        re.compile(r"([A-Z][A-Z0-9])[ \t]{0,2}-(.*)"),
        "TY",
        _RIS,
    ),
    # PubMed's .nbib
    TaggedForm(
        re.compile(r"^PMID ?- ", re.MULTILINE),
        re.compile(r"([A-Z]{2,4}) {0,2}- (.*)"),
        "PMID",
        {**_COMMON, "BTI": "whole_title", "AID": "doi", "LID": "doi", "PG": "pages"},
    ),
    # Web of Science: plain text, and .ciw
    TaggedForm(
        re.compile(r"^PT [A-Z]\b", re.MULTILINE),
        _TWO_BLANKS,
        "PT",
        {**_COMMON, "DI": "doi", "AR": "pages", "BP": "pages", "UT": "accession_number"},
    ),
    # RefWorks
    TaggedForm(re.compile(r"^RT [A-Z][a-z]", re.MULTILINE), _TWO_BLANKS, "RT", _RIS),
    # EndNote's .enw, and refer
    TaggedForm(
        re.compile(r"^%0 [A-Z]", re.MULTILINE),
        re.compile(r"%([0-9A-Z@!#$&*()\[\]^~<>?+=-])(?: (.*)|\Z)"),
        "0",
        {
            **{"T": "title", "X": "abstract", "R": "doi"},
            **dict.fromkeys("U>F", "url"),
            **dict.fromkeys("Z1", "notes"),
            **dict.fromkeys("JMPVN@9", "pages"),
        },
    ),
)


def read_tagged(form: TaggedForm, text: str) -> Iterator[Entry]:
    """Yield the records of a form with tags."""
    for line, record in _cut_records(form, text):
        fields: dict[str, list[str]] = {}
        for tag, written in record:
            if name := form.names.get(tag):
                fields.setdefault(name, []).append("\n".join(map(str.strip, written)))
        if fields or form.first in map(itemgetter(0), record):
            yield f"line {line}: the record", fields, ""


def _cut_records(form: TaggedForm, text: str) -> Iterator[tuple[int, list[tuple[str, list[str]]]]]:
    """Yield for each record its line, and its tags with their lines. Tags before the first one belong to it."""
    record: list[tuple[str, list[str]]] = []
    begun = 1
    for number, line in enumerate(text.split("\n"), 1):
        found = form.tag.match(line)
        tag = found[1] if found else ""
        if tag == _ENDS or (tag == form.first and tag in map(itemgetter(0), record)):
            yield begun, record
            record = []
        if not record:
            begun = number
        if found and tag != _ENDS:
            record.append((tag, [found[2] or ""]))
        elif record:
            record[-1][1].append(line)
    yield begun, record


_HOLDERS: Final = frozenset(
    "articles attributes body citedpaper citingpaper data docs documents entries feed hit hits info items"
    " message metadata paper papers publications recommendedpapers records response result resultlist results"
    " works".split()
)
"""Where the answers of databases have their papers; those of a paper itself, its references, are not among them."""

_PAPER_NAMES: Final = frozenset(
    "arxiv arxivid displayname doi dois eprint externalids identifiers title titles url".split()
)
_DEEPEST: Final = 12


def read_json(text: str) -> Iterator[Entry]:
    """Yield the items of CSL-JSON, of what programs and databases write, or of JSON on each line."""
    try:
        read = json.loads(text)
    except RecursionError as error:
        yield "the JSON", {}, f"is broken: {error}"
        return
    except ValueError as error:
        read = [_read_json_line(line) for line in text.split("\n") if line.strip()]
        if read[0] is None:
            yield "the JSON", {}, f"is broken: {error}"
            return
    for number, item in enumerate(_list_items(read), 1):
        index = item.get("abstract_inverted_index")
        if isinstance(index, dict):
            item["abstract"] = _join_index(index)
        if item.get("itemType") not in NO_PAPERS:
            yield f"item {number}", item, ""


def _read_json_line(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _list_items(read: object, depth: int = 0) -> list[dict[str, Any]]:
    """Return the papers in what JSON says, and the objects of a list that are none, so that they are told."""
    items: list[dict[str, Any]] = []
    if isinstance(read, list) and depth < _DEEPEST:
        for one in read:
            items += _list_items(one, depth + 1)
        return items
    if not isinstance(read, dict) or depth >= _DEEPEST:
        return [{}]
    held = [value for name, value in read.items() if fold_name(name) in _HOLDERS]
    others = [] if _is_paper(read) else list(read.values())
    for values in (held, others):
        for value in values:
            some = _list_items(value, depth + 1) if isinstance(value, (dict, list)) else []
            items += some if any(map(_is_paper, some)) else []
        if items:
            return items
    return [read]


def _is_paper(item: Mapping[str, object]) -> bool:
    return not _PAPER_NAMES.isdisjoint(map(fold_name, item))


def _join_index(index: Mapping[str, object]) -> str:
    """Return an abstract that OpenAlex writes as the places of each word."""
    words: dict[int, str] = {}
    for word, places in index.items():
        if isinstance(places, list):
            words |= {place: word for place in places if isinstance(place, int)}
    return " ".join(words[place] for place in sorted(words))


_HEADED: Final = ("title", "documenttitle", "articletitle", "papertitle", "ti", "doi", "arxivid", "url")
"""A table has one of these columns at least."""

_TABLE_NAMES: Final = {"ti": "title", "ab": "abstract", "di": "doi", "ar": "pages"}
"""Columns that are called as the tags of Web of Science."""

_HEAD_LINES: Final = 3
"""The names of columns are in one of so many lines: some programs write a line before them."""


def find_table(text: str) -> tuple[int, str] | None:
    """Return the number of lines before a table's names, and the sign between its columns; None for no table."""
    head = text[:20_000].split("\n")[:_HEAD_LINES]
    for number, line in enumerate(head):
        if "{" in line or "=" in line:
            continue
        for sign in ",;\t":
            names = list(map(fold_name, line.split(sign)))
            if len(names) > 1 and not set(_HEADED).isdisjoint(names):
                return number, sign
    return None


def read_table(text: str) -> Iterator[Entry]:
    """Yield the rows of a table whose first line names its columns: CSV, or with semicolons or tabs."""
    before, sign = find_table(text) or (0, ",")
    lines = [f"{line}\n" for line in text.split("\n")[before:]]
    rows = csv.reader(lines, delimiter=sign, strict=True)
    names: list[str] = []
    while rows.line_num < len(lines):
        place = f"line {before + rows.line_num + 1}: the row"
        try:
            row = next(rows, [])
        except csv.Error as error:
            yield place, {}, f"can't be read: {error}"
            continue
        if not names:
            names = [_TABLE_NAMES.get(name, name) for name in map(fold_name, row)]
            continue
        fields = dict(zip(names, row, strict=False))
        if any(row[len(names) :]):
            yield place, {}, "has more columns than the first line names"
        elif any(row) and fields.get("itemtype") not in NO_PAPERS:
            yield place, fields, ""


def read_lines(text: str) -> Iterator[Entry]:
    """Yield the ids, addresses and DOIs of a list that has one on most of its lines; # begins a comment."""
    lines = [re.split(r"(?:^|\s)#", line)[0].strip() for line in text.split("\n")]
    named = {number: _list_names(line) for number, line in enumerate(lines, 1) if line}
    sound = sum(len(names) in (1, len(lines[number - 1].split())) for number, names in named.items())
    if sound * 2 <= len(named) and named:
        share = f"{sound:,} of its {len(named):,} lines"
        yield "it", {}, f"is a text in which only {share} name one paper each, by id or address"
        return
    for number, names in named.items():
        for name in names:
            yield f"line {number}", {"eprint": name, "doi": name}, ""
        if not names:
            yield f"line {number}", {}, "has no arXiv id, address or DOI"


def _list_names(line: str) -> list[str]:
    ids = [str(id_) for _, id_ in list_ids(line)]
    return list(dict.fromkeys(filter(None, [*ids, find_doi(line)[1]])))
