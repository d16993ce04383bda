"""The operator's own tables: saved queries, and who gets what they find."""

from __future__ import annotations

from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from digest.cadences import choose_zone, read_pause_end
from digest.config.destinations import read_destination, resolve_destination
from digest.config.problems import suggest
from digest.config.table import INHERITED, SUBSCRIPTION_KEYS
from digest.config.values import describe_type, read_line, read_lines, read_name, read_query_text
from digest.errors import ConfigurationError, UsageError
from digest.papers import ArxivId
from digest.subscriptions import CadenceKind, SavedQuery, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from digest.config.progress import Reading
    from digest.subscriptions import Cadence, Destination, QuietHours

T = TypeVar("T")

QUERIES = "queries"
SUBSCRIPTIONS = "subscriptions"
_EXAMPLE = 'Write [[subscriptions]] with name = "perf-team", queries = ["perf"], to = "slack:#papers".'


def read_queries(reading: Reading) -> tuple[SavedQuery, ...]:
    """Read the saved queries, in the file's order."""
    document = reading.document
    table = document.data.get(QUERIES, {})
    if not isinstance(table, dict):
        what = f"must be a table of names and queries, not {describe_type(table)}"
        reading.problems.add(document.place(QUERIES), QUERIES, what, 'Write [queries] and perf = "cat:cs.PF".')
        return ()
    queries = []
    for name, text in table.items():
        try:
            queries.append(SavedQuery(read_name(name), read_query_text(text)))
        except ConfigurationError as error:
            reading.problems.add_error(document.place(QUERIES, name), f"{QUERIES}.{name}", error)
        reading.origins[f"{QUERIES}.{name}"] = document.origin(QUERIES, name)
    return tuple(queries)


