from dataclasses import replace
from datetime import UTC, datetime

import pytest

from digest.model.papers import ArxivId, Paper
from digest.tex.places import Link, find_links, find_place

DAY = datetime(2026, 3, 1, tzinfo=UTC)
PAPER = Paper(ArxivId.parse("2603.00001"), 2, "T", "", (), ("cs.PF",), DAY, DAY)
HTML = ("HTML", "https://arxiv.org/html/2603.00001v2")
CODE = ("Code", "https://github.com/lee/fast_copy")


@pytest.mark.parametrize(
    ("comment", "place"),
    [
        ("12 pages, accepted for publication in Phys. Rev. B", "accepted at Phys. Rev. B"),
        ("Accepted to NIPS 2016. Code at https://x.org", "accepted at NIPS 2016"),
        ("Submitted to PRD; accepted for publication in PRD on 3 May 2016", "accepted at PRD"),
        ("9 pages, A&A, in press", "to appear in A&A"),
        (
            "To appear in the Journal of Group Theory, 12 pages",
            "to appear in Journal of Group Theory",
        ),
        (
            "To appear in Linear Algebra and its Applications",
            "to appear in Linear Algebra and its Applications",
        ),
        ("v2: matches version published in JHEP (typos)", "published in JHEP"),
        (
            "Presented at the 12th Conference on Made Up Things (CMUT 2016), Bergen",
            "presented at CMUT 2016",
        ),
        ("In Proceedings GandALF 2016, arXiv:1609.03648", "proceedings of GandALF 2016"),
        ("10 pages, ICML 2016", "ICML 2016"),
        ("ACL 2024 Findings", "ACL 2024 Findings"),
        (r"Published in A\&A", "published in A&A"),
        ("Submitted to MNRAS on 3 May, accepted on 4 June 2024", "accepted at MNRAS"),
        ("Erratum published in PRD", ""),
        ("Camera-ready version for ICLR 2025", "accepted at ICLR 2025"),
        ("Accepted for publication in ApJ Letters. Videos at the end", "accepted at ApJ Letters"),
        (
            "Accepted in J. Phys.: Condens. Matter. Figures later",
            "accepted at J. Phys.: Condens. Matter",
        ),
        (
            "To appear in J. für reine und angewandte Math.",
            "to appear in J. für reine und angewandte Math",
        ),
        ("Oral presentation at CVPR 2024, AAAI-24", "CVPR 2024"),
        ("Version of May, AAAI-24", "AAAI-24"),
        ("Vol. 2, July-December 2016. Keywords: a, JPEG 2000, COVID-19", ""),
        *(("Master's thesis, MIT 2016", ""), ("Submitted to ApJ, 12 pages", "")),
        ("Not accepted at ICML 2016; to be submitted to JMLR", ""),
        ("Under review at ICLR 2025", ""),
        ("A short version of this paper appeared in PODC 2016", ""),
        ("Code will be released when the paper is accepted at ICML 2016", ""),
        ("Accepted by the authors; published version, accepted 3 May 2016", ""),
        ("MSC 2010, LaTeX 2016", ""),
        (
            "Accepted at " + "Workshop on Very Long Names " * 9,
            "accepted at Workshop on Very Long Names Workshop on Very Long Names …",
        ),
    ],
)
def test_a_place_is_said_as_far_as_the_comment_is_sure_of_it(comment: str, place: str) -> None:
    assert find_place(replace(PAPER, comment=comment)) == place


def test_a_journal_reference_tells_more_than_a_comment() -> None:
    paper = replace(PAPER, comment="Accepted to PRA", journal_ref="Phys. Rev. A 95, 033828 (2017)")
    assert find_place(replace(paper, journal_ref="Phys. Rev. A (submitted)")) == "accepted at PRA"
    assert find_place(paper) == "published in Phys. Rev. A 95, 033828 (2017)"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (
            r"Code: \url{http://github.com/lee/fast\_copy}.",
            [("Code", "http://github.com/lee/fast_copy")],
        ),
        (r"See {\tt github.com/lee/fast\_copy}, and https://github.com/lee/fast_copy).", [CODE]),
        (
            "Code at https://github.com/\nlee/fast_copy; data at https://zenodo.org/record/1.",
            [CODE, ("Data", "https://zenodo.org/record/1")],
        ),
        ("Project page: https://lee.github.io/x/", [("Project page", "https://lee.github.io/x/")]),
        (
            "Our code is at https://lee.example.org/x, see also https://example.org/",
            [("Code", "https://lee.example.org/x")],
        ),
        (
            "https://github.com@evil.example/code code javascript:alert(1) https://lee:x@github.com/a/b",
            [],
        ),
        ("https://github.com/lee/fast_copy\u3002\u4ee3\u7801", [CODE]),
        ("code https://github.com/a\u202eb and https://github.com/a\x00b, lee@github.com/x", []),
    ],
)
def test_links_are_plain_addresses_each_kind_once(text: str, links: list[tuple[str, str]]) -> None:
    expected = tuple(Link(*link) for link in (HTML, *links))
    assert (
        find_links(replace(PAPER, abstract=text))
        == find_links(replace(PAPER, comment=text))
        == expected
    )


def test_html_is_linked_only_for_papers_that_have_it() -> None:
    assert find_links(replace(PAPER, id=ArxivId.parse("2311.00001"))) == ()
    assert find_links(replace(PAPER, is_withdrawn=True)) == ()
