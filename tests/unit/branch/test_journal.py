"""What lies on the branch: sealed, padded, and readable with the one key only."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.branch.journal import (
    JOURNAL,
    LEASE,
    MARGIN,
    SNAPSHOT,
    Journal,
    read_journal,
    seal,
    unseal,
    write_journal,
)
from digest.model.errors import LeaseHeld, StoreError

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
KEY = bytes(32)
OTHER = bytes([1] * 32)
NONCE = bytes(12)
HELD = Journal(7, 3, "runner-1", NOW + LEASE, "INSERT INTO marks VALUES ('é', 1);")


def test_a_journal_is_read_as_it_was_written() -> None:
    written = write_journal(HELD)
    assert read_journal(written) == HELD


@given(st.binary(max_size=9_000), st.sampled_from([JOURNAL, SNAPSHOT]), st.integers(0, 2**40))
def test_what_was_sealed_is_unsealed_and_its_length_says_little(
    content: bytes, name: str, number: int
) -> None:
    sealed = seal(KEY, name, number, content, NONCE)
    assert unseal(KEY, name, sealed) == (number, content)
    sealed_empty = seal(KEY, name, number, b"", NONCE)
    step = 4_096 if name == JOURNAL else 65_536
    longer_by = len(sealed) - len(sealed_empty)
    assert longer_by % step == 0


def test_nothing_opens_with_another_key_under_another_name_or_once_changed() -> None:
    sealed = seal(KEY, JOURNAL, 7, b"content", NONCE)
    renumbered = sealed.replace((7).to_bytes(8), (8).to_bytes(8), 1)
    for key, name, text in (
        (OTHER, JOURNAL, sealed),
        (KEY, SNAPSHOT, sealed),
        (KEY, JOURNAL, renumbered),
        (KEY, JOURNAL, sealed[:-1] + b"x"),
        (KEY, JOURNAL, sealed[:40]),
        (KEY, JOURNAL, b"something else"),
    ):
        with pytest.raises(StoreError):
            unseal(key, name, text)


def test_a_lease_counts_until_five_minutes_after_its_end() -> None:
    ends_at = HELD.until + MARGIN
    HELD.refuse_living(ends_at, accepts_clock=False)
    of_nobody = replace(HELD, owner="")
    of_nobody.refuse_living(NOW, accepts_clock=False)
    a_second_before = ends_at - timedelta(seconds=1)
    with pytest.raises(LeaseHeld) as caught:
        HELD.refuse_living(a_second_before, accepts_clock=True)
    assert caught.value.exit_code == 75
