"""Why the operator's word on a delivery can't be carried out, and how deliveries are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.errors import UsageError
from digest.messages import DeliveryState
from digest.store import deliveries as outbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


def refuse_behind(conn: Connection, id_: int) -> None:
    """Refuse a part that would wait for ever: one before it was not sent, and will not be by itself.

    Raises:
        UsageError: there is such a part; the transaction is rolled back.
    """
    before = outbox.find_obstacle(conn, id_)
    if before is None:
        return
    hint = f"`digest delivery show {before.id}` says what can be done about that one."
    if before.state is DeliveryState.SUPPRESSED:
        hint = "Without it the rest is not sent either: a digest is had from its first part on, or not at all."
    raise UsageError(
        f"delivery {id_} follows part {before.part + 1}, delivery {before.id}, which is {before.state};"
        " nothing was changed",
        hint=hint,
    )


def refuse(conn: Connection, id_: int, what: str) -> None:
    """Say why a delivery can't be moved; the transaction is rolled back, so none of them was.

    Raises:
        UsageError: always.
    """
    stored, _ = outbox.load_delivery(conn, id_)
    state = stored.delivery.state
    hint = "It is under way right now: look again in a minute." if state in ("claimed", "sending") else ""
    if state == "held" and not stored.delivery.attempts:
        hint = "It was never on its way."
    if replacements := outbox.list_replacements(conn, id_):
        hint = f"{name_deliveries(replacements)} came in its place, being smaller."
    raise UsageError(
        f"delivery {id_} is {state} and can't be {what}; nothing was changed",
        hint=hint or "`digest delivery list` shows where each stands.",
    )


def name_deliveries(ids: Sequence[int]) -> str:
    """Write deliveries by their numbers, as a sentence begins."""
    distinct = list(dict.fromkeys(ids))
    return f"{'Delivery' if len(distinct) == 1 else 'Deliveries'} {', '.join(map(str, distinct))}"
