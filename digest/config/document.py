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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from digest.config.addresses import (
    choose_proxy,
    expand_home,
    find_remote_hosts,
    is_loopback,
    read_members,
)
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
    variable_of,
)
from digest.config.values import complete_word, describe_type, read_name, refuse_repeats, suggest
from digest.model.cadences import CadenceKind
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import ConfigurationError
from digest.model.polls import MOST_SEARCHED
from digest.model.subscriptions import SavedQuery, Subscription

FILE_NAME = "digest.toml"

ONLY = "digest"
"""The name of the only subscription, whose settings are at the top of the file."""

_OTHER_KEYS = ("queries", "subscriptions", "webhooks", *(one.table for one in INCOMING.values()))
"""Tables of the operator's own names."""

_ARXIV_KEYS = ("arxiv.api_url", "arxiv.oai_url")
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
    """Read the configuration; without a path, of defaults and environment. One error names all that is wrong.

    `folder` is what relative paths count from without a file, `content` what the file is about to
    hold.
    """
    folder = path.absolute().parent if path is not None else (folder or Path.cwd())
    draft = ConfigDraft(read_document(path, content), path, environ, folder)
    parts = {table: _read_part(draft, table) for table in TABLES}
    if not draft.values["arxiv.contact"]:
        parts["arxiv"]["contact"] = draft.values["arxiv.contact"] = draft.values["mail.from"]
    parts["mail"]["helo"] = (
        draft.values["mail.helo"] or draft.values["mail.from"].rpartition("@")[2]
    )
    for key in ("arxiv.contact", "mail.helo"):
        if "mail.from" in draft.hidden and draft.origins[key] == DEFAULT_ORIGIN:
            draft.hidden[key] = draft.hidden["mail.from"]
    queries = _read_queries(draft)
    subscriptions = _read_subscriptions(draft, [query.name for query in queries])
    named = {query.name for query in queries}
    texts = dict.fromkeys(
        text for one in subscriptions for text in one.queries if text not in named
    )
    queries = (*queries, *(SavedQuery(text, text) for text in texts))
    written = [to for one in subscriptions for to in one.destinations] + [
        *draft.values["alarms.to"]
    ]
    incoming = {kind: MappingProxyType(_read_incoming(draft, kind, written)) for kind in INCOMING}
    webhooks = _read_webhooks(draft, written)
    draft.judge_variables()
    for mistake in _find_contradictions(draft, len(queries), subscriptions, written):
        draft.complain(*mistake)
    draft.warnings += _list_needs(draft, written)
    draft.raise_mistakes()
    return Config(
        **parts[""],
        **{table: TABLES[table](**given) for table, given in parts.items() if table},
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
        choose_proxy=partial(
            choose_proxy, environ, draft.values["network.proxy"], draft.origins["network.proxy"]
        ),
    )


def read_document(path: Path | None, content: bytes | None = None) -> dict[str, Any]:
    """Read a configuration file, or what it is about to hold; without a path it is empty."""
    if path is None:
        return {}
    try:
        return tomllib.loads(
            (path.read_bytes() if content is None else content).decode("utf-8-sig")
        )
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
        said = (
            str(error)
            .replace("Illegal character '\\n'", 'a text without a " at its end')
            .replace("maximum recursion depth exceeded", "its brackets are nested too deeply")
        )
        hint = 'Text is in quotes: name = "value"; lists in brackets: ["new", "cross-listed"].'
        if "Unescaped" in said or "hex value" in said:
            hint = r"A text with \ goes into single quotes: library = 'C:\papers\lab.bib'."
        elif "Cannot overwrite" in said or "Cannot declare" in said:
            hint = (
                "The same key or table is there twice; subscriptions begin with [[subscriptions]]."
            )
        raise ConfigurationError(f"{path}: {said}", hint=hint) from error


def _read_part(draft: ConfigDraft, table: str) -> dict[str, Any]:
    """Read a table of single settings into the attributes of its class; "" for what is above all tables."""
    settings = [setting for setting in SETTINGS if setting.table == table]
    others = {
        "": [*filter(None, TABLES), *_OTHER_KEYS, *_list_top_keys(draft.data)],
        "slack": ["webhooks"],
    }.get(table, [])
    read = draft.read_table(
        table, draft.data.get(table) if table else draft.data, settings, others=others
    )
    return {setting.field: read[setting.name] for setting in settings}


def _read_queries(draft: ConfigDraft) -> tuple[SavedQuery, ...]:
    table = draft.check_table("queries", draft.data.get("queries"))
    names = _check_names(draft, "queries", table)
    texts = draft.read_table(
        "queries", table, [replace(QUERY, name=name) for name in names], others=table, inherited={}
    )
    return tuple(SavedQuery(name, text) for name, text in texts.items() if text is not None)


