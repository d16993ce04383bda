"""Blanks and control characters after a sign are passed over, as they are everywhere else."""

from __future__ import annotations

import pytest

from digest.query import parse_query


@pytest.mark.parametrize("text", ["=ti: a", "=ti:\x01a", "ti:=\x01a"])
def test_an_exact_word_may_come_after_them(text: str) -> None:
    assert parse_query(text).tree == parse_query("ti:=a").tree
