"""What other search tools write, and how the same is written here.

`FORMS` is the table: what is said of a form, how it looks, and our words for it. Forms are looked for
outside of quotes, formulas and identifiers. None is ever read as a word: a query with one is refused, and
the hint is the query as we write it. `_NAMES` says which of our prefixes the fields of others come to.

Sources: the help pages on search of PubMed, Ovid, Embase, Web of Science, Scopus, ProQuest, EBSCO,
IEEE Xplore, ACM, INSPIRE, ADS, OpenAlex, Google and Lucene.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain

from digest.model import taxonomy
from digest.model.errors import QueryError
from digest.query.pasted import read_pasted
from digest.query.tokens import CURLY_QUOTES, PREFIXES, QuerySource
from digest.query.tree import Prefix

_NAMES: Mapping[tuple[Prefix, ...], str] = {
    (Prefix.TITLE,): """
        ti title titles ttl intitle allintitle article_title document_title acmdltitle display_name t
    """,
    (Prefix.ABSTRACT,): "ab abs abst abstract abstracts summary",
    (Prefix.TITLE, Prefix.ABSTRACT): """
        tiab tw topic topics ts tak key kw keyword keywords author_keywords mesh mh majr de sh su subject
        subjects exp mp descriptor descriptors theme about concept concepts hw ot index_terms tag tags k
    """,
    (Prefix.AUTHOR,): """
        au aut auth author authors authorships authname creator ea exactauthor fau firstauthor lastauthor 1au
        lastau contribauthor inauthor from by a collaboration cn
    """,
    (Prefix.COMMENT,): "co comment comments conference venue cf conf",
    (Prefix.JOURNAL_REF,): """
        jr so source srctitle journal jour ta jn publication publication_title journal_title pubtitle bibstem
        pub j
    """,
    (Prefix.REPORT_NO,): "rn report reportno reportnumber r",
    (Prefix.CATEGORY,): """
        cat category categories primary primarch archive arxiv_class section set setspec fc wc sc
    """,
    (Prefix.DOI,): "doi",
    (Prefix.ID,): "id arxiv arxivid eprint paper identifier",
    (Prefix.SUBMITTED,): """
        py year years yr pubyear dp pdat pubdate date dates published since after before until created
        submitted updated edat d submitteddate lastupdateddate date_publication publication_date
        publication_year
    """,
    (Prefix.ALL,): """
        all any anywhere everything text full fulltext ft noft body tx q query search find metadata
        arxiv_query arxiv_search
    """,
    (): """
        site filetype inurl url link cache related has is in label language lang la lg repo user org stars
        type doctype pt property affil affiliation aff inst ad ou orcid refersto citedby topcite citations
        references cites similar trending reviews sort order limit size start page format status to cc bcc
        bibcode recid ptyp
    """,
}
_FIELDS = {name: prefixes for prefixes, names in _NAMES.items() for name in names.split()}
"""What other tools call a field -> the prefixes that come nearest; none if it can't be asked for here."""

_MEANT_ALONE = (Prefix.SUBMITTED, Prefix.AUTHOR, Prefix.CATEGORY)
_DATE = re.compile(r"(?<!\d)((?:19|20|30)\d\d)(?:[-/]?(\d\d)(?!\d)(?:[-/]?(\d\d)(?!\d))?)?")
_SINCE = {"since": 0, "after": 0, "AFT": 1, ">": 1, ">=": 0}
_UNTIL = {"before": 0, "until": 0, "BEF": -1, "<": -1, "<=": 0}
"""What makes an open range -> how many years from the one that is named."""
_INITIALS = re.compile(r"((?=[^\s,]*?[^\W\d_A-Z])[^\s,]++),? (?:([A-Za-z])|([A-Z])[A-Z]{1,2})\.?")
_PLAIN = re.compile(r"(?!(?i:and|or|not|andnot)\Z)\w[\w*.-]*")
_SIMPLE_GROUP = re.compile(r"\(([^()]+)\)")
_OPERATOR_WITHIN = re.compile(r"\b(?:AND|OR|NOT|ANDNOT)\b|:")
_PREFIX_FIRST = re.compile(rf"[\s\"'(-]*(?i:{'|'.join(PREFIXES)})\s*:")
_ADDRESS_WITHIN = re.compile(
    r"(?:https?://[\w.-]{0,40}arxiv\.org/|search_query=|id_list=)[^\s\"'<>]+"
)

