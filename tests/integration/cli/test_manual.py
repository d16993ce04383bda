"""README and manual keep their word.

Commands run, blocks can be read, and tables hold what there is.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from digest.cli import run_cli
from digest.config import load_config
from digest.config.addresses import read_destination
from digest.config.settings import TABLES
from digest.config.values import read_cadence
from digest.model.announcements import DELIVERABLE_KINDS
from digest.model.subscriptions import WhenEmpty
from digest.query import parse_query
from tests.command_line import ROOT
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World
from tests.settings_table import settings_table_markdown

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("digest/manual/*.md")}
PAGES["README"] = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")
TYPED = re.compile(r"(?m)(?:^|[ =/])(?:digest )+((?:[a-z]|--)[^>\n]*)")


def list_fences() -> list[tuple[str, str]]:
    """Return the language and the text of each fenced block in the manual."""
    fences: list[tuple[str, str]] = []
    for page in PAGES.values():
        fences += FENCE.findall(page)
    return fences


def list_commands() -> set[str]:
    """Return every command of `digest` that the manual shows, without its first word."""
    commands: set[str] = set()
    for language, text in list_fences():
        if language in {"sh", "cron", "ini"}:
            commands.update(TYPED.findall(text))
    for page in PAGES.values():
        commands.update(re.findall(r"`digest ([^`]+)`", page))
    return {line.removeprefix("--config /srv/digest/digest.toml ").strip() for line in commands}


FENCES = list_fences()
COMMANDS = list_commands()
COMMANDS -= {
    "demo",
    "serve",
    "db copy --to postgresql://digest@db.example.org/digest",
    "db rotate-key",
}
"""These are run in test_demo.py, test_serve.py, test_restoring.py and branch/test_state.py."""

COMMANDS -= {"cp /etc/digest/moved.db /data/digest.db"}
"""A container's own, with what test_moves.py does in its place."""

MADE_UP = {  # what the examples say, and what goes by that name in the installation
    "381": "13",
    "reader@example.org": "reader@digest.example",
    "perf-team --next": "perf-mail --next",
    "TOPIC": "queries",
    "db backup digest.db": "db backup copied.db",
    "--subscription gpu": "--subscription gpu-mail",
    "subscription edit gpu ": "subscription edit gpu-mail ",
    "subscription first NAME": "subscription first gpu",
    "subscription first gpu": "subscription first gpu-mail",
    "subscription remove gpu": "subscription remove gpu-mail",
    "query remove gpu": "query remove broken",
}
BEFORE = {  # what a reader has done before, by how a command begins
    "db restore backups": ["db backup backups/digest.db"],
    "delivery mark-sent": ["delivery retry 13", "run"],
    "library check": ["subscription edit perf-team library=thesis.bib", "run"],
    "query remove": ["subscription remove gpu-static"],
    'subscription resubscribe "(letters)"': [
        'subscription unsubscribe "(letters)" reader@digest.example'
    ],
    "subscription resubscribe": ["subscription unsubscribe gpu-mail reader@digest.example"],
    "subscription resume": ["subscription pause gpu-mail"],
    "config undo": ['try "cat:cs.DC" --save parallel'],
}


def column(page: str, after: str) -> list[str]:
    """Return what stands in backticks in the left column of the first table after a text."""
    _, _, rest = page.partition(after)
    table = re.findall(r"(?ms)^\|.*?(?=^(?!\|))", rest)[0]
    _, _, *rows = table.splitlines()
    left_column = "\n".join(row.split(" | ")[0] for row in rows)
    return re.findall(r"`([^`]+)`", left_column)


def keep_one_subscription(path: Path) -> None:
    """Leave one subscription in the file, as `digest init` writes it."""
    parts = path.read_text().split("[[subscriptions]]")
    path.write_text("[[subscriptions]]".join(parts[:2]))


def list_commands_before(line: str) -> list[str]:
    """Return what has to be done first, so that a command has something to do."""
    commands: list[str] = []
    for start, needed in BEFORE.items():
        if line.startswith(start):
            commands += needed
    return commands


@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_each_command_does_what_a_reader_types_it_for(
    line: str, world: World, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.folder / "thesis.bib").write_text(
        "@misc{a, eprint={2611.15000}}\n@misc{b, eprint={2611.15001}}\n"
    )
    if "--send" in line or line.startswith("send"):
        monkeypatch.setenv("DIGEST_ALARMS_TO", "mailto:ops@digest.example")
    if "mark-sent" in line:  # the next mail may have arrived
        world.mail.script.clear()
        world.mail.script.drop("END")
    if line.startswith("init"):
        monkeypatch.setenv("DIGEST_CONFIG", str(world.folder / "new.toml"))
        monkeypatch.delenv("DIGEST_TEST_CLOCK")
        monkeypatch.setenv("DIGEST_ARXIV_API_URL", world.arxiv.api_url)
    if line.startswith("missed"):
        monkeypatch.setenv("XDG_STATE_HOME", str(world.folder))
    if "--provider" in line:
        monkeypatch.setenv("DIGEST_MAIL_PASSWORD", "made-up")
    if "--save" in line or "undo" in line:
        keep_one_subscription(world.folder / "digest.toml")
    for before in list_commands_before(line):
        run_cli(shlex.split(before))
        world.clock.sleep(1)
    for said, meant in MADE_UP.items():
        line = line.replace(said, meant)
    # Nobody answers what these ask, and one of the saved queries here can't be read.
    asks = {"init", 'init --to "#papers"', "add", "subscription remove reader@digest.example"}
    finds_trouble = line.startswith("doctor")
    expected = 2 if line in asks or "--start" in line else int(finds_trouble)
    digest(*shlex.split(line), expect=expected)


