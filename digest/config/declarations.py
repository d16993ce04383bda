"""What a setting is, and how the class of a table declares one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

_METADATA = "setting"  # the key of a field's metadata


class Secrecy(StrEnum):
    """How much of a value is hidden when it is shown: nothing, a password inside it, or all."""

    OPEN = "open"
    INSIDE = "inside"
    SECRET = "secret"  # noqa: S105 - the name of a degree, no password


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        read: from the value as written to the value as used; raises `ConfigurationError`. It never
            sees "" where that is the default: "" is for "not set".
        default: as it would be written; None if it must be written.
        help: what it means, for the manual and for messages.
        name: its key within its table; "" in a declaration for the field's own name.
        resolve: makes the value absolute, given the configuration's folder.
        is_environment_only: it cannot be written in `digest.toml`.
        needs: for an address that is asked only with a secret, the key of that secret; else "".
        table: the table of `digest.toml` that has it; "" for what is above all tables.
        field: the field that declares it; "" if none does.
    """

    read: Callable[[object], Any]
    default: object
    help: str
    name: str = ""
    secrecy: Secrecy = Secrecy.OPEN
    resolve: Callable[[Any, Path], Any] | None = None
    is_environment_only: bool = False
    needs: str = ""
    table: str = ""
    field: str = ""

    @property
    def key(self) -> str:
        """Table and name as in `digest.toml`."""
        return f"{self.table}.{self.name}" if self.table else self.name

    @property
    def is_secret(self) -> bool:
        """Whether it is a secret, or holds one: then a file of its own may hold it."""
        return self.secrecy is not Secrecy.OPEN

    def find(self, config: object) -> Any:  # noqa: ANN401 - as many types as settings
        """Return its value in a `Config`."""
        owner = getattr(config, self.table) if self.table else config
        return getattr(owner, self.field)

    def use(self, written: object, folder: Path) -> Any:  # noqa: ANN401 - as many types as settings
        """Return the value that is meant; "" is for "not set" where that is the default."""
        is_unset = written == "" and self.default == ""
        value = "" if is_unset else self.read(written)
        return self.resolve(value, folder) if self.resolve else value


def variable_of(key: str) -> str:
    """Return the environment variable of a key: `mail.smtp` → `DIGEST_MAIL_SMTP`."""
    letters = (letter if letter.isalnum() else "_" for letter in key)
    name = "".join(letters).upper()
    return f"DIGEST_{name}"


def declare(
    read: Callable[[object], Any],
    default: object,
    help_: str,
    **more: Any,  # noqa: ANN401 - like `dataclasses.field`
) -> Any:  # noqa: ANN401 - the same
    """Declare a field that holds a setting; it takes what `Setting` takes."""
    setting = Setting(read, default, help_, **more)
    return field(repr=not setting.is_secret, metadata={_METADATA: setting})


def list_settings(table: str, owner: type) -> tuple[Setting, ...]:
    """Return the settings that a class of a table declares."""
    found = []
    for declared in fields(owner):
        setting = declared.metadata.get(_METADATA)
        if setting is not None:
            name = setting.name or declared.name
            found.append(replace(setting, table=table, field=declared.name, name=name))
    return tuple(found)