_OURS = "(?:" + "|".join(PREFIXES) + ")"
_NO_OPERATOR = r"(?!(?i:and|or|not|andnot)\b)"
_WORD = rf"(?<![\w*'’-]){_NO_OPERATOR}[\w*'’-]++"
_GROUP = r"\((?:[^()]|\([^()]*\))*+\)"
_WORDS_BEHIND = (
    rf"(?<![\w\"'’*.:/-])(?P<term>\"[^\"]*\"|{_GROUP}|\d{{4}}:\d{{4}}|{_WORD}(?: {_WORD}){{0,7}})"
)
"""What a mark goes with that follows: a phrase, a group, or some words."""
_WORDS_AHEAD = (
    rf"(?P<term>\"[^\"]*\"|{_GROUP}"
    rf"|{_NO_OPERATOR}[^\s()\",;]++(?: (?!\w+ *[:=]){_WORD}(?![:=/(\[])){{0,7}})"
)
_RUN = re.compile(rf"\"[^\"]*\"|{_WORD}(?: {_WORD})+")
_VALUE = rf"\"[^\"]*\"|{_GROUP}|[^\s()\"=:/,;][^\s()\",;]*+"
_ONE = rf"(?:[A-Za-z]+:)?(?:\"[^\"]*\"|{_GROUP}|{_NO_OPERATOR}[^\s()\"]++)"
_SPIRES_PART = re.compile(
    r"(\A\s*|\s(?:and not|and|or|not)\s+)(\w+) +([<>]=?)?(.+?)(?=\s(?:and|or|not)\s|\Z)",
    re.IGNORECASE,
)
_ARCHIVE = "|".join(sorted(taxonomy.ARCHIVES, key=len, reverse=True))

_BEFORE_WORDS = "A field goes before its words"
_WITH_A_COLON = "A field is written before a colon"
_OTHER_NAME = "This field has another name here"
_OTHER_DATES = "Dates are written in another way"
_OTHER_SPIRES = "SPIRES's fields are written in another way"
_NO_OPERATOR_HERE = "There is no such operator"
_START = r"(?<![\w:./,-])"

_HIDDEN = re.compile(
    rf"\"(?P<first>\^?)[^\"]*\"|[{CURLY_QUOTES}][^{CURLY_QUOTES}\"]*[{CURLY_QUOTES}\"]|(?P<sign>\$[^$]*\$"
    r"|(?<![^\s()])[^\s()\\]*+\\[^\s()]*|(?:(?i:\b(?:doi|id|arxiv)\s*:\s*)|\b10\.(?=\d{4,}/))[^\s()\[\]\"](?:[^\s()\[\]\"]|\([^\s()\"]*\))*"
    r"|(?i:submitteddate|lastupdateddate)\s*:\s*\[[^\[\]]*\])"
)
_DANGLING = re.compile(
    r"(?<!\s)\s++(?:AND|OR|NOT|ANDNOT)\s*+(?=\)|\Z)|(?:\A|(?<=\())\s*+(?:AND|OR)\s++"
)
_BULLET = re.compile(
    r"(^)[ \t]*(?:[-*+>•·▪◦‣●○■]|\(?\d{1,3}[.)]|\[\d{1,3}\]|\(?[a-z][.)])[ \t]+", re.MULTILINE
)
_LAST_OF_LIST = re.compile(r"([,;])\s*(?:and/or|and|or)\b")
_EDGE = re.compile(r"\b(?:and|or|not|andnot)\b|[()]", re.IGNORECASE)
_ENTRY = re.compile(
    r"(?![•·▪◦‣●○■/] )[^\s,;](?:[^\s,;]|[,;](?=\d)|[ \x00-\x08\x0e-\x1f](?![•·▪◦‣●○■/] ))*"
)
_NAME_FIRST = re.compile(r"\s*au(?:thor)?\s*:\s*[^\s\"(]", re.IGNORECASE)
_PREFIX_OF_ENTRY = re.compile(rf"(?is)((?:{'|'.join(PREFIXES)})\s*:\s*)?(.*)")
_QUOTED = re.compile(rf"[\"{CURLY_QUOTES}:=()$\\]")
_SAID_OF_LIST = "This list does not say if one entry is enough, or all are needed"
_SAID_OF_EXCLUDED = "A - before each entry of a list may mean NOT, or nothing"
_MOST_ROUNDS = 20
_LONGEST_SHOWN = 60
_LONGEST_HINT = 300


