from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from digest.model.clock import read_rfc_date
from digest.web.feeds import is_unmodified, make_etag, write_http_date

ETAG = make_etag(b"a feed")
CHANGED = datetime(2026, 11, 20, 3, 50, 12, 345_678, tzinfo=UTC)
FIRST = datetime(1970, 1, 1)  # noqa: DTZ001 - hypothesis adds the zone
LAST = datetime(2069, 12, 31)  # noqa: DTZ001 - the same
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


def has(*tags: str, since: str | None = None) -> bool:
    fields = [(b"if-none-match", tag.encode("latin-1")) for tag in tags]
    fields += [] if since is None else [(b"if-modified-since", since.encode())]
    return is_unmodified(Headers(raw=fields), ETAG, CHANGED)


@given(st.binary(), st.binary())
def test_bodies_have_one_weak_tag_exactly_if_they_are_equal(left: bytes, right: bytes) -> None:
    assert (make_etag(left) == make_etag(right)) == (left == right)
    assert make_etag(left).startswith('W/"sha256-')


@pytest.mark.parametrize(
    "tags",
    [
        (ETAG,),
        (ETAG.removeprefix("W/"),),
        (f'"a", W/"b" ,{ETAG}',),
        ('"other"', ETAG),
        ("*",),
        (" * ",),
    ],
)
def test_a_tag_is_found_in_any_list_weak_or_strong(tags: tuple[str, ...]) -> None:
    assert has(*tags)


@pytest.mark.parametrize(
    "tags", [('"another"',), ("",), ('"*"',), (ETAG.removeprefix("W/").strip('"'),)]
)
def test_another_tag_is_another_body_whatever_the_date_says(tags: tuple[str, ...]) -> None:
    assert not has(*tags, since=write_http_date(CHANGED + timedelta(days=1)))


@given(st.timedeltas(timedelta(days=-400), timedelta(days=400)))
def test_without_a_tag_whole_seconds_of_the_date_decide(difference: timedelta) -> None:
    since = CHANGED + difference
    assert has(since=write_http_date(since)) == (
        since.replace(microsecond=0) >= CHANGED.replace(microsecond=0)
    )


@given(MOMENTS)
def test_every_date_written_is_read_back(moment: datetime) -> None:
    assert read_rfc_date(write_http_date(moment)) == moment.replace(microsecond=0)


@pytest.mark.parametrize(
    "text",
    ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"],
)
def test_all_three_forms_of_a_date_are_read(text: str) -> None:
    assert read_rfc_date(text) == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


@given(st.text(max_size=40))
def test_what_is_no_date_is_ignored(text: str) -> None:
    assert not has(since=f"yesterday {text}")
