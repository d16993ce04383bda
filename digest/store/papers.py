"""Papers, the texts they had, and the changes between them. Nothing here is ever overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.comparing import Change, KnownPaper, StoredChange
    from digest.papers import ArxivId


def load_known(conn: Connection, ids: Iterable[ArxivId]) -> dict[ArxivId, KnownPaper]:
    """Return what is stored of some papers; those never stored are missing."""
    raise NotImplementedError


def load_paper(conn: Connection, id_: ArxivId) -> KnownPaper | None:
    """Return what is stored of one paper, None where it never was."""
    return load_known(conn, [id_]).get(id_)


def save_changes(
    conn: Connection, changes: Sequence[Change], *, run_id: int, at: datetime
) -> tuple[StoredChange, ...]:
    """Store findings: papers, the texts that are new, and numbered changes, in a constant number of statements.

    Call it in the transaction in which `load_known` told what the changes were compared with.

    Args:
        conn: a writing transaction.
        changes: at most one for each paper.
        run_id: the poll run that found them.
        at: when it did (UTC).

    Raises:
        StoreBusy: another process stored one of these papers in the meantime: roll back and look again.
    """
    raise NotImplementedError


def load_changes(conn: Connection, ids: Iterable[int]) -> dict[int, StoredChange]:
    """Return changes by id; unknown ids are missing."""
    raise NotImplementedError


def changes_after(conn: Connection, change_id: int, limit: int) -> list[StoredChange]:
    """Return the changes found after one, in order, at most `limit`."""
    raise NotImplementedError


def latest_changes(conn: Connection, *, batch: int = 500) -> Iterator[StoredChange]:
    """Yield the newest change of each paper, the paper announced last first; stop when you have enough."""
    raise NotImplementedError


def earlier_changes(conn: Connection, paper_keys: Iterable[int]) -> dict[int, tuple[StoredChange, ...]]:
    """Return every change of some papers by paper key, oldest first."""
    raise NotImplementedError