def _write_term(written: str) -> str:
    """Return words as one value: in quotes unless they are one word or a group."""
    if (inner := _SIMPLE_GROUP.fullmatch(written.strip())) and not _OPERATOR_WITHIN.search(
        inner[1].upper()
    ):
        written = inner[1]
    term = " ".join(written.translate(dict.fromkeys(map(ord, f'"{CURLY_QUOTES}^'))).split()).strip(
        ".,;"
    )
    term = term if term.endswith("*") and term.count("*") == 1 else term.lstrip("*")
    if written.lstrip().startswith("("):
        return _RUN.sub(lambda found: _write_term(found[0]), written.strip())
    if "*" in term and " " in term:  # between quotes it would be a mere sign
        return f"({' AND '.join(term.split())})"
    return term if _PLAIN.fullmatch(term) else f'"{term}"'


def find_fields(name: str) -> tuple[Prefix, ...] | None:
    """Return the prefixes nearest to another tool's field, or to several: `ti,ab`; None for no field."""
    folded = "_".join(re.findall(r"[^\W_]+", name.casefold()))
    parts = [_FIELDS[part] for part in folded.split("_") if part in _FIELDS]
    prefixes = _FIELDS.get(folded) or (
        tuple(dict.fromkeys(chain.from_iterable(parts))) if parts else None
    )
    return next(((one,) for one in _MEANT_ALONE if one in (prefixes or ())), prefixes)


def write_field(field: str, term: str, sign: str = "") -> str | None:
    """Return a term in another tool's field as we write it.

    "" if it can't be asked for, None if there is no such field.
    """
    prefixes = find_fields(field)
    if prefixes == (Prefix.SUBMITTED,):
        return _write_dates(sign or field, term)
    value = _write_term(term)
    if taxonomy.is_category(field):
        return f"cat:{field} AND {value}"
    if prefixes == (Prefix.AUTHOR,) and (found := _INITIALS.fullmatch(value.strip('"'))):
        value = f'"{found[1]}, {found[2] or found[3]}"'
    if prefixes == (Prefix.CATEGORY,):
        name = value.strip('"').replace(":", ".")
        value = name if taxonomy.is_archive(name) else taxonomy.nearest_category(name) or value
    if prefixes is None or prefixes == (Prefix.ALL,):
        return value if prefixes else None
    named = [f"{one}:{value}" for one in prefixes if one is not Prefix.ALL]
    return f"({' OR '.join(named)})" if len(named) > 1 else "".join(named)


def _write_dates(sign: str, term: str) -> str | None:
    dates = ["".join(found) for found in _DATE.findall(term)]
    if not dates:
        return None
    first, last = dates[0], dates[-1]
    if sign in _SINCE:
        first, last = _move_year(first, _SINCE[sign]), "*"
    elif sign in _UNTIL:
        first, last = "*", _move_year(last, _UNTIL[sign])
    return f"submittedDate:[{first} TO {last}]"


