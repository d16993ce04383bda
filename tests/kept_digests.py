"""Digests of past announcements in the database of an installation, as if they had been planned and sent."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from digest.compare import content_hash
from digest.model.announcements import Change, Kind
from digest.model.messages import DeliveryPlan
from digest.model.papers import ArxivId
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
    with site.store.begin() as conn:
        writer = Writer(draw)
        written = 0
        for day in list_weekdays(days):
            at = datetime.combine(day, time(22), UTC)
            run_id = runs.start(conn, source="harvest", at=at, window_from=day, is_bootstrap=True)
            for due in subscriptions.load(conn):
                made = []
                for number in range(1, papers + 1):
                    written += 1
                    writer = Writer(draw) if written % _TITLES == 0 else writer
                    drawn = writer.write()._asdict()
                    id_ = ArxivId(
                        day.year * 100 + day.month, 1_000 * day.day + 100 * due.id + number
                    )
                    moment = at - timedelta(days=1)
                    made.append(
                        make_paper(id=id_, published=moment, updated=moment, **_keep(drawn))
                    )
                stored = changes.save(
                    conn,
                    [Change(Kind.NEW, one, None) for one in made],
                    content_hash,
                    run_id=run_id,
                    at=at,
                )
                queries = tuple((one.name, one.text) for one in due.revisions)
                entries = [
                    replace(
                        make_entry(number, queries=(queries[0][0],)),
                        paper=one.paper,
                        reasons=(),
                        change_id=one.id,
                        announced=day,
                    )
                    for number, one in enumerate(stored, 1)
                ]
                digest = make_digest(
                    entries,
                    subscription=due.subscription.name,
                    title=due.subscription.title,
                    slot=f"mailing:{day}",
                    planned_at=at,
                    queries=queries,
                    coverage=make_coverage(len(entries), announcement=day, checked_at=at),
                )
                digests.save(conn, [DigestDraft(due.id, digest, plans, ())], at=at)


def _keep(drawn: dict[str, Any]) -> dict[str, Any]:
    return {name: drawn[name] for name in ("title", "abstract", "authors", "categories", "comment")}
