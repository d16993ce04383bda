"""Says what to type for `digest` here, so that hints can be copied as they stand."""

from __future__ import annotations

import re
import sys

SECOND_NAME = "preprint-digest"
"""What the command is called beside `digest`: the name of what is installed, so that `uvx` runs it."""


def find_name() -> str:
    """Return the name by which the command was called: one of its two."""
    return SECOND_NAME if sys.argv[0].endswith(SECOND_NAME) else "digest"


def name_command() -> str:
    """Return what to type for `digest`: its path where the shell would not find it by name."""
    import shutil  # noqa: PLC0415 - its imports are a tenth of what a help text costs
    from pathlib import Path  # noqa: PLC0415 - the same

    called, name = Path(sys.argv[0]), find_name()
    if "archive-v0" in called.parts:  # the cache from which uvx runs what is not installed
        return f"uvx {name}"
    if shutil.which(name) or called.name != name:
        return name
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)


def quote_as_called(hint: str) -> str:
    """Return a hint with the commands it quotes as they are called here."""
    return re.sub(r"(?m)(^ *|`)digest ", rf"\1{name_command()} ", hint) if "digest " in hint else hint
