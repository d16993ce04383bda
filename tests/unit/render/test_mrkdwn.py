import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.render.text import Mrkdwn, escape_text, link, slack_escape, to_plain_text


def test_exactly_three_characters_are_escaped() -> None:
    assert escape_text("a & b < c > d ' \"") == "a &amp; b &lt; c &gt; d ' \""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("*bold* ~gone~ `code`", "∗bold∗ \u223cgone\u223c ˋcodeˋ"),
        ("_sly_ but snake_case", "ˍslyˍ but snake_case"),
        ("__init__", "ˍˍinitˍˍ"),
        ("@here @Channel mail@herens.example", "\uff20here \uff20Channel mail\uff20herens.example"),
        (":tada: at 10:30 and a::b", "\u2236tada\u2236 at 10:30 and a::b"),
        ("one\ntwo\u202e", "one two"),
    ],
)
def test_formatting_mentions_and_emoji_become_look_alikes(text: str, shown: str) -> None:
    assert escape_text(text) == shown


def test_text_that_is_mrkdwn_already_stays() -> None:
    assert slack_escape(Mrkdwn("*<x>*")) == "*<x>*"
    assert slack_escape("<x>") == "\x02&lt;x&gt;\x03"
    assert slack_escape(7) == "\x027\x03"


def test_a_link_holds_a_label_that_cannot_end_it() -> None:
    assert link("https://arxiv.org/abs/2611.15001v1", "a|b>c") == (
        "<https://arxiv.org/abs/2611.15001v1|a\u2223b&gt;c>"
    )
    assert link("https://digest.example.org/?a=1&b=2", "x") == "<https://digest.example.org/?a=1&amp;b=2|x>"


@pytest.mark.parametrize(
    "url", ["", "javascript:alert(1)", "https://a|b", "https://a b", "https://a>b", "ftp://a"]
)
def test_what_is_no_plain_web_address_is_no_link(url: str) -> None:
    assert link(url, "label") == "label"


def test_plain_text_objects_get_no_entities_and_no_brackets() -> None:
    assert to_plain_text(slack_escape("a & <b>")) == "a & \u2039b\u203a"


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_no_text_whatever_holds_markup_once_escaped(text: str) -> None:
    shown = escape_text(text)
    assert not set(shown) & set("<>*`~\n\x00\u202e")
    assert "@here" not in shown.lower()
