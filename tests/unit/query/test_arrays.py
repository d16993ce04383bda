"""Tables of numbers answer as looking at one after the other would."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query.index import bitsets
from digest.query.index.bitsets import Beginnings, number_distinct

spellings = st.lists(st.text("abé\U0001d4aa", min_size=1, max_size=8), unique=True)
tables = st.dictionaries(st.text("abé\U0001d4aa", min_size=1, max_size=8), st.integers(0, 99), max_size=6)


@pytest.mark.parametrize("widest", [3, 5, 48])
@given(spellings=spellings, kinds=st.lists(tables, min_size=1, max_size=3))
def test_words_that_begin_so_are_found_however_long_the_beginning(
    widest: int, spellings: list[str], kinds: list[dict[str, int]]
) -> None:
    words = np.arange(len(spellings))[::2]
    with patch.object(bitsets, "_WIDEST", widest):
        begun = Beginnings(kinds).look_in(spellings, words)
    for kind, leaves in enumerate(kinds):
        found, theirs = (part.tolist() for part in begun.find(kind))
        assert sorted(zip(found, theirs, strict=True)) == sorted(
            (word, leaf)
            for beginning, leaf in leaves.items()
            for word in words.tolist()
            if spellings[word].startswith(beginning)
        )


rows = st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 2**32, 2**63, 2**64 - 1])] * 2), max_size=60)


@given(rows=rows)
def test_equal_rows_have_the_same_number_and_only_these(rows: list[tuple[int, int]]) -> None:
    columns = list(np.array(rows, np.uint64).reshape(-1, 2).T)
    firsts, numbers = (part.tolist() for part in number_distinct(columns))
    assert [rows[firsts[number]] for number in numbers] == rows
    assert len(firsts) == len(set(rows))
    assert firsts == sorted(firsts)


def test_thousands_of_different_rows_are_told_apart() -> None:
    values = np.arange(50_000, dtype=np.uint64) * np.uint64(2**40)
    firsts, numbers = number_distinct([values, np.zeros_like(values)])
    assert firsts.tolist() == numbers.tolist() == list(range(50_000))
