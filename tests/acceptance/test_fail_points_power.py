"""C15: the power goes at the worst moments: what was committed is there afterwards, so it is as after any death.

PostgreSQL is ended at once and started again. Of SQLite's file all that was committed has reached the disk
(`synchronous` is FULL, and every connection makes sure of that); what may be torn is what was being
written: so garbage is put behind the last commit, and the file that is shared between processes is gone.
Cuts of the disk's own cache are not made here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.acceptance.dying import KILLED, Nursery
from tests.acceptance.fail_points import TABLE, Row, live_on
from tests.acceptance.mortals import MEDIA, Mortal, mortal
from tests.conftest import IS_NIGHTLY
from tests.postgres_servers import PostgresServer

pytestmark = pytest.mark.skipif(not IS_NIGHTLY, reason="the power goes by night")

_WORST = ("C3", "C7", "C9, mail", "C11, mail", "C11, Slack", "C11, feed", "C13, mail")
ROWS = [pytest.param(row, id=row.name) for row in TABLE if row.name in _WORST]
Cut = Callable[[], None]


@contextmanager
def beside_postgresql(folder: Path, nursery: Nursery) -> Iterator[tuple[Mortal, Cut]]:
    with tempfile.TemporaryDirectory(prefix="digest-pg-", ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)
        server = PostgresServer(Path(place) / "server")
        server.create()
        try:
            server.do("CREATE DATABASE mortal")

            def cut() -> None:
                server.crash()
                server.start()

            with mortal(folder, server.url("mortal"), server.url(), nursery) as here:
                yield here, cut
        finally:
            server.crash()


@contextmanager
def beside_sqlite(
    live: Callable[[str], AbstractContextManager[Mortal]], folder: Path
) -> Iterator[tuple[Mortal, Cut]]:
    def cut() -> None:
        with (folder / "digest.db-wal").open("ab") as log:
            log.write(os.urandom(2 * (4096 + 24)))
        (folder / "digest.db-shm").unlink()

    with live("sqlite") as here:
        yield here, cut


@pytest.mark.parametrize("row", ROWS)
def test_a_server_that_lost_its_power_has_all_it_committed(row: Row, quick_folder: Path, nursery: Nursery) -> None:
    with beside_postgresql(quick_folder, nursery) as (here, cut):
        live_through(here, row, cut)


@pytest.mark.parametrize("row", ROWS)
def test_a_file_whose_end_was_torn_has_all_it_committed(
    row: Row, live: Callable[[str], AbstractContextManager[Mortal]], quick_folder: Path
) -> None:
    with beside_sqlite(live, quick_folder) as (here, cut):
        live_through(here, row, cut)


def live_through(here: Mortal, row: Row, cut: Cut) -> None:
    here.run(row.point, expect=KILLED)
    here.engine.dispose()
    cut()
    assert here.stored == row.stored
    assert live_on(here) == {medium: row.path(medium, is_sqlite=here.is_sqlite) for medium in MEDIA}
    if here.is_sqlite:
        assert here.ask("PRAGMA integrity_check") == [("ok",)]
