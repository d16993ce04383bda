"""From `digest.toml` and the environment to one checked `Config`.

The environment beats the file, the file beats the default. All that is wrong is found before
anything is raised, so that one check mends it all. A saved query's text is not judged here: one
that can't be read must never stop the others.

No library reads the settings. pydantic doubles the time a command needs to start; msgspec names the
first mistake alone, and neither knows the nearest key or keeps a hint.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from digest.config.addresses import choose_proxy, expand_home, read_members
from digest.config.contradictions import judge_settings, warn_of_needs
from digest.config.declarations import variable_of
from digest.config.display import write_toml
from digest.config.draft import CONFIG_VARIABLE, DEFAULT_ORIGIN, ConfigDraft
from digest.config.settings import (
    INCOMING,
    INHERITED,
    NAMING,
    QUERY,
    SETTINGS,
    SUBSCRIPTION,
    TABLES,
    WEBHOOK,
    Config,
    Webhook,
)
from digest.config.values import complete_word, describe_type, read_name, refuse_repeats, suggest
from digest.model.cadences import Cadence, CadenceKind, QuietHours
from digest.model.destinations import Destination, DestinationKind, Medium
from digest.model.errors import ConfigurationError
from digest.model.subscriptions import SavedQuery, Subscription

FILE_NAME = "digest.toml"

ONLY = "digest"
"""The name of the only subscription, whose settings are at the top of the file."""

_OTHER_KEYS = ("queries", "subscriptions", "webhooks", *(one.table for one in INCOMING.values()))
"""Tables of the operator's own names."""

_EXAMPLE = (
    'Write [[subscriptions]] with name = "perf-team", follow = "cat:cs.PF", to = "slack:#papers".'
)


def load_config(
    path: Path | None,
    environ: Mapping[str, str],
    *,
    folder: Path | None = None,
    content: bytes | None = None,
) -> Config:
    """Read the configuration, without a path that of defaults and environment.

    `folder` is what relative paths count from without a file, `content` what the file is about to
    hold. One error names all that is wrong.
    """
    folder = path.absolute().parent if path is not None else (folder or Path.cwd())
    draft = ConfigDraft(read_document(path, content), path, environ, folder)
    parts = {table: _read_part(draft, table) for table in TABLES}
    _take_from_sender(draft, parts)
    saved = _read_queries(draft)
    names = [query.name for query in saved]
    subscriptions = _read_subscriptions(draft, names)
    queries = (*saved, *_list_unnamed(subscriptions, names))
    written: list[Destination] = []
    for subscription in subscriptions:
        written += subscription.destinations
    written += draft.values["alarms.to"]
    incoming = {kind: MappingProxyType(_read_incoming(draft, kind, written)) for kind in INCOMING}
    webhooks = _read_webhooks(draft, written)
    draft.judge_variables()
    judge_settings(draft, len(queries), subscriptions, written)
    warn_of_needs(draft, written)
    draft.raise_mistakes()
    tables = {table: TABLES[table](**given) for table, given in parts.items() if table}
    proxy = draft.values["network.proxy"]
    return Config(
        **parts[""],
        **tables,
        incoming=MappingProxyType(incoming),
        webhooks=MappingProxyType(webhooks),
        queries=queries,
        subscriptions=subscriptions,
        path=path,
        folder=draft.folder,
        warnings=tuple(draft.warnings),
        origins=MappingProxyType(draft.origins),
        given=MappingProxyType(draft.given),
        hidden=MappingProxyType(draft.hidden),
        choose_proxy=partial(choose_proxy, environ, proxy, draft.origins["network.proxy"]),
    )


def read_document(path: Path | None, content: bytes | None = None) -> dict[str, Any]:
    """Read a configuration file, or what it is about to hold; without a path it is empty."""
    if path is None:
        return {}
    try:
        held = path.read_bytes() if content is None else content
        return tomllib.loads(held.decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"there is no {path}",
            hint="`digest init` makes one. Or name yours: `digest --config FILE …`.",
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{path} can't be read: {error.strerror or error}",
            hint="Check the path and its permissions.",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path} is not UTF-8 text", hint="Save the file as UTF-8."
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _explain_toml(path, str(error)) from error


