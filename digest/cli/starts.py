"""The table of starts: what `digest init --start` writes, so that Digest runs by itself."""

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
from typing import TYPE_CHECKING, NamedTuple

from digest import RELEASED_AS, __version__
from digest.cli.commands import SECOND_NAME
from digest.config import Config
from digest.config.addresses import see_from
from digest.config.declarations import variable_of
from digest.config.display import write_toml
from digest.config.edits import write_settings
from digest.config.settings import INCOMING, SETTINGS, WEBHOOK
from digest.config.starter import Answers, find_secret_file, hide_addresses
from digest.config.values import STATE_KEY_BYTES
from digest.inspect.findings import list_secrets
from digest.inspect.schedule import WORKFLOW, plan_schedule
from digest.model.clock import Clock
from digest.model.errors import UsageError
from digest.render.contexts import WorkflowContext
from digest.render.templates import Templates, find_shipped_templates

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_PACKAGE = re.compile(r"https://[^\s#]+\.whl|git\+https://[^\s#]+@[0-9a-f]{40}")
"""A place that others can install from: a wheel, or a commit of a repository."""

SITE = "file:site/"
"""The folder that a workflow publishes."""

SECRETS = "secrets.env"
"""The file that holds what a workflow's secrets are to be; it stays here."""

NEW = ".new"
"""The suffix of a new digest.toml, beside the one that it is to replace."""

_ADDRESS = re.compile(r"""["'](?:\w+:)?([^"'@\s]+@[^"'@\s]+)["']""")
"""A mail address in a digest.toml: in quotes, alone or after its kind."""

_PLAIN = re.compile(r"[\w@%+=:,./-]*", re.ASCII)
"""A value that a shell reads as it is, without quotes."""

_ODD = re.compile(r"[^\w@+,./-]")
"""A character that a unit of systemd or a crontab may read as more than itself."""

_ON_MACHINE = {"store.git_branch": None}
"""What digest.toml must say on a machine of one's own: the database is on no branch."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a start may need to know.

    `text` is what the digest.toml at `target` holds, or will hold; `answers` and `config` are what
    it says. `package` is where Digest is installed from, as pip takes it; "" for no place.
    `draw_bytes` returns as many random bytes as are asked for.
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
    """What templates see of a machine of one's own.

    `secrets` are the files of secrets by their variables; `missing` are those of them that are
    still to be written. `has_history`: the database is a file that exists, or it is on a branch.
    `is_beside`: digest.toml was there before. The words of `command` call this very program.
    `user`, `uid` and `gid` are the caller's; if root calls, those of a new account.
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


class Account(NamedTuple):
    """An account of a machine, by its name and its numbers."""

    user: str
    uid: int
    gid: int


