"""Every command there is: found by its name, explained, and near when misspelt."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from digest.cli import cli, run_cli
from digest.cli.commands import REPLACEMENTS, answer_unknown


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command below one, with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from walk(child, (*path, name))


COMMANDS = dict(walk(cli))


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
        assert "--json" in {name for one in command.params for name in one.opts}


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["staus"]) == 2
    assert "`digest status`" in capsys.readouterr().err
    assert run_cli(["query", "lst"]) == 2
    assert "`digest query list`" in capsys.readouterr().err


@pytest.mark.parametrize("typed", REPLACEMENTS)
def test_a_word_of_another_tool_or_time_is_answered_with_a_command_that_exists(typed: str) -> None:
    *group, name = typed.split()
    assert f"`digest {REPLACEMENTS[typed]}`" in answer_unknown(name, [], " ".join(group)).hint


def test_an_unknown_command_that_is_near_to_none_is_sent_to_the_list() -> None:
    assert answer_unknown("xyzzy", ["list", "show"], "query").hint == "`digest query --help` shows them all."
