"""One line per event on standard error, as `key=value` or as JSON; beside a command's own words, as such.

A paper travels by seven verbs, and so do the names of events: `poll.complete`, `deliver.sent`. Every
line has `time` (UTC), `level`, `logger` and `event`; the rest are the event's own fields.
"""

from __future__ import annotations

import logging
import sys
from copy import copy
from datetime import UTC, datetime
from enum import StrEnum
from json import dumps
from typing import TYPE_CHECKING

from digest.errors import ConfigurationError
from digest.telemetry.redacting import RedactionFilter

if TYPE_CHECKING:
    from typing import TextIO

LOGGER = "digest"
_OWN_KEYS = frozenset({"time", "level", "logger", "event", "exception", "stack"})

_TALKATIVE = {
    "slack_sdk": logging.INFO,
    "slack_bolt": logging.INFO,
    "httpx": logging.WARNING,
    "httpcore": logging.INFO,
    "aiosmtpd": logging.INFO,
    "mail.log": logging.INFO,
    "mail.debug": logging.INFO,
    "asyncio": logging.INFO,
    "python_multipart": logging.INFO,
    "apscheduler": logging.WARNING,
}
"""Libraries that say too much below these levels: bodies and addresses, or a line for every tick."""

_SAID_BY_COMMANDS = frozenset({"digest.restore"})
"""Loggers of what every command that is concerned tells in words of its own."""


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
    """Log that a verb came to an outcome: `log_event(Verb.POLL, "complete", papers=412)`.

    Args:
        verb: which one.
        outcome: what became of it, as one word: `complete`, `failed`, `sent`, `dead` …
        level: as in `logging`.
        fields: what else is known; names of secrets are masked, and so are addresses in values.

    Raises:
        ValueError: a field is called like one that every line has.
    """
    taken = _OWN_KEYS & fields.keys()
    if taken:
        raise ValueError(f"every line has its own {', '.join(sorted(taken))}")
    logging.getLogger(f"{LOGGER}.{verb}").log(level, "%s.%s", verb, outcome, extra={"fields": fields})


def configure_logging(
    level: str | int = "INFO", *, json: bool = False, plain: bool = False, stream: TextIO | None = None
) -> None:
    """Send all log lines, masked, to one place. Called again, it replaces what it set up before.

    Args:
        level: name or number of the lowest level written.
        json: write JSON rather than `key=value`.
        plain: write `warning: …` for people, among what a command says itself.
        stream: where to; standard error where none is given.

    Raises:
        ConfigurationError: there is no such level.
    """
    number = _read_level(level)
    handler = _DigestHandler(stream or sys.stderr)
    formatter: logging.Formatter = _JsonFormatter() if json else _KeyValueFormatter()
    handler.setFormatter(_PlainFormatter() if plain else formatter)
    handler.addFilter(RedactionFilter())
    if plain:
        handler.addFilter(lambda record: record.name not in _SAID_BY_COMMANDS)
    root = logging.getLogger()
    for former in [one for one in root.handlers if isinstance(one, _DigestHandler)]:
        root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(number)
    for name, lowest in _TALKATIVE.items():
        logging.getLogger(name).setLevel(max(number, lowest))


class _DigestHandler(logging.StreamHandler["TextIO"]):
    """Ours, so that it can be told from handlers of others, which get each record as it was logged."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Mask and write a copy: an error reporter beside us must still find the exception itself."""
        return super().handle(copy(record))


class _Formatter(logging.Formatter):
    """Collects a line's keys in order."""

    def collect(self, record: logging.LogRecord) -> dict[str, object]:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            line["exception"] = record.exc_text
        if record.stack_info:
            line["stack"] = record.stack_info
        return line


class _PlainFormatter(logging.Formatter):
    """What happened and why, without a traceback: who wants that says `--verbose`."""

    def format(self, record: logging.LogRecord) -> str:
        *_, cause = (record.exc_text or "").splitlines() or [""]
        why = cause.partition(": ")[2]
        return f"{record.levelname.lower()}: {record.getMessage()}{f': {why}' if why else ''}"


class _JsonFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return dumps(self.collect(record), ensure_ascii=False, default=str)


class _KeyValueFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{key}={_write_value(value)}" for key, value in self.collect(record).items())


def _write_value(value: object) -> str:
    """Write a value without blanks as it is, any other as a JSON text, so that a line stays one line."""
    if value is None or isinstance(value, bool | list | dict):
        return dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    is_plain = bool(text) and text.isprintable() and not set(' "=') & set(text)
    return text if is_plain else dumps(text, ensure_ascii=not text.isprintable())


def _read_level(level: str | int) -> int:
    if isinstance(level, int):
        return level
    names = logging.getLevelNamesMapping()
    if level.upper() not in names:
        raise ConfigurationError(
            f"there is no log level {level!r}", hint="Levels are DEBUG, INFO, WARNING, ERROR and CRITICAL."
        )
    return names[level.upper()]
