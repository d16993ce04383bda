"""Gathers what works, what does not, what comes next. Nothing is decided or changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from digest.config import Config
from digest.deliver.rules import leave_out_recipient
from digest.inspect.alarm_facts import load_alarms
from digest.inspect.alarms import PLANS, STALE_POLL, can_send_heartbeat, is_stuck
from digest.inspect.coverage import find_next_check, is_checked
from digest.inspect.here import Here
from digest.inspect.queries import describe_pending_edits
from digest.inspect.subscriptions import SubscriptionStatus, load_lines
from digest.interest.libraries import describe_trouble
from digest.interest.tables import load_states
from digest.match.rules import find_unread
from digest.model.announcements import next_announcement
from digest.model.clock import Clock, RequestOutcome, SystemClock, write_age
from digest.model.destinations import Destination
from digest.model.errors import PROBED, QueryError
from digest.model.messages import Coverage, Delivery, DeliveryState
from digest.model.numbers import count
from digest.model.said import Said, Saying
from digest.poll.coverage import load_coverage
from digest.query import parse_query
from digest.store import (
    Store,
    alarms,
    attempts,
    outbox,
    papers,
    queries,
    runs,
    subscribers,
    workers,
)
from digest.store.alarms import Alarm, AlarmName
from digest.store.engine import measure_size
from digest.store.gate import Breaker, load_breaker
from digest.store.outbox import Outbox
from digest.store.workers import Worker

_READ = 500
"""Stuck deliveries read at most; they are shown by destination, so more would not be more lines."""

_PLACES = 3
"""Destinations of a group that are named; the rest are counted."""

_REMEMBERED = timedelta(days=7)
"""How long entries that were set aside are shown.

Checks overlap, so they are met again within days.
"""

_WAIT = "Only waiting helps."

_LEFT_ALONE: Mapping[str, tuple[str, str]] = {
    RequestOutcome.THROTTLED: ("it asked for a pause", _WAIT),
    RequestOutcome.REFUSED: (
        "it blocks this client (403)",
        "Check that `arxiv.contact` is an address of yours, then wait.",
    ),
}
"""Why, and what to do about it, by what the gate keeps as the reason."""


_AT_DESTINATION = (Saying.AT_DESTINATION, Saying.ALARM_NOT_SENT)
"""What says first which destination it is about."""

STATE_WORDS: Mapping[str, str] = {
    DeliveryState.READY: "waiting",
    DeliveryState.CLAIMED: "sending",
    DeliveryState.SENDING: "sending",
    DeliveryState.SENT: "sent",
    DeliveryState.UNKNOWN: "may have arrived",
    DeliveryState.HELD: "needs you",
    DeliveryState.DEAD: "failed",
    DeliveryState.SUPPRESSED: "not sent",
}
"""What a person reads for a delivery's state."""

RETRY_OPTIONS: Mapping[DeliveryState, str] = {
    DeliveryState.READY: "--waiting",
    DeliveryState.HELD: "--held",
    DeliveryState.DEAD: "--failed",
}
"""What `digest delivery retry` calls all messages of a state: waiting, held or failed ones."""

