from datetime import UTC, date, datetime

import pytest

from digest.model.messages import Coverage, Occasion
from digest.model.subscriptions import Grouping
from digest.render.digests import (
    CoverageState,
    describe_coverage,
    view_digest,
    view_papers,
    view_rest,
    write_headline,
    write_introduction,
)
from digest.render.samples import EVENING, make_coverage, make_digest, make_entry

FOLLOWS = "What is missing comes in your next digest"


def test_an_announcement_that_is_not_out_yet_is_late() -> None:
    view = describe_coverage(
        make_coverage(3, is_complete=False, is_awaited=True, since=date(2026, 11, 16))
    )
    assert view.state is CoverageState.INCOMPLETE
    assert view.sentence == "arXiv's newest announcement is late. Its papers come when it is out"


def test_what_an_earlier_digest_told_is_not_said_to_have_matched_nothing() -> None:
    told_at = datetime(2026, 11, 20, 5, tzinfo=UTC)
    coverage = make_coverage(None, last_shown_at=told_at)
    digest = make_digest((), coverage=coverage, zone="Europe/Berlin")
    assert write_headline(digest) == "No new papers"
    assert write_introduction(digest) == (
        "Checked 04:47 CET: nothing more matched “perf” or “gpu” since the digest "
        "of Fri 20 Nov 06:00 CET."
    )
    partly = make_coverage(None, last_shown_at=told_at, is_complete=False)
    assert write_headline(make_digest((), coverage=partly)) == "Nothing more yet"


@pytest.mark.parametrize("slot", ["2026-11-20", "2026-W47"])
def test_a_digest_of_several_announcements_is_called_after_their_days(slot: str) -> None:
    several = make_coverage(40, since=date(2026, 11, 17), announcements=3)
    view = view_digest(make_digest((), slot=slot, coverage=several))
    assert view.day == "17–19 Nov"
    assert view.long_day == "17–19 November 2026"
    assert view_digest(make_digest((), slot=slot)).day == "Thu 19 Nov"


def test_long_queries_do_not_cut_the_sentence_that_names_them() -> None:
    texts = tuple((text, text) for text in (f"abs:one OR abs:{'two' * 40}", "cat:cs.PF"))
    assert write_introduction(make_digest((), queries=texts)).endswith(
        "nothing new matched the saved queries."
    )
    digest = make_digest([make_entry()], queries=texts[:1], occasion=Occasion.FIRST_DIGEST)
    assert write_introduction(digest) == (
        "Welcome. This is the newest paper for your query. From now on you get only new ones."
    )


def test_what_is_left_out_of_many_long_queries_is_told_in_little_room() -> None:
    entries = [
        make_entry(number, queries=(f"abs:{number} OR {'abs:two OR ' * 20}",))
        for number in range(40)
    ]
    papers = view_papers(make_digest(entries, group_by=Grouping.QUERY))
    assert len(view_rest(papers, "").parts) <= 300  # Slack takes 3,000 characters in a line


@pytest.mark.parametrize(
    ("coverage", "state", "sentence"),
    [
        (  # a first look does not pass off its older papers as matches of the announcement
            make_coverage(None, new=294),
            CoverageState.COMPLETE,
            "all 294 papers of Thu 19 Nov were checked",
        ),
        (  # figures that do not belong together are left out
            make_coverage(9, new=3),
            CoverageState.COMPLETE,
            "all papers of Thu 19 Nov were checked",
        ),
        (  # even if an earlier part was complete
            make_coverage(0, failure="arXiv has not answered", failing_since=EVENING),
            CoverageState.FAILED,
            f"papers may be missing. arXiv has not answered since Thu 19 Nov 22:47 ET. {FOLLOWS}",
        ),
        (  # a look by search, after midnight
            make_coverage(1, source="query", checked_at=datetime(2026, 11, 20, 6, 10, tzinfo=UTC)),
            CoverageState.COMPLETE,
            "all papers of Thu 19 Nov were searched",
        ),
    ],
)
def test_a_look_is_told_as_what_it_was(
    coverage: Coverage, state: CoverageState, sentence: str
) -> None:
    view = describe_coverage(coverage)
    assert view.state == state
    assert view.sentence == sentence


@pytest.mark.parametrize(
    ("zone", "checked"),
    [
        ("America/New_York", "Thu 19 Nov 22:47 ET"),
        ("Europe/Berlin", "Fri 20 Nov 04:47 CET"),
        ("Asia/Tokyo", "Fri 20 Nov 12:47 JST"),
        ("Asia/Kathmandu", "Fri 20 Nov 09:32 UTC+5:45"),
        ("America/Sao_Paulo", "Fri 20 Nov 00:47 UTC-3"),
        ("UTC", "Fri 20 Nov 03:47 UTC"),
    ],
)
def test_a_check_is_told_in_its_readers_own_time(zone: str, checked: str) -> None:
    partly = make_coverage(9, is_complete=False)
    assert f"was last checked {checked}." in describe_coverage(partly, zone).sentence
