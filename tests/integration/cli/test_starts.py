"""`digest init --start`: what it writes without a terminal, and what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from digest import RELEASED_AS, __version__
from digest.branch.journal import LEASE
from digest.config import load_config
from digest.inspect.schedule import find_schedule_mistake
from digest.model.destinations import TRAITS, DestinationKind
from tests.golden.test_starts import COMMIT
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World

WHEEL = "https://example.org/preprint_digest-0.1.0-py3-none-any.whl"
WORKFLOW = ".github/workflows/digest.yml"
FLAGS = ("init", "--start", "github", "--query", "abs:GPU", "--zone", "Europe/Berlin")


def test_with_flags_alone_each_secret_that_is_known_is_filled_in_and_the_others_wait(
    fresh: Path, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = "https://discord.com/api/webhooks/1/abc"
    monkeypatch.setenv("DIGEST_DISCORD_TEAM", hook)
    said = digest(
        *FLAGS, "--package", WHEEL, "--from", "digest@example.org",
        "--contact", "https://example.org/me",
        "--to", "a@example.org", "--to", "b@example.org", "--to", "#papers", "--to", "discord:team",
        "--smtp", "smtp+starttls://digest@mail.example.org:587", "--to", "webhook:lab",
    )  # fmt: skip
    _, _, next_steps = said.out.partition("next")
    assert len(next_steps.splitlines()) <= 10
    assert "Fill in first what is empty" in said.out
    assert (fresh / "requirements.txt").read_text() == f"{WHEEL}\n"
    lines = (fresh / "secrets.env").read_text().splitlines()
    assert lines[1].startswith("DIGEST_STORE_STATE_KEY=")
    assert lines[2:] == [
        "DIGEST_VALUE_READER=a@example.org",
        "DIGEST_VALUE_READER_2=b@example.org",
        "DIGEST_VALUE_ARXIV_CONTACT=https://example.org/me",
        "DIGEST_VALUE_MAIL_SMTP=smtp+starttls://digest@mail.example.org:587",
        "DIGEST_VALUE_MAIL_FROM=digest@example.org",
        "DIGEST_MAIL_PASSWORD=",
        "DIGEST_SLACK_TOKEN=",
        f"DIGEST_DISCORD_TEAM={hook}",
        "DIGEST_WEBHOOKS_LAB_URL=",
        "DIGEST_WEBHOOKS_LAB_SECRET=",
    ]
    variables = dict(line.split("=", 1) for line in lines[1:])
    config = load_config(fresh / "digest.toml", variables)
    assert config.store.git_branch == "digest-state"
    assert config.store.forget_unmatched_after == 3
    public = ""
    for file in fresh.rglob("*"):
        if file.is_file() and file.name != "secrets.env":
            public += file.read_text()
    assert "example.org" not in public.replace(WHEEL, "")


@pytest.mark.parametrize(
    ("start", "file", "setting", "held"),
    [
        ("github", "secrets.env", "", ["DIGEST_ZOTERO_KEY="]),
        ("compose", "compose.yaml", "", ['digest_zotero_key: {file: "./zotero.key"}']),
        ("compose", "compose.yaml", "key_file = 'key'", ['digest_zotero_key: {file: "./key"}']),
        ("compose", "compose.yaml", "key = 'k'", []),
    ],
)
def test_a_secret_that_any_kind_of_destination_needs_gets_its_place(
    fresh: Path,
    digest: Shell,
    monkeypatch: pytest.MonkeyPatch,
    *,
    start: str,
    file: str,
    setting: str,
    held: list[str],
) -> None:
    row = replace(TRAITS[DestinationKind.DISCORD], needs="zotero.key")
    monkeypatch.setitem(TRAITS, DestinationKind.DISCORD, row)
    monkeypatch.setenv("DIGEST_VALUE_CONTACT", "a@example.org")
    (fresh / "key").write_text("k")
    top = 'follow = "abs:GPU"\nto = "discord:team"\nwhen = "daily at 09:00 UTC"\n'
    text = f'{top}arxiv.contact = "$CONTACT"\n[zotero]\n{setting}\n'
    (fresh / "digest.toml").write_text(text)
    digest("init", "--start", start, "--package", COMMIT)
    lines = map(str.strip, (fresh / file).read_text().splitlines())
    assert [one for one in lines if "zotero_key" in one.lower() and one[-1] in "=}"] == held


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "is at no package index"),
        (("--package", "preprint-digest==0.1.0"), "names neither a wheel nor a commit"),
        (
            ("--package", "git+https://github.com/example/digest@main"),
            "names neither a wheel nor a commit",
        ),
        (("--package", COMMIT, "--to", "console"), "a workflow can't keep console"),
        (("--package", COMMIT, "--site", "--start", "cron"), "--site goes with --start github"),
        (
            ("--package", COMMIT, "--to", "#papers", "--library", "../thesis.bib"),
            "outside the repository",
        ),
        (("--package", COMMIT, "other.toml"), "writes digest.toml, under that name"),
    ],
)
def test_what_a_workflow_cannot_do_is_refused_and_nothing_is_written(
    tmp_path: Path,
    digest: Shell,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    (tmp_path / "thesis.bib").write_text("@misc{a, title={On nothing}}")
    (folder := tmp_path / "work").mkdir()
    monkeypatch.chdir(folder)
    assert words in digest(*FLAGS, "--contact", "a@example.org", *arguments, expect=2).err
    assert list(folder.iterdir()) == []


def test_it_writes_over_no_file_and_into_no_folder_that_github_does_not_read(
    fresh: Path, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fresh / ".gitignore").write_text("mine")
    assert ".gitignore is there already" in digest(*FLAGS, "--package", COMMIT, expect=2).err
    assert [(one.name, one.read_text()) for one in fresh.iterdir()] == [(".gitignore", "mine")]
    (fresh / ".git").mkdir()
    (fresh / "below").mkdir()
    monkeypatch.chdir(fresh / "below")
    assert (
        "GitHub reads workflows at the top alone"
        in digest(*FLAGS, "--package", COMMIT, expect=2).err
    )


def test_the_workflow_ends_with_its_lease_and_pins_this_version_once_an_index_has_it(
    fresh: Path, digest: Shell
) -> None:
    digest(*FLAGS, "--package", COMMIT, "--to", "#papers", "--contact", "a@example.org")
    minutes = LEASE // timedelta(minutes=1)
    workflow = (fresh / WORKFLOW).read_text()
    assert f"timeout-minutes: {minutes}\n" in workflow
    assert RELEASED_AS in ("", f"preprint-digest=={__version__}")


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        ("", "", ""),
        ('"', "'", ""),
        (r"    - cron: .*\n      timezone: .*\n|(?<=    )# (?=- cron)", "", ""),
        ("35 8", "35 7", "starts at other times"),
        ("Europe/Berlin", "UTC", "starts at other times"),
        (r".*timezone: .*\n", "", "starts at other times"),
        ("- cron", "- crom", "has no schedule that can be read"),
    ],
)
def test_what_is_written_starts_when_the_file_needs_it_and_a_change_of_either_is_shown(
    fresh: Path, digest: Shell, pattern: str, text: str, said: str
) -> None:
    digest(*FLAGS, "--package", COMMIT, "--to", "#papers", "--contact", "a@example.org")
    workflow = fresh / WORKFLOW
    workflow.write_text(
        re.sub(pattern, text, workflow.read_text()) if pattern else workflow.read_text()
    )
    config = load_config(fresh / "digest.toml", {"DIGEST_VALUE_ARXIV_CONTACT": "a@example.org"})
    assert said in find_schedule_mistake(config, 2026)
    assert bool(said) == bool(find_schedule_mistake(config, 2026))


def test_a_run_names_the_lines_and_with_them_it_is_content(world: World, digest: Shell) -> None:
    (world.folder / WORKFLOW).parent.mkdir(parents=True)
    (world.folder / WORKFLOW).write_text('on:\n  schedule:\n    - cron: "35 6 * * *"\n')
    said = digest("run").err
    assert f"{WORKFLOW} starts at other times than `when` in digest.toml needs" in said
    lines = said.partition("write:\n")[2]
    assert '- cron: "5 7 * * *"' in lines
    (world.folder / WORKFLOW).write_text(f"on:\n  schedule:\n{lines}")
    assert WORKFLOW not in digest("run").err
