"""Looks back at the digests of a subscription: page by page, or for the papers that a query means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from digest.deliver.pages import view_past
from digest.model.papers import Reason
from digest.plan.links import LinkMaker
from digest.query import PaperIndex, Query, find_reasons
from digest.render.contexts import PastView
from digest.store.digests import load_frozen
from digest.store.frozen import Frozen
from digest.store.papers import load_versions

PAGE, _TITLES, _BATCH = 50, 3, 10
"""Digests on a page, papers shown of each, and digests searched together."""

MOST_FOUND, MOST_READ = 100, 5_000
"""Papers that a search shows, and how many it reads."""


def list_past(
    conn: Connection, maker: LinkMaker, name: str, before: int = 0
) -> tuple[list[PastView], int]:
    """Return a page of a subscription's digests, newest first, with their first papers, and where to go on.

    That, as `before`, is the number of the digest before which it begins: 0 for the newest one, and for no more.
    """
    found = load_frozen(conn, name, before=before, limit=PAGE + 1)
    past = [_view(conn, maker, one, range(len(one[1]["entries"]))) for one in found[:PAGE]]
    return past, found[PAGE - 1][0].id if len(found) > PAGE else 0


def search_past(
    conn: Connection, maker: LinkMaker, name: str, query: Query, before: int = 0
) -> tuple[list[PastView], int]:
    """Return, as `list_past` does, the digests that hold papers a query means, with these, and why it means them.

    It ends behind a digest, once enough is found or read.
    """
    past: list[PastView] = []
    go_on = found = read = 0
    while batch := load_frozen(conn, name, before=go_on or before, limit=_BATCH):
        texts = load_versions(
            conn, {entry["text"] for _, content in batch for entry in content["entries"]}
        )
        keys, papers = list(texts), list(texts.values())
        (numbers,) = PaperIndex(papers).find([query])
        met = {keys[number]: find_reasons(query, papers[number]) for number in numbers}
        for row, content in batch:
            places = [
                place for place, entry in enumerate(content["entries"]) if entry["text"] in met
            ]
            if (found and found + len(places) > MOST_FOUND) or read > MOST_READ:
                return past, go_on
            go_on, found, read = row.id, found + len(places), read + len(content["entries"])
            past += [_view(conn, maker, (row, content), places, met)] if places else []
    return past, 0


def _view(
    conn: Connection,
    maker: LinkMaker,
    frozen: Frozen,
    places: Sequence[int],
    reasons: Mapping[int, tuple[Reason, ...]] | None = None,
) -> PastView:
    shown = places[: _TITLES if reasons is None else MOST_FOUND]
    url = f"../d/{maker.web_token(frozen[0].subscription, frozen[0].slot)}"
    return view_past(conn, frozen, url, shown, total=len(places), reasons=reasons)
