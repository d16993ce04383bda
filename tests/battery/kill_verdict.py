"""Judges a kill battery by what arrived outside, what feeds say, and where every delivery ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from digest.model.messages import FEED_ENTRIES, DeliveryState
from tests.battery.kill_book import Book
from tests.battery.kill_life import Tally, next_turn
from tests.battery.kill_plan import KillPlan, Reader
from tests.harness.arrivals import Arrival
from tests.harness.oracle import (
    PaperAtPlace,
    Planned,
    Verdict,
    count_arrivals,
    judge_copies,
    judge_deliveries,
    judge_ends,
    judge_papers,
)

MAIL_COPIES_PER_KILL = 0.25
"""What is hoped for at most: SMTP can't be asked what it took."""

_LUCK = 6
"""Copies beyond that which a few kills may bring.

One may meet each connection behind the final dot.
"""


@dataclass
class KillVerdict(Verdict):
    """A verdict with figures that are no counts."""

    figures: dict[str, object] = field(default_factory=dict)

    def add(self, other: KillVerdict) -> None:
        for check, details in other.findings.items():
            self.findings[check] += details
        self.figures |= other.figures


@dataclass(frozen=True)
class Evidence:
    """What there is to judge by: what was wanted and done, the database, and what arrived."""

    plan: KillPlan
    readers: tuple[Reader, ...]
    tally: Tally
    book: Book
    categories: Mapping[str, tuple[str, ...]]
    mails: list[Arrival]
    posts: list[Arrival]

    @property
    def arrived(self) -> list[Arrival]:
        return [*self.mails, *self.posts]


def judge(seen: Evidence) -> KillVerdict:
    """Judge everything but what feeds say at the end (see `judge_feeds`)."""
    verdict = KillVerdict()
    planned = seen.book.list_planned()
    _judge_ends(verdict, planned, seen.arrived)
    _judge_copies(verdict, planned, seen)
    _judge_papers(verdict, seen)
    _judge_turns(verdict, planned, seen)
    _judge_restarts(verdict, seen)
    for trouble in seen.tally.feed_troubles:
        verdict.accuse("feed", trouble)
    for problem in seen.tally.problems:
        verdict.accuse("stuck", problem)
    return verdict


