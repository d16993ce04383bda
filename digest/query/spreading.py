"""What `all:` stands for: a condition on each field in turn, any of which will do.

arXiv's own `all:` searches a few things more that its interfaces don't hand out (owners, ORCID, author
ids, affiliations, names of categories), and joins the fields into one text before it looks for several
words. Here every field is asked by its own meaning: title, abstract, comment, journal reference, report
number and authors by words; category, id and DOI where the whole value names one.
"""

from __future__ import annotations

import re
from itertools import chain

from digest import taxonomy
from digest.errors import UsageError
from digest.papers import ArxivId
from digest.query.names import fold_umlauts, list_parts, write_out
from digest.query.tree import Condition, Prefix, Shape, intern_condition

_WORD_PREFIXES = (Prefix.TITLE, Prefix.ABSTRACT, Prefix.COMMENT, Prefix.JOURNAL_REF, Prefix.REPORT_NO)

_DOI = re.compile(r"10\.[\d.]+/[^\s\x00-\x1f\x7f\"*?\\$\[\]]+")


def spread_condition(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions an `all:` condition is the union of; any other stands for itself."""
    if condition.prefix in (Prefix.AUTHOR, Prefix.PERSON):
        return _spell_both(condition)
    if condition.prefix is not Prefix.ALL:
        return (condition,)
    shape, text = condition.shape, condition.text
    words = tuple(intern_condition(prefix, shape, text) for prefix in _WORD_PREFIXES)
    return (*words, *spread_beyond_words(shape, text))


def spread_beyond_words(shape: Shape, text: str) -> tuple[Condition, ...]:
    """Return those of an `all:` condition's conditions that look for no words: on authors, and for a keyword."""
    keywords = () if shape is Shape.BEGINNING else spread_keyword(text)
    return (*_spread_name(shape, text), *keywords)


def _spell_both(condition: Condition) -> tuple[Condition, ...]:
    """Return a condition on authors and, where `fold_umlauts` tells it from that, one with umlauts written out."""
    written_out = write_out(condition.text)
    spellings = (tuple(map(fold_umlauts, list_parts(text))) for text in (condition.text, written_out))
    if written_out == condition.text or len(set(spellings)) == 1:
        return (condition,)
    return condition, intern_condition(condition.prefix, condition.shape, written_out)


def _spread_name(shape: Shape, text: str) -> tuple[Condition, ...]:
    spellings = dict.fromkeys((text, write_out(text)))
    return tuple(dict.fromkeys(chain.from_iterable(_name_part(shape, spelling) for spelling in spellings)))


def _name_part(shape: Shape, text: str) -> tuple[Condition, ...]:
    name = " ".join(list_parts(text))
    if not name or "_" in name:  # names have no underscore; in a query it stands for a blank
        return ()
    if shape is Shape.BEGINNING and " " in name:
        return (intern_condition(Prefix.AUTHOR, Shape.PHRASE, f"{name}*"),)
    if shape is not Shape.BEGINNING:
        shape = Shape.PHRASE if " " in name else Shape.WORD
    return (intern_condition(Prefix.AUTHOR, shape, name),)


def spread_keyword(text: str) -> tuple[Condition, ...]:
    """Return the conditions on category, id or DOI that a text, taken whole, amounts to; often none."""
    if taxonomy.is_category(text):
        return (intern_condition(Prefix.CATEGORY, Shape.WORD, taxonomy.canonical_category(text)),)
    if is_doi(text):
        return (intern_condition(Prefix.DOI, Shape.WORD, text),)
    if not text[-1:].isdigit():  # most texts are words
        return ()
    try:
        id_, version = ArxivId.parse_versioned(text)
    except UsageError:
        return ()
    return (intern_condition(Prefix.ID, Shape.WORD, spell_id(id_, version)),)


def is_doi(text: str) -> bool:
    """Tell whether a text looks like a DOI: `10.`, a registrant, `/`, and anything that can be quoted."""
    return _DOI.fullmatch(text) is not None


def spell_id(id_: ArxivId, version: int | None) -> str:
    """Return an id as conditions keep it: `2603.10026`, or `2603.10026v2` where a version is asked for."""
    return f"{id_}v{version}" if version else str(id_)
