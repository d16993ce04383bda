"""What `digest init --start` writes beside digest.toml, so that Digest runs by itself: the table of starts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from digest import RELEASED_AS, __version__
from digest.config import Config
from digest.config.starter import Answers, hide_addresses
from digest.config.values import STATE_KEY_BYTES
from digest.model.errors import UsageError
from digest.model.subscriptions import OWN_DESTINATIONS
from digest.render.contexts import WorkflowContext
from digest.render.templates import Templates, find_shipped_templates

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_PACKAGE = re.compile(r"https://[^\s#]+\.whl|git\+https://[^\s#]+@[0-9a-f]{40}")
_PLAIN = re.compile(r"[\w@%+=:,./-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a start may need to know.

    Attributes:
        target: where digest.toml will be.
        answers: what it is written from.
        config: the file as read, with its secrets.
        package: where Digest is installed from, as pip takes it; "" for no place.
        draw: draws so many random bytes.
    """

    target: Path
    answers: Answers
    config: Config
    package: str
    draw: Callable[[int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One way to let Digest run by itself.

    Attributes:
        files: what it writes: path from the folder of digest.toml -> template of `start/`.
        private: those of them that only their owner may read.
        steps: the template of what to do next, ten lines at most.
        check: refuses, before anything is asked, what this start can't do; given target and package.
        see: what its templates see.
        settings: what digest.toml says besides.
        hides: addresses and secrets come from variables, and no file of its own holds one.
    """

    files: Mapping[str, str]
    steps: str
    check: Callable[[Path, str], None]
    see: Callable[[Facts], DataclassInstance]
    private: frozenset[str] = frozenset()
    settings: Mapping[str, object] = field(default_factory=dict)
    hides: bool = False


def render_start(start: Start, facts: Facts) -> tuple[dict[str, str], str]:
    """Return the files of a start, by their paths, and what to do next."""
    templates, seen = Templates((), find_shipped_templates()), start.see(facts)
    files = {path: templates.render(f"start/{name}", seen).rstrip() + "\n" for path, name in start.files.items()}
    return files, templates.render(f"start/{start.steps}", seen)


def read_package(text: str) -> str:
    """Return where Digest is installed from: the one place that is named, else its release at a package index."""
    if text and not _PACKAGE.fullmatch(text):
        raise UsageError(
            f"--from {text} names neither a wheel nor a commit",
            hint="Write https://….whl, or git+https://…@ and the 40 digits of a commit.",
        )
    return text or RELEASED_AS


def _check_github(target: Path, package: str) -> None:
    folder = target.absolute().parent
    if target.name != "digest.toml":
        raise UsageError("--start github writes digest.toml, under that name", hint="Name no other file.")
    if not (folder / ".git").exists() and any((above / ".git").exists() for above in folder.parents):
        hint = "Change to its top folder, or make a folder outside of it."
        raise UsageError(
            f"{folder} is inside a git repository; GitHub reads workflows at the top alone", hint=hint
        )
    if not package:
        raise UsageError(
            f"version {__version__} is at no package index, so a workflow can't install it from there",
            hint="Say where it is: --from https://….whl, or --from git+https://…@ and the 40 digits of a commit. "
            "Whoever takes the name at an index first could run their program with your secrets.",
        )


def _see_github(facts: Facts) -> WorkflowContext:
    answers, config = facts.answers, facts.config
    if own := [str(one) for one in answers.to if one.kind in OWN_DESTINATIONS]:
        raise UsageError(
            f"a workflow can't keep {own[0]}", hint="Send it by mail, to Slack, Discord or a webhook."
        )
    _, secrets = hide_addresses(answers)
    key = b64encode(facts.draw(STATE_KEY_BYTES)).decode()
    secrets = {"DIGEST_STORE_STATE_KEY": key, **secrets}
    if answers.password_file != "":
        secrets["DIGEST_MAIL_PASSWORD"] = config.mail.password
    if answers.token_file != "":
        secrets["DIGEST_SLACK_TOKEN"] = config.slack.token
    return WorkflowContext((), facts.package, {name: _quote(value) for name, value in secrets.items()})


def _quote(value: str) -> str:
    """Return a value as a line of NAME=value holds it, for GitHub's command and for a shell."""
    if _PLAIN.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'


STARTS = {
    "github": Start(
        files={
            ".github/workflows/digest.yml": "digest.yml",
            "requirements.txt": "requirements.txt",
            ".gitignore": "gitignore.txt",
            "secrets.env": "secrets.env",
        },
        private=frozenset({"secrets.env"}),
        steps="github.txt",
        check=_check_github,
        see=_see_github,
        settings={"store.git_branch": "digest-state", "store.forget_unmatched_after": "3 days"},
        hides=True,
    )
}
