"""The operator's own tables: saved queries, who gets what they find, and webhooks."""

from __future__ import annotations

from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from digest.cadences import choose_zone, read_pause_end
from digest.config.addresses import read_destination, read_private_url, read_slack_webhook, resolve_destinations
from digest.config.fields import variable_of
from digest.config.settings import INHERITED, Webhook
from digest.config.values import (
    describe_type,
    read_exclusions,
    read_line,
    read_lines,
    read_name,
    read_paper_ids,
    read_query_text,
    read_signing_key,
    refuse_repeats,
    suggest,
)
from digest.errors import ConfigurationError
from digest.subscriptions import CadenceKind, DestinationKind, SavedQuery, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from digest.config.draft import Draft
    from digest.subscriptions import Cadence, Destination, QuietHours

T = TypeVar("T")

OTHER_KEYS = ("queries", "subscriptions", "webhooks")
"""Tables of the operator's own names."""

SUBSCRIPTION_KEYS: dict[str, str] = {
    "name": "Its name, unique and lasting; small letters, digits, dots, dashes, underscores.",
    "queries": "Names of the saved queries it follows.",
    "to": "One or a list: mailto:…, slack:#…, slack-webhook:name, webhook:name, feed, file:…, console.",
    "title": "What its digests are called; its name where none is given, which subjects of mails leave out.",
    "was": "The name it had before, so that renaming loses no history and changes no address.",
    "exclude": "A query or a list of them: what they bring is never told to it, as with `ANDNOT`.",
    "exclude_papers": "Papers never told to it, by id, in whichever version.",
    "paused_until": "The first day or moment it goes on: 2026-12-01; it collects meanwhile. One without an offset "
    "is of the zone of its `when`, else of its quiet hours, else America/New_York. Resting by command "
    "(`digest subscription pause`) is apart from this: it rests while either says so.",
    **{name: f"Instead of defaults.{name}." for name in INHERITED},
}
"""The keys of `[[subscriptions]]`, with what each means."""

SLACK_WEBHOOKS = "slack.webhooks"
"""The table of incoming webhooks, name = URL; each may come from a variable of its own too."""

WEBHOOKS = "webhooks"
"""The table of webhooks: a table of keys by name; each key may come from a variable of its own too."""

WEBHOOK_KEYS = {
    "url": 'Where digests are posted as signed JSON, for `to = "webhook:NAME"`.',
    "secret": "What they are signed with (whsec_…): `digest webhook secret` makes one.",
}
"""The keys of `[webhooks.NAME]`, with what each means."""

_EXAMPLE = 'Write [[subscriptions]] with name = "perf-team", queries = ["perf"], to = "slack:#papers".'


def read_queries(draft: Draft) -> tuple[SavedQuery, ...]:
    """Read the saved queries, in the file's order."""
    queries = []
    table = _check_table(draft, "queries", draft.data.get("queries"), 'Write [queries] and perf = "cat:cs.PF".')
    for name, text in table.items():
        key = f"queries.{name}"
        draft.note(key)
        query = draft.read(key, text, partial(_read_query, name))
        if query is not None:
            queries.append(query)
    return tuple(queries)


def _read_query(name: str, text: object) -> SavedQuery:
    return SavedQuery(read_name(name), read_query_text(text))


