"""Tests for what is said by codes."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.said import NOTHING, Argument, Said, Saying

HOUSE = Path(__file__).parents[3] / "digest"


def count_holes(code: Saying) -> int:
    return sum(name is not None for _, name, _, _ in string.Formatter().parse(code.sentence))


def fill(code: Saying, texts: st.SearchStrategy[Argument]) -> st.SearchStrategy[Said]:
    holes = count_holes(code)
    args = st.lists(texts, min_size=holes, max_size=holes).map(tuple)
    return args.map(lambda filled: Said(code, filled))


SAID = st.recursive(
    st.text(),
    lambda texts: st.sampled_from(Saying).flatmap(lambda code: fill(code, texts)),
    max_leaves=5,
).filter(lambda one: isinstance(one, Said))


def find_uses() -> Iterator[tuple[str, ast.Call]]:
    """Yield each place of the house that says something by its code."""
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if ast.unparse(node.func) == "Said.of":
                yield str(path.relative_to(HOUSE)), node


@given(SAID)
def test_what_was_written_is_read_again(said: Said) -> None:
    assert Said.parse(said.dump()) == said


@pytest.mark.parametrize("code", Saying)
def test_each_code_has_one_sentence_that_takes_its_arguments(code: Saying) -> None:
    texts = [f"<{number}>" for number in range(count_holes(code))]
    words = str(Said.of(code, *texts))
    assert all(text in words for text in texts)
    assert bool(words) is (code is not Saying.NOTHING)


def test_each_place_gives_as_many_arguments_as_its_sentence_takes() -> None:
    wrong = []
    for where, call in find_uses():
        code, *args = call.args
        is_known = isinstance(code, ast.Attribute) and ast.unparse(code.value) == "Saying"
        if not is_known or any(isinstance(one, ast.Starred) for one in args):
            continue
        assert isinstance(code, ast.Attribute)
        if count_holes(Saying[code.attr]) != len(args):
            wrong.append(f"{where}:{call.lineno}: {code.attr}")
    assert wrong == []


def test_each_code_is_said_somewhere() -> None:
    used = set()
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Saying":
                used.add(node.attr)
    assert {code.name for code in Saying} == used


def test_a_cause_is_the_last_argument_of_a_sentence_that_ends_with_it() -> None:
    full = Said.of(Saying.NOT_WRITTEN, "feeds/gpu.atom", "No space left on device")
    assert full.split_cause() == ("feeds/gpu.atom can't be written", "No space left on device")
    assert Said.of(Saying.SLACK_REFUSED_NEEDS, "a", "b", "c").split_cause()[1] == ""
    assert NOTHING.split_cause() == ("", "")


def test_it_is_no_text_so_no_words_can_decide() -> None:
    assert not isinstance(Said.plain("no such user"), str)
    assert not hasattr(Said, "startswith")


def test_nothing_said_is_false_and_has_no_words() -> None:
    assert (bool(NOTHING), str(NOTHING), NOTHING.dump()) == (False, "", "")
    assert Said.plain("") == Said.parse("") == NOTHING


@pytest.mark.parametrize("message", ["no. more.", "no. more"])
def test_advice_follows_after_one_full_stop_and_ends_without(message: str) -> None:
    said = Said.of(Saying.ADVISED, Said.plain(message), Said.of(Saying.CHECK_ID))
    assert str(said) == "no. more. Check the id"


def test_the_full_stop_of_the_other_side_is_left_out_however_deep_it_is() -> None:
    refused = Said.of(Saying.MAIL_ANSWERED, "550", "RCPT TO", "no such user.")
    said = Said.of(Saying.AT_DESTINATION, "mailto:a.@b.c.", refused).without_stop()
    assert str(said) == ("mailto:a.@b.c.: the mail server answered 550 at RCPT TO: no such user")


def test_texts_are_changed_and_codes_are_not() -> None:
    said = Said.of(Saying.AT_DESTINATION, "the place", Said.of(Saying.NO_REPLY))
    assert said.change_texts(str.upper) == Said.of(
        Saying.AT_DESTINATION, "THE PLACE", Said.of(Saying.NO_REPLY)
    )
