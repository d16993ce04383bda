"""From `digest.toml` and the environment to one checked `Config`.

The environment beats the file, the file beats the default. All that is wrong is found before anything
is raised, so that one look mends it all. A saved query's text is not judged here: one that can't be
read must never stop the others.

No library reads the settings. pydantic doubles the time a command needs to start; msgspec names the first
mistake alone, and neither knows the nearest key or keeps a hint.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from digest.config.addresses import mask_password
from digest.config.checks import check_together
from digest.config.draft import CONFIG_VARIABLE, DEFAULT_ORIGIN, Draft
from digest.config.fields import Secrecy, Setting
from digest.config.settings import SETTINGS, TABLES, Config
from digest.config.subscribing import (
    OTHER_KEYS,
    SLACK_WEBHOOKS,
    WEBHOOKS,
    read_queries,
    read_slack_webhooks,
    read_subscriptions,
    read_webhooks,
)
from digest.config.values import describe_type, suggest
from digest.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_NAME = "digest.toml"


def load_config(path: Path | None, environ: Mapping[str, str], *, folder: Path | None = None) -> Config:
    """Read the configuration.

    Args:
        path: the file; None for a configuration of defaults and environment alone.
        environ: environment variables.
        folder: what relative paths count from where there is no file.

    Raises:
        ConfigurationError: the file isn't there or isn't TOML; or everything that is wrong in it, at once.
    """
    draft = Draft(path, environ, path.absolute().parent if path is not None else (folder or Path.cwd()))
    for setting in SETTINGS:
        _read_setting(draft, setting)
    _refuse_strangers(draft)
    queries = read_queries(draft)
    subscriptions = read_subscriptions(draft, [query.name for query in queries])
    told = [to for one in subscriptions for to in one.destinations] + [*draft.values["alarms.to"]]
    draft.values[SLACK_WEBHOOKS] = read_slack_webhooks(draft, told)
    draft.values[WEBHOOKS] = read_webhooks(draft, told)
    draft.judge_variables()
    check_together(draft, subscriptions, told)
    draft.raise_mistakes()
    parts: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for setting in SETTINGS:
        parts[setting.table][setting.field] = draft.values[setting.key]
    parts["slack"]["webhooks"] = MappingProxyType(draft.values[SLACK_WEBHOOKS])
    return Config(
        **parts[""],
        **{table: TABLES[table](**given) for table, given in parts.items() if table},
        webhooks=MappingProxyType(draft.values[WEBHOOKS]),
        queries=queries,
        subscriptions=subscriptions,
        path=path,
        folder=draft.folder,
        warnings=tuple(draft.warnings),
        origins=MappingProxyType(draft.origins),
    )


def _read_setting(draft: Draft, setting: Setting) -> None:
    """Find a setting's value and its origin; the default where none is given or it is wrong."""
    draft.origins[setting.key] = DEFAULT_ORIGIN
    key = setting.key
    written = draft.find(
        *key.split("."), takes_file=setting.takes_file, is_environment_only=setting.is_environment_only
    )
    if isinstance(written, str) and draft.is_in_variable(key):
        written = _parse_variable(written, setting.default)
    value = draft.read(key, setting.default if written is None else written, setting.read_written)
    if key in draft.wrong:
        value = setting.read_written(setting.default)
    draft.values[key] = setting.resolve(value, draft.folder) if setting.resolve else value
    if value and (mask_password(value) != value if setting.secrecy is Secrecy.INSIDE else setting.takes_file):
        draft.warn_of_secret(key)


def _parse_variable(text: str, default: object) -> object:
    """Return what a variable's text would be in TOML, where the default is of another type; else the text."""
    word = text.strip()
    match default:
        case bool():
            return {"true": True, "false": False}.get(word.lower(), text)
        case int() if word.isdecimal() and word.isascii():
            return int(word)
        case list():
            return [part.strip() for part in text.split(",") if part.strip()]
        case _:
            return text


def _refuse_strangers(draft: Draft) -> None:
    """Report every table and key there is none by that name."""
    tables = [name for name in TABLES if name]
    single = [setting.name for setting in SETTINGS if not setting.table and not setting.is_environment_only]
    for key, value in draft.data.items():
        if key in tables and isinstance(value, dict):
            known = [setting.name for setting in SETTINGS if setting.table == key]
            known += ["webhooks"] if key == "slack" else []
            draft.refuse_strangers(value, known, key, f"[{key}] takes")
        elif key in tables:
            draft.complain(key, f"must be a table, not {describe_type(value)}", f"Write [{key}].")
        elif key not in (*single, *OTHER_KEYS):
            what = "there is no such table" if isinstance(value, dict | list) else "there is no such setting"
            draft.complain(key, what, _suggest_key(key, [*tables, *OTHER_KEYS, *single]))


def _suggest_key(key: str, known: list[str]) -> str:
    """Name the nearest key; or where it belongs, where only its table was left out."""
    for setting in SETTINGS:
        if setting.is_environment_only and setting.key == key:
            return f"It is set by {setting.variable} alone."
        if setting.name == key:
            return f"Put it below [{setting.table}]."
    return suggest(key, known, "There are")


def find_config(option: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> Path:
    """Return the file to read: the one named on the command line, in DIGEST_CONFIG, or ./digest.toml.

    Whether it is there is found out when it is read.
    """
    return Path(option or environ.get(CONFIG_VARIABLE) or FILE_NAME)


def read_environment() -> dict[str, str]:
    """Return the process's environment, for the functions that take one."""
    return dict(os.environ)


def find_state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for what a command without a database must remember: the pace of its requests.

    Follows the XDG base directory specification, which ignores relative paths; made if missing.

    Raises:
        ConfigurationError: it cannot be made.
    """
    named = Path(environ.get("XDG_STATE_HOME", ""))
    base = named if named.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".local" / "state"
    folder = base / "digest"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be made: {error.strerror}", hint="Set XDG_STATE_HOME to a folder that can be written."
        ) from error
    return folder


def open_config(option: str | os.PathLike[str] | None = None) -> Config:
    """Find and read the configuration of this process.

    Args:
        option: the file named on the command line.

    Raises:
        ConfigurationError: it isn't there, or something in it has to be mended.
    """
    environ = read_environment()
    return load_config(find_config(option, environ), environ)


def open_config_or_defaults(option: str | os.PathLike[str] | None = None) -> Config:
    """Read the configuration; without any file, defaults and environment alone, for commands that need none.

    Raises:
        ConfigurationError: a file was named and isn't there, or something has to be mended.
    """
    environ = read_environment()
    path = find_config(option, environ)
    is_named = bool(option or environ.get(CONFIG_VARIABLE))
    return load_config(path if is_named or path.exists() else None, environ)
