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

PROGRAMS = {
    "Zotero": """
@misc{vaswani_attention_2023,
	title = {Attention {Is} {All} {You} {Need}},
	url = {http://arxiv.org/abs/1706.03762},
	doi = {10.48550/arXiv.1706.03762},
	abstract = {Not {\\"u}ber $O(n^2)$.},
	month = aug,
	note = {arXiv:1706.03762 [cs]},
}
""",
    "Better BibTeX": """
@online{vaswani2023, title = {Attention {Is} {All} {You} {Need}}, eprint = {1706.03762},
  eprinttype = {arXiv}, eprintclass = {cs}, abstract = {Not {\\"u}ber $O(n^2)$.}, keywords = {a, b}}
""",
    "JabRef": """% Encoding: UTF-8

@Article{,
  author    = {A. Vaswani},
  title     = {Attention {Is} {All} {You} {Need}},
  journal   = {arXiv:1706.03762},
  abstract  = {Not {\\"u}ber $O(n^2)$.},
}

@Comment{jabref-meta: databaseType:bibtex;}
@Comment{jabref-meta: grouping:
0 AllEntriesGroup:;
1 StaticGroup:read\\;0\\;1\\;\\;\\;\\;;
}
""",
    "Mendeley": """
@article{Vaswani2017,
archivePrefix = {arXiv}, arxivId = {1706.03762v5}, eprint = {1706.03762v5},
abstract = {Not {\\"u}ber $O(n^2)$.},
file = {:C$\\backslash$:/x/Vaswani.pdf:pdf},
title = {{Attention {Is} {All} {You} {Need}}}
}
""",
    "Google Scholar": """
@article{vaswani2017attention,
  title={Attention {Is} {All} {You} {Need}},
  journal={arXiv preprint arXiv:1706.03762}}
""",
    "Semantic Scholar": """
@article{Vaswani2017AttentionIA, title={Attention {Is} {All} {You} {Need}}, journal={ArXiv},
  volume={abs/1706.03762}, url={https://api.semanticscholar.org/CorpusID:13756489}}
""",
    "INSPIRE": """
%\\cite{Vaswani:2017lxt}
@article{Vaswani:2017lxt,
    title = "{Attention {Is} {All} {You} {Need}}",
    eprint = "1706.03762",
    archivePrefix = "arXiv",
    primaryClass = "cs.CL", month = "6"}
""",
    "RIS": """TY  - JOUR
TI  - Attention {Is} {All} {You} {Need}
AU  - Vaswani, A.
DO  - 10.48550/arXiv.1706.03762
UR  - http://arxiv.org/abs/1706.03762
AB  - Not {\\"u}ber
 $O(n^2)$.
ER  -
""",
    "older RIS": """

TY  - GEN
T1  - Attention {Is} {All} {You} {Need}
N2  - Not {\\"u}ber $O(n^2)$.
JO  - arXiv e-prints
M1  - arXiv:1706.03762
""",
    "CSL-JSON": json.dumps(
        [
            {
                "title": "Attention {Is} {All} {You} {Need}",
                "abstract": '<jats:p>Not {\\"u}ber\n$O(n^2)$.</jats:p>',
                "number": "arXiv:1706.03762",
            }
        ]
    ),
    "Zotero's JSON": json.dumps(
        {
            "items": [
                {"title": "Attention {Is} {All} {You} {Need}", "archiveID": "arXiv:1706.03762", "issued": None}
            ]
        }
    ),
    "text": "# what I read\n\nhttps://arxiv.org/pdf/1706.03762v5.pdf#page=2  # the one\n",
}
WITHOUT_ABSTRACT = ("Google Scholar", "Semantic Scholar", "INSPIRE", "Zotero's JSON", "text")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("form", ["as it is", "with a mark of order", "with other ends of lines"])
def test_what_programs_write_is_read(program: str, form: str) -> None:
    content = PROGRAMS[program].encode()
    content = b"\xef\xbb\xbf" + content if form == "with a mark of order" else content
    content = content.replace(b"\n", b"\r\n") if form == "with other ends of lines" else content
    reading = read_library("mine", content)
    (paper,) = reading.papers
    assert str(paper.arxiv_id) == "1706.03762"
    assert paper.title.strip("{}") == ("" if program == "text" else "Attention {Is} {All} {You} {Need".strip("{}"))
    assert paper.abstract == ("" if program in WITHOUT_ABSTRACT else 'Not {\\"u}ber $O(n^2)$.')
    assert (paper.doi, paper.collection, reading.troubles) == ("", "", ())
    assert reading.version == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("fields", "arxiv_id", "doi"),
    [
        ("eprint = {hep-th/9901001}", "hep-th/9901001", ""),
        ("eprint = {math.GT/0309136v2}, archiveprefix = {arXiv}", "math/0309136", ""),
        (
            "url = {https://arxiv.org/abs/2101.00001v2}, doi = {10.1103/PhysRevD.9.1}",
            "2101.00001",
            "10.1103/physrevd.9.1",
        ),
        ("note = {arXiv:2101.00001v2 [cs.LG]}", "2101.00001", ""),
        ("howpublished = {\\url{https://arxiv.org/pdf/2101.00001}}", "2101.00001", ""),
        ("eprint = {12345678}, eprinttype = {pubmed}", None, ""),
        ("eprint = {2101.0001}, pages = {1004--1012}", None, ""),
        ("doi = {https://doi.org/10.1016/S0140-6736(05)66912-7}", None, "10.1016/s0140-6736(05)66912-7"),
        ("doi = {10.1007/978-3-030-58452-8\\_13}", None, "10.1007/978-3-030-58452-8_13"),
        ("url = {http://dx.doi.org/10.1000/A%2FB}", None, "10.1000/a/b"),
        ("note = {(see doi:10.1000/x).}", None, "10.1000/x"),
        ("abstract = {Builds on arXiv:2101.00001 and doi:10.1000/x}", None, ""),
    ],
)
def test_the_id_and_the_doi_of_an_entry_are_found_in_any_field(
    fields: str, arxiv_id: str | None, doi: str
) -> None:
    (paper,) = read_library("a.bib", f"@book{{k, title = {{T}}, {fields}}}".encode()).papers
    assert paper.arxiv_id == (ArxivId.parse(arxiv_id) if arxiv_id else None)
    assert paper.doi == doi


