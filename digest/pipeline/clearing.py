"""When last nothing was left that was due: what an older copy of the database may take for sent.

What the operator of a restored database names as sent is dropped for good. When the last message was begun tells
too little: another one may have been put off just then, or a digest have waited for its mailing, for the end of
quiet hours or for that of a pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.pipeline.covering import load_whole_coverage
from digest.pipeline.dating import date_changes
from digest.planning.restored import has_come_due
from digest.store import idling, provenance, stamps
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import turns as turn_store

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
        is_clear = (
            _is_all_planned(conn, site.config.arxiv.source, now)
            and not idling.has_held(conn)
            and not _is_any_put_off(conn, now)  # last: it reads all that waits
        )
    if is_clear:
        stamps.note_clear(site.store, stamp.generation, now)
    return False


def _is_all_planned(conn: Connection, source: str, now: datetime) -> bool:
    """Whether all that arXiv has announced was seen, matched and, where its turn has come, made a digest of."""
    return (
        not provenance.is_in_quarantine(conn)
        and not idling.has_turns(conn, now)
        and match_store.matched_mark(conn) == match_store.stored_mark(conn)
        and load_whole_coverage(conn, source, now).is_complete
    )


def _is_any_put_off(conn: Connection, now: datetime) -> bool:
    """Whether anything waits that a copy would take for told by now, since it goes by when that was announced.

    Its turn is put off to the end of quiet hours, or was taken before it came; or a pause keeps it, whether by
    command or by the file: a copy from before knows nothing of that.
    """
    unplanned = turn_store.load_unplanned(conn)
    announced = date_changes(conn, paper_store.load_changes(conn, set().union(*unplanned.values())))
    return any(
        has_come_due(rhythm, min(announced[id_] for id_ in ids), now, is_first_look=is_first_look)
        for (rhythm, is_first_look), ids in unplanned.items()
    )
