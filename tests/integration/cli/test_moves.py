"""From one start to another: what `digest init --start` writes beside a digest.toml.

Where the history goes.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import pytest

from digest.config import Config, load_config
from tests.command_line import run_digest, run_process
from tests.golden.test_starts import COMMIT
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import FIRST_DIGEST, MORNINGS, World, count_arrived, surrounded

RICH = """\
# My lists. Ask ada before you change them.
[mail]
from = "digest@lab.example"          # our own
smtp = "smtp+starttls://digest@mail.lab.example:587"
password_file = "mail.password"

[store]
forget_unmatched_after = "30 days"

[alarms]
to = ["mailto:ops@lab.example", 'mailto:ada@lab.example']

[queries]
gpu = "cat:cs.PF AND abs:GPU"

[[subscriptions]]
name = "one"
follow = ["gpu", 'ti:"tail latency"']
library = "lab.bib"
to = [
  "mailto:ada@lab.example",
  "mailto:bob@lab.example",  # since May
  "slack:#papers",
]
when = "weekdays at 09:00 Europe/Berlin"

[[subscriptions]]
name = "two"
follow = "$QUERY"
to = "mailto:$READER"
when = "mondays at 08:00 Europe/Berlin"
"""
GIVEN = {
    "DIGEST_VALUE_QUERY": "abs:quokka",
    "DIGEST_VALUE_READER": "eve@lab.example",
    "DIGEST_SLACK_TOKEN": "xoxb-1",
}
PRIVATE = ("lab.example", "quokka", "hush", "xoxb-1")


@pytest.fixture
def rich(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of ada's with a file of several tables, and the variables that it names."""
    monkeypatch.setattr("os.getuid", lambda: 1234)
    monkeypatch.setattr("os.getgid", lambda: 1234)
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_name="ada"))
    (fresh / "digest.toml").write_text(RICH)
    (fresh / "mail.password").write_text("hush\n")
    (fresh / "lab.bib").write_text("@misc{a, title={On nothing}}\n")
    for name, value in GIVEN.items():
        monkeypatch.setenv(name, value)
    return fresh


def read_secrets(folder: Path) -> dict[str, str]:
    _, *lines = (folder / "secrets.env").read_text().splitlines()
    secrets = {}
    for line in lines:
        name, _, value = line.partition("=")
        secrets[name] = "".join(shlex.split(value))
    return secrets


def compare_what_counts(one: Config, other: Config) -> bool:
    """Whether two configurations send the same to the same places, in the same way."""
    what_counts = attrgetter("mail", "slack", "alarms", "queries", "subscriptions")
    return bool(what_counts(one) == what_counts(other))


def test_a_workflow_beside_a_file_hides_each_address_and_shows_what_must_change(
    rich: Path, digest: Shell
) -> None:
    said = digest("init", "--start", "github", "--package", COMMIT).out
    assert (rich / "digest.toml").read_text() == RICH
    new = (rich / "digest.toml.new").read_text()
    assert "-to = [\"mailto:ops@lab.example\", 'mailto:ada@lab.example']" in said
    assert "+to = [\"mailto:$READER_4\", 'mailto:$READER_2']" in said
    assert "  first  mv digest.toml.new digest.toml\n" in said
    assert [one for one in PRIVATE if one in new] == []
    assert 'from = "$MAIL_FROM"          # our own\n' in new
    first_comment = next(line for line in new.splitlines() if "#" in line)
    assert first_comment == RICH.splitlines()[0]
    secrets = read_secrets(rich)
    assert (secrets["DIGEST_VALUE_READER"], secrets["DIGEST_MAIL_PASSWORD"]) == (
        "eve@lab.example",
        "hush",
    )
    before = load_config(rich / "digest.toml", GIVEN)
    (rich / "digest.toml.new").rename(rich / "digest.toml")
    after = load_config(rich / "digest.toml", secrets)
    assert compare_what_counts(before, after)
    assert (after.store.git_branch, after.warnings) == ("digest-state", ())
    pushed = subprocess.run(
        ["/bin/sh", "-c", "git init -q && git add . && git ls-files"],
        cwd=rich, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert {"digest.toml", ".github/workflows/digest.yml", "lab.bib"} <= {*pushed}
    for name in pushed:
        text = (rich / name).read_text()
        assert [one for one in PRIVATE if one in text] == [], name


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('password = "hush"', "line 5 of digest.toml would show everybody what is private"),
        (
            'unsubscribe = "leave@lab.example"',
            "line 5 of digest.toml would show everybody what is private",
        ),
    ],
)
def test_what_can_not_be_hidden_is_named_by_its_line_and_nothing_is_written(
    rich: Path, digest: Shell, line: str, words: str
) -> None:
    (rich / "digest.toml").write_text(RICH.replace('password_file = "mail.password"', line))
    assert words in digest("init", "--start", "github", "--package", COMMIT, expect=2).err
    assert {one.name for one in rich.iterdir()} == {"digest.toml", "mail.password", "lab.bib"}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("slack:#papers", "console"), "a workflow can't keep console"),
        (('"lab.bib"', '"../lab.bib"'), "outside the repository"),
        (("gpu =", "gpu ="), "takes what it says"),
    ],
)
def test_what_a_workflow_can_not_do_is_refused_beside_a_file_too(
    rich: Path, digest: Shell, edit: tuple[str, str], words: str
) -> None:
    (rich / "digest.toml").write_text(RICH.replace(*edit))
    more = ("--to", "x@y.example") if edit[0] == edit[1] else ()
    assert words in digest("init", "--start", "github", "--package", COMMIT, *more, expect=2).err
    assert not (rich / "digest.toml.new").exists()


