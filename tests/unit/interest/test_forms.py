"""Libraries as programs and databases export them: each form is read, or refused by its name."""

from __future__ import annotations

import pytest

from digest.interest.files import read_library
from digest.model.errors import ConfigurationError
from tests.library_files import ID, READ


@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize(
    ("coding", "end"),
    [("utf-8", "\n"), ("utf-8-sig", "\r\n"), ("utf-16-le", "\n"), ("utf-16-be", "\r\n")],
)
def test_what_people_export_is_read_with_all_it_says(form: str, coding: str, end: str) -> None:
    written, expected = READ[form]
    reading = read_library("mine", written.replace("\n", end).encode(coding))
    read = [(one.title, str(one.arxiv_id or ""), one.doi, one.abstract) for one in reading.papers]
    assert read == expected
    assert reading.troubles == ()


@pytest.mark.parametrize(
    ("content", "said", "advice"),
    [
        (b"%PDF-1.5\n%\xd0\xd4\n", "is a PDF file", "text file with the arXiv id of each paper"),
        (b"PK\x03\x04\x14\0\x06\0", "is a zip file", "as text, and not packed"),
        (b"\x1f\x8b\x08\0", "is a packed file", "not packed"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is a file of an older Word or Excel", "BibTeX or RIS"),
        (b"{\\rtf1\\ansi", "is a rich text (RTF)", "BibTeX or RIS"),
        (
            b"SQLite format 3\0\x10\0",
            "is a database, as Zotero and Mendeley keep one",
            "BibTeX, RIS",
        ),
        (b'<?xml version="1.0"?><xml><records><record>', "is EndNote's XML", "RefMan (RIS)"),
        (b"<?xml version='1.0'?>\n<PubmedArticleSet><PubmedArticle>", "is PubMed's XML", ".nbib"),
        (b"<?xml version='1.0'?>\n<rdf:RDF xmlns:rdf='x'>", "is RDF", "In Zotero choose Export"),
        (
            b"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL>",
            "is a list of bookmarks (HTML)",
            "one on each line",
        ),
        (b"\xef\xbb\xbf\n<!doctype html><html>", "is a web page (HTML)", "one on each line"),
        (
            "<?xml version='1.0' encoding='utf-16'?><mods>".encode("utf-16"),
            "is XML",
            "Export the library",
        ),
        (
            b"% notes\n\\begin{thebibliography}{9}\n\\bibitem{a} A. B, arXiv:2101.00001",
            "is a file of LaTeX",
            ".bib",
        ),
        (b"---\nreferences:\n- id: a\n  title: B\n", "is YAML", "CSL-JSON"),
    ],
)
def test_what_is_no_library_is_refused_by_its_name_with_what_to_do(
    content: bytes, said: str, advice: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_library("lab.bib", content)
    assert caught.value.message.startswith(f"lab.bib {said}")
    assert caught.value.message.endswith(", and no library")
    assert advice in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "Dear all,\nplease read arXiv:2101.00001.\nIt answers\nour questions.\n",
        (
            "Title: A\nAuthor: B\nReferences:\nCoe 2019, arXiv:1905.00005\nBoe "
            "2018, arXiv:1805.00005\n"
            "\nA text\nof many\nlines\n"
        ),
        (
            "1. Lancet. 2021 Jan 4;1:1004.\ndoi: 10.1000/a.\n\nA title.\n\nBerg "
            "A.\n\nAn abstract.\n\nPMID: 1\n"
        ),
    ],
)
def test_ids_are_not_picked_from_a_text(text: str) -> None:
    with pytest.raises(ConfigurationError, match="name one paper each, by id or address"):
        read_library("lab.txt", text.encode())