def _move_year(date: str, years: int) -> str:
    return str(int(date) + years) if date.isdecimal() and len(date) == len("2026") else date


def _write_marked(parts: Mapping[str, str]) -> str | None:
    if parts["field"].strip('"').casefold() in PREFIXES and parts.get("sign") == ":":
        return None
    return write_field(parts["field"], parts["term"], parts.get("sign", ""))


def _write_date_field(parts: Mapping[str, str]) -> str | None:
    if find_fields(parts["field"]) != (Prefix.SUBMITTED,):
        return None
    return _write_dates(
        parts["sign"].strip(": ").removeprefix("=") or parts["field"], parts["term"]
    )


def _write_group(parts: Mapping[str, str]) -> str:
    inner = (parts.get("term") or parts["braced"]).strip()
    return parts.get("mark", "") + (
        f"({inner})" if _OPERATOR_WITHIN.search(inner) else _write_term(inner)
    )


def _write_alternatives(parts: Mapping[str, str]) -> str:
    prefix = parts.get("mark", "")
    words = re.findall(r"[^|]+", parts["term"])
    return f"({' OR '.join(word if ':' in word else prefix + word for word in words)})"


def _write_set(parts: Mapping[str, str]) -> str | None:
    *_, archive, subject = parts["term"].split(":")
    name = subject if taxonomy.is_archive(subject) else f"{archive}.{subject}"
    return f"cat:{name}" if taxonomy.is_category(name) or taxonomy.is_archive(name) else None


def _write_setting(parts: Mapping[str, str]) -> str | None:
    value = parts["term"].strip()
    is_ours = parts["field"].casefold() in PREFIXES or not _PREFIX_FIRST.match(value)
    return None if is_ours else value.strip("\"'")


def _write_address(parts: Mapping[str, str]) -> str | None:
    found = _ADDRESS_WITHIN.search(parts["term"])
    try:
        pasted = read_pasted(found[0]) if found else None
    except QueryError:
        return None
    return pasted[0] if pasted else None


def _write_spires(parts: Mapping[str, str]) -> str:
    return _SPIRES_PART.sub(
        lambda found: (
            f"{found[1].upper()}{write_field(found[2], found[4], found[3] or '') or found[0]}"
        ),
        parts["term"],
    )


