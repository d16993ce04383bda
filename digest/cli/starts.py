"""What `digest init --start` writes beside digest.toml, so that Digest runs by itself: the table of starts."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from digest import RELEASED_AS, __version__
from digest.cli.commands import SECOND_NAME
from digest.config import Config
from digest.config.addresses import see_from
from digest.config.declarations import variable_of
from digest.config.display import write_toml
from digest.config.edits import write_settings
from digest.config.settings import INCOMING, WEBHOOK
from digest.config.starter import Answers, hide_addresses
from digest.config.values import STATE_KEY_BYTES
from digest.inspect.findings import list_secrets
from digest.inspect.schedule import WORKFLOW, plan_schedule
from digest.model.clock import Clock
from digest.model.destinations import DestinationKind
from digest.model.errors import UsageError
from digest.render.contexts import WorkflowContext
from digest.render.templates import Templates, find_shipped_templates

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_PACKAGE = re.compile(r"https://[^\s#]+\.whl|git\+https://[^\s#]+@[0-9a-f]{40}")
SITE = "file:site/"
"""The folder that a workflow publishes."""

SECRETS = "secrets.env"
NEW = ".new"
"""What the name of a file ends in that is to replace another."""

_ADDRESS = re.compile(r"""["'](?:\w+:)?([^"'@\s]+@[^"'@\s]+)["']""")
_PLAIN = re.compile(r"[\w@%+=:,./-]*", re.ASCII)
_ODD = re.compile(r"[^\w@+,./-]")
_NEW_OWNER = ("digest", 1000, 1000)
_ON_MACHINE = {"store.git_branch": None}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a start may need to know: a file, its text, what that answers, how it is read.

    `package` is where Digest is installed from, as pip takes it; "" for no place.
    """

    target: Path
    text: str
    answers: Answers
    config: Config
    package: str
    clock: Clock
    environ: Mapping[str, str]
    draw_bytes: Callable[[int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What templates see of a machine of one's own; `missing` is what is still to be written of `secrets`.

    `has_history`: there is a database beside digest.toml. `is_beside`: digest.toml was there before.
    The words of `command` call this very program. Account and numbers are those of who calls; as root, new ones.
    """

    command: str
    folder: str
    file: str
    user: str
    uid: int
    gid: int
    is_root: bool
    host: str
    smtp: str
    requirement: str
    secrets: Mapping[str, str]
    missing: Mapping[str, str]
    writes: tuple[str, ...]
    database: str
    has_history: bool
    is_beside: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One way to let Digest run by itself.

    `files` are those it writes, if they are not empty, with their templates in `start/`; `steps` is the template
    of what to do next. `check` refuses, before anything is asked, what can't be done with this target and package.
    `settings` is what digest.toml says besides; None for what it must not say. If it `hides`, no
    file but `SECRETS` holds an address or a secret.
    """

    files: Mapping[str, str]
    steps: str
    check: Callable[[Path, str], None]
    see: Callable[[Facts], DataclassInstance]
    settings: Mapping[str, object] = field(default_factory=dict)
    hides: bool = False


def render_start(start: Start, facts: Facts) -> tuple[dict[str, str], str, str]:
    """Return the files of a start, by their paths; what to do next; what digest.toml must say."""
    templates, seen = Templates((), find_shipped_templates()), start.see(facts)
    files = {
        path: templates.render(f"start/{name}", seen).rstrip() + "\n"
        for path, name in start.files.items()
    }
    files = {path: text for path, text in files.items() if text.strip()}
    text = write_settings(facts.text, start.settings)
    if start.hides:
        text, _ = hide_addresses(facts.answers, text, facts.config.given)
        private = [*list_secrets(facts.config), *_ADDRESS.findall(text)]
        if left := [text[: text.index(one)].count("\n") + 1 for one in private if one in text]:
            raise UsageError(
                f"line {left[0]} of {facts.target.name} would show everybody what is private",
                hint="Move a secret into a file, as mail.password. Write an address as $NAME.",
            )
    elif given := facts.config.given:
        # Nobody else reads the file here, and a service knows no variables of a shell.
        names = "|".join(map(re.escape, given))
        written = rf"""["']((?:[\w-]+:)?)({names})["']"""
        text = re.sub(written, lambda found: write_toml(found[1] + given[found[2]]), text)
    return files, templates.render(f"start/{start.steps}", seen), text


def read_package(text: str) -> str:
    """Return where Digest is installed from: the one place that is named, else its release at a package index."""
    if text and not _PACKAGE.fullmatch(text):
        raise UsageError(
            f"--package {text} names neither a wheel nor a commit that others can fetch",
            hint="Write https://….whl, or git+https://…@ and the 40 digits of a commit. A file is only here.",
        )
    return text or RELEASED_AS


def _check_github(target: Path, package: str) -> None:
    folder = target.absolute().parent
    if target.name != "digest.toml":
        raise UsageError(
            "--start github writes digest.toml, under that name", hint="Name no other file."
        )
    if not (folder / ".git").exists() and any(
        (above / ".git").exists() for above in folder.parents
    ):
        hint = "Change to its top folder, or make a folder outside of it."
        raise UsageError(
            f"{folder} is inside a git repository; GitHub reads workflows at the top alone",
            hint=hint,
        )
    _require_package(package, "a workflow")


def _require_package(package: str, what: str) -> None:
    if not package:
        raise UsageError(
            f"version {__version__} is at no package index, so {what} can't install it from there",
            hint="Say where it is: --package https://….whl, or --package git+https://…@ and a commit,"
            " which `git rev-parse HEAD` prints in your clone. "
            "Whoever takes the name at an index first could run their program with your secrets.",
        )


def _see_github(facts: Facts) -> WorkflowContext:
    answers, config = facts.answers, facts.config
    if own := [str(one) for one in answers.to if one.traits.is_own and str(one) != SITE]:
        hint = "Send it by mail, to Slack, Discord or a webhook; or show it to everybody: --site."
        raise UsageError(f"a workflow can't keep {own[0]}", hint=hint)
    if far := [one for one in answers.library if one.startswith(("/", "..", "~"))]:
        raise UsageError(
            f"the library {far[0]} is outside the repository", hint="Copy it beside digest.toml."
        )
    secrets = {
        "DIGEST_STORE_STATE_KEY": b64encode(facts.draw_bytes(STATE_KEY_BYTES)).decode(),
        **hide_addresses(answers, facts.text, config.given)[1],
    }
    if answers.password_file != "":
        secrets["DIGEST_MAIL_PASSWORD"] = config.mail.password
    if answers.token_file != "":
        secrets["DIGEST_SLACK_TOKEN"] = config.slack.token
    secrets |= dict.fromkeys(_list_hook_variables(answers), "")
    secrets |= {"DIGEST_ZOTERO_KEY": ""} if config.zotero.key else {}
    secrets = {name: value or facts.environ.get(name, "") for name, value in secrets.items()}
    schedule, in_utc = plan_schedule(config, facts.clock.now().year)
    named = {str(see_from(config.folder, one)) for one in config.origins.values()} - {"digest.toml"}
    return WorkflowContext(
        schedule,
        in_utc,
        facts.package,
        {name: _quote(value) for name, value in secrets.items()},
        is_site=SITE in map(str, answers.to),
        has_history=(config.folder / "digest.db").exists(),
        # A sign that means more than itself to git has a backslash before it.
        ignored=tuple(
            re.sub(r"[\\*?\[\] ]", r"\\\g<0>", one)
            for one in sorted(named)
            if (config.folder / one).is_file() and not one.startswith("/")
        ),
    )


def _list_hook_variables(answers: Answers) -> Iterator[str]:
    """Yield the variables that give the addresses and secrets of webhooks."""
    for one in answers.to:
        if one.kind in INCOMING:
            yield variable_of(f"{INCOMING[one.kind].table}.{one.address}")
        elif one.kind is DestinationKind.WEBHOOK:
            yield from (
                variable_of(f"webhooks.{one.address}.{setting.name}") for setting in WEBHOOK
            )


def _quote(value: str) -> str:
    """Return a value as a line of NAME=value holds it, for GitHub's command and for a shell."""
    if _PLAIN.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'


def _check_machine(target: Path, _package: str) -> None:
    words = [*_find_program(), str(target.absolute())]
    if "archive-v0" in Path(words[0]).parts:  # the cache from which uvx runs what is not installed
        raise UsageError(
            "uvx installs nothing that could be started later", hint="Call `uv tool install` first."
        )
    if odd := next(filter(_ODD.search, words), ""):
        hint = "Choose a folder whose path has only letters, digits and . _ -, as /srv/digest."
        raise UsageError(f"{odd} can't stand in a unit or a crontab", hint=hint)


def _check_systemd(target: Path, package: str) -> None:
    _check_machine(target, package)
    for place in (str(target.absolute()), _find_program()[0], sys.base_prefix):
        if not os.getuid() and place.startswith("/root/"):
            hint = "Call it as the account that shall run it, or put all into a folder such as /srv/digest."
            raise UsageError(
                f"no other account can read {place}, and nothing should run as root", hint=hint
            )


def _find_program() -> list[str]:
    if Path(sys.argv[0]).name == "__main__.py":
        return [sys.executable, "-m", "digest"]
    return [str(Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute())]


def _see_container(facts: Facts) -> Machine:
    answers = facts.answers
    named = [one.address for one in answers.to if one.kind is DestinationKind.FILE] + [
        *answers.library
    ]
    named += filter(None, (answers.password_file, answers.token_file))
    if far := [one for one in named if one.startswith(("/", "..", "~"))]:
        raise UsageError(
            f"{far[0]} is outside the folder, and a container sees that alone",
            hint="Move it there.",
        )
    return _see_server(facts)


def _see_server(facts: Facts) -> Machine:
    answers, package, target, uid = (
        facts.answers,
        facts.package,
        facts.target.absolute(),
        os.getuid(),
    )
    files = {
        "DIGEST_MAIL_PASSWORD": answers.password_file,
        "DIGEST_SLACK_TOKEN": answers.token_file,
    }
    files |= dict.fromkeys(_list_hook_variables(answers))
    secrets = {
        name: file or name.lower()[7:].replace("_", ".", 1)
        for name, file in files.items()
        if file != ""
    }
    user, uid, gid = (pwd.getpwuid(uid).pw_name, uid, os.getgid()) if uid else _NEW_OWNER
    written = [one.address for one in answers.to if one.kind is DestinationKind.FILE]
    database = facts.config.store.url.removeprefix("sqlite:///")
    if database.startswith("/") and not Path(database).is_relative_to(target.parent):
        written.append(database)
    with_url = f"{SECOND_NAME}[postgres] @ {package}"
    return Machine(
        command=" ".join((*_find_program(), "--config", str(target))),
        folder=str(target.parent),
        file=target.name,
        user=user,
        uid=uid,
        gid=gid,
        is_root=not os.getuid(),
        host=facts.config.web.host,
        smtp=answers.smtp,
        requirement=with_url if "://" in package else package.replace("==", "[postgres]=="),
        secrets=secrets,
        missing={name: file for name, file in secrets.items() if files[name] is None},
        writes=tuple(dict.fromkeys(str((target.parent / one).parent) for one in written)),
        database=database,
        has_history=Path(database).exists() or bool(facts.config.store.git_branch),
        is_beside=target.exists(),
    )


STARTS = {
    "github": Start(
        files={
            WORKFLOW: "digest.yml",
            "requirements.txt": "requirements.txt",
            ".gitignore": "gitignore.txt",
            SECRETS: "secrets.env",
        },
        steps="github.txt",
        check=_check_github,
        see=_see_github,
        settings={
            "store.url": None,
            "store.git_branch": "digest-state",
            "store.forget_unmatched_after": "3 days",
        },
        hides=True,
    ),
    "compose": Start(
        files={
            "compose.yaml": "compose.yml",
            "Containerfile": "containerfile.txt",
            "Caddyfile": "caddyfile.txt",
        },
        steps="compose.txt",
        settings=_ON_MACHINE,
        check=lambda _, package: _require_package(package, "an image"),
        see=_see_container,
    ),
    "systemd": Start(
        files={"digest.service": "service.txt", "digest.timer": "timer.txt"},
        steps="systemd.txt",
        settings=_ON_MACHINE,
        check=_check_systemd,
        see=_see_server,
    ),
    "cron": Start(
        files={},
        steps="cron.txt",
        settings=_ON_MACHINE,
        check=_check_machine,
        see=_see_server,
    ),
}
