"""A configuration being read: what `digest.toml` and variables say, and what has to be mended in it."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from digest.config.fields import variable_of
from digest.config.values import suggest
from digest.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

PREFIX = "DIGEST_"
FILE_SUFFIX = "_FILE"
CONFIG_VARIABLE = "DIGEST_CONFIG"
DEFAULT_ORIGIN = "default"
_OTHER_VARIABLES = (CONFIG_VARIABLE, "DIGEST_REAL_DATA")
_NEAR = 0.85
"""So alike are a variable's name and its misspelling; `DIGEST_WEB_PORT`, which container platforms set, is not."""

_AFTERWARDS = "`digest config check` says what is left, and looks at saved queries and templates, too."


class Mistakes(ConfigurationError):
    """Things to mend; `each` has them one by one, with key and hint, for who counts more besides."""

    def __init__(self, message: str, each: tuple[str, ...], *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.each = each


def read_document(path: Path | None) -> dict[str, Any]:
    """Read a configuration file; None gives an empty one.

    Raises:
        ConfigurationError: it isn't there, can't be read, or isn't TOML.
    """
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"there is no {path}", hint="Write one with `digest init`, or name yours: `digest --config FILE …`."
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
    return 'Text stands in quotes: name = "value"; lists in brackets: ["new", "cross-list"].'


class Draft:
    """What is written, and what is known of it so far.

    Attributes:
        data: the file, as `tomllib` reads it.
        has_file: whether there is one.
        folder: what relative paths count from.
        values: key → value of each single setting, the default where it could not be read.
        origins: key → where its value comes from.
        warnings: what should be mended, some day.
        wrong: keys whose value has to be mended.
    """

    def __init__(self, path: Path | None, environ: Mapping[str, str], folder: Path) -> None:
        self.data = read_document(path)
        self.has_file = path is not None
        self.folder = folder
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.warnings: list[str] = []
        self.wrong: set[str] = set()
        self._path = path
        self._file_name = path.name if path else ""
        self._variables = {
            name: text for name, text in environ.items() if name.startswith(PREFIX) and text.strip()
        }
        self._asked = set(_OTHER_VARIABLES)
        self._mistakes: list[tuple[str, str, str]] = []

    def find(self, *path: str, takes_file: bool = False, is_environment_only: bool = False) -> object:
        """Return what is written for a key, in its variable or in the file; None for nothing."""
        key = ".".join(path)
        text = self._find_text(variable_of(key), takes_file=takes_file)
        if text is not None:
            self.origins[key] = text[0]
            return text[1]
        value: object = {} if is_environment_only else self.data
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            self.note(key)
        return value

    def note(self, key: str) -> None:
        """Note that a value stands in the file."""
        self.origins[key] = self._file_name

    def is_in_variable(self, key: str) -> bool:
        """Whether a value comes from a variable."""
        return self.origins.get(key, "").startswith(PREFIX)

    def read(self, key: str, written: object, read: Callable[[Any], T]) -> T | None:
        """Return what is meant by what is written; None where it is wrong, which is reported."""
        try:
            return read(written)
        except ConfigurationError as error:
            self.complain(key, error.message, error.hint)
            return None

    def complain(self, key: str, what: str, hint: str = "") -> None:
        """Remember what has to be mended, under the variable or the key it is written in."""
        self.wrong.add(key)
        self._mistakes.append((self.origins[key] if self.is_in_variable(key) else key, what, hint))

    def refuse_strangers(self, table: Iterable[str], known: Iterable[str], prefix: str, what: str) -> None:
        """Report every key of a table that there is none by that name."""
        names = tuple(known)
        for name in table:
            if name not in names:
                self.complain(f"{prefix}.{name}", "there is no such setting", suggest(name, names, what))

    def warn_of_secret(self, key: str) -> None:
        """Say that a secret stands in the file, if it does."""
        if self.origins.get(key) == self._file_name:
            variable = variable_of(key)
            self.warnings.append(
                f"{self.origins[key]} holds {key}, a secret: move it to {variable} or {variable}{FILE_SUFFIX}"
            )

    def judge_variables(self) -> None:
        """Report variables that misspell a setting, and warn of others that set nothing."""
        for name in sorted(set(self._variables) - self._asked):
            near = get_close_matches(name, sorted(self._asked), n=1, cutoff=_NEAR)
            if near:
                self._mistakes.append((name, "sets nothing", f"Did you mean {near[0]}?"))
            else:
                self.warnings.append(f"{name} is set, but Digest has no such setting")

    def raise_mistakes(self) -> None:
        """Raise what was found, if anything, as one error.

        Raises:
            ConfigurationError: each mistake with its place and hint.
        """
        if not self._mistakes:
            return
        each = tuple(
            f"{where}: {what}" + (f"\n      {hint}" if hint else "") for where, what, hint in self._mistakes
        )
        are_variables = all(where.startswith(PREFIX) for where, *_ in self._mistakes)
        if len(each) > 1:
            name = "the environment" if are_variables else self._path or "the environment"
            raise Mistakes("\n  ".join((f"{name}: {len(each)} things to mend", *each)), each, hint=_AFTERWARDS)
        where, what, hint = self._mistakes[0]
        name = "" if are_variables or self._path is None else f"{self._path}: "
        raise Mistakes(f"{name}{where}: {what}", each, hint=hint)

    def _find_text(self, variable: str, *, takes_file: bool) -> tuple[str, str] | None:
        """Return a variable and its text, or that of the file it names; None where nothing is set."""
        text = self._variables.get(variable)
        self._asked.add(variable)
        if takes_file:
            file_variable = variable + FILE_SUFFIX
            self._asked.add(file_variable)
            if file_variable in self._variables:
                if text is None:
                    return self._read_secret_file(file_variable)
                self._mistakes.append((variable, f"is set, and so is {file_variable}", "Unset one of the two."))
        return None if text is None else (variable, text)

    def _read_secret_file(self, variable: str) -> tuple[str, str] | None:
        path = self.folder / Path(self._variables[variable].strip()).expanduser()
        try:
            text = path.read_text(encoding="utf-8").removesuffix("\n")
        except OSError as error:
            self._mistakes.append(
                (variable, f"{path} can't be read: {error.strerror or error}", "Check the path.")
            )
            return None
        except UnicodeDecodeError:
            text = ""
        if not text:
            self._mistakes.append((variable, f"{path} holds no text", "It must hold the secret and nothing else."))
            return None
        return variable, text