FORMS: list[tuple[str, re.Pattern[str], Callable[[Mapping[str, str]], str | None]]] = [
    (said, re.compile(pattern, re.DOTALL), write)
    for said, pattern, write in (
        (
            "An address must be alone",
            r"(?P<term>\bhttps?://[\w.-]{0,40}arxiv\.org/\S+|\A\W*(?:curl|wget|GET|POST)\s.*)",
            _write_address,
        ),
        (
            "The text of a query stands without a name",
            (
                r"\A(?:[^:=\"]*[({]\s*)?\"?(?P<field>[A-Za-z][\w.-]*)\"?\s*[=:]\s*"
                r"(?P<term>(?:\"[^\"]*\"|\([^()]*\))(?=\W*\Z|\s*,)|[^\"\s].*).*\Z"
            ),
            _write_setting,
        ),
        (
            "Words can't be asked to be near each other",
            (
                rf"(?<![^\s(])(?P<term>{_ONE})\s+"
                r"(?:(?:ADJ|NEAR|ONEAR|NEXT|PRE|WITHIN|AROUND|SAME)(?:\s?/?\s?\d+|\(\d+\))?|adj"
                r"|(?i:(?:adj|near|onear|next|pre|w|n|p)/\d+|(?:adj|near)\d+)|/[sp]|[NW][3-9]|(?<=\"\s)near(?=\s\"))"
                rf"\s+(?P<other>{_ONE})"
            ),
            "({term} AND {other})".format_map,
        ),
        (
            _NO_OPERATOR_HERE,
            rf"(?<![^\s(])(?P<term>{_ONE})\s+(?:EXCEPT|MINUS|WITHOUT|BUT NOT)\s+(?P<other>{_ONE})",
            "({term} ANDNOT {other})".format_map,
        ),
        (
            _NO_OPERATOR_HERE,
            rf"(?<![^\s(])(?P<term>{_ONE})\s+XOR\s+(?P<other>{_ONE})",
            "(({term} ANDNOT {other}) OR ({other} ANDNOT {term}))".format_map,
        ),
        (
            "The first author alone can't be asked for",
            r"(?i:\b(?P<field>(?:first_?)?au(?:thor)?)\s*:\s*)(?P<term>\"\^[^\"]*\"|\^[^\s()\"]+)",
            lambda parts: write_field("au", parts["term"]),
        ),
        (
            "A set of OAI-PMH is a category",
            rf"(?<![\w:.])(?:set\s*[=:]\s*)?(?P<term>(?:{_ARCHIVE})(?::[A-Za-z-]+){{1,2}})(?![\w:])",
            _write_set,
        ),
        (
            _BEFORE_WORDS,
            r"(?<!\[)\[++(?P<field>[A-Z][A-Za-z ]++):\s*+(?P<term>[^\[\]\s][^\[\]]*+)\]+",
            _write_marked,
        ),
        (
            _BEFORE_WORDS,
            r"(?P<term>\"[^\"]*\"\[[^\[\]]*\]\s*:\s*\"[^\"]*\")\[(?P<field>[^\[\]]*)\]",
            _write_marked,
        ),
        (
            _BEFORE_WORDS,
            rf"{_WORDS_BEHIND}\s?\[(?P<field>1?[A-Za-z]{{2}}[\w /,:&.~-]{{0,40}})\]",
            _write_marked,
        ),
        (
            "No field has this name",
            rf"{_WORDS_BEHIND}\[[A-Za-z][^\[\]]*\]",
            lambda parts: _write_term(parts["term"]),
        ),
        (
            _BEFORE_WORDS,
            rf"{_WORDS_BEHIND}\s?\.(?P<field>[a-z]{{2}}(?:,[a-z]{{2}})*+)\.(?!\w)",
            _write_marked,
        ),
        (
            _BEFORE_WORDS,
            rf"(?!(?i:{_OURS}):){_WORDS_BEHIND}:(?P<field>[a-z]{{2,3}}(?:,[a-z]{{2,3}})*+)(?![\w:*.])",
            _write_marked,
        ),
        (
            "Subject headings are unknown here",
            rf"(?:\bexp\s+)?{_WORDS_BEHIND}/(?:(?:de|exp|mj|br|syn|dt|th|di)(?!\w)|(?=[\s)]|\Z))",
            lambda parts: write_field("mesh", parts["term"]),
        ),
        (
            _WITH_A_COLON,
            rf"(?<![\w:.-])(?P<field>[A-Z][A-Z-]++)(?:\s+|\s*=\s*|\s*:\s*)(?P<term>{_GROUP})",
            _write_marked,
        ),
        (
            _WITH_A_COLON,
            rf"(?<![\w:.-])(?!S[UO]\()(?P<field>[A-Za-z][\w-]++)(?P<term>{_GROUP})",
            _write_marked,
        ),
        (
            "A field is written without quotes",
            rf"(?P<field>\"[^\"]*\")\s*:\s*{_WORDS_AHEAD}",
            _write_marked,
        ),
        (
            _OTHER_DATES,
            r"\b(?P<field>since|after|before|until)\s+(?P<term>(?:19|20)\d\d(?:[-/]\d\d)*)(?![\w-])",
            _write_marked,
        ),
        (
            _OTHER_DATES,
            (
                r"(?<![\w:.])(?!(?i:submitteddate|lastupdateddate)\s*:\s*\[)(?P<field>[A-Za-z_]{2,}+)\s*"
                r"(?P<sign>(?:[:=]\s*)?[<>]=?|=|:|\b(?:AFT|BEF|IS)\b)\s*"
                r"(?P<term>\[[^\[\]\"()]*\]|\"[^\"]*\"|[^\s()\"]+)"
            ),
            _write_date_field,
        ),
        (
            _WITH_A_COLON,
            (
                rf"{_START}(?P<field>[A-Za-z][\w./,-]++)(?:\s+=\s+|\s+(?:any|all|exact|contains|includes)\s+(?=\"))"
                rf"{_WORDS_AHEAD}"
            ),
            _write_marked,
        ),
        (
            _WITH_A_COLON,
            rf"(?<!=){_START}(?P<field>[A-Za-z][\w./,-]++)=(?P<term>{_VALUE})",
            _write_marked,
        ),
        (
            _OTHER_NAME,
            rf"{_START}(?P<field>[A-Za-z][\w./,-]*+)(?P<sign>:)(?P<term>{_VALUE})",
            _write_marked,
        ),
        (
            _OTHER_NAME,
            rf"{_START}(?P<field>[A-Za-z][\w./,-]*+)\s*(?P<sign>:)\s+{_WORDS_AHEAD}",
            _write_marked,
        ),
        (
            _WITH_A_COLON,
            (
                r"(?:\A|(?<=\()|(?<=\bAND\s)|(?<=\bOR\s)|(?<=\bNOT\s))(?P<field>TI|AB|AU|SU|TX|MH|TS)\s+"
                rf"{_WORDS_AHEAD}"
            ),
            _write_marked,
        ),
        (
            _OTHER_SPIRES,
            (
                r"(?i:\A\s*(?:find|fin|f)\s+)"
                r"(?P<term>(?:a|ea|au|t|ti|k|j|d|date|eprint|r|title|author)\s.+)\Z"
            ),
            _write_spires,
        ),
        (_OTHER_SPIRES, r"(?<=\()\s*(?P<term>t\s[^()]+)(?=\))", _write_spires),
        (
            "No part counts more than another",
            rf"(?P<term>\"[^\"]*\"|{_GROUP}|(?<![\w.^-])[A-Za-z][\w-]{{3,}}+)\^\d+(?:\.\d+)?(?![\w^])",
            "{term}".format_map,
        ),
        (
            "A distance of words or letters can't be asked for",
            r"(?P<term>\"[^\"]*\"|(?<![\w-])[A-Za-z][\w-]{2,}+)~(?:\d[\d.]*)?(?![\w~])",
            "{term}".format_map,
        ),
        (
            "Other forms of a word are found without a sign",
            r"(?<!\S)~(?P<term>[A-Za-z]{3,}|\"[^\"]*\")",
            "{term}".format_map,
        ),
        (
            "A | is an operator only between blanks",
            r"(?<![^\s(])(?P<mark>(?:[A-Za-z]+:)?)(?P<term>[^\s()\"|]++(?:\|+[^\s()\"|]++)+)",
            _write_alternatives,
        ),
        (
            "One word has one prefix",
            rf"(?i:{_OURS}):+(?P<term>(?i:{_OURS}):[^\s()\"]+)",
            "{term}".format_map,
        ),
        (
            "These brackets have no meaning here",
            (
                rf"(?<![\w\]}}^_\\/])(?!\[\d{{1,3}}\]\s)(?P<mark>(?:(?!(?i:submitted|lastup))(?i:{_OURS})\s*:\s*)?)"
                r"(?:\[(?P<term>(?=[^\[\]]*?\w)[^\[\]]++)\]|\{(?P<braced>(?=[^{}]*?\w)[^{}]++)\})(?!\w)"
            ),
            _write_group,
        ),
    )
]


