"""Shows a digest or a query before anything is sent, from the store or from arXiv. Nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo

from sqlalchemy import Connection

from digest.arxiv.client import ArxivClient
from digest.arxiv.pages import walk_search
from digest.inspect.queries import DaySpan, describe_volume, list_submission_days, select_meant
from digest.inspect.subscriptions import SubscriptionStatus, load_lines
from digest.match.rules import choose_first_digest
from digest.model import secrets
from digest.model.announcements import Kind, StoredChange
from digest.model.cadences import Cadence, CadenceKind
from digest.model.clock import Clock
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import UnknownName
from digest.model.messages import (
    FIRST_DIGEST_PAPERS,
    Coverage,
    Delivery,
    Digest,
    Links,
    Message,
    Occasion,
    Receipt,
)
from digest.model.numbers import count
from digest.model.slots import SlotName
from digest.model.subscriptions import ActiveRevision, DueSubscription, Subscription
from digest.plan.digests import plan_digest
from digest.plan.drafts import Drafts
from digest.plan.links import make_links, make_refs_url
from digest.plan.slots import next_slot
from digest.plan.step import drop_excluded
from digest.query import PaperIndex, Query, to_arxiv
from digest.query.description import note_other_words
from digest.site import Site
from digest.store.digests import (
    FIRST_DIGEST_NEXT,
    SubscriptionLine,
    find_first_digests,
    load_digest,
    load_frozen,
)
from digest.store.matches import load_pending_matches, load_unplanned_first_digests
from digest.store.subscriptions import load_subscriptions

_BETWEEN = 1.0
"""Seconds between two messages: a channel takes one a second."""

_MOST_DIGESTS = 1_000
"""Digests of a subscription that are looked through for a day: three years of daily ones."""

PAPERS = 50
_BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)


def preview_digest(conn: Connection, site: Site, due: DueSubscription) -> Digest | None:
    """Make the digest that a subscription would get if its turn came now; None where nothing waits for it."""
    rows = drop_excluded(conn, due, load_pending_matches(conn, due.id, due.plan_after))
    if not rows:
        return None
    drafts = Drafts(site)
    drafts.read(conn, rows)
    subscription = due.subscription
    slot = next_slot(subscription.cadence, subscription.quiet_hours, drafts.now, due.last_slot)
    is_first_digest = all(row.occasion is Occasion.FIRST_DIGEST for row in rows)
    name = str(SlotName.of_run(rows[-1].match_run_id))
    if slot is not None and not is_first_digest:
        name = slot.name
    draft = drafts.draft(
        conn,
        due,
        rows,
        slot=name,
        occasion=Occasion.FIRST_DIGEST if is_first_digest else Occasion.SCHEDULED,
    )
    return draft.digest


@dataclass(frozen=True, slots=True)
class ForeseenRun:
    """What the next run would do for a subscription, as far as papers are stored.

    `papers` are those of the digest that is due, else those that wait; None if only the run can tell. `edit` is
    what becomes of a subscription that digest.toml names anew, or no more.
    """

    line: SubscriptionStatus
    is_due: bool
    papers: int | None
    edit: str = ""


def preview_run(conn: Connection, site: Site) -> list[ForeseenRun]:
    """Say what a run would plan now; arXiv is not asked, and nothing is changed."""
    now, first = site.clock.now(), load_unplanned_first_digests(conn)
    dues = {due.subscription.name: due for due in load_subscriptions(conn, include_ended=True)}
    written = {one.name: one for one in site.config.subscriptions}
    added = find_first_digests(conn, site.config.subscriptions)
    turns: list[ForeseenRun] = []
    for line in load_lines(conn, site.config, site.clock, now):
        is_kept = line.settings.name in written or line.is_personal
        due, edit = dues[line.settings.name], "" if is_kept else "ends with the next run"
        if line.settings.name in added:
            shown = replace(line, settings=added[line.settings.name])
            turns.append(ForeseenRun(shown, is_due=True, papers=None, edit=FIRST_DIGEST_NEXT))
            continue
        is_due = not edit and (is_due_now(line, now) or (line.is_active(now) and due.id in first))
        digest = preview_digest(conn, site, due) if is_due else None
        turns.append(
            ForeseenRun(
                line, is_due, len(digest.entries) if digest else 0 if is_due else line.waiting, edit
            )
        )
    for one in (
        written[name] for name in written.keys() - {turn.line.settings.name for turn in turns}
    ):
        looks_back = one.has_digests and one.look_back > 0 and one.name not in dues
        line = SubscriptionStatus(one, now, volume="", is_greeted=looks_back)
        turns.append(
            ForeseenRun(
                line,
                looks_back,
                None,
                FIRST_DIGEST_NEXT if looks_back else "begins with the next run",
            )
        )
    return sorted(turns, key=lambda turn: turn.line.settings.name)


def is_due_now(line: SubscriptionLine, now: datetime) -> bool:
    """Whether a subscription's turn has come: its time is there, or papers wait for one that goes out at once."""
    if not line.is_active(now) or all(place.is_pulled for place in line.settings.destinations):
        return False
    return line.waiting > 0 if line.next_due_at is None else line.next_due_at <= now


