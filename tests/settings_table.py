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
    """Return the manual's tables of settings, one below the name of each table, ending in a line break."""
    above = [one for one in SETTINGS if not one.is_environment_only]
    groups = {table: [one for one in above if one.table == table] for table in TABLES}
    groups |= {one.table: [one] for one in INCOMING.values()}
    groups |= {"webhooks.NAME": list(WEBHOOK), "queries": [QUERY]}
    groups["[subscriptions]"] = [one for one in SUBSCRIPTION if one.name not in INHERITED]
    named = ", ".join(f"`{name}`" for name in INHERITED)
    parts = [_write_group(table, settings) for table, settings in groups.items()]
    more = f"A subscription may also set {named}, instead of `[defaults]`."
    only = "The only subscription can have all its keys at the top of the file. By default it is called `digest`."
    return "\n".join([*parts, f"{more}\n{only}\n"])


def _write_group(table: str, settings: Sequence[Setting]) -> str:
    title = f"## `[{table}]`" if table else "## At the top of the file"
    rows = [("Key", "Meaning"), ("---", "---")]
    for one in settings:
        default = "" if one.default in ("", None) else f" Default: `{write_toml(one.default)}`."
        secret = " A secret." if one.secrecy is Secrecy.SECRET else ""
        rows.append((f"`{one.name}`", f"{one.help}{default}{secret}"))
    lines = (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows
    )
    return f"{title}\n\n{''.join(lines)}"