def _hide(found: re.Match[str]) -> str:
    length = len(found[0])
    return (
        "x" * length
        if found["sign"]
        else f'"{found["first"] or ""}{"x" * length}'[: length - 1] + '"'
    )


def _find_first(text: str) -> tuple[int, int, str, str] | None:
    """Return where the first form begins and ends, what is said of it, and our words."""
    hidden = _HIDDEN.sub(_hide, text)
    for said, pattern, write in FORMS:
        for found in pattern.finditer(hidden):
            names = [name for name in pattern.groupindex if found[name]]
            ours = write({name: text[slice(*found.span(name))] for name in names})
            if ours is not None:
                return found.start(), found.end(), said, ours
    return _find_list(text, hidden)


def _find_list(text: str, hidden: str) -> tuple[int, int, str, str] | None:
    """Return the first row of entries that signs or lines part, as alternatives."""
    has_bullets = len(_BULLET.findall(hidden)) > 1
    plain = _LAST_OF_LIST.sub(
        _blank_out, _BULLET.sub(_blank_out, hidden) if has_bullets else hidden
    )
    edges = [0, *chain.from_iterable(found.span() for found in _EDGE.finditer(plain)), len(plain)]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        found = list(_ENTRY.finditer(plain, first, last))
        places = [(entry.start(), entry.start() + len(entry[0].rstrip())) for entry in found]
        entries = [text[start:end].strip(" .") for start, end in places]
        excluded = [entry for entry in entries if entry.startswith("-")]
        is_list = len(entries) > 1 and len(excluded) in (0, len(entries))
        if is_list and (";" in plain[first:last] or not _NAME_FIRST.match(entries[0])):
            is_enclosed = (plain[:first].strip()[-1:], plain[last:].strip()[:1]) in (
                ("", ""),
                ("(", ")"),
            )
            ours = _write_list(entries)
            said = _SAID_OF_EXCLUDED if excluded else _SAID_OF_LIST
            return places[0][0], places[-1][1], said, ours if is_enclosed else f"({ours})"
    return None


