"""Every command there is: found by its name, explained, and near when misspelt."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import digest
from digest.cli import cli, run_cli
from digest.cli.commands import EXAMPLES, REPLACEMENTS, explain_unknown


def walk(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command below one, with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from walk(child, (*path, name))


COMMANDS = dict(walk(cli))


def is_leaf(path: tuple[str, ...]) -> bool:
    return not isinstance(COMMANDS[path], click.Group)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_each_command_explains_itself_and_each_of_its_options(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: digest")
    assert "\\b" not in shown, "click's mark for lines that stay as they are must be a backspace"
    command = COMMANDS[path]
    assert command.help
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


@pytest.mark.parametrize("path", [path for path in COMMANDS if len(path) > 1], ids=" ".join)
def test_each_commands_first_sentence_fits_a_listing(path: tuple[str, ...]) -> None:
    assert not COMMANDS[path].get_short_help_str(66).endswith("...")


def test_every_listing_can_be_had_as_json() -> None:
    listings = [command for path, command in COMMANDS.items() if path[-1:] == ("list",)]
    assert len(listings) == 5
    for command in listings:
        assert any("--json" in parameter.opts for parameter in command.params)


def test_an_unknown_command_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["staus"]) == 2
    assert "`digest status`" in capsys.readouterr().err
    assert run_cli(["query", "lst"]) == 2
    assert "`digest query list`" in capsys.readouterr().err


@pytest.mark.parametrize("path", [path for path in COMMANDS if is_leaf(path)], ids=" ".join)
def test_each_commands_help_fits_80_columns(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run_cli([*path, "--help"]) == 0
    if path == ("init",):
        return  # its example is one long line
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("line", "\n".join(EXAMPLES.values()).splitlines())
def test_each_example_can_be_read(line: str) -> None:
    context = click.Context(cli, info_name="digest")
    arguments = shlex.split(line)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        context = click.Context(found, info_name=name, parent=context)
        command = found
    command.parse_args(context, arguments)


def read_calls(text: str) -> set[tuple[str, ...]]:
    """Return the words of each call of ours in backticks; what is filled in later is `X`."""
    joined = re.sub(r'"\s+f?"', "", text)
    calls = set()
    for call in re.findall(r"`digest ([a-z][^`]*)`", joined):
        filled = re.sub(r"{[^}]*}", "X", call)
        calls.add(tuple(filled.split()))
    return calls


def test_every_call_that_is_named_anywhere_is_a_command_that_exists_with_its_options() -> None:
    root = Path(digest.__file__).parents[1]
    pages = [*(root / "digest").rglob("*.py"), *(root / "digest").rglob("*.md")]
    pages += [path for path in (root / "templates").rglob("*") if path.is_file()]
    pages.append(root / "README.md")
    unknown = []
    for page in pages:
        for words in read_calls(page.read_text(encoding="utf-8")):
            if not can_be_called(words):
                unknown.append((page.name, " ".join(words)))
    assert unknown == []


def can_be_called(words: tuple[str, ...]) -> bool:
    """Whether words name a command with options that it has, or a group and nothing else."""
    starts = [words[:end] for end in range(len(words), -1, -1)]
    path = next(start for start in starts if start in COMMANDS)
    if not is_leaf(path) and words[len(path) :] not in {(), ("--help",), ("…",)}:
        return False
    options = {"--help"}
    for parameter in COMMANDS[path].params:
        options.update(parameter.opts)
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    return flags <= options


def test_there_are_no_more_commands_than_a_person_can_survey() -> None:
    assert sum(map(is_leaf, COMMANDS)) <= 53, "one more: a first digest that is asked for"


def test_an_unknown_option_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["run", "--dry-runn"]) == 2
    said = capsys.readouterr().err.replace("'", "")  # some releases of click write them
    assert "Did you mean --dry-run?" in said


@pytest.mark.parametrize("instead", sorted(set(REPLACEMENTS.values())))
def test_each_replacement_is_a_command_that_exists_with_its_options(instead: str) -> None:
    words = [word for word in instead.split() if not word.isupper()]
    path = tuple(word for word in words if not word.startswith("-"))
    options: set[str] = set()
    for parameter in COMMANDS[path].params:
        options.update(parameter.opts)
    assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("typed", REPLACEMENTS)
def test_a_word_of_another_tool_is_answered_with_a_command_that_exists(typed: str) -> None:
    *group, name = typed.split()
    assert f"`digest {REPLACEMENTS[typed]}`" in explain_unknown(name, [], " ".join(group)).hint


def test_an_unknown_command_that_is_near_to_none_is_sent_to_the_list() -> None:
    assert (
        explain_unknown("xyzzy", ["list", "show"], "query").hint
        == "`digest query --help` shows them all."
    )
