"""What a workflow on GitHub prints can be read by all.

It holds nobody's address and nobody's query.
"""

from __future__ import annotations

import base64
import io
import json
import random
import re
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from urllib.parse import quote

import click
import pytest

from digest.cli import run_cli
from tests.command_line import run_digest
from tests.fakes.archive import read_demo_papers
from tests.integration.cli.fortnight import FIRST_DIGEST, MORNINGS, World, surrounded

CONFIG = """\
follow = ["$QUERY", 'ti:"{second}" OR abs:({third} AND', "abs:{fourth}"]
exclude = "abs:{fifth}"
to = ["mailto:$READER", "mailto:{refused}", "slack:$CHANNEL", "mailto:@members.txt"]
when = "weekdays at 09:00 Europe/Berlin"
mail.from = "$SENDER"
mail.smtp = "{smtp}"
slack.url = "{slack}"
arxiv = {{ api_url = "{arxiv}/api/query", oai_url = "{arxiv}/oai" }}
store.git_branch = "digest-state"
"""

COMMANDS = (
    "run", "run --json", "status", "status --json", "delivery list", "delivery list --json",
    "doctor", "doctor --json", "config show", "subscription show digest",
)  # fmt: skip


def prepare(world: World, seed: int) -> tuple[dict[str, str], list[str]]:
    """Write a configuration of drawn texts.

    Return the variables of its workflow, and what no log may hold.
    """
    draw = random.Random(seed)  # noqa: S311 - no secrets

    def name() -> str:
        return "".join(draw.choices("bcdfghjklmnprstvwxz", k=9))

    titles = " ".join(paper.title for paper in read_demo_papers())
    long_words = set(re.findall(r"\b[a-z]{6,}\b", titles.lower()))
    words = draw.sample(sorted(long_words - {"digest", "papers"}), 4)
    fifth = name()
    channel = name()
    refused, *mails = (f"{name()}@{name()}.example" for _ in range(5))
    values = {
        "QUERY": f"abs:{words[0]} OR cat:cs.PF",
        "READER": mails[0],
        "CHANNEL": f"#{channel}",
        "SENDER": mails[1],
    }
    files = dict(zip(("second", "third", "fourth"), words[1:], strict=True))
    urls = {"smtp": world.mail.url, "slack": world.slack.url, "arxiv": world.arxiv.url}
    config = CONFIG.format(fifth=fifth, refused=refused, **files, **urls)
    (world.folder / "digest.toml").write_text(config)
    (world.folder / "members.txt").write_text(f"{mails[2]}\n{mails[3]}\nno address {fifth}\n")
    world.mail.script.reply("RCPT", f"550 5.1.1 no such user {refused}", times=999, match=refused)
    environ = {f"DIGEST_VALUE_{key}": value for key, value in values.items()}
    environ["DIGEST_STORE_STATE_KEY"] = base64.b64encode(draw.randbytes(32)).decode()
    environ["DIGEST_SLACK_TOKEN"] = world.slack.token
    private = [*words, "cs.PF", fifth, refused, *mails, *environ.values(), channel]
    return {**world.environ, **environ}, private


def say_all(world: World, environ: dict[str, str]) -> str:
    """Return what all commands print on a good day, without arXiv, and after a slip in the file."""
    said = []
    mornings = (
        (FIRST_DIGEST, ("run",)),
        (MORNINGS[6], COMMANDS),
        (MORNINGS[7], ("--verbose run",)),
    )
    for morning, commands in (*mornings, (MORNINGS[8], COMMANDS)):
        world.clock.set(morning)
        if morning == MORNINGS[8]:
            world.edit(world.arxiv.url, "http://127.0.0.1:9")
        for command in commands:
            done = run_digest(world.folder, environ, *command.split())
            said += [f"$ {command}: {done.returncode}", done.stdout, done.stderr]
            if command.endswith("--json") and done.stdout:
                json.loads(done.stdout)
    world.edit("slack:$CHANNEL", "slack:$CHANNEL!")
    for command in ("run", "doctor", "doctor --json"):
        done = run_digest(world.folder, environ, *command.split())
        assert done.returncode
        said += [done.stdout, done.stderr]
    return "\n".join(said)


def find_leaks(private: list[str], said: str) -> list[str]:
    leaks = []
    for one in private:
        begins_so = re.compile(rf"(?<![a-z]){re.escape(one)}", re.IGNORECASE)
        if begins_so.search(said):
            leaks.append(one)
    return leaks


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """Give a checkout whose `origin` is a bare repository beside it."""
    for folder, *words in (
        (".", "init", "-q", "--bare", "origin.git"),
        (".", "clone", "-q", "origin.git", "here"),
    ):
        git = ["git", *words]
        subprocess.run(git, cwd=tmp_path / folder, check=True, capture_output=True)  # noqa: S603
    return tmp_path / "here"


@pytest.mark.parametrize("seed", range(2))
def test_what_a_workflow_prints_holds_no_address_no_secret_and_no_word_of_a_query(
    runner: Path, seed: int
) -> None:
    with surrounded(runner, FIRST_DIGEST) as world:
        environ, private = prepare(world, seed)
        said = say_all(world, {**environ, "GITHUB_ACTIONS": "true"})
        assert find_leaks(private, said) == []
        assert "<address>" in said
        assert "<query>" in said


def test_the_advice_of_a_screen_stays_readable(runner: Path) -> None:
    with surrounded(runner, FIRST_DIGEST) as world:
        environ, private = prepare(world, 3)
        environ |= {"GITHUB_ACTIONS": "true", "COLUMNS": "200"}
        assert run_digest(world.folder, environ, "run").returncode in (0, 4)
        said = run_digest(world.folder, environ, "status").stdout
        assert 'add `to = "mailto:you@…"` under [alarms]' in said
        doubted = run_digest(world.folder, environ, "doctor", "--send")
        assert (
            "`digest doctor --send --to mailto:you@example.org`" in doubted.stdout + doubted.stderr
        )
        assert find_leaks(private, said) == []


def test_elsewhere_all_is_printed_as_it_is(runner: Path) -> None:
    with surrounded(runner, FIRST_DIGEST) as world:
        environ, private = prepare(world, 1)
        said = say_all(world, {**environ, "GITHUB_ACTIONS": ""}).lower()
        assert [one for one in private[:8] if one.lower() not in said] == []


def test_bytes_and_tracebacks_are_masked_too(runner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    err = io.StringIO()

    def fail(_: bytes) -> None:
        secret = " ".join(private)
        click.echo(secret.encode())
        click.echo(json.dumps({"x": f"\n{secret}"}), err=True)
        click.echo(quote(f'"{secret}'), nl=False)
        raise ValueError(secret)

    with surrounded(runner, FIRST_DIGEST) as world, redirect_stdout(out), redirect_stderr(err):
        environ, (*private, _) = prepare(world, 2)  # a channel is hidden with its # alone
        monkeypatch.chdir(runner)
        for variable, value in {**environ, "GITHUB_ACTIONS": "true"}.items():
            monkeypatch.setenv(variable, value)
        monkeypatch.setattr("digest.cli.webhook.write_signing_key", fail)
        assert run_cli(["webhook", "secret"]) == 1
    said = out.getvalue() + err.getvalue()
    assert "ValueError: <query>" in said
    assert [one for one in private if one.lower() in said.lower()] == []
    assert out.getvalue().endswith("\n")
