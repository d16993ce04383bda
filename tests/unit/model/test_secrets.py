import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import ConfigurationError
from digest.model.secrets import derive_token, feed_uri, idempotency_key, token_hash

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LONGEST_LINE = 76


@given(st.text(min_size=1), TEXTS, st.lists(TEXTS, max_size=4))
def test_a_token_is_22_url_safe_characters_and_always_the_same(
    secret: str, purpose: str, parts: list[str]
) -> None:
    token = derive_token(secret, purpose, *parts)
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", token)
    assert token == derive_token(secret, purpose, *parts)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(TEXTS, min_size=1, max_size=4))
def test_other_parts_give_another_token_even_where_they_read_the_same_in_a_row(
    left: list[str], right: list[str]
) -> None:
    assert (derive_token("s", *left) == derive_token("s", *right)) == (left == right)


def test_a_token_changes_with_the_secret_and_with_the_purpose() -> None:
    tokens = {
        derive_token("one", "leave", "mailto:reader@example.org"),
        derive_token("two", "leave", "mailto:reader@example.org"),
        derive_token("one", "feed", "mailto:reader@example.org"),
    }
    assert len(tokens) == 3


def test_a_token_leaves_the_unsubscribe_header_within_one_line() -> None:
    token = derive_token("s", "leave", "mailto:reader@example.org", "gpu-mail")
    assert len(f"List-Unsubscribe: <https://digest.example.org/u/{token}>") <= LONGEST_LINE


def test_no_token_is_derived_from_an_empty_secret() -> None:
    with pytest.raises(ConfigurationError, match="no secret") as caught:
        derive_token("", "leave", "a")
    assert "digest db migrate" in caught.value.hint


def test_a_token_is_stored_as_its_sha256() -> None:
    assert token_hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 99))
def test_the_key_of_a_delivery_is_a_uuid_that_depends_on_its_place_alone(
    subscription: str, slot: str, destination: str, part: int
) -> None:
    key = idempotency_key(subscription, slot, destination, part)
    assert uuid.UUID(key).version == 5
    assert key == idempotency_key(subscription, slot, destination, part)
    assert key != idempotency_key(subscription, slot, destination, part + 1)


def test_the_key_of_a_delivery_never_changes_between_releases() -> None:
    key = idempotency_key("perf-team", "2026-11-20", "slack:#papers", 0)
    assert key == "e7956c87-4675-5e36-87b1-b497faabf051"


def test_parts_that_read_the_same_in_a_row_have_different_keys() -> None:
    assert idempotency_key("a", "bc", "d", 0) != idempotency_key("ab", "c", "d", 0)


def test_the_name_of_a_feed_entry_never_changes_between_releases() -> None:
    assert (
        feed_uri("here", "arxiv", "2611.15012") == "urn:uuid:8572d845-b9cb-50f4-ada5-eb6128276985"
    )


def test_entries_of_two_installations_have_different_names() -> None:
    assert feed_uri("here", "arxiv", "2611.15012") != feed_uri("there", "arxiv", "2611.15012")
