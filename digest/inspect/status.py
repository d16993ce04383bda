"""Gathers what works, what does not, what comes next. Nothing is decided or changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial

from sqlalchemy import Connection

from digest.config import Config
from digest.deliver.rules import leave_out_recipient
from digest.inspect.alarms import (
    DIGEST_LIMIT,
    FAILURE_SHOWN,
    OUTBOX_LIMIT,
    PLANS,
    STALE_POLL,
    can_send_heartbeat,
    find_alarms,
    find_due_announcement,
    is_stuck,
)
from digest.inspect.coverage import (
    AnnouncementLine,
    find_next_check,
    is_checked,
    load_announcements,
)
from digest.inspect.here import Here
from digest.inspect.queries import describe_pending_edits
from digest.inspect.subscriptions import SubscriptionStatus, load_lines
from digest.interest.libraries import describe_trouble
from digest.interest.tables import load_states
from digest.match.rules import find_unread
from digest.model.announcements import announcement_moment, next_announcement
from digest.model.cadences import Cadence, CadenceKind
from digest.model.clock import Clock, RequestOutcome, SystemClock, write_age, write_with_zone
from digest.model.destinations import Destination
from digest.model.errors import PROBED, QueryError
from digest.model.messages import Coverage, Delivery, DeliveryState
from digest.model.numbers import count
from digest.model.said import Said, Saying
from digest.people.signups import is_refusing
from digest.plan.slots import plan_starts, plan_starts_in_utc
from digest.poll.record import load_coverage
from digest.query import parse_query
from digest.store import Store
from digest.store.alarms import (
    Alarm,
    AlarmName,
    load_failed_deliveries,
    load_held_deliveries,
    load_overdue_deliveries,
    load_overdue_digests,
    load_stored_alarms,
)
from digest.store.attempts import load_held, load_stored_deliveries
from digest.store.engine import measure_size
from digest.store.gate import Breaker, load_breaker
from digest.store.outbox import Outbox, load_outbox
from digest.store.papers import count_papers
from digest.store.queries import load_asked_queries, load_queries
from digest.store.runs import count_quarantined, load_cursor, load_first_start, load_last_runs
from digest.store.subscribers import load_refused
from digest.store.workers import Worker, load_job_turns, load_trouble, load_workers

WORKFLOW = ".github/workflows/digest.yml"
_STARTS = re.compile(
    r"""(?m)^ *- cron: *["']?([^"'#\n]*?)["']? *(?:#.*)?$(?:\n +timezone: *["']?([\w/+-]+)["']? *(?:#.*)?$)?"""
)

_READ = 500
"""Stuck deliveries read at most; they are shown by destination, so more would not be more lines."""

_PLACES = 3
"""Destinations of a group that are named; the rest are counted."""

_REMEMBERED = timedelta(days=7)
"""How long entries that were set aside are shown: checks overlap, so they are met again within days."""

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
"""What `digest delivery retry` calls all messages of a state: those that wait for a try, or for somebody."""

