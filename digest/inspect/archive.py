"""Looks back at the digests of a subscription: page by page, or for papers that a query means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from digest.deliver.pages import view_past
from digest.model.papers import Reason
from digest.plan.links import LinkMaker
from digest.query import PaperIndex, Query, find_reasons
from digest.render.contexts import PastView
from digest.store import digests, papers
from digest.store.frozen import Frozen

PAGE = 50
"""Digests on a page."""

_TITLES = 3
"""Papers shown of each digest on a page."""

_BATCH = 10
"""Digests searched together."""

MOST_FOUND = 100
"""Papers that a search shows."""

MOST_READ = 5_000
"""Papers that a search reads."""


def list_past(
    conn: Connection, maker: LinkMaker, name: str, before: int = 0
) -> tuple[list[PastView], int]:
    """Return a page of a subscription's digests, newest first, and where to go on.

    Each has its first papers. Where to go on is, as `before`, the number of the digest before which
    the next page begins: 0 for the newest one, and for no more.
    """
    found = digests.load_frozen(conn, name, before=before, limit=PAGE + 1)
    past = []
    for frozen in found[:PAGE]:
        _, content = frozen
        places = range(len(content["entries"]))
        past.append(_view(conn, maker, frozen, places))
    has_more = len(found) > PAGE
    if not has_more:
        return past, 0
    last, _ = found[PAGE - 1]
    return past, last.id


def search_past(
    conn: Connection, maker: LinkMaker, name: str, query: Query, before: int = 0
) -> tuple[list[PastView], int]:
    """Return, as `list_past` does, the digests that hold papers a query means.

    Each has these papers, and why the query means them. It ends behind a digest, once enough is
    found or read.
    """
    past: list[PastView] = []
    go_on = 0
    found = 0
    read = 0
    while batch := digests.load_frozen(conn, name, before=go_on or before, limit=_BATCH):
        met = _find_met(conn, batch, query)
        for row, content in batch:
            entries = content["entries"]
            places = [place for place, entry in enumerate(entries) if entry["text"] in met]
            has_found_enough = found > 0 and found + len(places) > MOST_FOUND
            if has_found_enough or read > MOST_READ:
                return past, go_on
            go_on = row.id
            found += len(places)
            read += len(entries)
            if places:
                past.append(_view(conn, maker, (row, content), places, met))
    return past, 0


def _find_met(
    conn: Connection, batch: Iterable[Frozen], query: Query
) -> dict[int, tuple[Reason, ...]]:
    """Return the papers of some digests that a query means, by their texts' keys, with why."""
    wanted: set[int] = set()
    for _, content in batch:
        wanted.update(entry["text"] for entry in content["entries"])
    texts = papers.load_versions(conn, wanted)
    keys = list(texts)
    (numbers,) = PaperIndex(texts.values()).find([query])
    met = {}
    for number in numbers:
        key = keys[number]
        met[key] = find_reasons(query, texts[key])
    return met


def _view(
    conn: Connection,
    maker: LinkMaker,
    frozen: Frozen,
    places: Sequence[int],
    reasons: Mapping[int, tuple[Reason, ...]] | None = None,
) -> PastView:
    row, _ = frozen
    most = _TITLES if reasons is None else MOST_FOUND
    url = f"../d/{maker.web_token(row.subscription, row.slot)}"
    return view_past(conn, frozen, url, places[:most], total=len(places), reasons=reasons)
