"""Judges a kill battery by what arrived outside, what feeds say, and where every delivery ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from digest.model.messages import FEED_ENTRIES, DeliveryState
from tests.battery.kill_book import Book, Row
from tests.battery.kill_life import Tally, next_turn
from tests.battery.kill_plan import KillPlan, Reader
from tests.battery.kill_world import Arrival
from tests.harness.oracle import Verdict

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
    rows = seen.book.list_rows()
    _judge_ends(verdict, rows, seen.arrived)
    _judge_copies(verdict, rows, seen)
    _judge_papers(verdict, seen.readers, seen.categories, seen.arrived)
    _judge_turns(verdict, rows, seen)
    _judge_restarts(verdict, seen)
    for trouble in seen.tally.feed_troubles:
        verdict.accuse("feed", trouble)
    for problem in seen.tally.problems:
        verdict.accuse("stuck", problem)
    return verdict


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
        meant = {
            paper for paper, listed in categories.items() if set(listed) & set(reader.categories)
        }
        fewest = min(sum(paper not in old for paper in meant), FEED_ENTRIES)
        for entries in shown:
            if len(entries) != len(set(entries)):
                verdict.accuse("feed", f"{reader.name}: an entry stands twice at the end")
            if not fewest <= len(entries) <= len(meant):
                verdict.accuse(
                    "feed", f"{reader.name}: {len(entries)} entries, not {fewest} to {len(meant)}"
                )
        if any(entries != shown[0] for entries in shown):
            verdict.accuse("feed", f"{reader.name}: replicas show different feeds")
    verdict.figures["feeds read at the end"] = sum(map(len, feeds.values()))


def _judge_ends(verdict: KillVerdict, rows: list[Row], arrivals: list[Arrival]) -> None:
    """Each delivery is sent and has arrived.

    What is held has arrived, and waits for the operator's word.
    """
    arrived = {(arrival.key, arrival.place) for arrival in arrivals}
    planned = {(row.key, row.place) for row in rows}
    states = Counter(row.state for row in rows)
    for row in rows:
        has_arrived = (row.key, row.place) in arrived
        if not has_arrived:
            verdict.accuse(
                "lost", f"delivery {row.id} to {row.place} is {row.state} and never arrived"
            )
        if row.state != DeliveryState.SENT and not (
            row.state == DeliveryState.HELD and has_arrived
        ):
            verdict.accuse("stuck", f"delivery {row.id} to {row.place} is {row.state}: {row.error}")
    for key, place in sorted(arrived - planned):
        verdict.accuse("stranger", f"{place} got {key}, which nobody planned")
    verdict.figures |= {
        "deliveries": len(rows),
        "states at the end": dict(states),
        "lost": len(planned - arrived),
    }


def _judge_copies(verdict: KillVerdict, rows: list[Row], seen: Evidence) -> None:
    tally = seen.tally
    mails = seen.mails
    posts = seen.posts
    attempts = {row.key: row.attempts for row in rows}
    for key, place, count in _count_arrivals(posts):
        if count > 1:
            verdict.accuse("doubled in Slack", f"{place} got {key} {count} times")
    copies = 0
    for key, place, count in _count_arrivals(mails):
        copies += count - 1
        if count > attempts.get(key, 0):
            verdict.accuse(
                "doubled mail",
                f"{place} got {key} {count} times in {attempts.get(key, 0)} attempts",
            )
    deaths = tally.kills + tally.long_pauses
    if copies > MAIL_COPIES_PER_KILL * deaths + _LUCK:
        verdict.accuse("doubled mail", f"{copies} copies too many in {deaths} kills")
    verdict.figures |= {
        "mails": len(mails),
        "mail copies": copies,
        "mail copies per kill": round(copies / max(tally.kills, 1), 3),
        "posts": len(posts),
        "post copies": sum(count - 1 for _, _, count in _count_arrivals(posts)),
        "mode": seen.plan.mode,
    }


def _judge_papers(
    verdict: KillVerdict,
    readers: tuple[Reader, ...],
    categories: Mapping[str, tuple[str, ...]],
    arrived: list[Arrival],
) -> None:
    """Each reader is told every paper of its queries, in one digest and no other."""
    told: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for arrival in arrived:
        for paper in arrival.papers:
            told[arrival.place][paper].add(arrival.key)
    pairs = 0
    for reader in readers:
        expected = {
            paper for paper, listed in categories.items() if set(listed) & set(reader.categories)
        }
        for place in reader.destinations:
            pairs += len(expected)
            for paper in sorted(expected - told[place].keys()):
                verdict.accuse("never told", f"{paper} to {place}")
            for paper, keys in sorted(told[place].items()):
                if paper not in expected:
                    verdict.accuse("not asked for", f"{paper} to {place}")
                elif len(keys) > 1:
                    verdict.accuse("told twice", f"{paper} to {place} in {len(keys)} messages")
    verdict.figures["papers × destinations"] = pairs


def _judge_turns(verdict: KillVerdict, rows: list[Row], seen: Evidence) -> None:
    """Daily readers are told at their first turn behind the moment a paper was found."""
    slots = {row.key: row.slot for row in rows}
    tally = seen.tally
    daily = {place for reader in seen.readers if reader.is_daily for place in reader.destinations}
    for arrival in seen.arrived:
        if arrival.place in daily and arrival.key in slots:
            for paper in arrival.papers & tally.known_by.keys():
                due = next_turn(tally.known_by[paper]).date()
                if date.fromisoformat(slots[arrival.key]) > due:
                    verdict.accuse(
                        "late", f"{paper} to {arrival.place} on {slots[arrival.key]}, due {due}"
                    )


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


def _count_arrivals(arrivals: Iterable[Arrival]) -> list[tuple[str, str, int]]:
    met = Counter((arrival.key, arrival.place) for arrival in arrivals)
    return [(key, place, count) for (key, place), count in met.items()]
