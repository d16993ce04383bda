"""When last nothing was left that was due: what an older copy of the database may take for sent.

What the operator of a restored database names as sent is dropped for good. When the last message was begun tells
too little: another one may have been put off just then, or a digest have waited for its mailing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.pipeline.covering import load_whole_coverage
from digest.store import idling, provenance, stamps
from digest.store import matches as match_store

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.pipeline.site import Site


def note_clear(site: Site) -> bool:
    """Let the file beside the database say that nothing which is due by now is left, where that is so and news.

    It is news where something was sent since the file said so last. On PostgreSQL there is no such file.

    Returns:
        Whether something is on its way, so that it is to be asked again when that has ended.

    Raises:
        StoreError: the file can't be written.
    """
    now, stamp = site.clock.now(), stamps.load_stamp(site.store)
    if stamp is None or stamp.sent_at is None or (stamp.clear_at is not None and stamp.sent_at <= stamp.clear_at):
        return False
    with site.store.read() as conn:
        if idling.has_deliveries(conn):
            return True
        is_clear = _is_all_planned(conn, site.config.arxiv.source, now) and not idling.has_held(conn)
    if is_clear:
        stamps.note_clear(site.store, stamp.generation, now)
    return False


def _is_all_planned(conn: Connection, source: str, now: datetime) -> bool:
    """Whether all that arXiv has announced was seen, matched and, where its turn has come, made a digest of.

    What comes late, after its mailing was taken for complete, counts as announced with it all the same.
    """
    return (
        not provenance.is_in_quarantine(conn)
        and not idling.has_turns(conn, now)
        and match_store.matched_mark(conn) == match_store.stored_mark(conn)
        and load_whole_coverage(conn, source, now).is_complete
    )
