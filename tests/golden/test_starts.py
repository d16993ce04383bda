"""What `digest init --start` asks, writes and says to do next, on a terminal of eighty columns."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from digest.config import load_config
from tests.command_line import run_digest
from tests.golden.conftest import Golden
from tests.integration.cli.lively import NOW, surrounded
from tests.terminal import hold_dialogue

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
    names = ("digest.toml", ".github/workflows/digest.yml", "requirements.txt", ".gitignore", "secrets.env")
    files = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    assert {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()} == {*names}
    assert stat.S_IMODE((folder / "secrets.env").stat().st_mode) == 0o600
    secrets = dict(line.split("=", 1) for line in files["secrets.env"].splitlines()[1:])
    assert secrets["DIGEST_MAIL_PASSWORD"] == '"it\'s \\$HOME"'
    config = load_config(folder / "digest.toml", secrets)
    assert [str(one) for one in config.subscriptions[0].destinations] == ["mailto:you@gmail.com"]
    assert (config.warnings, config.arxiv.contact, len(config.store.state_key)) == ((), "you@gmail.com", 32)
    text = f"{screen}\n" + "\n".join(f"----- {name}\n{text}" for name, text in files.items())
    golden("start.github.txt", re.sub(r"(STATE_KEY=)\S+", r"\1…", text))


def test_the_start_with_a_site_needs_nothing_else_and_says_that_it_is_public(
    golden: Golden, tmp_path: Path
) -> None:
    flags = ("--query", "abs:GPU", "--contact", "you@example.org", "--zone", "Europe/Berlin", "--no-input")
    done = run_digest(tmp_path, {}, "init", "--start", "github", "--site", "--package", COMMIT, *flags)
    assert (done.returncode, len(done.stdout.partition("next")[2].splitlines())) == (0, 10), done
    text = (tmp_path / ".github/workflows/digest.yml").read_text(encoding="utf-8")
    jobs = re.split(r"(?m)^  (?=[a-z-]+:$)", text.partition("jobs:\n")[2])
    assert [job.partition(":")[0] for job in jobs if "pages: write" in job or "id-token" in job] == ["site"]
    secrets = dict(line.split("=", 1) for line in (tmp_path / "secrets.env").read_text().splitlines()[1:])
    assert [*secrets] == ["DIGEST_STORE_STATE_KEY", "DIGEST_VALUE_ARXIV_CONTACT"]
    assert load_config(tmp_path / "digest.toml", secrets).warnings == ()
    golden("start.github-site.txt", f"{done.stdout}-----\n{(tmp_path / 'digest.toml').read_text()}-----\n{text}")
