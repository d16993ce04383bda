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

    @property
    def is_of_subscription(self) -> bool:
        """Whether it has a key of a subscription."""
        return not _KEYS.isdisjoint(self.data)

    def has(self, key: str) -> bool:
        """Whether it says what a key is; above all tables that may be a table's, after a dot."""
        return key in self.data or self.text.startswith(f"{key} =")


@dataclass(slots=True)
class _Table:
    """A table of a file, and the lines up to the next; `head` is "" at the top of the file."""

    head: str = ""
    name: str = ""
    statements: list[_Statement] = field(default_factory=list)

    @property
    def end(self) -> int:
        """How many statements there are up to the last key of a subscription."""
        end = 0
        for number, statement in enumerate(self.statements, 1):
            if statement.is_of_subscription:
                end = number
        return end

    def write(self, key: str, value: object) -> None:
        """Write a value in the lines that have its key, else below the last; None takes it out."""
        for place, statement in enumerate(self.statements):
            if statement.has(key):
                if value is None:
                    del self.statements[place]
                else:
                    self.statements[place] = _rewrite(statement, key, value)
                return
        if value is not None:
            self.statements.insert(self.end, _write_statement(key, value))


def remove_query(text: str, name: str) -> str:
    """Return the file without a saved query; refused while a subscription names it."""
    _require(name, tomllib.loads(text).get("queries", {}), "saved query")
    for subscription, written in list_subscriptions(text).items():
        for key, use in NAMING.items():
            if name in _as_list(written.get(key, [])):
                change = f"--remove-query {name}" if key == "follow" else f"{key}="
                command = f"digest subscription edit {subscription} {change}"
                raise UsageError(
                    f"the subscription {subscription} still {use} the saved query {name}",
                    hint=f"`{command}` takes it from there.",
                )
    tables = _cut(text)
    for table in tables:
        for statement in table.statements:
            if _list_saved(table, statement) == [name]:
                table.statements.remove(statement)
                return _join(tables)
    raise _refuse()


def _list_saved(table: _Table, statement: _Statement) -> list[str]:
    """Return the names of the saved queries that a statement writes."""
    if table.name == "queries":
        return list(statement.data)
    at_top = {} if table.name else statement.data.get("queries")
    return list(at_top or {})


def add_subscription(text: str, values: Mapping[str, object]) -> str:
    """Return the file with one more subscription; `values` are its keys in order, its name too.

    The only one so far, at the top of the file, gets a table of its own, and its name is written
    down.
    """
    tables = _cut(text)
    added = [[_write_statement(key, value) for key, value in values.items()]]
    if list_only(tomllib.loads(text)):
        added.insert(0, _take_only(tables[0]))
    text = _join(tables).lstrip("\n")
    for statements in added:
        gap = "\n" if text.strip() and not text.endswith("\n\n") else ""
        text += _join([_Table(f"{gap}[[subscriptions]]\n", "", statements)])
    return text


def _take_only(top: _Table) -> list[_Statement]:
    """Take the only subscription from the top of the file, its name written down."""
    only = [statement for statement in top.statements if statement.is_of_subscription]
    top.statements = [one for one in top.statements if not one.is_of_subscription]
    if not any("name" in statement.data for statement in only):
        only.insert(0, _write_statement("name", ONLY))
    return only


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
        more = (add or {}).get(key, ())
        less = (remove or {}).get(key, ())
        if more or less:
            before = wanted.get(key) or written[key]
            wanted[key] = _change_list(before, more, less, key, name)
    for key, value in wanted.items():
        table.write(key, value)
    return _join(tables)


def remove_subscription(text: str, name: str) -> str:
    """Return the file without a subscription; comments after its last key stay."""
    tables = _cut(text)
    table, _ = _find_subscription(tables, text, name)
    if table.head:
        rest = "".join(statement.text for statement in table.statements[table.end :])
        table.head = ""
        table.statements = [_Statement(rest.lstrip("\n"), {})]
    else:
        table.statements = [one for one in table.statements if not one.is_of_subscription]
    return _join(tables)


def list_subscriptions(text: str) -> dict[str, dict[str, Any]]:
    """Return the subscriptions of a file as written there, by name and in its order."""
    data = tomllib.loads(text)
    only = list_only(data)
    if only:
        return {only.get("name", ONLY): only}
    return {table["name"]: table for table in data.get("subscriptions", [])}


def write_settings(text: str, settings: Mapping[str, object]) -> str:
    """Return the file with settings written, by keys such as `store.url`; None takes one out."""
    tables = _cut(text)
    top = tables[0]
    for key, value in settings.items():
        table_name, _, name = key.partition(".")
        table = next((one for one in tables if one.name == table_name), None)
        if table is None:
            top.write(key, value)
        else:
            table.write(name, value)
    return _join(tables)