def write_tables(data: dict[str, Any], name: str = "") -> str:
    """Return a configuration as TOML: keys first, then each table below its name."""
    lines = [
        f"{key} = {json.dumps(value)}" for key, value in data.items() if not holds_tables(value)
    ]
    for key, value in data.items():
        if holds_tables(value):
            place = f"{name}{key}"
            is_list = isinstance(value, list)
            head = f"[[{place}]]" if is_list else f"[{place}]"
            for one in value if is_list else [value]:
                lines += [head, write_tables(one, f"{place}.")]
    return "\n".join(lines)


def holds_tables(value: object) -> bool:
    if isinstance(value, list):
        return any(isinstance(one, dict) for one in value)
    return isinstance(value, dict)


@pytest.mark.parametrize("text", sorted({text for language, text in FENCES if language == "toml"}))
def test_each_part_of_a_configuration_can_be_used(text: str, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "mail.password").write_text("made-up", encoding="utf-8")
    path = tmp_path / "digest.toml"
    whole = next(tomllib.loads(text) for _, text in FENCES if "gpu-static" in text)
    for key, value in tomllib.loads(text).items():
        place = whole["subscriptions"][-1]
        if key in {*TABLES, *whole, "templates", "webhooks"}:
            place = whole
        if isinstance(value, dict):
            place[key] = {**place.get(key, {}), **value}
        else:
            place[key] = value
    path.write_text(write_tables(whole), encoding="utf-8")
    given = {"QUERY": "cat:cs.PF", "READER": "ada@example.org", "CHANNEL": "#papers"}
    environ = {f"DIGEST_VALUE_{name}": value for name, value in given.items()}
    assert [said for said in load_config(path, environ).warnings if "DIGEST_" not in said] == []


def test_each_other_block_can_be_read() -> None:
    def read_shell(text: str) -> None:
        subprocess.run(["/bin/bash", "-n"], input=text, text=True, check=True)

    def read_cron(text: str) -> None:
        read_shell(re.sub(r"(?m)^(\S+ +){5}", "", text))

    ini = configparser.ConfigParser(interpolation=None, strict=False)
    readers: dict[str, Callable[[str], object]] = {
        "sh": read_shell,
        "cron": read_cron,
        "dockerfile": read_shell,
        "ini": ini.read_string,
        "json": json.loads,
        "toml": tomllib.loads,
    }
    for language, text in FENCES:
        readers.get(language, str)(text)


def test_the_page_of_settings_holds_what_each_setting_says(request: pytest.FixtureRequest) -> None:
    before, _, after = re.split(
        r"(?s)(?<=settings.py -->\n)(.*)(?=<!-- /settings -->)", PAGES["settings"]
    )
    page = f"{before}{settings_table_markdown()}{after}"
    if request.config.getoption("--update-golden"):
        (ROOT / "digest/manual/settings.md").write_text(page, encoding="utf-8")
    else:
        assert page == PAGES["settings"], "look, then run with --update-golden"


def test_the_tables_hold_what_there_is() -> None:
    assert column(PAGES["digest"], "## Which changes") == list(DELIVERABLE_KINDS)
    assert column(PAGES["cadence"], "## Quiet days") == list(WhenEmpty)
    assert all(map(read_cadence, column(PAGES["cadence"], "#")))
    assert all(map(read_destination, column(PAGES["starting"], "## A small digest.toml")))
    notes: list[str] = []
    for text in column(PAGES["queries"], "## What"):
        notes += map(str, parse_query(text).notes)
    assert len(notes) <= 1, "only `lic:` has something to remark on"


def test_the_readme_is_short_leads_to_what_is_there_and_shows_four_light_pictures() -> None:
    readme = PAGES["README"]
    assert len(readme.split()) <= 900
    targets = set(re.findall(r"\]\((?!https:)([^)]+)\)", readme))
    assert {f"digest/manual/{name}.md" for name in PAGES if name != "README"} <= targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []
    shown = re.findall(r"(?:src|srcset)=\"([^\"]+)\"", readme)
    pictures = sorted(ROOT.glob(".github/*.png"))
    assert sorted(shown) == [str(path.relative_to(ROOT)) for path in pictures]
    assert len(shown) <= 4
    assert max((ROOT / name).stat().st_size for name in shown) < 300_000
