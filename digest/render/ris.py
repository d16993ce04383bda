"""Papers as RIS, in plain Unicode, lines ended by CR LF.

The tags are those of Research Information Systems' specification, which EndNote, Mendeley and Citavi read. It
has no type for preprints: `UNPB`, unpublished work, is its nearest, and JabRef's too (JabRef/jabref, RisImporter).
Zotero reads no such type from RIS, and takes it for an article (zotero/translators, RIS.js); from BibTeX it
makes a preprint. `*` must not stand in names and keywords, and no tag may begin a line by chance: every value
is one line with single blanks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.render.cleaning import clean_text
from digest.render.marking import show_plain
from digest.render.references import drop_repeated, find_doi, make_key, write_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from digest.papers import Paper
    from digest.render.references import WrittenName

MEDIA_TYPE = "application/x-research-info-systems; charset=utf-8"


def write_ris(papers: Iterable[Paper], *, with_abstracts: bool = False) -> str:
    """Return papers as the text of a `.ris` file, in the order given; "" for none."""
    lines = (
        line for paper in drop_repeated(papers) for line in _write_paper(paper, with_abstracts=with_abstracts)
    )
    return "".join(f"{line}\r\n" for line in lines)


def _write_paper(paper: Paper, *, with_abstracts: bool) -> Iterator[str]:
    yield "TY  - UNPB"
    for tag, value in _list_values(paper, with_abstracts=with_abstracts):
        if value:
            yield f"{tag}  - {value}"
    yield "ER  - "


def _list_values(paper: Paper, *, with_abstracts: bool) -> Iterator[tuple[str, str]]:
    yield "ID", make_key(paper)
    yield "TI", show_plain(paper.title)
    for name in write_names(paper.authors):
        yield "AU", _write_name(name)
    yield "PY", str(paper.published.year)
    yield "DA", f"{paper.published:%Y/%m/%d}/"
    yield "PB", "arXiv"
    yield "AN", f"arXiv:{paper.id}"
    yield "DO", find_doi(paper)
    yield "UR", paper.url
    for category in paper.categories:
        yield "KW", clean_text(category).replace("*", "")
    yield "N1", "; ".join(_list_notes(paper))
    if with_abstracts:
        yield "AB", show_plain(paper.abstract)


def _list_notes(paper: Paper) -> Iterator[str]:
    yield f"version {paper.version}" + (", withdrawn" if paper.is_withdrawn else "")
    if paper.journal_ref:
        yield show_plain(paper.journal_ref)


def _write_name(name: WrittenName) -> str:
    """Return `Last, First, Jr.`; a group's name has no commas, which would cut it."""
    if name.is_group or not name.given:
        whole = " ".join(part for part in (name.given, name.last, name.generation) if part)
        return clean_text(whole.replace(",", " ").replace("*", ""))
    parts = (name.last, name.given, name.generation)
    return ", ".join(part.replace("*", "").replace(",", " ") for part in parts if part)
