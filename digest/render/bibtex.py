r"""Papers as BibTeX, one `@misc` each, in UTF-8.

The fields are those arXiv itself writes (`eprint`, `archivePrefix`, `primaryClass`,
https://info.arxiv.org/help/hypertex/bibstyles/index.html), from which JabRef, Zotero and biblatex know a
preprint. Formulas stay TeX; all else is plain Unicode with what TeX would act upon escaped. Greek letters and
signs of formulas become TeX, since pdflatex drops them, in the form ADS writes. BibTeX counts
braces whatever stands before them, so that none is ever written alone. A title's capitals are braced, since
styles would lower them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.render.cleaning import clean_markup, clean_text
from digest.render.references import drop_repeated, find_doi, make_key, write_names
from digest.tex import to_plain
from digest.tex.dollars import find_formulas
from digest.tex.symbols import BIG_OPERATORS, GREEK, OPERATORS, RELATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from digest.papers import Paper
    from digest.render.references import WrittenName

MEDIA_TYPE = "application/x-bibtex; charset=utf-8"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "$": r"\$",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
    }
)
_SIGNS = f"{GREEK} {RELATIONS} {OPERATORS} {BIG_OPERATORS} infty ∞ partial ∂ nabla ∇ surd √".split()
_LIKE_LATIN = {
    *("Alpha", "Beta", "Epsilon", "Zeta", "Eta", "Iota", "Kappa"),
    *("Mu", "Nu", "Omicron", "Rho", "Tau", "Chi", "omicron"),
}
"""Greek letters that look like Latin ones; TeX has no commands for them."""

_ESCAPES_IN_WORDS = {
    ord(sign): rf"{{\ensuremath{{\{name}}}}}"
    for name, sign in zip(_SIGNS[-2::-2], _SIGNS[::-2], strict=True)  # of several names the first is kept
    if sign > "ÿ" and name not in _LIKE_LATIN
} | _ESCAPES
_ESCAPES_WITHIN_GROUPS = {sign: text for sign, text in _ESCAPES_IN_WORDS.items() if sign not in map(ord, "{}")}
_WORD = re.compile(r"\S+")
_AND = re.compile(r"(?:\A|\s)and(?:\s|\Z)", re.IGNORECASE)
_OUTSIDE_TEX = re.compile(r"[%#&@\"]|[^\x20-\x7e]")
"""What a formula has no use for, or might mean something else in another's preamble."""

_BRACES = re.compile(r"\\([{}])")
_LONGEST_ABSTRACT = 20_000


def write_bibtex(papers: Iterable[Paper], *, with_abstracts: bool = False) -> str:
    """Return papers as the text of a `.bib` file, in the order given; "" for none."""
    return "\n".join(_write_entry(paper, with_abstracts=with_abstracts) for paper in drop_repeated(papers))


def _write_entry(paper: Paper, *, with_abstracts: bool) -> str:
    fields = {
        "title": write_tex(paper.title, protects_capitals=True),
        "author": " and ".join(map(_write_name, write_names(paper.authors))),
        "year": str(paper.published.year),
        "eprint": str(paper.id),
        "archivePrefix": "arXiv",
        "primaryClass": escape(clean_text(paper.primary_category)),
        "doi": find_doi(paper),
        "url": paper.url,
        "reportnumber": write_tex(paper.report_no),
        "note": "; ".join(_list_notes(paper)),
        "abstract": write_tex(paper.abstract[:_LONGEST_ABSTRACT]) if with_abstracts else "",
    }
    lines = [f"  {name:<13} = {{{value}}}" for name, value in fields.items() if value]
    lines.insert(lines.index(f"  {'year':<13} = {{{fields['year']}}}") + 1, _write_month(paper))
    return f"@misc{{{make_key(paper)},\n{_SEPARATOR.join(lines)}\n}}\n"


_SEPARATOR = ",\n"


def _write_month(paper: Paper) -> str:
    return f"  {'month':<13} = {_MONTHS[paper.published.month - 1]}"


def _list_notes(paper: Paper) -> Iterator[str]:
    """Yield the version cited, and where it came out; no journal of its own, which `@misc` does not have."""
    yield f"version {paper.version}" + (", withdrawn" if paper.is_withdrawn else "")
    if paper.journal_ref:
        yield write_tex(paper.journal_ref)


def _write_name(name: WrittenName) -> str:
    parts = [name.last, name.generation, name.given]
    written = ", ".join(escape(part) for part in parts if part)
    if name.is_group or not name.given or _AND.search(written):
        whole = escape(" ".join(part for part in (name.given, name.last, name.generation) if part))
        return f"{{{whole}}}"
    return written


def write_tex(raw: str, *, protects_capitals: bool = False) -> str:
    """Return raw text with its formulas as TeX and the rest escaped; braces are balanced whatever it holds.

    Args:
        raw: as arXiv gives it.
        protects_capitals: put words with capitals, and formulas, between braces.
    """
    text = raw.replace("\n", " ").replace("\t", " ")
    parts: list[str] = []
    end = 0
    for start, (_, behind) in sorted(find_formulas(text).items()):
        if start < end:
            continue  # a formula within words within a formula
        formula = _write_formula(text[start:behind])
        if formula:
            parts += [_write_words(text[end:start], is_first=end == 0, protects_capitals=protects_capitals)]
            parts += [f"{{{formula}}}" if protects_capitals else formula]
            end = behind
    parts.append(_write_words(text[end:], is_first=end == 0, protects_capitals=protects_capitals))
    return clean_text("".join(parts))


def _write_formula(raw: str) -> str:
    """Return a formula as TeX, "" where it is not understood to the last command or its braces don't pair."""
    formula = _BRACES.sub(lambda brace: r"\lbrace " if brace[1] == "{" else r"\rbrace ", raw)
    plain = to_plain(raw)
    if not plain or "\\" in plain or "$" in plain or _OUTSIDE_TEX.search(formula):
        return ""
    return formula if _is_balanced(formula) else ""


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return False
    return depth == 0


def _write_words(raw: str, *, is_first: bool, protects_capitals: bool) -> str:
    plain = clean_markup(to_plain(raw)).strip()
    plain = f"{' ' * raw[:1].isspace()}{plain}{' ' * raw[-1:].isspace()}" if plain else " " * bool(raw)
    # Braces around words are TeX's own, and most likely there for BibTeX; those of a command nobody knows are not.
    escapes = _ESCAPES_WITHIN_GROUPS if "\\" not in plain and _is_balanced(plain) else _ESCAPES_IN_WORDS
    if not protects_capitals:
        return plain.translate(escapes)
    first = plain.split()[:1] if is_first else []

    def write_word(match: re.Match[str]) -> str:
        word = match[0]
        is_ordinary = word.lower() == word or (first == [word] and word[1:].lower() == word[1:])
        written = word.translate(escapes)
        return written if is_ordinary else f"{{{written}}}"

    return _WORD.sub(write_word, plain)


def escape(text: str) -> str:
    r"""Return plain text as TeX that prints it: `50% of R&D` is `50\% of R\&D`."""
    return text.translate(_ESCAPES)
