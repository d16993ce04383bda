"""`digest delivery`: shows the outbox, and ends or repeats what is stuck."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes, policy
from itertools import islice

import click
from sqlalchemy import Connection

from digest.cli.commands import CommandGroup
from digest.cli.context import opened_store
from digest.cli.output import LARGEST_ID, Part, answers, cut, labelled, say, table
from digest.inspect.here import Here
from digest.inspect.status import STATE_WORDS, find_stuck
from digest.model.errors import UsageError
from digest.model.messages import Delivery, DeliveryState, Message
from digest.model.slots import SlotKind, SlotName
from digest.store import attempts, outbox
from digest.store.attempts import Attempt, StoredDelivery

_STATES = tuple(dict.fromkeys(word.replace(" ", "-") for word in STATE_WORDS.values()))
"""What `--state` takes: the words of the screens."""

_NOTHING = {
    DeliveryState.HELD: "Nothing needs you that could be sent",
    DeliveryState.DEAD: "Nothing failed that could be sent",
    DeliveryState.READY: "Nothing waits for its next try",
}

_ID = click.IntRange(1, LARGEST_ID)

_MOST_LINES = 1_000_000
_LINES = 24
_LONGEST_TROUBLE = 140
"""Letters of a trouble that a list shows."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Messages on their way: list them, show one, send it again, cancel it."""


@dataclass(frozen=True, slots=True)
class DeliveryList:
    """Deliveries of some states, of all for (), the newest first; and how many are older."""

    here: Here
    deliveries: tuple[StoredDelivery, ...]
    states: tuple[str, ...]
    older: int


def _show_list(listed: DeliveryList) -> Iterator[Part]:
    here = listed.here
    rows = [_describe_delivery(here, one) for one in listed.deliveries]
    empty = "No deliveries yet: `digest run` sends what is due."
    if listed.states:
        empty = f"No delivery: {' or '.join(listed.states)}."
    header = ("ID", "STATE", "TO", "SUBSCRIPTION", f"WHEN ({here.zone_name})", "")
    yield table(header, rows, empty=empty)
    if listed.older > 0:
        limit = min(len(rows) + listed.older, _MOST_LINES)
        yield f"… {listed.older:,} older ones: --limit {limit}"


def _describe_delivery(here: Here, one: StoredDelivery) -> tuple[str, ...]:
    delivery = one.delivery
    state = STATE_WORDS[delivery.state]
    if delivery.parts > 1:
        state += f" {delivery.part + 1}/{delivery.parts}"
    place = here.show(delivery.destination)
    moment = _describe_moment(here, one)
    trouble = cut(str(delivery.last_error), _LONGEST_TROUBLE)
    return (str(delivery.id), state, place, one.subscription, moment, trouble)


@command.command("list")
@click.option(
    "--state",
    "states",
    type=click.Choice(_STATES),
    metavar="STATE",
    multiple=True,
    help=f"Only of this state; repeatable: {', '.join(_STATES)}.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, _MOST_LINES),
    default=20,
    show_default=True,
    help="How many, the latest.",
)
@answers(_show_list)
@click.pass_context
def list_(ctx: click.Context, states: tuple[str, ...], limit: int) -> DeliveryList:
    """List the deliveries, newest first.

    A delivery is one part of a digest on its way to one destination.
    """
    named = {state for state, word in STATE_WORDS.items() if word.replace(" ", "-") in states}
    wanted = tuple(map(DeliveryState, named or STATE_WORDS))
    with opened_store(ctx) as bench, bench.store.read() as conn:
        stored = attempts.load_stored_deliveries(conn, wanted, limit=limit)
        counts = outbox.load(conn, bench.here.now).counts
    in_all = sum(counts.get(state, 0) for state in wanted)
    return DeliveryList(bench.here, tuple(stored), states, older=in_all - len(stored))


def _describe_moment(here: Here, one: StoredDelivery) -> str:
    delivery = one.delivery
    if one.ended_at is not None:
        return here.write(one.ended_at)
    comes_later = delivery.not_before > here.now
    if comes_later and delivery.state in (DeliveryState.READY, DeliveryState.UNKNOWN):
        return f"next {here.write(delivery.not_before)}"
    return f"since {here.write(one.sending_at or delivery.created_at)}"


