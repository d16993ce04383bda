"""What people paste where a query is asked for: an address of arXiv's, a list of authors, a `.bib` file."""

from __future__ import annotations

from digest.errors import QueryError
from digest.query.addresses import read_address
from digest.query.bibtex import read_bibtex_names
from digest.query.composing import Pasted
from digest.query.name_lists import read_name_list, refuse_length, write_author
from digest.query.names import spell_name
from digest.query.tokens import MAX_TERMS

__all__ = ["Pasted", "read_bibtex_authors", "read_pasted"]


def read_pasted(text: str) -> Pasted | None:
    """Return the query a pasted address or list of authors stands for; None where the text is a query itself.

    Raises:
        QueryError: it is an address that can't be read as a query, or a list of too many authors.
    """
    return read_address(text) or read_name_list(text)


def read_bibtex_authors(text: str) -> str:
    """Return the query for papers by anybody a `.bib` file names: `author:"Keiko Lindquell" OR …`.

    Authors are taken, and the editors of what has no author; `others` and repetitions are left out.

    Args:
        text: the whole file.

    Raises:
        QueryError: it names nobody, or more people than a query may have terms.
    """
    names = (name for name in read_bibtex_names(text) if spell_name(name.text))
    clauses = dict.fromkeys(f'au:"{name.text}"' if name.is_group else write_author(name.text) for name in names)
    if not clauses:
        raise QueryError(
            "This file names no author", hint="A .bib file has entries like @article{key, author = {…}}."
        )
    if len(clauses) > MAX_TERMS:
        refuse_length(len(clauses))
    return " OR ".join(clauses)
