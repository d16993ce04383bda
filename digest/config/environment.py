"""Values from environment variables, or from files that they name (`DIGEST_SLACK_TOKEN_FILE`)."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from digest.config.addresses import resolve_path
from digest.config.problems import Place
from digest.config.table import FILE_SUFFIX, PREFIX, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from digest.config.problems import Problems

CONFIG_VARIABLE = "DIGEST_CONFIG"
_OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, "DIGEST_REAL_DATA"})
_NEAR = 0.85
"""So alike are a variable's name and its misspelling; `DIGEST_WEB_PORT`, which container platforms set, is not."""

_MOST_SECRET = 64 * 1024


@dataclass(frozen=True, slots=True)
class Given:
    """A variable's text, and the variable it came from."""

    text: str
    variable: str


class Environment:
    """The variables given; an empty one counts as not set.

    Args:
        variables: name → text.
        folder: what relative names of secret files count from.
        problems: where to report.
    """

    def __init__(self, variables: Mapping[str, str], folder: Path, problems: Problems) -> None:
        self._variables = {
            name: text for name, text in variables.items() if name.startswith(PREFIX) and text.strip()
        }
        self._folder = folder
        self._problems = problems
        self._asked = set(_OTHER_VARIABLES)

    def find(self, variable: str, *, takes_file: bool = False) -> Given | None:
        """Return what a variable says, itself or through the file it names; None where it says nothing."""
        self._asked.add(variable)
        text = self._variables.get(variable)
        if takes_file:
            file_variable = variable + FILE_SUFFIX
            self._asked.add(file_variable)
            if file_variable in self._variables:
                if text is None:
                    return self._read_file(file_variable)
                self._problems.add(
                    Place(variable=variable), "", f"is set, and so is {file_variable}", "Unset one of the two."
                )
        return None if text is None else Given(text, variable)

    def find_unknown(self) -> list[str]:
        """Report variables that misspell a setting, and return the names of others that set nothing."""
        known = sorted(self._asked | {setting.variable for setting in SETTINGS})
        strangers = []
        for name in sorted(set(self._variables) - self._asked):
            near = get_close_matches(name, known, n=1, cutoff=_NEAR)
            if near:
                self._problems.add(Place(variable=name), "", "sets nothing", f"Did you mean {near[0]}?")
            else:
                strangers.append(name)
        return strangers

    def _read_file(self, variable: str) -> Given | None:
        path = resolve_path(self._variables[variable].strip(), self._folder)
        if path is None:
            raise AssertionError("an empty variable counts as not set")
        place = Place(variable=variable)
        try:
            with path.open("rb") as file:
                body = file.read(_MOST_SECRET + 1)
            text = body.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except OSError as error:
            reason = error.strerror or str(error)
            self._problems.add(place, "", f"{path} can't be read: {reason}", "Check the path and its permissions.")
            return None
        except UnicodeDecodeError:
            self._problems.add(place, "", f"{path} is not UTF-8 text", "It must hold the secret and nothing else.")
            return None
        if not text or len(body) > _MOST_SECRET:
            what = "is empty" if not text else "is too long for a secret"
            self._problems.add(place, "", f"{path} {what}", "It must hold the secret and nothing else.")
            return None
        return Given(text, variable)