CALL = Said.of(Saying.CALL_RUN)
RESTART = "Start `digest serve` again."
_LOG = "The log of `digest serve` says why."
_MEND = "Mend it in digest.toml. `digest doctor` shows the place."


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that needs somebody, and what to do about it.

    The outbox counts it if it is of messages: its `deliveries`.
    """

    what: str | Said
    remedy: str | Said = ""
    deliveries: tuple[int, ...] = ()


def find_troubles(
    conn: Connection,
    config: Config,
    now: datetime,
    *,
    alarms: Iterable[Alarm] = (),
    breaker: Breaker,
    has_worker: bool,
) -> Iterator[Trouble]:
    """Yield what needs somebody, the most urgent first. What has one cause is one."""
    here = Here(now, config.zone, config.folder)
    retried = list(find_stuck(conn, (DeliveryState.READY,), here))
    intake = list(
        _find_intake_troubles(conn, config.arxiv.source, now, breaker, has_worker=has_worker)
    )
    for alarm in alarms:
        is_named = alarm.name is AlarmName.FAILED or is_said(alarm, retried)
        is_idle = alarm.remedy == PLANS and intake[:1] and intake[0].remedy == CALL
        if intake and (is_idle or alarm.name is AlarmName.ANNOUNCEMENT):
            intake.append(Trouble(_leave_out_cause(alarm.what, intake[0].what)))
        elif not is_named:
            yield Trouble(alarm.what, alarm.remedy)
    yield from find_stuck(conn, (DeliveryState.DEAD, DeliveryState.HELD), here)
    yield from retried
    for name, destination in subscribers.load_refused(conn):
        address = destination.address
        yield Trouble(
            f"{address} was refused in three digests in a row, so {name} is paused for it",
            f"Once it is right: `digest subscription resubscribe {name} {address}`",
        )
    yield from find_mistakes(conn, config)
    for library in load_states(conn).values():
        if library.trouble:
            yield Trouble(
                describe_trouble(config, library, now),
                "`digest run` reads it again once it is mended.",
            )
    if intake:
        yield Trouble("; ".join(str(one.what) for one in intake), intake[0].remedy)
    set_aside = runs.count_quarantined(conn, since=now - _REMEMBERED)
    if set_aside:
        what = (
            f"{count(set_aside, 'entry', 'entries')} of arXiv's pages can't be read"
            f" and were set aside in the last {_REMEMBERED.days} days"
        )
        yield Trouble(what, "`digest coverage --unreadable` shows them.")


def _leave_out_cause(what: str | Said, before: str | Said) -> str:
    """Say what is wrong, without its cause if that was said before."""
    if not isinstance(what, Said) or not isinstance(before, Said):
        return str(what)
    head, cause = what.split_cause()
    return head if cause and cause == before.split_cause()[1] else str(what)


def is_said(alarm: Alarm, retried: Sequence[Trouble]) -> bool:
    """Whether lines about messages, some of them `retried`, say the same as an alarm."""
    return alarm.name is AlarmName.HELD or (alarm.name is AlarmName.OUTBOX and bool(retried))


def find_stuck(conn: Connection, states: Iterable[DeliveryState], here: Here) -> Iterator[Trouble]:
    """Yield messages that failed, need the operator, or are retried.

    There is one line for each state and cause.
    """
    doubtful = set(attempts.load_held(conn).doubtful)
    for state in states:
        stored = attempts.load_stored_deliveries(conn, (state,), limit=_READ)
        deliveries = [one.delivery for one in stored]
        if state is DeliveryState.READY:  # only those are retried that failed before
            deliveries = [one for one in deliveries if one.last_error]
        for group in _group(deliveries):
            ids = tuple(one.id for one in group)
            remedy = f"`digest delivery show {ids[0]}` says what to do."
            if doubtful.isdisjoint(ids):
                remedy = _advise(group, here)
            yield Trouble(_describe_group(group, state, here), remedy, deliveries=ids)


def _advise(group: Sequence[Delivery], here: Here) -> str:
    """Say what becomes of messages that wait, failed or need the operator.

    It says, too, what sends them sooner.
    """
    first = group[0]
    which = str(first.id) if len(group) == 1 else RETRY_OPTIONS[first.state]
    command = f"`digest delivery retry {which}`"
    to_come = [one.not_before for one in group if one.not_before > here.now]
    tried_at = min(to_come, default=here.now)
    again = f"The next try is from {here.write_near(tried_at)} on"
    if first.state is DeliveryState.READY:
        return f"{again}. Sooner: {command}."
    if first.state is DeliveryState.HELD and first.refusal in PROBED:
        return f"{again}, or when the next message is due there. Sooner: {command}."
    return f"Once it is mended: {command}."


def _group(deliveries: Iterable[Delivery]) -> list[list[Delivery]]:
    """Return deliveries by the reason they have in common, whichever address it names."""
    groups: dict[Said, list[Delivery]] = {}
    for delivery in deliveries:
        cause = _find_cause(_find_reason(delivery), delivery.destination.address)
        groups.setdefault(cause, []).append(delivery)
    return list(groups.values())


def join_causes(troubles: Iterable[Said]) -> list[str]:
    """Say what failed, such as `mailto:ada@example.org: no such user`, one line for each cause."""
    groups: dict[Said, list[Said]] = {}
    for trouble in troubles:
        groups.setdefault(_find_common_cause(trouble), []).append(trouble)
    lines = []
    for group in groups.values():
        heads = [trouble.split_cause()[0] for trouble in group]
        _, reason = group[0].split_cause()
        names = _name_destinations(heads)
        lines.append(f"{names}: {reason}" if reason else names)
    return lines


def _find_common_cause(trouble: Said) -> Said:
    """Return what others may have failed for, too: its cause, or all of it if that has none."""
    _, cause = trouble.split_cause()
    if not cause:
        return trouble
    reason = cause if isinstance(cause, Said) else Said.plain(cause)
    if trouble.code not in _AT_DESTINATION:
        return reason
    return _find_cause(reason, Destination.parse(str(trouble.args[0])).address)


def _find_cause(reason: Said, address: str) -> Said:
    """Return a reason without what it says to one address alone."""
    if "@" in address:
        return leave_out_recipient(reason)
    if address:
        return reason.change_texts(lambda text: text.replace(address, ""))
    return reason


def _name_destinations(places: Iterable[str]) -> str:
    named = list(dict.fromkeys(places))
    first = ", ".join(named[:_PLACES])
    more = len(named) - _PLACES
    return f"{first} and {more} more" if more > 0 else first


def _find_reason(delivery: Delivery) -> Said:
    """Return why a delivery is stuck; for a part that fell with one before it, why that one is."""
    reason = delivery.last_error
    while reason.code is Saying.EARLIER_PART and isinstance(reason.args[1], Said):
        reason = reason.args[1]
    return reason


def _say_retried(*, has_worker: bool, command: str = "digest run") -> str:
    """Say who tries again what failed: beside a process at work, `digest run` does nothing."""
    return "It is tried again by itself." if has_worker else f"`{command}` tries again."


def _describe_group(group: list[Delivery], state: DeliveryState, here: Here) -> str:
    newest = group[0]
    number = len(group)
    is_one = number == 1
    if state is DeliveryState.READY:
        since = here.write_near(min(delivery.created_at for delivery in group))
        if is_one:
            verb = f"has been waiting since {since}"
        else:
            verb = f"have been waiting, the first since {since}"
    elif state is DeliveryState.HELD:
        verb = "needs you" if is_one else "need you"
    else:
        verb = "failed"
    places = _name_destinations(one.destination.address or str(one.destination) for one in group)
    reason = str(_find_reason(newest)) or "the reason is not known"
    return f"{count(number, 'message')} to {places} {verb}: {reason}"


def find_mistakes(conn: Connection, config: Config) -> Iterator[Trouble]:
    """Yield which queries of the file, as it is now, can't be read or bring nothing."""
    used = {query.name for query in queries.load(conn) if query.canonical}
    for query in config.queries:
        try:
            why = parse_query(query.text).futility
        except QueryError as error:
            # The others are shown with their subscriptions.
            if query.name in config.query_names:
                instead = "; the text before stays in use" if query.name in used else ""
                what = f"saved query {query.name} can't be read: {error.message}{instead}"
                yield Trouble(what, _MEND)
        else:
            if why:
                what = f"saved query {query.name} brings nothing: {why}"
                yield Trouble(what, "Mend it in digest.toml.")
    for subscription in config.subscriptions:
        for what, problem in find_unread(subscription, config.query_names):
            said = f"{what} can't be read: {problem.message}; what was there before stays in use"
            yield Trouble(said, _MEND)


