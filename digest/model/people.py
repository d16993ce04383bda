"""People who subscribe by themselves: who may, what they ask for, how often a mail answers them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Self

from digest.model.announcements import Kind
from digest.model.cadences import EVERY_DAY, WEEKDAYS, WORKING_DAYS, Cadence, CadenceKind
from digest.model.errors import ConfigurationError, UsageError
from digest.model.subscriptions import Abstracts

MOST_QUERIES = 10
"""Saved queries of one person."""

MOST_LIKES = 500
"""Papers of which one person wants more or less, for one subscription."""

LONGEST_QUERY = 2_000
"""Characters of a person's saved query."""

MOST_BEGINNINGS = 20
"""Beginnings of words (`transf*`) in a person's saved query: each finds many words."""

REQUEST_LIFETIME = timedelta(hours=48)
"""How long a request waits for its button; then nothing of it is kept."""

FRESH_LINK_LIFETIME = timedelta(minutes=30)
"""How long a fresh link works, once. It opens what a forwarded mail must not give away."""

UNDO = timedelta(days=7)
"""How long unsubscribing can be undone on its page."""

DAYS = {
    "weekdays": "weekdays",
    "daily": "every day",
    "mondays": "Mondays",
    "tuesdays": "Tuesdays",
    "wednesdays": "Wednesdays",
    "thursdays": "Thursdays",
    "fridays": "Fridays",
    "announcement": "as soon as announced",
}
"""What a form offers for the days, and how a page says it."""

_HOURS = [str(hour) for hour in range(24)]
"""What a form offers for the hour."""

KINDS = {
    Kind.NEW: "new papers",
    Kind.CROSS_LIST: "papers cross-listed from other categories",
    Kind.REPLACEMENT: "new versions of papers",
    Kind.WITHDRAWAL: "withdrawn papers",
}
"""What a form offers for the kinds of announcement, and how a page says it."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many there may be in a span of time."""

    most: int
    span: timedelta


LETTERS_TO_ADDRESS = (Limit(3, timedelta(days=1)), Limit(6, timedelta(days=30)))
"""Mails with a link that one address gets at most, no matter who asks for them."""

REQUESTS_OF_NETWORK = Limit(20, timedelta(hours=1))
"""Requests taken from one network (/24 or /48)."""

REQUESTS_OF_WIDE_NETWORK = Limit(60, timedelta(hours=1))
"""Requests taken from a wider network (/16 or /32)."""

REQUESTS_OF_ALL = Limit(200, timedelta(hours=1))
"""Requests to subscribe or to move, from all networks together.

Requests for a link are not counted: only people who are known get one.
"""


@dataclass(frozen=True, slots=True)
class Signup:
    """Who may subscribe by themselves.

    Attributes:
        is_open: anybody.
        domains: anybody who has an address of one of these, in small letters.
        addresses: anybody who has one of these, each in its one spelling.
    """

    is_open: bool = False
    domains: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()

    @property
    def is_off(self) -> bool:
        """Whether nobody may."""
        return not (self.is_open or self.domains or self.addresses)

    def admits(self, address: str) -> bool:
        """Whether an address, in its one spelling, may subscribe."""
        domain = address.rpartition("@")[2]
        return self.is_open or address in self.addresses or domain in self.domains

    def takes_request_for(self, address: str) -> bool:
        """Whether a request for an address is taken.

        All are taken if single ones are listed: nobody learns which.
        """
        return bool(self.addresses) or self.admits(address)

    def __str__(self) -> str:
        if self.is_open:
            return "open"
        if self.is_off:
            return "closed"
        return ", ".join(sorted(self.domains | self.addresses))


class RequestKind(StrEnum):
    """What a form asks for: to subscribe, the person's link, a fresh link, or another address."""

    SUBSCRIBE = "subscribe"
    LINK = "link"
    FRESH = "fresh"
    MOVE = "move"


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A person's saved query.

    Attributes:
        name: unique among theirs.
        is_on: it brings papers. One that is off is kept for later.
    """

    name: str
    text: str
    is_on: bool = True


@dataclass(frozen=True, slots=True)
class SignupRequest:
    """What a person wants to get, as their forms say it.

    Attributes:
        joins: names of subscriptions of the operator's file.
        old_address: the address to move from; "" for none.
    """

    queries: tuple[OwnQuery, ...] = ()
    cadence: str = "on announcement"
    kinds: tuple[Kind, ...] = (Kind.NEW, Kind.CROSS_LIST)
    abstracts: Abstracts = Abstracts.SHORT
    has_feed: bool = False
    joins: tuple[str, ...] = ()
    old_address: str = ""

    def add_query(self, text: str) -> SignupRequest:
        """Return it with one more saved query, which is named after its words."""
        if len(self.queries) >= MOST_QUERIES:
            raise UsageError(
                f"you have {MOST_QUERIES} saved queries, and nobody may have more",
                hint="Delete one first.",
            )
        name = name_query(text, [query.name for query in self.queries])
        return replace(self, queries=(*self.queries, OwnQuery(name, text)))

    def write(self) -> str:
        """Return it as JSON, to be kept until its button is pressed."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `write` wrote, in this release or another."""
        defaults = json.loads(cls().write())
        values = defaults | json.loads(text)
        return cls(
            queries=tuple(OwnQuery(**query) for query in values["queries"]),
            cadence=values["cadence"],
            kinds=tuple(map(Kind, values["kinds"])),
            abstracts=Abstracts(values["abstracts"]),
            has_feed=values["has_feed"],
            joins=tuple(values["joins"]),
            old_address=values["old_address"],
        )


def write_cadence(days: str, hour: str, zone: str) -> str:
    """Return a cadence's phrase from three fields of a form: `weekdays`, `9`, `Europe/Berlin`."""
    if days == "announcement":
        return "on announcement"
    if days not in DAYS or hour not in _HOURS:
        raise UsageError(
            "these days or this hour are not offered", hint="Choose both from the lists."
        )
    phrase = f"{days} at {int(hour):02}:00 {zone or 'UTC'}"
    try:
        return str(Cadence.parse(phrase))
    except ConfigurationError as error:
        raise UsageError(
            f"{zone[:60]!r} is not a time zone", hint="Write it like Europe/Berlin."
        ) from error


def read_cadence_fields(cadence: Cadence) -> tuple[str, str, str]:
    """Return the days, hour and zone of which `write_cadence` makes this cadence."""
    if cadence.kind is not CadenceKind.CLOCK:
        return "announcement", "9", "UTC"
    fields = {frozenset({number}): f"{name}s" for number, name in enumerate(WEEKDAYS)}
    fields |= {WORKING_DAYS: "weekdays", EVERY_DAY: "daily"}
    field_of_days = fields.get(cadence.days, "weekdays")
    return field_of_days, str(cadence.at.hour), cadence.zone


def name_query(text: str, taken: Collection[str]) -> str:
    """Return a new name for a person's saved query: `tail latency` → `tail-latency`."""
    terms = re.sub(r"\b(?:AND|OR|ANDNOT|NOT|[a-z]+:)", " ", text)
    words = re.findall(r"[a-z0-9.]+", terms.lower())
    stem = "-".join(words)[:40].strip(".-") or "papers"
    name = stem
    number = 2
    while name in taken:
        name = f"{stem}-{number}"
        number += 1
    return name
