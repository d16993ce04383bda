"""The facts of the status screen, gathered and put into words; nothing is decided or changed here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.announcements import EASTERN, mailing_moment, next_mailing
from digest.messages import DeliveryState
from digest.planning import assess_coverage, zone_of
from digest.planning.polls import next_poll_time
from digest.store import deliveries as outbox_store
from digest.store import overview
from digest.store import pages as page_store
from digest.store import queries as query_store
from digest.store import runs as run_store
from digest.store import subscriptions as subscription_store
from digest.store.gate import load_breaker

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.pipeline.site import Site
    from digest.store.gate import Breaker
    from digest.store.overview import SubscriptionLine

SPAN = timedelta(days=30)
MEGABYTE = 1_000_000
_SHOWN_DEAD = 5
_HOST_SHOWN = 7


@dataclass(frozen=True, slots=True)
class Line:
    """One subscription on the screen, every cell in words; `days` counts papers, oldest day first."""

    name: str
    to: str
    queries: str
    last: str
    next: str
    days: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """The screen.

    Attributes:
        attention: what needs somebody, each with what to do ("" where nothing can be done).
        arxiv: lines about intake.
        subscriptions: a line for each.
        outbox: the outbox in a line.
        system: the installation in a line.
        facts: the same for programs.
    """

    attention: tuple[tuple[str, str], ...]
    arxiv: tuple[str, ...]
    subscriptions: tuple[Line, ...]
    outbox: str
    system: str
    facts: dict[str, object]

    def as_json(self) -> dict[str, object]:
        """Return everything as JSON-ready values."""
        return {
            **self.facts,
            "attention": [{"what": what, "do": remedy} for what, remedy in self.attention],
            "subscriptions": [
                {
                    "name": line.name,
                    "to": line.to,
                    "queries": line.queries,
                    "last": line.last,
                    "next": line.next,
                    "papers_by_day": line.days,
                }
                for line in self.subscriptions
            ],
        }


def load_status(site: Site) -> Status:
    """Gather the screen from the store and the configuration."""
    now = site.clock.now()
    with site.store.read() as conn:
        outbox = overview.load_outbox(conn, now)
        lines = overview.load_subscription_lines(conn, now, span=SPAN)
        papers = overview.count_papers(conn)
        breaker = load_breaker(conn, site.clock)
        requests = overview.count_requests(conn, now - timedelta(hours=24))
        attention = _find_attention(conn, site, outbox.counts, breaker)
        intake = _describe_intake(conn, site, now)
        zones = {
            due.subscription.name: ZoneInfo(zone_of(due.subscription.cadence))
            for due in subscription_store.load_subscriptions(conn)
        }
    counts = {str(state): outbox.counts.get(state, 0) for state in _OUTBOX_STATES}
    oldest = f"{outbox.oldest_due:%a %-d %b %H:%M} UTC" if outbox.oldest_due else "none"
    size = overview.measure_size(site.store)
    breaker_words = f"breaker open for {breaker.seconds / 60:.0f} min" if breaker.seconds else "breaker closed"
    return Status(
        attention=tuple(attention),
        arxiv=(
            f"{intake} · {site.config.arxiv.source}, {breaker_words}",
            f"{_describe_next(now)} · {requests} requests in 24 h",
        ),
        subscriptions=tuple(_describe_subscription(line, zones[line.name], now) for line in lines),
        outbox=" · ".join(f"{name} {count}" for name, count in counts.items()) + f" · oldest due: {oldest}",
        system=f"{site.store.dialect}, {_describe_size(size)}, {papers:,} papers · next look at arXiv worth"
        f" a request: {next_poll_time(now).astimezone(EASTERN):%a %H:%M} ET",
        facts={
            "now": now,
            "outbox": counts,
            "oldest_due": outbox.oldest_due,
            "papers": papers,
            "requests_24h": requests,
            "breaker_seconds": breaker.seconds,
            "database_bytes": size,
            "next_mailing": mailing_moment(next_mailing(now)),
            "intake": intake,
        },
    )


_OUTBOX_STATES = (DeliveryState.READY, DeliveryState.UNKNOWN, DeliveryState.HELD, DeliveryState.DEAD)


def _find_attention(
    conn: Connection, site: Site, counts: dict[DeliveryState, int], breaker: Breaker
) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    troubled = outbox_store.list_deliveries(
        conn, states=(DeliveryState.DEAD, DeliveryState.HELD), limit=_SHOWN_DEAD
    )
    for stored in troubled:
        delivery = stored.delivery
        what = f"delivery {delivery.id} to {delivery.destination} is {delivery.state}: {delivery.last_error}"
        found.append((what, f"digest delivery show {delivery.id}"))
    hidden = counts.get(DeliveryState.DEAD, 0) + counts.get(DeliveryState.HELD, 0) - len(troubled)
    if hidden > 0:
        found.append((f"{hidden} more deliveries are dead or held", "digest delivery list"))
    for query in query_store.load_queries(conn):
        if query.problem:
            first_line = query.problem.partition("\n")[0]
            found.append((f"saved query {query.name} can't be read: {first_line}", "mend it in digest.toml"))
    failed = run_store.last_runs(conn, site.config.arxiv.source, limit=1)
    if failed and failed[0].failure:
        found.append((f"the last look at arXiv failed: {failed[0].failure}", "it is made again by itself"))
    if breaker.seconds:
        found.append((f"arXiv asked us to stay away ({breaker.reason})", "nothing: waiting is all that helps"))
    set_aside = page_store.count_quarantined(conn)
    if set_aside:
        found.append((f"{set_aside} entries from arXiv could not be read and were set aside", ""))
    return found


def _describe_intake(conn: Connection, site: Site, now: datetime) -> str:
    source = site.config.arxiv.source
    keys = [""] if source == "harvest" else [revision.canonical for revision in query_store.active_revisions(conn)]
    coverage = assess_coverage(run_store.recent_polls(conn, source, keys, now), now)
    if coverage.checked_at is None:
        return "never looked yet: `digest run` takes the first look"
    checked = f"{coverage.checked_at.astimezone(EASTERN):%H:%M} ET"
    mailing = f"mailing of {coverage.mailing:%a %-d %b}" if coverage.mailing else "no mailing"
    if coverage.is_complete:
        return f"{mailing}: complete {checked}, {coverage.looked_at:,} papers looked at"
    return f"{mailing}: not complete, last looked {coverage.checked_at.astimezone(EASTERN):%a %H:%M} ET"


def _describe_next(now: datetime) -> str:
    day = next_mailing(now)
    return f"next mailing {day:%a %-d %b} 20:00 ET = {mailing_moment(day):%a %H:%M} UTC"


def _describe_subscription(line: SubscriptionLine, zone: ZoneInfo, now: datetime) -> Line:
    last = "nothing sent yet"
    if line.last_planned_at:
        marks = {DeliveryState.SENT: "✓", DeliveryState.SUPPRESSED: "left"}
        states = sorted({marks.get(state, str(state)) for state in line.last_states})
        at = line.last_planned_at.astimezone(zone)
        last = f"{at:%a %-d %b %H:%M}  {line.last_papers} paper{'s' * (line.last_papers != 1)} {' '.join(states)}"
    days = {count.day: count.papers for count in line.days}
    first = (now - SPAN).date()
    return Line(
        name=line.name,
        to=", ".join(_mask(str(destination)) for destination in line.destinations) or "nobody any more",
        queries=" ".join(line.queries),
        last=last,
        next=_describe_turn(line, zone),
        days=tuple(days.get(first + timedelta(days=number), 0) for number in range(1, SPAN.days + 1)),
    )


def _describe_turn(line: SubscriptionLine, zone: ZoneInfo) -> str:
    waits = f"; {line.waiting} papers wait" if line.waiting else ""
    if line.state == "paused":
        until = f" until {line.paused_until.astimezone(zone):%a %-d %b}" if line.paused_until else ""
        return f"paused{until}{waits}"
    if line.next_due_at is None:
        return "as papers come" + waits
    return f"{line.next_due_at.astimezone(zone):%a %-d %b %H:%M}{waits}"


def _mask(destination: str) -> str:
    """Shorten a mail address: the screen is pasted into tickets."""
    kind, _, address = destination.partition(":")
    if kind != "mailto":
        return destination
    name, _, host = address.partition("@")
    return f"{name}@{host[:_HOST_SHOWN]}…" if len(host) > _HOST_SHOWN + 1 else address


def _describe_size(size: int) -> str:
    return f"{size / MEGABYTE:.0f} MB" if size >= MEGABYTE else f"{size / 1000:.0f} kB"
