"""A configuration being read: what `digest.toml` and variables say, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from digest.config import values
from digest.config.addresses import expand_home, mask_password
from digest.config.declarations import Secrecy, Setting, variable_of
from digest.config.settings import INHERITED, SETTINGS, SUBSCRIPTION
from digest.model.errors import ConfigurationError

T = TypeVar("T")

PREFIX = "DIGEST_"
VALUE_PREFIX = "DIGEST_VALUE_"
FILE_SUFFIX = "_FILE"
_FILE_KEY = "_file"
CONFIG_VARIABLE = "DIGEST_CONFIG"
DEFAULT_ORIGIN = "default"
_OTHER_VARIABLES = (CONFIG_VARIABLE, "DIGEST_REAL_DATA")
_NEAR = 0.85
"""So alike are a variable's name and its misspelling.

`DIGEST_WEB_PORT`, which container platforms set, is not so near to any.
"""

_AFTERWARDS = (
    "`digest doctor --quick` says what is left. It checks saved queries and templates too."
)


class Mistakes(ConfigurationError):
    """Things to correct; `each` has them one by one, with key and hint, so that others can add."""

    def __init__(self, message: str, each: tuple[str, ...], *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.each = each


@dataclass(frozen=True, slots=True)
class _Mistake:
    """One thing to correct, under the variable or the key it is written in."""

    where: str
    what: str
    hint: str

    @property
    def is_variable(self) -> bool:
        """Whether it is in the environment, not in the file."""
        return self.where.startswith(PREFIX)

    def __str__(self) -> str:
        said = f"{self.where}: {self.what}"
        return f"{said}\n      {self.hint}" if self.hint else said


class _Variables:
    """The variables that are set and may be meant for Digest, and which of all were asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._texts = {
            name: text for name, text in environ.items() if name.startswith(PREFIX) and text.strip()
        }
        self._asked = set(_OTHER_VARIABLES)

    def list_given(self, variable: str, *, takes_file: bool) -> list[str]:
        """Return which are set: the variable itself, and the one that names a file for it."""
        names = [variable]
        if takes_file:
            names.append(f"{variable}{FILE_SUFFIX}")
        self._asked.update(names)
        return [name for name in names if name in self._texts]

    def read(self, name: str) -> str:
        """Return the text of a variable that is set."""
        return self._texts[name]

    def list_unused(self) -> list[str]:
        """Return the names that nobody asked for, in order."""
        return sorted(self._texts.keys() - self._asked)

    def guess_meant(self, name: str) -> str:
        """Return the variable whose name is misspelt; "" if none is near."""
        near = get_close_matches(name, sorted(self._asked), n=1, cutoff=_NEAR)
        return near[0] if near else ""