def test_a_text_names_several_papers_a_line_and_its_odd_lines_are_told() -> None:
    text = "2101.00001, 2101.00002v3; hep-th/9901001\n[1] A. One, arXiv:2101.00001 [cs.LG]\nnothing here\n#all\n"
    reading = read_library("ids.txt", f"{text}https://doi.org/10.1000/x".encode())
    assert [str(paper.arxiv_id or paper.doi) for paper in reading.papers] == [
        "2101.00001",
        "2101.00002",
        "hep-th/9901001",
        "10.1000/x",
    ]
    assert reading.troubles == ("line 3: no id is in 'nothing here'",)


GOOD = "@article{{g{0},\n  title = {{Good {0}}},\n  doi = {{10.1000/g{0}}},\n}}\n"
FAULT = "has a brace, a quote or a comma too many or too few by line"


@pytest.mark.parametrize(
    ("entry", "title", "trouble"),
    [
        ("@article{bad,\n title = {B},\n abstract = {never {closed}\n\n", "B", f"line 5: the entry bad {FAULT} 7"),
        ("@article{bad,\n title = {B,\n year = 2020\n}\n", None, f"line 5: the entry bad {FAULT} 9"),
        ("@article{bad,\n title = {B}},\n year = 2020\n}\n", "B", f"line 5: the entry bad {FAULT} 6"),
        ("@article{bad,\n title = {B}\n year = 2020\n}\n", "B", f"line 5: the entry bad {FAULT} 7"),
        ("@article{bad,\n year = 2020\n}\n", None, "line 5: the entry bad has neither a title nor an id"),
        ("@article{bad, journal = jphysa # { B}, title = {B}}\n", "B", None),
        ('@string{b = "B"}\n@preamble{"\\newcommand"}\n@book(k, title = b)\n', "B", None),
        ("@article{g1, title = {B}, title = {B}}\n", "B", None),
        ("@article{Müller et al. 2020, title = {B}}\n", "B", None),
        ("Mail me@example.org {x\n% @misc{out, title = {Out}}\n@misc{b,title={B}}", "B", None),
    ],
)
def test_a_spoiled_entry_costs_no_other_and_keeps_what_can_be_read(
    entry: str, title: str | None, trouble: str | None
) -> None:
    reading = read_library("a.bib", f"{GOOD.format(1)}{entry}{GOOD.format(2)}".encode())
    assert [paper.title for paper in reading.papers] == ["Good 1", *([title] if title else []), "Good 2"]
    assert reading.troubles == ((trouble,) if trouble else ())


