"""Destinations as they are compared, what the other side calls them, and when they want to be left alone."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select, update

from digest.errors import UsageError
from digest.store.dialect import insert, insert_into, later, make_storable
from digest.store.schema import Moment, destination_addresses
from digest.subscriptions import Destination, DestinationKind, normalise_address

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Insert


_SETTLED = re.compile(r"[a-z0-9._+-]+@[a-z0-9.-]+", re.ASCII)
"""Addresses that are in their one spelling already, sound or not; most are, and judging one takes a while."""


def destination_key(destination: Destination | str) -> str:
    """Return a destination as it is stored and compared: a mail address in its one spelling."""
    given = Destination.parse(destination) if isinstance(destination, str) else destination
    if given.kind is not DestinationKind.MAIL or _SETTLED.fullmatch(given.address):
        return str(given)
    try:
        return str(Destination(given.kind, normalise_address(given.address)))
    except UsageError:
        return str(Destination(given.kind, given.address.casefold()))  # odd, and all the same somebody's


def list_aliases(conn: Connection, destination: Destination) -> list[str]:
    """Return every destination that is the same place on the other side, itself among them, sorted.

    A Slack channel goes by its name and by its id; once the name was looked up, both share one pace.
    """
    key = destination_key(destination)
    if destination.kind is not DestinationKind.SLACK:
        return [key]
    remote = known_address(conn, destination) or destination.address
    same = select(destination_addresses.c.destination).where(
        destination_addresses.c.remote_address == remote,
        destination_addresses.c.destination.startswith(f"{DestinationKind.SLACK}:"),
    )
    return sorted({key, str(Destination(DestinationKind.SLACK, remote)), *conn.execute(same).scalars()})


def block_destination(conn: Connection, destination: Destination, until: datetime) -> None:
    """Leave a destination alone until a moment (UTC); an earlier one never shortens it."""
    block = _blocking(conn.dialect.name)
    for place in list_aliases(conn, destination):
        conn.execute(block, {"place": place, "until": until})


@cache
def _blocking(dialect: str) -> Insert:
    """Build the statement that blocks a destination once: each post needs it, and building takes longer."""
    asked_for = bindparam("until", type_=Moment)
    standing = func.coalesce(destination_addresses.c.blocked_until, asked_for)
    row = {"destination": bindparam("place"), "remote_address": "", "blocked_until": asked_for}
    return (
        insert_into(dialect, destination_addresses)
        .values(row)
        .on_conflict_do_update(index_elements=["destination"], set_={"blocked_until": later(standing, asked_for)})
    )


def unblock_destination(conn: Connection, destination: Destination, until: datetime) -> None:
    """Leave a destination alone no longer than up to a moment (UTC), whatever it has asked for."""
    lift = update(destination_addresses).where(
        destination_addresses.c.destination.in_(list_aliases(conn, destination)),
        destination_addresses.c.blocked_until > until,
    )
    conn.execute(lift.values(blocked_until=until))


def remember_address(conn: Connection, destination: Destination, remote_address: str, now: datetime) -> None:
    """Keep what the other side calls a destination."""
    known = {"remote_address": make_storable(remote_address), "resolved_at": now}
    _upsert(conn, {"destination": destination_key(destination), **known}, known)


def known_address(conn: Connection, destination: Destination) -> str:
    """Return what the other side calls a destination, "" where it was never asked."""
    found = select(destination_addresses.c.remote_address).where(
        destination_addresses.c.destination == destination_key(destination)
    )
    return str(conn.execute(found).scalar() or "")


def _upsert(conn: Connection, row: dict[str, Any], changes: dict[str, Any]) -> None:
    conn.execute(
        insert(conn, destination_addresses)
        .values(row)
        .on_conflict_do_update(index_elements=["destination"], set_=changes)
    )
