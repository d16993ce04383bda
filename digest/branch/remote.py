"""Reads and moves the branch at `origin` with git itself, from the checkout around `digest.toml`.

The branch has one commit, which is replaced: a push names the commit that it replaces, and the
remote refuses it if that is no longer there (https://git-scm.com/docs/git-push,
"--force-with-lease"). A tag that is made with the branch tells one that was never there from one
that was deleted.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from digest.config import read_environment
from digest.model.errors import ConfigurationError, DigestError, OutsideError

BEGAN = "digest-state-began"
"""The tag that is made with the branch, and stays."""

TIMEOUT = 120.0
"""Seconds one call of git may take."""

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",  # nobody is there to type a password
    "GCM_INTERACTIVE": "never",
    "GIT_LFS_SKIP_PUSH": "1",
    "LC_ALL": "C",
    "TZ": "UTC",  # commits tell the zone
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "push.pushOption",
    "GIT_CONFIG_VALUE_0": "",
    "GIT_AUTHOR_NAME": "digest",
    "GIT_AUTHOR_EMAIL": "digest@localhost",
    "GIT_COMMITTER_NAME": "digest",
    "GIT_COMMITTER_EMAIL": "digest@localhost",
}
_NOT_HANDED_ON = ("DIGEST_", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Secrets are not for git; and which repository it is, the folder says."""

_PLAIN = ("--no-verify", "--no-follow-tags", "--no-signed")
"""What the settings of a checkout may say of its own pushes is not for ours."""

_REASONS = ("!", "remote: ", "fatal: ")
"""How the lines begin in which git says what is wrong."""

_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=30"


@dataclass(frozen=True, slots=True)
class Tip:
    """Where the branch and the tag of its beginning are at `origin`: commits, "" for none."""

    commit: str
    began: str


@dataclass(frozen=True, slots=True)
class Blob:
    """A file as git keeps it."""

    id: str
    content: bytes = field(repr=False)


class Remote:
    """A branch at `origin` of the checkout that a folder lies in."""

    def __init__(self, folder: Path, branch: str) -> None:
        self._folder = folder
        self.branch = branch
        self._ref = f"refs/heads/{branch}"
        self._tag = f"refs/tags/{BEGAN}"
        self._environ = {"GIT_SSH_COMMAND": _SSH}
        for name, text in read_environment().items():
            if not name.startswith(_NOT_HANDED_ON):
                self._environ[name] = text
        self._environ |= _QUIET
        self.refusal: DigestError | None = None

    def ask(self) -> Tip:
        """Ask `origin` where the branch is."""
        done = self._git("ls-remote", "origin", self._ref, self._tag)
        if done is None or done.returncode:
            raise self._explain(done, "can't be read")
        commits = {}
        for line in done.stdout.decode().splitlines():
            commit, ref = line.split("\t")
            commits[ref] = commit
        return Tip(commits.get(self._ref, ""), commits.get(self._tag, ""))

    def fetch(self, commit: str) -> dict[str, Blob]:
        """Return the files of a commit at `origin`, by name.

        The branch may have been moved meanwhile.
        """
        done = self._git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin", commit)
        if done is None or done.returncode:
            raise self._explain(done, "can't be fetched")
        blobs = {}
        for line in self._read("ls-tree", commit).decode().splitlines():
            _, _, id_, name = line.split(None, 3)
            blobs[name] = Blob(id_, self._read("cat-file", "blob", id_))
        return blobs

    def write(self, files: Mapping[str, bytes | str]) -> tuple[str, dict[str, str]]:
        """Store a commit of these files: bytes, or ids of blobs.

        Return its id, and those of its blobs.
        """
        blobs = {}
        listing = ""
        for name, content in sorted(files.items()):
            blobs[name] = content if isinstance(content, str) else self._store(content)
            listing += f"100644 blob {blobs[name]}\t{name}\n"
        tree = self._read_id("mktree", given=listing.encode())
        commit = self._read_id("commit-tree", "-m", "State of Digest, encrypted", tree)
        return commit, blobs

    def _store(self, content: bytes) -> str:
        return self._read_id("hash-object", "-w", "--stdin", given=content)

    def push(self, commit: str, tip: Tip) -> bool:
        """Put a commit in the place of the one that was last seen.

        Return whether `origin` plainly says yes; `refusal` keeps what was said in place of a yes.
        With the branch the tag is made, too.
        """
        leases = [f"--force-with-lease={self._ref}:{tip.commit}"]
        moves = [f"{commit}:{self._ref}"]
        if not tip.commit:
            leases += ["--atomic", f"--force-with-lease={self._tag}:{tip.began}"]
            moves.append(f"{commit}:{self._tag}")
        done = self._git("push", "--porcelain", *_PLAIN, *leases, "origin", *moves)
        if done is not None and done.returncode == 0:
            return True
        self.refusal = self._explain(done, "does not take the state")
        return False

    def _read_id(self, *arguments: str, given: bytes = b"") -> str:
        return self._read(*arguments, given=given).decode().strip()

    def _read(self, *arguments: str, given: bytes = b"") -> bytes:
        done = self._git(*arguments, given=given)
        if done is None or done.returncode:
            raise self._explain(done, "can't be kept in this checkout")
        return done.stdout

    def _git(
        self, *arguments: str, given: bytes = b""
    ) -> subprocess.CompletedProcess[bytes] | None:
        """Run git in the checkout; None if it did not end in time."""
        try:
            # The arguments are ours, but for a name that the settings have judged. What git itself
            # has started is ended with it; Ctrl-C ends us alone.
            process = subprocess.Popen(  # noqa: S603 - see above
                ["git", *arguments],  # noqa: S607 - git from the path
                cwd=self._folder,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            hint = "Install git, or remove git_branch under [store] in digest.toml."
            raise ConfigurationError(
                f"git can't be started: {error.strerror}", hint=hint
            ) from error

        try:
            out, err = process.communicate(given, TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def _explain(self, done: subprocess.CompletedProcess[bytes] | None, what: str) -> DigestError:
        said = "" if done is None else done.stderr.decode(errors="replace").strip()
        if "not a git repository" in said or "'origin' does not appear" in said:
            return ConfigurationError(
                f"{self._folder} is no checkout of a repository with a remote called origin",
                hint="Clone your repository, and work in that folder; "
                "or remove git_branch under [store].",
            )
        lines = []
        if done is not None:
            lines = [*done.stdout.decode(errors="replace").splitlines(), *said.splitlines()]
        reasons = [line for line in lines if line.startswith(_REASONS)] or lines[-1:]
        reason = f"no answer in {TIMEOUT:.0f} s"
        if reasons:
            reason = " ".join(reasons[0].split())
        return OutsideError(
            f"the branch {self.branch} at origin {what}: {reason}",
            hint="Check the network, and whether you may write to the repository.",
        )
