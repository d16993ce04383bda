"""How a setting is declared: as a field of a dataclass that says how it is read and what it means."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_METADATA = "setting"


class Secrecy(StrEnum):
    """How much of a value is hidden when it is shown: nothing, a password inside it, or all."""

    OPEN = "open"
    INSIDE = "inside"
    SECRET = "secret"  # noqa: S105 - the name of a degree, no password


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        read: from the value as written to the value as used; raises `ConfigurationError`. It never sees "" where
            that is the default: "" stands for "not set".
        default: as it would be written; None where it must be written.
        help: one sentence, for the starter file and the README.
        name: its key within its table, where it is not the field's name.
        secrecy: what of it is hidden.
        example: what the starter file shows where the default is empty.
        resolve: makes the value absolute, given the configuration's folder.
        is_environment_only: it cannot be written in `digest.toml`.
        table: the table it is written in, "" for none.
        field: the field that holds it.
    """

    read: Callable[[object], Any]
    default: object
    help: str
    name: str = ""
    secrecy: Secrecy = Secrecy.OPEN
    example: str = ""
    resolve: Callable[[Any, Path], Any] | None = None
    is_environment_only: bool = False
    table: str = ""
    field: str = ""

    @property
    def key(self) -> str:
        """Table and name as in `digest.toml`."""
        return f"{self.table}.{self.name}" if self.table else self.name

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable_of(self.key)

    @property
    def takes_file(self) -> bool:
        """Whether a variable may name a file that holds it."""
        return self.secrecy is not Secrecy.OPEN

    def use(self, written: object, folder: Path) -> Any:  # noqa: ANN401 - as many types as settings
        """Return the value that is meant; "" stands for "not set" where that is the default.

        Raises:
            ConfigurationError: there is no such value.
        """
        value = "" if written == self.default == "" else self.read(written)
        return self.resolve(value, folder) if self.resolve else value


def variable_of(key: str) -> str:
    """Return the environment variable of a key: `mail.smtp` → `DIGEST_MAIL_SMTP`."""
    return "DIGEST_" + "".join(letter if letter.isalnum() else "_" for letter in key).upper()


def declare(
    read: Callable[[object], Any],
    default: object,
    help_: str,
    *,
    secrecy: Secrecy = Secrecy.OPEN,
    **more: Any,  # noqa: ANN401 - the other attributes of `Setting`
) -> Any:  # noqa: ANN401 - like `dataclasses.field`
    """Declare a field that holds a setting."""
    setting = Setting(read, default, help_, secrecy=secrecy, **more)
    return field(repr=secrecy is Secrecy.OPEN, metadata={_METADATA: setting})


def list_settings(table: str, owner: type) -> tuple[Setting, ...]:
    """Return the settings that a class of a table declares."""
    declared = [(one.name, one.metadata[_METADATA]) for one in fields(owner) if _METADATA in one.metadata]
    return tuple(replace(one, table=table, field=name, name=one.name or name) for name, one in declared)
