"""README and manual keep their word: commands run, blocks can be read, and tables hold what there is."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import tomlkit

from digest.cli import run_cli
from digest.config import load_config, settings_table_markdown
from digest.config.addresses import read_destination
from digest.config.values import read_cadence
from digest.model.announcements import DELIVERABLE_KINDS
from digest.model.subscriptions import QuietDays
from digest.query import parse_query
from tests.command_line import ROOT
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World

COMING = re.compile(
    r"^doctor|config undo|query show|--save |--against |--dry-run|explain 2611\.15012( gpu)?$|^init( --query.*)?$"
    r"|^abstracts = "
)
"""Commands and settings that do not exist yet."""

MANUAL = {path.stem: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("digest/manual/*.md"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [README, *MANUAL.values()]
FENCES = [fence for page in PAGES for fence in re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", page)]
TYPED = re.compile(r"(?m)(?:^|[ =/])digest ((?:[a-z]|--).*)$")
COMMANDS = {line for language, text in FENCES if language in {"sh", "cron", "ini"} for line in TYPED.findall(text)}
COMMANDS |= {line for page in PAGES for line in re.findall(r"`digest ([^`]+)`", page)}
COMMANDS -= {"demo", "serve"}  # test_demo.py and test_serve.py run them word for word

MADE_UP = {  # what the examples say, and what goes by that name in the installation
    "381": "10",
    "reader@example.org": "reader@digest.example",
    "postgresql://digest@db.example.org/digest": "sqlite:///copy.db",
    "perf-team --next": "perf-mail --next",
    "TOPIC": "queries",
}
BEFORE = {
    "db restore backups": ["db backup backups/digest.db"],
    "db resume": ["db restore --mark", "run --now"],
    "delivery mark-sent": ["delivery retry 10", "run"],
    "subscription resubscribe": ["subscription unsubscribe gpu-mail reader@digest.example"],
    "subscription resume": ["subscription pause gpu-mail"],
    "config undo": ['try "cat:cs.DC" --save parallel'],
}
"""What a reader has done before, by how a command begins."""


def column(page: str, after: str, number: int = 0) -> list[str]:
    """Return what stands in backticks in a column of the first table after a text."""
    table = re.findall(r"(?ms)^\|.*?(?=^(?!\|))", page.partition(after)[2])[0]
    return re.findall(r"`([^`]+)`", "\n".join(line.split(" | ")[number] for line in table.splitlines()[2:]))


@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_each_command_does_what_a_reader_types_it_for(
    line: str, world: World, digest: Shell, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if COMING.search(line):
        request.applymarker(pytest.mark.xfail(strict=True))
    monkeypatch.setenv("DIGEST_ALARMS_TO", "mailto:ops@digest.example")
    if "mark-sent" in line:  # the next mail may have arrived
        world.mail.script.clear()
        world.mail.script.drop("END")
    for before in [one for start, ones in BEFORE.items() if line.startswith(start) for one in ones]:
        run_cli(shlex.split(before))
        world.clock.sleep(1)
    if line.startswith("init"):
        monkeypatch.setenv("DIGEST_CONFIG", str(world.folder / "new.toml"))
    for said, meant in MADE_UP.items():
        line = line.replace(said, meant)
    digest(*shlex.split(line), expect=2 if line == "init" else 0)


@pytest.mark.parametrize("text", sorted({text for language, text in FENCES if language == "toml"}))
def test_each_part_of_a_configuration_can_be_used(
    text: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if COMING.search(text):
        request.applymarker(pytest.mark.xfail(strict=True))
    (tmp_path / "templates").mkdir()
    path = tmp_path / "digest.toml"
    whole = next(tomllib.loads(text) for _, text in FENCES if "gpu-static" in text)
    for key, value in tomllib.loads(text).items():
        if key in {"templates", "subscriptions"}:
            whole[key] = value
        elif isinstance(value, dict):
            whole[key] = {**whole.get(key, {}), **value}
        else:
            whole["subscriptions"][-1][key] = value
    path.write_text(tomlkit.dumps(whole), encoding="utf-8")
    assert [said for said in load_config(path, {}).warnings if "DIGEST_" not in said] == []


def test_each_other_block_can_be_read() -> None:
    for language, text in FENCES:
        shell = text if language == "sh" else ""
        match language:
            case "cron":
                shell = re.sub(r"^(?:(?:\d[\d,]*|\*) ){5} ", "", text)
                assert shell.startswith("cd ")
            case "dockerfile":
                lines = dict(line.split(" ", 1) for line in text.splitlines())
                shell = lines["RUN"]
                assert lines.keys() <= {"FROM", "COPY", "RUN", "USER", "WORKDIR", "ENV", "CMD"}
                assert json.loads(lines["CMD"]) == ["digest", "serve"]
            case "ini":
                unit = configparser.ConfigParser(interpolation=None)
                unit.read_string(text)
                assert unit["Service"]["ReadWritePaths"] == unit["Service"]["WorkingDirectory"]
            case "json":
                json.loads(text)
            case _:
                assert language in {"sh", "toml", "caddy", "nginx"}
        assert subprocess.run(["/bin/bash", "-n"], input=shell, text=True, check=False).returncode == 0, shell


def test_the_tables_hold_what_there_is() -> None:
    assert f"settings.py -->\n{settings_table_markdown()}<!-- /settings -->" in MANUAL["settings"]
    assert column(MANUAL["digest"], "## Which changes") == list(DELIVERABLE_KINDS)
    assert column(MANUAL["cadence"], "## Quiet days") == list(QuietDays)
    assert all(map(read_cadence, column(MANUAL["cadence"], "#")))
    assert all(map(read_destination, column(MANUAL["starting"], "## A small digest.toml")))
    notes = [str(note) for text in column(MANUAL["queries"], "## What") for note in parse_query(text).notes]
    assert len(notes) <= 1, "only `lic:` has something to remark on"


def test_the_readme_is_short_names_every_room_and_leads_to_what_is_there() -> None:
    assert len(README.split()) <= 900
    rooms = {path.stem for path in ROOT.glob("digest/[a-z]*")}
    assert rooms <= set(re.findall(r"`(\w+)(?:\.py)?`", README))
    links = re.findall(r"\]\((?!https:)([^)]+)\)|<img src=\"([^\"]+)\" width=\"\d+%\" alt=\"[^\"]{40,}\"", README)
    assert len(links) > len(MANUAL)
    assert all((ROOT / (link or picture)).is_file() for link, picture in links)
