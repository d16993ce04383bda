"""Libraries as programs write them, as people spoil them, and as no program ever wrote them."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.interest.files import read_library
from digest.model.errors import ConfigurationError
from digest.model.libraries import LibraryPaper
from digest.model.papers import ArxivId
from tests.conftest import IS_NIGHTLY

MUCH = settings(max_examples=2_000 if IS_NIGHTLY else 150, deadline=None)

TITLE = "Attention Is All You Need"
ABSTRACT = '\\"Uber $O(n_{2})$.'
PROGRAMS = {
    "Zotero": "\n@misc{vaswani_2023,\n\ttitle = {TITLE},\n\turl = {http://arxiv.org/abs/1706.03762},\n\t"
    "\n\tdoi = {10.48550/arXiv.1706.03762},\n\tabstract = {ABSTRACT},\n\tnote = {arXiv:1706.03762 [cs]},\n}\n",
    "Better BibTeX": "@online{v, title = {TITLE}, eprint = {1706.03762}, month = jan, abstract = {ABSTRACT}}",
    "JabRef": "% Encoding: UTF-8\n\n@Article{,\n  title = {TITLE},\n  journal = {arXiv:1706.03762},\n"
    "  abstract = {ABSTRACT},\n}\n\n@Comment{jabref-meta: grouping:\n0 AllEntriesGroup:;\n1 Group:a\\;0\\;;\n}\n",
    "Mendeley": "@article{V,\narxivId = {1706.03762v5},\nabstract = {ABSTRACT},\nfile={:C$\\backslash$:pdf},\n"
    "title = {TITLE}\n}\n",
    "Google Scholar": "@article{v2017,\n  title={TITLE},\n  journal={arXiv preprint arXiv:1706.03762}\n}\n",
    "Semantic Scholar": "@article{V, title={TITLE}, journal={ArXiv}, volume={abs/1706.03762},\n"
    "  url={https://api.semanticscholar.org/CorpusID:13756489}}\n",
    "INSPIRE": '%\\cite{V:2017}\n@article{V:2017,\n title = "TITLE",\n eprint = "1706.03762",\n month = "6"\n}\n',
    "RIS": "TY  - JOUR\nTI  - TITLE\nDO  - 10.48550/arXiv.1706.03762\nAB  - ABSTRACT\nER  - \n",
    "older RIS": "\n\nTY  - GEN\nT1  - TITLE\nN2  - ABSTRACT\nM1  - arXiv:1706.03762\n",
    "CSL": '[{"title": "TITLE", "abstract": "<jats:p>ABSTRACT</jats:p>", "number": "arXiv:1706.03762", "a": {}}]',
    "Zotero's JSON": '{"items": [{"title": "TITLE", "archiveID": "arXiv:1706.03762", "issued": null}]}',
    "text": "# what I read\n\nhttps://arxiv.org/pdf/1706.03762v5.pdf#page=2  # the one\n",
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("coding", "end"), [("utf-8", "\n"), ("utf-8-sig", "\n"), ("utf-16", "\n"), ("utf-8", "\r\n")]
)
def test_what_programs_write_is_read(program: str, coding: str, end: str) -> None:
    written = (
        PROGRAMS[program]
        .replace("TITLE}", f"{TITLE}}}".replace("Is", "{I}s"))
        .replace("TITLE", TITLE)
    )
    abstract = json.dumps(ABSTRACT).strip('"') if program == "CSL" else ABSTRACT
    content = written.replace("ABSTRACT", abstract).replace("\n", end).encode(coding)
    (paper,) = read_library("mine", content).papers
    assert (str(paper.arxiv_id), paper.doi) == ("1706.03762", "")
    assert paper.title == (TITLE if "TITLE" in PROGRAMS[program] else "")
    assert paper.abstract == (ABSTRACT if "ABSTRACT" in PROGRAMS[program] else "")
    assert read_library("mine", content).troubles == ()
    assert read_library("mine", content).version == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("fields", "arxiv_id", "doi"),
    [
        ("eprint = {hep-th/9901001}", "hep-th/9901001", ""),
        ("eprint = {math.GT/0309136v2}, archiveprefix = {arXiv}", "math/0309136", ""),
        (
            "url = {http://arxiv.org/abs/2101.00001v2}, doi = {10.1103/Phys.9.1}",
            "2101.00001",
            "10.1103/phys.9.1",
        ),
        ("note = {arXiv:2101.00001v2 [cs.LG]}", "2101.00001", ""),
        ("howpublished = {\\url{https://arxiv.org/pdf/2101.00001}}", "2101.00001", ""),
        ("eprint = {12345678}, eprinttype = {pubmed}, pages = {1004--1012}", None, ""),
        ("eprint = {2101.0001}", None, ""),
        (
            "doi = {https://doi.org/10.1016/S0140-6736(05)66912-7}",
            None,
            "10.1016/s0140-6736(05)66912-7",
        ),
        ("doi = {10.1007/978-3-030-58452-8\\_13}", None, "10.1007/978-3-030-58452-8_13"),
        ("url = {http://dx.doi.org/10.1000/A%2FB}, note = {(doi:10.1000/x).}", None, "10.1000/a/b"),
        ("note = {(doi:10.1000/x).}", None, "10.1000/x"),
        ("note = {(see doi:10.1000/x).}", None, ""),
        ("abstract = {Builds on arXiv:2101.00001 and doi:10.1000/x}", None, ""),
    ],
)
def test_the_id_and_the_doi_of_an_entry_are_found(
    fields: str, arxiv_id: str | None, doi: str
) -> None:
    (paper,) = read_library("a.bib", f"@book{{k, title = {{T}}, {fields}}}".encode()).papers
    assert (paper.arxiv_id, paper.doi) == (ArxivId.parse(arxiv_id) if arxiv_id else None, doi)


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("{{B}ayesian micro{RNA}s}", "Bayesian microRNAs"),
        (
            '{\\O}re {\\"o} \\emph{x {Y}} $\\rm{N}$ \\{1\\} x_{i}',
            '{\\O}re \\"o \\emph{x {Y}} $\\rm{N}$ \\{1\\} x_{i}',
        ),
    ],
)
def test_braces_that_keep_capitals_go_and_those_of_tex_stay(written: str, title: str) -> None:
    (paper,) = read_library("a.bib", f"@misc{{k, title = {{{written}}}}}".encode()).papers
    assert paper.title == title


def test_a_text_names_several_papers_a_line_and_its_odd_lines_are_told() -> None:
    text = "2101.00001, 2101.00002v3; hep-th/9901001\n[1] A. One, arXiv:2101.00001 [cs.LG]\nnothing here\n#all\n"
    reading = read_library("ids.txt", f"{text}https://doi.org/10.1000/x".encode())
    named = [str(paper.arxiv_id or paper.doi) for paper in reading.papers]
    assert named == ["2101.00001", "2101.00002", "hep-th/9901001", "10.1000/x"]
    assert reading.troubles == ("line 3 has no arXiv id, address or DOI",)


GOOD = "@article{{g{0},\n  title = {{Good {0}}},\n  doi = {{10.1000/g{0}}},\n}}\n"
FAULT = "has a brace, a quote or a comma too many or too few by line"


@pytest.mark.parametrize(
    ("entry", "title", "trouble"),
    [
        ("@article{bad,\n title = {B},\n abstract = {never {closed}\n\n", "B", f"{FAULT} 7"),
        ("@article{bad,\n title = {B,\n year = 2020\n}\n", "", f"{FAULT} 9"),
        ("@article{bad,\n title = {B}},\n year = 2020\n}\n", "B", f"{FAULT} 6"),
        ("@article{bad,\n title = {B}\n year = 2020\n}\n", "B", f"{FAULT} 7"),
        ("@misc{bad, title = {B}}\n@art icle{c,\n title = {C}}\n", "B", f"{FAULT} 5"),
        ("@bad,\n title = {B},\n year = 2020\n}\n", "B", "has no { before its key"),
        (
            "@misc{b, title = {B}, abstract = {So said\n@bad, who knew,\nand @others, of it.}}\n",
            "B",
            "",
        ),
        ("@article{bad,\n year = 2020\n}\n", "", "has neither a title nor an id"),
        ("@article{b, journal = jphysa # { B}, title = {B}}\n", "B", ""),
        ('@string{b = "B"}\n@preamble{"\\newcommand"}\n@book(k, title = b)\n', "B", ""),
        ("@article{g1, title = {B}, title = {B}}\n", "B", ""),
        ("@article{Müller et al. 2020, title = {B}}\n", "B", ""),
        ("Mail me@example.org {x\n% @misc{out, title = {Out}}\n@misc{b,title={B}}", "B", ""),
    ],
)
def test_a_spoiled_entry_costs_no_other_and_keeps_what_can_be_read(
    entry: str, title: str, trouble: str
) -> None:
    reading = read_library("a.bib", f"{GOOD.format(1)}{entry}{GOOD.format(2)}".encode())
    assert [paper.title for paper in reading.papers] == ["Good 1", *filter(None, [title]), "Good 2"]
    assert reading.troubles == ((f"line 5: the entry bad {trouble}",) if trouble else ())


@pytest.mark.parametrize(
    ("record", "titles", "trouble"),
    [
        ("TY - JOUR\nTI - One blank\nER - \n", ["One blank"], ()),
        ("TI  - Before its type\nTY  - JOUR\nER  -\n", ["Before its type"], ()),
        ("TY  - JOUR\nTI  - Without\nan end\n", ["Without an end"], ()),
        ("TY  - GEN\nTI  - C\nER  - \nTYPE\nmore\n", ["C"], ()),
        (
            "TY  - JOUR\nAU  - B\nER  - \n",
            [],
            ("line 5: the record has neither a title nor an id",),
        ),
    ],
)
def test_a_spoiled_record_costs_no_other(
    record: str, titles: list[str], trouble: tuple[str, ...]
) -> None:
    sound = "TY  - JOUR\nTI  - {}\nID  - 1\nER  - \n"
    reading = read_library("a.ris", f"{sound.format('A')}{record}{sound.format('B')}".encode())
    assert ([paper.title for paper in reading.papers], reading.troubles) == (
        ["A", *titles, "B"],
        trouble,
    )


def test_letters_of_old_programs_and_marks_of_web_pages_are_read() -> None:
    content = (
        "@misc{a, title = {Erdős}}\n".encode()
        + b"@misc{b, title = {Erd\xf6s \x96 CO<sub>2</sub> &amp; <i>E</i>}}"
    )
    assert [paper.title for paper in read_library("a.bib", content).papers] == [
        "Erdős",
        "Erdös – CO2 & E",
    ]


def test_what_databases_do_not_take_is_left_out() -> None:
    content = json.dumps(
        [
            {"title": "A\0B\ud800C", "abstract": ["D", "E"], "DOI": "10.1000/a%00\ud800"},
            7,
            {"title": None},
        ]
    ).encode()
    reading = read_library("a.json", content)
    assert reading.papers == (LibraryPaper("A B C", "D E", None, "10.1000/a"),)
    assert reading.troubles == tuple(
        f"item {number} has neither a title nor an id" for number in (2, 3)
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\r\n \n", "it is empty"),
        (b"\xff\xff\0\1", "only 0 of its 1 line name one paper"),
        (b'[{"title": "A",', "Expecting property name"),
        (b'{"a":' * 200_000, "recursion"),
        (b"title,doi\n", "it is empty"),
        (
            b"I read arXiv:2101.00001.\nIt says\nthis.\n",
            "only 1 of its 3 lines name one paper each",
        ),
    ],
)
def test_a_file_without_a_paper_says_what_a_library_is(content: bytes, said: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^lab\.bib holds no paper") as caught:
        read_library("lab.bib", content)
    assert "BibTeX, RIS, CSL-JSON" in caught.value.hint
    assert said in caught.value.message


PIECES = '@article{k, @string{ TY_-_ \nER_-_ title= { } " ( ) # , \n = a 2101.00001 [ {"title": \0 \r @ \\ ü <'


@MUCH
@given(
    st.one_of(
        st.binary(),
        st.lists(st.sampled_from(PIECES.split(" ")), max_size=40).map("".join).map(str.encode),
    )
)
def test_no_bytes_raise_anything_but_the_one_error(content: bytes) -> None:
    try:
        papers = read_library("x", content.replace(b"_", b"  ")).papers
    except ConfigurationError:
        return
    assert papers
    assert all(paper.title or paper.arxiv_id or paper.doi for paper in papers)


@MUCH
@given(st.integers(2, 6), st.data())
def test_of_entries_one_of_which_is_cut_anywhere_all_others_are_read(
    number: int, data: st.DataObject
) -> None:
    entries = [GOOD.format(index) for index in range(number)]
    spoiled = data.draw(st.integers(0, number - 1))
    cut = data.draw(st.integers(0, len(entries[spoiled])))
    gap = data.draw(st.integers(0, 9))
    put = data.draw(st.sampled_from(["", "{", "}", '"', "@", ",", "}}", "{{", "="]))
    entries[spoiled] = f"{entries[spoiled][:cut]}{put}{entries[spoiled][cut + gap :].strip()}\n"
    titles = {paper.title for paper in read_library("a.bib", "".join(entries).encode()).papers}
    assert titles >= {f"Good {index}" for index in range(number) if index != spoiled}
