"""Reads the forms of libraries beside BibTeX: with tags, JSON, tables and lists of ids. Pure."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any, Final

from digest.interest.entries import Entry, fold_name, list_dois, list_ids
from digest.model.numbers import count

_RIS: Final = {
    "TI": "title",
    "T1": "title",
    "BT": "whole title",
    "AB": "abstract",
    "N2": "abstract",
    "DO": "doi",
    **dict.fromkeys(("UR", "L1", "L2", "L3", "L4", "LK", "UL"), "url"),
    **dict.fromkeys(("N1", "M1", "M2", "M3", "RN"), "notes"),
    **dict.fromkeys(("JO", "JF", "JA", "J1", "J2", "T2"), "journal"),
    **dict.fromkeys(("SP", "VL", "IS", "PB", "AN", "C1", "C7"), "pages"),
}
_PUBMED: Final = {"BTI": "whole title", "AID": "doi", "LID": "doi", "PG": "pages"}
_ENDNOTE: Final = {
    "T": "title",
    "X": "abstract",
    "R": "doi",
    **dict.fromkeys("U>F", "url"),
    **dict.fromkeys("Z1", "notes"),
    **dict.fromkeys("JMPVN@9", "pages"),
}
TAGGED: Final = (
    ("TY", r"TY[ \t]{0,2}-", r"([A-Z][A-Z0-9])[ \t]{0,2}-", _RIS),
    ("PMID", r"PMID ?- ", r"([A-Z]{2,4}) {0,2}- ", _PUBMED),
    ("PT", r"PT [A-Z]\b", r"(?!FN|VR|EF)([A-Z][A-Z0-9])(?: |$)", {"AR": "pages", "BP": "pages"}),
    ("RT", r"RT [A-Z][a-z]", r"([A-Z][A-Z0-9])(?: |$)", _RIS),
    ("0", r"%0 [A-Z]", r"%(\S)(?: |$)", _ENDNOTE),
)
"""RIS, PubMed's .nbib, Web of Science, RefWorks, and EndNote's .enw.

In RIS some programs write one blank for two. Of each: the tag with which a record begins, how that
line and how any tag looks, and what tags say that are not called as fields are. Cited references,
and comments on a paper, have tags that nobody reads.
"""

_JSON_LINES: Final = re.compile(r"\s*+\{[^\n]*\}[ \t]*\n\s*+\{")
_COMMENT: Final = re.compile(r"(?:^|\s)#")

_HOLDERS: Final = frozenset(
    (
        *("articles", "attributes", "body", "citedpaper", "citingpaper", "data", "docs"),
        *("documents", "entries", "feed", "hit", "hits", "info", "items", "message"),
        *("metadata", "paper", "papers", "publications", "recommendedpapers", "records"),
        *("response", "result", "resultlist", "results", "works"),
    )
)
"""Where databases and programs have the papers in what they answer; a paper's own references are
elsewhere."""

TABLE_START = re.compile(
    r"""
    \A(?:[^\n]*\n){0,2}?(?=[^\n{}=@]*$)
    (?=
        (?:[^\n]*[,;\t])?"?
        (?:(?:document[ ]|article[ ]|paper[ ])?title|ti|doi|url|arxiv.?id)  # "Document Title"
        "?(?:[,;\t]|$)
    )
    (?=[^,;\t\n]*([,;\t]))  # the sign between the columns
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""The lines before that which names a table's columns, and the sign between these."""


def read_tagged(first: str, tag: str, names: Mapping[str, str], text: str) -> Iterator[Entry]:
    """Yield the records of a form with tags. A line without one goes on with the line before it."""
    fields: dict[str, list[str]] = {}
    line = 1
    begun = 1
    counted = 0
    for found in re.finditer(rf"^{tag}(.*(?:\n(?!{tag}).*)*)", text, re.MULTILINE):
        name = names.get(found[1], found[1])
        if name == "ER" or (name == first and name in fields):
            yield f"line {begun}: the record", fields, ""
            fields = {}
        line += text.count("\n", counted, found.start())
        counted = found.start()
        begun = begun if fields else line
        if name != "ER":  # it ends a record
            fields.setdefault(name, []).append(found[2])
    if fields:
        yield f"line {begun}: the record", fields, ""


def read_json(text: str) -> Iterator[Entry]:
    """Yield the items of CSL-JSON, of what programs and databases write, or of lines of JSON."""
    lines = text.split("\n") if _JSON_LINES.match(text) else [text]
    items: list[Mapping[str, object]] = []
    for number, line in enumerate(lines, 1):
        try:
            items += _list_items(json.loads(line)) if line.strip() else ()
        except (ValueError, RecursionError) as error:
            yield f"the JSON from line {number} on", {}, f"is broken: {error}"
    for number, item in enumerate(items, 1):
        index = item.get(
            "abstract_inverted_index"
        )  # OpenAlex has the places of each word, in order
        words = index if isinstance(index, dict) else ()
        yield f"item {number}", {"abstract": " ".join(words), **item}, ""


def _list_items(read: object) -> Iterator[Mapping[str, object]]:
    """Yield the papers in what JSON says; of a list also what is none, to report it."""
    if isinstance(read, list):
        for one in read:
            yield from _list_items(one)
        return
    item = read if isinstance(read, dict) else {}
    held = [
        value
        for name, value in item.items()
        if fold_name(name) in _HOLDERS
        and (
            isinstance(value, list)
            or (isinstance(value, dict) and ("title" in value or "title" not in item))
        )
    ]
    if held:
        yield from _list_items(held)
    else:
        yield item


def read_table(text: str) -> Iterator[Entry]:
    """Yield the rows of a table whose first line names its columns, between , or ; or tabs."""
    head = TABLE_START.match(text)
    before = head.end() if head else 0
    sign = head[1] if head else ","
    lines_before = text.count("\n", 0, before)
    rows = csv.DictReader(StringIO(text[before:]), delimiter=sign, strict=True)
    while True:
        row: dict[Any, Any] = {}
        fault = ""
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"can't be read: {error}"
        if any(row.pop(None, ())):
            row = {}
            fault = "has more columns than the first line names"
        yield f"line {lines_before + rows.reader.line_num}: the row", row, fault


def read_lines(text: str) -> Iterator[Entry]:
    """Yield the ids, addresses and DOIs of a list that has one on most of its lines.

    # begins a comment.
    """
    lines: list[tuple[int, list[str]]] = []
    sound = 0
    for number, line in enumerate(text.split("\n"), 1):
        words = _COMMENT.split(line)[0].strip()
        if any(map(str.isalnum, words)):
            found = (str(name) for _, name in (*list_ids(words), *list_dois(words)))
            names = list(dict.fromkeys(found))
            sound += len(names) in (1, len(words.split()))
            lines.append((number, names))
    if lines and sound * 2 <= len(lines):
        share = f"{sound:,} of its {count(len(lines), 'line')}"
        yield "it", {}, f"is a text in which only {share} name one paper each, by id or address"
        return
    for number, names in lines:
        for name in names:
            yield f"line {number}", {"eprint": name, "doi": name}, ""
        if not names:
            yield f"line {number}", {}, "has no arXiv id, address or DOI"
