"""Queries the way people write and paste them.

What each is read as, and what its author is told.
"""

import pytest

from digest.model.errors import QueryError
from digest.query import NoteKind, parse_query
from digest.query.canonical import print_tree
from digest.query.pasted import read_pasted

FORMS = [
    ("quantum walks", "all:quantum AND all:walks", '"quantum walks" finds'),
    ("'spin glass'", 'all:"spin glass"', ""),
    ("Spin Glass AND Replica", "all:glass AND all:replica AND all:spin", '"Spin Glass" finds'),
    ("spin glass or replica", "(all:glass AND all:spin) OR all:replica", '"spin glass" finds'),
    ("abs:SU(2)", "abs:su AND all:2", 'abs:"SU(2)" finds it as one'),
    ("U(1) gauge", "all:1 AND all:gauge AND all:u", '"U(1)" finds it as one'),
    (
        "ti:spin glass",
        "all:glass AND ti:spin",
        'ti: goes with spin alone, and ti:"spin glass" finds',
    ),
    (
        "self-organised criticality",
        "all:criticality AND all:self-organised",
        'criticality" finds the words side by side',
    ),
    (
        "10.1103/PhysRevD.99.052004",
        "all:10.1103/PhysRevD.99.052004",
        "every field; doi:10.1103/PhysRevD.99.05",
    ),
    (
        "doi:10.1002/%28SICI%291097-0118",
        'doi:"10.1002/(SICI)1097-0118"',
        "read as doi:10.1002/(SICI)1097-0118",
    ),
    ("2603.10026", "all:2603.10026", "every field; id:2603.10026 finds it alone"),
    ("math.GT/0309136", "all:math.GT/0309136", "id:math/0309136 finds it alone"),
    ("https://arxiv.org/abs/2603.10026", "id:2603.10026", 'read as id:"2603.10026"'),
    ("https://doi.org/10.48550/arXiv.2603.10026", "id:2603.10026", "read as id:2603.10026"),
    ("doi:10.48550/arXiv.2603.10026", "id:2603.10026", "read as id:2603.10026"),
    ("dx.doi.org/10.1000/A1", "doi:10.1000/A1", "read as doi:10.1000/A1"),
    ("math.PR+math.CO", "cat:math.CO OR cat:math.PR", "read as cat:(math.PR OR math.CO)"),
    ("cs.CL%2Ccs.LG", "cat:cs.CL OR cat:cs.LG", "read as cat:(cs.CL OR cs.LG)"),
    ("hep-th", "all:hep-th", "hep-th is searched for in every field; cat:hep-th finds it alone"),
    ("all:hep-th", "all:hep-th", ""),
    ("cat:hep-th OR gr-qc", "all:gr-qc OR cat:hep-th", "cat:gr-qc finds it alone"),
    ('abs:"graph AND network"', 'abs:"graph and network"', "AND is a word to search for here"),
    (
        "au:Pólya, George",
        "all:george AND au:pólya",
        'goes with Pólya alone, and au:"Pólya, George" finds people who',
    ),
    ("au:Y. Meyer", "all:meyer AND au:y", 'au:"Y. Meyer" finds people'),
    ("au:van der Waals", "all:der AND all:waals AND au:van", 'au:"van der Waals" finds people'),
    (
        "percolation+OR+%22random+graph%22",
        'all:"random graph" OR all:percolation',
        'as percolation OR "random',
    ),
    ("%22random%20graph%22", 'all:"random graph"', 'read as "random graph"'),
    ("au:%22Svante%20Janson%22", 'au:"svante janson"', 'read as au:"Svante Janson"'),
    (
        "(au:Ab+OR+au:Cd)+AND+cat:math.CO",
        "(au:ab OR au:cd) AND cat:math.CO",
        "as (au:Ab OR au:Cd) AND cat",
    ),
    ("Random+AND+Graphs", "all:graphs AND all:random", "read as Random AND Graphs"),
    (
        "cat:math.PR+AND+abs:x1&sortBy=submittedDate&sortOrder=descending",
        "abs:x1 AND cat:math.PR",
        "read as cat",
    ),
    (
        "search_query=all:percolation&start=0&max_results=50",
        "all:percolation",
        "read as all:percolation",
    ),
    ('doi:"10.1000/a&start=5"', 'doi:"10.1000/a&start=5"', ""),
    (
        "search_query=cat:math.PR&id_list=2301.00001",
        "cat:math.PR AND id:2301.00001",
        "as (cat:math.PR) AND (id",
    ),
    (
        "query=random+graph&searchtype=all",
        "all:graph AND all:random",
        "read as all:random AND all:graph",
    ),
    ("?search_query=ti:a1+ANDNOT+abs:b1", "ti:a1 ANDNOT abs:b1", "read as ti:a1 ANDNOT abs:b1"),
    ("all:random+graphs", "all:graphs AND all:random", 'all:"random graphs" finds'),
    (
        "+ti:percolation +abs:threshold",
        "abs:threshold AND ti:percolation",
        "read as ti:percolation abs:threshold",
    ),
    (
        "ti:percolation%2BAND%2Babs:x",
        "abs:x AND ti:percolation",
        "read as ti:percolation AND abs:x",
    ),
    ("%2522random%2520graph%2522", 'all:"random graph"', 'read as "random graph"'),
    ("abs:Schr%C3%B6dinger", "abs:schrödinger", "read as abs:Schrödinger"),
    (
        "submittedDate:%5B2024+TO+2025%5D+AND+cat:math.PR",
        "cat:math.PR AND submittedDate:[202401010000 TO 202512312359]",
        "read as submittedDate:[2024 TO 2025] AND cat:math.PR",
    ),
    (
        "submittedDate:[20230101+TO+*] AND cat:math.PR",
        "cat:math.PR AND submittedDate:[202301010000 TO *]",
        "read as submittedDate:[20230101 TO *] AND cat:math.PR",
    ),
]