@pytest.mark.parametrize(
    ("start", "files"),
    [
        ("cron", set()),
        ("systemd", {"digest.service", "digest.timer"}),
        ("compose", {"compose.yaml", "Containerfile"}),
    ],
)
def test_a_file_with_names_of_variables_gets_their_values_where_nobody_else_reads_it(
    rich: Path, digest: Shell, start: str, files: set[str]
) -> None:
    there = {one.name for one in rich.iterdir()}
    (rich / "digest.toml").write_text(
        RICH.replace("[store]", '[store]\ngit_branch = "digest-state"')
    )
    before = load_config(rich / "digest.toml", GIVEN)
    said = digest("init", "--start", start, "--package", COMMIT).out
    assert {one.name for one in rich.iterdir()} - there == files | {"digest.toml.new"}
    assert said.index("db backup digest.db") < said.index("  first  mv digest.toml.new digest.toml")
    assert "-git_branch" in said
    assert '+to = "mailto:eve@lab.example"' in said
    after = load_config(rich / "digest.toml.new", {"DIGEST_SLACK_TOKEN": "xoxb-1"})
    assert compare_what_counts(before, after)
    assert after.store.git_branch == ""


@pytest.mark.parametrize("start", ["cron", "systemd", "compose"])
def test_a_file_that_fits_stays_and_each_password_and_path_of_it_is_used(
    rich: Path, digest: Shell, tmp_path_factory: pytest.TempPathFactory, start: str
) -> None:
    other = tmp_path_factory.mktemp("data")
    plain = RICH.replace("$QUERY", "abs:quokka").replace("$READER", "eve@lab.example")
    if start != "compose":
        (other / "secret").write_text("hush")
        plain = plain.replace('"mail.password"', f'"{other}/secret"')
    plain = plain.replace("[store]", f'[store]\nurl = "sqlite:///{other}/digest.db"')
    (rich / "digest.toml").write_text(plain)
    said = digest("init", "--start", start, "--package", COMMIT).out
    assert (rich / "digest.toml").read_text() == plain
    assert not (rich / "digest.toml.new").exists()
    assert "first  mv" not in said
    if start == "systemd":
        unit = (rich / "digest.service").read_text()
        assert f"LoadCredential=digest_mail_password:{other}/secret\n" in unit
        assert f"LoadCredential=digest_slack_token:{rich}/slack.token\n" in unit
        assert re.search(rf"ReadWritePaths={rich}.* -{other}\n", unit)
    elif start == "compose":
        assert (
            'digest_mail_password: {file: "./mail.password"}' in (rich / "compose.yaml").read_text()
        )


SIMPLE = """\
follow = [
    "cat:cs.*",
    "cat:math.*",
    "cat:quant-ph OR cat:astro-ph.*",
    "cat:physics.* OR cat:q-bio.*",
]
to = ["mailto:reader@digest.example", "mailto:second@digest.example", "slack:#papers"]
when = "weekdays at 09:00 Europe/Berlin"
mail.from = "digest@digest.example"
mail.smtp = "{smtp}"
slack.url = "{slack}"
arxiv.api_url = "{arxiv}/api/query"
arxiv.oai_url = "{arxiv}/oai"
"""
DAYS = (FIRST_DIGEST, *(MORNINGS[day] for day in (0, 2, 3, 5, 6, 8)))
WHO = {
    "GIT_AUTHOR_NAME": "a@b.example",
    "GIT_AUTHOR_EMAIL": "a@b.example",
    "GIT_COMMITTER_NAME": "a@b.example",
    "GIT_COMMITTER_EMAIL": "a@b.example",
}


def call(folder: Path, environ: Mapping[str, str], *arguments: str) -> str:
    done = run_process(folder, environ, *arguments)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def sh(folder: Path, line: str) -> None:
    environ = {**os.environ, **WHO}
    subprocess.run(  # noqa: S603 - ours
        ["/bin/sh", "-ec", line], cwd=folder, env=environ, check=True, capture_output=True
    )


