"""An installation moves from one database to another, and works in one of them at any moment.

The new database is marked first, as one that is yet to be filled. The old one is marked as moved in the
transaction it is read in, and that is committed before the new one is: whoever dies in between leaves two
databases that work nowhere and say so, never two that both send, nor an empty one that begins anew.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from digest.errors import StoreError
from digest.store import migrating, provenance, stamps
from digest.store.copying import copy_rows, hold_still, refuse_filled
from digest.store.engine import open_store
from digest.store.worker import hold_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.store.copying import CopyReport
    from digest.store.engine import Store


def move_store(source: Store, url: str, tell: Callable[[str, int], None]) -> CopyReport:
    """Copy everything into an empty database, which works from then on; the source works no more.

    Both sides keep the installation's secret and its generation, so that links in messages sent long ago
    go on working.

    Args:
        source: where it works now.
        url: the new database; its tables are made.
        tell: is told a table's name and how many of its rows are through.

    Raises:
        AnotherWorker: a process works on one of the two.
        SchemaMismatch: a newer release wrote the source.
        StoreError: the target isn't empty or can't be written; then the source works as before.
    """
    with ExitStack() as stack:
        stack.enter_context(hold_worker(source))
        target = open_target(url)
        stack.callback(target.close)
        if target.path is not None and source.path is not None and target.path.samefile(source.path):
            raise StoreError(f"{source.url_masked} can't be copied onto itself", hint="Name another database.")
        stack.enter_context(hold_worker(target))
        return _move(source, target, tell)


def _name_place(store: Store) -> str:
    """Return where a database is, wherever that is asked, without the password."""
    return store.url_masked if store.path is None else f"sqlite:///{store.path.absolute()}"


def open_target(url: str) -> Store:
    """Open a database that is to be filled: its tables are made, also where filling it was broken off before.

    Raises:
        StoreError: it can't be used, or was moved elsewhere.
    """
    target = open_store(url, create=True, moved_too=True)
    try:
        with target.read() as conn:
            provenance.refuse_moved(conn, target.url_masked)
    except BaseException:
        target.close()
        raise
    return target


def _move(source: Store, target: Store, tell: Callable[[str, int], None]) -> CopyReport:
    with target.begin() as into:
        refuse_filled(into, target.url_masked)
        provenance.mark_filling(into, _name_place(source))
    is_marked = False
    try:
        with target.begin() as into:
            refuse_filled(into, target.url_masked)
            with source.begin() as out:
                provenance.refuse_moved(out, source.url_masked)
                migrating.refuse_other(out, source.url_masked)
                hold_still(out, source)
                report = copy_rows(out, into, tell)
                provenance.mark_moved(out, _name_place(target))
            is_marked = True
    except BaseException:
        if is_marked:
            with source.begin() as out:
                provenance.unmark_moved(out)
        with suppress(StoreError), target.begin() as into:  # where it is away it stays marked, and empty
            provenance.unmark_filling(into)
        raise
    stamp = stamps.load_stamp(source)
    if stamp is not None:
        stamps.write_stamp(target, stamp)
    stamps.begin_counting(target)
    return report