def _explain_toml(path: Path, said: str) -> ConfigurationError:
    """Return the error for a file that is no TOML, in words for those who don't know TOML."""
    said = said.replace("Illegal character '\\n'", 'a text without a " at its end')
    said = said.replace("maximum recursion depth exceeded", "its brackets are nested too deeply")
    if "Unescaped" in said or "hex value" in said:
        hint = r"A text with \ goes into single quotes: library = 'C:\papers\lab.bib'."
    elif "Cannot overwrite" in said or "Cannot declare" in said:
        hint = "The same key or table is there twice; subscriptions begin with [[subscriptions]]."
    else:
        hint = 'Text is in quotes: name = "value"; lists in brackets: ["new", "cross-listed"].'
    return ConfigurationError(f"{path}: {said}", hint=hint)


def _read_part(draft: ConfigDraft, table: str) -> dict[str, Any]:
    """Read a table of single settings into the attributes of its class.

    The table is "" for what is above all tables.
    """
    settings = [setting for setting in SETTINGS if setting.table == table]
    if table:
        written = draft.data.get(table)
        inside = f"{table}."
        incoming = [one.table for one in INCOMING.values() if one.table.startswith(inside)]
        others = [name.removeprefix(inside) for name in incoming]
    else:
        written = draft.data
        others = [*filter(None, TABLES), *_OTHER_KEYS, *_list_top_keys(draft.data)]
    read = draft.read_table(table, written, settings, others=others)
    return {setting.field: read[setting.name] for setting in settings}


def _take_from_sender(draft: ConfigDraft, parts: dict[str, dict[str, Any]]) -> None:
    """Fill in what follows from the sender's address if nothing else is said."""
    sender = draft.values["mail.from"]
    if not draft.values["arxiv.contact"]:
        draft.values["arxiv.contact"] = sender
        parts["arxiv"]["contact"] = sender
    if not draft.values["mail.helo"]:
        parts["mail"]["helo"] = sender.rpartition("@")[2]
    for key in ("arxiv.contact", "mail.helo"):
        if "mail.from" in draft.hidden and draft.origins[key] == DEFAULT_ORIGIN:
            draft.hidden[key] = draft.hidden["mail.from"]


def _read_queries(draft: ConfigDraft) -> tuple[SavedQuery, ...]:
    table = draft.check_table("queries", draft.data.get("queries"))
    names = _check_names(draft, "queries", table)
    settings = [replace(QUERY, name=name) for name in names]
    texts = draft.read_table("queries", table, settings, others=table, inherited={})
    return tuple(SavedQuery(name, text) for name, text in texts.items() if text is not None)


def _list_unnamed(
    subscriptions: Iterable[Subscription], names: Collection[str]
) -> Iterator[SavedQuery]:
    """Yield the texts that subscriptions follow in place of names, as saved queries; each once."""
    followed: dict[str, None] = {}
    for subscription in subscriptions:
        followed |= dict.fromkeys(subscription.queries)
    for name in names:
        followed.pop(name, None)
    for text in followed:
        yield SavedQuery(text, text)