def _find_intake_troubles(
    conn: Connection, source: str, now: datetime, breaker: Breaker, *, has_worker: bool
) -> Iterator[Trouble]:
    """Yield what keeps papers from coming in: the cause first, then what follows from it."""
    is_paused = bool(breaker.seconds)
    if is_paused:
        what, remedy = describe_breaker(breaker)
        yield Trouble(what, f"{remedy} {_say_retried(has_worker=has_worker)}")
    if not is_checked(conn, source):
        return
    complete_at = runs.load_cursor(conn, source).last_complete_at
    last = runs.load_last(conn, source, 1)
    if not is_paused and last and last[0].failure:
        remedy = _say_retried(has_worker=has_worker, command="digest run --now")
        yield Trouble(Said.of(Saying.CHECK_FAILED, last[0].failure), remedy)
    elif not is_paused and complete_at is None:
        remedy = _LOG if has_worker else "`digest run --now` checks it."
        yield Trouble("arXiv was never checked completely", remedy)
    if complete_at is not None and now - complete_at > STALE_POLL:
        what = f"the last complete check of arXiv was {write_age(now - complete_at)} ago"
        yield Trouble(what, _LOG if has_worker else CALL)


def describe_breaker(breaker: Breaker) -> tuple[str, str]:
    """Say for how long arXiv is not asked and why, and what to do about it."""
    why, remedy = _LEFT_ALONE.get(breaker.reason, (breaker.reason, _WAIT))
    pause = write_age(timedelta(seconds=breaker.seconds))
    return f"arXiv is not asked for {pause}: {why}", remedy