def read_subscriptions(reading: Reading, queries: Collection[str]) -> tuple[Subscription, ...]:
    """Read the subscriptions, in the file's order; `queries` are the saved queries' names."""
    tables = reading.document.data.get(SUBSCRIPTIONS, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        what = f"must be a list of tables, not {describe_type(tables)}"
        reading.problems.add(reading.document.place(SUBSCRIPTIONS), SUBSCRIPTIONS, what, _EXAMPLE)
        return ()
    found = [_Table(reading, index, table).read(queries) for index, table in enumerate(tables)]
    _refuse_doubles(reading, tables)
    return tuple(subscription for subscription in found if subscription is not None)


class _Table:
    """One `[[subscriptions]]` table, read key by key."""

    def __init__(self, reading: Reading, index: int, table: dict[str, Any]) -> None:
        self._reading = reading
        self._index = index
        self._table = table
        name = table.get("name")
        self._label = name if isinstance(name, str) and name else f"{SUBSCRIPTIONS} no. {index + 1}"
        self._is_sound = True

    def read(self, queries: Collection[str]) -> Subscription | None:
        """Return the subscription, None where something in it has to be mended."""
        for key in self._table:
            if key not in SUBSCRIPTION_KEYS:
                self._complain(key, "there is no such setting", suggest(key, SUBSCRIPTION_KEYS, "There are"))
        name = self._read("name", read_name, required=True)
        wanted = self._read("queries", partial(self._read_query_names, queries), required=True)
        destinations = self._read("to", self._read_destinations, required=True)
        title = self._read("title", read_line)
        was = self._read("was", read_name)
        exclude = self._read("exclude", _read_exclusions)
        exclude_papers = self._read("exclude_papers", _read_paper_ids)
        inherited = {key: self._inherit(key) for key in INHERITED}
        cadence, quiet_hours = inherited.pop("when"), inherited.pop("quiet_hours") or None
        self._check_quiet_hours(cadence, quiet_hours)
        if was is not None and was == name:
            self._complain("was", "is its present name", "Leave it out, or write the name it had before.")
        paused_until = None
        if cadence is not None:
            paused_until = self._read("paused_until", partial(_read_pause, choose_zone(cadence, quiet_hours)))
        if not self._is_sound:
            return None
        return Subscription(
            name=name,
            queries=wanted,
            destinations=destinations,
            cadence=cadence,
            title=title or "",
            was=was or "",
            exclude=exclude or (),
            exclude_papers=exclude_papers or (),
            quiet_hours=quiet_hours,
            paused_until=paused_until,
            **inherited,
        )

    def _read(self, key: str, read: Callable[[object], Any], *, required: bool = False) -> Any:  # noqa: ANN401 - as many types as keys
        """Return what a key says; None where it is missing or wrong, which is reported."""
        if key not in self._table:
            if required:
                self._complain(key, "is missing", _EXAMPLE)
            return None
        self._reading.origins[self._key(key)] = self._reading.document.origin(SUBSCRIPTIONS, self._index, key)
        self._reading.places[self._key(key)] = self._reading.document.place(SUBSCRIPTIONS, self._index, key)
        try:
            return read(self._table[key])
        except ConfigurationError as error:
            self._complain(key, error.message, error.hint)
            return None

    def _inherit(self, key: str) -> Any:  # noqa: ANN401 - the same
        """Return what a key says, or else what `[defaults]` say."""
        setting = INHERITED[key]
        if key in self._table:
            return self._read(key, setting.read)
        self._reading.origins[self._key(key)] = setting.key
        return self._reading.values[setting.key]

    def _check_quiet_hours(self, cadence: Cadence | None, quiet_hours: QuietHours | None) -> None:
        """Report hours that are nobody's: what waits for no clock has no zone of its own."""
        if cadence is None or quiet_hours is None or quiet_hours.zone or cadence.kind is CadenceKind.CLOCK:
            return
        what = f"names no time zone, and {str(cadence)!r} has none"
        self._complain("quiet_hours", what, f'Write "{quiet_hours} Europe/Berlin", or "" for no quiet hours.')

    def _read_destinations(self, value: object) -> tuple[Destination, ...]:
        """Read destinations into the one spelling by which they are stored and compared."""
        texts = read_lines(value)
        if not texts:
            raise ConfigurationError("names no destination", hint='Write to = "feed", for one.')
        destinations = self._read_each("to", texts, self._read_destination)
        _refuse_repeats([str(destination) for destination in destinations])
        return destinations

    def _read_destination(self, text: str) -> Destination:
        return resolve_destination(read_destination(text), self._reading.folder)

    def _read_query_names(self, queries: Collection[str], value: object) -> tuple[str, ...]:
        names = read_lines(value)
        if not names:
            raise ConfigurationError("names no saved query", hint=suggest("", queries, "Saved queries:"))
        self._read_each("queries", names, partial(_refuse_unknown, queries))
        _refuse_repeats(names)
        return names

    def _read_each(self, key: str, texts: Iterable[str], read: Callable[[str], T]) -> tuple[T, ...]:
        """Read each of a key's texts.

        Raises:
            ConfigurationError: the last of those that are wrong; the others are reported.
        """
        found, wrong = [], []
        for text in texts:
            try:
                found.append(read(text))
            except ConfigurationError as error:
                wrong.append(error)
        for other in wrong[:-1]:
            self._complain(key, other.message, other.hint)
        if wrong:
            raise wrong[-1]
        return tuple(found)

    def _key(self, key: str) -> str:
        return f"{SUBSCRIPTIONS}.{self._label}.{key}"

    def _complain(self, key: str, what: str, hint: str = "") -> None:
        self._is_sound = False
        place = self._reading.document.place(SUBSCRIPTIONS, self._index, key)
        self._reading.problems.add(place, self._key(key), what, hint)


def _refuse_unknown(queries: Collection[str], name: str) -> None:
    if name not in queries:
        hint = suggest(name, queries, "Saved queries:") or 'Write it below [queries]: perf = "cat:cs.PF".'
        raise ConfigurationError(f"there is no saved query {name!r}", hint=hint)


def _read_exclusions(value: object) -> tuple[str, ...]:
    """Read queries; like a saved query's, their texts are not judged here."""
    texts = read_lines(value)
    if not all(texts):
        raise ConfigurationError(
            "holds an empty query", hint="""Write exclude = 'author:"Keiko Lindquell" AND cat:math.CO', for one."""
        )
    _refuse_repeats(texts)
    return texts


def _read_paper_ids(value: object) -> tuple[ArxivId, ...]:
    """Read papers by id, in any spelling; a version written behind it counts for nothing."""
    ids = []
    for text in read_lines(value):
        try:
            ids.append(ArxivId.parse(text))
        except UsageError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error
    _refuse_repeats([str(id_) for id_ in ids])
    return tuple(ids)


def _read_pause(zone: str, value: object) -> datetime:
    """Read until when a subscription rests: a date, a moment, or the text of one."""
    if isinstance(value, bool) or not isinstance(value, date | str):
        raise ConfigurationError(
            f"must be a date or a moment, not {describe_type(value)}", hint="Write paused_until = 2026-12-01."
        )
    return read_pause_end(value, zone)


def _refuse_repeats(texts: Collection[str]) -> None:
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            raise ConfigurationError(f"names {text!r} twice", hint="Once is enough.")
        seen.add(text)


def _refuse_doubles(reading: Reading, tables: list[dict[str, Any]]) -> None:
    """Report names used twice, and former names that are claimed twice or that nobody gives up."""
    names: dict[object, int] = {}
    former: dict[object, int] = {}
    for index, table in enumerate(tables):
        _refuse_double(reading, names, index, table, "name")
        _refuse_double(reading, former, index, table, "was")
    changes = {table.get("name"): table.get("was") for table in tables}
    for was, index in former.items():
        if was not in names or names[was] == index:
            continue
        place = reading.document.place(SUBSCRIPTIONS, index, "was")
        name = tables[index].get("name", index + 1)
        last = _follow_back(name, changes)
        if last == name:
            reading.problems.add(
                place,
                f"{SUBSCRIPTIONS}.{name}.was",
                f"{was!r} and {name!r} change their names in a circle",
                "Take two runs: give one of them a name that nobody has for the first.",
            )
        elif last in names:
            reading.problems.add(
                place,
                f"{SUBSCRIPTIONS}.{name}.was",
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


def _refuse_double(reading: Reading, seen: dict[object, int], index: int, table: dict[str, Any], key: str) -> None:
    value = table.get(key)
    if not isinstance(value, str):
        return
    if value in seen:
        first = reading.document.place(SUBSCRIPTIONS, seen[value], key).line
        reading.problems.add(
            reading.document.place(SUBSCRIPTIONS, index, key),
            f"{SUBSCRIPTIONS}.{value}.{key}" if key == "name" else f"{SUBSCRIPTIONS}.{table.get('name')}.{key}",
            f"{value!r} stands on line {first} too",
            "Give each subscription a name of its own.",
        )
    seen.setdefault(value, index)
