"""A store with something in every table, most of it by way of what fills it in real life."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Date,
    LargeBinary,
    Text,
    func,
    insert,
    select,
    update,
)

from digest.model.messages import DeliveryState, Receipt
from digest.model.said import Said
from digest.store import Store, attempts, outbox
from digest.store.dialect import Moment, Sayings, metadata
from digest.store.schema import marks
from tests.contract.store.made import MAIL, MORNING, NOW, SLACK, make_message, store_digest


def fill(store: Store) -> None:
    """Store two digests, one mail of them sent and one in doubt, and whatever else there is."""
    store_digest(store, MAIL, SLACK, parts=2)
    with store.begin() as conn:
        first, second = outbox.claim(conn, owner="worker", limit=2, now=MORNING)
        for delivery in (first, second):
            attempts.begin(conn, delivery, make_message("Grüße"), MORNING)
        attempts.mark_sent(conn, first, Receipt("remote"), MORNING)
        attempts.mark_unsent(
            conn,
            second,
            DeliveryState.UNKNOWN,
            Said.plain("the line went dead"),
            MORNING,
            not_before=MORNING,
        )
    store_digest(store, MAIL, subscription="other", slot="2026-11-19")
    with store.begin() as conn:
        conn.execute(update(marks).where(marks.c.name == "matched").values(value=2))
        for table in metadata.sorted_tables:
            if not conn.execute(select(func.count()).select_from(table)).scalar_one():
                needed = [
                    column
                    for column in table.columns
                    if not column.nullable and column is not table.autoincrement_column
                ]
                row = {column.name: _make_up(column) for column in needed}
                conn.execute(insert(table), row | _SENSIBLE.get(table.name, {}))


_SENSIBLE: dict[str, dict[str, Any]] = {
    "poll_runs": {"outcome": "complete"},
    "cursors": {"last_complete_run_id": 1, "last_complete_at": NOW},
    "suppressions": {"destination": "mailto:gone@example.org"},
    "workers": {"seen_at": 0.0},
}


def _make_up(column: Column[Any]) -> object:
    if column.foreign_keys:
        return 1
    for kind, value in (
        (Moment, NOW),
        (Date, date(2026, 11, 19)),
        (Boolean, True),
        (LargeBinary, b"\x00\xff<xml/>"),
        (JSON, ["ä", {"b": None}]),
        (Sayings, Said.plain(f"ü {column.name}")),
        (Text, f"ü {column.name}"),
    ):
        if isinstance(column.type, kind):
            return value
    return 1


def all_rows(conn: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything there is, by table."""
    found = {}
    for table in metadata.sorted_tables:
        in_order = select(table).order_by(*table.primary_key.columns)
        found[table.name] = [tuple(row) for row in conn.execute(in_order)]
    return found
