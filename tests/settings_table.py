"""The tables of the manual's page on settings, written from the settings' own sentences."""

from __future__ import annotations

from collections.abc import Sequence

from digest.config.declarations import Secrecy, Setting
from digest.config.display import write_toml
from digest.config.settings import (
    INCOMING,
    INHERITED,
    QUERY,
    SETTINGS,
    SUBSCRIPTION,
    TABLES,
    WEBHOOK,
)


def settings_table_markdown() -> str:
    """Return the tables of settings, one below the name of each table, ending in a line break."""
    above = [one for one in SETTINGS if not one.is_environment_only]
    groups: dict[str, list[Setting]] = {}
    for table in TABLES:
        groups[table] = [one for one in above if one.table == table]
    for setting in INCOMING.values():
        groups[setting.table] = [setting]
    groups["webhooks.NAME"] = list(WEBHOOK)
    groups["queries"] = [QUERY]
    groups["[subscriptions]"] = [one for one in SUBSCRIPTION if one.name not in INHERITED]
    parts = [_write_group(table, settings) for table, settings in groups.items()]
    named = ", ".join(f"`{name}`" for name in INHERITED)
    more = f"A subscription may also set {named}, instead of `[defaults]`."
    only = (
        "The only subscription can have all its keys at the top of the file. "
        "By default it is called `digest`."
    )
    parts.append(f"{more}\n{only}\n")
    return "\n".join(parts)


def _write_group(table: str, settings: Sequence[Setting]) -> str:
    title = f"## `[{table}]`" if table else "## At the top of the file"
    lines = ["| Key | Meaning |\n", "| --- | --- |\n"]
    for one in settings:
        meaning = one.help
        if one.default not in ("", None):
            meaning += f" Default: `{write_toml(one.default)}`."
        if one.secrecy is Secrecy.SECRET:
            meaning += " A secret."
        lines.append(f"| `{_escape(one.name)}` | {_escape(meaning)} |\n")
    return f"{title}\n\n{''.join(lines)}"


def _escape(cell: str) -> str:
    return cell.replace("|", r"\|")
