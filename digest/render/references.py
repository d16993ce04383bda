"""Writes papers as BibTeX and RIS."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from digest.model.papers import ArxivId, Author, Paper
from digest.query.names import PARTICLES, is_generation
from digest.query.words import fold
from digest.render.text import clean_markup, clean_text, show_plain
from digest.tex import to_plain
from digest.tex.symbols import BIG_OPERATORS, GREEK, OPERATORS, RELATIONS
from digest.tex.tokens import find_formulas

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
    for name, sign in zip(
        _SIGNS[-2::-2], _SIGNS[::-2], strict=True
    )  # of several names the first is kept
    if sign > "ÿ" and name not in _LIKE_LATIN
} | _ESCAPES
_ESCAPES_WITHIN_GROUPS = {
    sign: text for sign, text in _ESCAPES_IN_WORDS.items() if sign not in map(ord, "{}")
}
_WORD = re.compile(r"\S+")
_AND = re.compile(r"(?:\A|\s)and(?:\s|\Z)", re.IGNORECASE)
_OUTSIDE_TEX = re.compile(r"[%#&@\"]|[^\x20-\x7e]")
"""What no formula needs, or what another's preamble may give another meaning."""

_BRACES = re.compile(r"\\([{}])")
_LONGEST_ABSTRACT = 20_000

_DOI = re.compile(r"10\.[0-9]{4,9}/[!-~]+")
"""What may be in an address: printable ASCII without blanks."""

_NO_DOI = re.compile(r'["%<>\\^`{|}]')
_EAST_ASIAN = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af]+"
)
"""Chinese, Japanese and Korean in their own scripts, in which the last name is written first."""

_GROUPS = frozenset(("collaboration", "collaborations", "consortium", "group", "team"))
"""Last words of an author's name that is no person's."""

_GROUP_STARTS = frozenset(("the", "on", "for"))


def write_bibtex(papers: Iterable[Paper], *, with_abstracts: bool = False) -> str:
    """Return papers as the text of a `.bib` file, in the order given; "" for none."""
    return "\n".join(
        _write_entry(paper, with_abstracts=with_abstracts) for paper in drop_repeated(papers)
    )


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
        "note": _write_note(paper, write_tex),
        "abstract": write_tex(paper.abstract[:_LONGEST_ABSTRACT]) if with_abstracts else "",
    }
    lines = [f"  {name:<13} = {{{value}}}" for name, value in fields.items() if value]
    lines.insert(
        lines.index(f"  {'year':<13} = {{{fields['year']}}}") + 1,
        f"  {'month':<13} = {_MONTHS[paper.published.month - 1]}",
    )
    body = ",\n".join(lines)
    return f"@misc{{{make_key(paper)},\n{body}\n}}\n"


def _write_note(paper: Paper, write: Callable[[str], str]) -> str:
    """Say which version is cited, and in which journal it came out: `@misc` has no field for that."""
    version = f"version {paper.version}" + (", withdrawn" if paper.is_withdrawn else "")
    return f"{version}; {write(paper.journal_ref)}" if paper.journal_ref else version


def _write_name(name: WrittenName) -> str:
    parts = [name.last, name.generation, name.given]
    written = ", ".join(escape(part) for part in parts if part)
    if name.is_group or not name.given or _AND.search(written):
        whole = escape(" ".join(part for part in (name.given, name.last, name.generation) if part))
        return f"{{{whole}}}"
    return written


def write_tex(raw: str, *, protects_capitals: bool = False) -> str:
    """Return raw text with its formulas as TeX and the rest escaped; the braces are always balanced.

    `protects_capitals` puts words with capitals, and formulas, between braces.
    """
    text = raw.replace("\n", " ").replace("\t", " ")
    parts: list[str] = []
    end = 0
    for start, (_, after) in sorted(find_formulas(text).items()):
        if start < end:
            continue  # a formula within words within a formula
        formula = _write_formula(text[start:after])
        if formula:
            parts += [
                _write_words(
                    text[end:start], is_first=end == 0, protects_capitals=protects_capitals
                )
            ]
            parts += [f"{{{formula}}}" if protects_capitals else formula]
            end = after
    parts.append(_write_words(text[end:], is_first=end == 0, protects_capitals=protects_capitals))
    return clean_text("".join(parts))


def _write_formula(raw: str) -> str:
    """Return a formula as TeX; "" if it is not understood to the last command or its braces don't pair."""
    formula = _BRACES.sub(lambda brace: r"\lbrace " if brace[1] == "{" else r"\rbrace ", raw)
    plain = to_plain(raw)
    if not plain or "\\" in plain or "$" in plain or _OUTSIDE_TEX.search(formula):
        return ""
    return formula if _is_balanced(formula) else ""


def _is_balanced(text: str) -> bool:
    depths = [*accumulate(((letter == "{") - (letter == "}") for letter in text), initial=0)]
    return min(depths) == depths[-1] == 0


def _write_words(raw: str, *, is_first: bool, protects_capitals: bool) -> str:
    plain = clean_markup(to_plain(raw)).strip()
    plain = (
        f"{' ' * raw[:1].isspace()}{plain}{' ' * raw[-1:].isspace()}" if plain else " " * bool(raw)
    )
    # Braces around words are TeX's own, and most likely there for BibTeX; those of an unknown
    # command are not.
    escapes = (
        _ESCAPES_WITHIN_GROUPS if "\\" not in plain and _is_balanced(plain) else _ESCAPES_IN_WORDS
    )
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


