"""What to type for `digest` here: words that say what to do next can be copied as they stand."""

from __future__ import annotations


def name_command() -> str:
    """Return what to type for `digest`: its path where the shell would not find it by name."""
    import shutil  # noqa: PLC0415 - only needed to say what to do next
    import sys  # noqa: PLC0415 - the same
    from pathlib import Path  # noqa: PLC0415 - the same

    called = Path(sys.argv[0])
    if shutil.which("digest") or called.name != "digest":
        return "digest"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)


def call_as_here(hint: str) -> str:
    """Return a hint with the commands it quotes as they are called here."""
    return hint.replace("`digest ", f"`{name_command()} ") if "`digest " in hint else hint