@pytest.mark.parametrize(
    "line",
    [
        "https://huggingface.co/papers/2101.00001",
        "https://hf.co/papers/2101.00001v2?x=y",
        "https://www.semanticscholar.org/arxiv/2101.00001",
        "https://api.semanticscholar.org/arXiv:2101.00001",
        "oai:arXiv.org:2101.00001",
        "https://ar5iv.org/abs/2101.00001",
        "https://ar5iv.labs.arxiv.org/html/2101.00001v1",
        "https://www.alphaxiv.org/overview/2101.00001",
        "https://scirate.com/arxiv/2101.00001",
        "https://www.arxiv-vanity.com/papers/2101.00001/",
        "https://ui.adsabs.harvard.edu/abs/2021arXiv210100001B/abstract",
        "https://doi.org/10.48550/ARXIV.2101.00001",
        "http://xxx.lanl.gov/abs/2101.00001",
        "/home/anna/papers/2101.00001v2.pdf",
        "C:\\Users\\anna\\2101.00001.pdf",
        "file:///home/anna/2101.00001.pdf",
        "* arXiv:2101.00001v3 [cs.PF]",
        "1) `2101.00001`",
        "DOI: 10.48550/arXiv.2101.00001",
    ],
)
def test_an_id_is_found_in_the_addresses_and_paths_that_people_keep(line: str) -> None:
    (paper,) = read_library("list.txt", f"{line}\n".encode()).papers
    assert (str(paper.arxiv_id), paper.doi) == ("2101.00001", "")


@pytest.mark.parametrize(
    ("fields", "arxiv_id"),
    [
        ("preprint = {arXiv:2101.00001}", ID),
        ("arXivUrl = {https://arxiv.org/abs/2101.00001}", ID),
        ("file = {:papers/2101.00001.pdf:PDF}", ID),
        ("adsurl = {https://ui.adsabs.harvard.edu/abs/2021arXiv210100001B}", ID),
        ("bdsk-url-1 = {http://arxiv.org/abs/2101.00001}", ID),
        ("note = {arXiv:2101.00001 [cs]}", ID),
        ("note = {Preprint, available at https://arxiv.org/abs/2101.00001}", ID),
        ("note = {12 pages; arXiv preprint 2101.00001}", ID),
        ("note = {Under review. Also on arXiv as 2101.00001, a reply to arXiv:1901.11111}", ID),
        ("extra = {Citation Key: berg\n_eprint: 2101.00001}", ID),
        ("note = {A reply to arXiv:1901.11111}", ""),
        ("note = {Comment on arXiv:1901.11111}", ""),
        ("note = {See also https://arxiv.org/abs/1901.11111}", ""),
        ("annote = {builds on 1901.11111}", ""),
        ("note = {A reply to doi:10.1000/x}", ""),
        ("url = {https://example.org/1901.11111}", ""),
        ("keywords = {arXiv:1901.11111}", ""),
    ],
)
def test_an_id_is_an_entrys_own_only_where_it_says_so(fields: str, arxiv_id: str) -> None:
    (paper,) = read_library("a.bib", f"@article{{a, title = {{T}}, {fields}}}".encode()).papers
    assert (str(paper.arxiv_id or ""), paper.doi) == (arxiv_id, "")


@pytest.mark.parametrize(
    "text",
    ["@misc{a,\n doi\t=\t{10.1000/a},\n title\t=\t{A}}", "% title, doi\n@misc{a, title = {A}}"],
)
def test_bibtex_is_no_table(text: str) -> None:
    assert [paper.title for paper in read_library("a.bib", text.encode()).papers] == ["A"]


@pytest.mark.parametrize(
    ("text", "troubles"),
    [
        (
            'Title,DOI\n"A",10.1000/a\nB, with a comma,10.1000/b\n',
            "line 3: the row has more columns than",
        ),
        ('Title,DOI\n"A",10.1000/a\n"B" is odd,10.1000/b\n', "line 3: the row can't be read"),
        ('Title,DOI\n"A",10.1000/a\n"B never ends,10.1000/b\n', "line 3: the row can't be read"),
        (
            '{"title": "A", "doi": "10.1000/a"}\n{"title": "B", \n',
            "the JSON from line 2 on is broken",
        ),
        ('[{"title": "A", "doi": "10.1000/a"}, null]', "item 2 has neither"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, troubles: str) -> None:
    reading = read_library("a.csv", text.encode())
    assert [paper.doi for paper in reading.papers] == ["10.1000/a"]
    assert [one.startswith(troubles) for one in reading.troubles] == [True]
