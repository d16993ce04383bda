"""Which file is read: the edge where the process's own environment and folder come in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from digest.config.environment import CONFIG_VARIABLE
from digest.config.reading import load_config
from digest.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from digest.config.settings import Config

FILE_NAME = "digest.toml"


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
