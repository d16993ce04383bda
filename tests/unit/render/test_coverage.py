from datetime import UTC, datetime

import pytest

from digest.messages import Occasion
from digest.render.coverage import (
    CoverageState,
    describe_coverage,
    join_words,
    write_headline,
    write_introduction,
)
from digest.render.samples import make_coverage, make_digest, make_entry, quiet_digests


def test_a_complete_look_says_what_was_looked_at_and_when() -> None:
    view = describe_coverage(make_coverage(9))
    assert view.state is CoverageState.COMPLETE
    assert view.sentence == "mailing of Thu 19 Nov: complete, 412 looked at, 9 matched, checked 22:47 ET"
    assert view.brief == "mailing complete: 412 looked at, 9 matched"


def test_an_incomplete_look_says_that_the_rest_follows() -> None:
    view = describe_coverage(make_coverage(2, is_complete=False, looked_at=1_180))
    assert view.state is CoverageState.INCOMPLETE
    assert view.sentence == (
        "mailing of Thu 19 Nov: still incomplete, 1,180 looked at, 2 matched, checked 22:47 ET; the rest follows"
    )


def test_a_failed_look_is_named_as_one_even_if_an_earlier_part_was_complete() -> None:
    view = describe_coverage(make_coverage(0, failure="no answer within 240 s."))
    assert view.state is CoverageState.FAILED
    assert view.sentence == "arXiv could not be reached: no answer within 240 s; the rest follows"


def test_a_failure_that_speaks_of_arxiv_itself_is_not_introduced_twice() -> None:
    assert describe_coverage(make_coverage(0, failure="ArXiv asked us to slow down.")).sentence == (
        "arXiv asked us to slow down; the rest follows"
    )


def test_a_failure_cannot_fill_a_page() -> None:
    assert len(describe_coverage(make_coverage(0, failure="x" * 9_000)).sentence) < 260


def test_before_the_first_look_nothing_is_claimed() -> None:
    assert describe_coverage(make_coverage(0, mailing=None)).sentence == "no mailing has been looked at yet"


def test_a_look_by_search_says_so() -> None:
    assert describe_coverage(make_coverage(1, source="query")).sentence.startswith(
        "mailing of Thu 19 Nov, by search:"
    )


def test_a_check_after_midnight_names_its_day() -> None:
    late = make_coverage(1, checked_at=datetime(2026, 11, 20, 6, 10, tzinfo=UTC))
    assert describe_coverage(late).sentence.endswith("checked Fri 20 Nov 01:10 ET")


@pytest.mark.parametrize(
    ("name", "headline", "word"),
    [
        ("quiet", "No new papers", "A quiet day"),
        ("incomplete", "Nothing yet", "Not everything has been looked at"),
        ("failed", "arXiv could not be read", "This is not a quiet day"),
    ],
)
def test_a_digest_without_papers_says_which_of_three_things_happened(name: str, headline: str, word: str) -> None:
    digest = quiet_digests()[name]
    assert write_headline(digest) == headline
    assert write_introduction(digest).startswith(word)


def test_an_ordinary_day_needs_no_introduction_and_a_first_look_gets_one() -> None:
    assert write_introduction(make_digest((make_entry(),))) == ""
    first = make_digest((make_entry(),), occasion=Occasion.FIRST_LOOK)
    assert write_introduction(first).startswith("A first look back with perf and gpu")
    assert write_headline(first) == "1 paper"


def test_words_are_joined_as_people_join_them() -> None:
    assert [join_words(list(words)) for words in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
