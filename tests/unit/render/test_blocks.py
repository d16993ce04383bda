"""Whatever a template writes becomes a message that Slack takes, or is refused here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from digest.model.errors import TemplateError
from digest.render.blocks import Compiled, compile_blocks, make_payload
from digest.render.text import slack_escape
from tests.fakes.blocks import check_blocks, measure_text


def _types(compiled: Compiled) -> list[str]:
    return [block["type"] for block in compiled.blocks]


def _text(block: dict[str, Any]) -> str:
    return str(block["text"]["text"])


def test_a_readable_text_becomes_blocks() -> None:
    compiled = compile_blocks("fallback: 9 papers\n\n# Nine papers\n\none\ntwo\n\n---\n\n> small\n> print\n")
    assert compiled.fallback == "9 papers"
    assert compiled.blocks == (
        {"type": "header", "text": {"type": "plain_text", "text": "Nine papers", "emoji": False}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "one\ntwo", "verbatim": True}, "expand": True},
        {"type": "divider"},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "small\nprint", "verbatim": True}]},
    )


def test_parts_need_no_blank_line_between_different_kinds() -> None:
    assert _types(compile_blocks("# a\n# b\ntext\n---\n---\n> c")) == [
        "header",
        "header",
        "section",
        "divider",
        "divider",
        "context",
    ]


def test_a_value_never_becomes_structure_however_it_starts() -> None:
    for value in ("# one", "---", "> two", "fallback: three"):
        compiled = compile_blocks(slack_escape(value))
        assert _types(compiled) == ["section"]
        assert compiled.fallback == ""


def test_lines_and_blocks_that_came_out_empty_leave_nothing_behind() -> None:
    empty = slack_escape("")
    compiled = compile_blocks(f"# {empty}\n\none\n{empty}\n{empty}two\n\n{empty}\n\n> {empty}\n")
    assert [_text(block) for block in compiled.blocks] == ["one\ntwo"]


def test_a_header_is_cut_at_150_characters() -> None:
    (header,) = compile_blocks("# " + "x" * 400).blocks
    assert len(_text(header)) == 150


def test_a_long_section_is_divided_between_lines_only() -> None:
    compiled = compile_blocks("\n".join(["a" * 1_400, "b" * 1_400, "c" * 1_400]))
    assert [len(_text(block)) for block in compiled.blocks] == [2_801, 1_400]


def test_the_size_of_a_message_is_that_of_all_its_text_in_utf8() -> None:
    assert compile_blocks("# é\n\nab\n\n> ñ\n\n---").text_bytes == 6


LINES = st.lists(
    st.tuples(
        st.sampled_from(["# ", "> ", "", "---", "fallback: ", "#", ">"]),
        st.sampled_from([0, 1, 149, 151, 2_999, 3_001]),
    ).map(lambda line: line[0] + "\u00e9" * line[1]),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(LINES, st.sampled_from(["\n", "\n\n"]))
def test_what_is_not_refused_passes_slacks_own_kit_and_the_fake_slack(lines: list[str], separator: str) -> None:
    try:
        payload = make_payload("x.txt", compile_blocks(separator.join(lines)))
    except TemplateError:
        return
    assert check_blocks(payload["blocks"]) == []
    assert measure_text(payload["blocks"]) <= 9_000
    for block in payload["blocks"]:
        parsed = Block.parse(block)
        assert parsed is not None
        parsed.validate_json()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("# only a header", "no fallback"),
        ("fallback: x", "0 blocks"),
        ("fallback: x\n" + "\n\nx" * 46, "46 blocks"),
        ("fallback: x\n\n" + "x" * 3_001, "3,001 characters"),
        ("fallback: x\n\n" + "\u00e9" * 2_900 + "\n\n" + "\u00e9" * 2_900, "11,600 bytes"),
        ("fallback: x\n\nhi <!here>", "a mention"),
        ("fallback: <@U1>\n\nhi", "a mention"),
    ],
)
def test_every_limit_is_told(source: str, problem: str) -> None:
    with pytest.raises(TemplateError, match=problem):
        make_payload("x.txt", compile_blocks(source))
