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
FENCES = [
    fence for page in PAGES.values() for fence in re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", page)
]
TYPED = re.compile(r"(?m)(?:^|[ =/])(?:digest )+((?:[a-z]|--)[^>\n]*)")
COMMANDS = {
    line
    for language, text in FENCES
    if language in {"sh", "cron", "ini"}
    for line in TYPED.findall(text)
}
COMMANDS |= {line for page in PAGES.values() for line in re.findall(r"`digest ([^`]+)`", page)}
COMMANDS = {line.removeprefix("--config /srv/digest/digest.toml ").strip() for line in COMMANDS}
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
    table = re.findall(r"(?ms)^\|.*?(?=^(?!\|))", page.partition(after)[2])[0]
    return re.findall(
        r"`([^`]+)`", "\n".join(line.split(" | ")[0] for line in table.splitlines()[2:])
    )


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
    if (
        "--save" in line or "undo" in line
    ):  # into a file with one subscription, as `digest init` writes it
        path = world.folder / "digest.toml"
        path.write_text("[[subscriptions]]".join(path.read_text().split("[[subscriptions]]")[:2]))
    for before in [one for start, ones in BEFORE.items() if line.startswith(start) for one in ones]:
        run_cli(shlex.split(before))
        world.clock.sleep(1)
    for said, meant in MADE_UP.items():
        line = line.replace(said, meant)
    # Nobody answers what these ask, and one of the saved queries here can't be read.
    asks = {"init", 'init --to "#papers"', "add", "subscription remove reader@digest.example"}
    digest(
        *shlex.split(line),
        expect=2 if line in asks or "--start" in line else int(line.startswith("doctor")),
    )


def write_tables(data: dict[str, Any], name: str = "") -> str:
    """Return a configuration as TOML: keys first, then each table below its name."""
    lines = [
        f"{key} = {json.dumps(value)}" for key, value in data.items() if not holds_tables(value)
    ]
    for key, value in data.items():
        if holds_tables(value):
            head = "[[{}]]" if isinstance(value, list) else "[{}]"
            for one in value if isinstance(value, list) else [value]:
                lines += [head.format(f"{name}{key}"), write_tables(one, f"{name}{key}.")]
    return "\n".join(lines)


def holds_tables(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(one, dict) for one in value)
    )


@pytest.mark.parametrize("text", sorted({text for language, text in FENCES if language == "toml"}))
def test_each_part_of_a_configuration_can_be_used(text: str, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "mail.password").write_text("made-up", encoding="utf-8")
    path = tmp_path / "digest.toml"
    whole = next(tomllib.loads(text) for _, text in FENCES if "gpu-static" in text)
    for key, value in tomllib.loads(text).items():
        place = (
            whole
            if key in {*TABLES, *whole, "templates", "webhooks"}
            else whole["subscriptions"][-1]
        )
        place[key] = {**place.get(key, {}), **value} if isinstance(value, dict) else value
    path.write_text(write_tables(whole), encoding="utf-8")
    given = {"QUERY": "cat:cs.PF", "READER": "ada@example.org", "CHANNEL": "#papers"}
    environ = {f"DIGEST_VALUE_{name}": value for name, value in given.items()}
    assert [said for said in load_config(path, environ).warnings if "DIGEST_" not in said] == []


def test_each_other_block_can_be_read() -> None:
    def read_shell(text: str) -> None:
        subprocess.run(["/bin/bash", "-n"], input=text, text=True, check=True)

    readers: dict[str, Callable[[str], object]] = {
        "sh": read_shell,
        "cron": lambda text: read_shell(re.sub(r"(?m)^(\S+ +){5}", "", text)),
        "dockerfile": read_shell,
        "ini": configparser.ConfigParser(interpolation=None, strict=False).read_string,
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
    notes = [
        str(note)
        for text in column(PAGES["queries"], "## What")
        for note in parse_query(text).notes
    ]
    assert len(notes) <= 1, "only `lic:` has something to remark on"


def test_the_readme_is_short_leads_to_what_is_there_and_shows_four_light_pictures() -> None:
    readme = PAGES["README"]
    assert len(readme.split()) <= 900
    targets = set(re.findall(r"\]\((?!https:)([^)]+)\)", readme))
    assert {f"digest/manual/{name}.md" for name in PAGES if name != "README"} <= targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []
    shown = re.findall(r"(?:src|srcset)=\"([^\"]+)\"", readme)
    assert sorted(shown) == [
        str(path.relative_to(ROOT)) for path in sorted(ROOT.glob(".github/*.png"))
    ]
    assert len(shown) <= 4
    assert max((ROOT / name).stat().st_size for name in shown) < 300_000
