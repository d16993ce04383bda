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


def test_the_start_on_github_looks_as_it_did(golden: Golden, tmp_path: Path) -> None:
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
    assert {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()} == {*names}
    assert stat.S_IMODE((folder / "secrets.env").stat().st_mode) == 0o600
    secrets = dict(line.split("=", 1) for line in files["secrets.env"].splitlines()[1:])
    assert secrets["DIGEST_MAIL_PASSWORD"] == '"it\'s \\$HOME"'
    config = load_config(folder / "digest.toml", secrets)
    assert [str(one) for one in config.subscriptions[0].destinations] == ["mailto:you@gmail.com"]
    assert (config.warnings, config.arxiv.contact, len(config.store.state_key)) == (
        (),
        "you@gmail.com",
        32,
    )
    text = f"{screen}\n" + "\n".join(f"----- {name}\n{text}" for name, text in files.items())
    golden("start.github.txt", re.sub(r"(STATE_KEY=)\S+", r"\1…", text))


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
    assert (done.returncode, len(done.stdout.partition("next")[2].splitlines())) == (0, 10), done
    text = (tmp_path / ".github/workflows/digest.yml").read_text(encoding="utf-8")
    jobs = re.split(r"(?m)^  (?=[a-z-]+:$)", text.partition("jobs:\n")[2])
    assert [
        job.partition(":")[0] for job in jobs if "pages: write" in job or "id-token" in job
    ] == ["site"]
    secrets = dict(
        line.split("=", 1) for line in (tmp_path / "secrets.env").read_text().splitlines()[1:]
    )
    assert [*secrets] == ["DIGEST_STORE_STATE_KEY", "DIGEST_VALUE_ARXIV_CONTACT"]
    assert load_config(tmp_path / "digest.toml", secrets).warnings == ()
    golden(
        "start.github-site.txt",
        f"{done.stdout}-----\n{(tmp_path / 'digest.toml').read_text()}-----\n{text}",
    )


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
        listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout  # noqa: S603
    added = set(listed.split("\0"))
    assert added.isdisjoint(secrets if is_beside else ("tok",))
    assert {"digest.toml", ".gitignore", "requirements.txt"} <= added
