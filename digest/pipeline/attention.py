"""What needs somebody: each trouble in a sentence, with what to do about it. Gathered, never decided here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.excluding import read_exclusion
from digest.messages import DeliveryState
from digest.pace import Outcome
from digest.pipeline.covering import JOINT
from digest.planning.searches import is_asked_together
from digest.store import cursors as cursor_store
from digest.store import deliveries as outbox_store
from digest.store import overview
from digest.store import queries as query_store
from digest.store import runs as run_store
from digest.store import subscriptions as subscription_store
from digest.telemetry.health import STALE_POLL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Delivery
    from digest.store.overview import Breaker

_LOOKED_AT = 500
"""Stuck deliveries read at most; they are told by destination, so more would not be more lines."""

_TOLD = 5
"""Groups of stuck deliveries told one by one; the rest are counted."""

_REMEMBERED = timedelta(days=7)
"""How long entries that were set aside are told of: looks overlap, so they are met again within days."""

_SETTINGS = "[arxiv]"
"""The table that words of a look name which failed for a wrong setting."""

_WAIT = "waiting is all that helps"

_LEFT_ALONE: Mapping[str, tuple[str, str]] = {
    Outcome.THROTTLED: ("it asked for a pause", _WAIT),
    Outcome.REFUSED: (
        "it blocks this client (403)",
        "check [arxiv] contact, then wait; see https://info.arxiv.org/help/robots.html",
    ),
}
"""Why, and what to do about it, by what the gate keeps as the reason."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that needs somebody.

    Attributes:
        what: what is wrong, as a sentence.
        remedy: a command, or what to do; "" where nothing can be done.
    """

    what: str
    remedy: str = ""


def find_troubles(
    conn: Connection,
    source: str,
    now: datetime,
    *,
    breaker: Breaker,
    has_worker: bool,
) -> Iterator[Trouble]:
    """Yield what needs somebody, the most urgent first.

    Args:
        conn: a reading transaction.
        source: `harvest` or `query`.
        now: the moment (UTC).
        breaker: whether arXiv asked us to stay away.
        has_worker: a process is at work all the time.
    """
    yield from _find_stuck(conn, now, has_worker=has_worker)
    yield from _find_unreadable(conn)
    yield from _find_intake_troubles(conn, source, now, breaker, has_worker=has_worker)
    set_aside = overview.count_quarantined(conn, since=now - _REMEMBERED)
    if set_aside:
        are = "entry of arXiv's pages was" if set_aside == 1 else "entries of arXiv's pages were"
        yield Trouble(f"{set_aside:,} {are} unreadable and set aside within {_REMEMBERED.days} days")


def _find_stuck(conn: Connection, now: datetime, *, has_worker: bool) -> Iterator[Trouble]:
    """Yield deliveries that are dead, held, or failing, one line for each destination and state."""
    again = _say_tried_again(has_worker=has_worker)
    for state in (DeliveryState.DEAD, DeliveryState.HELD, DeliveryState.READY):
        stored = outbox_store.list_deliveries(conn, (state,), limit=_LOOKED_AT)
        failing = [one.delivery for one in stored if one.delivery.last_error or state is not DeliveryState.READY]
        groups = _group(failing)
        for group in groups[:_TOLD]:
            remedy = f"digest delivery show {group[0].id}"
            if state is DeliveryState.READY:
                remedy = f"{again}; see {remedy}"
            yield Trouble(_describe_group(group, state, now), remedy)
        hidden = sum(map(len, groups[_TOLD:]))
        if hidden:
            yield Trouble(f"{hidden:,} more deliveries are {state}", f"digest delivery list --state {state}")


def _group(deliveries: Iterable[Delivery]) -> list[list[Delivery]]:
    groups: dict[str, list[Delivery]] = {}
    for delivery in deliveries:
        groups.setdefault(str(delivery.destination), []).append(delivery)
    return list(groups.values())


def _say_tried_again(*, has_worker: bool) -> str:
    """Say who tries again what failed: beside a process at work, `digest run` does nothing."""
    return "it is tried again" if has_worker else "digest run tries again"


def _describe_group(group: list[Delivery], state: DeliveryState, now: datetime) -> str:
    newest, number = group[0], len(group)
    if state is DeliveryState.READY:
        age = write_age(now - min(delivery.created_at for delivery in group))
        planned = f"planned {age} ago" if number == 1 else f"the oldest planned {age} ago"
        verb = f"{'has' if number == 1 else 'have'} failed so far ({planned})"
    else:
        verb = f"{'is' if number == 1 else 'are'} {state}"
    place = newest.destination.address or str(newest.destination)
    count = "delivery" if number == 1 else "deliveries"
    return f"{number:,} {count} to {place} {verb}: {newest.last_error or 'nobody knows why'}"


def _find_unreadable(conn: Connection) -> Iterator[Trouble]:
    for query in query_store.list_unreadable(conn):
        instead = " and goes on as it was read before" if query.canonical else ""
        first_line = query.problem.partition("\n")[0]
        yield Trouble(
            f"saved query {query.name} can't be read{instead}: {first_line}",
            "digest query list; mend it in digest.toml",
        )
    for due in subscription_store.load_excluding(conn):
        name = due.subscription.name
        for _, error in read_exclusion(due.subscription).problems:
            yield Trouble(
                f"what {name} excludes can't be read: {error.message}",
                f"digest subscription show {name}; mend it in digest.toml",
            )


def _find_intake_troubles(
    conn: Connection, source: str, now: datetime, breaker: Breaker, *, has_worker: bool
) -> Iterator[Trouble]:
    if breaker.seconds:
        pause = write_age(timedelta(seconds=breaker.seconds))
        why, remedy = _LEFT_ALONE.get(breaker.reason, (breaker.reason, _WAIT))
        again = _say_tried_again(has_worker=has_worker)
        yield Trouble(f"arXiv is left alone for {pause}: {why}", f"{remedy}; {again} then")
    keys = polled_keys(conn, source)
    looks = {key: cursor_store.load_cursor(conn, source, key).last_complete_at for key in keys}
    complete = [look for look in looks.values() if look is not None]
    if breaker.seconds and len(complete) < len(looks):
        pass  # that it waits for, and no call helps
    elif len(complete) < len(looks):
        about = (
            "" if source == "harvest" else f" for {len(looks) - len(complete):,} of {len(looks):,} saved queries"
        )
        remedy = "digest status --jobs" if has_worker else "digest run"
        yield Trouble(f"arXiv has not been looked at completely yet{about}", remedy)
    elif complete and now - min(complete) > STALE_POLL:
        age = write_age(now - min(complete))
        remedy = "digest status --jobs" if has_worker else "digest run, from cron; or digest serve"
        yield Trouble(f"the last complete look at arXiv was {age} ago", remedy)
    yield from _find_failed_look(conn, source, keys, has_worker=has_worker, is_left_alone=breaker.seconds > 0)


def _find_failed_look(
    conn: Connection, source: str, keys: Iterable[str], *, has_worker: bool, is_left_alone: bool
) -> Iterator[Trouble]:
    """Yield that the last look failed; while arXiv is left alone only where that will not mend it."""
    for key in keys:
        runs = run_store.last_runs(conn, source, 1, query_key=key)
        if runs and runs[0].failure:
            about = f" for {key}" if key else ""
            failure = runs[0].failure
            if is_left_alone and _SETTINGS not in failure:
                return
            # Of a look that failed only its words are kept: those of a wrong setting name its table.
            remedy = _say_tried_again(has_worker=has_worker)
            if _SETTINGS in failure:
                then = "restart digest serve" if has_worker else "digest run"
                remedy = f"mend the addresses under [arxiv], then {then}"
            yield Trouble(f"the last look at arXiv{about} failed: {failure}", remedy)
            return  # they mostly fail alike


def polled_keys(conn: Connection, source: str) -> list[str]:
    """Return what is asked of arXiv, as keys of looks: everything at once, or each distinct saved query."""
    if source == "harvest":
        return [JOINT]
    texts = list(dict.fromkeys(revision.canonical for revision in query_store.active_revisions(conn)))
    return [JOINT] if is_asked_together(texts) else texts


def write_age(age: timedelta) -> str:
    """Write a span in its largest unit: seconds, minutes, hours or days."""
    seconds = int(age.total_seconds())
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{max(seconds, 0)} s"
