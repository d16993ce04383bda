"""What is wrong with a configuration, collected, so that all of it can be mended at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from digest.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable


_AFTERWARDS = "`digest config check` says what is left, and looks at saved queries and templates, too."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written: a line of the file, an environment variable, or nowhere."""

    line: int = 0
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend: where, under which key, what is wrong, and how it would be right."""

    place: Place
    key: str
    what: str
    hint: str = ""

    def describe(self) -> str:
        """Say where and what, as one sentence without the file's name."""
        where = self.place.variable or (f"line {self.place.line}" if self.place.line else "")
        return ": ".join(part for part in (where, self.key, self.what) if part)


class SeveralProblems(ConfigurationError):
    """Several things to mend; `each` has them one by one, with place and hint, for who counts more besides."""

    def __init__(self, message: str, each: tuple[str, ...], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.each = each


@dataclass
class Problems:
    """A growing list of problems.

    Attributes:
        name: the file's name, for messages; "the environment" where there is no file.
        found: what was found so far.
    """

    name: str
    found: list[Problem] = field(default_factory=list)

    def add(self, place: Place, key: str, what: str, hint: str = "") -> None:
        """Remember one more."""
        self.found.append(Problem(place, key, what, hint))

    def add_error(self, place: Place, key: str, error: ConfigurationError) -> None:
        """Remember what a reader said."""
        self.add(place, key, error.message, error.hint)

    def raise_all(self) -> None:
        """Raise what was found, if anything, as one error.

        Raises:
            ConfigurationError: each problem with its place and hint, in the file's order.
        """
        found = sorted(self.found, key=lambda problem: (bool(problem.place.variable), problem.place.line))
        if len(found) == 1:
            raise ConfigurationError(f"{self._locate(found[0])}", hint=found[0].hint)
        if found:
            name = "the environment" if all(problem.place.variable for problem in found) else self.name
            lines = [f"{name}: {len(found)} things to mend"]
            for problem in found:
                lines.append(f"  {problem.describe()}")
                lines += [f"      {problem.hint}"] if problem.hint else []
            each = tuple(
                self._locate(problem) + (f"\n      {problem.hint}" if problem.hint else "") for problem in found
            )
            raise SeveralProblems("\n".join(lines), each, hint=_AFTERWARDS)

    def _locate(self, problem: Problem) -> str:
        if problem.place.variable:
            return problem.describe()
        separator = ", " if problem.place.line else ": "
        return f"{self.name}{separator}{problem.describe()}"


def suggest(word: str, known: Iterable[str], what: str) -> str:
    """Return a hint that names the nearest of the known words, or all of them where none is near."""
    words = list(known)
    near = get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"{what} {', '.join(words)}." if words else ""
