"""`python -m digest` and the command `digest`."""

from __future__ import annotations

import codecs
import gc
import io
import sys

_THRESHOLD = 20_000
"""New objects between two looks for garbage.

Python's 700 would take a tenth of a command's start.
"""

_IN_ASCII = {
    **dict(zip("✓✗–—−·“”’▁▂▃▄▅▆▇█", '+----|""\'..--==##', strict=True)),
    "…": "...",
    "→": "->",
    "←": "<-",
}
"""What we say with signs that an old terminal's encoding may lack."""


def replace_signs(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding lacks in ASCII, with a `?` for what is not our own.

    It is an error handler of `codecs`.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    signs = [_IN_ASCII.get(sign, "?") for sign in lacking]
    return "".join(signs), error.end


codecs.register_error("digest", replace_signs)


class _Log(io.FileIO):
    """Standard error: what it can't take is lost, and stops no work."""

    def write(self, data: bytes) -> int:  # type: ignore[override]  # nothing else comes here
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(_THRESHOLD)
    from digest.cli import run_cli  # noqa: PLC0415 - keeps `import digest.__main__` free of click

    if isinstance(sys.stdout, io.TextIOWrapper):  # None where a program has none
        sys.stdout.reconfigure(errors="digest")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = io.TextIOWrapper(
            _Log(sys.stderr.fileno(), "w", closefd=False),
            sys.stderr.encoding,
            "digest",
            write_through=True,
        )
    raise SystemExit(run_cli())


if __name__ == "__main__":
    main()