_NEW_OWNER = Account("digest", 1000, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One way to let Digest run by itself.

    `files` are those it writes, if they are not empty, with their templates in `start/`;
    `steps` is the template of what to do next. `check` refuses, before anything is asked, what
    can't be done with this target and package. `make_context` returns what the templates see.
    `settings` is what digest.toml says besides; None for what it must not say. If it `hides`, no
    file but `SECRETS` holds an address or a secret.
    """

    files: Mapping[str, str]
    steps: str
    check: Callable[[Path, str], None]
    make_context: Callable[[Facts], DataclassInstance]
    settings: Mapping[str, object] = field(default_factory=dict)
    hides: bool = False


def render_start(start: Start, facts: Facts) -> tuple[dict[str, str], str, str]:
    """Return the files of a start, by their paths; what to do next; what digest.toml must say."""
    templates = Templates((), find_shipped_templates())
    context = start.make_context(facts)
    files = {}
    for path, name in start.files.items():
        written = templates.render(f"start/{name}", context)
        if written.strip():
            files[path] = written.rstrip() + "\n"
    text = write_settings(facts.text, start.settings)
    text = _hide_private(facts, text) if start.hides else _fill_in(facts.config.given, text)
    steps = templates.render(f"start/{start.steps}", context)
    return files, steps, text


def _hide_private(facts: Facts, text: str) -> str:
    """Write names of variables in place of addresses; refuse a text that still holds a secret."""
    text, _ = hide_addresses(facts.answers, text, facts.config.given)
    private = [*list_secrets(facts.config), *_ADDRESS.findall(text)]
    for one in private:
        if one in text:
            before = text[: text.index(one)]
            line = before.count("\n") + 1
            raise UsageError(
                f"line {line} of {facts.target.name} would show everybody what is private",
                hint="Move a secret into a file, as mail.password. Write an address as $NAME.",
            )
    return text


def _fill_in(given: Mapping[str, str], text: str) -> str:
    """Write the values of variables in place of their names.

    On a machine of one's own nobody else reads the file, and a service knows no variables of a
    shell.
    """
    if not given:
        return text
    names = "|".join(map(re.escape, given))
    written = rf"""["']((?:[\w-]+:)?)({names})["']"""

    def write_value(found: re.Match[str]) -> str:
        kind, name = found.groups()
        return write_toml(kind + given[name])

    return re.sub(written, write_value, text)


def read_package(text: str) -> str:
    """Return where Digest is installed from: the place named, else its release at an index."""
    if text and not _PACKAGE.fullmatch(text):
        raise UsageError(
            f"--package {text} names neither a wheel nor a commit that others can fetch",
            hint="Write https://….whl, or git+https://…@ and the 40 digits of a commit. "
            "A file is only here.",
        )
    return text or RELEASED_AS


def _check_github(target: Path, package: str) -> None:
    if target.name != "digest.toml":
        raise UsageError(
            "--start github writes digest.toml, under that name", hint="Name no other file."
        )
    folder = target.absolute().parent
    is_top = (folder / ".git").exists()
    if not is_top and any((above / ".git").exists() for above in folder.parents):
        raise UsageError(
            f"{folder} is inside a git repository; GitHub reads workflows at the top alone",
            hint="Change to its top folder, or make a folder outside of it.",
        )
    _require_package(package, "a workflow")


def _require_package(package: str, what: str) -> None:
    if not package:
        raise UsageError(
            f"version {__version__} is at no package index, so {what} can't install it from there",
            hint="Say where it is: --package https://….whl, or --package git+https://…@ "
            "and a commit, which `git rev-parse HEAD` prints in your clone. "
            "Whoever takes the name at an index first could run their program with your secrets.",
        )


def _make_workflow_context(facts: Facts) -> WorkflowContext:
    answers = facts.answers
    config = facts.config
    for one in answers.to:
        if one.traits.is_own and str(one) != SITE:
            raise UsageError(
                f"a workflow can't keep {one}",
                hint="Send it by mail, to Slack, Discord or a webhook; "
                "or show it to everybody: --site.",
            )
    for library in answers.library:
        if _is_outside(library):
            raise UsageError(
                f"the library {library} is outside the repository",
                hint="Copy it beside digest.toml.",
            )
    schedule, in_utc = plan_schedule(config, facts.clock.now().year)
    secrets = _list_workflow_secrets(facts)
    database = config.folder / "digest.db"
    return WorkflowContext(
        schedule,
        in_utc,
        facts.package,
        {name: _quote(value) for name, value in secrets.items()},
        is_site=SITE in map(str, answers.to),
        has_history=database.exists(),
        ignored=tuple(_list_ignored(config)),
    )


def _is_outside(path: str) -> bool:
    """Whether a path leads out of the folder that it is read from."""
    return path.startswith(("/", "..", "~"))


def _list_workflow_secrets(facts: Facts) -> dict[str, str]:
    """Return what a workflow's variables hold, by name; "" for a value that is not known here."""
    answers = facts.answers
    config = facts.config
    state_key = b64encode(facts.draw_bytes(STATE_KEY_BYTES))
    _, addresses = hide_addresses(answers, facts.text, config.given)
    secrets = {"DIGEST_STORE_STATE_KEY": state_key.decode(), **addresses}
    needed = _list_secret_files(facts)
    for setting in SETTINGS:
        if setting.key in needed:
            secrets[variable_of(setting.key)] = setting.find(config)
    for name in _list_hook_variables(answers):
        secrets[name] = ""
    if config.zotero.key:
        secrets["DIGEST_ZOTERO_KEY"] = ""
    return {name: value or facts.environ.get(name, "") for name, value in secrets.items()}


def _list_secret_files(facts: Facts) -> dict[str, str | None]:
    """Return the files of secrets that destinations need, by key; None for one that is in no file.

    A secret that digest.toml itself holds is left out.
    """
    answers = facts.answers
    # A file of "" means that no secret is needed, or that digest.toml holds it.
    files = {"mail.password": answers.password_file, "slack.token": answers.token_file}
    for setting in SETTINGS:
        key = setting.key
        if setting.is_secret and answers.needs(key):
            files.setdefault(key, find_secret_file(facts.config, key, facts.target.name))
    return {key: file for key, file in files.items() if file != ""}


def _list_ignored(config: Config) -> Iterator[str]:
    """Yield the files that settings were read from, as .gitignore has them: these stay here."""
    origins = {str(see_from(config.folder, one)) for one in config.origins.values()}
    origins.discard("digest.toml")
    for one in sorted(origins):
        path = config.folder / one
        if path.is_file() and not one.startswith("/"):
            # A sign that means more than itself to git has a backslash before it.
            yield re.sub(r"[\\*?\[\] ]", r"\\\g<0>", one)


def _list_hook_variables(answers: Answers) -> Iterator[str]:
    """Yield the variables that give the addresses and secrets of webhooks."""
    for one in answers.to:
        if one.kind in INCOMING:
            table = INCOMING[one.kind].table
            yield variable_of(f"{table}.{one.address}")
        elif one.traits.is_named:
            for setting in WEBHOOK:
                yield variable_of(f"webhooks.{one.address}.{setting.name}")


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
    if os.getuid():
        return
    for place in (str(target.absolute()), _find_program()[0], sys.base_prefix):
        if place.startswith("/root/"):
            raise UsageError(
                f"no other account can read {place}, and nothing should run as root",
                hint="Call it as the account that shall run it, or put all into a folder "
                "such as /srv/digest.",
            )


def _find_program() -> list[str]:
    program = sys.argv[0]
    if Path(program).name == "__main__.py":
        return [sys.executable, "-m", "digest"]
    found = Path(shutil.which(program) or program)
    return [str(found.absolute())]


def _make_container_context(facts: Facts) -> Machine:
    answers = facts.answers
    paths = [*_list_files(answers), *answers.library]
    paths += filter(None, _list_server_secrets(facts).values())
    for one in paths:
        if _is_outside(one):
            raise UsageError(
                f"{one} is outside the folder, and a container sees that alone",
                hint="Move it there.",
            )
    return _make_machine_context(facts)


def _list_files(answers: Answers) -> list[str]:
    """Return the paths that digests are written to."""
    return [one.address for one in answers.to if one.traits.is_path]


def _make_machine_context(facts: Facts) -> Machine:
    answers = facts.answers
    package = facts.package
    store = facts.config.store
    target = facts.target.absolute()
    secrets = _list_server_secrets(facts)
    missing = {name: _name_file(name) for name, file in secrets.items() if file is None}
    database = store.url.removeprefix("sqlite:///")
    if "://" in package:
        requirement = f"{SECOND_NAME}[postgres] @ {package}"
    else:
        requirement = package.replace("==", "[postgres]==")
    account = _choose_account()
    program = _find_program()
    return Machine(
        command=" ".join([*program, "--config", str(target)]),
        folder=str(target.parent),
        file=target.name,
        user=account.user,
        uid=account.uid,
        gid=account.gid,
        is_root=not os.getuid(),
        host=facts.config.web.host,
        smtp=answers.smtp,
        requirement=requirement,
        secrets={name: file or missing[name] for name, file in secrets.items()},
        missing=missing,
        writes=_list_written_folders(answers, database, target.parent),
        database=database,
        has_history=Path(database).exists() or bool(store.git_branch),
        is_beside=target.exists(),
    )


def _choose_account() -> Account:
    """Return the account that Digest shall run as: the caller's, or a new one if root calls."""
    uid = os.getuid()
    if not uid:
        return _NEW_OWNER
    return Account(pwd.getpwuid(uid).pw_name, uid, os.getgid())


def _list_server_secrets(facts: Facts) -> dict[str, str | None]:
    """Return the files of secrets, by their variables; None for one that is still to be written."""
    secrets = {variable_of(key): file for key, file in _list_secret_files(facts).items()}
    for name in _list_hook_variables(facts.answers):
        secrets[name] = None
    return secrets


def _name_file(variable: str) -> str:
    """Return the file that a variable's value goes into: mail.password, of DIGEST_MAIL_PASSWORD."""
    name = variable.removeprefix("DIGEST_")
    return name.lower().replace("_", ".", 1)


def _list_written_folders(answers: Answers, database: str, here: Path) -> tuple[str, ...]:
    """Return the folders that a service must be allowed to write, each once."""
    written = _list_files(answers)
    is_elsewhere = database.startswith("/") and not Path(database).is_relative_to(here)
    if is_elsewhere:
        written.append(database)
    folders = [str((here / one).parent) for one in written]
    return tuple(dict.fromkeys(folders))


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
        make_context=_make_workflow_context,
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
        make_context=_make_container_context,
    ),
    "systemd": Start(
        files={"digest.service": "service.txt", "digest.timer": "timer.txt"},
        steps="systemd.txt",
        settings=_ON_MACHINE,
        check=_check_systemd,
        make_context=_make_machine_context,
    ),
    "cron": Start(
        files={},
        steps="cron.txt",
        settings=_ON_MACHINE,
        check=_check_machine,
        make_context=_make_machine_context,
    ),
}
