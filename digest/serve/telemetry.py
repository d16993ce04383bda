"""Writes log lines without secrets and metrics, and knows the state of each job."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from json import dumps
from typing import TextIO

from digest.inspect.alarms import is_stuck
from digest.model.characters import clean_text
from digest.model.clock import monotonic
from digest.model.said import NOTHING, Said
from digest.model.secrets import redact, redact_field
from digest.store.workers import JobTurn

LONGEST_SILENCE = 60.0
"""Seconds without a sign of life after which the scheduler counts as stuck."""

STORE_DOUBT = 60.0
"""Seconds without a transaction that could write after which the database counts as away."""

LOGGER = "digest"
"""The logger above all of ours, and the name of the handler that writes for it."""

_TALKATIVE = {
    "slack_sdk": logging.INFO,
    "httpx": logging.WARNING,
    "httpcore": logging.INFO,
    "aiosmtpd": logging.INFO,
    "mail.log": logging.INFO,
    "mail.debug": logging.INFO,
    "asyncio": logging.INFO,
    "apscheduler": logging.WARNING,
}
"""Libraries that say too much below these levels.

They write bodies and addresses, or a line for every tick.
"""

_VERB_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900)


class JobRuns:
    """The jobs' latest turns. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, JobTurn] = {}
        self._begun: dict[str, float] = {}

    def begin(self, job: str, at: datetime) -> None:
        """Note that a turn begins."""
        with self._lock:
            self._begun[job] = monotonic()
            self._turns[job] = replace(self._find(job), began_at=at)

    def end(self, job: str, at: datetime, trouble: Said = NOTHING) -> None:
        """Note that a turn has ended.

        `trouble` is the error that ended it, or what could not be done in it.
        """
        with self._lock:
            self._begun.pop(job, None)
            turn = self._find(job)
            ended_at = max(at, turn.began_at or at)
            turns = turn.turns + 1
            self._turns[job] = replace(turn, turns=turns, ended_at=ended_at, trouble=trouble)

    def list_turns(self) -> list[JobTurn]:
        """Return the state of each job that has begun."""
        with self._lock:
            return [self._turns[name] for name in sorted(self._turns)]

    @property
    def stuck(self) -> dict[str, float]:
        """The jobs whose turn takes longer than any should.

        For each, how many seconds it has been at it.
        """
        with self._lock:
            ages = {job: monotonic() - begun for job, begun in self._begun.items()}
        return {job: age for job, age in ages.items() if is_stuck(job, age)}

    def _find(self, job: str) -> JobTurn:
        return self._turns.get(job) or JobTurn(job)


@dataclass
class Pulse:
    """Signs of life of a schedule, read by health checks from other threads; ages are in seconds.

    `troubles` names the error that ended a job's last turn, by job.
    """

    troubles: dict[str, str] = field(default_factory=dict)
    board: JobRuns = field(default_factory=JobRuns)
    _beat_at: float | None = None
    _wrote_at: float | None = None

    @property
    def age(self) -> float | None:
        """How long ago the scheduler last ran anything; None before the first time."""
        return None if self._beat_at is None else monotonic() - self._beat_at

    @property
    def is_store_writable(self) -> bool:
        """Whether a transaction that could write went through lately."""
        return self._wrote_at is not None and monotonic() - self._wrote_at < STORE_DOUBT

    @property
    def failures(self) -> list[str]:
        """Why the process does not do its work, in sentences; [] if it does."""
        found = []
        for name, error in sorted(self.troubles.items()):
            found.append(f"the job {name} failed last time ({error})")
        for name, seconds in sorted(self.board.stuck.items()):
            found.append(f"the job {name} has been busy with one run for {seconds / 60:.0f} min")
        if self.age is None:
            return ["the scheduler has not ticked yet", *found]
        if self.age > LONGEST_SILENCE:
            found.append(f"the scheduler last ticked {self.age:.0f} s ago")
        if not self.is_store_writable:
            found.append("the database can't be written")
        return found

    def beat(self) -> None:
        """Note that the scheduler runs jobs."""
        self._beat_at = monotonic()

    def note_write(self) -> None:
        """Note that the database took a transaction that could write."""
        self._wrote_at = monotonic()


class Verb(StrEnum):
    """What happens to a paper, in order."""

    POLL = "poll"
    PARSE = "parse"
    COMPARE = "compare"
    MATCH = "match"
    PLAN = "plan"
    RENDER = "render"
    DELIVER = "deliver"


