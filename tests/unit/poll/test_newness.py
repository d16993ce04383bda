"""What a look judges news by."""

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


def test_what_is_no_news_to_a_look_is_news_to_whoever_waited_for_it() -> None:
    judge = make_novelty_rule(BEGINNER, {"cat:cs.PF": FollowedQuery(EARLY)})
    assert judge(make_paper()) == EARLY
    assert judge(make_paper(categories=("cs.DC",))) == BEGINNER


def test_of_several_who_waited_the_one_with_the_lowest_mark_decides() -> None:
    judge = make_novelty_rule(
        BEGINNER, {"cat:cs.PF": FollowedQuery(LATE), "ti:gpus": FollowedQuery(EARLY)}
    )
    assert judge(make_paper()) == EARLY
    assert judge(make_paper(title="Other")) == LATE


def test_papers_older_than_a_query_ever_looked_back_are_no_news_to_it() -> None:
    judge = make_novelty_rule(BEGINNER, {"cat:cs.PF": FollowedQuery(MARKLESS, oldest=SUBMITTED)})
    assert judge(make_paper()) == MARKLESS
    assert judge(make_paper(updated=SUBMITTED - timedelta(minutes=1))) == BEGINNER


@pytest.mark.parametrize(
    ("number", "version", "is_news"), [(15_012, 1, True), (15_012, 2, True), (12, 1, False)]
)
def test_what_is_news_anyway_needs_nobody_who_waited(
    number: int, version: int, *, is_news: bool
) -> None:
    rest = KnownBefore(mark=(202611, 15_000), since=SUBMITTED)
    judge = make_novelty_rule(rest, {"cat:cs.PF": FollowedQuery(MARKLESS)})
    assert judge(make_paper(f"2611.{number:05d}", version=version)) == (
        rest if is_news else MARKLESS
    )


def test_searches_ask_those_known_and_nobody_who_is_new() -> None:
    judge = NoveltyRules(BEGINNER, {"cat:cs.PF": MARKLESS}).search_rule()
    assert judge(make_paper(updated=SUBMITTED - timedelta(days=99))) == MARKLESS
    assert judge(make_paper(updated=SUBMITTED - timedelta(days=101))) == BEGINNER
    assert judge(make_paper(categories=("cs.DC",))) == BEGINNER


def test_to_a_query_that_was_harvested_ids_tell_what_is_news_however_old_it_is() -> None:
    judge = NoveltyRules(EARLY, {"cat:cs.PF": EARLY}).search_rule()
    assert judge(make_paper(updated=SUBMITTED - timedelta(days=400))) == EARLY
    assert judge(make_paper(categories=("cs.DC",))) == BEGINNER
