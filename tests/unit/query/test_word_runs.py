"""The words of a long text found at once are those `split_words` finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.query.index.texts import FENCE, SEPARATOR, find_runs
from digest.query.words import cut_words

plain = st.lists(st.sampled_from([*"ab19_.,;' ", "abcdefgh", "abcdefghi", "x" * 33, "x" * 34]), max_size=40)


@given(pieces=plain)
def test_words_and_what_joins_them_are_those_of_the_pattern(pieces: list[str]) -> None:
    text = f" {''.join(pieces)} "
    runs = find_runs(text)
    found = [runs.distinct[number] for number in runs.numbers.tolist()]
    assert [run for run in found if run.strip("_")] == cut_words(text)
    assert len(set(runs.distinct)) == len(runs.distinct)


def test_what_has_fences_is_a_run_from_blank_to_blank_and_a_separator_is_one() -> None:
    text = f" {SEPARATOR} a.{FENCE}12{FENCE}, b.{FENCE}3{FENCE}c{FENCE}4{FENCE} d, {SEPARATOR} "
    runs = find_runs(text)
    found = [runs.distinct[number] for number in runs.numbers.tolist()]
    pieces = [f"a.{FENCE}12{FENCE},", f"b.{FENCE}3{FENCE}c{FENCE}4{FENCE}"]
    assert found == [SEPARATOR, *pieces, "d", SEPARATOR]
