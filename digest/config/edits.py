"""Changes of `digest.toml`: its text and a change in, its new text out. Comments and order stay.

A file is cut into statements: the fewest lines that TOML reads alone. A change rewrites those it is
about. Whether the new file is right, its reader says.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from digest.config.addresses import write_destination
from digest.config.display import write_toml
from digest.config.document import ONLY, list_only
from digest.config.draft import parse_variable
from digest.config.settings import NAMING, SUBSCRIPTION
from digest.config.values import read_followed, read_queries, suggest
from digest.model.errors import ConfigurationError, UnknownName, UsageError

_KEYS = {one.name for one in SUBSCRIPTION}


class _Statement(NamedTuple):
    """Whole lines of a file, and what they say alone: nothing, if they are a comment or empty."""

    text: str
    data: Mapping[str, Any]


@dataclass(slots=True)
class _Table:
    """A table of a file, and the lines up to the next; `head` is "" at the top of the file."""

    head: str = ""
    name: str = ""
    statements: list[_Statement] = field(default_factory=list)

    @property
    def end(self) -> int:
        """How many statements there are up to the last key of a subscription."""
        return max(
            (at for at, one in enumerate(self.statements, 1) if one.data.keys() & _KEYS), default=0
        )

    def write(self, key: str, value: object) -> None:
        """Write a value: in the lines that have its key, else below the last key; None takes it out."""
        # Above all tables a key may be that of a table, after a dot.
        at = next(
            (
                at
                for at, one in enumerate(self.statements)
                if key in one.data or one.text.startswith(f"{key} =")
            ),
            None,
        )
        if at is None:
            if value is not None:
                self.statements.insert(self.end, _write_statement(key, value))
        else:
            self.statements[at : at + 1] = (
                [] if value is None else [_rewrite(self.statements[at], key, value)]
            )


def remove_query(text: str, name: str) -> str:
    """Return the file without a saved query; refused while a subscription follows it, or orders by it."""
    _require(name, tomllib.loads(text).get("queries", {}), "saved query")
    for follower, one in list_subscriptions(text).items():
        for key in (key for key in NAMING if name in _as_list(one.get(key, []))):
            change = f"--remove-query {name}" if key == "follow" else f"{key}="
            raise UsageError(
                f"the subscription {follower} still {NAMING[key]} the saved query {name}",
                hint=f"`digest subscription edit {follower} {change}` takes it from there.",
            )
    tables = _cut(text)
    for table in tables:
        for line in table.statements:
            saved = (
                line.data
                if table.name == "queries"
                else not table.name and line.data.get("queries")
            )
            if saved and [*saved] == [name]:
                table.statements.remove(line)
                return _join(tables)
    raise _refuse()


def add_subscription(text: str, values: Mapping[str, object]) -> str:
    """Return the file with one more subscription; `values` are its keys in order, `name` among them.

    The only one so far, at the top of the file, gets a table of its own, and its name is written
    down.
    """
    tables, added = _cut(text), [[_write_statement(key, value) for key, value in values.items()]]
    if list_only(tomllib.loads(text)):
        top = tables[0].statements
        only = [one for one in top if one.data.keys() & _KEYS]
        tables[0].statements = [one for one in top if one not in only]
        is_named = any("name" in one.data for one in only)
        added.insert(0, [*([] if is_named else [_write_statement("name", ONLY)]), *only])
    text = _join(tables).lstrip("\n")
    for statements in added:
        gap = "\n" if text.strip() and not text.endswith("\n\n") else ""
        text += _join([_Table(f"{gap}[[subscriptions]]\n", "", statements)])
    return text


def edit_subscription(
    text: str,
    name: str,
    *,
    values: Mapping[str, object] | None = None,
    add: Mapping[str, Sequence[str]] | None = None,
    remove: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the file with a subscription changed.

    The value None takes a key out, so that the default counts. To `follow` and `to` something may
    be added, unless it is there already, or removed.
    """
    tables = _cut(text)
    table, written = _find_subscription(tables, text, name)
    wanted = dict(values or {})
    for key in ("follow", "to"):
        more, less = (add or {}).get(key, ()), (remove or {}).get(key, ())
        if more or less:
            wanted[key] = _change_list(wanted.get(key) or written[key], more, less, key, name)
    for key, value in wanted.items():
        table.write(key, value)
    return _join(tables)


def remove_subscription(text: str, name: str) -> str:
    """Return the file without a subscription; comments after its last key stay."""
    tables = _cut(text)
    table, _ = _find_subscription(tables, text, name)
    if table.head:
        rest = "".join(one.text for one in table.statements[table.end :]).lstrip("\n")
        table.head, table.statements = "", [_Statement(rest, {})]
    else:
        table.statements = [one for one in table.statements if not one.data.keys() & _KEYS]
    return _join(tables)


def list_subscriptions(text: str) -> dict[str, dict[str, Any]]:
    """Return the subscriptions of a file as written there, by name and in its order."""
    data = tomllib.loads(text)
    if only := list_only(data):
        return {only.get("name", ONLY): only}
    return {one["name"]: one for one in data.get("subscriptions", [])}


def write_settings(text: str, settings: Mapping[str, object]) -> str:
    """Return the file with settings written, by keys such as `store.url`; None takes one out."""
    tables = _cut(text)
    for key, value in settings.items():
        table, _, name = key.partition(".")
        own = next((one for one in tables if one.name == table), None)
        (own or tables[0]).write(name if own else key, value)
    return _join(tables)


