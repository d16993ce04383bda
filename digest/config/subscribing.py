"""The operator's own tables: saved queries, who gets what they find, and webhooks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from digest.config.settings import INCOMING, INHERITED, QUERY, SUBSCRIPTION, WEBHOOK, Webhook, variable_of
from digest.config.values import describe_type, read_name, refuse_repeats, suggest
from digest.model.cadences import CadenceKind
from digest.model.subscriptions import DestinationKind, SavedQuery, Subscription

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from digest.config.draft import ConfigDraft
    from digest.model.subscriptions import Destination

_INCOMING_TABLES = [setting.table for setting in INCOMING.values() if "." not in setting.table]
OTHER_KEYS = ("queries", "subscriptions", "webhooks", *_INCOMING_TABLES)
"""Tables of the operator's own names."""

_EXAMPLE = 'Write [[subscriptions]] with name = "perf-team", follow = ["perf"], to = "slack:#papers".'


def read_queries(draft: ConfigDraft) -> tuple[SavedQuery, ...]:
    """Read the saved queries, in the file's order."""
    table = draft.check_table("queries", draft.data.get("queries"))
    names = _check_names(draft, "queries", table)
    texts = draft.read_table(
        "queries", table, [replace(QUERY, name=name) for name in names], others=table, inherited={}
    )
    return tuple(SavedQuery(name, text) for name, text in texts.items() if text is not None)


def read_subscriptions(draft: ConfigDraft, queries: Collection[str]) -> tuple[Subscription, ...]:
    """Read the subscriptions, in the file's order; `queries` are the saved queries' names."""
    tables = draft.data.get("subscriptions", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        draft.complain("subscriptions", f"must be a list of tables, not {describe_type(tables)}", _EXAMPLE)
        return ()
    found = [_read_subscription(draft, number, table, queries) for number, table in enumerate(tables, 1)]
    _refuse_doubles(draft, tables)
    return tuple(subscription for subscription in found if subscription is not None)


def _read_subscription(
    draft: ConfigDraft, number: int, table: dict[str, Any], queries: Collection[str]
) -> Subscription | None:
    """Read one subscription; None where something in it is wrong."""
    name = table.get("name")
    key = f"subscriptions.{name}" if isinstance(name, str) and name else f"subscriptions no. {number}"
    inherited = {one.name: draft.values[one.key] for one in INHERITED.values()}
    values = draft.read_table(key, table, SUBSCRIPTION, inherited=inherited)
    for query in values["follow"] or ():
        if query not in queries:
            hint = suggest(query, queries, "Saved queries:") or 'Write one under [queries]: perf = "cat:cs.PF".'
            draft.complain(f"{key}.follow", f"there is no saved query {query!r}", hint)
    draft.read(f"{key}.to", map(str, values["to"] or ()), refuse_repeats)
    cadence, quiet_hours = values.pop("when"), values.pop("quiet_hours") or None
    if quiet_hours is not None and not quiet_hours.zone and cadence.kind is not CadenceKind.CLOCK:
        hint = f'Write "{quiet_hours} Europe/Berlin", or "" for no quiet hours.'
        draft.complain(f"{key}.quiet_hours", f"needs a time zone, because {str(cadence)!r} has none", hint)
    if any(wrong.startswith(f"{key}.") for wrong in draft.wrong):
        return None
    return Subscription(
        queries=values.pop("follow"),
        destinations=values.pop("to"),
        cadence=cadence,
        quiet_hours=quiet_hours,
        **values,
    )


def _refuse_doubles(draft: ConfigDraft, tables: list[dict[str, Any]]) -> None:
    """Report names used twice."""
    names = [table["name"] for table in tables if isinstance(table.get("name"), str)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        what = f"two subscriptions have the name {name!r}"
        draft.complain(f"subscriptions.{name}.name", what, "Give each subscription a name of its own.")


def read_incoming(
    draft: ConfigDraft, kind: DestinationKind, destinations: Iterable[Destination]
) -> dict[str, str]:
    """Return name → URL: the incoming webhooks of the file, and those that destinations name, from variables."""
    setting = INCOMING[kind]
    key = setting.table
    outer, _, inner = key.rpartition(".")
    above = draft.data.get(outer) if outer else draft.data
    table = draft.check_table(key, above.get(inner) if isinstance(above, dict) else None)
    names = _list_webhooks(draft, key, table, destinations, kind)
    urls = draft.read_table(key, table, [replace(setting, name=name) for name in names], others=table)
    for name, url in urls.items():
        if not url and f"{key}.{name}" not in draft.wrong:
            variable = variable_of(f"{key}.{name}")
            draft.warnings.append(f"{kind}:{name} has no URL: set {variable} or {variable}_FILE")
    return {name: url for name, url in urls.items() if url}


def read_webhooks(draft: ConfigDraft, destinations: Iterable[Destination]) -> dict[str, Webhook]:
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
    draft: ConfigDraft, key: str, table: Iterable[str], destinations: Iterable[Destination], kind: DestinationKind
) -> list[str]:
    """Return the names of the webhooks that are written down or that destinations name."""
    wanted = {one.address for one in destinations if one.kind is kind}
    return _check_names(draft, key, [*table, *sorted(wanted - {*table})])


def _check_names(draft: ConfigDraft, key: str, names: Iterable[str]) -> list[str]:
    """Return those of the operator's names that can be one; the others are reported."""
    return [name for name in names if draft.read(f"{key}.{name}", name, read_name) is not None]
