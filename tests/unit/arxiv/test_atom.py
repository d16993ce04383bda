from __future__ import annotations

from datetime import UTC, datetime

import pytest

from digest.arxiv.atom import AtomPage, check_counts, parse_atom
from digest.arxiv.authors import parse_authors
from digest.model.errors import ArxivError, ArxivFaulted, ArxivRejected, ArxivShort, ArxivUnreadable
from digest.model.papers import ArxivId, Author, Paper
from tests.fakes.pages import atom_author, atom_entry, atom_feed, error_feed, legacy_feed, oai_page


def read_page(*entries: str, **counts: int) -> AtomPage:
    body = atom_feed(*entries, **counts)  # type: ignore[arg-type]  # numbers of the header
    return parse_atom(body)


def read_one(entry: str) -> Paper:
    (paper,) = read_page(entry).papers
    return paper


def test_a_current_entry_is_read_with_every_field() -> None:
    extra = (
        "<arxiv:comment>7 pages,\n  2 figures</arxiv:comment>"
        "<arxiv:journal_ref>J. Slow 1</arxiv:journal_ref>"
        "<arxiv:doi>10.1/a;</arxiv:doi>"
        '<link rel="related" title="doi" href="https://doi.org/10.1/a;"/>'
        "<arxiv:doi>10.1/b</arxiv:doi>"
    )
    person = atom_author("Pınar Tözün", "IT University", "Slow Lab")
    group = atom_author("The Slow Collaboration")
    entry = atom_entry(
        "2611.00001v2",
        title="  $\\mu$path &\n waits <b>",
        summary="First.\n  Second.",
        authors=person + group,
        extra=extra,
    )
    authors = (
        Author("Pınar Tözün", ("IT University", "Slow Lab")),
        Author("The Slow Collaboration"),
    )
    assert read_one(entry) == Paper(
        id=ArxivId.parse("2611.00001"),
        version=2,
        title="$\\mu$path & waits <b>",
        abstract="First.\nSecond.",
        authors=authors,
        categories=("cs.PF", "cs.DC"),
        published=datetime(2026, 11, 1, 10, tzinfo=UTC),
        updated=datetime(2026, 11, 2, 10, tzinfo=UTC),
        comment="7 pages, 2 figures",
        journal_ref="J. Slow 1",
        dois=("10.1/a", "10.1/b"),
    )


def test_the_header_says_how_many_papers_there_are_and_which_these_are() -> None:
    page = read_page(atom_entry(), total=5073, start=60, per_page=15)
    assert page.total == 5073
    assert page.start == 60
    assert page.entries == 1
    assert page.response_date == datetime(2026, 11, 20, tzinfo=UTC)


def test_a_page_need_not_say_when_it_was_made() -> None:
    body = atom_feed(atom_entry()).replace(b"2026-11-20T00:00:00Z", b"lately")
    assert parse_atom(body).response_date is None


def test_the_legacy_format_gives_the_same_kind_of_page() -> None:
    page = parse_atom(legacy_feed())
    assert page.total == 21
    assert page.start == 20
    assert page.response_date == datetime(2020, 8, 27, 4, tzinfo=UTC)
    (paper,) = page.papers
    assert str(paper.id) == "hep-th/0007001"
    assert paper.version == 3
    assert paper.title == "A long title that goes on and on"
    assert (
        paper.abstract
        == "First line of the text second line of it.\nAnother paragraph, likewise wrapped."
    )
    assert paper.authors == (Author("Bea Two", ("Institute of Slowness",)),)
    assert paper.categories == ("hep-th", "cond-mat.str-el")
    assert paper.comment == "7 pages, in LaTeX"
    assert paper.journal_ref == "J. Slow 1 (2001)"
    assert paper.dois == ("10.1000/one",)
    assert paper.published.year == 2000
    assert paper.updated.day == 26


