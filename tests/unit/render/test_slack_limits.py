from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from digest.render.blocks import validate_blocks
from tests.fakes.blocks import check_blocks


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": {"type": "plain_text", "text": text, "emoji": False}}


def _context(*texts: str) -> dict[str, Any]:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": x, "verbatim": True} for x in texts]}


def _payload(*blocks: dict[str, Any], **others: Any) -> dict[str, Any]:  # noqa: ANN401 - any member of the payload
    return {"text": "x", "blocks": list(blocks), "unfurl_links": False, "unfurl_media": False} | others


def test_a_sound_message_has_no_problems() -> None:
    metadata = {"event_type": "digest_posted", "event_payload": {"delivery": "x"}}
    payload = _payload(
        _header("h"), _section("s"), {"type": "divider"}, _context("c"), parse="none", metadata=metadata
    )
    assert validate_blocks(payload) == []


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (_payload(), "/blocks: 0 blocks"),
        (_payload(*[_section("x")] * 46), "/blocks: 46 blocks"),
        (_payload(_section("")), "/blocks/0/text/text: 0 characters"),
        (_payload(_section("x" * 3_001)), "/blocks/0/text/text: 3001 characters"),
        (_payload(_header("x" * 151)), "/blocks/0/text/text: 151 characters"),
        (_payload(*[_section("é" * 2_000)] * 3), "/blocks: 12000 bytes of text"),
        (_payload(_context()), "/blocks/0/elements: 0 elements"),
        (_payload(_context(*"abcdefghijk")), "/blocks/0/elements: 11 elements"),
        (_payload(_context("x" * 3_001)), "/blocks/0/elements/0/text: 3001 characters"),
        (_payload(_section("hi <!here>")), "/blocks/0/text/text: holds a mention"),
        (_payload(_section("x"), text="<@U1>"), "/text: holds a mention"),
        (_payload(_section("x"), text=""), "/text: 0 characters"),
        (_payload(_section("x"), text="x" * 4_001), "/text: 4001 characters"),
        (_payload(_section("x"), unfurl_links=True), "/unfurl_links"),
        (_payload(_section("x"), parse="full"), "/parse"),
        (_payload(_section("x"), link_names=True), "/link_names"),
        (_payload({"type": "image"}), "/blocks/0/type: 'image'"),
        (_payload({"type": "section"}), "/blocks/0/text: missing"),
        (_payload({"type": "header", "text": {"type": "mrkdwn", "text": "x"}}), "/blocks/0/text/type"),
        (_payload({"type": "header", "text": {"type": "plain_text", "text": "x"}}), "/blocks/0/text/emoji"),
        (_payload({"type": "section", "text": {"type": "mrkdwn", "text": "x"}}), "/blocks/0/text/verbatim"),
        (_payload(_section("x"), metadata={"event_type": "No-Good"}), "/metadata/event_type"),
        (
            _payload(_section("x"), metadata={"event_type": "x", "event_payload": {"a": "b" * 2_000}}),
            "/metadata/event_payload",
        ),
        (_payload(_section("x") | {"block_id": "a"}, _section("y") | {"block_id": "a"}), "block_id occurs twice"),
        (_payload(_section("x") | {"block_id": "a" * 256}), "block_id longer"),
    ],
)
def test_every_limit_is_noticed_with_its_place(payload: dict[str, Any], problem: str) -> None:
    found = validate_blocks(payload)
    assert any(problem in one for one in found), found


def test_what_slack_knows_and_we_never_send_is_refused_rather_than_left_unjudged() -> None:
    fields = {"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 9_000}]}
    assert "/blocks/0/fields: is nothing we send" in validate_blocks(_payload(fields))
    assert "/blocks/0/accessory: is nothing we send" in validate_blocks(
        _payload(_section("x") | {"accessory": {}})
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(0, 3_100).map(lambda n: _section("x" * n)),
            st.integers(0, 160).map(lambda n: _header("x" * n)),
            st.integers(0, 12).map(lambda n: _context(*["x"] * n)),
            st.just({"type": "divider"}),
        ),
        max_size=50,
    )
)
def test_what_passes_here_passes_slacks_own_kit_and_the_demos_slack(blocks: list[dict[str, Any]]) -> None:
    if validate_blocks(_payload(*blocks)):
        return
    assert check_blocks(blocks) == []
    for block in blocks:
        parsed = Block.parse(block)
        assert parsed is not None
        parsed.validate_json()
