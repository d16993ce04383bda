"""Changes of `digest.toml`: its text and a change in, its new text out. Comments and order stay.

Each change is made twice: in the text by tomlkit, and in what `tomllib` reads from it. Where the two differ
afterwards the change is refused, so that no way to write TOML can lead to a wrong file.
"""

from __future__ import annotations

import difflib
import tomllib
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Table, Whitespace

from digest.config.addresses import read_destination
from digest.config.display import write_toml
from digest.config.draft import parse_variable
from digest.config.settings import SUBSCRIPTION
from digest.config.values import read_exclusions, suggest
from digest.model.errors import ConfigurationError, UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence

    Change = Callable[[MutableMapping[str, Any]], object]

_KEY = "subscriptions"


def add_query(text: str, name: str, query: str) -> str:
    """Return the file with one more saved query; as it was where the same one is there.

    Raises:
        UsageError: another query goes by that name.
    """
    saved = tomllib.loads(text).get("queries", {})
    if name not in saved:
        return _apply(text, lambda document: _put(_find_table(document, "queries"), name, query))
    if saved[name].strip() != query.strip():
        raise UsageError(
            f"there is a saved query {name} already: {saved[name]}",
            hint="Choose another name. To change its words, edit its line in digest.toml.",
        )
    return text


def remove_query(text: str, name: str, *, from_subscriptions: bool = False) -> str:
    """Return the file without a saved query.

    Args:
        text: of the file.
        name: of the saved query.
        from_subscriptions: take it from the subscriptions that follow it, too.

    Raises:
        UnknownName: there is none of that name.
        UsageError: a subscription follows it, or follows nothing else.
    """
    plain = tomllib.loads(text)
    _require(name, plain.get("queries", {}), "saved query")
    followers = [one["name"] for one in plain.get(_KEY, []) if name in _as_list(one["follow"])]
    if followers and not from_subscriptions:
        raise UsageError(
            f"{'the subscriptions' if followers[1:] else 'the subscription'} {', '.join(followers)} still"
            f" follow{'' if followers[1:] else 's'} the saved query {name}",
            hint=f"`digest query remove {name} --from-subscriptions` takes it from there, too.",
        )
    for follower in followers:
        text = edit_subscription(text, follower, remove={"follow": [name]})
    return _apply(text, lambda document: document["queries"].pop(name))


def add_subscription(text: str, values: Mapping[str, object]) -> str:
    """Return the file with one more subscription; `values` are its keys in order, `name` among them.

    Raises:
        UsageError: another one goes by that name.
    """
    name = values["name"]
    if name in list_subscriptions(text):
        raise UsageError(
            f"there is a subscription {name} already",
            hint=f"With --subscription {name} it gets the query, too. Or choose another name.",
        )
    return _apply(text, lambda document: _append(document, values))