def test_elements_are_found_by_name_and_namespace_and_never_by_position() -> None:
    body = atom_feed(atom_entry()).decode()
    inner = body[body.index("<opensearch:itemsPerPage>") : body.index("<entry>")]
    shuffled = body.replace(inner, "").replace("</feed>", inner + "</feed>")
    prefixed = body.replace("opensearch:", "o:").replace("xmlns:opensearch", "xmlns:o")
    alien = body.replace("<title>Slow", '<x:title xmlns:x="urn:x">No</x:title><title>Slow')
    expected = parse_atom(body.encode())
    for other in (shuffled, prefixed, alien):
        assert parse_atom(other.encode()) == expected


def test_a_paper_called_0_is_a_paper() -> None:
    paper = read_one(atom_entry(title="0"))
    assert paper.title == "0"


def test_the_primary_category_comes_first_wherever_it_stands() -> None:
    entry = atom_entry(categories=("cs.DC", "cs.PF", "math.NA")).replace(
        '<arxiv:primary_category term="cs.DC"/>', '<arxiv:primary_category term="math.NA"/>'
    )
    assert read_one(entry).categories == ("math.NA", "cs.DC", "cs.PF")


def test_initials_are_joined_as_people_write_them() -> None:
    paper = read_one(atom_entry(authors=atom_author("H. -W. Rix")))
    assert paper.authors == (Author("H.-W. Rix"),)


def read_authors(*names: str) -> tuple[Author, ...]:
    """Return the authors of an entry that names these."""
    authors = "".join(atom_author(name) for name in names)
    paper = read_one(atom_entry(authors=authors))
    return paper.authors


@pytest.mark.parametrize(
    "names",
    [
        ("A. One", "B. Two", "and C. Three"),
        ("A. One", "B. Two", "& C. Three"),
        ("A. One", "B. Two", "C. Three", "et al."),
        ("A. One", "B. Two", "C. Three", "others"),
    ],
)
def test_a_word_of_the_author_line_that_arxiv_took_for_a_name_is_none(
    names: tuple[str, ...],
) -> None:
    authors = read_authors(*names)
    assert authors == (Author("A. One"), Author("B. Two"), Author("C. Three"))
    in_one_line = ", ".join(names)
    assert parse_authors(in_one_line) == authors


def test_a_collaboration_named_behind_for_the_is_named_as_the_harvest_names_it() -> None:
    authors = read_authors("A. One", "for the Made-Up Collaboration")
    assert authors == parse_authors("A. One, for the Made-Up Collaboration")
    assert all(not author.name.startswith("for") for author in authors)


def test_only_a_comment_can_mark_a_paper_of_this_interface_as_withdrawn() -> None:
    comment = "<arxiv:comment>{}</arxiv:comment>"
    by_comment = atom_entry(extra=comment.format("This paper has been withdrawn"))
    assert read_one(by_comment).is_withdrawn
    by_abstract = atom_entry(extra=comment.format("12 pages"), summary="withdrawn by us")
    assert not read_one(by_abstract).is_withdrawn


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (atom_entry("nonsense"), "not an arXiv identifier"),
        (atom_entry("2611.00001"), "has no version"),
        (
            atom_entry().replace("http://arxiv.org/abs/", "http://elsewhere.example/abs/"),
            "no address of a paper",
        ),
        (atom_entry(title=" "), "no title"),
        (atom_entry(published="soon"), "'published' cannot be read"),
        (atom_entry(updated=""), "'updated' cannot be read"),
        (atom_entry(categories=()), "no category"),
        ("<entry/>", "no address of a paper"),
    ],
)
def test_a_malformed_entry_is_put_aside_with_its_bytes_and_the_others_go_on(
    entry: str, reason: str
) -> None:
    before = atom_entry("2611.00007v1")
    after = atom_entry("2611.00009v1")
    page = read_page(before, entry, after)
    assert [str(paper.id) for paper in page.papers] == ["2611.00007", "2611.00009"]
    (put_aside,) = page.quarantined
    assert put_aside.position == 1
    assert reason in put_aside.error
    assert b"entry" in put_aside.snippet
    assert page.entries == 3


def test_what_is_kept_of_a_malformed_entry_is_bounded() -> None:
    page = read_page(atom_entry(summary="x" * 100_000, title=""))
    (put_aside,) = page.quarantined
    assert len(put_aside.snippet) == 8_192


