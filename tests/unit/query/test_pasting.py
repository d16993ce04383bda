"""What people paste for a query: addresses of arXiv's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import QueryError
from digest.query import NoteKind, parse_query
from digest.query.canonical import print_tree

API = "https://export.arxiv.org/api/query?search_query="
ADVANCED = "https://arxiv.org/search/advanced?advanced=1"


@pytest.mark.parametrize(
    ("address", "reading"),
    [
        # the search interface
        (f"{API}cat:cs.PF+AND+abs:%22tail%20latency%22&start=0&max_results=5", 'cat:cs.PF AND abs:"tail latency"'),
        (f"{API}ti:Schr%C3%B6dinger", "ti:schrödinger"),
        (f"{API}submittedDate:%5B2024+TO+2025%5D", "submittedDate:[202401010000 TO 202512312359]"),
        (f"{API}ti:a1+OR+ti:b1&id_list=2603.10026", "(ti:a1 OR ti:b1) AND id:2603.10026"),
        ("export.arxiv.org/api/query?id_list=2603.10026,hep-th/9901001v2", "id:2603.10026 OR id:hep-th/9901001v2"),
        (" <http://export.arxiv.org/api/query?search_query=au:del_maestro>\n", 'au:"del maestro"'),
        ("https://export.arxiv.org:443/api/query?search_query=ti:a1", "ti:a1"),
        (f'{API}ti:"tail latency" AND cat:cs.PF&start=0', 'ti:"tail latency" AND cat:cs.PF'),
        # the search page: all words must occur; authors are parted by semicolons
        (
            "https://arxiv.org/search/?query=graph+%22neural+network%22&searchtype=title",
            'ti:graph AND ti:"neural network"',
        ),
        ("arxiv.org/search/?query=tail+latency&searchtype=all&source=header", "all:tail AND all:latency"),
        ("arxiv.org/search/?searchtype=author&query=Smith%2C+J%3B+T%C3%B6z%C3%BCn", 'au:"smith, j" AND au:tözün'),
        ("arxiv.org/search/cs?query=or+gate&searchtype=abstract", "abs:gate AND cat:cs"),
        ("arxiv.org/search/math,cs?query=graph&searchtype=abstract", "abs:graph AND (cat:math OR cat:cs)"),
        ("arxiv.org/search/?query=tail latency&searchtype=title", "ti:tail AND ti:latency"),
        ("arxiv.org/search/?query=smit*%3B+Foo,+J*&searchtype=author", 'au:smit* AND au:"foo, j*"'),
        ("arxiv.org/search/?query=cs.*&searchtype=cross_list_category", "cat:cs"),
        ("arxiv.org/search/?query=2603.10026v2&searchtype=paper_id", "id:2603.10026v2"),
        ("arxiv.org/search/?query=10.1000%2FAbC&searchtype=doi", "doi:10.1000/AbC"),
        ("arxiv.org/search/?query=C%2B%2B+transf*+-x1&searchtype=comments", "co:c AND co:transf* AND co:x1"),
        # its longer form: NOT binds before AND, AND before OR
        (
            f"{ADVANCED}&terms-0-operator=AND&terms-0-term=tail+latency&terms-0-field=title",
            "ti:tail AND ti:latency",
        ),
        (
            (
                f"{ADVANCED}&terms-0-term=a1&terms-0-field=title&terms-1-operator=OR&terms-1-term=b1&terms-1-field=abstract"
                "&terms-2-operator=NOT&terms-2-term=c1&terms-2-field=all&terms-3-operator=AND&terms-3-term=&terms-3-field=all"
            ),
            "ti:a1 OR (abs:b1 ANDNOT all:c1)",
        ),
        (
            (
                f"{ADVANCED}&terms-0-term=a1&terms-0-field=title&classification-computer_science=y&classification-physics=y"
                "&classification-physics_archives=hep-th&classification-include_cross_list=include&date-filter_by=all_dates"
            ),
            "ti:a1 AND (cat:cs OR cat:hep-th)",
        ),
        (
            f"{ADVANCED}&terms-0-term=a1&terms-0-field=title&date-filter_by=specific_year&date-year=2024",
            "ti:a1 AND submittedDate:[202401010000 TO 202412312359]",
        ),
        (
            f"{ADVANCED}&classification-eess=y&date-filter_by=date_range&date-from_date=2024-03&date-to_date=",
            "cat:eess AND submittedDate:[202403010000 TO *]",
        ),
        # pages
        ("https://arxiv.org/a/warner_s_1", 'au:"warner, s"'),
        ("https://arxiv.org/a/del_maestro_a_2.atom", 'au:"del maestro, a"'),
        ("https://arxiv.org/list/cs.PF/new", "cat:cs.PF"),
        ("https://arxiv.org/list/hep-th/recent?skip=0&show=50", "cat:hep-th"),
        ("https://arxiv.org/archive/cs", "cat:cs"),
        ("https://rss.arxiv.org/rss/cs.PF+cs.DC", "cat:cs.PF OR cat:cs.DC"),
        ("https://arxiv.org/abs/2603.10026v2", "id:2603.10026v2"),
        ("https://doi.org/10.48550/arXiv.2603.10026", "id:2603.10026"),
        ("https://arxiv.org/pdf/hep-th/9901001.pdf", "id:hep-th/9901001"),
        ("https://arxiv.org/pdf/2603.10026v1.pdf", "id:2603.10026v1"),
        ("https://browse.arxiv.org:443/abs/2603.10026", "id:2603.10026"),
    ],
)
def test_an_address_is_read_as_the_query_that_brings_the_same(address: str, reading: str) -> None:
    query = parse_query(address)
    assert print_tree(query.tree) == reading
    assert query.text == address
    assert query.notes[0].kind is NoteKind.READ_AS
    assert "read as" in query.notes[0].message


@pytest.mark.parametrize(
    ("address", "remark"),
    [
        ("arxiv.org/a/warner_s_1", "whoever bears that name"),
        (
            f"{ADVANCED}&terms-0-term=x1&terms-0-field=all&date-filter_by=past_12",
            "the last twelve months are left out",
        ),
        (
            (
                f"{ADVANCED}&terms-0-term=x1&terms-0-field=all&date-filter_by=specific_year&date-year=2024"
                "&date-date_type=announced_date_first"
            ),
            "taken for those of the first submission",
        ),
        (
            f"{ADVANCED}&terms-0-term=x1&terms-0-field=all&classification-include_cross_list=exclude",
            "cross-lists are taken, too",
        ),
    ],
)
def test_what_an_address_says_and_a_query_cannot_is_told(address: str, remark: str) -> None:
    assert remark in parse_query(address).notes[0].message


@pytest.mark.parametrize(
    ("address", "there", "message"),
    [
        (f"{API}cat:cs.PF+AND+tit:gpu", "tit:gpu", "tit: is no known prefix"),
        (f"{API}ti:%C3%B6+AND+%22open", "%22open", "never closed"),
        (f"{API}cat:cs.PF+AND+", "AND+", "AND has nothing behind it"),
        ("export.arxiv.org/api/query?id_list=2603.10026,26.1", "26.1", "not an arXiv identifier"),
        ("export.arxiv.org/api/query?start=10", "api/query", "looks for nothing"),
        ("arxiv.org/search/?query=05C80&searchtype=msc_class", "msc_class", "can't be looked for here"),
        ("arxiv.org/search/?query=%2B%2B&searchtype=title", "%2B", "no word to look for"),
        # for the search pages these stand for any letters
        ("arxiv.org/search/?query=te*t&searchtype=title", "*t", r"\* can't stand here"),
        ("arxiv.org/search/?query=gpu+c%3Frd&searchtype=title", "%3Frd", r"\? can't stand here"),
        ("arxiv.org/search/?query=C%2B%2B*&searchtype=title", "*&", r"\* can't stand here"),
        ("arxiv.org/search/?query=Smith%3B+F*o&searchtype=author", "*o", r"\* can't stand here"),
        ("https://info.arxiv.org/help", "help", "no search"),
        (
            f"{ADVANCED}&classification-eess=y&date-filter_by=date_range&date-from_date=May",
            "May",
            "'May' is no date",
        ),
        (f"{ADVANCED}&date-filter_by=date_range", "date_range", "no date in this address"),
        ("https://arxiv.org/a/0000-0002-1825-0097", "a/0000", "Whose ORCID this is"),
        ("https://arxiv.org/help/api", "help/api", "no search"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_at_its_place(address: str, there: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        parse_query(address)
    assert caught.value.text == address
    assert address[caught.value.position :].startswith(there)


@pytest.mark.parametrize(
    "text",
    [
        "https://arxiv.org/abs/2603.10026 and more",
        "https://arxiv.org/abs/2603.10026?x OR gpu",
        f"{API}ti:a1&start=0 AND cat:cs.PF",
        f"{API}ti:a1 {API}ti:b1",
    ],
)
def test_an_address_beside_which_something_stands_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="An address must stand alone"):
        parse_query(text)


def test_an_address_of_another_site_is_a_query_and_none_that_can_be_read() -> None:
    with pytest.raises(QueryError, match="only arXiv's are understood"):
        parse_query("https://example.org/list/cs.PF/new")


PIECES = st.sampled_from(
    (
        *(
            "arxiv.org/",
            "api/query?",
            "search/?",
            "search/advanced?",
            "list/",
            "a/",
            "abs/",
            "search_query=",
            "query=",
        ),
        *(
            "searchtype=title",
            "id_list=",
            "terms-0-term=",
            "terms-0-field=all",
            "date-filter_by=",
            "specific_year",
            "&",
        ),
        *(
            "%",
            "%22",
            "%C3",
            "%B6",
            "%2",
            "+",
            "ti:",
            "cs.PF",
            "gpu",
            "smith_j_1",
            "2603.10026",
            "(",
            ",",
            "/",
            "#",
            "*",
        ),
        *("+AND+", "%2522", "cs.PF+cs.DC"),
        *("\n", "and"),
    )
)


def _try_to_read(text: str) -> QueryError | None:
    try:
        notes = parse_query(text).notes
    except QueryError as error:
        return error
    assert all(0 <= note.position < len(text) for note in notes)
    return None


@given(st.lists(PIECES, max_size=12).map("".join))
def test_whatever_is_pasted_is_read_or_refused_at_a_place_within_it(text: str) -> None:
    refusal = _try_to_read(text)
    assert refusal is None or (refusal.text == text and 0 <= refusal.position <= len(text))