@dataclass(frozen=True, slots=True)
class Status:
    """How all is.

    Moments are in UTC, the next announcement is an Eastern date, the database's size in bytes.
    `intake` is how far arXiv has been checked. Of `unsent_alarms` the operator has no message yet.
    `holds_ping`: the sign of life is not given.
    """

    here: Here
    summary: str
    edited: str
    troubles: tuple[Trouble, ...]
    intake: Coverage
    next_announcement: date
    next_poll_at: datetime
    subscriptions: tuple[SubscriptionStatus, ...]
    outbox: Outbox
    papers: int
    dialect: str
    size: int
    workers: tuple[Worker, ...]
    alarms_to: tuple[Destination, ...]
    unsent_alarms: tuple[AlarmName, ...]
    holds_ping: bool


def _sum_up(troubles: Sequence[Trouble], outbox: Outbox) -> str:
    others = sum(not one.deliveries for one in troubles)
    held = outbox.counts.get(DeliveryState.HELD, 0)
    failed = outbox.counts.get(DeliveryState.DEAD, 0)
    said = []
    if held:
        need = "needs" if held == 1 else "need"
        said.append(f"{count(held, 'message')} {need} you.")
    if failed:
        said.append(f"{count(failed, 'message')} failed.")
    if others:
        problem = "other problem" if said else "problem"
        said.append(f"{count(others, problem)}.")
    if said:
        return " ".join(said)
    return "What failed is tried again." if troubles else "All is well."


def load_status(config: Config, store: Store, clock: Clock) -> Status:
    """Gather the screen's facts."""
    now = clock.now()
    size = measure_size(store)
    with store.read() as conn:
        at_work = tuple(workers.load(conn))
        has_worker = any(not worker.is_gone for worker in at_work)
        waiting = outbox.load(conn, now)
        breaker = load_breaker(conn, clock)
        alarms = load_alarms(conn, config, now)
        troubles = [
            *find_troubles(
                conn, config, now, alarms=alarms, breaker=breaker, has_worker=has_worker
            ),
            *find_job_troubles(conn, at_work),
        ]
        return Status(
            here=Here(now, config.zone, config.folder),
            summary=_sum_up(troubles, waiting),
            edited=describe_pending_edits(config, conn),
            troubles=tuple(troubles),
            intake=load_coverage(conn, config.arxiv.source, now),
            next_announcement=next_announcement(now),
            next_poll_at=find_next_check(conn, config.arxiv.source, clock, now),
            subscriptions=tuple(load_lines(conn, config, clock, now)),
            outbox=waiting,
            papers=papers.count_papers(conn),
            dialect=store.dialect,
            size=size,
            workers=at_work,
            alarms_to=config.alarms.to,
            unsent_alarms=_list_unsent_alarms(conn, config, alarms),
            holds_ping=bool(config.alarms.ping_url) and not can_send_heartbeat(alarms),
        )


def _list_unsent_alarms(
    conn: Connection, config: Config, current: Iterable[Alarm]
) -> tuple[AlarmName, ...]:
    if not config.alarms.to:
        return ()
    sent = {alarm.name for alarm in alarms.load_stored(conn) if alarm.sent_at}
    return tuple(alarm.name for alarm in current if alarm.name not in sent)


def find_job_troubles(conn: Connection, at_work: Iterable[Worker]) -> Iterator[Trouble]:
    """Yield what makes a process at work not ready, besides what is shown already: its jobs."""
    living = {worker.owner for worker in at_work if not worker.is_gone}
    # Jobs have their turns in real time, whatever the installation's clock says.
    real_now = SystemClock().now()
    for turn in workers.load_job_turns(conn):
        if turn.owner not in living:
            continue
        if turn.trouble:
            yield Trouble(f"the job {turn.job} failed last time: {turn.trouble}", _LOG)
        age = 0.0
        if turn.began_at and turn.is_under_way:
            age = (real_now - turn.began_at).total_seconds()
        if is_stuck(turn.job, age):
            yield Trouble(f"the job {turn.job} does not end: {age / 60:.0f} min so far", RESTART)
