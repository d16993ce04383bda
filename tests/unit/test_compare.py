"""What counts as news is decided by ids and by what is stored, never by a date."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.compare import KnownBefore, compare_papers, content_hash
from digest.model.announcements import Kind
from digest.model.papers import Author, Paper
from tests.unit.made_up import SUBMITTED, know, make_paper

WATCHING = KnownBefore(mark=(202611, 10_000), since=SUBMITTED - timedelta(days=7))


def kind_of(
    paper: Paper, stored: Paper | None = None, known_before: KnownBefore = WATCHING
) -> Kind | None:
    known = {stored.id: know(stored)} if stored else {}
    changes = compare_papers([paper], known, known_before)
    return changes[0].kind if changes else None


def test_a_first_version_above_the_mark_is_new() -> None:
    paper = make_paper("2611.10001")
    assert kind_of(paper) is Kind.NEW


def test_a_first_version_of_a_later_month_is_new_whatever_its_number() -> None:
    paper = make_paper("2612.00001")
    assert kind_of(paper) is Kind.NEW


def test_a_paper_held_for_months_is_new_when_it_comes_out() -> None:
    months_before = SUBMITTED - timedelta(days=200)
    held = make_paper("2611.12000", published=months_before, updated=months_before)
    assert kind_of(held) is Kind.NEW


def test_an_old_paper_that_was_merely_edited_is_no_news() -> None:
    old = make_paper("1505.00001")
    assert kind_of(old) is Kind.KNOWN
    long_before = SUBMITTED - timedelta(days=900)
    older = make_paper("hep-th/9901001", version=3, updated=long_before)
    assert kind_of(older) is Kind.KNOWN


def test_a_higher_version_never_stored_is_a_replacement_if_it_is_recent() -> None:
    replaced = make_paper("2409.09874", version=3)
    assert kind_of(replaced) is Kind.REPLACEMENT
    withdrawn = make_paper("2409.09874", version=3, is_withdrawn=True)
    assert kind_of(withdrawn) is Kind.WITHDRAWAL


def test_nothing_a_first_digest_finds_is_news() -> None:
    paper = make_paper("2612.00001")
    first_digest = KnownBefore(is_bootstrap=True)
    assert kind_of(paper, known_before=first_digest) is Kind.KNOWN


def test_a_higher_version_replaces() -> None:
    first = make_paper()
    second = make_paper(version=2)
    assert kind_of(second, first) is Kind.REPLACEMENT


def test_a_lower_version_from_a_stale_replica_changes_nothing() -> None:
    first = make_paper(version=1)
    second = make_paper(version=2)
    assert kind_of(first, second) is None


def test_the_same_again_changes_nothing() -> None:
    stored = make_paper()
    again = make_paper()
    assert kind_of(again, stored) is None


def test_more_categories_are_a_cross_list_and_fewer_an_edit() -> None:
    fewer = make_paper()
    more = make_paper(categories=("cs.PF", "cs.DC"))
    assert kind_of(more, fewer) is Kind.CROSS_LIST
    assert kind_of(fewer, more) is Kind.METADATA


def test_a_withdrawal_is_told_apart_from_a_replacement() -> None:
    withdrawn = make_paper(version=2, is_withdrawn=True)
    assert kind_of(withdrawn, make_paper()) is Kind.WITHDRAWAL


def test_an_edit_without_a_new_version_is_metadata_with_what_changed() -> None:
    stored = make_paper()
    edited = make_paper(title="Another title", comment="accepted")
    (change,) = compare_papers([edited], {stored.id: know(stored)}, WATCHING)
    assert change.kind is Kind.METADATA
    assert change.fields == ("title", "comment")


def test_one_interface_writes_accents_as_tex_and_that_is_no_change() -> None:
    as_tex = make_paper(title=r"On Schr\"odinger's equation", authors=(r"P{\i}nar \"Ozg\"un",))
    as_letters = make_paper(title="On Schrödinger's equation", authors=("Pınar Özgün",))
    assert kind_of(as_letters, as_tex) is None


def test_what_the_search_interface_cannot_tell_stays_as_stored() -> None:
    author = Author("Ada", ("Here",))
    stored = make_paper(report_no="R-1", license="cc", is_withdrawn=True, authors=(author,))
    searched = make_paper(comment="now with a comment", authors=("Ada",))
    (change,) = compare_papers([searched], {stored.id: know(stored)}, WATCHING)
    now = change.paper
    assert now.report_no == "R-1"
    assert now.license == "cc"
    assert now.is_withdrawn is True
    assert now.authors == stored.authors
    assert change.fields == ("comment",)


def test_a_paper_met_on_two_pages_counts_once_at_its_highest_version() -> None:
    papers = [make_paper(), make_paper(version=2), make_paper()]
    (change,) = compare_papers(papers, {}, WATCHING)
    assert change.kind is Kind.REPLACEMENT
    assert change.paper.version == 2


def test_changes_come_in_the_order_papers_were_announced() -> None:
    papers = [make_paper(id_) for id_ in ("2612.00002", "2611.15000", "2612.00001")]
    changes = compare_papers(papers, {}, WATCHING)
    ids = [str(change.paper.id) for change in changes]
    assert ids == ["2611.15000", "2612.00001", "2612.00002"]


@pytest.mark.parametrize("field", ["report_no", "license"])
def test_what_the_harvest_says_first_of_a_paper_that_a_search_brought_is_a_change(
    field: str,
) -> None:
    searched = make_paper()
    harvested = make_paper(datestamp=SUBMITTED.date(), **{field: "first"})
    (change,) = compare_papers([harvested], {searched.id: know(searched)}, WATCHING)
    assert change.kind == Kind.METADATA
    assert change.fields == (field,)
    assert content_hash(harvested) != content_hash(searched)
    again = make_paper(datestamp=SUBMITTED.date(), **{field: "second"})
    assert compare_papers([again], {harvested.id: know(harvested)}, WATCHING) == ()


@given(
    st.sampled_from(["title", "abstract", "comment", "journal_ref"]),
    st.text(alphabet="abc ", min_size=1),
)
def test_hash_and_comparison_agree_on_what_a_change_is(field: str, text: str) -> None:
    before = make_paper()
    after = replace(before, **{field: text})  # type: ignore[arg-type]  # the four fields are texts
    is_same = content_hash(before) == content_hash(after)
    assert (kind_of(after, before) is None) == is_same


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 4)), max_size=30))
def test_comparing_what_was_just_stored_finds_nothing(drawn: list[tuple[int, int]]) -> None:
    papers = [make_paper(f"2611.{number:05d}", version=version) for number, version in drawn]
    changes = compare_papers(papers, {}, WATCHING)
    stored = {change.paper.id: know(change.paper) for change in changes}
    assert compare_papers(papers, stored, WATCHING) == ()
