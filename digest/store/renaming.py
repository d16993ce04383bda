"""Subscriptions that the operator's file calls something else now: all that goes by name goes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from digest.errors import ConfigurationError
from digest.store.link_names import read_link_names, write_link_names
from digest.store.schema import consents, subscriptions, suppressions, tokens
from digest.subscriptions import SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from digest.subscriptions import Subscription


@dataclass(frozen=True, slots=True)
class NotRenamed:
    """A `was` in the file that renames nothing.

    Attributes:
        before: the name it says.
        now: the subscription's.
        has_both: both are stored; else there is none of the name before.
        goes_on: the one of the name before lives. It is not ended, though the file names it nowhere else: it may
            be the one that is meant.
    """

    before: str
    now: str
    has_both: bool
    goes_on: bool = False

    def describe(self) -> str:
        """Say so in a sentence without a full stop, and what to do."""
        if self.has_both:
            until_then = f"; until then {self.before} goes on as it was" if self.goes_on else ""
            return (
                f'was = "{self.before}" renames nothing, since {self.now} is there beside {self.before} already:'
                f" leave `was` out, or call it {self.before} again for one run, and {self.now} with `was` for the"
                f" next{until_then}"
            )
        return f'was = "{self.before}" renames nothing, since there is no {self.before} that could be {self.now}'


@dataclass(frozen=True, slots=True)
class Renaming:
    """What the `was` of a file do.

    Attributes:
        renamed: (name before, name now) of each subscription that is called otherwise.
        idle: each `was` that has no effect and never had; one that was taken over may stay in the file.
        refused: (name before, name now) of each new subscription whose `was` names one that keeps its name.
    """

    renamed: tuple[tuple[str, str], ...] = ()
    idle: tuple[NotRenamed, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()

    def require_clear(self) -> None:
        """Go on only where no subscription is to be called what another keeps.

        Raises:
            ConfigurationError: one is.
        """
        for before, now in self.refused:
            raise ConfigurationError(
                f'{now} has was = "{before}", and another subscription is called {before} still',
                hint=f"Leave `was` out where {now} is new.",
            )


def rename(conn: Connection, wanted: Sequence[Subscription], origin: str) -> Renaming:
    """Give subscriptions the names the file has for them now, and say what was done.

    A name that one has which has ended is free: that one is moved aside, with all that goes by its name. So is a
    name whose holder is renamed in the same edit.

    Args:
        conn: a writing transaction.
        wanted: the whole of the origin's.
        origin: `Origin` as text.

    Raises:
        ConfigurationError: `was` names one that the file goes on calling so.
    """
    if not any(subscription.was for subscription in wanted):
        return Renaming()
    stored = _load_names(conn)
    chains = _find_chains(wanted, origin, stored)
    renaming = _read_renaming(wanted, origin, stored, chains)
    renaming.require_clear()
    for before, name in renaming.renamed:
        now = stored.get(name)
        if now is not None and _is_free(now, origin):
            _give_name(conn, now, _choose_aside(now, stored))
        _give_name(conn, stored[before], name)
    return renaming


def foresee_renaming(conn: Connection, wanted: Sequence[Subscription], origin: str) -> Renaming:
    """Return what the `was` of the file would do if it were taken over now."""
    if not any(one.was for one in wanted):
        return Renaming()
    stored = _load_names(conn)
    return _read_renaming(wanted, origin, stored, _find_chains(wanted, origin, stored))


def _load_names(conn: Connection) -> dict[str, Row[Any]]:
    told = ("id", "name", "origin", "state", "ended_at", "link_names")
    return {row.name: row for row in conn.execute(select(*(subscriptions.c[name] for name in told)))}


def _find_chains(
    wanted: Sequence[Subscription], origin: str, stored: Mapping[str, Row[Any]]
) -> list[list[Subscription]]:
    """Return what can be renamed, each with those that must be renamed before it to leave it their names.

    A chain begins with one whose former name is in the file no more: so it is followed once, and not again
    while `was` stays in the file.
    """
    kept = {subscription.name for subscription in wanted}
    former = {subscription.was: subscription for subscription in wanted if subscription.was}
    chains = []
    for head in wanted:
        before = stored.get(head.was)
        if before is None or before.origin != origin or before.name in kept:
            continue
        chain: list[Subscription] = [head]
        while (now := stored.get(chain[-1].name)) is not None and not _is_free(now, origin):
            # Only one that lives takes the name of another that does: the other would begin anew under its own.
            if now.origin != origin or now.name not in former or before.state == SubscriptionState.ENDED:
                break
            chain.append(former[now.name])
        else:
            chains.append(chain)
    return chains


def _read_renaming(
    wanted: Sequence[Subscription],
    origin: str,
    stored: Mapping[str, Row[Any]],
    chains: Sequence[Sequence[Subscription]],
) -> Renaming:
    kept = {subscription.name for subscription in wanted}
    renamed = [(one.was, one.name) for chain in chains for one in reversed(chain)]
    names = {name for _, name in renamed}
    idle, refused = [], []
    for subscription in wanted:
        if not subscription.was or subscription.name in names:
            continue
        before, now = stored.get(subscription.was), stored.get(subscription.name)
        is_there = before is not None and before.origin == origin
        if is_there and subscription.was != subscription.name and subscription.was in kept:
            if _is_free(now, origin):
                refused.append((subscription.was, subscription.name))
        elif not _is_free(now, origin) if is_there else now is None:
            goes_on = is_there and before is not None and before.state != SubscriptionState.ENDED
            idle.append(NotRenamed(subscription.was, subscription.name, has_both=is_there, goes_on=goes_on))
    return Renaming(tuple(renamed), tuple(idle), tuple(refused))


def _is_free(row: Row[Any] | None, origin: str) -> bool:
    """Whether another subscription may take the name: nobody has it, or one of the file's that has ended."""
    return row is None or (row.origin == origin and row.state == SubscriptionState.ENDED)


def _choose_aside(row: Row[Any], taken: Collection[str]) -> str:
    """Return a name for one that has ended, such as no file can give to another."""
    name = f"{row.name} (ended {row.ended_at:%Y-%m-%d})"
    return name if name not in taken else f"{name[:-1]}, no. {row.id})"


def _give_name(conn: Connection, row: Row[Any], name: str) -> None:
    """Rename a subscription; what its addresses are made from stays."""
    links = write_link_names(read_link_names(row.link_names, row.name))
    mine = subscriptions.c.id == row.id
    conn.execute(update(subscriptions).where(mine).values(name=name, link_names=links))
    for column in (suppressions.c.subscription, consents.c.subscription, tokens.c.subscription):
        conn.execute(update(column.table).where(column == row.name).values({column.name: name}))
