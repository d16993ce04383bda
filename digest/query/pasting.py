"""What people paste for a query: an arXiv address or a part of one, a list of authors or papers, a `.bib` file."""

from __future__ import annotations

import re
from typing import NamedTuple

from digest.errors import QueryError
from digest.query.addresses import read_address
from digest.query.bibtex import BrokenEntry, read_bibtex_entries
from digest.query.composing import Pasted
from digest.query.fragments import read_fragment
from digest.query.id_lists import read_id_list
from digest.query.name_lists import read_name_list, refuse_length, spell_author, write_author
from digest.query.names import spell_name
from digest.query.tokens import MAX_TERMS

__all__ = ["Bibliography", "Pasted", "read_bibliography", "read_bibtex_authors", "read_pasted"]


_ENTRY = re.compile(r"\s*@[A-Za-z]+\s*\{")


class Bibliography(NamedTuple):
    """What was read of a `.bib` file.

    Attributes:
        query: for papers by anybody it names.
        entries: how many could be read.
        authors: how many people they name, each counted once.
        without_author: the keys of those that name nobody.
        broken: the entries that could not be read.
    """

    query: str
    entries: int
    authors: int
    without_author: tuple[str, ...]
    broken: tuple[BrokenEntry, ...]


def read_pasted(text: str) -> Pasted | None:
    """Return the query a pasted address, or list of authors or papers, stands for; None for any other text.

    Raises:
        QueryError: it is an address that can't be read as a query, a list of too many authors, or BibTeX.
    """
    if _ENTRY.match(text):
        raise QueryError(
            "This is BibTeX, which is read from a file",
            text=text,
            hint="Save it, and let `digest query check --file library.bib` write the query of its authors.",
        )
    return read_address(text) or read_name_list(text) or read_id_list(text) or read_fragment(text)


def read_bibtex_authors(text: str) -> str:
    """Return the query for papers by anybody a `.bib` file names: `author:"Keiko Lindquell" OR …`.

    Raises:
        QueryError: as `read_bibliography` does.
    """
    return read_bibliography(text).query


def read_bibliography(text: str) -> Bibliography:
    """Read a `.bib` file as the query for papers by anybody it names.

    Authors are taken, and the editors of what has no author; `others` and repetitions are left out. An entry
    that can't be read takes none of the others with it.

    Args:
        text: the whole file.

    Raises:
        QueryError: it names nobody, or more people than a query may have terms.
    """
    entries, broken = read_bibtex_entries(text)
    clauses: dict[str, str] = {}
    lonely = []
    for entry in entries:
        names = [name for name in entry.names if spell_name(name.text)]
        for name in names:
            clause = f'au:"{name.text}"' if name.is_group else write_author(name.text)
            clauses.setdefault(spell_author(clause), clause)
        if not names:
            lonely.append(entry.key)
    if not clauses:
        raise QueryError(
            "".join(("This file names no author", *(f"; {one.message}" for one in broken[:1]))),
            hint="A .bib file has entries like @article{key, author = {…}}.",
        )
    if len(clauses) > MAX_TERMS:
        refuse_length(len(clauses))
    return Bibliography(" OR ".join(clauses.values()), len(entries), len(clauses), tuple(lonely), tuple(broken))
