"""Messages held for the operator: said by every run, and sent all at once when the cause is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.wording import cut
from digest.messages import DeliveryState
from digest.store import deliveries as outbox
from digest.store.holds import load_holds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from digest.cli.storing import Installation
    from digest.store.deliveries import StoredDelivery
    from digest.store.holds import Holds

_NAMED = 20
"""Messages named one by one at most."""

_WIDEST_REASON = 240


def describe_holds(holds: Holds) -> str:
    """Say how many messages are held, why, and what sends them."""
    number, doubtful = len(holds.ids), len(holds.doubtful)
    why = cut(holds.reason, _WIDEST_REASON).rstrip(".") or "nobody knows why"
    if number == 1:
        (id_,) = holds.ids
        if doubtful:
            return f"1 message is held, and may have arrived: {why}; `digest delivery show {id_}` says what to do."
        return f"1 message is held: {why}; once that is mended, `digest delivery retry {id_}` sends it."
    said = f"{number:,} messages are held{'' if holds.is_alike else ', the last of them'}: {why}"
    if doubtful == number:
        return f"{said}; all of them may have arrived: `digest delivery list --state held` shows them."
    sends = f"{said}; once that is mended, `digest delivery retry --held` sends them"
    if not doubtful:
        return f"{sends}."
    return f"{sends}, but for {doubtful:,} that may have arrived (`digest delivery list --state held`)."


def choose_held(here: Installation, conn: Connection, *, anyway: bool) -> list[int]:
    """Return the held deliveries to send, and print what they are; those that may have arrived stay held.

    Of what went to a Slack channel it can be found out whether it arrived: it is looked for, not left out.
    """
    holds = load_holds(conn)
    stored = outbox.list_deliveries(conn, (DeliveryState.HELD,), limit=max(len(holds.ids), 1))
    left: list[StoredDelivery] = []
    chosen: list[StoredDelivery] = []
    closed: set[tuple[int, str]] = set()
    for one in sorted(stored, key=lambda one: one.delivery.id):
        delivery = one.delivery
        place = (delivery.digest_id, str(delivery.destination))
        if (delivery.id in holds.doubtful and not anyway) or place in closed:
            closed.add(place)  # the parts behind one that stays held would wait for it
            left.append(one)
        else:
            chosen.append(one)
    _print_messages(here, "to send:", chosen)
    _print_messages(here, "stays held, since it may have arrived (digest delivery show ID says what to do):", left)
    return [one.delivery.id for one in chosen]


def _print_messages(here: Installation, heading: str, messages: Sequence[StoredDelivery]) -> None:
    if not messages:
        return
    click.echo(heading)
    for one in messages[:_NAMED]:
        delivery = one.delivery
        part = f", part {delivery.part + 1} of {delivery.parts}" if delivery.parts > 1 else ""
        click.echo(f"  {delivery.id}  {here.show(delivery.destination)}  {one.subscription}, {one.slot}{part}")
    if len(messages) > _NAMED:
        click.echo(f"  … {len(messages) - _NAMED:,} more")
