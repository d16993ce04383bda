from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from digest.render.coverage import (
    CoverageState,
    describe_coverage,
    write_headline,
    write_introduction,
    write_span,
)
from digest.render.samples import make_coverage, make_digest, quiet_digests


def test_a_complete_look_says_what_was_looked_at_and_when() -> None:
    view = describe_coverage(make_coverage(9))
    assert view.state is CoverageState.COMPLETE
    assert view.sentence == "mailing of Thu 19 Nov: complete, 1,412 new, checked 22:47 ET; 9 matched"
    assert view.brief == "mailing complete: 1,412 new, 9 matched"


def test_a_mailing_that_is_not_out_yet_is_awaited_and_no_quiet_day() -> None:
    view = describe_coverage(make_coverage(0, is_complete=False, is_awaited=True, new=0))
    assert view.sentence == (
        "mailing of Thu 19 Nov: not out yet, checked 22:47 ET; it follows when arXiv shows it"
    )


def test_of_several_mailings_only_the_last_is_said_not_to_be_out_yet() -> None:
    awaited = make_coverage(3, mailing=date(2026, 11, 22), is_complete=False, is_awaited=True, new=1_200)
    view = describe_coverage(replace(awaited, since=date(2026, 11, 16), mailings=5))
    assert view.state is CoverageState.INCOMPLETE
    assert view.sentence == (
        "mailings of Mon 16 Nov to Thu 19 Nov: 1,200 new, 3 matched; that of Sun 22 Nov: not out yet,"
        " checked Thu 19 Nov 22:47 ET; it follows when arXiv shows it"
    )
    assert view.brief == "mailings: 1,200 new, 3 matched; the last not out yet, it follows"
    two = describe_coverage(replace(awaited, since=date(2026, 11, 19), mailings=2))
    assert two.sentence.startswith("mailing of Thu 19 Nov: 1,200 new, 3 matched; that of Sun 22 Nov: not out yet,")
    none = describe_coverage(replace(awaited, since=date(2026, 11, 16), mailings=5, new=0, matched=0))
    assert none.sentence.startswith("mailings of Mon 16 Nov to Sun 22 Nov: not out yet,")


def test_a_first_look_does_not_pass_off_its_older_papers_as_matches_of_the_mailing() -> None:
    view = describe_coverage(make_coverage(None, new=294))
    assert view.sentence == "mailing of Thu 19 Nov: complete, 294 new, checked 22:47 ET"
    assert view.brief == "mailing complete: 294 new"


def test_what_an_earlier_digest_told_is_not_said_to_have_matched_nothing() -> None:
    told_at = datetime(2026, 11, 20, 5, tzinfo=UTC)
    coverage = make_coverage(None, told_at=told_at)
    assert describe_coverage(coverage).sentence.endswith(", 1,412 new, checked 22:47 ET; nothing more matched")
    assert describe_coverage(coverage).brief == "mailing complete: 1,412 new, nothing more matched"
    digest = make_digest((), coverage=coverage, zone="Europe/Berlin")
    assert write_headline(digest) == "No new papers"
    assert write_introduction(digest) == (
        "Everything was looked at, and nothing more matched “perf” or “gpu”"
        " since the digest of Fri 20 Nov 06:00 CET."
    )
    partly = make_coverage(None, told_at=told_at, is_complete=False)
    assert write_headline(make_digest((), coverage=partly)) == "Nothing more yet"
    assert describe_coverage(partly).sentence.endswith("; nothing more matched, the rest follows")


def test_a_digest_for_several_mailings_says_how_many_and_of_which_days() -> None:
    several = make_coverage(40, since=date(2026, 11, 17), mailings=3)
    assert write_span(several) == "covers 3 mailings, 17–19 November"
    assert write_span(make_coverage(40)) == ""
    assert write_span(make_coverage(40, since=date(2026, 11, 17))) == ""  # frozen before they were counted


def test_figures_that_do_not_belong_together_are_left_out() -> None:
    assert describe_coverage(make_coverage(9, new=3)).sentence == (
        "mailing of Thu 19 Nov: complete, checked 22:47 ET"
    )


def test_a_failed_look_is_named_as_one_even_if_an_earlier_part_was_complete() -> None:
    view = describe_coverage(make_coverage(0, failure="no answer within 240 s."))
    assert view.state is CoverageState.FAILED
    assert view.sentence == "arXiv could not be reached: no answer within 240 s; the rest follows"


def test_a_look_by_search_says_so() -> None:
    assert describe_coverage(make_coverage(1, source="query")).sentence.startswith(
        "mailing of Thu 19 Nov, by search:"
    )


def test_a_check_after_midnight_names_its_day() -> None:
    late = make_coverage(1, checked_at=datetime(2026, 11, 20, 6, 10, tzinfo=UTC))
    assert describe_coverage(late).sentence.endswith(", checked Fri 20 Nov 01:10 ET; 1 matched")


@pytest.mark.parametrize(
    ("zone", "checked"),
    [
        ("America/New_York", "22:47 ET"),
        ("Europe/Berlin", "Fri 20 Nov 04:47 CET"),
        ("Asia/Tokyo", "Fri 20 Nov 12:47 JST"),
        ("Asia/Kathmandu", "Fri 20 Nov 09:32 UTC+5:45"),
        ("America/Sao_Paulo", "Fri 20 Nov 00:47 UTC-3"),
        ("UTC", "Fri 20 Nov 03:47 UTC"),
        ("Mars/Olympus_Mons", "22:47 ET"),
    ],
)
def test_a_check_is_told_in_its_readers_own_time(zone: str, checked: str) -> None:
    assert f", checked {checked};" in describe_coverage(make_coverage(9), zone).sentence


@pytest.mark.parametrize(
    ("name", "headline", "word"),
    [
        ("quiet", "No new papers", "A quiet day"),
        ("incomplete", "Nothing yet", "Not everything has been looked at"),
        ("awaited", "Nothing yet", "arXiv was asked, and its mailing is not out yet"),
        ("failed", "arXiv could not be read", "This is not a quiet day"),
    ],
)
def test_a_digest_without_papers_says_which_of_three_things_happened(name: str, headline: str, word: str) -> None:
    digest = quiet_digests()[name]
    assert write_headline(digest) == headline
    assert write_introduction(digest).startswith(word)