def read_assignment(text: str) -> tuple[str, object]:
    """Read `key=value` of a subscription as it is typed; the value is None if there is none.

    Lists are written `one,two`, or as in TOML.
    """
    key, sign, word = (part.strip() for part in text.partition("="))
    if not sign:
        raise UsageError(f"{text!r} sets nothing", hint="Write key=value, such as show=20.")
    settings = {setting.name: setting for setting in SUBSCRIPTION if setting.name != "name"}
    if key not in settings:
        said = f"a subscription has no {key!r}"
        if key == "name":
            said = "a name is for good; `title` may change"
        raise UsageError(said, hint=suggest(key, settings, "It takes"))
    listed = _read(f"value = {word}") if word.startswith("[") else None
    if listed:
        return key, listed["value"]
    setting = settings[key]
    if setting.read in (read_queries, read_followed):  # commas belong to a query
        return key, word or None
    value = parse_variable(word, [] if key == "to" else setting.default)
    if key == "to" and isinstance(value, list):
        value = [write_destination(place) for place in value]
    return key, None if value in ("", []) else value


def compare_texts(before: str, after: str, name: str) -> list[str]:
    """Return what differs between two texts of a file, as the lines of a unified diff.

    Where either end of a change may be shown, a table's head is: the change is moved up to it.
    """
    old = before.splitlines()
    new = after.splitlines()
    lines = list(difflib.unified_diff(old, new, name, f"{name} (new)", lineterm=""))
    for end, line in enumerate(lines):
        goes_on = end + 1 < len(lines) and _is_changed(lines[end + 1])
        if _is_changed(line) and not goes_on:
            _move_to_head(lines, end)
    return lines


def _is_changed(line: str) -> bool:
    return line.startswith(("+", "-"))


def _move_to_head(lines: list[str], end: int) -> None:
    """Move the run of changed lines that ends here up, until a table's head begins it.

    It may go up by a line where the line above it is the same as its last one.
    """
    start = end
    while lines[start][0] == lines[end][0]:
        start -= 1
    while lines[start + 1][1:2] not in ("", "[") and lines[start] == f" {lines[end][1:]}":
        unchanged = lines[start]
        lines[start] = lines[end]
        lines[end] = unchanged
        start -= 1
        end -= 1


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
    """Return what stands there with something added or removed, whichever way it is spelt."""

    def spell(text: str) -> str:
        return text.strip() if key == "follow" else write_destination(text)

    verb = "follow" if key == "follow" else "go to"
    left = {spell(text): text for text in _as_list(there)}
    for text in added:
        left.setdefault(spell(text), text)
    for text in removed:
        if left.pop(spell(text), None) is None:
            has = ", ".join(map(str, _as_list(there)))
            raise UsageError(f"{name} does not {verb} {text}", hint=f"It does {verb} {has}.")
    if not left:
        raise UsageError(
            f"{name} needs something to {verb}",
            hint=f"Add something in the same call, or: `digest subscription remove {name}`.",
        )
    return list(left.values())


def _cut(text: str) -> list[_Table]:
    """Cut a file into its tables; the first is what is above them all."""
    tables = [_Table()]
    begun = ""
    for line in text.removesuffix("\n").split("\n"):
        begun += f"{line}\n"
        data = _read(begun)
        if data is None:
            continue
        if begun.lstrip().startswith("["):
            name = next(iter(data))
            tables.append(_Table(begun, name))
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
    text = ""
    for table in tables:
        text += table.head
        text += "".join(statement.text for statement in table.statements)
    return text


def _find_subscription(
    tables: Sequence[_Table], text: str, name: str
) -> tuple[_Table, Mapping[str, Any]]:
    """Return the table that holds a subscription, and what is written there."""
    written = list_subscriptions(text)
    _require(name, written, "subscription")
    if list_only(tomllib.loads(text)):
        own = [tables[0]]
    else:
        own = [table for table in tables if table.name == "subscriptions"]
    if len(own) != len(written):
        raise _refuse()
    place = list(written).index(name)
    return own[place], written[name]


def _refuse() -> ConfigurationError:
    return ConfigurationError(
        "digest.toml is written in a way that no command can change",
        hint="Edit it by hand instead.",
    )


def _write_statement(key: str, value: object, end: str = "\n") -> _Statement:
    return _Statement(f"{key} = {write_toml(value)}{end}", {key: value})


def _rewrite(old: _Statement, key: str, value: object) -> _Statement:
    """Return a statement with another value; comments after it or between its items stay."""
    lines = old.text.splitlines(keepends=True)
    if len(lines) == 1:
        comment = _find_comment(old)
        return _write_statement(key, value, f" {comment}" if comment else "\n")
    if isinstance(value, list | tuple):
        text = _rewrite_items(lines, old.data[key], value)
        if _read(text) == {key: [*value]}:
            return _Statement(text, {key: value})
    return _write_statement(key, value)


def _find_comment(statement: _Statement) -> str:
    """Return the comment behind a statement of one line, its end of line too; "" for none."""
    for place, letter in enumerate(statement.text):
        if letter == "#" and _read(statement.text[:place]) == statement.data:
            return statement.text[place:]
    return ""


def _rewrite_items(lines: Sequence[str], before: Sequence[object], value: Sequence[object]) -> str:
    """Return the lines of a list with the items that stay, and what is new below them."""
    kept = []
    for line in lines[1:-1]:
        read = _read(f"x = [{line}]")
        items = read["x"] if read else []  # an odd line stays: who reads the result judges it
        if all(item in value for item in items):
            kept.append(line)
    added = [f"  {write_toml(item)},\n" for item in value if item not in before]
    return "".join([lines[0], *kept, *added, lines[-1]])
