"""A configuration being read: what `digest.toml` and variables say, and what has to be mended in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from digest.config import values
from digest.config.addresses import expand_home, mask_password
from digest.config.settings import INHERITED, SETTINGS, SUBSCRIPTION, Secrecy, Setting, variable_of
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
"""So alike are a variable's name and its misspelling; `DIGEST_WEB_PORT`, which container platforms set, is not."""

_AFTERWARDS = (
    "`digest doctor --quick` says what is left. It checks saved queries and templates too."
)


class Mistakes(ConfigurationError):
    """Things to correct; `each` has them one by one, with key and hint, for who counts more besides."""

    def __init__(self, message: str, each: tuple[str, ...], *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.each = each


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
        self._file_name = path.name if path else ""
        self._variables = {
            name: text for name, text in environ.items() if name.startswith(PREFIX) and text.strip()
        }
        self._asked = set(_OTHER_VARIABLES)
        self._mistakes: list[tuple[str, str, str]] = []

    def read_table(
        self,
        key: str,
        written: object,
        settings: Iterable[Setting],
        *,
        others: Iterable[str] = (),
        inherited: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Read the settings of a table by name; the default counts if one is missing or wrong.

        The key is "" for what is above all tables. `others` are keys that are read elsewhere.
        `inherited` values count instead of the defaults, in a table whose keys have no variables.
        """
        prefix = f"{key}." if key else ""
        table = self.check_table(key, written)
        files = {f"{one.name}{_FILE_KEY}": one.name for one in settings if one.takes_file}
        files = {name: secret for name, secret in files.items() if name not in others}
        known = [*(one.name for one in settings if not one.is_environment_only), *others, *files]
        for name in table:
            if name not in known:
                hint = _suggest_key(name, known, f"[{key}] takes" if key else "There are")
                what = "table" if isinstance(table[name], dict) else "setting"
                self.complain(f"{prefix}{name}", f"there is no such {what}", hint)
            elif files.get(name) in table:
                self.complain(
                    f"{prefix}{name}", f"is set, and so is {files[name]}", "Remove one of the two."
                )
        named = {secret: table[name] for name, secret in files.items() if name in table}
        return {
            one.name: self._read_setting(prefix, one, table, named.get(one.name), inherited)
            for one in settings
        }

    def check_table(self, key: str, written: object) -> Mapping[str, Any]:
        """Return a table; an empty one if none is written, or it is wrong, which is reported."""
        if written is None or isinstance(written, dict):
            return written or {}
        follow = " To follow queries without names, write follow = …" if key == "queries" else ""
        self.complain(
            key, f"must be a table, not {values.describe_type(written)}", f"Write [{key}].{follow}"
        )
        return {}

    def _read_setting(
        self,
        prefix: str,
        setting: Setting,
        table: Mapping[str, Any],
        file: object,
        inherited: Mapping[str, Any] | None,
    ) -> Any:  # noqa: ANN401 - as many types as settings
        key, written = f"{prefix}{setting.name}", table.get(setting.name)
        if written is not None:
            self.origins[key] = self._file_name
        if inherited is None:
            self.origins.setdefault(key, DEFAULT_ORIGIN)
            given = self._find_in_variables(key, variable_of(key), takes_file=setting.takes_file)
            if given is not None:
                written = parse_variable(given, setting.default)
            elif file is not None and key not in self.wrong:
                self.origins[key] = str(file)
                written = self._read_file(f"{key}{_FILE_KEY}", file)
        elif written is None and setting.name in inherited:
            self.origins[key] = above = INHERITED[setting.name].key
            self.hidden |= {key: self.hidden[above]} if above in self.hidden else {}
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
        is_secret = (
            mask_password(str(value)) != value
            if setting.secrecy is Secrecy.INSIDE
            else setting.takes_file
        )
        if value and is_secret and self.origins[key] == self._file_name:
            variable = variable_of(key)
            where = f"{variable} or {variable}{FILE_SUFFIX}"
            self.warnings.append(f"{self._file_name} holds {key}, a secret: move it to {where}")
        self.values[key] = value
        return value

    def _fill(self, key: str, written: Any) -> Any:  # noqa: ANN401 - as it comes from TOML
        """Return what the file says, variables in place of `$NAME`; None if one is not set, which is reported."""
        texts = written if isinstance(written, list) else [written]
        if self.origins.get(key) != self._file_name or not any(map(values.find_variable, texts)):
            return written
        filled, origins = [], []
        for text in texts:
            if (found := values.find_variable(text)) is None:
                filled.append(text)
                continue
            prefix, name = found
            variable, self.origins[key] = f"{VALUE_PREFIX}{name}", self._file_name
            value = self._find_in_variables(key, variable)
            origins.append(self.origins[key])
            if value is not None:
                self.given[f"${name}"] = value.strip()
                filled.append(f"{prefix}{value.strip()}")
            elif origins[-1] == self._file_name:
                hint = f"Set {variable}, or {variable}{FILE_SUFFIX} to the path of a file that holds it."
                if (self.folder / "secrets.env").exists():
                    hint = "Call `set -a; . ./secrets.env; set +a` first, once a shell."
                self.complain(key, f"${name} has no value", hint)
        self.hidden[key] = ", ".join(map(str, texts))
        if isinstance(written, list):
            self.origins[key] = ", ".join(dict.fromkeys([self._file_name, *origins]))
        if len(filled) < len(texts):
            return None
        return filled if isinstance(written, list) else filled[0]

    def _find_in_variables(self, key: str, variable: str, *, takes_file: bool = True) -> str | None:
        """Return what a variable says, or the file that a second one names; None if neither is set."""
        variables = (variable, variable + FILE_SUFFIX) if takes_file else (variable,)
        self._asked.update(variables)
        given = [name for name in variables if name in self._variables]
        if not given:
            return None
        self.origins[key] = given[0]
        if len(given) > 1:
            self.complain(key, f"is set, and so is {given[1]}", "Unset one of the two.")
        text = self._variables[given[0]]
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
            self.complain(
                key, f"{path} can't be read: {error.strerror or error}", "Check the path."
            )
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
        self.wrong.add(key)
        self._mistakes.append((origin if origin.startswith(PREFIX) else key, what, hint))

    def judge_variables(self) -> None:
        """Report variables that misspell a setting, and warn of others that set nothing."""
        for name in sorted(set(self._variables) - self._asked):
            near = get_close_matches(name, sorted(self._asked), n=1, cutoff=_NEAR)
            if name.startswith(VALUE_PREFIX):
                word = name.removeprefix(VALUE_PREFIX).removesuffix(FILE_SUFFIX)
                self.warnings.append(
                    f"{name} is set, but no value of {self._file_name or 'a file'} is ${word}"
                )
            elif near:
                self.complain(name, "sets nothing", f"Did you mean {near[0]}?")
            else:
                self.warnings.append(f"{name} is set, but no setting or destination uses it")

    def raise_mistakes(self) -> None:
        """Raise what was found, if anything, as one error: each mistake with its place and hint."""
        if not self._mistakes:
            return
        each = tuple(
            f"{where}: {what}" + (f"\n      {hint}" if hint else "")
            for where, what, hint in self._mistakes
        )
        are_variables = all(where.startswith(PREFIX) for where, *_ in self._mistakes)
        if len(each) > 1:
            name = "the environment" if are_variables else self.path or "the environment"
            raise Mistakes(
                "\n  ".join((f"{name}: {len(each)} things to correct", *each)),
                each,
                hint=_AFTERWARDS,
            )
        where, what, hint = self._mistakes[0]
        name = "" if are_variables or self.path is None else f"{self.path}: "
        raise Mistakes(f"{name}{where}: {what}", each, hint=hint)


def parse_variable(text: str, default: object) -> object:
    """Return what a variable's text would be in TOML, if the default is of another type; else the text."""
    word = text.strip()
    match default:
        case bool():
            return {"true": True, "false": False}.get(word.lower(), text)
        case int() | values.ALL if word.isdecimal() and word.isascii():
            return int(word)
        case list():
            return [part.strip() for part in text.split(",") if part.strip()]
        case _:
            return text


def _suggest_key(key: str, known: Iterable[str], what: str) -> str:
    if key in {one.name for one in SUBSCRIPTION} - {*INHERITED}:
        return "Put it at the top of the file, or below [[subscriptions]]."
    owners = [setting for setting in SETTINGS if setting.name == key]
    if len(owners) == 1 and (owners[0].table or owners[0].is_environment_only):
        (owner,) = owners
        return (
            f"Put it below [{owner.table}]."
            if owner.table
            else f"It is set by {variable_of(owner.key)} alone."
        )
    return values.suggest(key, known, what)
