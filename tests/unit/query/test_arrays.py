"""Tables of numbers answer as looking at one after the other would."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query.index import bitsets
from digest.query.index.bitsets import Beginnings

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
