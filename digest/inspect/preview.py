"""Shows a digest or a query before anything is sent, from the store or from arXiv.

Nothing is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo

from sqlalchemy import Connection

from digest.arxiv.client import ArxivClient
from digest.arxiv.pages import walk_search
from digest.inspect.queries import DaySpan, describe_volume, list_submission_days, select_meant
from digest.inspect.subscriptions import FIRST_DIGEST_NEXT, SubscriptionStatus, load_lines
from digest.match.rules import choose_first_digest
from digest.model import secrets
from digest.model.announcements import Kind, StoredChange
from digest.model.cadences import Cadence, CadenceKind
from digest.model.clock import Clock
from digest.model.destinations import Destination
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
from digest.store import digests, matches, subscriptions
from digest.store.overview import SubscriptionLine

_BETWEEN = 1.0
"""Seconds between two messages: a channel takes one a second."""

_MOST_DIGESTS = 1_000
"""Digests of a subscription that are looked through for a day: three years of daily ones."""

_FIRST_DIGEST_PAGE = 50
_BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)


def preview_digest(conn: Connection, site: Site, due: DueSubscription) -> Digest | None:
    """Make the digest that a subscription would get if its turn came now.

    None where nothing waits for it.
    """
    pending = matches.load_pending(conn, due.id, due.plan_after)
    rows = drop_excluded(conn, due, pending)
    if not rows:
        return None
    drafts = Drafts(site)
    drafts.read(conn, rows)
    subscription = due.subscription
    slot = next_slot(subscription.cadence, subscription.quiet_hours, drafts.now, due.last_slot)
    is_first_digest = all(row.occasion is Occasion.FIRST_DIGEST for row in rows)
    occasion = Occasion.FIRST_DIGEST if is_first_digest else Occasion.SCHEDULED
    slot_name = str(SlotName.of_run(rows[-1].match_run_id))
    if slot and not is_first_digest:
        slot_name = slot.name
    return drafts.draft(conn, due, rows, slot=slot_name, occasion=occasion).digest


@dataclass(frozen=True, slots=True)
class ForeseenRun:
    """What the next run would do for a subscription, as far as papers are stored.

    `papers` are those of the digest that is due, else those that wait; None if only the run can
    tell. `edit` is what becomes of a subscription that digest.toml names anew, or no more.
    """

    line: SubscriptionStatus
    is_due: bool
    papers: int | None
    edit: str = ""


def preview_run(conn: Connection, site: Site) -> list[ForeseenRun]:
    """Say what a run would plan now; arXiv is not asked, and nothing is changed."""
    now = site.clock.now()
    unplanned = matches.load_unplanned_first_digests(conn)
    dues = {due.subscription.name: due for due in subscriptions.load(conn, include_ended=True)}
    written = {one.name: one for one in site.config.subscriptions}
    added = digests.find_first_digests(conn, site.config.subscriptions)
    turns: list[ForeseenRun] = []
    for line in load_lines(conn, site.config, site.clock, now):
        name = line.settings.name
        due = dues[name]
        if name in added:
            shown = replace(line, settings=added[name])
            turns.append(ForeseenRun(shown, is_due=True, papers=None, edit=FIRST_DIGEST_NEXT))
        elif name in written or line.is_personal:
            has_first_digest = line.is_active(now) and due.id in unplanned
            is_due = is_due_now(line, now) or has_first_digest
            papers = _count_due(conn, site, due) if is_due else line.waiting
            turns.append(ForeseenRun(line, is_due, papers))
        else:
            edit = "ends with the next run"
            turns.append(ForeseenRun(line, is_due=False, papers=line.waiting, edit=edit))
    live = {turn.line.settings.name for turn in turns}
    for name, subscription in written.items():
        if name not in live:
            foreseen = _foresee_new(subscription, now, is_known=name in dues)
            turns.append(foreseen)
    return sorted(turns, key=lambda turn: turn.line.settings.name)


def _count_due(conn: Connection, site: Site, due: DueSubscription) -> int:
    digest = preview_digest(conn, site, due)
    return len(digest.entries) if digest else 0


def _foresee_new(subscription: Subscription, now: datetime, *, is_known: bool) -> ForeseenRun:
    """Say what the next run does for a subscription that digest.toml names anew."""
    looks_back = subscription.has_digests and subscription.look_back > 0 and not is_known
    line = SubscriptionStatus(subscription, now, volume="", is_greeted=looks_back)
    edit = FIRST_DIGEST_NEXT if looks_back else "begins with the next run"
    return ForeseenRun(line, is_due=looks_back, papers=None, edit=edit)


def is_due_now(line: SubscriptionLine, now: datetime) -> bool:
    """Whether a subscription's turn has come.

    Its time is there, or papers wait for one that goes out at once.
    """
    has_only_pulled = all(place.is_pulled for place in line.settings.destinations)
    if has_only_pulled or not line.is_active(now):
        return False
    if line.next_due_at is None:
        return line.waiting > 0
    return line.next_due_at <= now


def find_digest(
    conn: Connection, due: DueSubscription, day: date | None, zone: tzinfo | None
) -> Digest | None:
    """Return the last digest of a subscription, or the one called after a day, or planned on it."""
    limit = _MOST_DIGESTS if day else 1
    for row, frozen in digests.load_frozen(conn, due.subscription.name, limit=limit):
        planned = row.planned_at.astimezone(zone).date()
        announced = frozen["coverage"]["announcement"]
        if day is None or day == planned or day.isoformat() == announced:
            return digests.load(conn, row.id)
    return None


def load_numbered(conn: Connection, due: DueSubscription, digest_id: int) -> Digest:
    """Return a subscription's digest by its number."""
    digest = digests.load(conn, digest_id)
    if digest.subscription != due.subscription.name:
        raise UnknownName(
            f"digest {digest_id} is one of {digest.subscription}, not of {due.subscription.name}"
        )
    return digest


