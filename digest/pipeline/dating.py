"""When arXiv announced what was stored, as near as the papers tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.planning.restored import find_announced
from digest.store.mailings import load_mailings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.comparing import StoredChange


def date_changes(conn: Connection, changes: Mapping[int, StoredChange]) -> dict[int, datetime]:
    """Return when changes were announced (UTC), by id; when in doubt, later."""
    days = load_mailings(conn, {change.paper_key for change in changes.values()})
    return {id_: find_announced(change, *days[change.paper_key]) for id_, change in changes.items()}