def find_digest(
    conn: Connection, due: DueSubscription, day: date | None, zone: tzinfo | None
) -> Digest | None:
    """Return the last digest of a subscription, or the one called after a day, or planned on it."""
    for row, frozen in load_frozen(conn, due.subscription.name, limit=_MOST_DIGESTS if day else 1):
        planned = row.planned_at.astimezone(zone).date().isoformat()
        if day is None or day.isoformat() in (frozen["coverage"]["announcement"], planned):
            return load_digest(conn, row.id)
    return None


def load_numbered(conn: Connection, due: DueSubscription, digest_id: int) -> Digest:
    """Return a subscription's digest by its number."""
    digest = load_digest(conn, digest_id)
    if digest.subscription != due.subscription.name:
        raise UnknownName(
            f"digest {digest_id} is one of {digest.subscription}, not of {due.subscription.name}"
        )
    return digest


def make_preview_links(conn: Connection, site: Site, digest: Digest) -> Links:
    """Return what everybody's copy links to: nobody's own address to leave is among it."""
    base = site.config.web.base_url.rstrip("/")
    maker = make_links(conn, site.config)
    is_stored = bool(digest.id)
    return Links(
        web_view=f"{base}/d/{maker.web_token(digest.subscription, digest.slot)}"
        if base and is_stored
        else "",
        home=base,
        refs=make_refs_url(site.config),
    )


def render_parts(
    site: Site, digest: Digest, destination: Destination, links: Links
) -> list[Message]:
    """Render every part of a digest as it would go to a destination."""
    parts = len(site.renderer.divide(digest, destination))
    deliveries = (_stand_in(digest, destination, part, parts, "preview") for part in range(parts))
    return [_render_part(site, digest, delivery, links) for delivery in deliveries]


def send_trial(site: Site, digest: Digest, destination: Destination, links: Links) -> list[Receipt]:
    """Send a digest to the operator, beside the outbox; as often as asked, each time under names of its own."""
    transport = site.transport(destination.kind)
    address = transport.resolve(destination)
    named = f"trial {site.clock.now().isoformat()} {site.jitter()}"
    shares, receipts = list(site.renderer.divide(digest, destination)), list[Receipt]()
    for part, share in enumerate(shares):
        delivery = replace(
            _stand_in(digest, destination, part, len(shares), named),
            remote_address=address,
            parent_remote_id=receipts[0].remote_id if receipts else "",
            share=share,
        )
        site.clock.sleep(_BETWEEN)
        receipts.append(transport.send(_render_part(site, digest, delivery, links), destination))
    return receipts


def _render_part(site: Site, digest: Digest, delivery: Delivery, links: Links) -> Message:
    return site.renderer.render(
        digest, delivery, links, site.renderer.identify(site.config.mail, digest.planned_at)
    )


def _stand_in(
    digest: Digest, destination: Destination, part: int, parts: int, key: str
) -> Delivery:
    own = secrets.idempotency_key(
        f"{key} {digest.subscription}", digest.slot, str(destination), part
    )
    return Delivery.make_sample(digest, destination, part, parts, own)


def try_query(
    client: ArxivClient, clock: Clock, query: Query, *, days: int, show: int | None = None
) -> Digest:
    """Ask arXiv for a query's newest papers, and plan the first digest they would make, which shows so many.

    What arXiv returns is matched here once more, so that it means what a saved query would.
    """
    page = next(walk_search(client, to_arxiv(query), until=_BEGINNING, size=PAPERS)).page
    found = select_meant(query, page.papers)
    now = clock.now()
    candidates = [
        StoredChange(number, Kind.KNOWN, paper, None, (), 0, now, number)
        for number, paper in enumerate(reversed(found), start=1)
    ]
    revision = ActiveRevision(0, 0, "query", query.text, query.canonical, 0)
    subscription = Subscription(
        name="try",
        queries=("query",),
        destinations=(Destination(DestinationKind.CONSOLE),),
        cadence=Cadence(CadenceKind.AT_ONCE),
        show=show,
        title="preview",
    )
    chosen = choose_first_digest(candidates, days, now)
    is_cut = len(chosen) == len(found) and page.total > len(page.papers)
    return plan_digest(
        DueSubscription(0, subscription, "active", None, 0, "", now, (revision,)),
        chosen,
        {"query": query},
        {},
        Coverage(
            None,
            is_complete=True,
            compared=len(page.papers),
            matched=len(found),
            checked_at=now,
            source="query",
            total=page.total if is_cut else 0,
        ),
        slot=str(SlotName.of_run(0)),
        occasion=Occasion.TRIAL,
        now=now,
    )


def note_found(query: Query, digest: Digest) -> list[str]:
    """Say which other words of the same stem bring most papers of a query's digest."""
    papers = PaperIndex(entry.paper for entry in digest.entries)
    return note_other_words(query.tree, papers, range(len(digest.entries)))


def describe_found(digest: Digest) -> str:
    """Say how much a query brings, by the digest that `try_query` planned of its newest papers."""
    papers, span = (
        [entry.paper for entry in digest.entries],
        list_submission_days(digest.planned_at, 30),
    )
    oldest = min((paper.updated for paper in papers), default=_BEGINNING)
    has_older = digest.coverage.total or len(papers) >= FIRST_DIGEST_PAPERS
    whole = tuple(day for day in span.whole if not has_older or day > oldest.date())
    if whole:
        return describe_volume(DaySpan(whole, span.begun), papers)
    return f"over {count(len(papers) // ((digest.planned_at - oldest).days + 1), 'paper')} a day"