def _blank_out(found: re.Match[str]) -> str:
    return found[1] + " " * (len(found[0]) - len(found[1]))


def _write_list(entries: list[str]) -> str:
    parted = [_PREFIX_OF_ENTRY.match(entry.lstrip("-").strip()) for entry in entries]
    pairs = [(found[1] or "", found[2]) for found in parted if found]
    written = [prefix + _write_entry(value, prefix) for prefix, value in pairs]
    prefix = pairs[0][0]
    if prefix and not any(other for other, _ in pairs[1:]):
        return f"{prefix}({' OR '.join(one.removeprefix(prefix) for one in written)})"
    operator = " AND " if len({prefix for prefix, _ in pairs} - {""}) > 1 else " OR "
    return operator.join(written)


def _write_entry(value: str, prefix: str) -> str:
    if not prefix and taxonomy.is_category(value):
        return f"cat:{value}"
    return value if _QUOTED.search(value) else _write_term(value)


def refuse_foreign(source: QuerySource, has_remarks: Callable[[str], bool]) -> None:
    """Refuse a query with a form of another tool, with the query, or else that form, as we write it.

    `has_remarks` says if there is a remark on a text, or an error in it.
    """
    first = found = _find_first(source.text)
    if first is None:
        return
    whole = source.text
    for _ in range(_MOST_ROUNDS):
        if found is None:
            break
        whole = _DANGLING.sub("", f"{whole[: found[0]]}{found[3]}{whole[found[1] :]}").strip()
        found = _find_first(whole)
    start, end, said, ours = first
    if found is None and len(whole) <= _LONGEST_HINT and not has_remarks(whole):
        ours = whole
    shown = " ".join(source.text[start : min(end, start + _LONGEST_SHOWN)].split())
    source.fail(
        start,
        f"{said}: {shown}",
        f"Write {ours}." if ours else "Leave it out.",
        "" if found else whole,
    )
