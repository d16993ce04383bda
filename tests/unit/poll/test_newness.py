"""What a poll judges news by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from digest.compare import KnownBefore
from digest.poll.novelty import FollowedQuery, NoveltyRules, make_novelty_rule
from tests.unit.made_up import SUBMITTED, make_paper

LONG_AGO = datetime(2025, 1, 1, tzinfo=UTC)
EARLY = KnownBefore(mark=(202601, 5), since=LONG_AGO)
LATE = KnownBefore(mark=(202611, 20_000), since=SUBMITTED)
BEGINNER = KnownBefore(is_bootstrap=True)
MARKLESS = KnownBefore(since=SUBMITTED - timedelta(days=7))


def test_what_is_no_news_to_a_poll_is_news_to_whoever_waited_for_it() -> None:
    judge = make_novelty_rule(BEGINNER, {"cat:cs.PF": FollowedQuery(EARLY)})
    waited_for = make_paper()
    assert judge(waited_for) == EARLY
    other = make_paper(categories=("cs.DC",))
    assert judge(other) == BEGINNER


def test_of_several_who_waited_the_one_with_the_lowest_mark_decides() -> None:
    followed = {"cat:cs.PF": FollowedQuery(LATE), "ti:gpus": FollowedQuery(EARLY)}
    judge = make_novelty_rule(BEGINNER, followed)
    of_both = make_paper()
    assert judge(of_both) == EARLY
    of_one = make_paper(title="Other")
    assert judge(of_one) == LATE


def test_papers_older_than_a_query_ever_looked_back_are_no_news_to_it() -> None:
    judge = make_novelty_rule(BEGINNER, {"cat:cs.PF": FollowedQuery(MARKLESS, oldest=SUBMITTED)})
    oldest = make_paper()
    assert judge(oldest) == MARKLESS
    older = make_paper(updated=SUBMITTED - timedelta(minutes=1))
    assert judge(older) == BEGINNER


@pytest.mark.parametrize(
    ("number", "version", "is_news"), [(15_012, 1, True), (15_012, 2, True), (12, 1, False)]
)
def test_what_is_news_anyway_needs_nobody_who_waited(
    number: int, version: int, *, is_news: bool
) -> None:
    rest = KnownBefore(mark=(202611, 15_000), since=SUBMITTED)
    judge = make_novelty_rule(rest, {"cat:cs.PF": FollowedQuery(MARKLESS)})
    paper = make_paper(f"2611.{number:05d}", version=version)
    assert judge(paper) == (rest if is_news else MARKLESS)


def test_searches_ask_those_known_and_nobody_who_is_new() -> None:
    judge = NoveltyRules(BEGINNER, {"cat:cs.PF": MARKLESS}).search_rule()
    recent = make_paper(updated=SUBMITTED - timedelta(days=99))
    assert judge(recent) == MARKLESS
    old = make_paper(updated=SUBMITTED - timedelta(days=101))
    assert judge(old) == BEGINNER
    other = make_paper(categories=("cs.DC",))
    assert judge(other) == BEGINNER


def test_to_a_query_that_was_harvested_ids_say_what_is_news_however_old_it_is() -> None:
    judge = NoveltyRules(EARLY, {"cat:cs.PF": EARLY}).search_rule()
    old = make_paper(updated=SUBMITTED - timedelta(days=400))
    assert judge(old) == EARLY
    other = make_paper(categories=("cs.DC",))
    assert judge(other) == BEGINNER