@pytest.mark.parametrize(("text", "canonical", "note"), FORMS)
def test_a_form_is_read_as_what_it_stands_for(text: str, canonical: str, note: str) -> None:
    query = parse_query(text)
    assert query.canonical == canonical
    assert parse_query(canonical).canonical == canonical
    notes = [one.message for one in query.notes]
    assert any(note in message for message in notes) if note else notes == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "abs:C++",
            "C++ AND rust",
            'abs:"a+b" AND cat:cs.PL',
            '"x+OR+y"',
            'doi:"10.1000/a+or+b"',
            "k+means",
        ),
        *("k+to+means", "math+physics", "95% OR 20%", "ti:large, cs.AI"),
    ],
)
def test_signs_that_are_meant_are_no_part_of_an_address(text: str) -> None:
    assert read_pasted(text) is None


API = "https://export.arxiv.org/api/query?search_query="


@pytest.mark.parametrize(
    ("address", "reading"),
    [
        # the search interface
        (
            f"{API}cat:cs.PF+AND+abs:%22tail%20latency%22&start=0&max_results=5",
            'cat:cs.PF AND abs:"tail latency"',
        ),
        (f"{API}ti:Schr%C3%B6dinger", "ti:schrödinger"),
        (f"{API}submittedDate:%5B2024+TO+2025%5D", "submittedDate:[202401010000 TO 202512312359]"),
        (f"{API}ti:a1+OR+ti:b1&id_list=2603.10026", "(ti:a1 OR ti:b1) AND id:2603.10026"),
        (
            "export.arxiv.org/api/query?id_list=2603.10026,hep-th/9901001v2",
            "id:2603.10026 OR id:hep-th/9901001v2",
        ),
        (" <http://export.arxiv.org/api/query?search_query=au:del_maestro>\n", 'au:"del maestro"'),
        (f'{API}ti:"tail latency" AND cat:cs.PF&start=0', 'ti:"tail latency" AND cat:cs.PF'),
        # the search page: all words must occur, each word of an author search in some author
        (
            "https://arxiv.org/search/?query=graph+%22neural+net%22&searchtype=title",
            'ti:graph AND ti:"neural net"',
        ),
        (
            "arxiv.org/search/?query=tail+latency&searchtype=all&source=header",
            "all:tail AND all:latency",
        ),
        (
            "arxiv.org/search/?searchtype=author&query=Smith%2C+J%3B+T%C3%B6z%C3%BCn",
            'au:"smith, j" AND au:tözün',
        ),
        ("arxiv.org/search/?query=Hinton+LeCun&searchtype=author", "au:hinton AND au:lecun"),
        ("arxiv.org/search/?query=Y.+LeCun&searchtype=author", "au:y AND au:lecun"),
        (
            "arxiv.org/search/?query=lecun_y+hinton_g&searchtype=author",
            'au:"lecun, y" AND au:"hinton, g"',
        ),
        ("arxiv.org/search/?query=LeCun,+Y&searchtype=author", 'au:"lecun, y"'),
        (
            "arxiv.org/search/?query=Hinton,+LeCun,+Beng&searchtype=author",
            "au:hinton AND au:lecun AND au:beng",
        ),
        (
            "arxiv.org/search/?query=Yann+LeCun;Hinton&searchtype=author",
            'au:"yann lecun" AND au:hinton',
        ),
        (
            "arxiv.org/search/?query=%22Yann+Cun%22+Geoff+Hin&searchtype=author",
            'au:"yann cun" AND au:"geoff hin"',
        ),
        (
            "arxiv.org/search/math,cs?query=graph&searchtype=abstract",
            "abs:graph AND (cat:math OR cat:cs)",
        ),
        ("arxiv.org/search/?query=smit*%3B+Foo,+J*&searchtype=author", 'au:smit* AND au:"foo, j*"'),
        ("arxiv.org/search/?query=cs.*&searchtype=cross_list_category", "cat:cs"),
        ("arxiv.org/search/?query=10.1000%2FAbC&searchtype=doi", "doi:10.1000/AbC"),
        (
            "arxiv.org/search/?query=C%2B%2B+transf*+-x1&searchtype=comments",
            "co:c AND co:transf* AND co:x1",
        ),
        # the longer search page: terms are joined as written, subjects are archives
        (
            (
                "arxiv.org/search/advanced?terms-0-operator=AND"
                "&terms-0-term=graph+neural&terms-0-field=title"
                "&terms-1-operator=OR&terms-1-term=gnn&terms-1-field=abstract"
                "&classification-computer_science=y"
                "&classification-physics_archives=all&date-filter_by=past_12&size=50"
            ),
            "((ti:graph AND ti:neural) OR abs:gnn) AND cat:cs",
        ),
        (
            (
                "arxiv.org/search/advanced?terms-0-term=x1&terms-0-field=author"
                "&terms-1-operator=NOT"
                "&terms-1-term=%22b+c%22&classification-physics=y"
                "&classification-physics_archives=hep-th"
            ),
            '(au:x1 ANDNOT all:"b c") AND cat:hep-th',
        ),
        # pages
        ("https://arxiv.org/a/warner_s_1", 'au:"warner, s"'),
        ("https://arxiv.org/list/hep-th/recent?skip=0&show=50", "cat:hep-th"),
        ("https://rss.arxiv.org/rss/cs.PF+cs.DC", "cat:cs.PF OR cat:cs.DC"),
        ("https://arxiv.org/abs/2603.10026v2", "id:2603.10026v2"),
        ("https://arxiv.org/pdf/hep-th/9901001.pdf", "id:hep-th/9901001"),
        ("https://arxiv.org/catchup/cs.CL/2026-08-20?abs=True", "cat:cs.CL"),
        ("<https://www.arxiv.org/list/cs.CL/recent/#item1>", "cat:cs.CL"),
        ("https://rss.arxiv.org/atom/cs.CL%2Bmath.NT", "cat:cs.CL OR cat:math.NT"),
        (
            "arxiv.org/search/advanced?terms-0-term=warner_s_1&terms-0-field=author_id",
            'au:"warner, s"',
        ),
        ("https://browse.arxiv.org:443/abs/2603.10026", "id:2603.10026"),
        # encoded once more by whatever passed it on
        (
            "arxiv.org/search/?query=%2522tail%2520latency%2522&searchtype=title",
            'ti:"tail latency"',
        ),
        ("arxiv.org/search/?query=Hinton%252BLeCun&searchtype=author", "au:hinton AND au:lecun"),
        (
            "http%3A%2F%2Farxiv.org%2Fsearch%2F%3Fquery%3Dtail%2Bone%26searchtype%3Dtitle",
            "ti:tail AND ti:one",
        ),
        ("https%253A%252F%252Farxiv.org%252Flist%252Fcs.CL%252Fnew", "cat:cs.CL"),
    ],
)
def test_an_address_is_read_as_the_query_that_brings_the_same(address: str, reading: str) -> None:
    query = parse_query(address)
    assert print_tree(query.tree) == reading
    assert query.text == address
    assert parse_query(query.pasted_as).tree == query.tree
    assert query.notes[0].kind is NoteKind.READ_AS


