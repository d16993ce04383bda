"""One paper: its authors, its labels and dates, and why it matched."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from digest.model.announcements import Kind
from digest.model.papers import Author, Field, Reason
from digest.model.subscriptions import Abstracts
from digest.render.papers import LONGEST_TITLE, PaperView, mark_parts, star_parts
from digest.render.samples import make_entry

MANY = tuple(Author(f"A{number}") for number in range(20))


def view(**fields: Any) -> PaperView:  # noqa: ANN401 - as make_entry
    return PaperView(make_entry(**fields), 1)


def test_up_to_three_authors_are_named_and_of_more_the_first_the_last_and_those_asked_for() -> None:
    assert view(authors=()).short_authors == ""
    assert view(authors=MANY[:3]).short_authors == "A0, A1, A2"
    four = (Author("Ann van Lee"), *MANY[:2], Author("Cy Roe Jr."))
    assert view(authors=four).short_authors == "van Lee … Roe (4)"
    asked_for = view(authors=MANY, found=((Field.AUTHORS, "A17"),))
    assert asked_for.short_authors == "A0 … A17 … A19 (20)"
    assert asked_for.short_authors_html == "A0 … <mark>A17</mark> … A19 (20)"
    assert asked_for.short_authors_mrkdwn == "A0 … *A17* … A19 (20)"


def test_names_are_isolated_in_html_so_that_their_direction_stays_their_own() -> None:
    paper = view(authors=(Author("נועה לוי"), Author("<b>")))
    assert paper.short_authors_html == "<bdi>נועה לוי</bdi>, &lt;b&gt;"


def test_all_authors_are_listed_with_all_affiliations() -> None:
    last = Author("Last", ("One", "Two"))
    authors = view(authors=(*MANY, last)).all_authors
    assert authors[-2:] == ("A19", "Last (One; Two)")
    assert len(authors) == 21


def test_a_name_without_end_is_cut() -> None:
    endless = Author("x" * 5_000)
    paper = view(authors=(endless,))
    assert len(paper.short_authors_html) < 160


def test_of_the_categories_the_primary_one_is_named_and_those_a_query_asked_for() -> None:
    categories = ("quant-ph", "hep-th", "math-ph", "gr-qc")
    asked_for = view(categories=categories, found=((Field.CATEGORIES, "gr-qc"),))
    assert asked_for.categories == "quant-ph gr-qc +2"
    alone = view(categories=("quant-ph",), found=())
    assert alone.categories == "quant-ph"


def test_a_very_long_title_is_cut_for_narrow_places_and_whole_elsewhere() -> None:
    paper = view(title="word " * 400)
    assert len(paper.title) <= LONGEST_TITLE
    assert len(paper.full_title) == 1_999


def test_late_announcements_say_both_dates() -> None:
    late = view(published=datetime(2026, 11, 6, tzinfo=UTC))
    assert late.dates == "submitted 6 Nov, announced 19 Nov"
    assert view().dates == ""


def test_an_old_paper_says_when_it_was_cross_listed_or_edited() -> None:
    old = datetime(2021, 3, 2, tzinfo=UTC)
    crossed = view(kind=Kind.CROSS_LIST, published=old)
    assert crossed.dates == "submitted 2 Mar 2021, cross-listed 19 Nov"
    edited = view(kind=Kind.METADATA, published=old)
    assert edited.dates == "submitted 2 Mar 2021, edited 19 Nov"


def test_a_first_digest_says_when_papers_were_submitted_only() -> None:
    paper = PaperView(make_entry(), 1, is_first_digest=True)
    assert paper.dates == "submitted 18 Nov"


def test_a_paper_known_from_before_says_nowhere_that_it_was_announced_when_it_was_found() -> None:
    early = datetime(2026, 11, 6, tzinfo=UTC)
    known = view(kind=Kind.KNOWN, published=early, updated=early)
    assert known.dates == "submitted 6 Nov"


def test_of_an_abstract_a_digest_shows_one_sentence_or_all_or_nothing() -> None:
    paper = view(abstract="It is slow. It is cheap.", found=((Field.ABSTRACT, "cheap"),))
    assert paper.show_abstract(Abstracts.SHORT) == ("It is <mark>cheap</mark>.",)
    assert paper.show_abstract(Abstracts.FULL) == ("It is slow. It is <mark>cheap</mark>.",)
    assert star_parts(paper.snippet_parts) == "It is *cheap*."
    assert star_parts(paper.abstract_parts) == "It is slow. It is *cheap*."
    assert paper.show_abstract(Abstracts.NONE) == ()


def test_why_it_matched_names_the_query_and_only_words_that_are_not_marked_in_what_is_seen() -> (
    None
):
    found = ((Field.ABSTRACT, "GPUs"), (Field.ABSTRACT, "programs"), (Field.COMMENT, "pages"))
    paper = view(found=found, comment="9 pages")
    assert paper.write_why(Abstracts.NONE) == "perf · mentions programs, pages"
    assert paper.write_why(Abstracts.FULL) == "perf · mentions pages"
    shown = view(found=((Field.ABSTRACT, "copy"), (Field.ABSTRACT, "programs")))
    assert "<mark>copy</mark>" in mark_parts(shown.snippet_parts)
    assert shown.write_why(Abstracts.SHORT) == "perf · mentions programs"
    entry = make_entry(found=((Field.AUTHORS, "Solheim"),))
    of_one_query = PaperView(entry, 1, is_of_one_query=True)
    assert of_one_query.write_mentions() == ""


def test_words_that_a_beginning_stands_for_are_not_named_beside_each_paper() -> None:
    found = ((Field.ABSTRACT, "planetary"), (Field.COMMENT, "pages"))
    entry = make_entry(
        abstract="Slow. Of planetary rings.", comment="9 pages", queries=(), found=found
    )
    assert PaperView(entry, 1).write_mentions() == "mentions planetary, pages"
    clauses = {Field.ABSTRACT: "abs:planet*", Field.COMMENT: "co:pages"}
    reasons = []
    for reason in entry.reasons:
        for span in reason.spans:
            reasons.append(Reason(clauses[span.field], (span,), "perf"))
    by_beginning = replace(entry, reasons=tuple(reasons))
    assert PaperView(by_beginning, 1).write_mentions() == "mentions pages"


def test_a_word_met_in_the_abstract_is_marked_in_the_title_too_whatever_it_ends_in() -> None:
    paper = view(
        title="A GPU for GPUs", abstract="Of GPUs. The mean.", found=((Field.ABSTRACT, "GPUs"),)
    )
    assert paper.title_html == "A <mark>GPU</mark> for <mark>GPUs</mark>"
    assert star_parts(paper.title_parts) == "A *GPU* for *GPUs*"


def test_paragraphs_of_an_abstract_stay_apart_with_their_marks_in_place() -> None:
    paper = view(abstract="First one.\nSecond one here.", found=((Field.ABSTRACT, "here"),))
    assert paper.show_abstract() == ("First one.", "Second one <mark>here</mark>.")
    assert paper.abstract == "First one. Second one here."


def test_a_phrase_met_with_two_endings_is_named_once() -> None:
    found = ((Field.ABSTRACT, "means"), (Field.ABSTRACT, "mean"), (Field.ABSTRACT, "transformers"))
    paper = view(abstract="The means, or the mean, of transformers.", queries=(), found=found)
    assert paper.write_mentions() == "mentions means, transformers"


def test_what_was_met_within_a_formula_is_quoted_as_it_shows() -> None:
    found = ((Field.COMMENT, "10^{-3}"), (Field.COMMENT, "Etienne"), (Field.COMMENT, "n^2"))
    comment = r"Below $10^{-3}$ s and \'Etienne's $\mathcal{O}(n^2)$"
    paper = view(comment=comment, queries=(), found=found)
    assert paper.write_mentions() == "mentions 10⁻³, Étienne, n²"