@dataclass(frozen=True, slots=True)
class WrittenName:
    """An author's name in plain Unicode, cut as reference managers want it.

    Attributes:
        last: the last name with its particles; a group's whole name.
        given: given names and initials as printed, "" for a group or a single name.
        generation: such as `Jr.`, "" for none.
    """

    last: str
    given: str = ""
    generation: str = ""
    is_group: bool = False


def write_names(authors: Iterable[Author]) -> list[WrittenName]:
    """Cut the authors' names, in order; names without any character to show are left out."""
    names = (show_plain(author.name) for author in authors)
    return [cut_name(name) for name in names if name]


def cut_name(name: str) -> WrittenName:
    """Cut a plain name as printed, `Ludwig van Beethoven`, `Beethoven, Ludwig` or `李 明`, into its parts."""
    words = name.split()
    if fold(words[-1].strip(".,:;()")) in _GROUPS:
        return WrittenName(name, is_group=True)
    pieces = [piece.strip() for piece in name.split(",") if piece.strip()]
    generation = next((piece for piece in pieces[1:] if is_generation(piece)), "")
    pieces = [piece for piece in pieces if piece != generation]
    if not pieces:
        return WrittenName(name, is_group=True)
    if len(pieces) > 1:
        return WrittenName(pieces[0], " ".join(pieces[1:]), generation)
    words = pieces[0].split()
    if len(words) > 1 and all(map(_EAST_ASIAN.fullmatch, words)):
        return WrittenName(words[0], " ".join(words[1:]), generation)
    while len(words) > 1 and is_generation(words[-1]):
        generation = words.pop()
    start = len(words) - 1
    while start > 1 and fold(words[start - 1].strip(".")) in PARTICLES:
        start -= 1
    return WrittenName(" ".join(words[start:]), " ".join(words[:start]), generation)


def make_key(paper: Paper) -> str:
    """Return a paper's citation key, `Lindquell2026-2611.14886`: first author, year of version 1, id.

    The id makes it unique. A new version changes it only if it has another first author.
    """
    names = write_names(paper.authors[:1])
    name = _spell_ascii(names[0]) if names else ""
    return f"{name or 'arXiv'}{paper.published.year}-{str(paper.id).replace('/', '.')}"


def _spell_ascii(name: WrittenName) -> str:
    words = name.last.split()
    if name.is_group:
        words = [word for word in words if fold(word) not in _GROUP_STARTS][:1]
    folded = ((fold(letter), letter.isupper()) for letter in "".join(words))
    letters = "".join(text.capitalize() if is_upper else text for text, is_upper in folded)
    return "".join(letter for letter in letters if letter.isascii() and letter.isalpha())


def find_doi(paper: Paper) -> str:
    """Return the first DOI that can be written as it is; "" if there is none."""
    return next((doi for doi in paper.dois if _DOI.fullmatch(doi) and not _NO_DOI.search(doi)), "")


def drop_repeated(papers: Iterable[Paper]) -> list[Paper]:
    """Return every paper once, as it came first: two entries must not have one key."""
    first: dict[ArxivId, Paper] = {}
    for paper in papers:
        first.setdefault(paper.id, paper)
    return list(first.values())


def write_ris(papers: Iterable[Paper], *, with_abstracts: bool = False) -> str:
    """Return papers as the text of a `.ris` file, in the order given; "" for none."""
    return "".join(
        _write_record(paper, with_abstracts=with_abstracts) for paper in drop_repeated(papers)
    )


def _write_record(paper: Paper, *, with_abstracts: bool) -> str:
    fields = [
        ("ID", make_key(paper)),
        ("TI", show_plain(paper.title)),
        *(("AU", _write_name_ris(name)) for name in write_names(paper.authors)),
        ("PY", str(paper.published.year)),
        ("DA", f"{paper.published:%Y/%m/%d}/"),
        ("PB", "arXiv"),
        ("AN", f"arXiv:{paper.id}"),
        ("DO", find_doi(paper)),
        ("UR", paper.url),
        *(("KW", clean_text(category).replace("*", "")) for category in paper.categories),
        ("N1", _write_note(paper, show_plain)),
        ("AB", show_plain(paper.abstract) if with_abstracts else ""),
    ]
    lines = [f"{tag}  - {value}\r\n" for tag, value in fields if value]
    return "".join(["TY  - UNPB\r\n", *lines, "ER  - \r\n"])


def _write_name_ris(name: WrittenName) -> str:
    """Return `Last, First, Jr.`; a group's name has no commas, which would cut it."""
    if name.is_group or not name.given:
        whole = " ".join(part for part in (name.given, name.last, name.generation) if part)
        return clean_text(whole.replace(",", " ").replace("*", ""))
    parts = (name.last, name.given, name.generation)
    return ", ".join(part.replace("*", "").replace(",", " ") for part in parts if part)


FORMATS = {
    "bib": (write_bibtex, "application/x-bibtex; charset=utf-8"),
    "ris": (write_ris, "application/x-research-info-systems; charset=utf-8"),
}
"""The function that writes papers, and its media type, by the ending of a file."""
