"""`digest help`: lists the pages, prints one, and shows a command's own help."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from digest.cli import cli, help, run_cli  # noqa: A004 - the module is named after its command

PAGES = Path(help.__file__).parents[1] / "manual"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ask(*words: str) -> Result:
    return CliRunner().invoke(cli, ["help", *words], prog_name="digest", catch_exceptions=False)


def show(
    topic: str, monkeypatch: pytest.MonkeyPatch, *, columns: int = 80, lines: int = 2_000
) -> list[str]:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((columns, lines)))
    assert run_cli(["help", topic]) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()


def test_every_page_is_listed_with_its_title_and_no_page_is_left_out() -> None:
    said = ask().stdout
    assert set(help.TOPICS) == {path.stem for path in PAGES.glob("*.md")}
    for topic in help.TOPICS:
        title = help.read_page(topic).splitlines()[0]
        assert f"  {topic:<11}{title.removeprefix('# ')}\n" in said
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize("topic", help.TOPICS)
def test_a_page_comes_as_it_is_written_where_no_terminal_shows_it(topic: str) -> None:
    assert ask(topic).stdout == (PAGES / f"{topic}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("topic", help.TOPICS)
@pytest.mark.parametrize("columns", [60, 80])
def test_a_page_is_as_wide_as_the_terminal_and_shows_no_markup(
    topic: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = show(topic, monkeypatch, columns=columns)
    assert max(map(len, lines)) <= columns
    assert [line for line in lines if line.startswith(("#", "```", "|", "<!--"))] == []
    assert "\n\n\n" not in "\n".join(lines)


@pytest.mark.parametrize("topic", help.TOPICS)
def test_no_cell_of_a_table_is_cut_in_a_terminal_of_80_columns(
    topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\n".join(show(topic, monkeypatch)).count("…") == help.read_page(topic).count("…")


def test_a_page_longer_than_the_terminal_goes_through_a_pager(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with patch("click.echo_via_pager") as pager:
        assert show("queries", monkeypatch, lines=24) == []
    (text,) = pager.call_args.args
    assert "Writing queries" in text


def test_the_name_of_a_command_shows_the_help_of_that_command() -> None:
    assert ask("subscription", "pause").stdout.startswith(
        "Usage: digest subscription pause [OPTIONS] NAME\n"
    )
    assert ask("run").stdout.startswith("Usage: digest run ")


@pytest.mark.parametrize("words", [["docker"], ["Docker"], ["docker", "build"]])
def test_any_other_word_is_searched_for_in_all_pages(words: list[str]) -> None:
    assert ask(*words).stdout.splitlines()[2:] == [
        "  running    A container",
        " " * 15 + "docker compose up --detach --build",
        "  running    Upgrade",
        " " * 15 + "compose | `docker compose stop digest` | change the release in…",
    ]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["quieries"], "Did you mean 'queries'?"),
        (["statsu"], "Did you mean 'status'?"),
        (["subscription", "pausse"], "Did you mean 'pause'?"),
        (["zzz"], "`digest help` lists the pages."),
        (["run", "zzz"], "`digest help` lists the pages."),
    ],
)
def test_a_word_that_is_no_page_and_no_command_names_the_nearest(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["help", *words]) == 2
    error, said = capsys.readouterr().err.splitlines()
    assert (
        error
        == f'error: The manual does not have "{" ".join(words)}", and there is no such command.'
    )
    assert said == f"hint:  {hint}"
