"""Digests of past announcements in a database, as if they had been planned and sent."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from typing import Any

from digest.compare import content_hash
from digest.model.announcements import Change, Kind, StoredChange
from digest.model.messages import DeliveryPlan, Digest
from digest.model.papers import ArxivId
from digest.model.subscriptions import DueSubscription
from digest.render.samples import make_coverage, make_digest, make_entry, make_paper
from digest.serve.configuration import sync_config
from digest.site import Site
from digest.store import changes, digests, runs, subscriptions
from digest.store.digests import DigestDraft
from tests.fakes.writing import Writer

LAST = date(2026, 11, 19)
_TITLES = 500
"""A writer has no more than some hundreds of them."""


def list_weekdays(count: int) -> list[date]:
    """Return the last weekdays up to `LAST`, the earliest first."""
    days = (LAST - timedelta(days=back) for back in range(2 * count + 2))
    return [day for day in days if day.weekday() < 5][:count][::-1]


def keep_digests(
    site: Site, days: int, papers: int, *, plans: tuple[DeliveryPlan, ...] = ()
) -> None:
    """Store a digest a weekday for each subscription of the file, with so many papers.

    None had a delivery.
    """
    draw = random.Random(20_261_119)  # noqa: S311 - the same papers every time, and nothing secret
    sync_config(site)
    drawn = _draw_texts(draw)
    with site.store.begin() as conn:
        for day in list_weekdays(days):
            at = datetime.combine(day, time(22), UTC)
            run_id = runs.start(conn, source="harvest", at=at, window_from=day, is_bootstrap=True)
            for due in subscriptions.load(conn):
                new = [
                    _make_change(day, at, 100 * due.id + number, next(drawn))
                    for number in range(1, papers + 1)
                ]
                stored = changes.save(conn, new, content_hash, run_id=run_id, at=at)
                digest = _make_digest(due, stored, day, at)
                digests.save(conn, [DigestDraft(due.id, digest, plans, ())], at=at)


def _draw_texts(draw: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the texts of one paper after the other."""
    writer = Writer(draw)
    for written in count(1):
        if written % _TITLES == 0:
            writer = Writer(draw)
        yield _keep(writer.write()._asdict())


def _make_change(day: date, at: datetime, number: int, texts: dict[str, Any]) -> Change:
    """Return a paper that came new on a day, submitted a day before."""
    id_ = ArxivId(day.year * 100 + day.month, 1_000 * day.day + number)
    moment = at - timedelta(days=1)
    paper = make_paper(id=id_, published=moment, updated=moment, **texts)
    return Change(Kind.NEW, paper, None)


def _make_digest(
    due: DueSubscription, stored: Iterable[StoredChange], day: date, at: datetime
) -> Digest:
    """Return the digest of a day, whose papers met the first query of the subscription."""
    queries = tuple((one.name, one.text) for one in due.revisions)
    first, _ = queries[0]
    entries = []
    for number, change in enumerate(stored, 1):
        entry = make_entry(number, queries=(first,))
        entry = replace(entry, paper=change.paper, reasons=(), change_id=change.id, announced=day)
        entries.append(entry)
    coverage = make_coverage(len(entries), announcement=day, checked_at=at)
    return make_digest(
        entries,
        subscription=due.subscription.name,
        title=due.subscription.title,
        slot=f"mailing:{day}",
        planned_at=at,
        queries=queries,
        coverage=coverage,
    )


def _keep(drawn: dict[str, Any]) -> dict[str, Any]:
    return {name: drawn[name] for name in ("title", "abstract", "authors", "categories", "comment")}