FORM = "https://arxiv.org/search/advanced?advanced=&terms-0-operator=AND&terms-0-term=gpu&terms-0-field=title"


@pytest.mark.parametrize(
    ("address", "reading", "lost"),
    [
        (
            (
                f"{FORM}&size=50&order=-announced_date_first&abstracts=show"
                "&start=50&date-filter_by=all_dates"
            ),
            "ti:gpu",
            "",
        ),
        (
            f"{FORM}&classification-include_cross_list=include&date-date_type=submitted_date",
            "ti:gpu",
            "",
        ),
        (
            f"{FORM}&date-filter_by=specific_year&date-year=2020&date-from_date=",
            "ti:gpu",
            "its dates",
        ),
        (f"{FORM}&date-filter_by=past_12", "ti:gpu", "its dates"),
        (
            f"{FORM}&classification-statistics=y&classification-include_cross_list=exclude",
            "ti:gpu AND cat:stat",
            "that cross-lists are excluded",
        ),
        (
            f"{FORM}&include_older_versions=y&colour=red",
            "ti:gpu",
            "include_older_versions=y, colour=red",
        ),
        (f"{FORM}&terms-1-term=05C80&terms-1-field=msc_class", "ti:gpu", "05C80 as msc_class"),
        (
            (
                f"{FORM.replace('title', 'orcid')}"
                "&terms-1-operator=NOT&terms-1-term=x1&terms-2-term=x2"
            ),
            "all:x2",
            "gpu as orcid, NOT all:x1",
        ),
        ("https://arxiv.org/catchup/cs.CL/2026-08-20", "cat:cs.CL", "the date 2026-08-20"),
        ("https://arxiv.org/list/cs.CL/2608?skip=0&show=25", "cat:cs.CL", "the date 2608"),
        ("https://arxiv.org/year/cs/2016", "cat:cs", "the date 2016"),
        ("https://arxiv.org/list/cs.CL/pastweek?skip=0&show=25", "cat:cs.CL", ""),
        ("https://arxiv.org/a/warner_s_1", 'au:"warner, s"', "which person of this name it is"),
    ],
)
def test_what_an_address_asks_for_and_a_query_cannot_is_named(
    address: str, reading: str, lost: str
) -> None:
    query = parse_query(address)
    assert print_tree(query.tree) == reading
    assert query.notes[0].message.partition("; not kept: ")[2] == lost


