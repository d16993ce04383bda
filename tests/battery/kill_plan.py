"""How much of everything a kill battery holds, and what its installation looks like."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes.config_file import write_config

CATEGORIES = ("cs.PF", "cs.DC", "cs.DB", "cs.AR", "cs.OS")
"""One saved query each; every step brings each at least one paper."""

TURN_HOUR = 12
"""The hour at which daily digests are due (UTC): between two looks at arXiv."""

MODES = ("postgresql", "sqlite")
"""The kinds of database: three replicas share the one, the other has one process."""

LEASE = 60.0
"""Seconds a claim lasts, as the product has it."""

_EVERY_DAILY = 10
_EVERY_DOUBLE = 7
_STEPS = 24
"""With a look at arXiv that may be waited for a minute because a process died over it."""
_LARGE = 2_000
_POSTS = 2
"""A digest's messages in Slack: titles in the channel, papers in its thread."""


@dataclass(frozen=True)
class Reader:
    """One subscription as the verdict needs it.

    Attributes:
        name: its own.
        categories: what its saved queries are about.
        addresses: its mailboxes.
        channels: its Slack channels, without `#`.
        is_daily: told once a day at `TURN_HOUR`; the others are told at once.
    """

    name: str
    categories: tuple[str, ...]
    addresses: tuple[str, ...]
    channels: tuple[str, ...]
    is_daily: bool

    @property
    def destinations(self) -> tuple[str, ...]:
        """Everything something is delivered to, as the product writes it."""
        return (
            *(f"mailto:{one}" for one in self.addresses),
            *(f"slack:#{one}" for one in self.channels),
        )


@dataclass(frozen=True)
class KillPlan:
    """What one battery holds; the seed decides everything but the scheduling of real processes.

    Attributes:
        seed: of all that is drawn.
        mode: one of `MODES`.
        deliveries: how many there are to be at least while processes are killed.
        kills: how often a process is killed.
        pauses: how often one is stopped for a while and goes on.
        restarts: how often one is asked to stop, and started again, once the killing is over.
        long_pauses: how many of the pauses last longer than a lease.
        lease: seconds a claim lasts; the product's own for anything that counts.
        lossy: the part of Slack's answers that is lost behind a message that was stored.
        skew: seconds by which hosts' clocks are ahead or behind, each process under libfaketime; 0
            for the test clock, by which all live alike. Then nobody is told once a day, since hosts
            have different days.
        daily: whether one reader in ten is told once a day only.
        at_marks: kill where a planted fault says that it is weakest, and nowhere else.
    """

    seed: int = 1
    mode: str = "postgresql"
    deliveries: int = 8_000
    kills: int = 200
    pauses: int = 24
    restarts: int = 54
    long_pauses: int = 2
    lease: float = LEASE
    lossy: float = 0.03
    skew: float = 0.0
    daily: bool = True
    at_marks: bool = False

    @property
    def replicas(self) -> int:
        """How many processes work side by side."""
        return 3 if self.mode == "postgresql" else 1

    def list_readers(self) -> tuple[Reader, ...]:
        """Return the subscriptions: as many as bring all deliveries within so many steps."""
        mails, channels = (5, 4) if self.deliveries >= _LARGE else (2, 2)
        count = max(5, round(self.deliveries / _STEPS / (mails + channels * _POSTS)))
        return tuple(
            _make_reader(number, mails, channels, is_daily=self.daily and not self.skew)
            for number in range(count)
        )


def _make_reader(number: int, mails: int, channels: int, *, is_daily: bool) -> Reader:
    first = CATEGORIES[number % len(CATEGORIES)]
    second = CATEGORIES[(number + 1) % len(CATEGORIES)]
    return Reader(
        name=f"s{number:03d}",
        categories=(first, second) if number % _EVERY_DOUBLE == _EVERY_DOUBLE - 1 else (first,),
        addresses=tuple(f"s{number:03d}m{place}@example.org" for place in range(mails)),
        channels=tuple(f"s{number:03d}k{place}" for place in range(channels)),
        is_daily=is_daily and number % _EVERY_DAILY == 4,
    )


def write_installation(
    readers: tuple[Reader, ...],
    *,
    arxiv: str,
    mail: str,
    slack: str,
    database: str,
    ambiguous_wait: int,
) -> str:
    """Return the digest.toml of all replicas."""
    return write_config(
        arxiv,
        {_name(category): f"cat:{category}" for category in CATEGORIES},
        map(_list_wishes, readers),
        store={"url": database},
        mail={"smtp": mail, "ambiguous_wait": ambiguous_wait},
        slack={"url": slack},
        web={"base_url": "https://localhost:8000", "bind": "127.0.0.1:0"},
        defaults={"look_back": "0 days"},
    )


def _list_wishes(reader: Reader) -> dict[str, object]:
    return {
        "name": reader.name,
        "follow": [_name(category) for category in reader.categories],
        "to": [*reader.destinations, "feed"],
        "when": f"daily at {TURN_HOUR}:00 UTC" if reader.is_daily else "at once",
    }


def _name(category: str) -> str:
    return category.lower().replace(".", "-")