@dataclass(frozen=True, slots=True)
class DeliveryDetail:
    """A delivery and each try.

    `message` is the head of its message, with secret addresses masked; `todo` is what to do,
    in words.
    """

    here: Here
    delivery: StoredDelivery
    tries: tuple[Attempt, ...]
    message: tuple[str, ...]
    todo: str


def _show_detail(detail: DeliveryDetail) -> Iterator[Part]:
    yield labelled((label, said) for label, said in _describe_detail(detail) if said)
    if detail.message:
        yield ""
        for line in detail.message:
            yield f"  {line}".rstrip()


def _describe_detail(detail: DeliveryDetail) -> Iterator[tuple[str, str]]:
    """Yield what is known of a delivery and of each try, below labels; "" for nothing."""
    here = detail.here
    one = detail.delivery
    delivery = one.delivery
    moment = _describe_moment(here, one)
    place = here.show(delivery.destination)
    remote = delivery.remote_address
    if remote and remote != delivery.destination.address:
        place += f" ({remote} there)"
    is_run = SlotName.parse(one.slot).kind is SlotKind.RUN
    slot = "" if is_run else f"{one.slot}, "
    planned = here.write(delivery.created_at)
    yield "delivery", _describe_part(delivery)
    yield "state", f"{STATE_WORDS[delivery.state]} ({moment})"
    yield "to", place
    yield "of", f"{one.subscription}, {slot}planned {planned}"
    yield "answer", delivery.remote_id
    yield "trouble", str(delivery.last_error)
    yield "to do", detail.todo
    for each in detail.tries:
        yield f"try {each.number}", _describe_try(here, each)
    if not detail.message:
        yield "message", "not made yet, or deleted some days after it was sent"


def _describe_try(here: Here, each: Attempt) -> str:
    outcome = STATE_WORDS.get(each.outcome, each.outcome)
    took = ""
    if each.ended_at:
        seconds = (each.ended_at - each.started_at).total_seconds()
        took = f" after {seconds:.0f} s"
    return f"{here.write(each.started_at)}  {outcome}{took}  {each.detail}".rstrip()


def _describe_part(delivery: Delivery) -> str:
    words = [f"{delivery.id}, part {delivery.part + 1} of {delivery.parts}"]
    share = delivery.share
    if share is not None and share.count:
        words.append(f"papers {share.first + 1} to {share.end}")
        if share.shown < share.count:
            words.append(f"of which it shows {share.shown}")
    return ", ".join(words)


def _advise(delivery: Delivery, before: Delivery | None, remedy: str, *, is_doubtful: bool) -> str:
    """Say what an operator can do.

    `before` is the part that keeps this one from going out, None for none.
    """
    state = delivery.state
    cancel_it = f"`digest delivery cancel {delivery.id}`"
    if state not in (DeliveryState.HELD, DeliveryState.DEAD):
        return remedy
    if before is not None:
        part = f"Part {before.part + 1}"
        if before.state is DeliveryState.SUPPRESSED:
            return f"{part} was not sent, so this is not either: {cancel_it}"
        return f"{part} comes first: `digest delivery show {before.id}` says what to do."
    if state is DeliveryState.HELD and is_doubtful:
        return (
            f"If it did not arrive: `digest delivery retry {delivery.id}`. "
            f"If it did: `digest delivery mark-sent {delivery.id}`."
        )
    return f"{remedy} To drop it: {cancel_it}.".strip()


@command.command()
@click.argument("delivery_id", metavar="ID", type=_ID)
@answers(_show_detail)
@click.pass_context
def show(ctx: click.Context, delivery_id: int) -> DeliveryDetail:
    """Show the state of message ID, every attempt, and its text."""
    with opened_store(ctx) as bench, bench.store.read() as conn:
        stored, tries = attempts.load_delivery(conn, delivery_id)
        message = attempts.load_message(conn, delivery_id)
        stuck = find_stuck(conn, {stored.delivery.state} & _NOTHING.keys(), bench.here)
        remedies = [str(one.remedy) for one in stuck if delivery_id in one.deliveries]
        todo = _advise(
            stored.delivery,
            before=attempts.load_obstacle(conn, delivery_id),
            remedy=remedies[0] if remedies else "",
            is_doubtful=attempts.may_have_arrived(conn, delivery_id),
        )
    head = read_head(message) if message else []
    return DeliveryDetail(bench.here, stored, tuple(tries), tuple(head), todo)