def read_subscriptions(draft: Draft, queries: Collection[str]) -> tuple[Subscription, ...]:
    """Read the subscriptions, in the file's order; `queries` are the saved queries' names."""
    tables = draft.data.get("subscriptions", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        draft.complain("subscriptions", f"must be a list of tables, not {describe_type(tables)}", _EXAMPLE)
        return ()
    found = [_Table(draft, number, table).read(queries) for number, table in enumerate(tables, 1)]
    _refuse_doubles(draft, tables)
    return tuple(subscription for subscription in found if subscription is not None)


class _Table:
    """One `[[subscriptions]]` table, read key by key."""

    def __init__(self, draft: Draft, number: int, table: dict[str, Any]) -> None:
        self._draft = draft
        self._table = table
        name = table.get("name")
        self._prefix = f"subscriptions.{name}" if isinstance(name, str) and name else f"subscriptions no. {number}"

    def read(self, queries: Collection[str]) -> Subscription | None:
        """Return the subscription, None where something in it has to be mended."""
        self._draft.refuse_strangers(self._table, SUBSCRIPTION_KEYS, self._prefix, "There are")
        name = self._read("name", read_name, required=True)
        wanted = self._read("queries", partial(self._read_query_names, queries), required=True)
        destinations = self._read("to", self._read_destinations, required=True)
        was = self._read("was", read_name)
        own: dict[str, Any] = {
            "title": self._read("title", read_line) or "",
            "exclude": self._read("exclude", read_exclusions) or (),
            "exclude_papers": self._read("exclude_papers", read_paper_ids) or (),
        }
        inherited = {key: self._inherit(key) for key in INHERITED}
        cadence, quiet_hours = inherited.pop("when"), inherited.pop("quiet_hours") or None
        paused_until = None
        if was is not None and was == name:
            self._complain("was", "is its present name", "Leave it out, or write the name it had before.")
        if cadence is not None:
            self._check_quiet_hours(cadence, quiet_hours)
            paused_until = self._read("paused_until", partial(_read_pause, choose_zone(cadence, quiet_hours)))
        if any(key.startswith(f"{self._prefix}.") for key in self._draft.wrong):
            return None
        return Subscription(
            name=name,
            queries=wanted,
            destinations=destinations,
            cadence=cadence,
            was=was or "",
            quiet_hours=quiet_hours,
            paused_until=paused_until,
            **own,
            **inherited,
        )

    def _read(self, key: str, read: Callable[[Any], Any], *, required: bool = False) -> Any:  # noqa: ANN401 - as many types as keys
        """Return what a key says; None where it is missing or wrong, which is reported."""
        if key in self._table:
            self._draft.note(f"{self._prefix}.{key}")
            return self._draft.read(f"{self._prefix}.{key}", self._table[key], read)
        if required:
            self._complain(key, "is missing", _EXAMPLE)
        return None

    def _inherit(self, key: str) -> Any:  # noqa: ANN401 - the same
        """Return what a key says, or else what `[defaults]` say."""
        setting = INHERITED[key]
        if key in self._table:
            return self._read(key, setting.read_written)
        self._draft.origins[f"{self._prefix}.{key}"] = setting.key
        return self._draft.values[setting.key]

    def _check_quiet_hours(self, cadence: Cadence, quiet_hours: QuietHours | None) -> None:
        """Report hours that are nobody's: what waits for no clock has no zone of its own."""
        if quiet_hours is not None and not quiet_hours.zone and cadence.kind is not CadenceKind.CLOCK:
            what = f"names no time zone, and {str(cadence)!r} has none"
            self._complain("quiet_hours", what, f'Write "{quiet_hours} Europe/Berlin", or "" for no quiet hours.')

    def _read_destinations(self, value: object) -> tuple[Destination, ...]:
        texts = read_lines(value)
        if not texts:
            raise ConfigurationError("names no destination", hint='Write to = "feed", for one.')
        destinations = resolve_destinations(self._read_each("to", texts, read_destination), self._draft.folder)
        refuse_repeats(map(str, destinations))
        return destinations

    def _read_query_names(self, queries: Collection[str], value: object) -> tuple[str, ...]:
        names = read_lines(value)
        if not names:
            raise ConfigurationError("names no saved query", hint=suggest("", queries, "Saved queries:"))
        self._read_each("queries", names, partial(_refuse_unknown, queries))
        refuse_repeats(names)
        return names

    def _read_each(self, key: str, texts: Iterable[str], read: Callable[[str], T]) -> tuple[T, ...]:
        """Read each of a key's texts; those that are wrong are reported, and left out."""
        found = (self._draft.read(f"{self._prefix}.{key}", text, read) for text in texts)
        return tuple(one for one in found if one is not None)

    def _complain(self, key: str, what: str, hint: str = "") -> None:
        self._draft.complain(f"{self._prefix}.{key}", what, hint)


def _refuse_unknown(queries: Collection[str], name: str) -> None:
    if name not in queries:
        hint = suggest(name, queries, "Saved queries:") or 'Write it below [queries]: perf = "cat:cs.PF".'
        raise ConfigurationError(f"there is no saved query {name!r}", hint=hint)


def _read_pause(zone: str, value: object) -> datetime:
    """Read until when a subscription rests: a date, a moment, or the text of one."""
    if isinstance(value, bool) or not isinstance(value, date | str):
        raise ConfigurationError(
            f"must be a date or a moment, not {describe_type(value)}", hint="Write paused_until = 2026-12-01."
        )
    return read_pause_end(value, zone)


def _refuse_doubles(draft: Draft, tables: list[dict[str, Any]]) -> None:
    """Report names used twice, and former names that are claimed twice or that nobody gives up."""
    names: dict[object, int] = {}
    former: dict[object, int] = {}
    for index, table in enumerate(tables):
        _refuse_double(draft, names, index, table, "name")
        _refuse_double(draft, former, index, table, "was")
    changes = {table.get("name"): table.get("was") for table in tables}
    for was, index in former.items():
        if was not in names or names[was] == index:
            continue
        name = tables[index].get("name", index + 1)
        last = _follow_back(name, changes)
        if last == name:
            draft.complain(
                f"subscriptions.{name}.was",
                f"{was!r} and {name!r} change their names in a circle",
                "Take two runs: give one of them a name that nobody has for the first.",
            )
        elif last in names:
            draft.complain(
                f"subscriptions.{name}.was",
                f"another subscription is called {was!r} now",
                "Leave `was` out where the last run has taken the renaming over; else rename in one run, and add"
                f" the new {was!r} for the next.",
            )


def _follow_back(name: object, changes: Mapping[object, object]) -> object:
    """Return the name that a chain of renamings leads back to; where that is a circle, the first one met again."""
    met: set[object] = set()
    while name not in met and isinstance(changes.get(name), str) and changes[name] != name:
        met.add(name)
        name = changes[name]
    return name


def _refuse_double(draft: Draft, seen: dict[object, int], index: int, table: dict[str, Any], key: str) -> None:
    value = table.get(key)
    if not isinstance(value, str):
        return
    if value in seen:
        name = value if key == "name" else table.get("name")
        draft.complain(
            f"subscriptions.{name}.{key}",
            f"{value!r} is the {key} of two subscriptions",
            "Give each subscription a name of its own.",
        )
    seen.setdefault(value, index)


def read_slack_webhooks(draft: Draft, destinations: Iterable[Destination]) -> dict[str, str]:
    """Return name → URL: the incoming webhooks of the file, and those that destinations name, from variables."""
    outer = draft.data.get("slack", {})
    inner = outer.get("webhooks") if isinstance(outer, dict) else None
    table = _check_table(draft, SLACK_WEBHOOKS, inner, f"Write [{SLACK_WEBHOOKS}] and name = URL.")
    urls = {}
    for name in _list_names(draft, SLACK_WEBHOOKS, table, destinations, DestinationKind.SLACK_WEBHOOK):
        written = draft.find("slack", "webhooks", name, takes_file=True)
        key = f"{SLACK_WEBHOOKS}.{name}"
        if written is None:
            variable = variable_of(key)
            draft.warnings.append(f"slack-webhook:{name} has no URL: set {variable} or {variable}_FILE")
        elif url := draft.read(key, written, read_slack_webhook):
            urls[name] = url
            draft.warn_of_secret(key)
    return urls


def read_webhooks(draft: Draft, destinations: Iterable[Destination]) -> dict[str, Webhook]:
    """Return name → webhook: those of the file, and those that destinations name and variables give."""
    found: dict[str, Webhook] = {}
    table = _check_table(draft, WEBHOOKS, draft.data.get(WEBHOOKS), f"Write [{WEBHOOKS}.lab] and url = …")
    for name in _list_names(draft, WEBHOOKS, table, destinations, DestinationKind.WEBHOOK):
        full = f"{WEBHOOKS}.{name}"
        written = _check_table(draft, full, table.get(name), f"Write [{full}] and url = …")
        draft.refuse_strangers(written, WEBHOOK_KEYS, full, f"[{full}] takes")
        url = _read_webhook_key(draft, name, "url", read_private_url)
        secret = _read_webhook_key(draft, name, "secret", read_signing_key)
        if url and secret:
            found[name] = Webhook(url, secret)
        elif missing := [key for key in WEBHOOK_KEYS if f"{full}.{key}" not in draft.origins]:
            what = " and ".join(f"{full}.{key}" for key in missing)
            variables = " and ".join(variable_of(f"{full}.{key}") for key in missing)
            draft.warnings.append(f"webhook:{name} lacks {what}: set {variables}")
    return found


def _read_webhook_key(draft: Draft, name: str, key: str, read: Callable[[Any], T]) -> T | None:
    full = f"{WEBHOOKS}.{name}.{key}"
    written = draft.find(WEBHOOKS, name, key, takes_file=True)
    if not written:
        draft.origins.pop(full, None)
        return None
    if key == "secret":
        draft.warn_of_secret(full)
    return draft.read(full, written, read)


def _list_names(
    draft: Draft,
    table_name: str,
    table: Iterable[str],
    destinations: Iterable[Destination],
    kind: DestinationKind,
) -> list[str]:
    """Return the names of the webhooks that are written down or that destinations name."""
    wanted = {one.address for one in destinations if one.kind is kind}
    names = [*table, *sorted(wanted - {*table})]
    return [name for name in names if draft.read(f"{table_name}.{name}", name, read_name) is not None]


def _check_table(draft: Draft, key: str, table: object, hint: str) -> Mapping[str, Any]:
    """Return a table of the operator's own names; an empty one where none is written, or it is wrong."""
    if table is None or isinstance(table, dict):
        return table or {}
    draft.complain(key, f"must be a table, not {describe_type(table)}", hint)
    return {}
