"""Writes papers as BibTeX and RIS."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

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
_NAMES_AND_SIGNS = (
    f"{GREEK} {RELATIONS} {OPERATORS} {BIG_OPERATORS} infty ∞ partial ∂ nabla ∇ surd √".split()
)
"""In turn the name of a command of TeX and the sign that it prints."""

_LAST_LATIN_1 = "ÿ"
_LIKE_LATIN = {
    *("Alpha", "Beta", "Epsilon", "Zeta", "Eta", "Iota", "Kappa"),
    *("Mu", "Nu", "Omicron", "Rho", "Tau", "Chi", "omicron"),
}
"""Greek letters that look like Latin ones; TeX has no commands for them."""

_ESCAPES_IN_WORDS: dict[int, str] = {}
for _name, _sign in zip(_NAMES_AND_SIGNS[::2], _NAMES_AND_SIGNS[1::2], strict=True):
    if _sign > _LAST_LATIN_1 and _name not in _LIKE_LATIN:
        # Of several names the first is kept.
        _ESCAPES_IN_WORDS.setdefault(ord(_sign), rf"{{\ensuremath{{\{_name}}}}}")
_ESCAPES_IN_WORDS |= _ESCAPES
_ESCAPES_BUT_BRACES = {
    sign: text for sign, text in _ESCAPES_IN_WORDS.items() if chr(sign) not in "{}"
}
_WORD = re.compile(r"\S+")
_AND = re.compile(r"(?:\A|\s)and(?:\s|\Z)", re.IGNORECASE)
_NOT_IN_FORMULAS = re.compile(r"[%#&@\"]|[^\x20-\x7e]")
"""A sign that no formula needs, or that means something else in the preamble of some document."""

_LONGEST_ABSTRACT = 20_000

_DOI = re.compile(r"10\.[0-9]{4,9}/[!-~]+")
"""A DOI of printable ASCII without blanks."""

_NOT_IN_DOIS = re.compile(r'["%<>\\^`{|}]')
"""A sign of printable ASCII that may not be in an address, or that TeX would read."""

_EAST_ASIAN = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U000323af]+"
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
    authors = [_write_name(name) for name in write_names(paper.authors)]
    abstract = write_tex(paper.abstract[:_LONGEST_ABSTRACT]) if with_abstracts else ""
    fields = {
        "title": write_tex(paper.title, protects_capitals=True),
        "author": " and ".join(authors),
        "year": str(paper.published.year),
        "month": _MONTHS[paper.published.month - 1],
        "eprint": str(paper.id),
        "archivePrefix": "arXiv",
        "primaryClass": escape(clean_text(paper.primary_category)),
        "doi": find_doi(paper),
        "url": paper.url,
        "reportnumber": write_tex(paper.report_no),
        "note": _write_note(paper, write_tex),
        "abstract": abstract,
    }
    lines = []
    for name, value in fields.items():
        if name == "month":  # a word that BibTeX knows, which has no braces
            lines.append(f"  {name:<13} = {value}")
        elif value:
            lines.append(f"  {name:<13} = {{{value}}}")
    body = ",\n".join(lines)
    return f"@misc{{{make_key(paper)},\n{body}\n}}\n"


def _write_note(paper: Paper, write: Callable[[str], str]) -> str:
    """Say which version is cited, and in which journal it came out.

    `@misc` has no field for that.
    """
    note = f"version {paper.version}"
    if paper.is_withdrawn:
        note += ", withdrawn"
    if paper.journal_ref:
        note += f"; {write(paper.journal_ref)}"
    return note


def _write_name(name: WrittenName) -> str:
    """Return `Last, Jr., First`.

    A name that BibTeX would cut at another place is put between braces as it is printed.
    """
    parts = [name.last, name.generation, name.given]
    written = ", ".join(escape(part) for part in parts if part)
    if name.is_group or not name.given or _AND.search(written):
        return f"{{{escape(name.whole)}}}"
    return written


def write_tex(raw: str, *, protects_capitals: bool = False) -> str:
    """Return raw text with its formulas as TeX and the rest escaped; its braces are balanced.

    `protects_capitals` puts words with capitals, and formulas, between braces.
    """
    text = raw.replace("\n", " ").replace("\t", " ")

    def write_words(start: int, end: int) -> str:
        words = text[start:end]
        return _write_words(words, is_first=start == 0, protects_capitals=protects_capitals)

    parts: list[str] = []
    written = 0
    formulas = sorted(find_formulas(text).items())
    for start, (_, end) in formulas:  # from its first dollar to the end of its last
        if start < written:
            continue  # a formula within words within a formula
        formula = _write_formula(text[start:end])
        if formula:
            parts.append(write_words(written, start))
            parts.append(f"{{{formula}}}" if protects_capitals else formula)
            written = end
        # Else the next words hold it.
    parts.append(write_words(written, len(text)))
    return clean_text("".join(parts))


def _write_formula(raw: str) -> str:
    """Return a formula as TeX.

    "" if it is not understood to the last command, or if its braces don't pair.
    """
    plain = to_plain(raw)
    is_understood = plain and "\\" not in plain and "$" not in plain
    formula = raw.replace(r"\{", r"\lbrace ").replace(r"\}", r"\rbrace ")
    if is_understood and not _NOT_IN_FORMULAS.search(formula) and _is_balanced(formula):
        return formula
    return ""


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _write_words(raw: str, *, is_first: bool, protects_capitals: bool) -> str:
    plain = _show_words(raw)
    # Braces around words print nothing in TeX. Most likely they are there for BibTeX, and stay.
    # Those of a command that is not known are escaped.
    has_groups = "\\" not in plain and _is_balanced(plain)
    escapes = _ESCAPES_BUT_BRACES if has_groups else _ESCAPES_IN_WORDS
    if not protects_capitals:
        return plain.translate(escapes)
    first_word = next(iter(plain.split()), "") if is_first else ""

    def write_word(match: re.Match[str]) -> str:
        word = match[0]
        rest = word[1:]
        begins_title = word == first_word and rest.lower() == rest
        is_ordinary = word.lower() == word or begins_title
        written = word.translate(escapes)
        return written if is_ordinary else f"{{{written}}}"

    return _WORD.sub(write_word, plain)


def _show_words(raw: str) -> str:
    """Return the words between two formulas in plain Unicode, with blanks at the ends as one."""
    plain = clean_markup(to_plain(raw)).strip()
    if not plain:
        return " " if raw else ""
    if raw[0].isspace():
        plain = f" {plain}"
    return f"{plain} " if raw[-1].isspace() else plain


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

    @property
    def whole(self) -> str:
        """The name as it is printed."""
        return " ".join(part for part in (self.given, self.last, self.generation) if part)


def write_names(authors: Iterable[Author]) -> list[WrittenName]:
    """Cut the authors' names, in order; names without any character to show are left out."""
    names = (show_plain(author.name) for author in authors)
    return [cut_name(name) for name in names if name]