def test_a_page_of_which_no_entry_can_be_read_is_an_error() -> None:
    entries = [atom_entry(title="")] * 5
    body = atom_feed(*entries)
    with pytest.raises(ArxivUnreadable, match="no entry can be read"):
        parse_atom(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (error_feed("incorrect id format for abc"), ArxivRejected),
        (
            error_feed("Invalid query string: 'ti:a)'", "https://arxiv.org/api/errors"),
            ArxivRejected,
        ),
        (
            error_feed(
                "incorrect id format", "http://arxiv.org/api/errors#incorrect_id_format_for_x"
            ),
            ArxivRejected,
        ),
        (error_feed("incorrect id format", "http://export.arxiv.org/api/errors#x"), ArxivRejected),
        (
            error_feed(
                "sortBy must be in: relevance", "https://arxiv.org/help/api/user-manual#sort"
            ),
            ArxivRejected,
        ),
        (error_feed("The server encountered an internal error and was unable to."), ArxivFaulted),
    ],
)
def test_an_error_feed_is_an_error_under_any_status(
    body: bytes, expected: type[ArxivError]
) -> None:
    with pytest.raises(ArxivError) as caught:
        parse_atom(body)
    assert type(caught.value) is expected
    assert caught.value.hint


@pytest.mark.parametrize(
    "body", [atom_feed(total="many"), atom_feed(start="-1"), atom_feed(start=""), oai_page()]
)
def test_a_page_that_does_not_say_what_it_is_cannot_be_trusted(body: bytes) -> None:
    with pytest.raises(ArxivUnreadable):
        parse_atom(body)


def page_of(entries: int, total: int, start: int = 0) -> AtomPage:
    made = [atom_entry(f"2611.{number:05d}v1") for number in range(1, entries + 1)]
    return read_page(*made, total=total, start=start)


@pytest.mark.parametrize(
    ("entries", "total", "start", "size"),
    [
        (10, 100, 0, 10),
        (9, 509, 500, 100),
        (0, 509, 600, 100),
        (0, 0, 0, 10),
        (3, 3, 0, 10),
        (3, 2, 0, 10),
    ],
)
def test_full_last_and_empty_pages_hold_what_was_asked_for(
    entries: int, total: int, start: int, size: int
) -> None:
    page = page_of(entries, total, start)
    check_counts(page, start, size)


@pytest.mark.parametrize(
    ("entries", "total", "start", "size", "came"),
    [
        (0, 100, 0, 10, "none"),
        (9, 100, 0, 10, "only 9"),
        (8, 509, 500, 100, "only 8"),
        (0, 1, 0, 10, "none"),
    ],
)
def test_a_page_with_too_few_entries_for_its_own_total_is_short(
    entries: int, total: int, start: int, size: int, came: str
) -> None:
    page = page_of(entries, total, start)
    with pytest.raises(ArxivShort, match=came):
        check_counts(page, start, size)


def test_an_entry_that_came_twice_does_not_stand_for_one_that_did_not_come() -> None:
    for entry in (atom_entry(), atom_entry(title="")):
        twice = read_page(entry, entry, total=2)
        with pytest.raises(ArxivShort, match="only 1"):
            check_counts(twice, 0, 10)
    two_versions = read_page(atom_entry("2611.00001v1"), atom_entry("2611.00001v2"), total=2)
    check_counts(two_versions, 0, 10)


def test_another_page_of_the_same_search_is_not_the_one_asked_for() -> None:
    page = page_of(10, 100)
    with pytest.raises(ArxivUnreadable, match="begins with paper 0"):
        check_counts(page, 50, 10)


def test_a_page_that_counts_in_two_ways_cannot_be_trusted() -> None:
    total = b"<opensearch:totalResults>7</opensearch:totalResults>"
    twice = atom_feed(atom_entry(), total=7).replace(total, total * 2)
    assert parse_atom(twice).total == 7
    in_two_ways = twice.replace(b">7<", b">1<", 1)
    with pytest.raises(ArxivUnreadable, match="totalResults"):
        parse_atom(in_two_ways)


def test_entries_put_aside_count_as_having_come() -> None:
    page = read_page(atom_entry(title=""), atom_entry(), total=2)
    check_counts(page, 0, 10)
