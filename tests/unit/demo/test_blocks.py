from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.demo.blocks import check_blocks, list_texts, measure_text

WORDS = st.text(min_size=1, max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "text", "x"]), inner),
    max_leaves=12,
)


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def rich_text(*texts: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text} for text in texts]
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": parts}]}


@settings(deadline=None)
@given(st.lists(WORDS.map(section) | WORDS.map(rich_text) | st.just({"type": "divider"}), max_size=50))
def test_ordinary_blocks_are_all_right(blocks: list[dict[str, Any]]) -> None:
    assert check_blocks(blocks) == []


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=9))
def test_every_text_is_listed_in_order_and_measured_in_bytes(texts: list[str]) -> None:
    blocks = [section(texts[0]), rich_text(*texts[1:])]
    assert list(list_texts(blocks)) == texts
    assert measure_text(blocks) == sum(len(text.encode()) for text in texts)


@settings(deadline=None)
@given(JSON)
def test_nonsense_is_complained_about_rather_than_breaking_the_check(nonsense: object) -> None:
    for complaint in check_blocks([nonsense]):
        assert complaint.startswith("[ERROR] ")
        assert "[json-pointer:/blocks/0" in complaint


@pytest.mark.parametrize("count", [25, 26])
def test_actions_hold_25_elements(count: int) -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "Open"}, "url": "https://arxiv.org/"}
    assert bool(check_blocks([{"type": "actions", "elements": [button] * count}])) == (count > 25)


def test_a_buttons_text_is_75_characters_at_most() -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "x" * 76}}
    assert check_blocks([{"type": "section", "text": {"type": "mrkdwn", "text": "x"}, "accessory": button}])


def test_an_image_needs_words_for_those_who_do_not_see_it() -> None:
    image = {"type": "image", "image_url": "https://made.example/a.png"}
    assert check_blocks([image]) == ["[ERROR] must be a string [json-pointer:/blocks/0/alt_text]"]
    assert check_blocks([{**image, "alt_text": "a plot"}]) == []
    assert check_blocks([{"type": "context", "elements": [{**image, "alt_text": "a plot"}]}]) == []
