"""What is known so far while a configuration is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from digest.config.document import Document
    from digest.config.environment import Environment
    from digest.config.problems import Place, Problems

DEFAULT_ORIGIN = "default"


@dataclass
class Reading:
    """A configuration half read.

    Attributes:
        document: the file.
        environment: the variables.
        folder: what relative paths count from.
        problems: what has to be mended.
        warnings: what should be, some day.
        values: key → value, the default where it could not be read.
        origins: key → where from.
        places: key → where it was written, for problems between settings.
    """

    document: Document
    environment: Environment
    folder: Path
    problems: Problems
    warnings: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def warn_of_secret(self, key: str, variable: str) -> None:
        """Say that a secret stands in the file, where backups and repositories take it along."""
        self.warnings.append(
            f"{self.origins[key]} holds {key}, a secret: move it to {variable} or {variable}_FILE"
        )