def find_meant(reader: Reader, categories: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the papers that a reader's queries find."""
    asked = set(reader.categories)
    return {paper for paper, listed in categories.items() if asked.intersection(listed)}


def judge_feeds(
    verdict: KillVerdict,
    readers: tuple[Reader, ...],
    categories: Mapping[str, tuple[str, ...]],
    feeds: Mapping[str, list[list[str]]],
    old: Container[str],
) -> None:
    """Judge the feeds as every replica showed them at the end.

    All papers, each once, everywhere alike.

    Args:
        verdict: takes what is wrong.
        readers: whose feeds they are.
        categories: of all papers there were.
        feeds: by reader, the ids of the entries each replica showed.
        old: papers found so long ago that feeds need no longer have them.
    """
    for reader in readers:
        shown = feeds[reader.name]
        meant = find_meant(reader, categories)
        young = [paper for paper in meant if paper not in old]
        fewest = min(len(young), FEED_ENTRIES)
        for entries in shown:
            count = len(entries)
            if count != len(set(entries)):
                verdict.accuse("feed", f"{reader.name}: an entry stands twice at the end")
            if not fewest <= count <= len(meant):
                expected = f"{fewest} to {len(meant)}"
                verdict.accuse("feed", f"{reader.name}: {count} entries, not {expected}")
        if any(entries != shown[0] for entries in shown):
            verdict.accuse("feed", f"{reader.name}: replicas show different feeds")
    verdict.figures["feeds read at the end"] = sum(map(len, feeds.values()))


def _judge_ends(verdict: KillVerdict, planned: list[Planned], arrivals: list[Arrival]) -> None:
    """Each delivery is sent and has arrived.

    What is held has arrived, and waits for the operator's word.
    """
    arrived = {(arrival.key, arrival.place) for arrival in arrivals}

    def may_end(row: Planned) -> bool:
        has_arrived = (row.key, row.place) in arrived
        return row.state == DeliveryState.SENT or (row.state == DeliveryState.HELD and has_arrived)

    judge_deliveries(verdict, planned, arrivals, must_arrive=tuple(DeliveryState))
    judge_ends(verdict, planned, may_end)
    states = Counter(row.state for row in planned)
    verdict.figures |= {
        "deliveries": len(planned),
        "states at the end": dict(states),
        "lost": len(verdict.findings.get("lost", ())),
    }


def _judge_copies(verdict: KillVerdict, planned: list[Planned], seen: Evidence) -> None:
    """No post comes twice, and no mail more often than it was tried."""
    tally = seen.tally
    attempts = {row.key: row.attempts for row in planned}
    judge_copies(verdict, seen.posts, lambda *_: 1)
    judge_copies(verdict, seen.mails, lambda key, _: attempts.get(key, 0))
    copies = _count_copies(seen.mails)
    deaths = tally.kills + tally.long_pauses
    if copies > MAIL_COPIES_PER_KILL * deaths + _LUCK:
        verdict.accuse("doubled: mailto", f"{copies} copies too many in {deaths} kills")
    verdict.figures |= {
        "mails": len(seen.mails),
        "mail copies": copies,
        "mail copies per kill": round(copies / max(tally.kills, 1), 3),
        "posts": len(seen.posts),
        "post copies": _count_copies(seen.posts),
        "mode": seen.plan.mode,
    }


def _judge_papers(verdict: KillVerdict, seen: Evidence) -> None:
    """Each reader is told every paper of its queries, in one digest and no other."""
    wanted: dict[PaperAtPlace, int] = {}
    for reader in seen.readers:
        meant = sorted(find_meant(reader, seen.categories))
        for place in reader.destinations:
            wanted |= {(place, paper): 1 for paper in meant}
    judge_papers(verdict, wanted, seen.arrived)
    verdict.figures["papers × destinations"] = len(wanted)


def _judge_turns(verdict: KillVerdict, planned: list[Planned], seen: Evidence) -> None:
    """Daily readers are told at their first turn behind the moment a paper was found."""
    slots = {row.key: row.slot for row in planned}
    known_by = seen.tally.known_by
    daily: set[str] = set()
    for reader in seen.readers:
        if reader.is_daily:
            daily.update(reader.destinations)
    for arrival in seen.arrived:
        slot = slots.get(arrival.key)
        if arrival.place not in daily or slot is None:
            continue
        for paper in arrival.papers & known_by.keys():
            due = next_turn(known_by[paper]).date()
            if date.fromisoformat(slot) > due:
                verdict.accuse("late", f"{paper} to {arrival.place} on {slot}, due {due}")


def _judge_restarts(verdict: KillVerdict, seen: Evidence) -> None:
    """Orderly restarts leave nothing in doubt and send nothing twice."""
    tally = seen.tally
    book = seen.book
    outcomes = book.count_outcomes(after=tally.restarted_after)
    for outcome in ("unknown", "repeated", "found", "held", "sending"):
        if tally.restarts and outcomes[outcome]:
            verdict.accuse("restarts", f"{outcomes[outcome]} attempts {outcome}")
    more = book.count_copies(seen.mails, seen.posts) - tally.copies_before
    if tally.restarts and more:
        verdict.accuse("restarts", f"copies: {dict(more)}")
    verdict.figures |= {
        "attempts": dict(book.count_outcomes()),
        "attempts in the restarts": dict(outcomes),
        "copies in the restarts": sum(more.values()),
    }


def _count_copies(arrivals: Iterable[Arrival]) -> int:
    """Count what came again."""
    return sum(count - 1 for count in count_arrivals(arrivals).values())
