"""`digest delivery`: the outbox as the operator sees it, and the operator's word on what is stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.arriving import is_head, read_place
from digest.cli.glancing import glance_at
from digest.cli.holding import choose_held
from digest.cli.refusing import name_deliveries, refuse, refuse_behind
from digest.cli.storing import opened_store
from digest.cli.telling import json_option, print_json, print_table
from digest.cli.wording import cut, write_moment
from digest.config.zones import name_zone
from digest.errors import UsageError
from digest.messages import DeliveryState
from digest.pipeline.settling import settling_times
from digest.store import deliveries as outbox
from digest.store import overview, provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.cli.storing import Installation
    from digest.messages import Delivery
    from digest.store.deliveries import Attempt, StoredDelivery

LISTING = "digest delivery list"
_STATES = ("ready", "claimed", "sending", "sent", "unknown", "held", "dead", "suppressed", "superseded")
_ID = click.IntRange(1, 2**63 - 1)
"""What a database takes for an id."""

_MOST_LINES = 1_000_000
_MOST_NAMED = 20
_WIDEST_ADDRESS = 40
_WIDEST_ERROR = 60


@click.group()
def command() -> None:
    """The outbox: list the deliveries, look at one, try it again, say that it arrived, drop it."""


@command.command("list")
@click.option(
    "--state", "states", type=click.Choice(_STATES), multiple=True, help="Only of this state; repeatable."
)
@click.option(
    "--limit", type=click.IntRange(1, _MOST_LINES), default=20, show_default=True, help="How many, the latest."
)
@json_option
@click.pass_context
def list_deliveries(ctx: click.Context, states: tuple[str, ...], limit: int, *, as_json: bool) -> None:
    """List the deliveries, newest first.

    A delivery is one part of a digest on its way to one destination.
    """
    wanted = tuple(DeliveryState(state) for state in states) or None
    with opened_store(ctx) as here, here.store.read() as conn:
        stored = outbox.list_deliveries(conn, wanted, limit=limit)
        counts = overview.load_outbox(conn, here.now).counts
    if as_json:
        print_json([_as_json(one) for one in stored])
        return
    _print_list(here, stored, states)
    hidden = sum(number for state, number in counts.items() if wanted is None or state in wanted) - len(stored)
    if hidden > 0:
        click.echo(f"… {hidden:,} older ones: --limit {min(limit + hidden, _MOST_LINES)}")


def _print_list(here: Installation, stored: Sequence[StoredDelivery], states: tuple[str, ...]) -> None:
    rows = []
    for one in stored:
        delivery = one.delivery
        is_one_of_some = delivery.parts > 1 and delivery.part < delivery.parts
        part = f" {delivery.part + 1}/{delivery.parts}" if is_one_of_some else ""
        rows.append(
            [
                str(delivery.id),
                delivery.state + part,
                cut(here.show(delivery.destination), _WIDEST_ADDRESS),
                one.subscription,
                one.slot,
                _describe_moment(here, one),
                cut(delivery.last_error, _WIDEST_ERROR),
            ]
        )
    if states:
        empty = f"No delivery is {' or '.join(states)}."
    else:
        empty = "No deliveries yet: `digest run` sends what is due."
    header = ["ID", "STATE", "TO", "SUBSCRIPTION", "SLOT", f"WHEN ({name_zone(here.zone, here.now)})", ""]
    print_table(header, rows, empty=empty)


def _describe_moment(here: Installation, one: StoredDelivery) -> str:
    """Say when it ended, when it is tried next, or since when it waits."""
    delivery = one.delivery
    if one.ended_at is not None:
        return write_moment(one.ended_at, here.zone)
    if delivery.state in (DeliveryState.READY, DeliveryState.UNKNOWN) and delivery.not_before > here.now:
        return f"next {write_moment(delivery.not_before, here.zone)}"
    return f"since {write_moment(one.sending_at or delivery.created_at, here.zone)}"


def _as_json(one: StoredDelivery) -> dict[str, object]:
    delivery = one.delivery
    return {
        "id": delivery.id,
        "state": delivery.state,
        "to": str(delivery.destination),
        "subscription": one.subscription,
        "slot": one.slot,
        "digest": delivery.digest_id,
        "part": delivery.part + 1 if delivery.part < delivery.parts else None,
        "parts": delivery.parts,
        "papers": [delivery.share.first + 1, delivery.share.behind] if delivery.share else None,
        "replaces": delivery.replaces or None,
        "attempts": delivery.attempts,
        "created_at": delivery.created_at,
        "not_before": delivery.not_before,
        "sending_at": one.sending_at,
        "ended_at": one.ended_at,
        "remote_id": delivery.remote_id,
        "last_error": delivery.last_error,
        "idempotency_key": delivery.idempotency_key,
    }


@command.command()
@click.argument("delivery_id", metavar="ID", type=_ID)
@json_option
@click.pass_context
def show(ctx: click.Context, delivery_id: int, *, as_json: bool) -> None:
    """Show where ID stands, every attempt, and a look at its message."""
    with opened_store(ctx) as here, here.store.read() as conn:
        stored, attempts = outbox.load_delivery(conn, delivery_id)
        message = outbox.stored_message(conn, delivery_id)
        is_doubtful = outbox.may_have_arrived(conn, delivery_id)
        replacements = outbox.list_replacements(conn, delivery_id)
        obstacle = outbox.find_obstacle(conn, delivery_id)
    glance = glance_at(message) if message else []
    if as_json:
        tries = [
            {
                "number": one.number,
                "started_at": one.started_at,
                "ended_at": one.ended_at,
                "outcome": one.outcome,
                "detail": one.detail,
            }
            for one in attempts
        ]
        print_json({**_as_json(stored), "replaced_by": replacements, "tries": tries, "message": glance})
        return
    behind = f"part {obstacle.part + 1}, delivery {obstacle.id}, which is {obstacle.state}" if obstacle else ""
    _print_delivery(here, stored, replacements, behind=behind, is_doubtful=is_doubtful)
    _print_attempts(here, attempts)
    _print_glance(stored, glance)


def _print_delivery(
    here: Installation, one: StoredDelivery, replacements: Sequence[int], *, behind: str, is_doubtful: bool
) -> None:
    delivery = one.delivery
    lines = {
        "delivery": _describe_part(delivery),
        "state": f"{delivery.state} ({_describe_moment(here, one)})",
        "instead": f"{name_deliveries(replacements)}, in smaller parts" if replacements else "",
        "follows": behind,
        "to": here.show(delivery.destination) + _describe_remote(delivery),
        "of": f"{one.subscription}, {one.slot}, planned {write_moment(delivery.created_at, here.zone)}",
        "answer": delivery.remote_id,
        "trouble": delivery.last_error,
        "to do": _advise(delivery, is_doubtful=is_doubtful),
    }
    for label, value in lines.items():
        if value:
            click.echo(f"{click.style(f'{label:<10}', bold=True)}{value}")


def _describe_part(delivery: Delivery) -> str:
    """Say which part it is, which papers it tells, and what it came in place of."""
    words = [str(delivery.id)]
    if delivery.part < delivery.parts:
        words.append(f"part {delivery.part + 1} of {delivery.parts}")
    share = delivery.share
    if share is not None:
        told = f"papers {share.first + 1} to {share.behind}" if share.count > 1 else f"paper {share.behind}"
        words.append((told if share.count else "no papers") + (", in few words" if share.is_brief else ""))
    if delivery.replaces:
        words.append(f"in place of delivery {delivery.replaces}, which was too large")
    return ", ".join(words)


def _describe_remote(delivery: Delivery) -> str:
    """Say what the other side calls the destination, where that is another name."""
    remote = delivery.remote_address
    return f" ({remote} there)" if remote and remote != delivery.destination.address else ""


def _advise(delivery: Delivery, *, is_doubtful: bool) -> str:
    state, id_ = delivery.state, delivery.id
    if state is DeliveryState.HELD and is_doubtful:
        where = " --link LINK (as Slack copies it: the rest goes into its thread)" if is_head(delivery) else ""
        return (
            f"if it did not arrive: digest delivery retry {id_}; if it did: digest delivery arrived {id_}{where}"
        )
    if state in (DeliveryState.DEAD, DeliveryState.HELD):
        return f"once the cause is gone: digest delivery retry {id_}; or never: digest delivery drop {id_}"
    return ""


def _print_attempts(here: Installation, attempts: Sequence[Attempt]) -> None:
    for one in attempts:
        took = f" after {(one.ended_at - one.started_at).total_seconds():.0f} s" if one.ended_at else ""
        line = f"{write_moment(one.started_at, here.zone)}  {one.outcome}{took}  {one.detail}".rstrip()
        click.echo(f"{click.style(f'try {one.number:<6}', bold=True)}{line}")


def _print_glance(one: StoredDelivery, glance: Sequence[str]) -> None:
    if not glance:
        waits = one.ended_at is None and not one.delivery.attempts
        words = "it is made when it is first sent" if waits else "not kept: it is made anew or was pruned"
        click.echo(f"{click.style('message   ', bold=True)}{words}")
        return
    click.echo()
    for line in glance:
        click.echo(f"  {line}".rstrip())


@command.command()
@click.argument("delivery_ids", metavar="[ID…]", type=_ID, nargs=-1)
@click.option(
    "--held", "all_held", is_flag=True, help="Everything that is held, but for what may have arrived unseen."
)
@click.option(
    "--anyway", is_flag=True, help="Send what may have arrived without looking for it: it may come twice."
)
@click.pass_context
def retry(ctx: click.Context, delivery_ids: tuple[int, ...], *, all_held: bool, anyway: bool) -> None:
    """Send ID… with the next run, though dead, held, or in doubt.

    What may have reached a Slack channel is looked for there first, and sent only if it is missing.
    """
    if all_held == bool(delivery_ids):
        raise UsageError(
            "say which deliveries to send: their IDs, or --held for all that are held",
            hint=f"`{LISTING}` shows where each stands.",
        )
    went: dict[DeliveryState, list[int]] = {}
    with opened_store(ctx, warns=True) as here, here.store.begin() as conn:
        chosen = choose_held(here, conn, anyway=anyway) if all_held else delivery_ids
        if all_held and not chosen:
            click.echo("Nothing is held that could be sent.")
        # Parts in their order: one that is taken up clears the way for the next.
        for id_ in sorted(set(chosen)):
            refuse_behind(conn, id_)
            to = outbox.retry(conn, id_, here.now, settle=settling_times(here.config), anyway=anyway)
            if to is None:
                refuse(conn, id_, "tried again")
            else:
                went.setdefault(to, []).append(id_)
        is_held_back = provenance.is_restored(conn)
    when = "by the next `digest run`, or at once where `digest serve` runs"
    if is_held_back:
        when = "by the first `digest run` after `digest db resume`: before it this restored database sends nothing"
    for id_ in went.get(DeliveryState.UNKNOWN, ()):
        click.echo(
            f"{name_deliveries([id_])} may have arrived: it is looked for there first and sent only if it is"
            f" missing, {when}."
            f" To send it unasked: digest delivery retry --anyway {id_}"
        )
    sent = went.get(DeliveryState.READY, [])
    if sent:
        which = name_deliveries(sent) if len(sent) <= _MOST_NAMED else f"{len(sent):,} deliveries"
        click.echo(f"{which} will be sent {when}.")


@command.command()
@click.argument("delivery_ids", metavar="ID…", type=_ID, nargs=-1, required=True)
@click.option("--link", default="", help="Where it stands in Slack, as “Copy link” there gives it; for one ID.")
@click.pass_context
def arrived(ctx: click.Context, delivery_ids: tuple[int, ...], link: str) -> None:
    """Say that ID…, held or in doubt, did arrive.

    The parts behind it go on: in Slack into its thread where --link says where it stands, else into the channel.
    """
    ids, has_no_thread = sorted(set(delivery_ids)), False
    if link and len(ids) > 1:
        raise UsageError("--link is for one delivery", hint="Each message has a link of its own.")
    with opened_store(ctx) as here, here.store.begin() as conn:
        for id_ in ids:
            delivery = outbox.load_delivery(conn, id_)[0].delivery
            place = read_place(delivery, link) if link else ""
            if not outbox.take_as_arrived(conn, id_, here.now, remote_id=place):
                refuse(conn, id_, "taken as arrived")
            has_no_thread = has_no_thread or (not link and is_head(delivery))
    rest = ", into the channel, since its thread is not known" if has_no_thread else ""
    click.echo(f"{name_deliveries(delivery_ids)} will not be sent again; what waits behind goes on{rest}.")


@command.command()
@click.argument("delivery_ids", metavar="ID…", type=_ID, nargs=-1, required=True)
@click.pass_context
def drop(ctx: click.Context, delivery_ids: tuple[int, ...]) -> None:
    """Never send ID…, and let nobody be asked about them again.

    Each may wait, be held, or have been given up.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        for id_ in dict.fromkeys(delivery_ids):
            if not outbox.drop(conn, id_, here.now):
                refuse(conn, id_, "dropped")
    click.echo(f"{name_deliveries(delivery_ids)} will not be sent.")