@command.command()
@click.argument("delivery_ids", metavar="[ID…]", type=_ID, nargs=-1)
@click.option(
    "--held",
    "all_held",
    is_flag=True,
    help="Everything that needs you, unless it may have arrived.",
)
@click.option(
    "--failed", "all_failed", is_flag=True, help="Everything that failed and may still be sent."
)
@click.option(
    "--waiting",
    "all_waiting",
    is_flag=True,
    help="Everything that waits for its next try.",
)
@click.option("--anyway", is_flag=True, help="Send also what may have arrived: it may come twice.")
@click.pass_context
def retry(
    ctx: click.Context,
    delivery_ids: tuple[int, ...],
    *,
    all_held: bool,
    all_failed: bool,
    all_waiting: bool,
    anyway: bool,
) -> None:
    """Send ID… with the next run, though it failed or needs you.

    What may have reached a Slack channel is searched for there first, and sent only if it is
    missing.
    """
    choices = [all_held, all_failed, all_waiting, bool(delivery_ids)]
    if choices.count(True) != 1:
        raise UsageError(
            "say which deliveries to send: their IDs, --held for all that need you, "
            "--failed, or --waiting",
            hint="`digest delivery list` shows how each is.",
        )
    with opened_store(ctx, warns=True) as bench, bench.store.begin() as conn:
        left: list[int] = []
        state = DeliveryState.HELD
        if all_failed or all_waiting:
            state = DeliveryState.DEAD if all_failed else DeliveryState.READY
            chosen = _choose_unsent(conn, state)
        elif all_held:
            held = attempts.load_held(conn)
            left = [] if anyway else list(held.doubtful)
            chosen = [id_ for id_ in held.ids if id_ not in left]
        else:
            chosen = list(delivery_ids)
        if not chosen:
            _say_nothing_to_send(conn, bench.here, state)
        if left:
            named = name_deliveries(left)
            say(f"{named} may have arrived and was not sent: `digest delivery show {left[0]}`")
        searched, sent = _retry_all(conn, chosen, bench.here.now, anyway=anyway)
    when = "by the next `digest run`, or at once if `digest serve` runs"
    for id_ in searched:
        say(
            f"{name_deliveries([id_])} may have arrived. "
            f"It is searched for there, and sent only if it is missing, {when}. "
            f"To send it without: `digest delivery retry --anyway {id_}`"
        )
    if sent:
        named = name_deliveries(sent)
        say(f"{named} will be tried {when}. What was refused there before is tried first.")


def _choose_unsent(conn: Connection, state: DeliveryState) -> list[int]:
    """Return what failed, or what waits for its next try.

    What was to go where nothing is sent any more is not among it.
    """
    stored = attempts.load_stored_deliveries(conn, (state,), limit=_MOST_LINES)
    is_failed = state is DeliveryState.DEAD
    return [one.delivery.id for one in stored if is_failed or one.delivery.last_error]


def _say_nothing_to_send(conn: Connection, here: Here, state: DeliveryState) -> None:
    """Say that nothing is in a state, and what is in the others."""
    say(f"{_NOTHING[state]}.")
    others = [other for other in _NOTHING if other is not state]
    for trouble in find_stuck(conn, others, here):
        say(f"{trouble.what}. {trouble.remedy}")


def _retry_all(
    conn: Connection, ids: Iterable[int], now: datetime, *, anyway: bool
) -> tuple[list[int], list[int]]:
    """Take deliveries up again; return those that are searched for first, and those sent at once.

    Parts go in their order: one that is taken up clears the way for the next.
    """
    searched = []
    sent = []
    for id_ in sorted(set(ids)):
        refuse_later_part(conn, id_)
        state = attempts.retry(conn, id_, now, anyway=anyway)
        if state is None:
            refuse(conn, id_, "tried again")
        elif state is DeliveryState.UNKNOWN:
            searched.append(id_)
        elif state is DeliveryState.READY:
            sent.append(id_)
    return searched, sent