def _read_subscriptions(draft: ConfigDraft, queries: Collection[str]) -> tuple[Subscription, ...]:
    """Read the subscriptions, in the file's order; `queries` are the saved queries' names."""
    tables = draft.data.get("subscriptions", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        draft.complain(
            "subscriptions", f"must be a list of tables, not {describe_type(tables)}", _EXAMPLE
        )
        return ()
    found = []
    if only := list_only(draft.data):
        only = {"name": ONLY, **only}
        found.append(_read_subscription(draft, "", only, queries))
    if only and tables:
        lines = "\n".join(
            ["[[subscriptions]]", *(f"{key} = {write_toml(value)}" for key, value in only.items())]
        )
        draft.complain(
            str([*only][1]),
            f"[[subscriptions]] is there, too, so {', '.join([*only][1:])} can't be at the top of "
            "the file",
            f"Write instead, below all else:\n{lines}",
        )
    for number, table in enumerate(tables, 1):
        name = table.get("name")
        key = (
            f"subscriptions.{name}"
            if isinstance(name, str) and name
            else f"subscriptions no. {number}"
        )
        found.append(_read_subscription(draft, key, table, queries))
    names = [one.name for one in found if one]
    for double in sorted({name for name in names if names.count(name) > 1}):
        draft.complain(
            f"subscriptions.{double}.name",
            f"two subscriptions have the name {double!r}",
            "Give each subscription a name of its own.",
        )
    return tuple(subscription for subscription in found if subscription is not None)


def list_only(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says at its top of its only subscription."""
    return {name: data[name] for name in _list_top_keys(data) if name in data}


def _list_top_keys(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of a subscription that a file can have at its top: beside others, only if one is meant."""
    is_meant = "subscriptions" not in data or {"follow", "to"} & data.keys()
    return [one.name for one in SUBSCRIPTION] if is_meant else []


def _read_subscription(
    draft: ConfigDraft, key: str, table: dict[str, Any], queries: Collection[str]
) -> Subscription | None:
    """Read one subscription; None if something in it is wrong."""
    prefix = f"{key}." if key else ""
    inherited = {one.name: draft.values[one.key] for one in INHERITED.values()}
    values = draft.read_table(key, table, SUBSCRIPTION, inherited=inherited)
    for name in NAMING:
        for word in values[name] or ():
            if word not in queries and (text := complete_word(word)):
                hint = (
                    f'{suggest(word, queries, "")} A query says where to look: "{text}".'.lstrip()
                )
                draft.complain(f"{prefix}{name}", f"there is no saved query {word!r}", hint)
    draft.read(f"{prefix}to", map(str, values["to"] or ()), refuse_repeats)
    values["to"] = tuple(dict.fromkeys(_list_readers(draft, f"{prefix}to", values["to"] or ())))
    cadence, quiet_hours = values.pop("when"), values.pop("quiet_hours") or None
    if quiet_hours is not None and not quiet_hours.zone and cadence.kind is not CadenceKind.CLOCK:
        draft.complain(
            f"{prefix}quiet_hours",
            f"needs a time zone, because {str(cadence)!r} has none",
            f'Write "{quiet_hours} Europe/Berlin", or "" for no quiet hours.',
        )
    if draft.wrong.intersection(f"{prefix}{one.name}" for one in SUBSCRIPTION):
        return None
    return Subscription(
        queries=values.pop("follow"),
        destinations=values.pop("to"),
        cadence=cadence,
        quiet_hours=quiet_hours,
        **values,
    )


def _list_readers(
    draft: ConfigDraft, key: str, destinations: Iterable[Destination]
) -> Iterator[Destination]:
    """Yield destinations, those of a file of addresses in its place; odd lines are named and left out."""
    for destination in destinations:
        if destination.kind is not DestinationKind.MAIL or not destination.address.startswith("@"):
            yield destination
            continue
        read = draft.read(
            key,
            destination.address[1:],
            lambda name: read_members(draft.folder / expand_home(name)),
        )
        found, wrong = read or ([], [])
        draft.origins[key] += f", {destination.address[1:]}"
        draft.warnings += wrong
        yield from found


def _read_incoming(
    draft: ConfigDraft, kind: DestinationKind, destinations: Iterable[Destination]
) -> dict[str, str]:
    """Return name → URL: the incoming webhooks of the file, and those that destinations name, from variables."""
    setting = INCOMING[kind]
    key = setting.table
    outer, _, inner = key.rpartition(".")
    above = draft.data.get(outer) if outer else draft.data
    table = draft.check_table(key, above.get(inner) if isinstance(above, dict) else None)
    names = _list_webhooks(draft, key, table, destinations, kind)
    urls = draft.read_table(
        key, table, [replace(setting, name=name) for name in names], others=table
    )
    for name, url in urls.items():
        if not url and f"{key}.{name}" not in draft.wrong:
            variable = variable_of(f"{key}.{name}")
            draft.warnings.append(f"{kind}:{name} has no URL: set {variable} or {variable}_FILE")
    return {name: url for name, url in urls.items() if url}


def _read_webhooks(draft: ConfigDraft, destinations: Iterable[Destination]) -> dict[str, Webhook]:
    """Return name → webhook: those of the file, and those that destinations name and variables give."""
    found = {}
    table = draft.check_table("webhooks", draft.data.get("webhooks"))
    for name in _list_webhooks(draft, "webhooks", table, destinations, DestinationKind.WEBHOOK):
        key = f"webhooks.{name}"
        values = draft.read_table(key, table.get(name), WEBHOOK)
        missing = [f"{key}.{one}" for one, value in values.items() if not value]
        if not missing:
            found[name] = Webhook(**values)
        elif not draft.wrong.intersection(missing):
            variables = " and ".join(map(variable_of, missing))
            draft.warnings.append(f"webhook:{name} needs {' and '.join(missing)}: set {variables}")
    return found


def _list_webhooks(
    draft: ConfigDraft,
    key: str,
    table: Iterable[str],
    destinations: Iterable[Destination],
    kind: DestinationKind,
) -> list[str]:
    wanted = {one.address for one in destinations if one.kind is kind}
    return _check_names(draft, key, [*table, *sorted(wanted - {*table})])


def _check_names(draft: ConfigDraft, key: str, names: Iterable[str]) -> list[str]:
    """Return those of the operator's names that can be one; the others are reported."""
    return [name for name in names if draft.read(f"{key}.{name}", name, read_name) is not None]


def _find_contradictions(  # noqa: C901, PLR0912 - one case for each mistake
    draft: ConfigDraft,
    queries: int,
    subscriptions: Iterable[Subscription],
    destinations: Collection[Destination],
) -> Iterator[tuple[str, str, str]]:
    """Yield key, mistake and hint if settings contradict one another, or lack what others need."""
    values = draft.values
    is_reachable = values["arxiv.contact"] or all(is_loopback(values[key]) for key in _ARXIV_KEYS)
    has_from = values["mail.from"] or "mail.from" in draft.wrong
    if not has_from and any(one.kind is DestinationKind.MAIL for one in destinations):
        yield (
            "mail.from",
            "is missing, but there are mailto: destinations",
            'Write mail.from = "…" at the top of the file.',
        )
    elif draft.path and not is_reachable and not {"arxiv.contact", "mail.from"} & draft.wrong:
        hint = "Write your mail address or web page: arXiv can write to you before it blocks you."
        yield "arxiv.contact", "is empty", f"{hint} With mail.from, that address is taken."
    if values["store.git_branch"] and draft.origins["store.url"] != DEFAULT_ORIGIN:
        yield "store.url", "is set, and so is store.git_branch", "Remove one of the two."
    if values["arxiv.source"] == "query" and queries > MOST_SEARCHED:
        yield (
            "arxiv.source",
            f'is "query", and there are {queries:,} saved queries: arXiv\'s search is asked for {MOST_SEARCHED}',
            'Write source = "harvest": that is enough for any number of them.',
        )
    server = urlsplit(values["mail.smtp"])
    if values["mail.password"] and not server.username:
        yield (
            "mail.smtp",
            "has no user name for the password",
            "Write the name before the host: smtp+starttls://name@host:587.",
        )
    if server.username and server.scheme == "smtp" and not is_loopback(values["mail.smtp"]):
        yield (
            "mail.smtp",
            "would send the password unencrypted",
            "Write smtp+starttls://… or smtps://…",
        )
    # People who subscribe by themselves confirm by a mail that links to a page.
    if (
        values["web.signup"]
        and not values["web.signup"].is_off
        and "web.base_url" not in draft.wrong
    ):
        if not values["web.base_url"]:
            yield (
                "web.signup",
                "lets people subscribe, but web.base_url is missing, so no mail could link to a "
                "page",
                'Write base_url = "https://…" under [web].',
            )
        elif not values["mail.from"]:
            yield (
                "web.signup",
                "lets people subscribe, but mail.from is missing, so nobody could confirm",
                'Write from = "…" and smtp = "…" under [mail].',
            )
    templates, ca_file = values["templates"], values["mail.ca_file"]
    if templates is not None and not templates.is_dir():
        yield (
            "templates",
            f"there is no folder {templates}",
            "Make the folder, or remove `templates`.",
        )
    if ca_file is not None and not ca_file.is_file():
        yield (
            "mail.ca_file",
            f"there is no file {ca_file}",
            "Name a PEM file, or remove `mail.ca_file`.",
        )
    owners: dict[str, str] = {}
    for subscription in subscriptions:
        if subscription.shared and subscription.joinable:
            yield (
                f"subscriptions.{subscription.name}.shared",
                "can't be joined by single people",
                "Take out `joinable` or `shared`.",
            )
        files = (
            one
            for one in subscription.destinations
            if one.kind is DestinationKind.FILE and one.is_pulled
        )
        for destination in files:
            owner = owners.setdefault(str(destination), subscription.name)
            if owner != subscription.name:
                yield (
                    f"subscriptions.{subscription.name}.to",
                    f"{destination} is also written by {owner}",
                    "Choose another file; `digest add` takes it with --to.",
                )
    outside = [key for key, url in _list_outside(draft, destinations) if not is_loopback(url)]
    if (
        values["test_clock"] and outside
    ):  # months pass in minutes: nobody outside must be asked or written to
        yield (
            "test_clock",
            f"needs all addresses on this machine; these are not: {', '.join(outside)}",
            "Unset DIGEST_TEST_CLOCK, or point all of them at 127.0.0.1.",
        )


def _list_needs(draft: ConfigDraft, destinations: Iterable[Destination]) -> Iterator[str]:
    """Yield what is allowed, and should still be mended before the first message."""
    url, server = draft.values["store.url"], urlsplit(draft.values["mail.smtp"])
    if (
        url.startswith("postgresql:")
        and "sslmode=" not in url
        and (hosts := find_remote_hosts(url))
    ):
        yield f"the connection to {', '.join(hosts)} is not secure: add ?sslmode=verify-full to store.url"
    if server.username and not draft.values["mail.password"]:
        yield (
            f"mail.smtp logs in as {server.username!r} and needs a password: "
            "set DIGEST_MAIL_PASSWORD, or name its file with mail.password_file"
        )
    if not draft.values["slack.token"] and any(
        one.kind is DestinationKind.SLACK for one in destinations
    ):
        yield "slack: destinations need a token: set DIGEST_SLACK_TOKEN, or name its file with slack.token_file"


def _list_outside(
    draft: ConfigDraft, destinations: Iterable[Destination]
) -> Iterator[tuple[str, str]]:
    """Yield key and address of all that may be reached; Slack only if something could be posted there."""
    for key in ("test_clock", *_ARXIV_KEYS, "mail.smtp", "web.base_url", "alarms.ping_url"):
        yield key, draft.values[key]
    if draft.values["slack.token"] or any(
        one.kind is DestinationKind.SLACK for one in destinations
    ):
        yield "slack.url", draft.values["slack.url"]
    if draft.values["zotero.key"]:
        yield "zotero.url", draft.values["zotero.url"]
    for key, value in draft.values.items():
        is_incoming = key.startswith(tuple(f"{setting.table}." for setting in INCOMING.values()))
        if is_incoming or (key.startswith("webhooks.") and key.endswith(".url")):
            yield key, value


def find_config(option: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> Path:
    """Return the file to read: the one named on the command line, in DIGEST_CONFIG, or ./digest.toml.

    Whether it is there is found out when it is read.
    """
    return Path(option or environ.get(CONFIG_VARIABLE) or FILE_NAME)


def read_environment() -> dict[str, str]:
    """Return the process's environment, for the functions that take one."""
    return dict(os.environ)


def find_state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for what a command without a database must remember: the pace of its requests.

    Follows the XDG base directory specification, which ignores relative paths; made if missing.
    """
    named = Path(environ.get("XDG_STATE_HOME", ""))
    base = (
        named
        if named.is_absolute()
        else Path(environ.get("HOME") or Path.home()) / ".local" / "state"
    )
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
    """Find and read the configuration of this process; `option` is the file named on the command line."""
    environ = read_environment()
    return load_config(find_config(option, environ), environ)


def open_config_or_defaults(option: str | os.PathLike[str] | None = None) -> Config:
    """Read the configuration; without any file, defaults and environment, for commands that need none."""
    environ = read_environment()
    path = find_config(option, environ)
    is_named = bool(option or environ.get(CONFIG_VARIABLE))
    return load_config(path if is_named or path.exists() else None, environ)
