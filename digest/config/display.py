"""The configuration in words: what counts now and where it comes from; values as TOML.

Secrets are never shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from digest.config.addresses import mask_password
from digest.config.declarations import Secrecy, Setting
from digest.config.settings import INCOMING, SETTINGS, SUBSCRIPTION, WEBHOOK, Config
from digest.config.values import ALL, read_days, read_retention, read_show
from digest.model.numbers import count

_ATTRIBUTES = {"to": "destinations", "when": "cadence", "follow": "queries"}
"""The attributes of a subscription whose names are not those of its keys, by key."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of `digest config show`: a key, its value as shown, and where it comes from."""

    key: str
    value: str
    origin: str


def show_settings(config: Config) -> tuple[SettingRow, ...]:
    """Return every setting, saved query and key of a subscription.

    What a variable fills in is shown as the file has it.
    """
    rows = []
    for key, value in _list_values(config):
        shown = config.hidden.get(key, value)
        rows.append(SettingRow(key, shown, config.origins.get(key, "")))
    return tuple(rows)


def _list_values(config: Config) -> Iterator[tuple[str, str]]:
    """Yield each key and its value as it may be shown, in the order of the file."""
    for setting in SETTINGS:
        yield setting.key, _show_value(config, setting, setting.find(config))
    for key in _list_secrets(config):
        yield key, _describe_secret(config, key)
    for query in config.queries:
        # A query that is named by its text is shown as what a subscription follows.
        if query.name != query.text:
            yield query.place, query.text
    for subscription in config.subscriptions:
        for setting in SUBSCRIPTION[1:]:  # all but its name
            key = config.find_key(subscription.name, setting.name)
            if key in config.origins:
                attribute = _ATTRIBUTES.get(setting.name, setting.name)
                yield key, _write_for_reader(getattr(subscription, attribute), setting)


def _show_value(config: Config, setting: Setting, value: object) -> str:
    """Write the value of a setting, without what is secret in it."""
    if setting.secrecy is Secrecy.SECRET:
        return _describe_secret(config, setting.key) if value else "not set"
    written = _write_for_reader(value, setting)
    return mask_password(written) if setting.secrecy is Secrecy.INSIDE else written


def _list_secrets(config: Config) -> Iterator[str]:
    """Yield the keys of all webhooks: Slack's, Discord's, and others.

    SETTINGS has none of them, because the operator chooses their names.
    """
    for kind, urls in config.incoming.items():
        for name in urls:
            yield f"{INCOMING[kind].table}.{name}"
    for name in config.webhooks:
        for setting in WEBHOOK:
            yield f"webhooks.{name}.{setting.name}"


def _describe_secret(config: Config, key: str) -> str:
    """Say where a secret comes from, and not what it is."""
    return f"set (from {config.origins[key]})"


def _write_for_reader(value: object, setting: Setting) -> str:
    """Write a value of a setting in the words of the file, a list without brackets."""
    if value is None:
        return ALL if setting.read is read_show else ""
    if value == 0 and setting.read is read_retention:
        return "never"
    if isinstance(value, int) and setting.read in (read_days, read_retention):
        return count(value, "day")
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, timedelta):
        return str(round(value.total_seconds()))
    return write_toml(value) if isinstance(value, bool) else str(value)


def write_toml(value: object) -> str:
    """Write text, a whole number, a truth value, or a list of these, as one types TOML by hand."""
    if isinstance(value, int):
        return str(value).lower()  # True is a number, too, and written `true`
    if isinstance(value, list | tuple):
        items = ", ".join(map(write_toml, value))
        return f"[{items}]"
    text = str(value)
    if '"' in text and "'" not in text and text.isprintable():  # so nothing need be escaped
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML has no bare DEL
