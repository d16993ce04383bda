"""The configuration in words: what counts now and where it comes from, the table of settings, values as TOML.

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
"""What keys of a subscription are called in code, if that is something else."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of `digest config show`: a key, its value as shown, and where it comes from."""

    key: str
    value: str
    origin: str


def show_settings(config: Config) -> tuple[SettingRow, ...]:
    """Return every setting, saved query and subscription key; what a variable fills in, as the file has it."""
    rows = ((key, config.hidden.get(key, value)) for key, value in _list_values(config))
    return tuple(SettingRow(key, value, config.origins.get(key, "")) for key, value in rows)


def _list_values(config: Config) -> Iterator[tuple[str, str]]:
    for setting in SETTINGS:
        owner = getattr(config, setting.table) if setting.table else config
        value = getattr(owner, setting.field)
        if setting.secrecy is Secrecy.SECRET:
            yield setting.key, _hide(config, setting.key) if value else "not set"
        else:
            shown = _write(value, setting)
            yield setting.key, mask_password(shown) if setting.secrecy is Secrecy.INSIDE else shown
    secrets = [
        f"{INCOMING[kind].table}.{name}" for kind, urls in config.incoming.items() for name in urls
    ]
    secrets += [f"webhooks.{name}.{one.name}" for name in config.webhooks for one in WEBHOOK]
    yield from ((key, _hide(config, key)) for key in secrets)
    yield from ((query.place, query.text) for query in config.queries if query.name != query.text)
    for subscription in config.subscriptions:
        for setting in SUBSCRIPTION[1:]:
            key = config.find_key(subscription.name, setting.name)
            if key in config.origins:
                value = getattr(subscription, _ATTRIBUTES.get(setting.name, setting.name))
                yield key, _write(value, setting)


def _hide(config: Config, key: str) -> str:
    return f"set (from {config.origins[key]})"


def _write(value: object, setting: Setting) -> str:
    if value is None:
        return ALL if setting.read is read_show else ""
    if isinstance(value, int) and setting.read in (read_days, read_retention):
        return count(value, "day") if value or setting.read is read_days else "never"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, timedelta):
        return str(round(value.total_seconds()))
    return write_toml(value) if isinstance(value, bool) else str(value)


def write_toml(value: object) -> str:
    """Write text, a whole number, a truth value, or a list of these, as TOML would be typed by hand."""
    if isinstance(value, int):
        return str(value).lower()  # True is a number, too, and written `true`
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_toml, value))}]"
    text = str(value)
    if '"' in text and "'" not in text and text.isprintable():  # so nothing need be escaped
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML has no bare DEL