def make_preview_links(conn: Connection, site: Site, digest: Digest) -> Links:
    """Return what everybody's copy links to: nobody's own address to leave is among it."""
    base = site.config.web.base_url.rstrip("/")
    maker = make_links(conn, site.config)
    web_view = ""
    is_stored = digest.id != 0
    if base and is_stored:
        web_view = f"{base}/d/{maker.web_token(digest.subscription, digest.slot)}"
    return Links(web_view=web_view, home=base, refs=make_refs_url(site.config))


def render_parts(
    site: Site, digest: Digest, destination: Destination, links: Links
) -> list[Message]:
    """Render every part of a digest as it would go to a destination."""
    parts = len(site.renderer.divide(digest, destination))
    messages = []
    for part in range(parts):
        delivery = _stand_in(digest, destination, part, parts, "preview")
        messages.append(_render_part(site, digest, delivery, links))
    return messages


def send_trial(site: Site, digest: Digest, destination: Destination, links: Links) -> list[Receipt]:
    """Send a digest to the operator, beside the outbox.

    It is sent as often as asked, each time under names of its own.
    """
    transport = site.transport(destination.kind)
    address = transport.resolve(destination)
    named = f"trial {site.clock.now().isoformat()} {site.jitter()}"
    shares = list(site.renderer.divide(digest, destination))
    receipts: list[Receipt] = []
    for part, share in enumerate(shares):
        delivery = replace(
            _stand_in(digest, destination, part, len(shares), named),
            remote_address=address,
            parent_remote_id=receipts[0].remote_id if receipts else "",
            share=share,
        )
        site.clock.sleep(_BETWEEN)
        message = _render_part(site, digest, delivery, links)
        receipts.append(transport.send(message, destination))
    return receipts


def _render_part(site: Site, digest: Digest, delivery: Delivery, links: Links) -> Message:
    identity = site.renderer.identify(site.config.mail, digest.planned_at)
    return site.renderer.render(digest, delivery, links, identity)


def _stand_in(
    digest: Digest, destination: Destination, part: int, parts: int, name: str
) -> Delivery:
    sender = f"{name} {digest.subscription}"
    key = secrets.idempotency_key(sender, digest.slot, str(destination), part)
    return Delivery.make_sample(digest, destination, part, parts, key)


def try_query(
    client: ArxivClient, clock: Clock, query: Query, *, days: int, show: int | None = None
) -> Digest:
    """Ask arXiv for a query's newest papers, and plan the first digest they would make.

    It shows so many. What arXiv returns is matched here once more, so that it means what a saved
    query would.
    """
    pages = walk_search(client, to_arxiv(query), until=_BEGINNING, size=_FIRST_DIGEST_PAGE)
    page = next(pages).page
    found = select_meant(query, page.papers)
    now = clock.now()
    candidates = []
    for number, paper in enumerate(reversed(found), start=1):
        candidates.append(StoredChange(number, Kind.KNOWN, paper, None, (), 0, now, number))
    revision = ActiveRevision(0, 0, "query", query.text, query.canonical, 0)
    subscription = Subscription(
        name="try",
        queries=("query",),
        destinations=(Destination.parse("console"),),
        cadence=Cadence(CadenceKind.AT_ONCE),
        show=show,
        title="preview",
    )
    chosen = choose_first_digest(candidates, days, now)
    is_cut = len(chosen) == len(found) and page.total > len(page.papers)
    coverage = Coverage(
        None,
        is_complete=True,
        compared=len(page.papers),
        matched=len(found),
        checked_at=now,
        source="query",
        total=page.total if is_cut else 0,
    )
    return plan_digest(
        DueSubscription(0, subscription, "active", None, 0, "", now, (revision,)),
        chosen,
        {"query": query},
        {},
        coverage,
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
    papers = [entry.paper for entry in digest.entries]
    oldest = min((paper.updated for paper in papers), default=_BEGINNING)
    has_older = digest.coverage.total or len(papers) >= FIRST_DIGEST_PAPERS
    span = list_submission_days(digest.planned_at, 30)
    whole = span.whole
    if has_older:
        whole = tuple(day for day in span.whole if day > oldest.date())
    if whole:
        return describe_volume(DaySpan(whole, span.begun), papers)
    days = (digest.planned_at - oldest).days + 1
    return f"over {count(len(papers) // days, 'paper')} a day"
