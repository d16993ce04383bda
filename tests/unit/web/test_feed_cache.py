from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from digest.web.feeds import FeedCopy, SizedCache


def copy_of(size: int) -> FeedCopy:
    return FeedCopy('W/"x"', datetime(2026, 11, 20, tzinfo=UTC), "", bytes(size), b"")


def test_a_copy_is_handed_out_until_a_match_run_could_have_changed_it() -> None:
    shelf, copy = SizedCache(100), copy_of(10)
    shelf.put(("a", "atom"), copy, 7)
    assert shelf.take(("a", "atom"), 7) is copy
    assert shelf.take(("a", "json"), 7) is None
    assert shelf.take(("a", "atom"), 8) is None


def test_what_was_not_asked_for_longest_goes_first() -> None:
    shelf = SizedCache(30)
    for name in ("a", "b", "c"):
        shelf.put((name, "atom"), copy_of(10), 1)
    shelf.take(("a", "atom"), 1)
    shelf.put(("d", "atom"), copy_of(10), 1)
    kept = [name for name in ("a", "b", "c", "d") if shelf.take((name, "atom"), 1) is not None]
    assert kept == ["a", "c", "d"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 40)), max_size=30))
def test_no_more_is_kept_than_there_is_room_for_but_always_the_last(puts: list[tuple[str, int]]) -> None:
    shelf = SizedCache(60)
    for name, size in puts:
        copy = copy_of(size)
        shelf.put((name, "atom"), copy, 1)
        assert shelf.take((name, "atom"), 1) is copy
        held = [found for other in "abcdef" if (found := shelf.take((other, "atom"), 1)) is not None]
        assert sum(found.size for found in held) <= 60
