"""What is held to be true, said once more by other means than the product's, and how it is asked of a database."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, time, timedelta
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, text

from digest.model.announcements import StoredChange
from tests.fakes.mail import ReceivedMail
from tests.simulator.life import Wish

_PERIODS = {
    "daily": timedelta(days=1),
    "weekdays": timedelta(days=3),
    "mondays": timedelta(days=7),
}
_ANNOUNCED_WITHIN = timedelta(days=5)
"""From a Friday's late paper to Sunday's announcement and the next morning, with a day to spare."""

_LOG = """
CREATE TABLE steps_taken (id {key}, delivery INTEGER, before TEXT, after TEXT, tokens TEXT, is_body_kept INTEGER)
"""
_SQLITE_TRIGGER = """
CREATE TRIGGER note_steps AFTER UPDATE ON deliveries BEGIN
INSERT INTO steps_taken (delivery, before, after, tokens, is_body_kept) VALUES (OLD.id, OLD.state, NEW.state,
OLD.token || ' ' || NEW.token || ' ' || OLD.attempts || ' ' || NEW.attempts,
OLD.body IS NULL OR OLD.body = NEW.body OR (NEW.body IS NULL AND OLD.ended_at IS NOT NULL)); END
"""
_POSTGRESQL_TRIGGER = """
CREATE FUNCTION note_step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO steps_taken (delivery, before, after, tokens, is_body_kept) VALUES (OLD.id, OLD.state, NEW.state,
OLD.token || ' ' || NEW.token || ' ' || OLD.attempts || ' ' || NEW.attempts,
(OLD.body IS NULL OR OLD.body = NEW.body OR (NEW.body IS NULL AND OLD.ended_at IS NOT NULL))::int);
RETURN NULL; END $$;
CREATE TRIGGER note_steps AFTER UPDATE ON deliveries FOR EACH ROW EXECUTE FUNCTION note_step()
"""


class Broken(AssertionError):
    """What must always be true is not; `rule` says which."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule


def note_every_step(conn: Connection) -> None:
    """Let the database itself write down every change of a delivery's state, in the transaction that makes it."""
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql(_LOG.format(key="INTEGER PRIMARY KEY"))
        conn.exec_driver_sql(_SQLITE_TRIGGER)
    else:
        conn.exec_driver_sql(_LOG.format(key="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"))
        conn.exec_driver_sql(_POSTGRESQL_TRIGGER)


def compare(matches: Any, changes: dict[int, StoredChange], begin: int) -> tuple[tuple[int, ...], ...]:  # noqa: ANN401 - a predicate
    """Say what enters, stays in and leaves a query."""
    outcome: tuple[list[int], list[int], list[int]] = ([], [], [])
    for id_, change in sorted(changes.items()):
        is_in = matches(change.paper)
        was_in = change.previous is not None and matches(change.previous)
        if id_ > begin and (is_in or was_in):
            outcome[0 if not was_in else 1 if is_in else 2].append(id_)
    return tuple(map(tuple, outcome))


def choose(wish: Wish, outcome: Any, changes: dict[int, StoredChange]) -> set[int]:  # noqa: ANN401 - three tuples
    """Say what of a query's outcome a subscription is told."""
    new, changed, gone = outcome
    chosen = set()
    for id_ in new:
        kind = "cross-listed" if changes[id_].kind == "edited" else str(changes[id_].kind)
        is_overtaken = kind == "replaced" and changes[id_].previous is None and "new" in wish.kinds
        if kind in wish.kinds or is_overtaken:
            chosen.add(id_)
    chosen |= {id_ for id_ in changed if changes[id_].kind in {"replaced", "withdrawn"} & {*wish.kinds}}
    chosen |= {id_ for id_ in gone if changes[id_].kind in {"withdrawn"} & {*wish.kinds}}
    return chosen


def find_turn(when: str, now: datetime, disturbed: datetime | None) -> datetime | None:
    """Return the last turn that has come by now; None where the wish is too young for one."""
    if when == "at once":
        return now if disturbed != now else None
    if when == "on announcement":
        turn, period = now - _ANNOUNCED_WITHIN, _ANNOUNCED_WITHIN
    else:
        days, _, at, zone = when.split()
        period = _PERIODS[days]
        allowed = {"daily": range(7), "weekdays": range(5), "mondays": range(1)}[days]
        day = now.astimezone(ZoneInfo(zone)).date()
        hour, minute = map(int, at.split(":"))
        while True:
            turn = datetime.combine(day, time(hour, minute), ZoneInfo(zone)).astimezone(UTC)
            if day.weekday() in allowed and turn <= now:
                break
            day -= timedelta(days=1)
    return turn if disturbed is None or turn - disturbed > period else None


def look_into(mail: ReceivedMail, content: str) -> None:
    part = mail.message.get_body(("plain",))
    assert part is not None
    shown = {*re.findall(r"arxiv\.org/abs/(2603\.\d{5})", part.get_content())}
    entries = len(json.loads(content)["entries"])
    if len(shown) != entries:
        fail("a mail shows its digest's papers", f"{shown}, not {entries}")


def ask(conn: Connection, statement: str, **values: object) -> list[Any]:
    return list(conn.execute(text(statement), values))


def read_moment(value: Any) -> datetime:  # noqa: ANN401 - text on SQLite
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def fail(rule: str, detail: str) -> NoReturn:
    raise Broken(rule, detail)
