"""What earlier digests of a subscription stand for."""

from dataclasses import replace
from datetime import UTC, date, datetime

from digest.model.messages import Coverage, EarlierDigest, Occasion
from digest.plan.digests import find_last_papers, is_already_sent, last_sent_until

WEDNESDAY = Coverage(
    announcement=date(2026, 11, 18),
    is_complete=True,
    compared=1000,
    matched=None,
    checked_at=None,
    source="harvest",
    is_settled=True,
)
THURSDAY = replace(WEDNESDAY, announcement=date(2026, 11, 19))
PARTLY = replace(THURSDAY, is_complete=False, is_settled=False)
MORNING = datetime(2026, 11, 20, 8, tzinfo=UTC)


def earlier(
    coverage: Coverage, papers: int = 0, occasion: Occasion = Occasion.SCHEDULED
) -> EarlierDigest:
    return EarlierDigest(MORNING, occasion, papers, coverage)


def test_a_digest_stands_for_an_announcement_that_was_complete_with_papers_or_without() -> None:
    assert last_sent_until([earlier(WEDNESDAY, 3), earlier(THURSDAY)]) == THURSDAY.announcement
    assert is_already_sent(THURSDAY, [earlier(THURSDAY)])
    assert not is_already_sent(THURSDAY, [earlier(WEDNESDAY, 3)])
    assert not is_already_sent(THURSDAY, [])


def test_a_digest_of_an_incomplete_announcement_stands_for_the_last_complete_one_before() -> None:
    assert last_sent_until([earlier(WEDNESDAY), earlier(PARTLY, 3)]) == WEDNESDAY.announcement
    assert last_sent_until([earlier(PARTLY, 3)]) is None


def test_a_first_digest_stands_for_no_announcement() -> None:
    assert last_sent_until([earlier(THURSDAY, 3, Occasion.FIRST_DIGEST)]) is None


def test_papers_were_told_by_the_last_digest_that_may_have_had_any_of_these_announcements() -> None:
    assert find_last_papers(THURSDAY, [earlier(PARTLY, 3), earlier(THURSDAY)]) == MORNING
    assert find_last_papers(THURSDAY, [earlier(THURSDAY, 3, Occasion.FIRST_DIGEST)]) == MORNING
    assert find_last_papers(THURSDAY, [earlier(WEDNESDAY, 3), earlier(THURSDAY)]) is None
    assert (
        find_last_papers(replace(THURSDAY, since=WEDNESDAY.announcement), [earlier(WEDNESDAY, 3)])
        == MORNING
    )


def test_papers_told_while_an_announcement_was_not_out_yet_were_of_an_earlier_one() -> None:
    before = [earlier(replace(PARTLY, is_awaited=True), 3)]
    assert find_last_papers(THURSDAY, before) is None
    assert find_last_papers(replace(THURSDAY, since=WEDNESDAY.announcement), before) == MORNING