def cut_name(name: str) -> WrittenName:
    """Cut a plain name as printed into its parts.

    Such as `Ludwig van Beethoven`, `Beethoven, Ludwig` or `李 明`.
    """
    words = name.split()
    if fold(words[-1].strip(".,:;()")) in _GROUPS:
        return WrittenName(name, is_group=True)
    pieces = [piece.strip() for piece in name.split(",") if piece.strip()]
    generation = ""
    for piece in pieces[1:]:
        if is_generation(piece):
            generation = piece
            break
    pieces = [piece for piece in pieces if piece != generation]
    if not pieces:
        return WrittenName(name, is_group=True)
    if len(pieces) > 1:
        given = " ".join(pieces[1:])
        return WrittenName(pieces[0], given, generation)
    return _cut_words(pieces[0].split(), generation)


def _cut_words(words: list[str], generation: str) -> WrittenName:
    """Cut a name without commas into the last name with its particles, and the given names."""
    if len(words) > 1 and all(map(_EAST_ASIAN.fullmatch, words)):
        return WrittenName(words[0], " ".join(words[1:]), generation)
    while len(words) > 1 and is_generation(words[-1]):
        generation = words.pop()
    start = len(words) - 1
    while start > 1 and fold(words[start - 1].strip(".")) in PARTICLES:
        start -= 1
    last = " ".join(words[start:])
    given = " ".join(words[:start])
    return WrittenName(last, given, generation)


def make_key(paper: Paper) -> str:
    """Return a paper's citation key, such as `Lindquell2026-2611.14886`.

    It has the first author, the year of version 1 and the id, which makes it unique. A new version
    changes it only if it has another first author.
    """
    names = write_names(paper.authors[:1])
    author = _spell_ascii(names[0]) if names else ""
    id_ = str(paper.id).replace("/", ".")
    return f"{author or 'arXiv'}{paper.published.year}-{id_}"


def _spell_ascii(name: WrittenName) -> str:
    """Return a last name in ASCII letters; of a group its first word, without "the"."""
    words = name.last.split()
    if name.is_group:
        words = [word for word in words if fold(word) not in _GROUP_STARTS][:1]
    spelled = ""
    for letter in "".join(words):
        folded = fold(letter)
        spelled += folded.capitalize() if letter.isupper() else folded
    return "".join(letter for letter in spelled if letter.isascii() and letter.isalpha())


def find_doi(paper: Paper) -> str:
    """Return the first DOI that can be written as it is; "" if there is none."""
    for doi in paper.dois:
        if _DOI.fullmatch(doi) and not _NOT_IN_DOIS.search(doi):
            return doi
    return ""


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
    lines = ["TY  - UNPB"]

    def add(tag: str, value: str) -> None:
        if value:
            lines.append(f"{tag}  - {value}")

    add("ID", make_key(paper))
    add("TI", show_plain(paper.title))
    for name in write_names(paper.authors):
        add("AU", _write_name_ris(name))
    add("PY", str(paper.published.year))
    add("DA", f"{paper.published:%Y/%m/%d}/")
    add("PB", "arXiv")
    add("AN", f"arXiv:{paper.id}")
    add("DO", find_doi(paper))
    add("UR", paper.url)
    for category in paper.categories:
        keyword = clean_text(category).replace("*", "")
        add("KW", keyword)
    add("N1", _write_note(paper, show_plain))
    if with_abstracts:
        add("AB", show_plain(paper.abstract))
    lines.append("ER  - ")
    return "".join(f"{line}\r\n" for line in lines)


def _write_name_ris(name: WrittenName) -> str:
    """Return `Last, First, Jr.`; a group's name has no commas, which would cut it."""
    if name.is_group or not name.given:
        return clean_text(_drop_signs(name.whole))
    parts = (name.last, name.given, name.generation)
    return ", ".join(_drop_signs(part) for part in parts if part)


def _drop_signs(text: str) -> str:
    """Leave out what RIS gives a meaning: commas, and asterisks, which RIS forbids."""
    return text.replace("*", "").replace(",", " ")


FORMATS = {
    "bib": (write_bibtex, "application/x-bibtex; charset=utf-8"),
    "ris": (write_ris, "application/x-research-info-systems; charset=utf-8"),
}
"""The function that writes papers, and its media type, by the ending of a file."""
