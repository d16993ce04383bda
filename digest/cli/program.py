"""Says what to type for `digest` here, so that hints can be copied as they stand."""

from __future__ import annotations

import sys


def name_command() -> str:
    """Return what to type for `digest`: its path where the shell would not find it by name."""
    import shutil  # noqa: PLC0415 - its imports are a tenth of what a help text costs
    from pathlib import Path  # noqa: PLC0415 - the same

    called = Path(sys.argv[0])
    if shutil.which("digest") or called.name != "digest":
        return "digest"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)


def call_as_here(hint: str) -> str:
    """Return a hint with the commands it quotes as they are called here."""
    return hint.replace("`digest ", f"`{name_command()} ") if "`digest " in hint else hint
