"""What other search tools call the fields of a paper, and a term in one of them as we write it.

`_NAMES` says which of our prefixes the fields of others come to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from digest.model import taxonomy
from digest.query.tokens import CURLY_QUOTES
from digest.query.tree import Prefix

_NAMES: Mapping[tuple[Prefix, ...], str] = {
    (Prefix.TITLE,): """
        ti title titles ttl intitle allintitle article_title document_title acmdltitle
        display_name t
    """,
    (Prefix.ABSTRACT,): "ab abs abst abstract abstracts summary",
    (Prefix.TITLE, Prefix.ABSTRACT): """
        tiab tw topic topics ts tak key kw keyword keywords author_keywords mesh mh majr de sh
        su subject subjects exp mp descriptor descriptors theme about concept concepts hw ot
        index_terms tag tags k
    """,
    (Prefix.AUTHOR,): """
        au aut auth author authors authorships authname creator ea exactauthor fau firstauthor
        lastauthor 1au lastau contribauthor inauthor from by a collaboration cn
    """,
    (Prefix.COMMENT,): "co comment comments conference venue cf conf",
    (Prefix.JOURNAL_REF,): """
        jr so source srctitle journal jour ta jn publication publication_title journal_title
        pubtitle bibstem pub j
    """,
    (Prefix.REPORT_NO,): "rn report reportno reportnumber r",
    (Prefix.CATEGORY,): """
        cat category categories primary primarch archive arxiv_class section set setspec fc wc
        sc
    """,
    (Prefix.DOI,): "doi",
    (Prefix.ID,): "id arxiv arxivid eprint paper identifier",
    (Prefix.SUBMITTED,): """
        py year years yr pubyear dp pdat pubdate date dates published since after before until
        created submitted updated edat d submitteddate lastupdateddate date_publication
        publication_date publication_year
    """,
    (Prefix.ALL,): """
        all any anywhere everything text full fulltext ft noft body tx q query search find
        metadata arxiv_query arxiv_search
    """,
    (): """
        site filetype inurl url link cache related has is in label language lang la lg repo user
        org stars type doctype pt property affil affiliation aff inst ad ou orcid refersto
        citedby topcite citations references cites similar trending reviews sort order limit
        size start page format status to cc bcc bibcode recid ptyp
    """,
}
_FIELDS: dict[str, tuple[Prefix, ...]] = {}
"""What others call a field -> the prefixes that come nearest; none if it can't be asked for."""
for _prefixes, _names in _NAMES.items():
    _FIELDS |= dict.fromkeys(_names.split(), _prefixes)

_MEANT_ALONE = (Prefix.SUBMITTED, Prefix.AUTHOR, Prefix.CATEGORY)
_DATE = re.compile(r"(?<!\d)((?:19|20|30)\d\d)(?:[-/]?(\d\d)(?!\d)(?:[-/]?(\d\d)(?!\d))?)?")
_SINCE = {"since": 0, "after": 0, "AFT": 1, ">": 1, ">=": 0}
_UNTIL = {"before": 0, "until": 0, "BEF": -1, "<": -1, "<=": 0}
"""What makes an open range -> how many years from the one that is named."""
_INITIALS = re.compile(r"((?=[^\s,]*?[^\W\d_A-Z])[^\s,]++),? (?:([A-Za-z])|([A-Z])[A-Z]{1,2})\.?")
_PLAIN = re.compile(r"(?!(?i:and|or|not|andnot)\Z)\w[\w*.-]*")
_SIMPLE_GROUP = re.compile(r"\(([^()]+)\)")
OPERATOR_WITHIN = re.compile(r"\b(?:AND|OR|NOT|ANDNOT)\b|:")
NO_OPERATOR = r"(?!(?i:and|or|not|andnot)\b)"
WORD = rf"(?<![\w*'’-]){NO_OPERATOR}[\w*'’-]++"
_RUN = re.compile(rf"\"[^\"]*\"|{WORD}(?: {WORD})+")
_NO_QUOTES = str.maketrans(dict.fromkeys(f'"{CURLY_QUOTES}^', ""))


def write_term(written: str) -> str:
    """Return words as one value: in quotes unless they are one word or a group."""
    inner = _SIMPLE_GROUP.fullmatch(written.strip())
    if inner is not None and not OPERATOR_WITHIN.search(inner[1].upper()):
        written = inner[1]
    if written.lstrip().startswith("("):
        return _RUN.sub(lambda found: write_term(found[0]), written.strip())
    term = " ".join(written.translate(_NO_QUOTES).split()).strip(".,;")
    is_beginning = term.endswith("*") and term.count("*") == 1
    if not is_beginning:
        term = term.lstrip("*")
    if "*" in term and " " in term:  # between quotes it would be a mere sign
        return f"({' AND '.join(term.split())})"
    return term if _PLAIN.fullmatch(term) else f'"{term}"'


def find_fields(name: str) -> tuple[Prefix, ...] | None:
    """Return the prefixes nearest to another tool's field, or to several, as `ti,ab`.

    () if it can't be asked for here, None if there is no such field.
    """
    words = re.findall(r"[^\W_]+", name.casefold())
    prefixes = _FIELDS.get("_".join(words))
    if not prefixes:
        known = [word for word in words if word in _FIELDS]
        if not known:
            return None
        every = chain.from_iterable(_FIELDS[word] for word in known)
        prefixes = tuple(dict.fromkeys(every))
    for prefix in _MEANT_ALONE:
        if prefix in prefixes:
            return (prefix,)
    return prefixes


def write_field(field: str, term: str, sign: str = "") -> str | None:
    """Return a term in another tool's field as we write it.

    "" if it can't be asked for, None if there is no such field.
    """
    prefixes = find_fields(field)
    if prefixes == (Prefix.SUBMITTED,):
        return write_dates(sign or field, term)
    value = write_term(term)
    if taxonomy.is_category(field):
        return f"cat:{field} AND {value}"
    if prefixes is None:
        return None
    if prefixes == (Prefix.ALL,):
        return value
    if prefixes == (Prefix.AUTHOR,):
        value = _write_author(value)
    elif prefixes == (Prefix.CATEGORY,):
        value = _write_category(value)
    named = [f"{prefix}:{value}" for prefix in prefixes if prefix is not Prefix.ALL]
    return f"({' OR '.join(named)})" if len(named) > 1 else "".join(named)


def _write_author(value: str) -> str:
    """Return a name as we write it: `"Serre, J"` for the `Serre JP` of PubMed."""
    found = _INITIALS.fullmatch(value.strip('"'))
    if found is None:
        return value
    last_name = found[1]
    initial = found[2] or found[3]
    return f'"{last_name}, {initial}"'


def _write_category(value: str) -> str:
    name = value.strip('"').replace(":", ".")
    if taxonomy.is_archive(name):
        return name
    return taxonomy.nearest_category(name) or value


def write_dates(sign: str, term: str) -> str | None:
    """Return the dates of a term as a range, open if its sign or field says so, as `since`."""
    dates = ["".join(found) for found in _DATE.findall(term)]
    if not dates:
        return None
    first = dates[0]
    last = dates[-1]
    if sign in _SINCE:
        first = _move_year(first, _SINCE[sign])
        last = "*"
    elif sign in _UNTIL:
        first = "*"
        last = _move_year(last, _UNTIL[sign])
    return f"submittedDate:[{first} TO {last}]"


def _move_year(date: str, years: int) -> str:
    is_year = date.isdecimal() and len(date) == len("2026")
    return str(int(date) + years) if is_year else date
