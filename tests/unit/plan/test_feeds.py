"""A feed follows from what was matched and when.

What moves its dates, its texts and its ids, and what not.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from digest.model.announcements import Kind, StoredChange
from digest.model.messages import Feed, FeedEntry
from digest.model.secrets import feed_uri
from digest.model.subscriptions import Wording
from digest.plan.feeds import Matched, plan_feed, spread_moments
from digest.query import parse_query
from tests.unit.made_up import FOUND, make_change, make_changes, make_paper

EMPTY = Feed("", "perf-team", FOUND, "https://digest.example.org/f/x.atom", "", ())
LATER = FOUND + timedelta(days=2)
GPU = Wording("gpu", "ti:GPUs", FOUND - timedelta(days=9), None)


def plan(
    *matched: Matched,
    wordings: tuple[Wording, ...] = (GPU,),
    key: int = 7,
    title: str = "perf-team",
) -> Feed:
    name = ("here", "subscription", str(key))
    empty = replace(EMPTY, id=feed_uri(*name), title=title)
    queries = {wording: parse_query(wording.text) for wording in wordings}
    return plan_feed(matched, queries, name, empty)


def match_at(change: StoredChange, at: datetime = FOUND) -> Matched:
    return Matched(change, at, at)


def only(feed: Feed) -> FeedEntry:
    (entry,) = feed.entries
    return entry


def test_a_replacement_that_is_told_moves_updated_and_neither_published_nor_the_id() -> None:
    new = match_at(make_change(1, make_paper()))
    replaced = make_change(2, make_paper(version=2), Kind.REPLACEMENT, make_paper())
    first = only(plan(new))
    second = only(plan(new, match_at(replaced, LATER)))
    assert (first.published, first.updated) == (FOUND, FOUND)
    assert (second.published, second.updated) == (FOUND, LATER)
    assert first.id == second.id
    assert second.entry.paper.version == 2


def test_editing_a_query_changes_no_entry_and_what_is_matched_then_has_the_new_words() -> None:
    paper = match_at(make_change(1, make_paper()))
    before = plan(paper)
    edited = (
        Wording("gpu", "ti:GPUs", GPU.since, LATER),
        Wording("gpu", "abs:measure", LATER, None),
    )
    assert plan(paper, wordings=edited) == before
    other = match_at(make_change(2, make_paper("2611.15013")), LATER)
    newest, oldest = plan(paper, other, wordings=edited).entries
    newest_clauses = [reason.clause for reason in newest.entry.reasons]
    oldest_clauses = [reason.clause for reason in oldest.entry.reasons]
    assert newest_clauses != oldest_clauses
    assert oldest == only(before)


def test_each_feed_gives_a_paper_an_id_of_its_own_so_that_readers_show_it_in_all() -> None:
    paper = match_at(make_change(1, make_paper()))
    ids = set()
    for feed in (plan(paper), plan(paper, key=8, title="other")):
        ids |= {feed.id, only(feed).id}
    assert len(ids) == 4


def test_a_feed_holds_the_newest_200_papers_and_says_of_how_many() -> None:
    matched = []
    for hours, change in enumerate(make_changes(range(1, 251)), 1):
        matched.append(match_at(change, FOUND + timedelta(hours=hours)))
    feed = plan(*matched)
    ids = [str(entry.entry.paper.id) for entry in feed.entries]
    assert ids == [f"2611.{number:05d}" for number in range(250, 50, -1)]
    assert feed.papers == 250


def count_days(matched: list[Matched]) -> list[int]:
    """Return on which day each paper of a feed came, the newest first."""
    feed = plan(*matched)
    return [(entry.updated - FOUND).days for entry in feed.entries]


def test_a_feed_holds_nothing_from_more_than_30_days_before_its_newest_paper() -> None:
    days = [0, 10, 29, 59, 60]
    changes = make_changes(range(1, 6))
    matched = []
    for day, change in zip(days, changes, strict=True):
        matched.append(match_at(change, FOUND + timedelta(days=day)))
    assert count_days(matched) == [60, 59]
    assert count_days(matched[:-1]) == [59, 29]


def test_a_feed_without_papers_has_a_notice_and_one_with_papers_has_none() -> None:
    empty = plan()
    assert "Nothing has matched perf-team yet" in empty.notice
    assert empty.updated == FOUND
    filled = plan(match_at(make_change(1, make_paper())))
    assert filled.notice == ""


@settings(max_examples=10)
@given(st.integers(1, 40))
def test_papers_of_one_run_come_a_second_apart_and_none_after_the_run(count: int) -> None:
    numbers = range(1, count + 1)
    changes = make_changes(numbers)
    matched = spread_moments(changes, FOUND, numbers)
    moments = [one.shown_at for one in matched]
    assert len(set(moments)) == count
    assert moments == sorted(moments)
    assert moments[-1] == FOUND
    feed = plan(*matched)
    assert [entry.updated for entry in feed.entries] == moments[::-1]
    assert feed.updated == FOUND


@settings(max_examples=10)
@given(st.sets(st.integers(1, 9), min_size=1))
def test_a_paper_has_the_same_moment_whichever_others_are_left_out(left: set[int]) -> None:
    numbers = range(1, 10)
    changes = make_changes(numbers)
    whole = spread_moments(changes, FOUND, numbers)
    some = [change for change in changes if change.id in left]
    expected = [one for one in whole if one.change.id in left]
    assert spread_moments(some, FOUND, numbers) == expected
