"""What `digest init --start` asks, writes and says to do next, on a terminal of eighty columns."""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path

import pytest

from digest.config import load_config
from tests.command_line import run_digest
from tests.golden.conftest import Golden
from tests.integration.cli.fortnight import NOW, surrounded
from tests.terminal import hold_dialogue

NAMING = """
follow = "abs:GPU"
to = ["slack:#papers", "webhook:lab"]
when = "daily at 09:00 UTC"
arxiv.contact = "https://example.org/about"
slack.token_file = "tok"
zotero.key_file = "odd [name]*"
webhooks.lab.url_file = "url"
webhooks.lab.secret_file = "sub/hook key"
"""
COMMIT = "git+https://github.com/example/digest@" + "0123456789" * 4


def test_the_start_on_github_is_unchanged(golden: Golden, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with surrounded(tmp_path, NOW) as world:
        environ = {"DIGEST_ARXIV_API_URL": world.arxiv.api_url, "TZ": "Europe/Berlin"}
        code, screen = hold_dialogue(
            folder,
            environ,
            *("init", "--start", "github", "--package", COMMIT, "--no-test"),
            typed=[
                *(("> ", "cat:cs.PF AND abs:GPU"), ("another", "")),
                *(("go?", "1"), ("address", "you@gmail.com"), ("sends it", "1")),
                *(("password", "it's $HOME"), ("When", "")),
            ],
        )
    assert code == 0, screen
    names = (
        "digest.toml",
        ".github/workflows/digest.yml",
        "requirements.txt",
        ".gitignore",
        "secrets.env",
    )
    files = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    written = [one for one in folder.rglob("*") if one.is_file()]
    assert {str(one.relative_to(folder)) for one in written} == {*names}
    secrets_status = (folder / "secrets.env").stat()
    assert stat.S_IMODE(secrets_status.st_mode) == 0o600
    secrets = read_secrets(folder)
    assert secrets["DIGEST_MAIL_PASSWORD"] == '"it\'s \\$HOME"'
    config = load_config(folder / "digest.toml", secrets)
    (subscription,) = config.subscriptions
    assert [str(one) for one in subscription.destinations] == ["mailto:you@gmail.com"]
    assert config.warnings == ()
    assert config.arxiv.contact == "you@gmail.com"
    assert len(config.store.state_key) == 32
    shown = [screen]
    for name, text in files.items():
        shown.append(f"----- {name}\n{text}")
    everything = "\n".join(shown)
    golden("start.github.txt", re.sub(r"(STATE_KEY=)\S+", r"\1…", everything))


def read_secrets(folder: Path) -> dict[str, str]:
    """Return the variables of `secrets.env`, whose first line is a comment."""
    _, *lines = (folder / "secrets.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_the_start_with_a_site_needs_nothing_else_and_says_that_it_is_public(
    golden: Golden, tmp_path: Path
) -> None:
    flags = (
        "--query",
        "abs:GPU",
        "--contact",
        "you@example.org",
        "--zone",
        "Europe/Berlin",
        "--no-input",
    )
    done = run_digest(
        tmp_path, {}, "init", "--start", "github", "--site", "--package", COMMIT, *flags
    )
    assert done.returncode == 0, done
    _, _, next_steps = done.stdout.partition("next")
    assert len(next_steps.splitlines()) == 10, done
    workflow = (tmp_path / ".github/workflows/digest.yml").read_text(encoding="utf-8")
    _, _, jobs = workflow.partition("jobs:\n")
    publishing = []
    for job in re.split(r"(?m)^  (?=[a-z-]+:$)", jobs):
        if "pages: write" in job or "id-token" in job:
            name, _, _ = job.partition(":")
            publishing.append(name)
    assert publishing == ["site"]
    secrets = read_secrets(tmp_path)
    assert [*secrets] == ["DIGEST_STORE_STATE_KEY", "DIGEST_VALUE_ARXIV_CONTACT"]
    config_file = tmp_path / "digest.toml"
    assert load_config(config_file, secrets).warnings == ()
    config_text = config_file.read_text()
    golden("start.github-site.txt", f"{done.stdout}-----\n{config_text}-----\n{workflow}")


@pytest.mark.parametrize("is_beside", [False, True])
def test_git_leaves_out_each_file_with_a_secret_that_digest_toml_names(
    tmp_path: Path,
    *,
    is_beside: bool,
) -> None:
    secrets = ("tok", "odd [name]*", "sub/hook key", "url")
    (tmp_path / "sub").mkdir()
    for name in secrets:
        (tmp_path / name).write_text("whsec_aGlkZGVuIGhpZGRlbiBoaWRkZW4gaGlkZGVu", encoding="utf-8")
    (tmp_path / "tok").write_text("xoxb-1", encoding="utf-8")
    (tmp_path / "url").write_text("https://example.org/hook", encoding="utf-8")
    flags: tuple[str, ...] = ()
    if is_beside:
        (tmp_path / "digest.toml").write_text(NAMING, encoding="utf-8")
    else:
        flags = (
            "--query",
            "abs:GPU",
            "--contact",
            "you@example.org",
            "--when",
            "daily at 09:00 UTC",
        )
        flags += ("--to", "#papers", "--token-file", "tok", "--no-input")
    done = run_digest(tmp_path, {}, "init", "--start", "github", "--package", COMMIT, *flags)
    assert done.returncode == 0, done
    listed = ""
    for words in (("init", "--quiet"), ("add", "."), ("ls-files", "-z")):
        git = ["git", "-C", str(tmp_path), *words]
        answer = subprocess.run(git, check=True, capture_output=True, text=True)  # noqa: S603
        listed = answer.stdout
    added = set(listed.split("\0"))
    assert added.isdisjoint(secrets if is_beside else ("tok",))
    assert {"digest.toml", ".gitignore", "requirements.txt"} <= added
