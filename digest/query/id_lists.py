"""A list of papers, told from a query: nothing in it but arXiv's identifiers, and at least two.

They may stand one a line or side by side, with commas between or without, as identifiers or as addresses of
papers' pages. No paper has two identifiers, so they are alternatives.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.query.composing import Composer, Letter

if TYPE_CHECKING:
    from digest.query.composing import Pasted

_PIECE = re.compile(r"[^\s,;]+")
_ID = re.compile(
    r"<?(?:arxiv:|(?:https?://)?(?:[a-z\d-]+\.)?arxiv\.org(?::\d{1,5})?/(?:abs|pdf|html|format)/)?"
    r"(?P<id>(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?)(?:\.pdf)?/?>?",
    re.IGNORECASE,
)
_FEWEST = 2


def read_id_list(text: str) -> Pasted | None:
    """Return the query for any of the papers listed; None where the text is no such list."""
    query, seen = Composer(), set[str]()
    for piece in _PIECE.finditer(text):
        found = _ID.fullmatch(piece[0])
        if found is None:
            return None
        if found["id"] in seen:
            continue
        seen.add(found["id"])
        place = piece.start() + found.start("id")
        query.join("OR", place)
        query.write("id:", place)
        query.copy(Letter(char, place + number) for number, char in enumerate(found["id"]))
    if len(seen) < _FEWEST:
        return None
    return query.finish(f"a list of {len(seen)} papers, of which any will do", len(text))
