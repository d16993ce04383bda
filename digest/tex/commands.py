r"""What a command is: a function of the reader, just behind the command's name, that returns pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from digest.tex.cursor import Setting
    from digest.tex.pieces import Piece
    from digest.tex.reading import Reader
    from digest.tex.tokens import Token


class Command(Protocol):
    """Reads what follows a command's name."""

    def __call__(self, reader: Reader, token: Token, setting: Setting) -> list[Piece]:
        """Return the pieces for the command and its arguments."""


def named(names: str, command: Command) -> dict[str, Command]:
    """One command under several names, separated by blanks."""
    return dict.fromkeys(names.split(), command)


def print_nothing(reader: Reader, token: Token, setting: Setting) -> list[Piece]:  # noqa: ARG001 - a Command
    """Print nothing; in words, the blank behind the name goes too."""
    if not setting.is_formula:
        reader.skip_blanks()
    return []
