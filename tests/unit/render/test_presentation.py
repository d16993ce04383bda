from datetime import UTC, datetime

from digest.model.announcements import Kind
from digest.model.papers import Field
from digest.render.papers import LONGEST_TITLE, PaperView
from digest.render.samples import make_entry


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


def test_a_first_look_says_when_papers_were_submitted_only() -> None:
    assert PaperView(make_entry(), 1, is_first_look=True).dates == "submitted 18 Nov"


def test_a_paper_known_from_before_says_nowhere_that_it_was_announced_when_it_was_found() -> None:
    early = datetime(2026, 11, 6, tzinfo=UTC)
    assert PaperView(make_entry(kind=Kind.KNOWN, published=early, updated=early), 1).dates == "submitted 6 Nov"


def test_a_change_is_told_with_its_label_and_the_comment_is_not_told_twice() -> None:
    entry = make_entry(
        kind=Kind.REPLACEMENT, label="v1 → v2", change_note="“accepted at a venue”", comment="accepted at a venue"
    )
    assert PaperView(entry, 1).change == "v1 → v2: “accepted at a venue”"
    assert PaperView(entry, 1).short_comment == ""


def test_abstracts_shorten_between_words_and_keep_their_marks() -> None:
    view = PaperView(make_entry(found=((Field.ABSTRACT, "cheap"),)), 1)
    (beginning,) = view.show_abstract(60)
    assert beginning == "Shared accelerators are <mark>cheap</mark> on average and slow at the …"
    assert view.shorten_abstract(60) == "Shared accelerators are cheap on average and slow at the …"
    assert (view.show_abstract(0), view.shorten_abstract(0)) == ((), "")


def test_paragraphs_of_an_abstract_stay_apart_with_their_marks_in_place() -> None:
    entry = make_entry(abstract="First one.\nSecond one here.", found=((Field.ABSTRACT, "here"),))
    assert PaperView(entry, 1).show_abstract() == ("First one.", "Second one <mark>here</mark>.")
    assert PaperView(entry, 1).abstract == "First one. Second one here."