def test_letters_of_old_programs_and_marks_of_web_pages_are_read() -> None:
    content = (
        "@misc{a, title = {Erdős}}\n".encode()
        + b"@misc{b, title = {Erd\xf6s \x96 CO<sub>2</sub> &amp; <i>E. coli</i>}}"
    )
    assert [paper.title for paper in read_library("a.bib", content).papers] == ["Erdős", "Erdös – CO2 & E. coli"]


def test_what_databases_do_not_take_is_left_out() -> None:
    content = json.dumps([{"title": "A\0B\ud800C", "abstract": ["D", "E"]}, 7, {"title": None}]).encode()
    reading = read_library("a.json", content)
    assert reading.papers == (LibraryPaper("A B C", "D E"),)
    assert reading.troubles == tuple(f"item {number} has neither a title nor an id" for number in (2, 3))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no paper that can be read"),
        (b"\r\n \n", "holds no paper that can be read"),
        (b"<!DOCTYPE html><html><a href='https://arxiv.org/abs/2101.00001'>x</a></html>", "web page"),
        (b"PK\x03\x04\0\0\0 \xff\xfe", "no id"),
        (b'[{"title": "A",', "Expecting property name"),
        (b"[" * 200_000, "no id"),
        (b'{"a":' * 200_000, "recursion"),
        (b" " * 50_000_001, "more than 50 MB"),
    ],
)
def test_a_file_without_a_paper_says_what_a_library_is(content: bytes, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_library("lab.bib", content)
    assert "lab.bib" in caught.value.message
    assert "BibTeX, RIS, CSL-JSON" in caught.value.hint
    assert said in f"{caught.value.message} {caught.value.hint}"


PIECES = '@article{k, @string{ TY_-_ \nER_-_ title= { } " ( ) # , \n = a 2101.00001 [ {"title": \0 \r @ \\ ü <'


@MUCH
@given(
    st.one_of(
        st.binary(),
        st.lists(st.sampled_from(PIECES.split(" ")), max_size=40).map(
            lambda some: "".join(some).replace("_", "  ").encode()
        ),
    )
)
def test_no_bytes_raise_anything_but_the_one_error(content: bytes) -> None:
    try:
        papers = read_library("x", content).papers
    except ConfigurationError:
        return
    assert all(paper.title or paper.arxiv_id or paper.doi for paper in papers)
    assert papers


@MUCH
@given(st.integers(2, 6), st.data())
def test_of_entries_one_of_which_is_cut_anywhere_all_others_are_read(number: int, data: st.DataObject) -> None:
    entries = [GOOD.format(index) for index in range(number)]
    spoiled = data.draw(st.integers(0, number - 1))
    cut = data.draw(st.integers(0, len(entries[spoiled])))
    put = data.draw(st.sampled_from(["", "{", "}", '"', "@", ",", "}}", "{{", "="]))
    entries[spoiled] = (
        f"{entries[spoiled][:cut]}{put}{entries[spoiled][cut + data.draw(st.integers(0, 9)) :].strip()}\n"
    )
    titles = {paper.title for paper in read_library("a.bib", "".join(entries).encode()).papers}
    assert titles >= {f"Good {index}" for index in range(number) if index != spoiled}
