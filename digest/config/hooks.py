"""Webhooks that take signed JSON: by name an address and a secret, in the file or the environment."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from digest.config.addresses import read_hook_url
from digest.config.problems import Place, suggest
from digest.config.settings import Lacking, Webhook
from digest.config.table import HOOK_KEYS, HOOKS, variable_of
from digest.config.values import describe_type, read_line, read_name
from digest.errors import ConfigurationError
from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from digest.config.progress import Reading
    from digest.subscriptions import Destination


_READERS: dict[str, Callable[[object], object]] = {
    "url": read_hook_url,
    "secret": lambda value: read_secret(read_line(value)),
}

_PREFIX = "whsec_"
_SHORTEST_KEY, _LONGEST_KEY = 24, 64
"""Bytes of a key (https://www.standardwebhooks.com, "Signature scheme")."""


def read_secret(text: str) -> bytes:
    """Return the key that a webhook's secret stands for: `whsec_` and 24 to 64 bytes in base64.

    Raises:
        ConfigurationError: it is none. It is not repeated.
    """
    hint = "`digest webhook secret` makes one."
    if not text.startswith(_PREFIX):
        raise ConfigurationError(f"is no secret of a webhook: those begin with {_PREFIX}", hint=hint)
    try:
        key = b64decode(text.removeprefix(_PREFIX), validate=True)
    except ValueError:
        raise ConfigurationError(f"is not base64 behind {_PREFIX}", hint=hint) from None
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        raise ConfigurationError(
            f"holds {len(key)} bytes, and must hold {_SHORTEST_KEY} to {_LONGEST_KEY}", hint=hint
        )
    return key


def write_secret(key: bytes) -> str:
    """Return the secret that stands for a key: what `read_secret` reads."""
    return _PREFIX + b64encode(key).decode("ascii")


def read_hooks(reading: Reading, destinations: Iterable[Destination]) -> dict[str, Webhook]:
    """Return name → webhook: those of the file, and those that destinations name, from variables."""
    table = _find_table(reading)
    wanted = {one.address for one in destinations if one.kind is DestinationKind.WEBHOOK}
    found = {
        name: _read_one(reading, name, table.get(name, {})) for name in [*table, *sorted(wanted - set(table))]
    }
    return {name: webhook for name, webhook in found.items() if webhook is not None}


def find_lacking(
    reading: Reading, hooks: Iterable[str], destinations: Iterable[Destination]
) -> dict[str, Lacking]:
    """Return by name what is not given of each webhook that can't be used: key and variable, each.

    Args:
        reading: what was read; nothing is lacking of what was given and is wrong, which was said then.
        hooks: the names of those that can be used.
        destinations: where digests and alarms go.
    """
    table = _find_table(reading, is_quiet=True)
    names = {*table, *(one.address for one in destinations if one.kind is DestinationKind.WEBHOOK)} - {*hooks}
    found = {name: tuple(_list_lacking(reading, name)) for name in sorted(names)}
    return {name: lacking for name, lacking in found.items() if lacking}


def _list_lacking(reading: Reading, name: str) -> Iterator[tuple[str, str]]:
    for key in HOOK_KEYS:
        full = f"{HOOKS}.{name}.{key}"
        if full not in reading.origins:
            yield key, variable_of(full)


def _find_table(reading: Reading, *, is_quiet: bool = False) -> Mapping[str, object]:
    table = reading.document.data.get(HOOKS, {})
    if isinstance(table, dict):
        return table
    if is_quiet:
        return {}
    what = f"must be a table of tables, not {describe_type(table)}"
    reading.problems.add(reading.document.place(HOOKS), HOOKS, what, f"Write [{HOOKS}.lab] and url = …")
    return {}


def _read_one(reading: Reading, name: str, written: object) -> Webhook | None:
    """Return a webhook; None where it lacks something or something is wrong, which has been said then."""
    place = reading.document.place(HOOKS, name)
    try:
        read_name(name)
    except ConfigurationError as error:
        reading.problems.add_error(place, f"{HOOKS}.{name}", error)
        return None
    if not isinstance(written, dict):
        what = f"must be a table, not {describe_type(written)}"
        reading.problems.add(place, f"{HOOKS}.{name}", what, f"Write [{HOOKS}.{name}] and url = …")
        return None
    for key in written:
        if key not in HOOK_KEYS:
            hint = suggest(key, HOOK_KEYS, f"[{HOOKS}.{name}] takes")
            reading.problems.add(
                reading.document.place(HOOKS, name, key), f"{HOOKS}.{name}.{key}", "there is no such setting", hint
            )
    url, secret = (_find_value(reading, name, key, written) for key in ("url", "secret"))
    return Webhook(url, secret) if url and secret else None


def _find_value(reading: Reading, name: str, key: str, written: Mapping[str, object]) -> Any:  # noqa: ANN401 - by key
    """Return what a webhook's variable gives, or what is written; None where nothing is, or it is wrong."""
    full, path = f"{HOOKS}.{name}.{key}", (HOOKS, name, key)
    given = reading.environment.find(variable_of(full), takes_file=True)
    if given is None and not written.get(key):
        return None
    place = Place(variable=given.variable) if given else reading.document.place(*path)
    reading.origins[full] = given.variable if given else reading.document.origin(*path)
    if given is None and key == "secret":
        reading.warn_of_secret(full, variable_of(full))
    try:
        return _READERS[key](given.text if given else written[key])
    except ConfigurationError as error:
        reading.problems.add_error(place, "" if given else full, error)
        return None
