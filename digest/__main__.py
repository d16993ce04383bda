"""`python -m digest` and the command `digest`."""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit with its code."""
    from digest.cli import run_cli  # noqa: PLC0415 - keeps `import digest.__main__` free of click

    raise SystemExit(run_cli())


if __name__ == "__main__":
    main()
