"""What people paste for a query: addresses of arXiv's, lists of authors, `.bib` files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.errors import QueryError
from digest.query import NoteKind, parse_query
from digest.query.pasting import read_bibliography, read_bibtex_authors, read_pasted
from digest.query.printing import print_tree

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


def test_a_list_of_authors_one_a_line_asks_for_any_of_them() -> None:
    query = parse_query("Keiko Lindquell\nSmith, J.\n\n  K. M. van Foo,\r\nJohn O'Neill-Smith\n")
    assert print_tree(query.tree) == (
        'author:"keiko lindquell" OR author:"j smith" OR author:"k m van foo" OR author:"john o\'neill-smith"'
    )
    assert [note.kind for note in query.notes] == [NoteKind.READ_AS]
    assert "4 authors" in query.notes[0].message


@pytest.mark.parametrize(
    "text",
    [
        "Keiko Lindquell",
        "cat:cs.PF\nAND abs:gpu",
        "graph neural\nnetworks",
        '"tail latency"\nJohn Smith',
        "(John Smith\nJane Doe)",
        "John Smith OR\nJane Doe",
        "John Smith\nand Jane Doe",
        "Lindquell, Keiko\ncat: cs",
        "E. coli\nB. subtilis",
    ],
)
def test_a_query_over_several_lines_is_no_list(text: str) -> None:
    assert read_pasted(text) is None


def test_a_list_of_too_many_authors_says_how_many() -> None:
    text = "\n".join(f"Lindquell, K{chr(97 + number % 26) * (number // 26 + 1)}" for number in range(501))
    with pytest.raises(QueryError, match="names 501 authors, and a query may have 500 terms") as caught:
        parse_query(text)
    assert text[: caught.value.position].count("\n") == 500


def test_a_list_as_long_as_a_query_may_be_is_read() -> None:
    given_names = ("John", "Anna", "Maria", "Paul", "Hiroshi")
    text = "\n".join(
        f"{given_names[number % 5]} Lindquell{chr(97 + number % 26) * (number // 26 + 1)}" for number in range(500)
    )
    assert parse_query(text).canonical.count("author:") == 500


@pytest.mark.parametrize(
    ("entry", "authors"),
    [
        (
            "@article{k, author = {Lindquell, Keiko and John K. Smith}}",
            'author:"Lindquell, Keiko" OR author:"John K. Smith"',
        ),
        ('@ARTICLE{k,\n AUTHOR = "Lindquell, Keiko",\n year = 2026}', 'author:"Lindquell, Keiko"'),
        (
            r"@misc{k, author = {G{\"o}del, Kurt and Erd{\H o}s, P{\'a}l}}",
            'author:"Gödel, Kurt" OR author:"Erdős, Pál"',
        ),
        (r"@misc{k, author = {{\L}ukasz Fran\c{c}ois}}", 'author:"Łukasz François"'),
        (
            "@misc{k, author = {{NASA Team} and Jan {van der Waals}}}",
            'au:"NASA Team" OR author:"van der Waals, Jan"',
        ),
        ("@misc{k, author = {de la Cruz, Jr., Mar{\\'\\i}a}}", 'author:"de la Cruz, María"'),
        ("@misc{k, author = {Knuth, Donald~E. and others}}", 'author:"Knuth, Donald E."'),
        ("@misc{k, author = {Ann Lee\n  AND\nBo Berg}}", 'author:"Ann Lee" OR author:"Bo Berg"'),
        (
            "@misc{k, author = {Alexandra Band and Sandy Anders}}",
            'author:"Alexandra Band" OR author:"Sandy Anders"',
        ),
        (
            '@string{me = "Lee, Ann"}@misc{k, author = me # { and Berg, Bo}}',
            'author:"Lee, Ann" OR author:"Berg, Bo"',
        ),
        ("@book{k, editor = {Lee, Ann}, title = {x}}", 'author:"Lee, Ann"'),
        ("@inbook{k, author = {Lee, Ann}, editor = {Berg, Bo}}", 'author:"Lee, Ann"'),
        ("@misc(k, author = {Lee, Ann})", 'author:"Lee, Ann"'),
        ("@misc{a, author={Lee, Ann}} junk @misc{b, author={Lee, Ann}}", 'author:"Lee, Ann"'),
        ("@comment{x}@misc{k, title = {a = {b}, author}, author = {Lee, Ann}}", 'author:"Lee, Ann"'),
        ("@misc{k, author = {Plato}}", 'au:"Plato"'),
        ("@misc{k, author = {Lee, Ann and Ann Lee}}", 'author:"Lee, Ann"'),
        ("@misc{k, author = {Lee, Ann}}\n@misc{l, author = {Berg, Bo", 'author:"Lee, Ann"'),
    ],
)
def test_the_authors_of_a_bib_file_make_a_query(entry: str, authors: str) -> None:
    assert read_bibtex_authors(entry) == authors
    assert parse_query(authors).notes == ()


BROKEN = """
@misc{a, author = {Lee, Ann}, title = {Of @misc{x, y}}}
@misc{broken, author = {Unclosed, Name, title={Z}
}
@misc{b, author = {Berg, Bo and Lee, Ann}}
@string{me = "Foo, Kim}
@book{c, title = {Nobody's}}
@article{d,
  author = "Unclosed, Too,
  year = 2026
@misc{e, author = {{Turm Team}}}
"""


def test_what_a_bib_file_holds_is_told_and_a_broken_entry_spoils_no_other() -> None:
    library = read_bibliography(BROKEN)
    assert library.query == 'author:"Lee, Ann" OR author:"Berg, Bo" OR au:"Turm Team"'
    assert (library.entries, library.authors, library.without_author) == (4, 3, ("c",))
    assert [one.message for one in library.broken] == [
        "@misc{broken, …} on line 3 can't be read: it is never closed",
        "@string{…, …} on line 6 can't be read: its me is never closed",
        "@article{d, …} on line 8 can't be read: its author is never closed",
    ]


def test_a_bib_file_that_is_broken_altogether_says_where() -> None:
    with pytest.raises(QueryError, match=r"names no author; @misc\{k, …\} on line 2 can't be read"):
        read_bibtex_authors("\n@misc{k, author = {Lee, Ann")


@pytest.mark.parametrize(
    "text",
    [
        "2603.10026\nhep-th/9901001v2\r\n\n2603.10026",
        "arXiv:2603.10026, arxiv:hep-th/9901001v2",
        "https://arxiv.org/abs/2603.10026\n<https://arxiv.org/pdf/hep-th/9901001v2.pdf>",
    ],
)
def test_a_list_of_papers_asks_for_any_of_them(text: str) -> None:
    query = parse_query(text)
    assert print_tree(query.tree) == "id:2603.10026 OR id:hep-th/9901001v2"
    assert "a list of 2 papers, of which any will do, read as id:2603.10026 OR" in query.notes[0].message


@pytest.mark.parametrize(
    "text", ["2603.10026", "2603.10026 2603.10026", "2603.10026 gpu", "2603.10026 OR 2603.10027"]
)
def test_a_paper_alone_or_beside_words_is_no_list(text: str) -> None:
    assert read_pasted(text) is None


def test_an_identifier_in_a_list_that_is_none_is_refused_at_its_place() -> None:
    with pytest.raises(QueryError) as caught:
        parse_query("2603.10026\n2699.10026")
    assert caught.value.position == len("2603.10026\n")


def test_a_person_listed_twice_is_asked_for_once() -> None:
    query = parse_query("Keiko Lindquell\nLindquell, Keiko\nSmith, J.")
    assert print_tree(query.tree) == 'author:"keiko lindquell" OR author:"j smith"'
    assert "a list of 2 authors (1 named again)" in query.notes[0].message


def test_a_bib_file_without_authors_or_with_too_many_is_refused() -> None:
    with pytest.raises(QueryError, match="names no author"):
        read_bibtex_authors("@misc{k, title = {Nobody}} % and no more")
    many = " and ".join(f"Lindquell, K{chr(97 + number % 26) * (number // 26 + 1)}" for number in range(812))
    with pytest.raises(QueryError, match="names 812 authors"):
        read_bibtex_authors(f"@misc{{k, author = {{{many}}}}}")


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
        *("Keiko Lindquell\n", "Smith, J.\n", "\n", "and"),
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


@given(st.text(st.sampled_from('@misc{}(),=#"\\ \nauthorndk~%éA.'), max_size=80))
def test_any_bib_file_is_read_or_refused(text: str) -> None:
    try:
        authors = read_bibtex_authors(f"@misc{{k, author = {{{text}}}")
    except QueryError as refusal:
        assert "names no author" in refusal.message  # noqa: PT017  # either way something is certain
    else:
        assert parse_query(authors).canonical


def test_bibtex_where_a_query_is_asked_for_is_no_words_to_look_for() -> None:
    with pytest.raises(QueryError, match="This is BibTeX") as caught:
        parse_query("@article{k, author = {Lindquell, Keiko}}")
    assert "--file library.bib" in caught.value.hint