def _read_subscriptions(draft: ConfigDraft, queries: Collection[str]) -> tuple[Subscription, ...]:
    """Read the subscriptions, in the file's order; `queries` are the saved queries' names."""
    tables = draft.data.get("subscriptions", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        said = f"must be a list of tables, not {describe_type(tables)}"
        draft.complain("subscriptions", said, _EXAMPLE)
        return ()
    found = []
    only = list_only(draft.data)
    if only:
        only = {"name": ONLY, **only}
        found.append(_read_subscription(draft, "", only, queries))
        if tables:
            _refuse_only(draft, only)
    for number, table in enumerate(tables, 1):
        name = table.get("name")
        is_named = isinstance(name, str) and name
        key = f"subscriptions.{name}" if is_named else f"subscriptions no. {number}"
        found.append(_read_subscription(draft, key, table, queries))
    read = tuple(subscription for subscription in found if subscription is not None)
    uses = Counter(subscription.name for subscription in read)
    for name in sorted(name for name in uses if uses[name] > 1):
        draft.complain(
            f"subscriptions.{name}.name",
            f"two subscriptions have the name {name!r}",
            "Give each subscription a name of its own.",
        )
    return read


def _refuse_only(draft: ConfigDraft, only: Mapping[str, Any]) -> None:
    """Report that a subscription stands at the top of a file that has tables of them, too."""
    lines = ["[[subscriptions]]"]
    lines += [f"{key} = {write_toml(value)}" for key, value in only.items()]
    below = "\n".join(lines)
    keys = [*only][1:]  # without its name
    draft.complain(
        keys[0],
        f"[[subscriptions]] is there, too, so {', '.join(keys)} can't be at the top of the file",
        f"Write instead, below all else:\n{below}",
    )


def list_only(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says at its top of its only subscription."""
    return {name: data[name] for name in _list_top_keys(data) if name in data}


def _list_top_keys(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of a subscription that a file can have at its top.

    Beside tables of subscriptions there are none, unless one is clearly meant.
    """
    is_meant = "subscriptions" not in data or {"follow", "to"} & data.keys()
    return [setting.name for setting in SUBSCRIPTION] if is_meant else []


def _read_subscription(
    draft: ConfigDraft, key: str, table: dict[str, Any], queries: Collection[str]
) -> Subscription | None:
    """Read one subscription; None if something in it is wrong."""
    prefix = f"{key}." if key else ""
    inherited = {setting.name: draft.values[setting.key] for setting in INHERITED.values()}
    values = draft.read_table(key, table, SUBSCRIPTION, inherited=inherited)
    for name in NAMING:
        _refuse_words(draft, f"{prefix}{name}", values[name] or (), queries)
    written = values.pop("to") or ()
    draft.read(f"{prefix}to", map(str, written), refuse_repeats)
    readers = _list_readers(draft, f"{prefix}to", written)
    destinations = tuple(dict.fromkeys(readers))
    cadence = values.pop("when")
    quiet_hours = values.pop("quiet_hours") or None
    if quiet_hours is not None:
        _require_zone(draft, f"{prefix}quiet_hours", quiet_hours, cadence)
    if draft.wrong.intersection(f"{prefix}{setting.name}" for setting in SUBSCRIPTION):
        return None
    return Subscription(
        queries=values.pop("follow"),
        destinations=destinations,
        cadence=cadence,
        quiet_hours=quiet_hours,
        **values,
    )


def _require_zone(draft: ConfigDraft, key: str, quiet: QuietHours, cadence: Cadence) -> None:
    """Report quiet hours that nothing gives a time zone."""
    if not quiet.zone and cadence.kind is not CadenceKind.CLOCK:
        draft.complain(
            key,
            f"needs a time zone, because {str(cadence)!r} has none",
            f'Write "{quiet} Europe/Berlin", or "" for no quiet hours.',
        )


def _refuse_words(
    draft: ConfigDraft, key: str, texts: Iterable[str], queries: Collection[str]
) -> None:
    """Report texts that are no query, but a word: the name of a saved query that is not there."""
    for text in texts:
        query = "" if text in queries else complete_word(text)
        if query:
            near = suggest(text, queries, "")
            hint = f'{near} A query says where to look: "{query}".'
            draft.complain(key, f"there is no saved query {text!r}", hint.lstrip())


def _list_readers(
    draft: ConfigDraft, key: str, destinations: Iterable[Destination]
) -> Iterator[Destination]:
    """Yield destinations, those of a file of addresses in its place.

    Lines of such a file that hold no address are named, and left out.
    """
    for destination in destinations:
        if not destination.is_member_list:
            yield destination
            continue
        name = destination.address[1:]
        read = draft.read(key, name, lambda name: read_members(draft.folder / expand_home(name)))
        draft.origins[key] += f", {name}"
        if read is not None:
            draft.warnings += read.wrong
            yield from read.members


def _read_incoming(
    draft: ConfigDraft, kind: DestinationKind, destinations: Iterable[Destination]
) -> dict[str, str]:
    """Return name → URL of incoming webhooks: the file's, and what destinations name."""
    setting = INCOMING[kind]
    key = setting.table
    table = draft.check_table(key, _find_written(draft.data, key))
    used = {place.address for place in destinations if place.kind is kind}
    names = _list_names(draft, key, table, used)
    settings = [replace(setting, name=name) for name in names]
    urls = draft.read_table(key, table, settings, others=table)
    for name, url in urls.items():
        if not url and f"{key}.{name}" not in draft.wrong:
            variable = variable_of(f"{key}.{name}")
            draft.warnings.append(f"{kind}:{name} has no URL: set {variable} or {variable}_FILE")
    return {name: url for name, url in urls.items() if url}


def _find_written(data: Mapping[str, Any], key: str) -> object:
    """Return what a file says under a key such as `slack.webhooks`; None for nothing."""
    written: object = data
    for name in key.split("."):
        written = written.get(name) if isinstance(written, dict) else None
    return written


def _read_webhooks(draft: ConfigDraft, destinations: Iterable[Destination]) -> dict[str, Webhook]:
    """Return name → webhook: the file's, and those that destinations name and variables give."""
    found = {}
    table = draft.check_table("webhooks", draft.data.get("webhooks"))
    used = {place.address for place in destinations if place.traits.medium is Medium.EVENT}
    for name in _list_names(draft, "webhooks", table, used):
        key = f"webhooks.{name}"
        values = draft.read_table(key, table.get(name), WEBHOOK)
        missing = [f"{key}.{part}" for part, value in values.items() if not value]
        if not missing:
            found[name] = Webhook(**values)
        elif not draft.wrong.intersection(missing):
            variables = " and ".join(map(variable_of, missing))
            draft.warnings.append(f"webhook:{name} needs {' and '.join(missing)}: set {variables}")
    return found


def _list_names(draft: ConfigDraft, key: str, table: Collection[str], used: set[str]) -> list[str]:
    """Return the names of a table, then those that destinations use and variables may fill in."""
    others = sorted(used.difference(table))
    return _check_names(draft, key, [*table, *others])


def _check_names(draft: ConfigDraft, key: str, names: Iterable[str]) -> list[str]:
    """Return those of the operator's names that can be one; the others are reported."""
    return [name for name in names if draft.read(f"{key}.{name}", name, read_name) is not None]


def find_config(option: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> Path:
    """Return the file to read: the command line's, the one in DIGEST_CONFIG, or ./digest.toml.

    Whether it is there is found out when it is read.
    """
    return Path(option or environ.get(CONFIG_VARIABLE) or FILE_NAME)


def read_environment() -> dict[str, str]:
    """Return the process's environment, for the functions that take one."""
    return dict(os.environ)


def find_state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder where a command without a database keeps the pace of its requests.

    Follows the XDG base directory specification, which ignores relative paths; made if missing.
    """
    base = Path(environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        home = environ.get("HOME") or Path.home()
        base = Path(home) / ".local" / "state"
    folder = base / "digest"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be made: {error.strerror}",
            hint="Set XDG_STATE_HOME to a folder that can be written.",
        ) from error
    return folder


def open_config(option: str | os.PathLike[str] | None = None) -> Config:
    """Find and read the configuration of this process; the command line's file is `option`."""
    environ = read_environment()
    return load_config(find_config(option, environ), environ)


def open_config_or_defaults(option: str | os.PathLike[str] | None = None) -> Config:
    """Read the configuration, of defaults and environment alone where there is no file."""
    environ = read_environment()
    path = find_config(option, environ)
    is_named = bool(option or environ.get(CONFIG_VARIABLE))
    return load_config(path if is_named or path.exists() else None, environ)
