"""The workflow that `digest init --start github` writes.

Its steps, word for word, from an empty repository.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.mail import MailSink
from tests.integration.cli.fortnight import NOW, surrounded

READER = "reader@lab.example"
LOGIN = "mailer@lab.example"
PASSWORD = "hunter2"
WHERE = "https://example.org/preprint_digest-0.1.0-py3-none-any.whl"
IDENTITY = {
    "GIT_AUTHOR_NAME": "a@b.example",
    "GIT_AUTHOR_EMAIL": "a@b.example",
    "GIT_COMMITTER_NAME": "a@b.example",
    "GIT_COMMITTER_EMAIL": "a@b.example",
}
HERE = {name: text for name, text in os.environ.items() if not name.startswith("DIGEST_")}
STEPS = re.compile(r"(?m)^ +(?:- )?run: (?:\|\n((?: {10}.*\n)+)|(.+)\n)")


def call(folder: Path, environ: Mapping[str, str], *command: str) -> str:
    done = subprocess.run(  # noqa: S603 - what a user types, and what the workflow says
        command,
        cwd=folder,
        env={**HERE, **environ},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    output = f"{done.stdout}{done.stderr}"
    assert done.returncode == 0, f"{command}\n{output}"
    return output


def follow_workflow(origin: Path, folder: Path, environ: Mapping[str, str]) -> str:
    """Do what GitHub does in one run.

    Check out into a fresh folder, and run each step in a shell of its own.
    """
    call(origin, environ, "git", "clone", "--quiet", "--depth", "1", origin.as_uri(), str(folder))
    workflow = (folder / ".github/workflows/digest.yml").read_text()
    main_job, _, keep_alive = workflow.partition("  keep-alive:")
    steps = [block or line for block, line in STEPS.findall(main_job)]
    assert len(steps) == 4
    first_step_to_keep_alive = "".join(STEPS.findall(keep_alive)[0])
    call(folder, environ, "bash", "-n", "-c", first_step_to_keep_alive)
    outputs = [call(folder, environ, "bash", "-e", "-c", step) for step in steps]
    return "".join(outputs)


@pytest.mark.timeout(600)
def test_its_steps_send_a_first_digest_from_an_empty_repository_and_nothing_twice(
    tmp_path: Path,
) -> None:
    wheel = os.environ.get("DIGEST_WHEEL")
    if not wheel:
        pytest.skip("DIGEST_WHEEL names no wheel: .ci/packaging builds one")
    origin = tmp_path / "origin.git"
    mine = tmp_path / "mine"
    mine.mkdir()
    call(tmp_path, {}, "git", "init", "--quiet", "--bare", "-b", "main", str(origin))
    call(tmp_path, {}, sys.executable, "-m", "venv", str(tmp_path / "venv"))
    with (
        surrounded(tmp_path / "world", NOW) as world,
        MailSink(starttls=True, login=(LOGIN, PASSWORD)) as server,
    ):
        outside = {
            "DIGEST_ARXIV_API_URL": world.arxiv.api_url,
            "DIGEST_ARXIV_OAI_URL": world.arxiv.oai_url,
            "DIGEST_TEST_CLOCK": world.arxiv.clock_url,
            "DIGEST_MAIL_CA_FILE": str(server.certificate),
        }
        with_password = {**outside, "DIGEST_MAIL_PASSWORD": PASSWORD}
        init = (sys.executable, "-m", "digest", "init")
        start = ("--start", "github", "--package", WHERE, "--no-input")
        query = ("--query", "ti:GPU", "--when", "weekdays at 09:00 Europe/Berlin")
        mail = ("--to", READER, "--from", LOGIN, "--smtp", add_login(server.url))
        call(mine, with_password, *init, *start, *query, *mail)
        # As it will be once an index has the package: the pin is the only line that a release
        # changes.
        _, version, *_ = Path(wheel).name.split("-")
        (mine / "requirements.txt").write_text(f"preprint-digest=={version}\n")
        begin = f"init -q -b main;remote add origin {origin};add .;commit -qm x;push -q origin main"
        for words in begin.split(";"):
            call(mine, IDENTITY, "git", *words.split())
        assert "secrets.env" not in call(mine, {}, "git", "ls-files")
        _, *secret_lines = (mine / "secrets.env").read_text().splitlines()
        secrets = dict(line.split("=", 1) for line in secret_lines)
        workflow = (mine / ".github/workflows/digest.yml").read_text()
        named = re.findall(r"(\w+): \$\{\{ secrets\.\1 \}\}", workflow)
        assert sorted(named) == sorted(2 * [*secrets])
        others = os.environ.get("PIP_FIND_LINKS", "")
        programs = tmp_path / "venv/bin"
        usual_path = os.environ["PATH"]
        summary = tmp_path / "summary"
        job = {"START_NEW": "", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
        job["PIP_FIND_LINKS"] = f"{Path(wheel).parent} {others}"
        job["PATH"] = f"{programs}:{usual_path}"
        environ = {**outside, **secrets, **job}
        seen = follow_workflow(origin, tmp_path / "first", environ)
        assert [mail.recipients for mail in server.mails] == [(READER,)]
        seen += follow_workflow(origin, tmp_path / "second", environ)
        assert len(server.mails) == 1
    assert "digest-state" in call(origin, {}, "git", "branch", "--list")
    seen += summary.read_text()
    assert seen.count("```\n") == 4
    config = tomllib.loads((mine / "digest.toml").read_text())
    assert config["to"] == "mailto:$READER"
    hidden = (READER, LOGIN, PASSWORD, secrets["DIGEST_STORE_STATE_KEY"], "GPU")
    assert [text for text in hidden if text in seen] == []


def add_login(url: str) -> str:
    login = LOGIN.replace("@", "%40")
    return url.replace("://", f"://{login}@")
