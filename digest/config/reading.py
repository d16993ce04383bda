"""From `digest.toml` and the environment to one checked `Config`.

The environment beats the file, the file beats the default. All that is wrong is found before anything
is raised, so that one look mends it all. A saved query's text is not judged here: one that can't be
read must never stop the others.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from digest.config import settings as parts
from digest.config.addresses import mask_password
from digest.config.checks import check_together
from digest.config.document import read_document
from digest.config.environment import Environment
from digest.config.hooks import find_lacking, read_hooks
from digest.config.problems import Place, Problems, suggest
from digest.config.progress import DEFAULT_ORIGIN, Reading
from digest.config.subscribing import read_queries, read_subscriptions
from digest.config.table import OTHER_KEYS, SETTINGS, TABLES, WEBHOOKS, Secrecy, Setting
from digest.config.values import describe_type
from digest.config.webhooks import read_webhooks
from digest.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping


def load_config(path: Path | None, environ: Mapping[str, str], *, folder: Path | None = None) -> parts.Config:
    """Read the configuration.

    Args:
        path: the file; None for a configuration of defaults and environment alone.
        environ: environment variables.
        folder: what relative paths count from where there is no file.

    Raises:
        ConfigurationError: the file isn't there or isn't TOML; or everything that is wrong in it, at once.
    """
    document = read_document(path)
    start = path.absolute().parent if path is not None else (folder or Path.cwd())
    problems = Problems("the environment" if path is None else str(path))
    reading = Reading(document, Environment(environ, start, problems), start, problems)
    for setting in SETTINGS:
        _read_setting(reading, setting)
    _refuse_strangers(reading)
    queries = read_queries(reading)
    subscriptions = read_subscriptions(reading, [query.name for query in queries])
    webhooks = read_webhooks(reading, subscriptions)
    told = [destination for subscription in subscriptions for destination in subscription.destinations]
    told += reading.values["alarms.to"]
    hooks = read_hooks(reading, told)
    lacking = find_lacking(reading, hooks, told)
    reading.warnings += [
        f"{name} is set, but Digest has no such setting" for name in reading.environment.find_unknown()
    ]
    check_together(reading, webhooks, hooks, lacking, subscriptions, has_file=path is not None)
    problems.raise_all()
    return _build(reading, queries, subscriptions, webhooks=webhooks, hooks=hooks, lacking=lacking, path=path)


def _read_setting(reading: Reading, setting: Setting) -> None:
    """Find a setting's value, its origin and its place; the default where it is wrong."""
    written, origin, place = _find_written(reading, setting)
    try:
        value = setting.read(written)
    except ConfigurationError as error:
        reading.problems.add_error(place, "" if place.variable else setting.key, error)
        value, origin = setting.read(setting.default), DEFAULT_ORIGIN
    reading.values[setting.key] = setting.resolve(value, reading.folder) if setting.resolve else value
    reading.origins[setting.key] = origin
    reading.places[setting.key] = place
    if place.line and _is_secret(setting, str(value)):
        reading.warn_of_secret(setting.key, setting.variable)


def _find_written(reading: Reading, setting: Setting) -> tuple[object, str, Place]:
    """Return a setting's value as written, its origin, and its place."""
    given = reading.environment.find(setting.variable, takes_file=setting.takes_file)
    if given is not None:
        return setting.from_text(given.text), given.variable, Place(variable=given.variable)
    if not setting.is_environment_only:
        table = reading.document.data.get(setting.table, {}) if setting.table else reading.document.data
        path = (setting.table, setting.name) if setting.table else (setting.name,)
        if isinstance(table, dict) and setting.name in table:
            return table[setting.name], reading.document.origin(*path), reading.document.place(*path)
    return setting.default, DEFAULT_ORIGIN, Place()


def _is_secret(setting: Setting, value: str) -> bool:
    if setting.secrecy is Secrecy.INSIDE:
        return mask_password(value) != value
    return setting.secrecy is Secrecy.SECRET and bool(value)


def _refuse_strangers(reading: Reading) -> None:
    """Report every table and key there is none by that name."""
    tables = [name for name in TABLES if name]
    single = [setting.name for setting in SETTINGS if not setting.table and not setting.is_environment_only]
    for key, value in reading.document.data.items():
        if key in tables:
            _refuse_strangers_in(reading, key, value)
        elif key not in (*single, *OTHER_KEYS):
            place = reading.document.place(key)
            what = "there is no such table" if isinstance(value, dict | list) else "there is no such setting"
            reading.problems.add(place, key, what, _suggest_key(key, [*tables, *OTHER_KEYS, *single]))


def _suggest_key(key: str, known: list[str]) -> str:
    """Name the nearest key; or the full key, where only its table was left out."""
    for setting in SETTINGS:
        if setting.is_environment_only and setting.key == key:
            return f"It is set by {setting.variable} alone."
    for setting in SETTINGS:
        if setting.name == key and setting.table:
            return f"Put it below [{setting.table}]."
    return suggest(key, known, "There are")


def _refuse_strangers_in(reading: Reading, table: str, value: object) -> None:
    place = reading.document.place(table)
    if not isinstance(value, dict):
        reading.problems.add(place, table, f"must be a table, not {describe_type(value)}", f"Write [{table}].")
        return
    known = [setting.name for setting in SETTINGS if setting.table == table]
    known += [name for parent, name in [WEBHOOKS.split(".")] if parent == table]
    for key in value:
        if key not in known:
            reading.problems.add(
                reading.document.place(table, key),
                f"{table}.{key}",
                "there is no such setting",
                suggest(key, known, f"[{table}] takes"),
            )


def _build(
    reading: Reading,
    queries: tuple[Any, ...],
    subscriptions: tuple[Any, ...],
    *,
    webhooks: dict[str, str],
    hooks: dict[str, parts.Webhook],
    lacking: dict[str, parts.Lacking],
    path: Path | None,
) -> parts.Config:
    """Put the values into their dataclasses."""
    tables: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for setting in SETTINGS:
        tables[setting.table][setting.field] = reading.values[setting.key]
    return parts.Config(
        arxiv=parts.ArxivSettings(**tables["arxiv"]),
        store=parts.StoreSettings(**tables["store"]),
        mail=parts.MailSettings(**tables["mail"]),
        slack=parts.SlackSettings(**tables["slack"], webhooks=MappingProxyType(webhooks)),
        web=parts.WebSettings(**tables["web"]),
        alarms=parts.AlarmSettings(**tables["alarms"]),
        defaults=parts.DefaultSettings(**tables["defaults"]),
        **tables[""],
        webhooks=MappingProxyType(hooks),
        unready_webhooks=MappingProxyType(lacking),
        queries=queries,
        subscriptions=subscriptions,
        path=path,
        folder=reading.folder,
        warnings=tuple(reading.warnings),
        origins=MappingProxyType(reading.origins),
    )
