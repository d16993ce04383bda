"""When arXiv announced what was stored, as near as the papers tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from digest.planning.restored import find_announced
from digest.store.dialect import in_chunks
from digest.store.schema import papers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.comparing import StoredChange


def date_changes(conn: Connection, changes: Mapping[int, StoredChange]) -> dict[int, datetime]:
    """Return when changes were announced (UTC), by id; when in doubt, later."""
    days: dict[int, tuple[date | None, date | None]] = {}
    for chunk in in_chunks(sorted({change.paper_key for change in changes.values()})):
        found = select(papers.c.id, papers.c.mailing, papers.c.datestamp).where(papers.c.id.in_(chunk))
        days.update({row.id: (row.mailing, row.datestamp) for row in conn.execute(found)})
    return {id_: find_announced(change, *days[change.paper_key]) for id_, change in changes.items()}
