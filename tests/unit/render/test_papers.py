"""One paper: its authors, its labels and dates, and why it matched."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry
from digest.model.papers import Author, Field
from digest.model.subscriptions import Abstracts
from digest.render.papers import (
    LONGEST_TITLE,
    PaperView,
    describe_reasons,
    find_matched_authors,
    list_authors,
    write_authors_html,
)
from digest.render.samples import make_entry

MANY = tuple(Author(f"A{number}") for number in range(20))


def write_authors(entry: DigestEntry, most: int) -> str:
    return write_authors_html(entry, most).striptags()


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


def test_a_very_long_title_is_cut_for_narrow_places_and_whole_elsewhere() -> None:
    view = PaperView(make_entry(title="word " * 400), 1)
    assert len(view.title) <= LONGEST_TITLE
    assert len(view.full_title) == 1_999


def test_late_announcements_say_both_dates() -> None:
    late = datetime(2026, 11, 6, tzinfo=UTC)
    assert PaperView(make_entry(published=late), 1).dates == "submitted 6 Nov, announced 19 Nov"
    assert PaperView(make_entry(), 1).dates == ""


def test_an_old_paper_says_when_it_was_cross_listed_or_edited() -> None:
    old = datetime(2021, 3, 2, tzinfo=UTC)
    view = PaperView(make_entry(kind=Kind.CROSS_LIST, published=old), 1)
    assert view.dates == "submitted 2 Mar 2021, cross-listed 19 Nov"
    edited = PaperView(make_entry(kind=Kind.METADATA, published=old), 1)
    assert edited.dates == "submitted 2 Mar 2021, edited 19 Nov"


def test_a_first_digest_says_when_papers_were_submitted_only() -> None:
    assert PaperView(make_entry(), 1, is_first_digest=True).dates == "submitted 18 Nov"


def test_a_paper_known_from_before_says_nowhere_that_it_was_announced_when_it_was_found() -> None:
    early = datetime(2026, 11, 6, tzinfo=UTC)
    assert PaperView(make_entry(kind=Kind.KNOWN, published=early, updated=early), 1).dates == "submitted 6 Nov"


def test_of_an_abstract_a_digest_shows_one_sentence_or_all_or_nothing() -> None:
    view = PaperView(make_entry(abstract="It is slow. It is cheap.", found=((Field.ABSTRACT, "cheap"),)), 1)
    assert view.show_abstract(Abstracts.SHORT) == ("It is <mark>cheap</mark>.",)
    assert view.show_abstract(Abstracts.FULL) == ("It is slow. It is <mark>cheap</mark>.",)
    assert [view.write_abstract(abstracts) for abstracts in Abstracts] == ["It is cheap.", view.abstract, ""]
    assert view.show_abstract(Abstracts.NONE) == ()


def test_the_only_saved_query_of_a_digest_is_not_named_at_each_paper() -> None:
    entry = make_entry(found=((Field.TITLE, "GPUs"),))
    assert PaperView(entry, 1, is_of_one_query=True).short_why == '"GPUs" in title'


def test_paragraphs_of_an_abstract_stay_apart_with_their_marks_in_place() -> None:
    entry = make_entry(abstract="First one.\nSecond one here.", found=((Field.ABSTRACT, "here"),))
    assert PaperView(entry, 1).show_abstract() == ("First one.", "Second one <mark>here</mark>.")
    assert PaperView(entry, 1).abstract == "First one. Second one here."


def test_a_reason_quotes_what_was_met_and_where() -> None:
    assert describe_reasons(make_entry(found=((Field.TITLE, "GPU"),))) == ('"GPU" in title',)


def test_a_word_met_in_the_title_is_not_told_again_for_the_abstract() -> None:
    assert describe_reasons(make_entry(found=((Field.ABSTRACT, "GPU"), (Field.TITLE, "GPU")))) == (
        '"GPU" in title',
    )


def test_a_phrase_met_with_two_endings_is_told_once() -> None:
    found = ((Field.ABSTRACT, "means"), (Field.ABSTRACT, "mean"))
    entry = make_entry(abstract="The means, or the mean, of a transfer by transformers.", found=found)
    assert describe_reasons(entry) == ('"means" in abstract',)
    found = ((Field.ABSTRACT, "transfer"), (Field.ABSTRACT, "transformers"))
    assert (
        len(
            describe_reasons(
                replace(entry, reasons=make_entry(abstract=entry.paper.abstract, found=found).reasons)
            )
        )
        == 2
    )


def test_what_was_met_within_a_formula_is_quoted_as_it_shows() -> None:
    entry = make_entry(
        title=r"Below $10^{-3}$ s and \'Etienne's $\mathcal{O}(n^2)$",
        found=((Field.TITLE, "10^{-3}"), (Field.TITLE, "Etienne"), (Field.TITLE, "n^2")),
    )
    assert describe_reasons(entry) == ('"10⁻³" in title', '"Étienne" in title', '"n²" in title')


def test_authors_come_first_and_by_their_whole_name() -> None:
    entry = make_entry(found=((Field.TITLE, "latency"), (Field.AUTHORS, "Solheim")))
    assert describe_reasons(entry) == ("author Marit Solheim", '"latency" in title')
    assert find_matched_authors(entry) == {0}


def test_a_category_is_named_only_where_nothing_else_was_met() -> None:
    assert describe_reasons(make_entry(found=((Field.CATEGORIES, "cs.DC"),))) == ("in cs.DC",)
    assert describe_reasons(make_entry(found=((Field.CATEGORIES, "cs.DC"), (Field.TITLE, "GPU")))) == (
        '"GPU" in title',
    )