def read_assignment(text: str) -> tuple[str, object]:
    """Read `key=value` of a subscription as it is typed; None for the value if nothing follows the sign.

    Lists are written `one,two`, or as in TOML.
    """
    key, sign, word = (part.strip() for part in text.partition("="))
    settings = {one.name: one for one in SUBSCRIPTION if one.name != "name"}
    if not sign:
        raise UsageError(f"{text!r} sets nothing", hint="Write key=value, such as show=20.")
    if key not in settings:
        what = (
            "a name is for good; `title` may change"
            if key == "name"
            else f"a subscription has no {key!r}"
        )
        raise UsageError(what, hint=suggest(key, settings, "It takes"))
    if word.startswith("[") and (listed := _read(f"value = {word}")):
        return key, listed["value"]
    if settings[key].read in (read_queries, read_followed):  # commas belong to a query
        return key, word or None
    value = parse_variable(word, [] if key == "to" else settings[key].default)
    if key == "to" and isinstance(value, list):
        value = [*map(write_destination, value)]
    return key, None if value in ("", []) else value


def compare_texts(before: str, after: str, name: str) -> list[str]:
    """Return what differs between two texts of a file, as the lines of a unified diff."""
    lines = [
        *difflib.unified_diff(
            before.splitlines(), after.splitlines(), name, f"{name} (new)", lineterm=""
        )
    ]
    for end, line in enumerate(lines):
        if line[0] in "+-" and not (lines[end + 1 :] and lines[end + 1][0] in "+-"):
            start = max(at for at in range(end + 1) if lines[at][0] != line[0])
            while lines[start + 1][1:2] not in ("", "[") and lines[start] == f" {lines[end][1:]}":
                lines[start], lines[end] = lines[end], lines[start]
                start, end = start - 1, end - 1  # noqa: PLW2901 - one higher, to a table's head
    return lines


def _require(name: str, known: Iterable[str], what: str) -> None:
    names = list(known)
    if name not in names:
        raise UnknownName(
            f"digest.toml has no {what} {name!r}",
            hint=suggest(name, names, "It has") or "It has none yet.",
        )


def _as_list(written: object) -> list[str]:
    return list(written) if isinstance(written, list) else [str(written)]


def _change_list(
    there: object, added: Iterable[str], removed: Iterable[str], key: str, name: str
) -> list[str]:

    def spell(text: str) -> str:
        return text.strip() if key == "follow" else write_destination(text)

    verb = "follow" if key == "follow" else "go to"
    left = {spell(one): one for one in _as_list(there)}
    for one in added:
        left.setdefault(spell(one), one)
    for one in removed:
        if left.pop(spell(one), None) is None:
            has = ", ".join(map(str, _as_list(there)))
            raise UsageError(f"{name} does not {verb} {one}", hint=f"It does {verb} {has}.")
    if not left:
        raise UsageError(
            f"{name} needs something to {verb}",
            hint=f"Add something in the same call, or: `digest subscription remove {name}`.",
        )
    return list(left.values())


def _cut(text: str) -> list[_Table]:
    tables, begun = [_Table()], ""
    for line in text.removesuffix("\n").split("\n"):
        begun += f"{line}\n"
        data = _read(begun)
        if data is None:
            continue
        if begun.lstrip().startswith("["):
            tables.append(_Table(begun, next(iter(data))))
        else:
            tables[-1].statements.append(_Statement(begun, data))
        begun = ""
    return tables


def _read(text: str) -> dict[str, Any] | None:
    """Return what lines say alone; None if they are no whole statement."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _join(tables: Iterable[_Table]) -> str:
    return "".join(table.head + "".join(one.text for one in table.statements) for table in tables)


def _find_subscription(
    tables: Sequence[_Table], text: str, name: str
) -> tuple[_Table, Mapping[str, Any]]:
    written = list_subscriptions(text)
    _require(name, written, "subscription")
    own = [table for table in tables if table.name == "subscriptions"]
    if list_only(tomllib.loads(text)):
        own = [tables[0]]
    if len(own) != len(written):
        raise _refuse()
    return own[[*written].index(name)], written[name]


def _refuse() -> ConfigurationError:
    return ConfigurationError(
        "digest.toml is written in a way that no command can change",
        hint="Edit it by hand instead.",
    )


def _write_statement(key: str, value: object, end: str = "\n") -> _Statement:
    return _Statement(f"{key} = {write_toml(value)}{end}", {key: value})


def _rewrite(old: _Statement, key: str, value: object) -> _Statement:
    """Return a statement with another value; a list of several lines keeps the comments between its items."""
    lines = old.text.splitlines(keepends=True)
    if len(lines) == 1:
        marks = (at for at, letter in enumerate(old.text) if letter == "#")
        comment = next((old.text[at:] for at in marks if _read(old.text[:at]) == old.data), "")
        return _write_statement(key, value, f" {comment}" if comment else "\n")
    if isinstance(value, list | tuple):
        there = old.data[key]
        items = [
            line
            for line in lines[1:-1]
            if set((_read(f"x = [{line}]") or {"x": []})["x"]) <= {*value}
        ]
        items += [f"  {write_toml(one)},\n" for one in value if one not in there]
        text = "".join([lines[0], *items, lines[-1]])
        if _read(text) == {key: [*value]}:
            return _Statement(text, {key: value})
    return _write_statement(key, value)
