"""Parts of arXiv's addresses, and categories in a row, read as the query they stand for.

    cat:cs.AI+AND+abs:%22tail%20latency%22     what stands behind search_query=
    au:del_maestro&start=0&max_results=10      the same with what says how results are shown
    cs.AI+cs.CV                                as arXiv's feeds join categories, any of which will do

A `+` is a blank only where something shows that it comes from an address: an escape such as %22, a parameter such
as `&start=0`, or a `+` beside an operator, a date or before a prefix. So `abs:C++` keeps its signs, and so does
what stands between quotation marks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.model import taxonomy
from digest.model.errors import QueryError
from digest.query.addresses import Composer, Letter, decode_value, spell
from digest.query.tree import Prefix

if TYPE_CHECKING:
    from digest.query.addresses import Pasted

_PAGING = re.compile(r"(?:id_list=|(?:start|max_results|size)=\d*|(?:sortBy|sortOrder|order)=[\w-]*)\s*")
_ESCAPE = re.compile(r"%(?:2[\dA-F]|3[A-F]|5[BD]|[C-F][\dA-F]%[89AB][\dA-F])", re.IGNORECASE)
"""Signs of the language, and letters beyond ASCII: no text has these but one from an address."""

_PLUS = re.compile(r'"[^"]*"|(\+)')
_JOINING = re.compile(rf'"[^"]*"|(\+(?:(?:AND|OR|ANDNOT|NOT)\+|TO\+[\d*]|(?:{"|".join(Prefix)}):))', re.IGNORECASE)
_NAME = r"[a-z]+(?:-[a-z]+)?(?:\.[A-Za-z-]{2,})?"
_PARTING = r"\s*(?:[+,]|%2[Cc])\s*"
_CATEGORIES = re.compile(
    rf'"[^"]*"|(?<![^\s(+])(?<!(?<!cat):\()-?(?P<row>(?P<prefix>cat:\s*)?(?P<names>{_NAME}(?:{_PARTING}{_NAME})+))'
    r"(?=[\s)+]|\Z)"
)
"""Behind another prefix, as in `ti:(cs.AI,cs.LG)`, they are words."""

_MAY_BE_ROW = re.compile(r"[+,]|%2[Cc]")
_MOST_ROUNDS = 3
"""Programs encode an address anew that is encoded already: `%2522`."""


def read_fragment(text: str) -> Pasted | None:
    """Return the query that a part of an address, or categories in a row, stand for; None for any other text.

    Raises:
        QueryError: it is encoded over and over.
    """
    end = find_end(text)
    is_part = end < len(text) or _ESCAPE.search(text) is not None or has_joining_plus(text)
    lists = _find_categories(text[:end])
    if not is_part and not lists:
        return None
    letters = [Letter(char, place) for place, char in enumerate(text[:end])]
    for first, behind, written in reversed(lists):
        letters[first:behind] = (Letter(char, letters[first].place) for char in written)
    query = Composer()
    query.copy(_decode(letters, text) if is_part else letters)
    return query.finish("a part of an address" if is_part else "categories, any of which will do", len(text))


def find_end(text: str) -> int:
    """Return where parameters of an address begin that say how results are shown; the text's end without any."""
    *query, last = text.split("&")
    while query and _PAGING.fullmatch(last):
        last = query.pop()
    return len("&".join((*query, last)))


def has_joining_plus(text: str) -> bool:
    """Tell whether a `+` outside quotation marks stands beside an operator or before a prefix."""
    return "+" in text and any(found[1] for found in _JOINING.finditer(text))


def _find_categories(text: str) -> list[tuple[int, int, str]]:
    """Return where categories stand in a row, from the first to behind the last, and as what they are read."""
    lists = []
    for found in _CATEGORIES.finditer(text) if _MAY_BE_ROW.search(text) else ():
        names = re.split(_PARTING, found["names"] or "")
        if _are_categories(names, has_prefix=found["prefix"] is not None):
            lists.append((*found.span("row"), f"cat:({' OR '.join(names)})"))
    return lists


def _are_categories(names: list[str], *, has_prefix: bool) -> bool:
    if has_prefix:
        return all("." in name or taxonomy.is_archive(name) or taxonomy.is_category(name) for name in names)
    is_named = any("." in name or "-" in name for name in names)  # math and physics are words, too
    return is_named and all(taxonomy.is_archive(name) or taxonomy.is_category(name) for name in names)


def _decode(letters: list[Letter], text: str) -> list[Letter]:
    """Return what the characters of an address stand for, however often they were encoded."""
    is_joined = True
    for _ in range(_MOST_ROUNDS):
        for found in _PLUS.finditer(spell(letters)) if is_joined else ():
            if found[1]:
                letters[found.start()] = letters[found.start()]._replace(char=" ")
        decoded = decode_value(spell(letters), 0, len(letters), plus="+")
        letters = [Letter(char, letters[place].place) for char, place in decoded]
        is_joined = has_joining_plus(spell(letters))
        if not is_joined and not _ESCAPE.search(spell(letters)):
            return letters
    raise QueryError(
        "This is encoded over and over", text=text, position=letters[0].place, hint="Write the query itself."
    )
