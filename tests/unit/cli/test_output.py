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
    others = [sign for sign in text if sign not in "\n\t\u200c\u200d"]
    return all(unicodedata.category(sign) not in unwanted for sign in others)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let click believe that a terminal reads, so that it takes no style out by itself."""
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)


@given(texts)
@example("\x1b[31m")
def test_no_text_of_others_has_a_control_character_after_it(text: str) -> None:
    settled = settle(text)
    shown = [sign for sign in settled if unicodedata.category(sign) not in ("Cf", "Cn")]
    assert "\x1b" not in shown
    assert "\r" not in shown


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_terminal_would_obey_is_taken_out(text: str) -> None:
    alone = settle(text)
    assert is_clean(alone)
    before_others = settle(f"{text}kept")
    assert before_others.endswith("kept")


@given(texts)
def test_a_text_that_is_cleaned_twice_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    settled = settle(text)
    assert settle(settled) == settled


@pytest.mark.parametrize("text", HOSTILE)
def test_our_style_stays_around_a_text_that_has_none(text: str) -> None:
    cross = style("✗", fg="red", bold=True)
    dimmed = style(text, dim=True)
    shown = settle(f"{cross} {dimmed}")
    assert shown.startswith("\x1b[31m\x1b[1m✗\x1b[0m \x1b[2m")
    assert shown.endswith("\x1b[0m")
    without_styles = STYLED.sub("", shown)
    assert is_clean(without_styles)


def test_a_style_within_a_style_stays() -> None:
    inner = style("b", fg="green")
    outer = style(f"a {inner}", dim=True)
    assert settle(outer) == "\x1b[2ma \x1b[32mb\x1b[0m\x1b[0m"


def test_a_link_of_ours_stays() -> None:
    link = "\x1b]8;;https://arxiv.org/abs/2611.00001\x1b\\2611.00001\x1b]8;;\x1b\\"
    assert settle(mark_ours(link)) == link
    assert "\x1b" not in settle(link)


def test_a_text_that_says_how_ours_are_marked_is_cleaned_all_the_same() -> None:
    spelled = mark_ours("\x1b[31m").replace("31", "32")[:-1]
    assert "\x1b" not in settle(f"{spelled}J")


def list_parts(text: str) -> list[Part]:
    red = style(text, fg="red")
    rows = [(text, 3, f"remark {text}"), (red, 4, "")]
    return [
        text,
        Aside(f"note: {text}"),
        Block(text),
        labelled([(f"label {text}", f"text {text}"), (text, text)]),
        table(("name", "papers", ""), rows, empty=""),
        table(("one", "other"), [(text, text)], empty="", folds=False),
    ]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("text", HOSTILE)
def test_each_part_of_a_screen_is_cleaned(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    parts = list_parts(text)
    echo_parts(parts)
    shown = capsys.readouterr()
    without_styles = STYLED.sub("", shown.out + shown.err)
    assert is_clean(without_styles)
    assert "label" in shown.out


@given(texts)
def test_a_folded_line_of_cleaned_text_is_clean(text: str) -> None:
    for line in fold(clean(text), 20):
        assert "\x1b" not in settle(line)


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
    if not call.args:
        return True
    said = call.args[0]
    if isinstance(said, ast.Constant):
        return True
    is_name = isinstance(said, ast.Name)
    is_settled = isinstance(said, ast.Call) and ast.unparse(said.func) == "settle"
    asks = ast.unparse(call.func) in ASKED
    return asks and (is_name or is_settled)


def list_prints(path: Path) -> list[int]:
    """Return the lines of a file that print or style a text which is not written there."""
    lines = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        prints = ast.unparse(node.func) in PRINTS
        if prints and not is_ours(node):
            lines.append(node.lineno)
    return lines


def test_nothing_is_printed_but_through_the_door() -> None:
    printing = [path for path in HOUSE.rglob("*.py") if list_prints(path)]
    names = sorted(str(path.relative_to(HOUSE)) for path in printing)
    # The process that reads a library answers its parent by its standard output.
    assert names == ["cli/output.py", "interest/child.py"]
