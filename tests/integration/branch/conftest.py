"""A repository with an installation in it, and clones that know only that and the secrets."""

from __future__ import annotations

import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from digest.branch.step import Branch
from digest.config import load_config
from digest.serve.installation import open_site
from digest.site import Site
from tests.command_line import run_digest
from tests.integration.cli.fortnight import World, surrounded

EVENING = datetime(2026, 11, 12, 20, 0, tzinfo=UTC)
"""The next morning brings a paper, and so does that of the 18th."""

NAMED = "DIGEST_VALUE_READER"
CONFIG = """\
follow = "cat:cs.PF"
to = ["mailto:$READER", "slack:#papers"]
when = "weekdays at 09:00 Europe/Berlin"
store.git_branch = "digest-state"
store.forget_unmatched_after = "3 days"
mail.from = "digest@digest.example"
mail.smtp = "{smtp}"
slack.url = "{slack}"
arxiv.api_url = "{arxiv}/api/query"
arxiv.oai_url = "{arxiv}/oai"
"""


def git(folder: Path, *arguments: str, given: str = "") -> str:
    command = ["git", "-c", "user.name=me", "-c", "user.email=me@host", *arguments]
    done = subprocess.run(  # noqa: S603 - our own words
        command,
        cwd=folder,
        input=given,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@dataclass
class Repository:
    """A bare repository called `origin`, and the world around those who run it."""

    world: World
    origin: Path
    environ: dict[str, str]

    def clone(self, name: str) -> Path:
        """Return a fresh clone, as a runner has it."""
        folder = self.origin.parent / name
        shutil.rmtree(folder, ignore_errors=True)
        git(self.origin.parent, "clone", "--quiet", "--single-branch", str(self.origin), name)
        return folder

    def __call__(self, folder: Path, *arguments: str, expect: int = 0) -> str:
        """Run a command in a clone; return what it printed."""
        done = run_digest(folder, self.environ, *arguments)
        assert done.returncode == expect, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    def tip(self) -> str:
        return git(
            self.origin, "for-each-ref", "--format=%(objectname)", "refs/heads/digest-state"
        ).strip()

    def open(self, folder: Path, owner: str = "one") -> Branch:
        """Return the state as a process of a clone has fetched it."""
        config = load_config(folder / "digest.toml", self.environ)
        beside = folder / f"state-{owner}"
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        branch = Branch(config, self.world.clock, owner, beside)
        branch.fetch(create=True)
        branch.store.before_write = branch.take_lease
        return branch

    def open_site(self, folder: Path, branch: Branch) -> Site:
        config = load_config(folder / "digest.toml", self.environ)
        return open_site(config, self.world.clock, owner="one", jitter=lambda: 0.5, branch=branch)

    def advance(self, **by: float) -> None:
        self.world.clock.advance(timedelta(**by))


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """A repository that nothing has run in yet."""
    with surrounded(tmp_path / "seed", EVENING) as world:
        origin = tmp_path / "origin.git"
        seed = tmp_path / "seed"
        git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
        git(seed, "init", "--quiet", "--initial-branch=main")
        text = CONFIG.format(arxiv=world.arxiv.url, smtp=world.mail.url, slack=world.slack.url)
        (seed / "digest.toml").write_text(text, encoding="utf-8")
        git(seed, "add", "digest.toml")
        git(seed, "commit", "--quiet", "--message=begin")
        git(seed, "push", "--quiet", str(origin), "main")
        key = b64encode(bytes(range(32))).decode()
        secrets = {"DIGEST_STORE_STATE_KEY": key, NAMED: "reader@digest.example"}
        yield Repository(world, origin, world.environ | secrets)