@command.command()
@click.argument("delivery_ids", metavar="ID…", type=_ID, nargs=-1, required=True)
@click.pass_context
def mark_sent(ctx: click.Context, delivery_ids: tuple[int, ...]) -> None:
    """Say that ID… did arrive, so that it is not sent again.

    The parts after it go on.
    """
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        for id_ in sorted(set(delivery_ids)):
            if not attempts.mark_arrived(conn, id_, bench.here.now):
                refuse(conn, id_, "marked as sent")
    say(f"{name_deliveries(delivery_ids)} will not be sent again. What waits after it goes on.")


@command.command()
@click.argument("delivery_ids", metavar="ID…", type=_ID, nargs=-1, required=True)
@click.pass_context
def cancel(ctx: click.Context, delivery_ids: tuple[int, ...]) -> None:
    """Never send ID…, and do not ask about them again.

    It works for messages that wait, need you or have failed.
    """
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        for id_ in dict.fromkeys(delivery_ids):
            before, _ = attempts.load_delivery(conn, id_)
            if before.delivery.state is DeliveryState.SUPPRESSED:
                continue  # not sent anyway, such as a part after another one that is named
            if not attempts.cancel(conn, id_, bench.here.now):
                refuse(conn, id_, "canceled")
    say(f"{name_deliveries(delivery_ids)} will not be sent.")


def read_head(message: Message) -> list[str]:
    """Return the head of a mail, of a Slack message or of a text, as lines without secrets."""
    if message.media_type == "message/rfc822":
        lines = _read_mail(message.body)
    elif message.media_type == "application/json":
        lines = _read_slack(message.body)
    else:
        lines = iter(message.body.decode("utf-8", "replace").splitlines())
    shown = [mask_links(line) for line in islice(lines, _LINES + 1)]
    if len(shown) > _LINES:
        shown[_LINES] = "…"
    return shown


def mask_links(text: str) -> str:
    """Return a text in which no secret address works: feeds, pages, links to unsubscribe."""
    return re.sub(r"(https?://(?:(?!https?://)[^\s\"'<>])*?/[a-z])/[\w-]{16,}", r"\1/***", text)


def _read_mail(body: bytes) -> Iterator[str]:
    mail = message_from_bytes(body, policy=policy.default)
    for name in ("From", "To", "Date", "Subject", "Message-ID"):
        yield f"{name}: {mail[name]}"
    text = mail.get_body(("plain",))
    if text is not None:
        yield ""
        yield from text.get_content().splitlines()


def _read_slack(body: bytes) -> Iterator[str]:
    """Yield the texts of a message's blocks, in order, however deep they are."""
    waiting = [json.loads(body)]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, dict):
            if isinstance(part.get("text"), str):
                yield from part["text"].splitlines()
            waiting[:0] = part.values()
        elif isinstance(part, list):
            waiting[:0] = part


def refuse_later_part(conn: Connection, id_: int) -> None:
    """Refuse a part that would wait for ever: one before it was not sent, and will not be."""
    before = attempts.load_obstacle(conn, id_)
    if before:
        state = STATE_WORDS[before.state]
        raise UsageError(
            f"delivery {id_} follows part {before.part + 1}, delivery {before.id} ({state});"
            " nothing was changed",
            hint=f"`digest delivery show {before.id}` says what can be done about that one.",
        )


def refuse(conn: Connection, id_: int, what: str) -> None:
    """Say why a delivery can't be moved; the transaction is rolled back, so none of them was."""
    stored, _ = attempts.load_delivery(conn, id_)
    state = STATE_WORDS[stored.delivery.state]
    raise UsageError(
        f"delivery {id_} ({state}) can't be {what}; nothing was changed",
        hint="`digest delivery list` shows how each is.",
    )


def name_deliveries(ids: Sequence[int]) -> str:
    """Write deliveries by their numbers, as a sentence begins."""
    distinct = list(dict.fromkeys(ids))
    numbers = ", ".join(map(str, distinct))
    return f"Delivery {numbers}" if len(distinct) == 1 else f"Deliveries {numbers}"
