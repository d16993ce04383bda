"""Where our reading of a search page differs from arxiv.py's, but for what is listed in `tests.bench.parsing`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from digest.arxiv.atom import parse_atom

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arxiv import Result

    from digest.model.papers import Paper

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_ARXIV_CATEGORY = re.compile(r"[a-z]+(-[a-z]+)?(\.[A-Za-z]+(-[A-Za-z]+)?)?")


def _line(text: str | None) -> str:
    return " ".join(unicodedata.normalize("NFC", _CONTROL.sub("", text or "")).split())


def _name(text: str) -> str:
    return _line(text).replace(". -", ".-").removeprefix("and ")


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _read_peer(result: Result) -> dict[str, object]:
    """Return a peer's object in our words, with the normalisations and nothing else."""
    terms = (term.strip() for term in (result.primary_category, *result.categories))
    people = ((_name(author.name), author.affiliation) for author in result.authors)
    return {
        "id and version": result.entry_id.rpartition("/abs/")[2],
        "title": _line(result.title),
        "abstract": _line(result.summary),
        "authors": tuple((name, _unique(map(_line, places))) for name, places in people if name),
        "categories": _unique(term for term in terms if _ARXIV_CATEGORY.fullmatch(term)),
        "published": result.published,
        "updated": result.updated,
        "comment": _line(result.comment),
        "journal_ref": _line(result.journal_ref),
        "first DOI": _unique(part.strip(";,") for part in (result.doi or "").split())[:1],
    }


def _read_ours(paper: Paper) -> dict[str, object]:
    return {
        "id and version": f"{paper.id}v{paper.version}",
        "title": paper.title,
        "abstract": paper.abstract.replace("\n", " "),
        "authors": tuple((author.name, author.affiliations) for author in paper.authors),
        "categories": paper.categories,
        "published": paper.published,
        "updated": paper.updated,
        "comment": paper.comment,
        "journal_ref": paper.journal_ref,
        "first DOI": paper.dois[:1],
    }


def compare(bodies: Iterable[bytes]) -> tuple[int, Counter[str]]:
    """Return how many fields were compared, and which differ how often."""
    from arxiv import _feed  # noqa: PLC0415 - only the benchmark has it

    compared, differing = 0, Counter[str]()
    for body in bodies:
        papers, results = parse_atom(body).papers, _feed.parse(body).results
        differing["papers"] += abs(len(papers) - len(results))
        for paper, result in zip(papers, results, strict=False):
            ours, theirs = _read_ours(paper), _read_peer(result)
            compared += len(ours)
            differing.update(name for name, value in ours.items() if value != theirs[name])
    return compared, +differing
