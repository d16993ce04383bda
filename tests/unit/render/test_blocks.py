from typing import Any

from digest.render.blocks import Compiled, compile_blocks
from digest.render.text import slack_escape


def _types(compiled: Compiled) -> list[str]:
    return [block["type"] for block in compiled.blocks]


def _text(block: dict[str, Any]) -> str:
    return str(block["text"]["text"])


def test_a_readable_text_becomes_blocks() -> None:
    compiled = compile_blocks("fallback: 9 papers\n\n# Nine papers\n\none\ntwo\n\n---\n\n> small\n> print\n")
    assert compiled.fallback == "9 papers"
    assert compiled.blocks == (
        {"type": "header", "text": {"type": "plain_text", "text": "Nine papers", "emoji": False}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "one\ntwo", "verbatim": True}},
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