def log_event(verb: Verb, outcome: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log that a verb came to an outcome: `log_event(Verb.POLL, "complete", papers=412)`."""
    logger = logging.getLogger(f"{LOGGER}.{verb}")
    logger.log(level, "%s.%s", verb, outcome, extra={"fields": fields})


def configure_logging(level: int, *, plain: bool = False, stream: TextIO | None = None) -> None:
    """Send all log lines, masked, to one place: plain ones for people, or `key=value`.

    Called again, it replaces what it set up before.
    """
    handler = logging.StreamHandler(stream)
    handler.set_name(LOGGER)
    handler.setFormatter(_PlainFormatter() if plain else _LineFormatter())
    root = logging.getLogger()
    root.handlers[:] = [one for one in root.handlers if one.name != LOGGER]
    root.addHandler(handler)
    root.setLevel(level)
    for name, lowest in _TALKATIVE.items():
        logging.getLogger(name).setLevel(max(level, lowest))


class _PlainFormatter(logging.Formatter):
    """What happened and why, without a traceback: who wants that says `--verbose`."""

    def format(self, record: logging.LogRecord) -> str:
        error = _find_error(record)
        words = "" if error is None else str(error)
        why = f": {words}" if words else ""
        line = f"{record.levelname.lower()}: {_read_message(record)}{why}"
        return clean_text(redact(line))


class _LineFormatter(logging.Formatter):
    """One line of `key=value`. The record stays as it was logged, for handlers of others."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        written = moment.isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "time": written.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": _read_message(record),
            **getattr(record, "fields", {}),
        }
        error = _find_error(record)
        if error is not None:
            line["exception"] = "".join(traceback.format_exception(error)).rstrip()
        parts = []
        for key, value in line.items():
            shown = _write_value(redact_field(key, value))
            parts.append(f"{key}={shown}")
        return " ".join(parts)


def _find_error(record: logging.LogRecord) -> BaseException | None:
    """Return the exception that a line is logged with."""
    return record.exc_info[1] if record.exc_info else None


def _write_value(value: object) -> str:
    """Write a value without blanks as it is, any other as a JSON text: a line stays one line."""
    is_json = value is None or isinstance(value, bool | list | dict)
    shown = value if is_json else str(value)
    if isinstance(shown, str) and shown.isprintable():
        has_blank = not shown or any(mark in shown for mark in ' "=')
        if not has_blank:
            return shown
    written = dumps(shown, ensure_ascii=False, default=str)
    return written if written.isprintable() else dumps(shown, default=str)


class Metrics:
    """What one process counts.

    Each instance has a registry of its own. Labels never hold names or addresses.
    """

    def __init__(self) -> None:
        import prometheus_client as prometheus  # noqa: PLC0415 - 60 ms, for /metrics alone

        registry = self._registry = prometheus.CollectorRegistry()
        self._render = prometheus.generate_latest
        self.content_type: str = prometheus.CONTENT_TYPE_LATEST
        counter = partial(prometheus.Counter, registry=registry)
        gauge = partial(prometheus.Gauge, registry=registry)
        self._verb_seconds = prometheus.Histogram(
            "digest_verb_seconds",
            "How long each verb took.",
            ["verb"],
            buckets=_VERB_SECONDS,
            registry=registry,
        )
        self.papers = counter("digest_papers", "Changes found, by kind.", ["kind"])
        self.matches = counter("digest_matches", "Papers matched for subscriptions.")
        self.deliveries = counter(
            "digest_deliveries", "Deliveries that reached a state.", ["transport", "state"]
        )
        self._outbox = gauge("digest_outbox", "Deliveries waiting now.", ["state"])
        waited = "How long the oldest due delivery has waited."
        self._oldest_due = gauge("digest_outbox_oldest_due_seconds", waited)
        last = "When the last complete check of arXiv ended."
        self.last_poll = gauge("digest_last_complete_poll_timestamp_seconds", last)
        late = "1 while an expected announcement of arXiv is missing on the next morning."
        self.late = gauge("digest_announcement_late", late)
        self.ready = gauge("digest_ready", "1 while this process is ready.")

    @contextmanager
    def time_verb(self, verb: Verb) -> Iterator[None]:
        """Count the seconds a verb takes, also if it fails."""
        began = monotonic()
        try:
            yield
        finally:
            self._verb_seconds.labels(str(verb)).observe(monotonic() - began)

    def set_outbox(self, waiting: Mapping[str, int], oldest_due_seconds: float) -> None:
        """Say how many deliveries wait in each state, and for how long the oldest due one has.

        0 for none.
        """
        for state, deliveries in waiting.items():
            self._outbox.labels(state).set(deliveries)
        self._oldest_due.set(oldest_due_seconds)

    def render(self) -> bytes:
        """Return everything in Prometheus' text format; its media type is `content_type`."""
        return self._render(self._registry)


def _read_message(record: logging.LogRecord) -> str:
    """Return the message with its arguments; both side by side if they do not fit each other."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a library's slip in a log call must never stop the work
        return f"{record.msg} {record.args}"