def begin(world: World) -> None:
    text = SIMPLE.format(arxiv=world.arxiv.url, smtp=world.mail.url, slack=world.slack.url)
    (world.folder / "digest.toml").write_text(text)


def live_without_a_move(folder: Path) -> Counter[tuple[str, str]]:
    with surrounded(folder, FIRST_DIGEST) as world:
        begin(world)
        for moment in DAYS:
            world.clock.set(moment)
            assert run_digest(world.folder, world.environ, "run", "--now").returncode == 0
        return count_arrived(world)


@pytest.mark.timeout(300)
def test_from_laptop_to_workflow_to_server_to_container_nothing_is_lost_or_comes_twice(
    tmp_path: Path,
) -> None:
    expected = live_without_a_move(tmp_path / "steady")
    with surrounded(tmp_path / "laptop", FIRST_DIGEST) as world:
        begin(world)
        laptop = world.folder
        origin = tmp_path / "origin.git"
        outside = dict(world.environ)
        for moment in DAYS[:2]:
            world.clock.set(moment)
            call(laptop, outside, "run", "--now")
        world.clock.set(DAYS[2])
        world.mail.script.reply("RCPT", "451 4.7.1 greylisted", times=1)
        assert run_process(laptop, outside, "run", "--now").returncode == 4

        said = call(laptop, outside, "init", "--start", "github", "--package", COMMIT)
        assert "         set -a; . ./secrets.env; set +a; digest run\n" in said
        sh(tmp_path, f"git init -q --bare -b main {origin}")
        sh(
            laptop,
            "mv digest.toml.new digest.toml; git init -q -b main; git add .; git commit -qm Digest",
        )
        sh(laptop, f"git remote add origin {origin}; git push -q origin main")
        secrets = outside | read_secrets(laptop)
        world.clock.set(DAYS[3])
        call(laptop, secrets, "run", "--now")
        world.clock.set(DAYS[4])
        sh(tmp_path, f"git clone -q {origin} runner")
        call(tmp_path / "runner", secrets, "run", "--now")

        sh(tmp_path, f"git clone -q {origin} server")
        server = tmp_path / "server"
        said = call(server, secrets, "init", "--start", "cron")
        call(server, secrets, "db", "backup", "digest.db")
        assert "  first  mv digest.toml.new digest.toml\n" in said
        sh(server, "mv digest.toml.new digest.toml")
        world.clock.set(DAYS[5])
        call(server, outside, "run", "--now")

        call(server, outside, "init", "--start", "compose", "--package", COMMIT)
        call(server, outside, "db", "backup", "moved.db")
        volume = tmp_path / "volume"
        volume.mkdir()
        shutil.copy(
            server / "moved.db", volume / "digest.db"
        )  # `docker compose run` does so with the real one
        (server / "digest.db").unlink()
        outside["DIGEST_STORE_URL"] = f"sqlite:///{volume}/digest.db"
        world.clock.set(DAYS[6])
        call(server, outside, "run", "--now")
        assert "Sound" in call(server, outside, "db", "check")
        assert count_arrived(world) == expected
        assert set(expected.values()) == {1}


def test_what_a_run_without_a_server_left_in_doubt_is_found_out_about_on_the_server(
    tmp_path: Path,
) -> None:
    with surrounded(tmp_path / "laptop", FIRST_DIGEST) as world:
        begin(world)
        call(world.folder, world.environ, "run", "--now")
        world.clock.set(MORNINGS[3])
        world.mail.script.drop("END")
        world.mail.script.reply("RCPT", "550 5.1.1 no such user", times=1, match="second@")
        origin = tmp_path / "origin.git"
        folder = world.folder
        secrets = dict(world.environ)
        call(folder, secrets, "init", "--start", "github", "--package", COMMIT)
        sh(tmp_path, f"git init -q --bare -b main {origin}")
        sh(
            folder,
            f"mv digest.toml.new digest.toml; git init -q -b main; git remote add origin {origin}",
        )
        secrets |= read_secrets(folder)
        assert run_process(folder, secrets, "run", "--now").returncode == 4
        assert "may have arrived" in call(folder, secrets, "status")
        call(folder, secrets, "db", "backup", "moved.db")
        (folder / "digest.toml").write_text(
            SIMPLE.format(arxiv=world.arxiv.url, smtp=world.mail.url, slack=world.slack.url)
        )
        (folder / "moved.db").replace(folder / "digest.db")
        world.clock.sleep(3600)
        call(folder, world.environ, "run")
        assert "may have arrived" not in call(folder, world.environ, "status")
        copies = Counter(mail.message["Message-ID"] for mail in world.mail.mails)
        assert sorted(copies.values()) == [1, 1, 2], "the one in doubt came once more, as it was"
