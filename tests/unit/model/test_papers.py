from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import UsageError
from digest.model.papers import ArxivId, Author, Paper

MONTHS = st.integers(1, 12)
NEW_IDS = st.one_of(
    st.builds(
        lambda year, month, number: ArxivId(year * 100 + month, number, "", 5),
        st.integers(2015, 2090),
        MONTHS,
        st.integers(0, 99_999),
    ),
    st.builds(
        lambda year, month, number: ArxivId(year * 100 + month, number, "", 4),
        st.integers(2008, 2014),
        MONTHS,
        st.integers(0, 9_999),
    ),
)
OLD_IDS = st.builds(
    lambda archive, year, month, number: ArxivId(year * 100 + month, number, archive, 3),
    st.sampled_from(["hep-th", "astro-ph", "math", "cond-mat", "q-alg", "cs"]),
    st.integers(1992, 2006),
    MONTHS,
    st.integers(0, 999),
)
IDS = st.one_of(NEW_IDS, OLD_IDS)
MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *(("2603.10026", "2603.10026"), ("0704.0001", "0704.0001"), ("1412.9999", "1412.9999")),
        ("hep-th/9901001", "hep-th/9901001"),
        ("math.GT/0309136", "math/0309136"),
        ("cond-mat.mtrl-sci/0001234", "cond-mat/0001234"),
        (" arXiv:2603.10026 ", "2603.10026"),
        ("ARXIV: 2603.10026", "2603.10026"),
        ("arXiv:hep-th/9901001", "hep-th/9901001"),
        ("https://arxiv.org/abs/2603.10026", "2603.10026"),
        ("http://export.arxiv.org/abs/hep-th/9901001", "hep-th/9901001"),
        ("https://www.arxiv.org/pdf/2603.10026.pdf", "2603.10026"),
        ("arxiv.org/html/2603.10026", "2603.10026"),
        ("2603.10026.pdf", "2603.10026"),
        ("https://arxiv.org/abs/2603.10026?context=cs.PF", "2603.10026"),
        ("https://arxiv.org/html/2603.10026#S2", "2603.10026"),
        ("https://arxiv.org/abs/2603.10026/", "2603.10026"),
        ("https://doi.org/10.48550/arXiv.2603.10026", "2603.10026"),
        ("10.48550/ARXIV.2603.10026", "2603.10026"),
        ("doi:10.48550/arXiv.hep-th/9901001", "hep-th/9901001"),
        ("https://cn.arxiv.org/abs/2603.10026", "2603.10026"),
        ("https://ar5iv.labs.arxiv.org/html/2603.10026", "2603.10026"),
        ("https://www.alphaxiv.org/abs/2603.10026", "2603.10026"),
        ("abs/2603.10026", "2603.10026"),
    ],
)
def test_an_id_is_read_in_every_form_people_paste(text: str, canonical: str) -> None:
    assert str(ArxivId.parse(text)) == canonical
    assert ArxivId.parse_versioned(text)[1] is None


@pytest.mark.parametrize(
    ("text", "canonical", "version"),
    [
        ("2603.10026v1", "2603.10026", 1),
        ("2603.10026v12", "2603.10026", 12),
        ("hep-th/9901001v3", "hep-th/9901001", 3),
        ("https://arxiv.org/pdf/2603.10026v2.pdf", "2603.10026", 2),
        ("https://arxiv.org/html/2603.10026v2#S1", "2603.10026", 2),
        ("quant-ph/0201082v1", "quant-ph/0201082", 1),
    ],
)
def test_the_version_behind_an_id_is_read_and_kept_apart(
    text: str, canonical: str, version: int
) -> None:
    identifier, read = ArxivId.parse_versioned(text)
    assert str(identifier) == canonical
    assert read == version


@pytest.mark.parametrize(
    "text",
    [
        *("", "abc"),
        "2613.10026",  # there is no month 13
        *("2600.10026", "2603.100261", "2603.100", "2603.10026v0", "2603.10026v", "2603.10026 v1"),
        *("hep-th/990100", "hep-th/99010011", "HEP-TH/9901001", "hep-th/9913001", "٢٦٠٣.١٠٠٢٦"),
        *(
            "2603.10026\n2603.10027",
            "https://example.org/abs/2603.10026",
            "https://arxiv.org/list/cs.PF/new",
        ),
        "../2603.10026",
    ],
)
def test_what_is_no_id_is_refused_with_examples_of_ids(text: str) -> None:
    with pytest.raises(UsageError, match="not an arXiv identifier") as caught:
        ArxivId.parse(text)
    assert "2603.10026" in caught.value.hint


@given(IDS)
def test_an_id_reads_back_from_what_it_prints(identifier: ArxivId) -> None:
    assert ArxivId.parse(str(identifier)) == identifier
    assert ArxivId.parse(identifier.url) == identifier


@given(IDS, st.integers(1, 99_999))
def test_an_id_reads_back_together_with_any_version(identifier: ArxivId, version: int) -> None:
    assert ArxivId.parse_versioned(f"{identifier}v{version}") == (identifier, version)


@given(st.text())
def test_any_text_is_an_id_or_a_usage_error(text: str) -> None:
    try:
        identifier = ArxivId.parse(text)
    except UsageError:
        return
    assert ArxivId.parse(str(identifier)) == identifier


@pytest.mark.parametrize(
    ("text", "is_possible"),
    [
        *(("1608.00001", True), ("1608.0001", False), ("1608.00000", False), ("1412.9999", True)),
        *(
            ("1412.00001", False),
            ("0704.0001", True),
            ("0703.0001", False),
            ("hep-th/9901001", True),
        ),
        *(("hep-th/9901000", False), ("math/0703001", True), ("math/0704001", False)),
    ],
)
def test_ids_that_arxiv_never_gave_out_are_told_from_others(
    text: str, *, is_possible: bool
) -> None:
    assert ArxivId.parse(text).is_possible is is_possible


def test_ids_sort_by_announcement_over_the_centuries_and_both_styles() -> None:
    announced = [
        "hep-th/9108001",
        "hep-th/9912001",
        "math/0001001",
        "math/0703999",
        "0704.0001",
        "1412.9999",
    ]
    announced += ["1501.00001", "1501.10000", "2603.09999", "2603.10026"]
    assert [str(one) for one in sorted(map(ArxivId.parse, reversed(announced)))] == announced


@given(NEW_IDS, NEW_IDS)
def test_the_announcement_order_of_new_ids_is_the_order_of_the_ids(
    left: ArxivId, right: ArxivId
) -> None:
    if left.announcement_order != right.announcement_order:
        assert (left < right) == (left.announcement_order < right.announcement_order)


def make_paper(**parts: object) -> Paper:
    values: dict[str, object] = {
        "id": ArxivId.parse("2603.10026"),
        "version": 2,
        "title": "Made up",
        "abstract": "Also made up.",
        "authors": (Author("A. Nobody"),),
        "categories": ("cs.PF", "cs.DC"),
        "published": MOMENT,
        "updated": MOMENT,
    }
    return Paper(**{**values, **parts})  # type: ignore[arg-type] # values are checked below


def test_a_paper_points_at_exactly_its_version() -> None:
    paper = make_paper()
    assert paper.url == "https://arxiv.org/abs/2603.10026v2"
    assert paper.pdf_url == "https://arxiv.org/pdf/2603.10026v2"
    assert paper.id.url == "https://arxiv.org/abs/2603.10026"


def test_the_primary_category_is_the_first_and_may_be_missing() -> None:
    assert make_paper().primary_category == "cs.PF"
    assert make_paper(categories=()).primary_category == ""
