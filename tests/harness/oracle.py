"""What "nothing lost, nothing twice" means: what was planned is held against what came.

The simulator, the batteries and the stories are all judged by it. What is special to one of them
stays beside it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from digest.model.messages import DeliveryState
from digest.store.digests import load as load_digest
from digest.store.schema import deliveries, digests, subscriptions
from tests.harness.arrivals import Arrival

_SHOWN = 5

PaperAtPlace = tuple[str, str]
"""A destination, and the id of a paper that it is to be told."""


@dataclass
class Verdict:
    """What is wrong, by the check that found it, and the figures it was found in."""

    findings: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)

    def accuse(self, check: str, detail: str) -> None:
        self.findings[check].append(detail)

    def list_findings(self) -> Iterator[str]:
        """Yield every check that found something, and some examples of each."""
        for check, details in sorted(self.findings.items()):
            yield f"BREACH {check}: {len(details):,}"
            yield from (f"  {detail}" for detail in details[:_SHOWN])

    def list_lines(self) -> Iterator[str]:
        """Yield what was counted, and what is wrong."""
        yield from (f"{count:>8,}  {what}" for what, count in self.counts.items())
        yield from self.list_findings()


@dataclass(frozen=True, slots=True)
class Planned:
    """One delivery: the subscription and the slot of its digest, where it went, how it ended."""

    id: int
    key: str
    subscription: str
    slot: str
    place: str
    state: str
    attempts: int
    error: str
    digest: int = 0

    @property
    def medium(self) -> str:
        """The kind of place it went to, such as `mailto`."""
        return self.place.partition(":")[0]


def load_planned(conn: Connection) -> list[Planned]:
    """Return every delivery, the oldest first."""
    found = (
        select(deliveries, digests.c.slot, subscriptions.c.name.label("subscription"))
        .join(digests, digests.c.id == deliveries.c.digest_id)
        .join(subscriptions, subscriptions.c.id == digests.c.subscription_id)
        .order_by(deliveries.c.id)
    )
    return [
        Planned(
            id=row.id,
            key=row.idempotency_key,
            subscription=row.subscription,
            slot=row.slot,
            place=row.destination,
            state=row.state,
            attempts=row.attempts,
            error=str(row.last_error),
            digest=row.digest_id,
        )
        for row in conn.execute(found)
    ]


def judge_deliveries(
    verdict: Verdict,
    planned: Collection[Planned],
    arrivals: Iterable[Arrival],
    *,
    must_arrive: Container[str] = (DeliveryState.SENT,),
) -> None:
    """Judge messages: each in a state that says so has come, and none that nobody planned."""
    came = {(arrival.key, arrival.place) for arrival in arrivals}
    wanted = {(row.key, row.place) for row in planned}
    for key, place in sorted(came - wanted):
        verdict.accuse("stranger", f"{place} got {key}, which nobody planned")
    for row in planned:
        if row.state in must_arrive and (row.key, row.place) not in came:
            what = f"delivery {row.id} to {row.place} is {row.state}"
            verdict.accuse("lost", f"{what} and never arrived")


def judge_ends(
    verdict: Verdict, planned: Iterable[Planned], may_end: Callable[[Planned], bool]
) -> None:
    """Judge deliveries: each has come to an end that it may have."""
    for row in planned:
        if not may_end(row):
            what = f"delivery {row.id} to {row.place} is {row.state}"
            verdict.accuse("stuck", f"{what}: {row.error}")


def judge_copies(
    verdict: Verdict, arrivals: Iterable[Arrival], most: Callable[[str, str], int]
) -> None:
    """Judge messages: each came at most as often as it may, by its key and its place."""
    for (key, place), count in count_arrivals(arrivals).items():
        allowed = most(key, place)
        if count > allowed:
            medium = place.partition(":")[0]
            detail = f"{place} got {key} {count} times, at most {allowed}"
            verdict.accuse(f"doubled: {medium}", detail)


def judge_papers(
    verdict: Verdict,
    wanted: Mapping[PaperAtPlace, int],
    arrivals: Iterable[Arrival],
    *,
    excused: Container[PaperAtPlace] = (),
) -> None:
    """Judge papers × destinations: each paper came with as many digests as are to tell it.

    Copies of one message count once. A paper that is `excused` may be missing, never come too
    often.
    """
    came: dict[PaperAtPlace, set[str]] = defaultdict(set)
    for arrival in arrivals:
        for paper in arrival.papers:
            came[arrival.place, paper].add(arrival.key)
    for (place, paper), times in wanted.items():
        keys = came.pop((place, paper), set())
        if len(keys) < times and (place, paper) not in excused:
            verdict.accuse("never told", f"{paper} to {place}")
        if len(keys) > times:
            verdict.accuse("told twice", f"{paper} to {place} in {len(keys)} messages")
    for place, paper in came:
        verdict.accuse("not asked for", f"{paper} to {place}")
    verdict.counts["papers × destinations"] += sum(wanted.values())


def expect_papers(
    planned: Iterable[Planned], papers_of: Mapping[int, Iterable[str]]
) -> tuple[Counter[PaperAtPlace], set[PaperAtPlace]]:
    """Return which papers digests bring where, and which of them are not marked as sent.

    Args:
        planned: the deliveries, of which a digest may have several to one place.
        papers_of: the ids of each digest's papers.
    """
    destinations = {(row.digest, row.place) for row in planned}
    unsent = {(row.digest, row.place) for row in planned if row.state != DeliveryState.SENT}
    wanted: Counter[PaperAtPlace] = Counter()
    excused: set[PaperAtPlace] = set()
    for digest, place in destinations:
        pairs = {(place, paper) for paper in papers_of.get(digest, ())}
        wanted.update(pairs)
        if (digest, place) in unsent:
            excused |= pairs
    return wanted, excused


def judge_stored(conn: Connection, arrivals: Collection[Arrival]) -> Verdict:
    """Judge the mails and posts of an installation by what its database says was planned."""
    verdict = Verdict()
    planned = [row for row in load_planned(conn) if row.medium in ("mailto", "slack")]
    attempts = {row.key: row.attempts for row in planned}
    papers_of: dict[int, set[str]] = {}
    for row in planned:
        entries = load_digest(conn, row.digest).entries
        papers_of[row.digest] = {str(entry.paper.id) for entry in entries}

    def most(key: str, place: str) -> int:
        return attempts.get(key, 0) if place.startswith("mailto:") else 1

    wanted, excused = expect_papers(planned, papers_of)
    judge_deliveries(verdict, planned, arrivals)
    judge_copies(verdict, arrivals, most)
    judge_papers(verdict, wanted, arrivals, excused=excused)
    return verdict


def count_arrivals(arrivals: Iterable[Arrival]) -> Counter[tuple[str, str]]:
    """Count the copies of each message, by its key and its place."""
    return Counter((arrival.key, arrival.place) for arrival in arrivals)
