from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.store.dialect import pack, unpack

IDS = st.integers(min_value=0, max_value=2**63 - 1)


@given(st.lists(IDS, max_size=50))
def test_ids_come_back_sorted_each_once(ids: list[int]) -> None:
    assert unpack(pack(ids)) == tuple(sorted(set(ids)))


def test_the_bytes_are_the_same_on_every_machine() -> None:
    assert pack([258, 1]) == b"\x01\0\0\0\0\0\0\0\x02\x01\0\0\0\0\0\0"


def test_bytes_that_were_not_packed_here_and_ids_beyond_64_bits_are_refused() -> None:
    with pytest.raises(struct.error):
        unpack(b"\0\0\0")
    with pytest.raises(struct.error):
        pack([2**63])
