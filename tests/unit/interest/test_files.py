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
    "Zotero": (
        "\n"
        "@misc{vaswani_2023,\n"
        "\ttitle = {TITLE},\n"
        "\turl = {http://arxiv.org/abs/1706.03762},\n"
        "\t\n"
        "\tdoi = {10.48550/arXiv.1706.03762},\n"
        "\tabstract = {ABSTRACT},\n"
        "\tnote = {arXiv:1706.03762 [cs]},\n"
        "}\n"
    ),
    "Better BibTeX": (
        "@online{v, title = {TITLE}, eprint = {1706.03762}, month = jan, abstract = {ABSTRACT}}"
    ),
    "JabRef": (
        "% Encoding: UTF-8\n"
        "\n"
        "@Article{,\n"
        "  title = {TITLE},\n"
        "  journal = {arXiv:1706.03762},\n"
        "  abstract = {ABSTRACT},\n"
        "}\n"
        "\n"
        "@Comment{jabref-meta: grouping:\n"
        "0 AllEntriesGroup:;\n"
        "1 Group:a\\;0\\;;\n"
        "}\n"
    ),
    "Mendeley": (
        "@article{V,\n"
        "arxivId = {1706.03762v5},\n"
        "abstract = {ABSTRACT},\n"
        "file={:C$\\backslash$:pdf},\n"
        "title = {TITLE}\n"
        "}\n"
    ),
    "Google Scholar": (
        "@article{v2017,\n  title={TITLE},\n  journal={arXiv preprint arXiv:1706.03762}\n}\n"
    ),
    "Semantic Scholar": (
        "@article{V, title={TITLE}, journal={ArXiv}, volume={abs/1706.03762},\n"
        "  url={https://api.semanticscholar.org/CorpusID:13756489}}\n"
    ),
    "INSPIRE": (
        "%\\cite{V:2017}\n"
        "@article{V:2017,\n"
        ' title = "TITLE",\n'
        ' eprint = "1706.03762",\n'
        ' month = "6"\n'
        "}\n"
    ),
    "RIS": ("TY  - JOUR\nTI  - TITLE\nDO  - 10.48550/arXiv.1706.03762\nAB  - ABSTRACT\nER  - \n"),
    "older RIS": ("\n\nTY  - GEN\nT1  - TITLE\nN2  - ABSTRACT\nM1  - arXiv:1706.03762\n"),
    "CSL": (
        '[{"title": "TITLE", "abstract": "<jats:p>ABSTRACT</jats:p>", "number": '
        '"arXiv:1706.03762", "a": {}}]'
    ),
    "Zotero's JSON": (
        '{"items": [{"title": "TITLE", "archiveID": "arXiv:1706.03762", "issued": null}]}'
    ),
    "text": ("# what I read\n\nhttps://arxiv.org/pdf/1706.03762v5.pdf#page=2  # the one\n"),
}


def read_titles(name: str, content: str | bytes) -> list[str]:
    """Return the titles of the papers of a library."""
    written = content.encode() if isinstance(content, str) else content
    return [paper.title for paper in read_library(name, written).papers]


def write_program(program: str) -> str:
    """Return what a program writes of the paper."""
    with_braces = PROGRAMS[program].replace("TITLE}", f"{TITLE}}}").replace("Is", "{I}s")
    with_title = with_braces.replace("TITLE", TITLE)
    abstract = json.dumps(ABSTRACT).strip('"') if program == "CSL" else ABSTRACT
    return with_title.replace("ABSTRACT", abstract)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("coding", "end"), [("utf-8", "\n"), ("utf-8-sig", "\n"), ("utf-16", "\n"), ("utf-8", "\r\n")]
)
def test_what_programs_write_is_read(program: str, coding: str, end: str) -> None:
    written = write_program(program)
    content = written.replace("\n", end).encode(coding)
    reading = read_library("mine", content)
    (paper,) = reading.papers
    assert str(paper.arxiv_id) == "1706.03762"
    assert paper.doi == ""
    assert paper.title == (TITLE if "TITLE" in PROGRAMS[program] else "")
    assert paper.abstract == (ABSTRACT if "ABSTRACT" in PROGRAMS[program] else "")
    assert reading.troubles == ()
    assert reading.version == hashlib.sha256(content).hexdigest()


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
    entry = f"@book{{k, title = {{T}}, {fields}}}"
    (paper,) = read_library("a.bib", entry.encode()).papers
    assert paper.arxiv_id == (ArxivId.parse(arxiv_id) if arxiv_id else None)
    assert paper.doi == doi


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
    assert read_titles("a.bib", f"@misc{{k, title = {{{written}}}}}") == [title]


def test_a_text_names_several_papers_a_line_and_its_odd_lines_are_named() -> None:
    lines = [
        "2101.00001, 2101.00002v3; hep-th/9901001",
        "[1] A. One, arXiv:2101.00001 [cs.LG]",
        "nothing here",
        "#all",
        "https://doi.org/10.1000/x",
    ]
    reading = read_library("ids.txt", "\n".join(lines).encode())
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
    before = GOOD.format(1)
    after = GOOD.format(2)
    reading = read_library("a.bib", f"{before}{entry}{after}".encode())
    kept = [title] if title else []
    assert [paper.title for paper in reading.papers] == ["Good 1", *kept, "Good 2"]
    troubles = (f"line 5: the entry bad {trouble}",) if trouble else ()
    assert reading.troubles == troubles


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
    before = sound.format("A")
    after = sound.format("B")
    reading = read_library("a.ris", f"{before}{record}{after}".encode())
    assert [paper.title for paper in reading.papers] == ["A", *titles, "B"]
    assert reading.troubles == trouble


def test_letters_of_old_programs_and_marks_of_web_pages_are_read() -> None:
    in_utf8 = "@misc{a, title = {Erdős}}\n".encode()
    in_latin_1 = b"@misc{b, title = {Erd\xf6s \x96 CO<sub>2</sub> &amp; <i>E</i>}}"
    titles = read_titles("a.bib", in_utf8 + in_latin_1)
    assert titles == ["Erdős", "Erdös – CO2 & E"]


def test_what_databases_do_not_take_is_left_out() -> None:
    odd = {"title": "A\0B\ud800C", "abstract": ["D", "E"], "DOI": "10.1000/a%00\ud800"}
    content = json.dumps([odd, 7, {"title": None}])
    reading = read_library("a.json", content.encode())
    assert reading.papers == (LibraryPaper("A B C", "D E", None, "10.1000/a"),)
    assert reading.troubles == (
        "item 2 has neither a title nor an id",
        "item 3 has neither a title nor an id",
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


PIECES = (
    '@article{k, @string{ TY_-_ \nER_-_ title= { } " ( ) # , \n = a 2101.00001 '
    '[ {"title": \0 \r @ \\ ü <'
)


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
    place = data.draw(st.integers(0, number - 1))
    entry = entries[place]
    cut = data.draw(st.integers(0, len(entry)))
    gap = data.draw(st.integers(0, 9))
    put = data.draw(st.sampled_from(["", "{", "}", '"', "@", ",", "}}", "{{", "="]))
    before = entry[:cut]
    after = entry[cut + gap :].strip()
    entries[place] = f"{before}{put}{after}\n"
    titles = read_titles("a.bib", "".join(entries))
    assert set(titles) >= {f"Good {index}" for index in range(number) if index != place}
