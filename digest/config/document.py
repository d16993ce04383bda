"""The text of `digest.toml`, read into values that know their lines."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from digest.config.lines import find_lines
from digest.config.problems import Place
from digest.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


_MOST_BYTES = 4 * 1024 * 1024
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")
_YEAR = re.compile(r"(?<![\w.+-])\d{4}$")
_MONTH_AND_DAY = re.compile(r"-\d{1,2}-\d{1,2}(?!\d)")


class Document:
    """A file's values and lines.

    Attributes:
        data: as `tomllib` reads them.
        name: the file's name without its folder, for origins; "" where there is no file.

    Raises:
        ConfigurationError: the text is not TOML.
    """

    def __init__(self, text: str, path: Path | None) -> None:
        self.name = "" if path is None else path.name
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
            self._lines = find_lines(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigurationError(_describe_syntax(error, text, path), hint=_guess_slip(error, text)) from error
        except RecursionError as error:
            raise ConfigurationError(f"{path} is nested too deeply", hint="Tables are one or two deep.") from error

    def place(self, *path: str | int) -> Place:
        """Return where a key stands, or the nearest table around it."""
        for length in range(len(path), 0, -1):
            line = self._lines.get(path[:length])
            if line is not None:
                return Place(line=line)
        return Place()

    def origin(self, *path: str | int) -> str:
        """Return where a key stands, as `digest.toml:12`."""
        return f"{self.name}:{self.place(*path).line}"


def read_document(path: Path | None) -> Document:
    """Read a configuration file; None gives an empty one.

    Raises:
        ConfigurationError: it isn't there, can't be read, or isn't TOML.
    """
    if path is None:
        return Document("", None)
    try:
        body = path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"there is no {path}", hint="Write one with `digest init`, or name yours: `digest --config FILE …`."
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{path} can't be read: {error.strerror or error}", hint="Check the path and its permissions."
        ) from error
    if len(body) > _MOST_BYTES:
        raise ConfigurationError(f"{path} is larger than any configuration", hint="Name a digest.toml.")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}, line {line}: is not UTF-8", hint="Save the file as UTF-8.") from error
    return Document(text, path)


def _describe_syntax(error: tomllib.TOMLDecodeError, text: str, path: Path | None) -> str:
    """Say what tomllib says, with the line in front; its message ends in `(at line 3, column 5)`."""
    message = str(error)
    match = _PLACE.search(message)
    if match:
        line, column = int(match[1]), f", column {match[2]}"
    else:
        line, column = text.count("\n") + 1, ""
    what = re.sub(r" \(at .*\)$", "", message)
    return f"{path}, line {line}{column}: {what[:1].lower()}{what[1:]}"


def _guess_slip(error: tomllib.TOMLDecodeError, text: str) -> str:
    message = str(error)
    if "Cannot overwrite" in message or "Cannot declare" in message:
        return "The same key or table stands there twice; subscriptions begin with [[subscriptions]]."
    if "Invalid date" in message or _breaks_off_in_date(message, text):
        return "A date is one that exists, such as 2026-02-28."
    return 'Text stands in quotes: name = "value"; lists in brackets: ["new", "cross-list"].'


def _breaks_off_in_date(message: str, text: str) -> bool:
    """Tell whether a year was read as a number, since what follows is no month and day: `2026-13-01`."""
    match = _PLACE.search(message)
    if match is None:
        return False
    line, end = text.split("\n")[int(match[1]) - 1], int(match[2]) - 1
    return bool(_YEAR.search(line[:end]) and _MONTH_AND_DAY.match(line, end))