class ConfigDraft:
    """What is written, and what is known of it so far; see `Config`, too.

    Attributes:
        values: key → value of each single setting, the default if it could not be read.
        wrong: keys whose value has to be mended.
    """

    def __init__(
        self, data: dict[str, Any], path: Path | None, environ: Mapping[str, str], folder: Path
    ) -> None:
        self.data = data
        self.folder = folder
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.warnings: list[str] = []
        self.wrong: set[str] = set()
        self.given: dict[str, str] = {}
        self.hidden: dict[str, str] = {}
        self.path = path
        self._variables = _Variables(environ)
        self._mistakes: list[_Mistake] = []

    @property
    def _file_name(self) -> str:
        return self.path.name if self.path else ""

    def read_table(
        self,
        key: str,
        written: object,
        settings: Collection[Setting],
        *,
        others: Collection[str] = (),
        inherited: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Read the settings of a table by name; the default counts if one is missing or wrong.

        The key is "" for what is above all tables. `others` are keys that are read elsewhere.
        `inherited` values count instead of the defaults, in a table whose keys have no variables.
        """
        table = self.check_table(key, written)
        file_keys = {}
        for setting in settings:
            file_key = f"{setting.name}{_FILE_KEY}"
            if setting.takes_file and file_key not in others:
                file_keys[file_key] = setting.name
        in_file = [setting.name for setting in settings if not setting.is_environment_only]
        self._judge_keys(key, table, [*in_file, *others, *file_keys], file_keys)
        files = {secret: table[name] for name, secret in file_keys.items() if name in table}
        prefix = f"{key}." if key else ""
        found = {}
        for setting in settings:
            file = files.get(setting.name)
            found[setting.name] = self._read_setting(prefix, setting, table, file, inherited)
        return found

    def check_table(self, key: str, written: object) -> Mapping[str, Any]:
        """Return a table; an empty one if none is written, or it is wrong, which is reported."""
        if written is None or isinstance(written, dict):
            return written or {}
        hint = f"Write [{key}]."
        if key == "queries":
            hint += " To follow queries without names, write follow = …"
        self.complain(key, f"must be a table, not {values.describe_type(written)}", hint)
        return {}

    def _judge_keys(
        self,
        key: str,
        table: Mapping[str, Any],
        known: Collection[str],
        file_keys: Mapping[str, str],
    ) -> None:
        """Report keys of a table that nobody knows, and secrets that are set together with a file.

        `file_keys` tell for each key that names a file which secret is in it.
        """
        prefix = f"{key}." if key else ""
        for name, value in table.items():
            secret = file_keys.get(name)
            if name not in known:
                what = "table" if isinstance(value, dict) else "setting"
                hint = _suggest_key(name, known, f"[{key}] takes" if key else "There are")
                self.complain(f"{prefix}{name}", f"there is no such {what}", hint)
            elif secret in table:
                said = f"is set, and so is {secret}"
                self.complain(f"{prefix}{name}", said, "Remove one of the two.")

    def _read_setting(
        self,
        prefix: str,
        setting: Setting,
        table: Mapping[str, Any],
        file: object,
        inherited: Mapping[str, Any] | None,
    ) -> Any:  # noqa: ANN401 - as many types as settings
        """Read one setting; `file` is what the table says of a file that holds it."""
        key = f"{prefix}{setting.name}"
        written = table.get(setting.name)
        if written is not None:
            self.origins[key] = self._file_name
        if inherited is None:
            written = self._look_elsewhere(key, setting, written, file)
        elif written is None and setting.name in inherited:
            above = INHERITED[setting.name].key
            self.origins[key] = above
            if above in self.hidden:
                self.hidden[key] = self.hidden[above]
            return inherited[setting.name]
        written = self._fill(key, written)
        if written is None and setting.default is None:
            if key not in self.wrong:
                self.complain(key, "is missing", f"Write {setting.name} = …: {setting.help}")
            return None
        use = partial(setting.use, folder=self.folder)
        value = self.read(key, setting.default if written is None else written, use)
        if key in self.wrong and setting.default is not None:
            value = use(setting.default)
        self._warn_of_secret(key, setting, value)
        self.values[key] = value
        return value

    def _look_elsewhere(self, key: str, setting: Setting, written: object, file: object) -> object:
        """Return what a variable or a file of its own says; else what is written."""
        self.origins.setdefault(key, DEFAULT_ORIGIN)
        variable = variable_of(key)
        given = self._find_in_variables(key, variable, takes_file=setting.takes_file)
        if given is not None:
            return parse_variable(given, setting.default)
        if file is not None and key not in self.wrong:
            self.origins[key] = str(file)
            return self._read_file(f"{key}{_FILE_KEY}", file)
        return written

    def _warn_of_secret(self, key: str, setting: Setting, value: object) -> None:
        """Warn if a secret stands in the file itself."""
        if not value or self.origins.get(key) != self._file_name:
            return
        if setting.secrecy is Secrecy.INSIDE:
            is_secret = mask_password(str(value)) != value
        else:
            is_secret = setting.takes_file
        if is_secret:
            variable = variable_of(key)
            where = f"{variable} or {variable}{FILE_SUFFIX}"
            self.warnings.append(f"{self._file_name} holds {key}, a secret: move it to {where}")

    def _fill(self, key: str, written: Any) -> Any:  # noqa: ANN401 - as it comes from TOML
        """Return what the file says, variables in place of `$NAME`; None if one is not set."""
        texts = written if isinstance(written, list) else [written]
        names_some = any(map(values.find_variable, texts))
        if self.origins.get(key) != self._file_name or not names_some:
            return written
        filled = []
        origins = [self._file_name]
        for text in texts:
            found = values.find_variable(text)
            if found is None:
                filled.append(text)
                continue
            prefix, name = found
            value = self._read_value(key, name)
            origins.append(self.origins[key])
            if value is not None:
                filled.append(f"{prefix}{value}")
        self.hidden[key] = ", ".join(map(str, texts))
        if isinstance(written, list):
            self.origins[key] = ", ".join(dict.fromkeys(origins))
        if len(filled) < len(texts):
            return None
        return filled if isinstance(written, list) else filled[0]

    def _read_value(self, key: str, name: str) -> str | None:
        """Return the value of a `$NAME` in the file; None if there is none, which is reported."""
        variable = f"{VALUE_PREFIX}{name}"
        self.origins[key] = self._file_name
        value = self._find_in_variables(key, variable)
        if value is not None:
            self.given[f"${name}"] = value.strip()
            return value.strip()
        is_unset = self.origins[key] == self._file_name
        if is_unset:
            file_variable = f"{variable}{FILE_SUFFIX}"
            hint = f"Set {variable}, or {file_variable} to the path of a file that holds it."
            if (self.folder / "secrets.env").exists():
                hint = "Call `set -a; . ./secrets.env; set +a` first, once a shell."
            self.complain(key, f"${name} has no value", hint)
        return None

    def _find_in_variables(self, key: str, variable: str, *, takes_file: bool = True) -> str | None:
        """Return what a variable says, or the file that a second one names; None if none is set."""
        given = self._variables.list_given(variable, takes_file=takes_file)
        if not given:
            return None
        self.origins[key] = given[0]
        if len(given) > 1:
            self.complain(key, f"is set, and so is {given[1]}", "Unset one of the two.")
        text = self._variables.read(given[0])
        return text if given[0] == variable else self._read_file(key, text)

    def _read_file(self, key: str, name: object) -> str | None:
        """Return the text of a secret's file; None if there is none."""
        expanded = self.read(key, name, lambda name: expand_home(values.read_line(name)))
        if expanded is None:
            return None
        path = self.folder / expanded
        try:
            text = self.read(key, path.read_text(encoding="utf-8"), values.read_line)
        except OSError as error:
            said = f"{path} can't be read: {error.strerror or error}"
            self.complain(key, said, "Check the path.")
            return None
        except UnicodeDecodeError:
            self.complain(key, f"{path} is not UTF-8 text", "Save the file as UTF-8.")
            return None
        if text == "":
            self.complain(key, f"{path} holds no text", "It must hold the secret and nothing else.")
        return text or None

    def read(self, key: str, written: object, read: Callable[[Any], T]) -> T | None:
        """Return what is meant by what is written; None if it is wrong, which is reported."""
        try:
            return read(written)
        except ConfigurationError as error:
            self.complain(key, error.message, error.hint)
            return None

    def complain(self, key: str, what: str, hint: str = "") -> None:
        """Remember what has to be mended, under the variable or the key it is written in."""
        origin = self.origins.get(key, "")
        where = origin if origin.startswith(PREFIX) else key
        self.wrong.add(key)
        self._mistakes.append(_Mistake(where, what, hint))

    def judge_variables(self) -> None:
        """Report variables that misspell a setting, and warn of others that set nothing."""
        for name in self._variables.list_unused():
            meant = self._variables.guess_meant(name)
            if name.startswith(VALUE_PREFIX):
                word = name.removeprefix(VALUE_PREFIX).removesuffix(FILE_SUFFIX)
                file = self._file_name or "a file"
                self.warnings.append(f"{name} is set, but no value of {file} is ${word}")
            elif meant:
                self.complain(name, "sets nothing", f"Did you mean {meant}?")
            else:
                self.warnings.append(f"{name} is set, but no setting or destination uses it")

    def raise_mistakes(self) -> None:
        """Raise what was found, if anything, as one error: each mistake with its place and hint."""
        if not self._mistakes:
            return
        each = tuple(str(mistake) for mistake in self._mistakes)
        are_variables = all(mistake.is_variable for mistake in self._mistakes)
        file = None if are_variables else self.path
        if len(each) > 1:
            heading = f"{file or 'the environment'}: {len(each)} things to correct"
            raise Mistakes("\n  ".join([heading, *each]), each, hint=_AFTERWARDS)
        only = self._mistakes[0]
        said = f"{only.where}: {only.what}"
        raise Mistakes(f"{file}: {said}" if file else said, each, hint=only.hint)


def parse_variable(text: str, default: object) -> object:
    """Return what a variable's text would be in TOML, if the default is no text; else the text."""
    word = text.strip()
    match default:
        case bool():
            return {"true": True, "false": False}.get(word.lower(), text)
        case int() | values.ALL if word.isdecimal() and word.isascii():
            return int(word)
        case list():
            parts = [part.strip() for part in text.split(",")]
            return [part for part in parts if part]
        case _:
            return text


def _suggest_key(key: str, known: Iterable[str], what: str) -> str:
    """Return a hint for a key that is not known there: where it belongs, or what is near."""
    of_subscriptions = {setting.name for setting in SUBSCRIPTION} - INHERITED.keys()
    if key in of_subscriptions:
        return "Put it at the top of the file, or below [[subscriptions]]."
    owners = [setting for setting in SETTINGS if setting.name == key]
    if len(owners) == 1:
        (owner,) = owners
        if owner.table:
            return f"Put it below [{owner.table}]."
        if owner.is_environment_only:
            return f"It is set by {variable_of(owner.key)} alone."
    return values.suggest(key, known, what)
