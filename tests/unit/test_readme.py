"""The README keeps its word: every command, option, setting, link and example in it is real."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from digest.cli import cli
from digest.config import load_config, settings_table_markdown
from digest.query import parse_query

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

FENCES = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
QUOTED = re.findall(r"`(digest [^`]+)`", README)
TYPED = re.findall(r"^(?:    .*?|.*&& )?\.venv/bin/(digest .+)$", README, re.MULTILINE)
COMMANDS = sorted({*QUOTED, *TYPED})


def find_command(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words call, and the words left for it, once each option before it is known."""
    command: click.Command = cli
    context = click.Context(cli, info_name="digest")
    rest = words
    while isinstance(command, click.Group) and rest:
        _, rest, _ = command.make_parser(context).parse_args(list(rest))
        child = command.get_command(context, rest[0])
        assert child is not None, f"there is no command {rest[0]!r} in {words}"
        context = click.Context(child, parent=context, info_name=rest[0])
        command, rest = child, rest[1:]
    return command, rest


def test_it_names_many_commands() -> None:
    assert len(COMMANDS) > 12
    assert 'digest init --query "cat:cs.PF AND abs:GPU" --mail you@example.org' in COMMANDS


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_exists_and_takes_the_options_and_arguments_shown(line: str) -> None:
    command, rest = find_command(shlex.split(line)[1:])
    if isinstance(command, click.Group):
        return
    context = click.Context(command)
    _, left_over, _ = command.make_parser(context).parse_args(list(rest))
    assert left_over == []


def test_the_service_it_shows_calls_a_command_there_is() -> None:
    (unit,) = (text for kind, text in FENCES if kind == "ini")
    (line,) = re.findall(r"^ExecStart=/\S+/\.venv/bin/(digest .+)$", unit, re.MULTILINE)
    command, rest = find_command(shlex.split(line)[1:])
    assert (command.name, rest) == ("command", [])
    assert {"[Unit]", "[Service]", "[Install]"} <= set(unit.splitlines())


def test_the_service_it_shows_can_write_where_it_works_and_nowhere_else() -> None:
    (unit,) = (text for kind, text in FENCES if kind == "ini")
    settings = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
    assert settings["ProtectSystem"] == "strict"
    assert settings["ReadWritePaths"] == settings["WorkingDirectory"]


def test_each_verb_beside_a_command_belongs_to_it() -> None:
    rows = re.findall(r"^\| `digest (\w+) [^|]*` \| (.*) \|$", README, re.MULTILINE)
    verbs = [(group, verb) for group, text in rows for verb in re.findall(r"`(\w+)`", text)]
    assert ("subscription", "pause") in verbs
    for group, verb in verbs:
        find_command([group, verb])


def test_the_table_of_settings_is_the_one_that_the_command_prints() -> None:
    written = re.search(r"<!-- settings: .*? -->\n(.*?)<!-- /settings -->", README, re.DOTALL)
    assert written is not None
    assert written[1] == settings_table_markdown(), "write it anew with: digest config show --markdown"


def test_its_whole_configuration_can_be_used_as_it_stands(tmp_path: Path) -> None:
    (text,) = (text for language, text in FENCES if language == "toml")
    path = tmp_path / "digest.toml"
    path.write_text(text, encoding="utf-8")
    config = load_config(path, {"DIGEST_SLACK_TOKEN": "xoxb-made-up"})
    assert config.warnings == ()
    assert [subscription.name for subscription in config.subscriptions] == ["perf-team", "gpu-mail", "gpu-static"]


def test_two_lines_run_all_of_it_and_all_of_its_tests() -> None:
    lines = [text for language, text in FENCES if language == "sh"]
    assert [text.count("\n") for text in lines] == [1, 1]
    assert lines[0].endswith("digest demo\n")
    assert "pytest" in lines[1]


def test_every_picture_and_file_it_points_to_is_there() -> None:
    pictures = re.findall(r'<img src="([^"]+)" width="\d+%" alt="[^"]{40,}">', README)
    assert len(pictures) == README.count("<img") == 2
    targets = [*re.findall(r"\]\((?!https?:)([^)#]+)\)", README), *pictures]
    assert len(targets) >= 3
    assert [target for target in targets if not (ROOT / target).is_file()] == []


_ON_QUERIES = README.partition("## Saved queries")[2].partition("\n## ")[0]
QUERIES = re.findall(r"^\| `([^`]+)` \|", _ON_QUERIES, re.MULTILINE)


def test_it_shows_many_queries() -> None:
    assert len(QUERIES) >= 8


@pytest.mark.parametrize("text", QUERIES)
def test_each_query_it_shows_is_read_without_a_remark(text: str) -> None:
    query = parse_query(text)
    assert all("only of harvested papers" in note.message for note in query.notes)
    assert parse_query(query.canonical).canonical == query.canonical


def test_the_exclusions_it_shows_can_be_read() -> None:
    (excluded,) = re.findall(r"`exclude = '([^']+)'`", README)
    assert parse_query(excluded).notes == ()
