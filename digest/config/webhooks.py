"""Slack's incoming webhooks: a table of names, each with a secret URL, in the file or the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.config.addresses import read_webhook
from digest.config.problems import Place
from digest.config.table import WEBHOOKS, variable_of
from digest.config.values import describe_type, read_name
from digest.errors import ConfigurationError
from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from digest.config.progress import Reading
    from digest.subscriptions import Subscription

_PATH = tuple(WEBHOOKS.split("."))


def read_webhooks(reading: Reading, subscriptions: Sequence[Subscription]) -> dict[str, str]:
    """Return name → URL: the webhooks of the file, and those that subscriptions name, from variables."""
    table = _find_table(reading)
    wanted = {
        destination.address
        for subscription in subscriptions
        for destination in subscription.destinations
        if destination.kind is DestinationKind.SLACK_WEBHOOK
    }
    names = [*table, *sorted(wanted - set(table))]
    urls = {name: _read_one(reading, name, table.get(name)) for name in names}
    return {name: url for name, url in urls.items() if url}


def _find_table(reading: Reading) -> Mapping[str, object]:
    outer = reading.document.data.get(_PATH[0], {})
    table = outer.get(_PATH[1], {}) if isinstance(outer, dict) else {}
    if isinstance(table, dict):
        return table
    what = f"must be a table of names and URLs, not {describe_type(table)}"
    reading.problems.add(reading.document.place(*_PATH), WEBHOOKS, what, f"Write [{WEBHOOKS}] and name = URL.")
    return {}


def _read_one(reading: Reading, name: str, written: object) -> str:
    """Return a webhook's URL; "" where there is none, or a wrong one."""
    key, variable = f"{WEBHOOKS}.{name}", variable_of(f"{WEBHOOKS}.{name}")
    given = reading.environment.find(variable, takes_file=True)
    if given is None and written is None:
        return ""
    place = Place(variable=given.variable) if given else reading.document.place(*_PATH, name)
    reading.origins[key] = given.variable if given else reading.document.origin(*_PATH, name)
    try:
        read_name(name)
        url = read_webhook(given.text if given else written)
    except ConfigurationError as error:
        reading.problems.add_error(place, "" if given else key, error)
        return ""
    if given is None:
        reading.warn_of_secret(key, variable)
    return url
