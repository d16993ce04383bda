"""`digest try`: one query against arXiv's search, as the digest it would make. Nothing is stored or sent."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.arxiv.search import walk_search
from digest.comparing import StoredChange
from digest.matching import ActiveRevision
from digest.messages import Coverage, Occasion
from digest.planning import DueSubscription, choose_first_look, plan_digest
from digest.query import matches, to_arxiv
from digest.subscriptions import Cadence, CadenceKind, Destination, DestinationKind, Subscription

if TYPE_CHECKING:
    from digest.arxiv.client import ArxivClient
    from digest.clock import Clock
    from digest.messages import Digest
    from digest.papers import Paper
    from digest.query import Query

PAPERS = 50
_BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)


def look_up(client: ArxivClient, clock: Clock, query: Query, *, days: int) -> Digest:
    """Ask arXiv for a query's newest papers and plan the first look they would make.

    What arXiv returns is matched here once more, so that it means what a saved query would.

    Raises:
        ArxivError: arXiv did not answer well.
    """
    found: list[Paper] = []
    looked_at = total = 0
    for fetched in islice(walk_search(client, to_arxiv(query), until=_BEGINNING, size=PAPERS), 1):
        looked_at, total = len(fetched.page.papers), fetched.page.total
        found += [paper for paper in fetched.page.papers if matches(query, paper)]
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
        cap=None,
        title="first look",
    )
    chosen = choose_first_look(candidates, days, now)
    is_cut = len(chosen) == len(found) and total > looked_at
    return plan_digest(
        DueSubscription(0, subscription, "active", None, 0, "", now, (revision,)),
        chosen,
        {"query": query},
        {},
        Coverage(
            None,
            is_complete=True,
            looked_at=looked_at,
            matched=len(found),
            checked_at=now,
            source="query",
            total=total if is_cut else 0,
        ),
        slot="run:0",
        occasion=Occasion.TRIAL,
        now=now,
    )
