"""Papers as BibTeX and RIS, read again by readers that are not ours."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import rispy
from hypothesis import given, settings
from hypothesis import strategies as st
from pybtex.database import Entry, parse_string

from digest.model.papers import Author, Paper
from digest.render.references import (
    WrittenName,
    cut_name,
    escape,
    make_key,
    write_bibtex,
    write_ris,
    write_tex,
)
from digest.render.text import show_plain
from tests.conftest import IS_NIGHTLY
from tests.unit.made_up import make_paper
from tests.unit.render.injections import REFERENCES, TEX

FULL = make_paper(
    "2611.14886",
    version=2,
    title=r"Shared GPUs at $10^{-3}$ s: 50\% of R\&D, in Erd\H{o}s graphs",
    abstract="Costs {5} and\n$O(n)$ more.",
    authors=(
        "Keiko M. Lindquell",
        "Ludwig van Beethoven",
        "John Smith, Jr.",
        "The Crate Collaboration",
    ),
    categories=("cs.PF", "math.CO"),
    published=datetime(2025, 12, 31, 23, 0, tzinfo=UTC),
    journal_ref="J. Queues 3 (2026) 1",
    dois=("10.1000/made_1.x",),
    report_no="TR_7",
)

UNDO = {r"\textbackslash{}": "\\", r"\textbraceleft{}": "{", r"\textbraceright{}": "}"}
UNDO |= {
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    **{f"\\{sign}": sign for sign in "$&%#_"},
}
BIBTEX_FIELDS = {
    "title",
    "year",
    "month",
    "eprint",
    "archivePrefix",
    "primaryClass",
    "doi",
    "url",
    "reportnumber",
    "note",
    "abstract",
}
UNDOING = re.compile("|".join([*map(re.escape, UNDO), "[{}]"]))


def read_tex(text: str) -> str:
    """Return what TeX would print of a text without formulas."""
    text = re.sub(r"\\ensuremath\{(\\\w+)\}", lambda sign: show_plain(f"${sign[1]}$"), text)
    return UNDOING.sub(lambda match: UNDO.get(match[0], ""), text)


def read_bibtex_entries(papers: list[Paper], *, with_abstracts: bool = False) -> dict[str, Entry]:
    """Write papers as BibTeX, and return the entries that pybtex reads in it, each by its key."""
    written = write_bibtex(papers, with_abstracts=with_abstracts)
    return dict(parse_string(written, "bibtex").entries)


def read_ris(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rispy.loads(text)
    return found


def test_every_field_of_bibtex_is_read_as_it_is() -> None:
    entries = read_bibtex_entries([FULL], with_abstracts=True)
    ((key, entry),) = entries.items()
    assert key == "Lindquell2025-2611.14886"
    assert entry.type == "misc"
    fields = dict(entry.fields)
    assert fields == {
        "title": r"Shared {GPUs} at {$10^{-3}$} s: 50\% of {R\&D,} in {Erdős} graphs",
        "year": "2025",
        "month": "December",
        "eprint": "2611.14886",
        "archivePrefix": "arXiv",
        "primaryClass": "cs.PF",
        "doi": "10.1000/made_1.x",
        "url": "https://arxiv.org/abs/2611.14886v2",
        "reportnumber": r"TR\_7",
        "note": "version 2; J. Queues 3 (2026) 1",
        "abstract": "Costs {5} and $O(n)$ more.",
    }
    authors = []
    for person in entry.persons["author"]:
        given = person.first_names + person.middle_names
        author = (given, person.prelast_names, person.last_names, person.lineage_names)
        authors.append(author)
    assert authors == [
        (["Keiko", "M."], [], ["Lindquell"], []),
        (["Ludwig"], ["van"], ["Beethoven"], []),
        (["John"], [], ["Smith"], ["Jr."]),
        ([], [], ["{The Crate Collaboration}"], []),
    ]


def test_every_field_of_ris_is_read_as_it_is() -> None:
    written = write_ris([FULL], with_abstracts=True)
    (entry,) = read_ris(written)
    authors = [
        "Lindquell, Keiko M.",
        "van Beethoven, Ludwig",
        "Smith, John, Jr.",
        "The Crate Collaboration",
    ]
    assert entry == {
        "type_of_reference": "UNPB",
        "id": "Lindquell2025-2611.14886",
        "title": "Shared GPUs at 10⁻³ s: 50% of R&D, in Erdős graphs",
        "authors": authors,
        "year": "2025",
        "date": "2025/12/31/",
        "publisher": "arXiv",
        "accession_number": "arXiv:2611.14886",
        "doi": "10.1000/made_1.x",
        "urls": ["https://arxiv.org/abs/2611.14886v2"],
        "keywords": ["cs.PF", "math.CO"],
        "notes": ["version 2; J. Queues 3 (2026) 1"],
        "abstract": "Costs {5} and O(n) more.",
    }


def test_ris_lines_end_as_its_specification_says() -> None:
    text = write_ris([FULL, make_paper()])
    assert text.startswith("TY  - UNPB\r\n")
    assert text.endswith("ER  - \r\n")
    assert text.count("\n") == text.count("\r\n")


def test_a_paper_given_twice_is_written_once() -> None:
    other = make_paper()
    papers = [FULL, other, replace(FULL, version=3)]
    keys = list(read_bibtex_entries(papers))
    assert keys == [make_key(FULL), make_key(other)]
    listed = read_ris(write_ris(papers))
    assert len(listed) == 2


@pytest.mark.parametrize(
    ("id_", "authors", "key"),
    [
        ("2611.15012", ("Ada Müller",), "Muller2026-2611.15012"),
        ("2611.15012", ("Nils Ødegård",), "Odegard2026-2611.15012"),
        ("2611.15012", ("Sam McIntyre",), "McIntyre2026-2611.15012"),
        ("2611.15012", ("The Crate Collaboration",), "Crate2026-2611.15012"),
        ("2611.15012", ("李明",), "arXiv2026-2611.15012"),
        ("2611.15012", (), "arXiv2026-2611.15012"),
        ("hep-th/9901001", ("Ada de la Cruz",), "delaCruz2026-hep-th.9901001"),
    ],
)
def test_a_key_is_made_of_author_year_and_id(id_: str, authors: tuple[str, ...], key: str) -> None:
    paper = make_paper(id_, authors=authors)
    newer = replace(paper, version=3, updated=datetime(2030, 1, 1, tzinfo=UTC), title="Other")
    assert make_key(paper) == key
    assert make_key(newer) == key


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("Keiko M. Lindquell", WrittenName("Lindquell", "Keiko M.")),
        ("Lindquell, Keiko", WrittenName("Lindquell", "Keiko")),
        ("Maria de la Cruz", WrittenName("de la Cruz", "Maria")),
        ("Adrian Del Maestro", WrittenName("Del Maestro", "Adrian")),
        ("John Smith III", WrittenName("Smith", "John", "III")),
        ("Smith, Jr., John", WrittenName("Smith", "John", "Jr.")),
        ("Plato", WrittenName("Plato")),
        ("李 明", WrittenName("李", "明")),
        ("김 민준", WrittenName("김", "민준")),
        ("山田 たろう", WrittenName("山田", "たろう")),
        ("李明", WrittenName("李明")),
        ("Ming 李", WrittenName("李", "Ming")),
        ("ATLAS Collaboration", WrittenName("ATLAS Collaboration", is_group=True)),
        (",", WrittenName(",", is_group=True)),
    ],
)
def test_a_name_is_cut_into_last_and_given(name: str, cut: WrittenName) -> None:
    assert cut_name(name) == cut


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Smith and Sons Collaboration", ["{Smith and Sons Collaboration}"]),
        ("Ann And", ["And"]),
        ("a} and {b c", [r"{a\textbraceright{} and \textbraceleft{}b c}"]),
    ],
)
def test_a_name_with_and_in_it_stays_one_name(name: str, written: list[str]) -> None:
    paper = make_paper(authors=(name,))
    (entry,) = read_bibtex_entries([paper]).values()
    (person,) = entry.persons["author"]
    is_whole = str(person) == f"{{{escape(name)}}}"
    assert is_whole or person.last_names[-1:] == written


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        (r"On $\Omega(n \log n)$ time", r"On {$\Omega(n \log n)$} time"),
        (r"$O(n)$-approximations", r"{$O(n)$}-approximations"),
        (r"Sets $\{x\}$", r"Sets {$\lbrace x\rbrace $}"),
        (r"For $7s~{^2}S$ states", r"For {$7s~{^2}S$} states"),
        *(("A {B c} d", "A {{B} c} d"), ("GPU kernels", "{GPU} kernels")),
        ("A {B c", r"A {\textbraceleft{}B} c"),
        ("It costs $5 and $6", r"It costs \$5 and \$6"),
        (
            r"An $\input{/x}$ in $a$",
            r"An \textbackslash{}input\textbraceleft{}/x\textbraceright{} in {$a$}",
        ),
        (
            r"The {\gamma}-rays, λ \to ∞",
            (
                r"The {\ensuremath{\gamma}}-rays, "
                r"{\ensuremath{\lambda}} {\ensuremath{\to}} {\ensuremath{\infty}}"
            ),
        ),
        (r"Half a $x^{2$ formula", r"Half a x\textasciicircum{}\textbraceleft{}2 formula"),
        ("100% @home #1 ~x", r"100\% @home \#1 \textasciitilde{}x"),
        (r"Erd\H{o}s and Schr\"odinger", "Erdős and {Schrödinger}"),
    ],
)
def test_formulas_stay_tex_where_they_are_whole_and_known(raw: str, written: str) -> None:
    assert write_tex(raw, protects_capitals=True) == written


def _papers(text: str) -> list[Paper]:
    """Return one paper per field, each with the text in that field alone."""
    fields: list[dict[str, Any]] = [
        {"title": text},
        {"abstract": text},
        {"authors": (Author(text), Author("Bo Sample"))},
        {"authors": (Author(f"Ada {text}"), Author(f"{text}, Ada"))},
        {"journal_ref": text},
        {"report_no": text},
        {"dois": (text, f"10.1000/{text}")},
        {"categories": (text, "cs.PF")},
        {"comment": text},
        {"license": text},
    ]
    return [make_paper(f"2611.{number:05d}", **values) for number, values in enumerate(fields, 1)]


def drop_braces(raw: str) -> str:
    """Return a text as TeX prints it, which takes braces for its own."""
    return show_plain(raw).replace("{", "").replace("}", "")


def check(papers: list[Paper]) -> None:
    check_bibtex(papers)
    check_ris(papers)


def check_bibtex(papers: list[Paper]) -> None:
    written = write_bibtex(papers, with_abstracts=True)
    for line in written.splitlines():
        assert re.fullmatch(r"@misc\{[!-~]+,|  \w+ += .*|\}|", line), line
    entries = list(read_bibtex_entries(papers, with_abstracts=True).values())
    assert [entry.fields["eprint"] for entry in entries] == [str(paper.id) for paper in papers]
    for paper, entry in zip(papers, entries, strict=True):
        assert set(entry.fields) <= BIBTEX_FIELDS
        named = [author for author in paper.authors if show_plain(author.name)]
        assert len(entry.persons.get("author", ())) == len(named)
        if "$" not in paper.title:
            title = read_tex(entry.fields.get("title", ""))
            plain = show_plain(paper.title)
            without_braces = drop_braces(paper.title)
            assert title.split() in (plain.split(), without_braces.split())


def check_ris(papers: list[Paper]) -> None:
    listed = read_ris(write_ris(papers, with_abstracts=True))
    numbers = [entry["accession_number"] for entry in listed]
    assert numbers == [f"arXiv:{paper.id}" for paper in papers]
    for paper, found in zip(papers, listed, strict=True):
        assert found["type_of_reference"] == "UNPB"
        title = found.get("title", "")
        assert title.split() == show_plain(paper.title).split()
        assert "unknown_tag" not in found


@pytest.mark.parametrize("text", [*REFERENCES, *TEX, "←", ", ,", "$}$ {$ ${", "%\n@comment{ x"])
def test_nothing_written_for_a_reference_manager_leaves_its_field_either(text: str) -> None:
    check(_papers(text))


@settings(max_examples=50 if IS_NIGHTLY else 15)
@given(
    st.text(
        alphabet=st.one_of(st.sampled_from('{}\\$%&#_^~@",= \n-and'), st.characters()), max_size=40
    )
)
def test_whatever_is_written_every_entry_is_read_back(text: str) -> None:
    check(_papers(text))
