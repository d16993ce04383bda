"""What is wrong with a Slack template, told to who wrote it."""

from __future__ import annotations

import pytest

from digest.errors import TemplateError
from digest.render.blocks import compile_blocks
from digest.render.slack_advice import make_payload


@pytest.mark.parametrize(
    ("text", "complaint", "advice"),
    [
        ("# x", "the line `fallback: …` is missing", "such as `fallback: {{ digest.title }}, "),
        ("fallback:\n\nx", "the line `fallback: …` is missing", "at the top"),
        ("fallback: x", "there is nothing to show", "a quiet day too"),
        ("fallback: x\n" + "\nx\n" * 46, "46 paragraphs", "fewer blank lines"),
        ("fallback: x\n\n" + "é" * 1501 + "\n\n" + ("é" * 1501 + "\n\n") * 2, "9,006 bytes of text", "Show less"),
        ("fallback: x\n\nhello <!here> you", "“<!here> you” would call somebody", "{{ link(url, label) }}"),
        ("fallback: <@U1> x\n\nhello", "“<@U1> x” would call somebody", "Leave it out"),
        ("fallback: x\n\n" + "long " * 700, "a line of 3,499 characters is too long (“long", "Break it"),
    ],
)
def test_what_slack_would_refuse_is_told_in_the_templates_own_terms_with_what_to_write(
    text: str, complaint: str, advice: str
) -> None:
    with pytest.raises(TemplateError, match=r"^slack/digest\.txt: ") as caught:
        make_payload("slack/digest.txt", compile_blocks(text))
    assert complaint in caught.value.message
    assert advice in caught.value.hint
    assert "digest.render" not in f"{caught.value.message} {caught.value.hint}"


def test_an_alarm_is_advised_a_name_that_it_sees() -> None:
    with pytest.raises(TemplateError) as caught:
        make_payload("slack/alarm.txt", compile_blocks("x"))
    assert "`fallback: {{ headline }}`" in caught.value.hint


def test_a_sound_message_is_made() -> None:
    payload = make_payload("slack/digest.txt", compile_blocks("fallback: x\n\n# y"))
    assert (payload["text"], payload["blocks"][0]["text"]["text"]) == ("x", "y")
