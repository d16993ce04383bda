"""From `digest.toml` and the environment to one checked `Config`.

The environment beats the file, the file beats the default. All that is wrong is found before anything
is raised, so that one check mends it all. A saved query's text is not judged here: one that can't be
read must never stop the others.

No library reads the settings. pydantic doubles the time a command needs to start; msgspec names the first
mistake alone, and neither knows the nearest key or keeps a hint.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from digest.config.checks import check_together
from digest.config.draft import CONFIG_VARIABLE, ConfigDraft
from digest.config.settings import INCOMING, SETTINGS, TABLES, Config
from digest.config.subscribing import (
    OTHER_KEYS,
    read_incoming,
    read_queries,
    read_subscriptions,
    read_webhooks,
)
from digest.model.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_NAME = "digest.toml"


def load_config(
    path: Path | None, environ: Mapping[str, str], *, folder: Path | None = None, content: bytes | None = None
) -> Config:
    """Read the configuration.

    Args:
        path: the file; None for a configuration of defaults and environment alone.
        environ: what the process was given.
        folder: what relative paths count from where there is no file.
        content: what the file is about to hold; None for what it holds.

    Raises:
        ConfigurationError: the file isn't there or isn't TOML; or everything that is wrong in it, at once.
    """
    folder = path.absolute().parent if path is not None else (folder or Path.cwd())
    draft = ConfigDraft(read_document(path, content), path, environ, folder)
    parts = {table: _read_part(draft, table) for table in TABLES}
    queries = read_queries(draft)
    subscriptions = read_subscriptions(draft, [query.name for query in queries])
    told = [to for one in subscriptions for to in one.destinations] + [*draft.values["alarms.to"]]
    incoming = {kind: MappingProxyType(read_incoming(draft, kind, told)) for kind in INCOMING}
    webhooks = read_webhooks(draft, told)
    draft.judge_variables()
    check_together(draft, queries, subscriptions, told)
    draft.raise_mistakes()
    return Config(
        **parts[""],
        **{table: TABLES[table](**given) for table, given in parts.items() if table},
        incoming=MappingProxyType(incoming),
        webhooks=MappingProxyType(webhooks),
        queries=queries,
        subscriptions=subscriptions,
        path=path,
        folder=draft.folder,
        warnings=tuple(draft.warnings),
        origins=MappingProxyType(draft.origins),
    )


def read_document(path: Path | None, content: bytes | None = None) -> dict[str, Any]:
    """Read a configuration file, or what it is about to hold; without a path it is empty.

    Raises:
        ConfigurationError: it isn't there, can't be read, or isn't TOML.
    """
    if path is None:
        return {}
    try:
        return tomllib.loads((path.read_bytes() if content is None else content).decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"there is no {path}", hint="`digest init` makes one. Or name yours: `digest --config FILE …`."
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{path} can't be read: {error.strerror or error}", hint="Check the path and its permissions."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text", hint="Save the file as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}", hint=_suggest_syntax(str(error))) from error


def _suggest_syntax(message: str) -> str:
    if "Cannot overwrite" in message or "Cannot declare" in message:
        return "The same key or table stands there twice; subscriptions begin with [[subscriptions]]."
    return 'Text stands in quotes: name = "value"; lists in brackets: ["new", "cross-listed"].'


def _read_part(draft: ConfigDraft, table: str) -> dict[str, Any]:
    """Read a table of single settings into the attributes of its class; "" for what stands above all tables."""
    settings = [setting for setting in SETTINGS if setting.table == table]
    others = {"": [*filter(None, TABLES), *OTHER_KEYS], "slack": ["webhooks"]}.get(table, [])
    read = draft.read_table(table, draft.data.get(table) if table else draft.data, settings, others=others)
    return {setting.field: read[setting.name] for setting in settings}


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
    """Find and read the configuration of this process; `option` is the file named on the command line.

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