CALL = Said.of(Saying.CALL_RUN)
RESTART = "Start `digest serve` again."
_LOG = "The log of `digest serve` says why."


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
    for name, destination in load_refused(conn):
        what = f"{destination.address} was refused in three digests in a row, so {name} is paused for it"
        yield Trouble(
            what,
            f"Once it is right: `digest subscription resubscribe {name} {destination.address}`",
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
    set_aside = count_quarantined(conn, since=now - _REMEMBERED)
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
    """Whether lines about messages, some of them of those that are retried, say the same as an alarm."""
    return alarm.name is AlarmName.HELD or (alarm.name is AlarmName.OUTBOX and bool(retried))


def find_stuck(conn: Connection, states: Iterable[DeliveryState], here: Here) -> Iterator[Trouble]:
    """Yield messages that failed, need the operator, or are retried: one line for each state and cause."""
    doubtful = set(load_held(conn).doubtful)
    for state in states:
        stored = load_stored_deliveries(conn, (state,), limit=_READ)
        is_retried = state is DeliveryState.READY
        for group in _group(
            one.delivery for one in stored if one.delivery.last_error or not is_retried
        ):
            ids = tuple(one.id for one in group)
            yield Trouble(
                _describe_group(group, state, here),
                _advise(group, here)
                if doubtful.isdisjoint(ids)
                else f"`digest delivery show {ids[0]}` says what to do.",
                deliveries=ids,
            )


def _advise(group: Sequence[Delivery], here: Here) -> str:
    """Say what becomes of messages that wait, failed or need the operator; what sends them sooner."""
    first = group[0]
    which = str(first.id) if len(group) == 1 else RETRY_OPTIONS[first.state]
    command = f"`digest delivery retry {which}`"
    tried_at = min((one.not_before for one in group if one.not_before > here.now), default=here.now)
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
    """Say what failed, such as `mailto:ada@example.org: no such user`, in one line for each cause."""
    groups: dict[Said, list[Said]] = {}
    for trouble in troubles:
        groups.setdefault(_find_common_cause(trouble), []).append(trouble)
    lines = []
    for group in groups.values():
        heads = [trouble.split_cause()[0] for trouble in group]
        _, reason = group[0].split_cause()
        lines.append(_name_destinations(heads) + (f": {reason}" if reason else ""))
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
    return reason.change_texts(lambda text: text.replace(address, "")) if address else reason


def _name_destinations(places: Iterable[str]) -> str:
    named = list(dict.fromkeys(places))
    return ", ".join(named[:_PLACES]) + (
        f" and {len(named) - _PLACES} more" if len(named) > _PLACES else ""
    )


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
    newest, number = group[0], len(group)
    if state is DeliveryState.READY:
        since = here.write_near(min(delivery.created_at for delivery in group))
        verb = f"{'has' if number == 1 else 'have'} been waiting{', the first' * (number > 1)} since {since}"
    elif state is DeliveryState.HELD:
        verb = f"need{'s' if number == 1 else ''} you"
    else:
        verb = "failed"
    places = _name_destinations(one.destination.address or str(one.destination) for one in group)
    reason = str(_find_reason(newest)) or "the reason is not known"
    return f"{count(number, 'message')} to {places} {verb}: {reason}"


def find_mistakes(conn: Connection, config: Config) -> Iterator[Trouble]:
    """Yield which queries of the file, as it is now, can't be read or bring nothing."""
    used = {query.name for query in load_queries(conn) if query.canonical}
    for query in config.queries:
        try:
            if why := parse_query(query.text).futility:
                yield Trouble(
                    f"saved query {query.name} brings nothing: {why}", "Mend it in digest.toml."
                )
        except QueryError as error:
            instead = "; the text before stays in use" if query.name in used else ""
            what = f"saved query {query.name} can't be read: {error.message}{instead}"
            if query.name in config.query_names:  # the others are told with their subscriptions
                yield Trouble(what, "Mend it in digest.toml. `digest doctor` shows the place.")
    for subscription in config.subscriptions:
        for what, problem in find_unread(subscription, config.query_names):
            said = f"{what} can't be read: {problem.message}; what was there before stays in use"
            yield Trouble(said, "Mend it in digest.toml. `digest doctor` shows the place.")


def _find_intake_troubles(
    conn: Connection, source: str, now: datetime, breaker: Breaker, *, has_worker: bool
) -> Iterator[Trouble]:
    """Yield what keeps papers from coming in: the cause first, then what follows from it."""
    if breaker.seconds:
        what, remedy = describe_breaker(breaker)
        yield Trouble(what, f"{remedy} {_say_retried(has_worker=has_worker)}")
    if not is_checked(conn, source):
        return
    complete = load_cursor(conn, source).last_complete_at
    runs = load_last_runs(conn, source, 1)
    if not breaker.seconds and runs and runs[0].failure:
        yield Trouble(
            Said.of(Saying.CHECK_FAILED, runs[0].failure),
            _say_retried(has_worker=has_worker, command="digest run --now"),
        )
    elif not breaker.seconds and complete is None:
        yield Trouble(
            "arXiv was never checked completely",
            _LOG if has_worker else "`digest run --now` checks it.",
        )
    if complete is not None and now - complete > STALE_POLL:
        what = f"the last complete check of arXiv was {write_age(now - complete)} ago"
        yield Trouble(what, _LOG if has_worker else CALL)


def describe_breaker(breaker: Breaker) -> tuple[str, str]:
    """Say for how long arXiv is not asked and why, and what to do about it."""
    why, remedy = _LEFT_ALONE.get(breaker.reason, (breaker.reason, _WAIT))
    return f"arXiv is not asked for {write_age(timedelta(seconds=breaker.seconds))}: {why}", remedy


@dataclass(frozen=True, slots=True)
class Status:
    """How all is; moments are in UTC, the next announcement is an Eastern date, the database's size in bytes.

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
    said = [f"{count(held, 'message')} need{'s' * (held == 1)} you."] if held else []
    said += [f"{count(failed, 'message')} failed."] if failed else []
    if others:
        said.append(count(others, f"{'other ' if said else ''}problem") + ".")
    if troubles and not said:
        return "What failed is tried again."
    return " ".join(said) or "All is well."


def load_status(config: Config, store: Store, clock: Clock) -> Status:
    """Gather the screen's facts."""
    now = clock.now()
    size = measure_size(store)
    with store.read() as conn:
        workers = tuple(load_workers(conn))
        has_worker = any(not worker.is_gone for worker in workers)
        outbox = load_outbox(conn, now)
        breaker = load_breaker(conn, clock)
        alarms = load_alarms(conn, config, now)
        told_at = {alarm.name: alarm.sent_at for alarm in load_stored_alarms(conn)}
        troubles = (
            *find_troubles(
                conn, config, now, alarms=alarms, breaker=breaker, has_worker=has_worker
            ),
            *find_job_troubles(conn, workers),
        )
        return Status(
            here=Here(now, config.zone, config.folder),
            summary=_sum_up(troubles, outbox),
            edited=describe_pending_edits(config, conn),
            troubles=troubles,
            intake=load_coverage(conn, config.arxiv.source, now),
            next_announcement=next_announcement(now),
            next_poll_at=find_next_check(conn, config.arxiv.source, clock, now),
            subscriptions=tuple(load_lines(conn, config, clock, now)),
            outbox=outbox,
            papers=count_papers(conn),
            dialect=store.dialect,
            size=size,
            workers=workers,
            alarms_to=config.alarms.to,
            unsent_alarms=tuple(
                one.name for one in alarms if config.alarms.to and not told_at.get(one.name)
            ),
            holds_ping=bool(config.alarms.ping_url) and not can_send_heartbeat(alarms),
        )


def find_job_troubles(conn: Connection, workers: Iterable[Worker]) -> Iterator[Trouble]:
    """Yield what makes a process at work not ready, besides what is shown already: its jobs."""
    living = {worker.owner for worker in workers if not worker.is_gone}
    moment = (
        SystemClock().now()
    )  # jobs have their turns in real time, whatever the installation's clock says
    for turn in load_job_turns(conn):
        if turn.owner not in living:
            continue
        if turn.trouble:
            yield Trouble(f"the job {turn.job} failed last time: {turn.trouble}", _LOG)
        age = (
            (moment - turn.began_at).total_seconds() if turn.began_at and turn.is_under_way else 0.0
        )
        if is_stuck(turn.job, age):
            yield Trouble(f"the job {turn.job} does not end: {age / 60:.0f} min so far", RESTART)


def load_alarms(
    conn: Connection, config: Config, now: datetime, *, planning: str = ""
) -> tuple[Alarm, ...]:
    """Return what is amiss at a moment (UTC); `planning` is what could not be planned just now, and why."""
    digests = load_overdue_digests(conn, now - DIGEST_LIMIT)
    found = find_alarms(
        partial(write_with_zone, zone=config.zone, today=now),
        _load_announcement(conn, config.arxiv.source, now),
        digests=digests
        and replace(digests, reason=Said.plain(planning or load_trouble(conn, "plan"))),
        deliveries=load_overdue_deliveries(conn, now - OUTBOX_LIMIT),
        failed=load_failed_deliveries(conn, now - FAILURE_SHOWN),
        held=load_held_deliveries(conn),
        is_refusing=is_refusing(conn, now),
    )
    return tuple(found)


def _load_announcement(conn: Connection, source: str, now: datetime) -> AnnouncementLine | None:
    """Say what became of the announcement that must be fetched; None where no saved query asked for it."""
    announcement = find_due_announcement(now)
    sent, first_at = announcement_moment(announcement), load_first_start(conn)
    if not any(source == "harvest" or watch.since <= sent for watch in load_asked_queries(conn)):
        return None
    lines = load_announcements(conn, source, now, first_at=first_at, days=(now - sent).days + 1)
    return next((line for line in lines if line.announcement == announcement), None)


def plan_schedule(
    config: Config, year: int
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return when a workflow must start; and the same in UTC, () if that is the same."""
    cadences = [one.cadence for one in config.subscriptions if one.has_digests]
    cadences = cadences or [Cadence(CadenceKind.ANNOUNCEMENT)]
    schedule, in_utc = plan_starts(cadences), plan_starts_in_utc(cadences, year)
    return schedule, in_utc if in_utc != schedule else ()


def find_other_schedule(config: Config, year: int) -> str:
    """Return what to write into the workflow beside digest.toml if it starts at other times than `when` needs."""
    file = config.folder / WORKFLOW
    if not file.exists():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace")
    found = {(cron, zone or "UTC") for cron, zone in _STARTS.findall(text)}
    schedule, in_utc = map(set, plan_schedule(config, year))
    if schedule <= found or (in_utc and in_utc <= found):
        return ""
    lines = "".join(
        f'\n    - cron: "{cron}"\n      timezone: "{zone}"' for cron, zone in sorted(schedule)
    )
    why = (
        "starts at other times than `when` in digest.toml needs"
        if found
        else "has no schedule that can be read"
    )
    return f"{WORKFLOW} {why}. Below `schedule:` write:{lines}"