@pytest.mark.parametrize(
    ("text", "there", "message"),
    [
        ("cat:cs.PF+AND+tit:gpu", "tit:gpu", "tit: is not a known prefix"),
        ("ti:%C3%B6+AND+%22open", '"open', "never closed"),
        ("search_query=ti:a1+AND&start=0", "AND", "AND has nothing after it"),
        (f"{API}cat:cs.PF+AND+", "AND", "AND has nothing after it"),
        ("export.arxiv.org/api/query?id_list=2603.10026,26.1", "26.1", "not an arXiv identifier"),
        ("arxiv.org/search/?query=te*t&searchtype=title", "*t", r"\* cannot be used here"),
        # the address itself is at fault
        ("export.arxiv.org/api/query?start=10", "api/query", "searches for nothing"),
        (
            "arxiv.org/search/?query=05C80&searchtype=msc_class",
            "search/",
            "can't be searched for here",
        ),
        ("https://info.arxiv.org/help", "help", "not a search"),
        (
            "https://arxiv.org/find/cs/1/au:+Lin_Y/0/1/0/all/0/1",
            "find/",
            "This page of arXiv is not a search",
        ),
        ("https://arxiv.org/search/advanced?advanced=", "search/", "searches for nothing"),
        ("https://arxiv.org/abs/2603.10026 and more", "https", "An address must be alone"),
        (f"{API}ti:a1&start=0 AND cat:cs.PF", "https", "An address must be alone"),
        (
            "arxiv.org/search/?query=0000-0002-1825-0097&searchtype=orcid",
            "search/",
            "can't be searched for here",
        ),
        ("https://orcid.org/0000-0002-1825-0097", "https", "does not tell ORCID iDs"),
        ("www.orcid.org/0000-0002-1825-0097/", "www", "does not tell ORCID iDs"),
        ("0000-0002-1825-009X", "0000", "does not tell ORCID iDs"),
        ("https://arxiv.org/a/0000-0002-1825-0097", "https", "does not tell ORCID iDs"),
        (
            "<https://scholar.google.com/citations?user=abc&hl=en>",
            "<https",
            "Only addresses at arXiv",
        ),
        ("scholar.google.de/scholar?q=gpu", "scholar", "Only addresses at arXiv"),
        (
            "https://www.semanticscholar.org/author/Sam-Ple/168888",
            "https",
            "Only addresses at arXiv",
        ),
        ("inspirehep.net/authors/1018687", "inspire", "Only addresses at arXiv"),
        ("https://example.org/list/cs.PF/new", "https", "Only addresses at arXiv"),
    ],
)
def test_what_is_pasted_and_cannot_be_read_is_refused_at_its_place(
    text: str, there: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        parse_query(text)
    assert caught.value.text[caught.value.position :].startswith(there)
