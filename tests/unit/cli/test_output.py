"""What reaches a terminal: our own styles, and no control character that somebody else wrote."""

from __future__ import annotations

import ast
import re
import unicodedata
from pathlib import Path

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import digest
from digest.cli.output import (
    Aside,
    Block,
    Part,
    clean,
    echo_parts,
    fold,
    labelled,
    mark_ours,
    settle,
    style,
    table,
)

HOUSE = Path(digest.__file__).parent
HOSTILE = (
    "\x1b[2J",
    "\x1b[31mred\x1b[0m",
    "\x1b[01;31m\x1b[K",
    "\x1b]0;title\x07",
    "\x1b]8;;https://example.org/\x1b\\here\x1b]8;;\x1b\\",
    "\x1bc",
    "\x9b2J",
    "\u202egpj.exe",
    "\u2066a\u2069",
    "over\rwritten",
    "\x08\x08\x08",
    "\u200bhidden",
    "\u2028line",
)
STYLED = re.compile(r"\x1b\[(?:\d{1,2}(?:;\d{1,2})*)?m")

texts = st.text() | st.lists(
    st.sampled_from([*HOSTILE, "a", "é", "漢", " ", "\n", "\x1b", "["])
).map("".join)


def is_clean(text: str) -> bool:
    unwanted = ("Cc", "Cf", "Zl", "Zp")
    return all(
        sign in "\n\t\u200c\u200d" or unicodedata.category(sign) not in unwanted for sign in text
    )


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let click believe that a terminal reads, so that it takes no style out by itself."""
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)


@given(texts)
@example("\x1b[31m")
def test_no_text_of_others_has_a_control_character_after_it(text: str) -> None:
    tamed = "".join(sign for sign in settle(text) if unicodedata.category(sign) not in ("Cf", "Cn"))
    assert "\x1b" not in tamed
    assert "\r" not in tamed


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_terminal_would_obey_is_taken_out(text: str) -> None:
    assert is_clean(settle(text))
    assert settle(f"{text}kept").endswith("kept")


@given(texts)
def test_a_text_that_is_cleaned_twice_stays_as_it_is(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert settle(settle(text)) == settle(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_our_style_stays_around_a_text_that_has_none(text: str) -> None:
    shown = settle(f"{style('✗', fg='red', bold=True)} {style(text, dim=True)}")
    assert shown.startswith("\x1b[31m\x1b[1m✗\x1b[0m \x1b[2m")
    assert shown.endswith("\x1b[0m")
    assert is_clean(STYLED.sub("", shown))


def test_a_style_within_a_style_stays() -> None:
    assert (
        settle(style(f"a {style('b', fg='green')}", dim=True)) == "\x1b[2ma \x1b[32mb\x1b[0m\x1b[0m"
    )


def test_a_link_of_ours_stays() -> None:
    link = "\x1b]8;;https://arxiv.org/abs/2611.00001\x1b\\2611.00001\x1b]8;;\x1b\\"
    assert settle(mark_ours(link)) == link
    assert "\x1b" not in settle(link)


def test_a_text_that_says_how_ours_are_marked_is_cleaned_all_the_same() -> None:
    spelled = mark_ours("\x1b[31m").replace("31", "32")[:-1]
    assert "\x1b" not in settle(f"{spelled}J")


def list_parts(text: str) -> list[Part]:
    return [
        text,
        Aside(f"note: {text}"),
        Block(text),
        labelled([(f"label {text}", f"text {text}"), (text, text)]),
        table(
            ("name", "papers", ""),
            [(text, 3, f"remark {text}"), (style(text, fg="red"), 4, "")],
            empty="",
        ),
        table(("one", "other"), [(text, text)], empty="", folds=False),
    ]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("text", HOSTILE)
def test_each_part_of_a_screen_is_cleaned(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    echo_parts(list_parts(text))
    shown = capsys.readouterr()
    assert is_clean(STYLED.sub("", shown.out + shown.err))
    assert "label" in shown.out


@given(texts)
def test_a_folded_line_of_cleaned_text_is_clean(text: str) -> None:
    assert all("\x1b" not in settle(line) for line in fold(clean(text), 20))


PRINTS = {
    *(
        "click.echo",
        "click.secho",
        "click.style",
        "click.prompt",
        "click.confirm",
        "print",
        "traceback.print_exc",
    ),
    *("sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write", "sys.stderr.buffer.write"),
}
ASKED = {"click.prompt", "click.confirm"}


def is_ours(call: ast.Call) -> bool:
    """Whether a call says what stands there, or asks a question that was cleaned."""
    said = call.args[0] if call.args else ast.Constant("")
    is_settled = isinstance(said, ast.Name) or (
        isinstance(said, ast.Call) and ast.unparse(said.func) == "settle"
    )
    return isinstance(said, ast.Constant) or (is_settled and ast.unparse(call.func) in ASKED)


def list_prints(path: Path) -> list[int]:
    """Return the lines of a file that print or style a text which is not written there."""
    calls = [
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)
    ]
    return [call.lineno for call in calls if ast.unparse(call.func) in PRINTS and not is_ours(call)]


def test_nothing_is_printed_but_through_the_door() -> None:
    found = {str(path.relative_to(HOUSE)): list_prints(path) for path in HOUSE.rglob("*.py")}
    # The process that reads a library answers its parent by its standard output.
    assert sorted(name for name, lines in found.items() if lines) == [
        "cli/output.py",
        "interest/child.py",
    ]
