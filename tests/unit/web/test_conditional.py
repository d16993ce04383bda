from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.web.feeds import accepts_gzip, is_unmodified, make_etag, parse_http_date, write_http_date

ETAG = make_etag(b"a feed")
CHANGED = datetime(2026, 11, 20, 3, 50, 12, 345_678, tzinfo=UTC)
OPAQUE = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters='"\x7f', exclude_categories=["Cc"]),
    max_size=80,
)
TAG = st.builds(lambda weak, text: f'{"W/" * weak}"{text}"', st.booleans(), OPAQUE)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2069, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


def has(if_none_match: str | None = None, if_modified_since: str | None = None) -> bool:
    return is_unmodified(ETAG, CHANGED, if_none_match=if_none_match, if_modified_since=if_modified_since)


@given(st.binary(), st.binary())
def test_bodies_have_one_tag_exactly_if_they_are_equal(left: bytes, right: bytes) -> None:
    assert (make_etag(left) == make_etag(right)) == (left == right)


def test_tags_are_weak() -> None:
    assert ETAG.startswith('W/"sha256-')
    assert ETAG.endswith('"')


@given(
    st.lists(TAG, max_size=4), st.lists(TAG, max_size=4), st.booleans(), st.sampled_from([",", ", ", " ,\t", ",,"])
)
def test_a_tag_is_found_anywhere_in_a_list_weak_or_strong(
    before: list[str],
    after: list[str],
    is_strong: bool,  # noqa: FBT001 - hypothesis passes it by name
    comma: str,
) -> None:
    own = ETAG.removeprefix("W/") if is_strong else ETAG
    assert has(comma.join([*before, own, *after]))


@given(st.lists(TAG, max_size=5))
def test_tags_of_other_bodies_match_nothing(tags: list[str]) -> None:
    assert not has(", ".join(tags))


@pytest.mark.parametrize("field", ["*", " * "])
def test_a_star_stands_for_any_tag(field: str) -> None:
    assert has(field)


def test_a_star_in_quotes_is_a_tag_like_any_other() -> None:
    assert not has('"*"')


def test_a_tag_without_its_quotes_is_none() -> None:
    assert not has(ETAG.removeprefix("W/").strip('"'))


@given(st.text(st.characters(max_codepoint=0xFF), max_size=60))
def test_no_field_whatsoever_is_an_error(field: str) -> None:
    assert has(field) == (field.strip() == "*")
    assert not accepts_gzip(field) or "gzip" in field.lower() or "*" in field


@given(MOMENTS)
def test_the_date_does_not_count_where_there_is_a_tag(moment: datetime) -> None:
    assert not has('"another"', write_http_date(moment))
    assert has(ETAG, write_http_date(moment))


@given(st.timedeltas(timedelta(days=-400), timedelta(days=400)))
def test_without_a_tag_whole_seconds_of_the_date_decide(difference: timedelta) -> None:
    since = CHANGED + difference
    assert has(None, write_http_date(since)) == (since.replace(microsecond=0) >= CHANGED.replace(microsecond=0))


@given(MOMENTS)
def test_every_date_written_is_read_back(moment: datetime) -> None:
    assert parse_http_date(write_http_date(moment)) == moment.replace(microsecond=0)


@pytest.mark.parametrize(
    "text",
    ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"],
)
def test_all_three_forms_of_a_date_are_read(text: str) -> None:
    assert parse_http_date(text) == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-11-20T03:50:12Z",
        "Fri, 20 Nov 2026 03:50:12 +0100",
        "Fri, 20 Nov 2026 03:50:12",
        "Fri, 31 Feb 2026 03:50:12 GMT",
        "Fri, 20 Nov 2026 24:50:12 GMT",
        "Fri, 20 Noé 2026 03:50:12 GMT",
    ],
)
def test_what_is_no_date_is_ignored(text: str) -> None:
    assert parse_http_date(text) is None
    assert not has(None, text)


@given(st.text(max_size=40))
def test_reading_a_date_never_fails(text: str) -> None:
    parse_http_date(text)


@pytest.mark.parametrize(
    ("field", "packed"),
    [
        ("gzip", True),
        ("GZIP, deflate, br", True),
        ("x-gzip", True),
        ("*", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("gzip;q=0.5, identity;q=0.5", True),
        ("gzip ; q=0.001", True),
        ("", False),
        ("identity", False),
        ("br, deflate", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("*;q=0", False),
        ("gzip;q=0.2, identity", False),
        ("gzip;q=nonsense", False),
        ("gzipped", False),
    ],
)
def test_a_body_is_packed_only_for_those_who_take_it_gladly(field: str, *, packed: bool) -> None:
    assert accepts_gzip(field) is packed
