"""What other search tools write, and how the same is written here.

`FORMS` is the table: what is said of a form, how it looks, and our words for it. Forms are looked
for outside of quotes, formulas and identifiers. None is ever read as a word: a query with one is
refused, and the hint is the query as we write it.

Sources: the help pages on search of PubMed, Ovid, Embase, Web of Science, Scopus, ProQuest, EBSCO,
IEEE Xplore, ACM, INSPIRE, ADS, OpenAlex, Google and Lucene.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from digest.model import taxonomy
from digest.model.errors import QueryError
from digest.query.fields import (
    NO_OPERATOR,
    OPERATOR_WITHIN,
    WORD,
    find_fields,
    write_dates,
    write_field,
    write_term,
)
from digest.query.pasted import read_pasted
from digest.query.tokens import CURLY_QUOTES, PREFIXES, QuerySource
from digest.query.tree import Prefix

_OUR_PREFIX = "(?:" + "|".join(PREFIXES) + ")"
_PREFIX_FIRST = re.compile(rf"[\s\"'(-]*(?i:{'|'.join(PREFIXES)})\s*:")
_ADDRESS_WITHIN = re.compile(
    r"(?:https?://[\w.-]{0,40}arxiv\.org/|search_query=|id_list=)[^\s\"'<>]+"
)

_GROUP = r"\((?:[^()]|\([^()]*\))*+\)"
"""A pair of parentheses with what is in them, other pairs too."""
_TERM_BEFORE = (
    rf"(?<![\w\"'’*.:/-])(?P<term>\"[^\"]*\"|{_GROUP}|\d{{4}}:\d{{4}}|{WORD}(?:[ ]{WORD}){{0,7}})"
)
"""The term before a mark that names its field: a phrase, a group, years, or some words."""
_TERM_AFTER = (
    rf"(?P<term>\"[^\"]*\"|{_GROUP}"
    rf"|{NO_OPERATOR}[^\s()\",;]++(?:[ ](?!\w+[ ]*[:=]){WORD}(?![:=/(\[])){{0,7}})"
)
"""The term after the name of a field: a phrase, a group, or some words."""
_VALUE = rf"\"[^\"]*\"|{_GROUP}|[^\s()\"=:/,;][^\s()\",;]*+"
_OPERAND = rf"(?:[A-Za-z]+:)?(?:\"[^\"]*\"|{_GROUP}|{NO_OPERATOR}[^\s()\"]++)"
"""What stands beside an operator: a phrase, a group or a word, with a prefix or without."""
_SPIRES_PART = re.compile(
    r"(\A\s*|\s(?:and not|and|or|not)\s+)(\w+) +([<>]=?)?(.+?)(?=\s(?:and|or|not)\s|\Z)",
    re.IGNORECASE,
)
"""An operator, a field, a sign and a term."""
_ARCHIVE = "|".join(sorted(taxonomy.ARCHIVES, key=len, reverse=True))

_BEFORE_WORDS = "A field goes before its words"
_WITH_A_COLON = "A field is written before a colon"
_OTHER_NAME = "This field has another name here"
_OTHER_DATES = "Dates are written in another way"
_OTHER_SPIRES = "SPIRES's fields are written in another way"
_NO_OPERATOR_HERE = "There is no such operator"
_NO_WORD_BEFORE = r"(?<![\w:./,-])"

_HIDDEN = re.compile(
    rf"""
    "(?P<caret>\^?)[^"]*"                                       # "tail latency", "^Serre"
    | [{CURLY_QUOTES}][^{CURLY_QUOTES}"]*[{CURLY_QUOTES}"]      # “tail latency”
    | (?P<unquoted>
        \$[^$]*\$                                               # $x^2$
        | (?<![^\s()])[^\s()\\]*+\\[^\s()]*                     # Erd\H{{o}}s
        | (?:
            (?i:\b(?:doi|id|arxiv)\s*:\s*)                      # arXiv:2603.00001
            | \b10\.(?=\d{{4,}}/)                               # 10.1103/PhysRevLett.116.061102
          )
          [^\s()\[\]"](?:[^\s()\[\]"]|\([^\s()"]*\))*
        | (?i:submitteddate|lastupdateddate)\s*:\s*\[[^\[\]]*\] # submittedDate:[2025 TO 2026]
      )
    """,
    re.VERBOSE,
)
"""Where no form is looked for."""
_DANGLING = re.compile(
    r"""
    (?<!\s)\s++(?:AND|OR|NOT|ANDNOT)\s*+(?=\)|\Z)   # (a OR )
    | (?:\A|(?<=\())\s*+(?:AND|OR)\s++              # ( AND a)
    """,
    re.VERBOSE,
)
"""Operators that have nothing beside them once a form was left out."""
_BULLET = re.compile(
    r"""
    (^)[ \t]*
    (?:
        [-*+>•·▪◦‣●○■]              # - entry
        | \(?\d{1,3}[.)]            # 1. entry, (1) entry
        | \[\d{1,3}\]               # [1] entry
        | \(?[a-z][.)]              # a) entry
    )
    [ \t]+
    """,
    re.MULTILINE | re.VERBOSE,
)
_LAST_OF_LIST = re.compile(r"([,;])\s*(?:and/or|and|or)\b")
_LIST_EDGE = re.compile(r"\b(?:and|or|not|andnot)\b|[()]", re.IGNORECASE)
"""Where a list ends: at an operator or a parenthesis."""
_ENTRY = re.compile(
    r"""
    (?![•·▪◦‣●○■/][ ])
    [^\s,;]
    (?:
        [^\s,;]
        | [,;](?=\d)                                    # 1,2-dichloroethane
        | [ \x00-\x08\x0e-\x1f](?![•·▪◦‣●○■/][ ])       # tail latency, but not: tail · latency
    )*
    """,
    re.VERBOSE,
)
_AUTHOR_FIRST = re.compile(r"\s*au(?:thor)?\s*:\s*[^\s\"(]", re.IGNORECASE)
_PREFIX_OF_ENTRY = re.compile(rf"(?is)((?:{'|'.join(PREFIXES)})\s*:\s*)?(.*)")
_WITH_MEANING = re.compile(rf"[\"{CURLY_QUOTES}:=()$\\]")
"""A sign with a meaning in a query or in TeX: an entry that has one stays as it is."""
_SAID_OF_LIST = "This list does not say if one entry is enough, or all are needed"
_SAID_OF_EXCLUDED = "A - before each entry of a list may mean NOT, or nothing"
_MOST_ROUNDS = 20
_LONGEST_SHOWN = 60
_LONGEST_HINT = 300

_Write: TypeAlias = Callable[[Mapping[str, str]], str | None]
"""Takes the groups of a pattern by name, and returns our words; None if this is no foreign form."""


def _write_in_field(parts: Mapping[str, str]) -> str | None:
    """Return a term in our field; None if its field is ours already, or unknown."""
    field = parts["field"]
    sign = parts.get("sign", "")
    is_ours = field.strip('"').casefold() in PREFIXES and sign == ":"
    return None if is_ours else write_field(field, parts["term"], sign)


def _write_date_field(parts: Mapping[str, str]) -> str | None:
    """Return the dates of a field; None if it is no field of dates."""
    field = parts["field"]
    if find_fields(field) != (Prefix.SUBMITTED,):
        return None
    sign = parts["sign"].strip(": ").removeprefix("=")
    return write_dates(sign or field, parts["term"])


def _write_group(parts: Mapping[str, str]) -> str:
    """Return what is in square brackets or braces as a group, or as one value."""
    inner = (parts.get("term") or parts["braced"]).strip()
    has_operator = OPERATOR_WITHIN.search(inner) is not None
    written = f"({inner})" if has_operator else write_term(inner)
    return parts.get("mark", "") + written


def _write_alternatives(parts: Mapping[str, str]) -> str:
    """Return words with | between them as alternatives, each with the prefix before the first."""
    prefix = parts.get("mark", "")
    words = re.findall(r"[^|]+", parts["term"])
    named = [word if ":" in word else prefix + word for word in words]
    return f"({' OR '.join(named)})"


def _write_oai_set(parts: Mapping[str, str]) -> str | None:
    """Return the category that a set of OAI-PMH is, such as `physics:hep-th`."""
    *_, archive, subject = parts["term"].split(":")
    name = subject if taxonomy.is_archive(subject) else f"{archive}.{subject}"
    is_known = taxonomy.is_category(name) or taxonomy.is_archive(name)
    return f"cat:{name}" if is_known else None


def _write_named_query(parts: Mapping[str, str]) -> str | None:
    """Return a query without the name it was given; None if what has the name is no query."""
    value = parts["term"].strip()
    is_named = parts["field"].casefold() not in PREFIXES
    is_query = _PREFIX_FIRST.match(value) is not None
    return value.strip("\"'") if is_named and is_query else None


def _write_address(parts: Mapping[str, str]) -> str | None:
    """Return the query in an address of arXiv; None if none can be read there."""
    found = _ADDRESS_WITHIN.search(parts["term"])
    if found is None:
        return None
    try:
        pasted = read_pasted(found[0])
    except QueryError:
        return None
    return pasted[0] if pasted else None


def _write_spires(parts: Mapping[str, str]) -> str:
    """Return a query of SPIRES, part by part."""
    return _SPIRES_PART.sub(_write_spires_part, parts["term"])


def _write_spires_part(found: re.Match[str]) -> str:
    operator, field, sign, term = found.groups(default="")
    written = write_field(field, term, sign) or found[0]
    return operator.upper() + written


FORMS: list[tuple[str, re.Pattern[str], _Write]] = [
    (said, re.compile(pattern, re.DOTALL | re.VERBOSE), write)
    for said, pattern, write in (
        (
            "An address must be alone",
            r"(?P<term>\bhttps?://[\w.-]{0,40}arxiv\.org/\S+|\A\W*(?:curl|wget|GET|POST)\s.*)",
            _write_address,
        ),
        (
            "The text of a query stands without a name",
            r"""
            \A(?:[^:="]*[({]\s*)?                                   # search(
            "?(?P<field>[A-Za-z][\w.-]*)"?\s*[=:]\s*                # query=
            (?P<term>
                (?:"[^"]*"|\([^()]*\))(?=\W*\Z|\s*,)               # "abs:GPU"
                | [^"\s].*                                          # abs:GPU
            )
            .*\Z
            """,
            _write_named_query,
        ),
        (
            "Words can't be asked to be near each other",
            rf"""
            (?<![^\s(])(?P<term>{_OPERAND})\s+
            (?:
                (?:ADJ|NEAR|ONEAR|NEXT|PRE|WITHIN|AROUND|SAME)
                    (?:\s?/?\s?\d+|\(\d+\))?                        # a NEAR/3 b, a PRE(3) b
                | adj                                                # a adj b
                | (?i:
                    (?:adj|near|onear|next|pre|w|n|p)/\d+            # a w/3 b
                    | (?:adj|near)\d+                                # a adj3 b
                  )
                | /[sp]                                              # a /s b: in one sentence
                | [NW][3-9]                                          # a N5 b
                | (?<="\s)near(?=\s")                                # "a b" near "c d"
            )
            \s+(?P<other>{_OPERAND})
            """,
            "({term} AND {other})".format_map,
        ),
        (
            _NO_OPERATOR_HERE,
            rf"""
            (?<![^\s(])(?P<term>{_OPERAND})\s+
            (?:EXCEPT|MINUS|WITHOUT|BUT[ ]NOT)                       # a BUT NOT b
            \s+(?P<other>{_OPERAND})
            """,
            "({term} ANDNOT {other})".format_map,
        ),
        (
            _NO_OPERATOR_HERE,
            rf"(?<![^\s(])(?P<term>{_OPERAND})\s+XOR\s+(?P<other>{_OPERAND})",
            "(({term} ANDNOT {other}) OR ({other} ANDNOT {term}))".format_map,
        ),
        (
            "The first author alone can't be asked for",
            r"(?i:\b(?P<field>(?:first_?)?au(?:thor)?)\s*:\s*)(?P<term>\"\^[^\"]*\"|\^[^\s()\"]+)",
            lambda parts: write_field("au", parts["term"]),
        ),
        (
            "A set of OAI-PMH is a category",
            rf"""
            (?<![\w:.])(?:set\s*[=:]\s*)?
            (?P<term>(?:{_ARCHIVE})(?::[A-Za-z-]+){{1,2}})(?![\w:])  # set=physics:hep-th
            """,
            _write_oai_set,
        ),
        (
            _BEFORE_WORDS,
            r"(?<!\[)\[++(?P<field>[A-Z][A-Za-z ]++):\s*+(?P<term>[^\[\]\s][^\[\]]*+)\]+",
            _write_in_field,
        ),
        (
            _BEFORE_WORDS,
            r"(?P<term>\"[^\"]*\"\[[^\[\]]*\]\s*:\s*\"[^\"]*\")\[(?P<field>[^\[\]]*)\]",
            _write_in_field,
        ),
        (
            _BEFORE_WORDS,
            rf"{_TERM_BEFORE}\s?\[(?P<field>1?[A-Za-z]{{2}}[\w /,:&.~-]{{0,40}})\]",
            _write_in_field,
        ),
        (
            "No field has this name",
            rf"{_TERM_BEFORE}\[[A-Za-z][^\[\]]*\]",
            lambda parts: write_term(parts["term"]),
        ),
        (
            _BEFORE_WORDS,
            rf"{_TERM_BEFORE}\s?\.(?P<field>[a-z]{{2}}(?:,[a-z]{{2}})*+)\.(?!\w)",
            _write_in_field,
        ),
        (
            _BEFORE_WORDS,
            rf"""
            (?!(?i:{_OUR_PREFIX}):){_TERM_BEFORE}
            :(?P<field>[a-z]{{2,3}}(?:,[a-z]{{2,3}})*+)(?![\w:*.])   # latency:ti,ab
            """,
            _write_in_field,
        ),
        (
            "Subject headings are unknown here",
            rf"(?:\bexp\s+)?{_TERM_BEFORE}/(?:(?:de|exp|mj|br|syn|dt|th|di)(?!\w)|(?=[\s)]|\Z))",
            lambda parts: write_field("mesh", parts["term"]),
        ),
        (
            _WITH_A_COLON,
            rf"(?<![\w:.-])(?P<field>[A-Z][A-Z-]++)(?:\s+|\s*=\s*|\s*:\s*)(?P<term>{_GROUP})",
            _write_in_field,
        ),
        (
            _WITH_A_COLON,
            rf"(?<![\w:.-])(?!S[UO]\()(?P<field>[A-Za-z][\w-]++)(?P<term>{_GROUP})",
            _write_in_field,
        ),
        (
            "A field is written without quotes",
            rf"(?P<field>\"[^\"]*\")\s*:\s*{_TERM_AFTER}",
            _write_in_field,
        ),
        (
            _OTHER_DATES,
            r"""
            \b(?P<field>since|after|before|until)\s+                # since 2020-05
            (?P<term>(?:19|20)\d\d(?:[-/]\d\d)*)(?![\w-])
            """,
            _write_in_field,
        ),
        (
            _OTHER_DATES,
            r"""
            (?<![\w:.])(?!(?i:submitteddate|lastupdateddate)\s*:\s*\[)
            (?P<field>[A-Za-z_]{2,}+)\s*                            # year
            (?P<sign>
                (?:[:=]\s*)?[<>]=?                                  # year:>=2020
                | =
                | :
                | \b(?:AFT|BEF|IS)\b                                # PUBYEAR AFT 2020
            )\s*
            (?P<term>
                \[[^\[\]"()]*\]                                     # [2020-2022]
                | "[^"]*"
                | [^\s()"]+
            )
            """,
            _write_date_field,
        ),
        (
            _WITH_A_COLON,
            rf"""
            {_NO_WORD_BEFORE}(?P<field>[A-Za-z][\w./,-]++)
            (?:
                \s+=\s+                                             # title = latency
                | \s+(?:any|all|exact|contains|includes)\s+(?=")    # title any "tail latency"
            )
            {_TERM_AFTER}
            """,
            _write_in_field,
        ),
        (
            _WITH_A_COLON,
            rf"(?<!=){_NO_WORD_BEFORE}(?P<field>[A-Za-z][\w./,-]++)=(?P<term>{_VALUE})",
            _write_in_field,
        ),
        (
            _OTHER_NAME,
            rf"{_NO_WORD_BEFORE}(?P<field>[A-Za-z][\w./,-]*+)(?P<sign>:)(?P<term>{_VALUE})",
            _write_in_field,
        ),
        (
            _OTHER_NAME,
            rf"{_NO_WORD_BEFORE}(?P<field>[A-Za-z][\w./,-]*+)\s*(?P<sign>:)\s+{_TERM_AFTER}",
            _write_in_field,
        ),
        (
            _WITH_A_COLON,
            rf"""
            (?:\A|(?<=\()|(?<=\bAND\s)|(?<=\bOR\s)|(?<=\bNOT\s))
            (?P<field>TI|AB|AU|SU|TX|MH|TS)\s+                      # TI latency AND AB GPU
            {_TERM_AFTER}
            """,
            _write_in_field,
        ),
        (
            _OTHER_SPIRES,
            r"""
            (?i:\A\s*(?:find|fin|f)\s+)                            # find a lindquell and t latency
            (?P<term>(?:a|ea|au|t|ti|k|j|d|date|eprint|r|title|author)\s.+)\Z
            """,
            _write_spires,
        ),
        (_OTHER_SPIRES, r"(?<=\()\s*(?P<term>t\s[^()]+)(?=\))", _write_spires),
        (
            "No part counts more than another",
            rf"""
            (?P<term>"[^"]*"|{_GROUP}|(?<![\w.^-])[A-Za-z][\w-]{{3,}}+)
            \^\d+(?:\.\d+)?(?![\w^])                               # latency^2.5
            """,
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
            rf"(?i:{_OUR_PREFIX}):+(?P<term>(?i:{_OUR_PREFIX}):[^\s()\"]+)",
            "{term}".format_map,
        ),
        (
            "These brackets have no meaning here",
            rf"""
            (?<![\w\]}}^_\\/])(?!\[\d{{1,3}}\]\s)                     # not [1], not x_{{i}}
            (?P<mark>(?:(?!(?i:submitted|lastup))(?i:{_OUR_PREFIX})\s*:\s*)?)
            (?:
                \[(?P<term>(?=[^\[\]]*?\w)[^\[\]]++)\]              # ti:[tail latency]
                | \{{(?P<braced>(?=[^{{}}]*?\w)[^{{}}]++)\}}           # ti:{{tail latency}}
            )
            (?!\w)
            """,
            _write_group,
        ),
    )
]


def _hide(found: re.Match[str]) -> str:
    """Return text as long as what is found that holds no form; what was quoted stays quoted."""
    length = len(found[0])
    if found["unquoted"]:
        return "x" * length
    inner = length - len('""')
    caret = found["caret"] or ""
    return f'"{caret.ljust(inner, "x")[:inner]}"'


class _Form(NamedTuple):
    """A form of another tool in a text: its place, what is said of it, and our words for it."""

    start: int
    end: int
    said: str
    ours: str


def _find_first(text: str) -> _Form | None:
    """Return the first form of another tool, in the order of `FORMS`; lists come last."""
    hidden = _HIDDEN.sub(_hide, text)
    for said, pattern, write in FORMS:
        for found in pattern.finditer(hidden):
            parts: dict[str, str] = {}
            for name in pattern.groupindex:
                if found[name]:
                    parts[name] = text[found.start(name) : found.end(name)]
            ours = write(parts)
            if ours is not None:
                return _Form(found.start(), found.end(), said, ours)
    return _find_list(text, hidden)


def _find_list(text: str, hidden: str) -> _Form | None:
    """Return the first list, which is read as alternatives.

    Commas, semicolons, bullets or ends of lines part its entries.
    """
    has_bullets = len(_BULLET.findall(hidden)) > 1
    if has_bullets:
        hidden = _BULLET.sub(_blank_out, hidden)
    plain = _LAST_OF_LIST.sub(_blank_out, hidden)
    start = 0
    for edge in _LIST_EDGE.finditer(plain):
        form = _read_list(text, plain, start, edge.start())
        if form is not None:
            return form
        start = edge.end()
    return _read_list(text, plain, start, len(plain))


def _read_list(text: str, plain: str, start: int, end: int) -> _Form | None:
    """Return the list in a part of a text without operators and parentheses; None if there is none.

    `plain` is the text with blanks in place of bullets, and without what is quoted.
    """
    spans: list[tuple[int, int]] = []
    for found in _ENTRY.finditer(plain, start, end):
        length = len(found[0].rstrip())
        spans.append((found.start(), found.start() + length))
    if len(spans) <= 1:
        return None
    entries = [text[first:behind].strip(" .") for first, behind in spans]
    excluded = [entry for entry in entries if entry.startswith("-")]
    if excluded and len(excluded) < len(entries):
        return None
    if ";" not in plain[start:end] and _AUTHOR_FIRST.match(entries[0]):  # `au:Lindquell, K`
        return None
    sign_before = plain[:start].strip()[-1:]
    sign_after = plain[end:].strip()[:1]
    ours = _write_list(entries)
    is_whole_group = (sign_before, sign_after) in (("", ""), ("(", ")"))
    if not is_whole_group:
        ours = f"({ours})"
    said = _SAID_OF_EXCLUDED if excluded else _SAID_OF_LIST
    return _Form(spans[0][0], spans[-1][1], said, ours)


def _blank_out(found: re.Match[str]) -> str:
    """Return the first group, and blanks in place of the rest of what is found."""
    return found[1].ljust(len(found[0]))


def _write_list(entries: list[str]) -> str:
    """Return the entries of a list as alternatives; of several fields, as what is needed together.

    A prefix before the first alone is the prefix of all.
    """
    prefixes: list[str] = []
    written: list[str] = []
    for entry in entries:
        found = _PREFIX_OF_ENTRY.match(entry.lstrip("-").strip())
        if found is not None:  # as for every text
            prefix = found[1] or ""
            prefixes.append(prefix)
            written.append(prefix + _write_entry(found[2], prefix))
    first_prefix = prefixes[0]
    is_shared = not any(prefixes[1:])
    if first_prefix and is_shared:
        values = [clause.removeprefix(first_prefix) for clause in written]
        return f"{first_prefix}({' OR '.join(values)})"
    fields = set(prefixes) - {""}
    operator = " AND " if len(fields) > 1 else " OR "
    return operator.join(written)


def _write_entry(value: str, prefix: str) -> str:
    """Return the value of an entry, to be written after its prefix."""
    if not prefix and taxonomy.is_category(value):
        return f"cat:{value}"
    return value if _WITH_MEANING.search(value) else write_term(value)


def refuse_foreign(source: QuerySource, has_remarks: Callable[[str], bool]) -> None:
    """Refuse a query with a form of another tool, and show the query, or that form, as we write it.

    `has_remarks` says if there is a remark on a text, or an error in it.
    """
    first = _find_first(source.text)
    if first is None:
        return
    whole, is_all_ours = _write_all(source.text, first)
    ours = first.ours
    if is_all_ours and len(whole) <= _LONGEST_HINT and not has_remarks(whole):
        ours = whole
    hint = f"Write {ours}." if ours else "Leave it out."
    end = min(first.end, first.start + _LONGEST_SHOWN)
    shown = " ".join(source.text[first.start : end].split())
    fixed = whole if is_all_ours else ""
    source.fail(first.start, f"{first.said}: {shown}", hint, instead=fixed, form=ours)


def _write_all(text: str, first: _Form) -> tuple[str, bool]:
    """Return a text with our words for each form in it, and whether no form is left."""
    form: _Form | None = first
    for _ in range(_MOST_ROUNDS):
        if form is None:
            break
        replaced = text[: form.start] + form.ours + text[form.end :]
        text = _DANGLING.sub("", replaced).strip()
        form = _find_first(text)
    return text, form is None
