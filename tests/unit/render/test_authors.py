from digest.model.papers import Author, Field
from digest.render.papers import list_authors, write_authors, write_authors_html
from digest.render.samples import make_entry

MANY = tuple(Author(f"A{number}") for number in range(20))


def test_names_are_exact_and_affiliations_follow_them() -> None:
    authors = (Author("Nora Å. Lindqvist", ("Made-up University",)), Author("P\u0131nar Tözün"))
    assert (
        write_authors(make_entry(authors=authors), 6) == "Nora Å. Lindqvist (Made-up University), P\u0131nar Tözün"
    )


def test_one_author_more_than_wanted_is_named_since_counting_takes_as_much_room() -> None:
    assert write_authors(make_entry(authors=MANY[:7]), 6) == "A0, A1, A2, A3, A4, A5, A6"
    assert write_authors(make_entry(authors=MANY[:8]), 6) == "A0, A1, A2, A3, A4, A5, +2 more"


def test_whoever_was_asked_for_is_named_wherever_they_stand() -> None:
    entry = make_entry(authors=MANY, found=((Field.AUTHORS, "A17"),))
    assert write_authors(entry, 3) == "A0, A1, A2, A17, +16 more"
    assert "<mark>A17</mark>" in write_authors_html(entry, 3)


def test_names_are_isolated_in_html_so_that_their_direction_stays_their_own() -> None:
    entry = make_entry(authors=(Author("נועה לוי", ("<b>",)),))
    assert write_authors_html(entry, 6) == "<bdi>נועה לוי</bdi> (&lt;b&gt;)"


def test_a_paper_without_authors_has_an_empty_line() -> None:
    assert write_authors(make_entry(authors=()), 6) == ""


def test_all_authors_are_listed_with_all_affiliations() -> None:
    authors = (*MANY, Author("Last", ("One", "Two")))
    assert list_authors(make_entry(authors=authors))[-2:] == ("A19", "Last (One; Two)")
    assert len(list_authors(make_entry(authors=authors))) == 21


def test_a_name_or_affiliation_without_end_is_cut() -> None:
    assert len(write_authors(make_entry(authors=(Author("x" * 5_000, ("y" * 5_000,)),)), 6)) < 160
    assert len(write_authors_html(make_entry(authors=(Author("x" * 5_000),)), 6)) < 160
