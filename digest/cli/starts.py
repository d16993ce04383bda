"""What `digest init --start` writes beside digest.toml, so that Digest runs by itself: the table of starts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from digest import RELEASED_AS, __version__
from digest.config import Config
from digest.config.settings import INCOMING, variable_of
from digest.config.starter import Answers, hide_addresses
from digest.config.values import STATE_KEY_BYTES
from digest.model.cadences import Cadence, CadenceKind
from digest.model.errors import UsageError
from digest.model.subscriptions import OWN_DESTINATIONS, DestinationKind
from digest.plan.slots import plan_starts, plan_starts_in_utc
from digest.render.contexts import WorkflowContext
from digest.render.templates import Templates, find_shipped_templates

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Schedule = tuple[tuple[str, str], ...]

_PACKAGE = re.compile(r"https://[^\s#]+\.whl|git\+https://[^\s#]+@[0-9a-f]{40}")
SECRETS, WORKFLOW = "secrets.env", ".github/workflows/digest.yml"
_STARTS = re.compile(
    r"""(?m)^ *- cron: *["']?([^"'#\n]*?)["']? *(?:#.*)?$(?:\n +timezone: *["']?([\w/+-]+)["']? *(?:#.*)?$)?"""
)
_PLAIN = re.compile(r"[\w@%+=:,./-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a start may need to know.

    Attributes:
        target: where digest.toml will be.
        answers: what it is written from.
        config: the file as read, with its secrets.
        package: where Digest is installed from, as pip takes it; "" for no place.
        today: the day on which it is written.
        environ: the variables here.
        draw: draws so many random bytes.
    """

    target: Path
    answers: Answers
    config: Config
    package: str
    today: date
    environ: Mapping[str, str]
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
    if far := [one for one in answers.library if one.startswith(("/", "..", "~"))]:
        raise UsageError(f"the library {far[0]} is outside the repository", hint="Copy it beside digest.toml.")
    secrets = {
        "DIGEST_STORE_STATE_KEY": b64encode(facts.draw(STATE_KEY_BYTES)).decode(),
        **hide_addresses(answers)[1],
    }
    if answers.password_file != "":
        secrets["DIGEST_MAIL_PASSWORD"] = config.mail.password
    if answers.token_file != "":
        secrets["DIGEST_SLACK_TOKEN"] = config.slack.token
    for one in answers.to:
        if one.kind in INCOMING:
            secrets[variable_of(f"{INCOMING[one.kind].table}.{one.address}")] = ""
        elif one.kind is DestinationKind.WEBHOOK:
            secrets |= dict.fromkeys(
                (variable_of(f"webhooks.{one.address}.{key}") for key in ("url", "secret")), ""
            )
    secrets |= {"DIGEST_ZOTERO_KEY": ""} if config.zotero.key else {}
    secrets = {name: value or facts.environ.get(name, "") for name, value in secrets.items()}
    schedule, in_utc = _plan_schedule(config, facts.today.year)
    hidden = {name: _quote(value) for name, value in secrets.items()}
    return WorkflowContext(schedule, in_utc, facts.package, hidden)


def _plan_schedule(config: Config, year: int) -> tuple[Schedule, Schedule]:
    """Return when a workflow must start; and the same in UTC, () if that is the same."""
    cadences = [one.cadence for one in config.subscriptions if one.has_digests]
    cadences = cadences or [Cadence(CadenceKind.ANNOUNCEMENT)]
    schedule, in_utc = plan_starts(cadences), plan_starts_in_utc(cadences, year)
    return schedule, in_utc if in_utc != schedule else ()


def find_other_schedule(config: Config, year: int) -> str:
    """Return what to write into the workflow beside digest.toml if it starts at other times than `when` needs."""
    file = config.folder / WORKFLOW
    if config.path is None or not file.exists():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace")
    found = {(cron, zone or "UTC") for cron, zone in _STARTS.findall(text)}
    schedule, in_utc = map(set, _plan_schedule(config, year))
    if found and found in (schedule, in_utc):
        return ""
    lines = "".join(f'\n    - cron: "{cron}"\n      timezone: "{zone}"' for cron, zone in sorted(schedule))
    why = "starts at other times than `when` in digest.toml needs" if found else "has no schedule that can be read"
    return f"{WORKFLOW} {why}. Below `schedule:` write:{lines}"


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
            WORKFLOW: "digest.yml",
            "requirements.txt": "requirements.txt",
            ".gitignore": "gitignore.txt",
            SECRETS: "secrets.env",
        },
        private=frozenset({SECRETS}),
        steps="github.txt",
        check=_check_github,
        see=_see_github,
        settings={"store.git_branch": "digest-state", "store.forget_unmatched_after": "3 days"},
        hides=True,
    )
}
