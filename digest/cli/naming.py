"""Names people type: the nearest known one is named where there is none by the name given."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from digest.errors import UnknownName
from digest.store import subscriptions as subscription_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from digest.cli.storing import Installation
    from digest.planning import DueSubscription


def require_name(name: str, known: Iterable[str], *, what: str, listing: str, written: Iterable[str] = ()) -> None:
    """Make sure that a name is one of the known.

    Args:
        name: as typed.
        known: what there is.
        what: what is named, such as `saved query`.
        listing: the command that shows them all.
        written: what `digest.toml` names, taken over by a run or not yet.

    Raises:
        UnknownName: it is none of them, or the file names it and no run has taken it over yet.
    """
    names, in_file = list(known), list(written)
    if name in names:
        return
    if name in in_file:
        raise UnknownName(f"{what} {name} is new in digest.toml", hint="`digest run` takes it over.")
    raise UnknownName(f"there is no {what} {name!r}", hint=suggest_name(name, [*names, *in_file], listing))


def find_saved(text: str, saved: Mapping[str, str]) -> str | None:
    """Return the text of the saved query that is meant, None where what was typed is a query itself.

    A word that looks like a name, and is none, is noted on standard error: it is looked for as a word.

    Args:
        text: as typed.
        saved: texts of the saved queries by name.
    """
    if text in saved:
        return saved[text]
    near = get_close_matches(text, saved, n=1, cutoff=0.6)
    if text.isidentifier() and saved:
        hint = f" (there is {near[0]!r})" if near else ""
        click.echo(f"note: no saved query is called {text!r}{hint}, so it is looked for", err=True)
    return None


def suggest_name(name: str, known: Iterable[str], listing: str) -> str:
    """Return a hint that names the nearest known name; the command that shows all where none is near."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else f"`{listing}` shows them all."


def require_subscription(here: Installation, conn: Connection, name: str) -> DueSubscription:
    """Return a live subscription by name.

    Raises:
        UnknownName: there is none, or it has ended, or the file names it and no run has taken it over yet.
    """
    stored = {due.subscription.name: due for due in subscription_store.load_subscriptions(conn)}
    if name in stored:
        return stored[name]
    if any(subscription.name == name for subscription in here.config.subscriptions):
        raise UnknownName(f"subscription {name} is new in digest.toml", hint="`digest run` takes it over.")
    if subscription_store.load_subscriptions(conn, names=[name], include_ended=True):
        raise UnknownName(f"subscription {name} has ended", hint="Named in digest.toml again, it goes on.")
    raise UnknownName(
        f"there is no subscription {name!r}", hint=suggest_name(name, stored, "digest subscription list")
    )
