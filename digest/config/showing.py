"""The configuration as it counts now: each value, and where it comes from. Secrets are never shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from digest.config.addresses import mask_password
from digest.config.table import (
    HOOK_KEYS,
    HOOKS,
    INHERITED,
    SETTINGS,
    SUBSCRIPTION_KEYS,
    WEBHOOKS,
    Secrecy,
    Setting,
    variable_of,
)
from digest.config.values import UNLIMITED, read_cap
from digest.config.writing import write_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.config.settings import Config, Webhook
    from digest.subscriptions import Subscription


@dataclass(frozen=True, slots=True)
class Row:
    """One line of `digest config show`: a key, its value as shown, and where it comes from."""

    key: str
    value: str
    origin: str


def show(config: Config) -> tuple[Row, ...]:
    """Return every setting, saved query and subscription key."""
    return (
        *(_show_setting(config, setting) for setting in SETTINGS),
        *(_show_secret(config, f"{WEBHOOKS}.{name}", url) for name, url in config.slack.webhooks.items()),
        *(row for name, hook in config.webhooks.items() for row in _show_hook(config, name, hook)),
        *(_row(config, f"queries.{query.name}", query.text) for query in config.queries),
        *(row for subscription in config.subscriptions for row in _show_subscription(config, subscription)),
    )


def as_json(config: Config) -> dict[str, Any]:
    """Return the same as values that `json.dumps` takes, for `digest config show --json`."""
    return {
        "path": None if config.path is None else str(config.path),
        "settings": [asdict(row) for row in show(config)],
        "warnings": list(config.warnings),
    }


def settings_table_markdown() -> str:
    """Return the README's table of settings, ending in a line break."""
    rows = [("Key in `digest.toml`", "Variable", "Default", "Meaning"), ("---", "---", "---", "---")]
    rows += [_describe_setting(setting) for setting in SETTINGS]
    rows.append(
        (
            f"`{WEBHOOKS}.NAME`",
            f"`{variable_of(WEBHOOKS)}_NAME`, `…_FILE`",
            "",
            'URL of a Slack incoming webhook, for `to = "slack-webhook:NAME"`.',
        )
    )
    rows += [
        (f"`{HOOKS}.NAME.{key}`", f"`{variable_of(HOOKS)}_NAME_{key.upper()}`, `…_FILE`", "", text)
        for key, text in HOOK_KEYS.items()
    ]
    rows.append(("`queries.NAME`", "", "", "A saved query, as arXiv's search writes them."))
    rows += [(f"`subscriptions.{key}`", "", "", text) for key, text in SUBSCRIPTION_KEYS.items()]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


def _show_hook(config: Config, name: str, hook: Webhook) -> Iterator[Row]:
    yield _show_secret(config, f"{HOOKS}.{name}.url", hook.url)
    yield _show_secret(config, f"{HOOKS}.{name}.secret", "set")


def _describe_setting(setting: Setting) -> tuple[str, str, str, str]:
    key = "" if setting.is_environment_only else f"`{setting.key}`"
    variable = f"`{setting.variable}`" + (", `…_FILE`" if setting.takes_file else "")
    default = "" if setting.default == "" else f"`{write_toml(setting.default)}`"
    return key, variable, default, setting.help


def _show_setting(config: Config, setting: Setting) -> Row:
    owner = getattr(config, setting.table) if setting.table else config
    value = getattr(owner, setting.field)
    if setting.secrecy is Secrecy.SECRET:
        return _show_secret(config, setting.key, value)
    shown = _write(value, setting)
    return _row(config, setting.key, mask_password(shown) if setting.secrecy is Secrecy.INSIDE else shown)


def _show_secret(config: Config, key: str, value: str) -> Row:
    origin = config.origins.get(key, "")
    return Row(key, f"set (from {origin})" if value else "not set", origin)


def _show_subscription(config: Config, subscription: Subscription) -> Iterator[Row]:
    values = {
        "name": subscription.name,
        "queries": subscription.queries,
        "to": subscription.destinations,
        "title": subscription.title,
        "was": subscription.was,
        "exclude": subscription.exclude,
        "exclude_papers": subscription.exclude_papers,
        "paused_until": subscription.paused_until,
        "when": subscription.cadence,
        **{name: getattr(subscription, name) for name in INHERITED if name != "when"},
    }
    for key in SUBSCRIPTION_KEYS:
        full = f"subscriptions.{subscription.name}.{key}"
        if full in config.origins and key != "name":
            yield _row(config, full, _write(values[key], INHERITED.get(key)))


def _row(config: Config, key: str, value: str) -> Row:
    return Row(key, value, config.origins.get(key, ""))


def _write(value: object, setting: Setting | None) -> str:
    """Return a value in the words it can be written with."""
    if value is None:
        return UNLIMITED if setting is not None and setting.read is read_cap else ""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, timedelta):
        return str(round(value.total_seconds()))
    return str(value)