def edit_subscription(
    text: str,
    name: str,
    *,
    values: Mapping[str, object] | None = None,
    add: Mapping[str, Sequence[str]] | None = None,
    remove: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the file with a subscription changed.

    Args:
        text: of the file.
        name: of the subscription.
        values: key → value to write; None takes the key out, so that the default counts.
        add: `follow` or `to` → what to add; what is there already is not added again.
        remove: `follow` or `to` → what to take out.

    Raises:
        UnknownName: there is no such subscription.
        UsageError: what is to be taken out is not there, or nothing would be left.
    """
    names = list_subscriptions(text)
    _require(name, names, "subscription")
    number = names.index(name)
    table = tomllib.loads(text)[_KEY][number]
    wanted = dict(values or {})
    for key in ("follow", "to"):
        if added := (add or {}).get(key, ()):
            wanted[key] = _add_to(_as_list(table[key]), added, key)
        if removed := (remove or {}).get(key, ()):
            wanted[key] = _take_from(wanted.get(key) or _as_list(table[key]), removed, key, name)

    def change(document: MutableMapping[str, Any]) -> None:
        for key, value in wanted.items():
            if value is not None:
                _put(document[_KEY][number], key, value)
            elif key in document[_KEY][number]:
                del document[_KEY][number][key]

    return _apply(text, change)


def remove_subscription(text: str, name: str) -> str:
    """Return the file without a subscription; comments behind its last key stay.

    Raises:
        UnknownName: there is none of that name.
    """
    names = list_subscriptions(text)
    _require(name, names, "subscription")
    return _apply(text, lambda document: _drop(document, names.index(name)))


def list_subscriptions(text: str) -> list[str]:
    """Return the names of the subscriptions of a file, in its order."""
    return [one["name"] for one in tomllib.loads(text).get(_KEY, [])]


def read_target(text: str) -> str:
    """Return a destination as the file has it; `you@example.org` and `#papers` may stand alone.

    Raises:
        ConfigurationError: it is none.
    """
    word = text.strip()
    if "@" in word and ":" not in word:
        word = f"mailto:{word}"
    return str(read_destination(f"slack:{word}" if word.startswith("#") else word))


def read_assignment(text: str) -> tuple[str, object]:
    """Read `key=value` of a subscription as it is typed; None for the value where nothing stands behind the sign.

    Lists are written `one,two`, or as in TOML.

    Raises:
        UsageError: there is no such key, or no sign.
    """
    key, sign, word = (part.strip() for part in text.partition("="))
    settings = {one.name: one for one in SUBSCRIPTION if one.name != "name"}
    if not sign:
        raise UsageError(f"{text!r} sets nothing", hint="Write key=value, such as show=20.")
    if key not in settings:
        what = "a name is for good; `title` may change" if key == "name" else f"a subscription has no {key!r}"
        raise UsageError(what, hint=suggest(key, settings, "It takes"))
    if word.startswith("["):
        try:
            return key, tomllib.loads(f"value = {word}")["value"]
        except tomllib.TOMLDecodeError:
            return key, word
    if settings[key].read is read_exclusions:  # commas belong to a query
        return key, word or None
    value = parse_variable(word, [] if key in ("follow", "to") else settings[key].default)
    return key, ([*map(read_target, value)] if key == "to" and isinstance(value, list) else value) or None


def compare_texts(before: str, after: str, name: str) -> list[str]:
    """Return what differs between two texts of a file, as the lines of a unified diff."""
    lines = [*difflib.unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (new)", lineterm="")]
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
            f"digest.toml has no {what} {name!r}", hint=suggest(name, names, "There are") or "It has none."
        )


def _as_list(written: object) -> list[str]:
    return list(written) if isinstance(written, list) else [str(written)]


def _spell(text: str, key: str) -> str:
    """Return the one spelling in which texts of a list are compared."""
    return text.strip() if key == "follow" else str(read_destination(text))


def _add_to(there: list[str], added: Iterable[str], key: str) -> list[str]:
    known = {_spell(one, key) for one in there}
    return [*there, *dict.fromkeys(one for one in added if _spell(one, key) not in known)]


def _take_from(there: object, removed: Iterable[str], key: str, name: str) -> list[str]:
    """Return what is left.

    Raises:
        UsageError: something is not there, or nothing is left.
    """
    left = {_spell(one, key): one for one in _as_list(there)}
    verb = "follow" if key == "follow" else "go to"
    for one in removed:
        if left.pop(_spell(one, key), None) is None:
            has = ", ".join(map(str, _as_list(there)))
            raise UsageError(f"{name} does not {verb} {one}", hint=f"It does {verb} {has}.")
    if not left:
        raise UsageError(
            f"{name} would {verb} nothing any more" if key == "follow" else f"{name} would go nowhere any more",
            hint=f"Add something in the same call, or: `digest subscription remove {name}`.",
        )
    return list(left.values())


def _apply(text: str, change: Change) -> str:
    """Make a change in a text.

    Raises:
        ConfigurationError: the text is written in a way that tomlkit can't change.
    """
    text = text if text.endswith("\n") or not text else f"{text}\n"
    plain = tomllib.loads(text)
    change(plain)
    try:
        document = tomlkit.parse(text)
        is_whole = document.as_string() == text  # else tomlkit moves tables and their comments
        change(document)
        written = document.as_string()
        if is_whole and tomllib.loads(written) == plain:
            return written
    except (TOMLKitError, tomllib.TOMLDecodeError):
        pass
    raise ConfigurationError(
        "digest.toml is written in a way that no command can change", hint="Edit it by hand instead."
    )


def _find_table(document: MutableMapping[str, Any], key: str) -> MutableMapping[str, Any]:
    if key not in document:
        if isinstance(document, tomlkit.TOMLDocument):
            document.add(tomlkit.nl())
            document[key] = tomlkit.table()
        else:
            document[key] = {}
    found: MutableMapping[str, Any] = document[key]
    return found


def _put(table: MutableMapping[str, Any], key: str, value: object) -> None:
    """Write a value: in the line where the key stands, else in one below the last key."""
    old = table.get(key)
    if isinstance(old, list) and isinstance(value, list | tuple):  # one by one, for the comments between them
        for one in [one for one in old if one not in value]:
            old.remove(one)
        for one in value:
            if one not in old:
                old.append(one)
    elif not isinstance(table, Table | InlineTable):
        table[key] = value
    elif key in table or isinstance(table, InlineTable):
        table[key] = tomlkit.value(write_toml(value))
    else:
        tail = _cut_tail(table)
        table[key] = tomlkit.value(write_toml(value))
        table.value.body.extend(tail)


def _cut_tail(table: Table) -> list[Any]:
    """Take off what stands behind a table's last key: it may be about what comes next."""
    body = table.value.body
    end = max((number for number, (key, _) in enumerate(body, 1) if key is not None), default=0)
    tail = body[end:]
    del body[end:]
    return tail


def _append(document: MutableMapping[str, Any], values: Mapping[str, object]) -> None:
    tables = document.get(_KEY)
    if not isinstance(document, tomlkit.TOMLDocument) or not (tables is None or isinstance(tables, AoT)):
        document.setdefault(_KEY, []).append(dict(values))
        return
    block = tomlkit.table()
    for key, value in values.items():
        block[key] = tomlkit.value(write_toml(value))
    written = document.as_string() if tables is None else tables[-1].as_string()
    if written.strip() and not written.endswith("\n\n"):
        block.trivia.indent = "\n"
    elif tables is not None:
        block.value.body.append((None, Whitespace("\n")))
    if tables is None:
        tables = document[_KEY] = tomlkit.aot()
    tables.append(block)


def _drop(document: MutableMapping[str, Any], number: int) -> None:
    tables = document[_KEY]
    if not isinstance(document, tomlkit.TOMLDocument) or not isinstance(tables, AoT):
        del tables[number]
        if not tables:
            del document[_KEY]
        return
    tail = Whitespace("".join(item.as_string() for _, item in _cut_tail(tables[number])).lstrip("\n"))
    place = next(at for at, (key, _) in enumerate(document.body) if key is not None and key.key == _KEY)
    if len(tables) == 1:
        document.body[place] = (None, tail)
        return
    del tables[number]
    if number:
        tables[number - 1].value.body.append((None, tail))
    else:
        document.body.insert(place, (None, tail))
