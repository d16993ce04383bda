"""Whatever a template writes becomes a message that Slack takes, or is refused here."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from digest.model.errors import TemplateError
from digest.render.blocks import compile_blocks, make_payload
from tests.fakes.blocks import check_blocks, measure_text

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
