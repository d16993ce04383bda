"""arXiv answers from replicas and caches, some hours behind.

What they show is the past, and no change.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.compare import KnownBefore, compare_papers, content_hash
from digest.model.announcements import Kind, KnownPaper
from digest.model.papers import Paper
from tests.unit.made_up import SUBMITTED, make_paper

WATCHING = KnownBefore(
    mark=(202611, 10_000), since=SUBMITTED - timedelta(days=7), began_on=date(2026, 11, 1)
)
DAY = date(2026, 11, 18)
SEEN = datetime(2026, 11, 18, 15, 0, tzinfo=UTC)
LATER = SEEN + timedelta(hours=6)
BEFORE = make_paper(categories=("cs.PF",), datestamp=DAY)
AFTER = replace(BEFORE, categories=("cs.PF", "cs.DC"))


def known_as(paper: Paper, *earlier: Paper, as_of: datetime | None = SEEN) -> KnownPaper:
    hashes = frozenset(content_hash(one) for one in earlier)
    return KnownPaper(1, 1, paper, as_of, hashes)


def kind_of(paper: Paper, stored: KnownPaper, as_of: datetime | None = LATER) -> Kind | None:
    changes = compare_papers([paper], {paper.id: stored}, WATCHING, as_of)
    return changes[0].kind if changes else None


def test_a_state_touched_on_an_earlier_day_is_the_past() -> None:
    stale = replace(BEFORE, datestamp=DAY - timedelta(days=1))
    stored = known_as(AFTER)
    assert kind_of(stale, stored) is None


def test_a_state_touched_on_a_later_day_is_a_change_even_where_it_goes_back_to_what_was() -> None:
    returned = replace(BEFORE, datestamp=DAY + timedelta(days=1))
    stored = known_as(AFTER, BEFORE)
    assert kind_of(returned, stored) is Kind.METADATA


def test_an_answer_older_than_the_one_that_was_stored_is_the_past() -> None:
    stored = known_as(BEFORE)
    a_minute_before = SEEN - timedelta(minutes=1)
    assert kind_of(AFTER, stored, as_of=a_minute_before) is None
    assert kind_of(AFTER, stored) is Kind.CROSS_LIST


def test_a_text_left_behind_on_the_same_day_is_the_past_until_days_later() -> None:
    stored = known_as(AFTER, BEFORE)
    assert kind_of(BEFORE, stored) is None
    days_later = SEEN + timedelta(days=3)
    assert kind_of(BEFORE, stored, as_of=days_later) is Kind.METADATA


def test_a_cross_list_that_is_missing_again_on_the_same_day_is_the_past() -> None:
    stored = known_as(AFTER)
    assert kind_of(BEFORE, stored) is None


def test_a_title_edited_on_the_same_day_is_a_change() -> None:
    edited = replace(BEFORE, title="Another title")
    stored = known_as(BEFORE)
    assert kind_of(edited, stored) is Kind.METADATA


def test_the_search_is_not_believed_about_a_version_that_the_harvest_has_just_brought() -> None:
    stored = known_as(AFTER)
    searched = replace(BEFORE, datestamp=None)
    assert kind_of(searched, stored) is None
    more = replace(searched, categories=("cs.PF", "cs.DC", "cs.LG"))
    assert kind_of(more, stored) is None
    days_later = SEEN + timedelta(days=2)
    assert kind_of(more, stored, days_later) is Kind.CROSS_LIST


def test_other_words_of_the_search_for_a_version_that_the_harvest_brought_are_no_edit() -> None:
    searched = replace(BEFORE, datestamp=None, title="Other words")
    days_later = SEEN + timedelta(days=9)
    by_harvest = known_as(BEFORE)
    assert kind_of(searched, by_harvest, days_later) is None
    by_search = known_as(replace(BEFORE, datestamp=None))
    assert kind_of(searched, by_search, days_later) is Kind.METADATA


def test_the_search_is_believed_about_a_higher_version() -> None:
    higher = replace(BEFORE, version=2, datestamp=None)
    stored = known_as(AFTER)
    assert kind_of(higher, stored) is Kind.REPLACEMENT


def test_a_withdrawal_is_not_taken_back_by_a_replica_that_has_not_heard_of_it() -> None:
    withdrawn = replace(BEFORE, is_withdrawn=True)
    stored = known_as(withdrawn, BEFORE)
    assert kind_of(BEFORE, stored) is None
    days_later = replace(BEFORE, datestamp=DAY + timedelta(days=2))
    assert kind_of(days_later, stored) is Kind.METADATA


def test_what_was_public_before_the_first_digest_is_no_news_though_that_one_lost_it() -> None:
    lost = make_paper("2611.12000", datestamp=date(2026, 10, 31))
    (change,) = compare_papers([lost], {}, WATCHING)
    assert change.kind is Kind.KNOWN
    public_since = replace(lost, datestamp=date(2026, 11, 1))
    (change,) = compare_papers([public_since], {}, WATCHING)
    assert change.kind is Kind.NEW


STATES = st.lists(
    st.sampled_from([(), ("cs.DC",), ("cs.DC", "cs.LG"), ("math.CO",)]), min_size=1, max_size=6
)


@given(STATES, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 48)), max_size=12))
def test_replicas_behind_never_make_a_change_be_reported_twice(
    states: list[tuple[str, ...]], looks: list[tuple[int, int]]
) -> None:
    """One state a day, each adding to the last or replacing it.

    Looks at any state up to two days behind.
    """
    days = []
    for number, extra in enumerate(states):
        datestamp = DAY + timedelta(days=number)
        days.append(replace(BEFORE, categories=("cs.PF", *extra), datestamp=datestamp))
    last = len(days) - 1
    stored = KnownPaper(1, 1, days[0], SEEN, frozenset())
    reported: list[Paper] = []
    now = SEEN
    for wanted, behind in looks:
        wanted_at = SEEN + timedelta(days=min(wanted, last))
        now = max(now, wanted_at) + timedelta(minutes=40)
        shown = max(now - timedelta(hours=behind), SEEN)
        day = min((shown - SEEN).days, last)
        paper = days[day]
        for change in compare_papers([paper], {paper.id: stored}, WATCHING, now):
            reported.append(change.paper)
            earlier = stored.earlier | {content_hash(stored.paper)}
            stored = KnownPaper(1, 1, change.paper, now, earlier)
    stamps = [paper.datestamp for paper in reported if paper.datestamp is not None]
    assert stamps == sorted(set(stamps))


@pytest.mark.parametrize("as_of", [None, LATER])
def test_the_same_state_again_is_no_change(as_of: datetime | None) -> None:
    stored = known_as(BEFORE)
    assert kind_of(BEFORE, stored, as_of) is None
