"""The database as the release before left it, kept as SQL.

`python -m tests.schema_before` writes it anew.

Do that right before the schema becomes another one, and set `REVISION`. It stands for all
installations there are. The last pass of its process was killed, so there is a delivery in each
state.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import psycopg

from digest.deliver.step import DeliverReport, MessageMaker, deliver_one
from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.model.destinations import Destination
from digest.model.messages import DeliveryState
from digest.people.unsubscription import PAGE, unsubscribe_from
from digest.serve.steps import PassReport, Steps, run_pass
from digest.store import backups, open_store, outbox
from digest.store.engine import head_revision
from tests.integration.web.world import World, live_in, make_paper
from tests.postgres_servers import create_database, quick_server, run_tool

KEPT = Path(__file__).parent / "contract" / "store"
REVISION = "0003"

STATES = tuple(DeliveryState)
TO = (*(f"mailto:{state}@example.org" for state in STATES), "slack:#papers", "feed")
"""Whose delivery was in which state; that of Slack was `sending`, too."""

NEWS = make_paper(
    15_003, "A paper of the day of the death", datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
)
DIED = datetime(2026, 12, 1, 3, 47, tzinfo=UTC)
"""When the process was killed: the first papers had been told eleven days before."""


def load_sqlite(path: Path) -> None:
    """Make the kept database in a file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((KEPT / f"schema_{REVISION}.sql").read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode=WAL")


def load_postgresql(url: str) -> None:
    """Make the same in an empty database."""
    with psycopg.connect(url) as connection:
        connection.execute((KEPT / f"schema_{REVISION}.postgresql.sql").read_bytes())


def _live(world: World) -> None:
    """Live until the process dies."""
    short = world.folder / "short" / "email" / "digest.html"
    short.parent.mkdir(parents=True)
    short.write_text("<p>The papers of the day</p>\n", encoding="utf-8")
    world.environ["DIGEST_TEMPLATES"] = "short"
    world.write_config(to=TO)
    site = world.open()
    run_pass(site)
    world.arxiv.add(NEWS)
    world.clock.sleep((DIED - world.clock.now()).total_seconds())
    steps = Steps(site, PassReport(), patience=timedelta(0))
    for step in (steps.poll, steps.match, steps.plan):
        step()
    at = world.clock.now()
    with site.store.begin() as conn:
        claims = outbox.claim(conn, owner=site.owner, limit=99, now=at)
        unsubscribe_from(
            conn, Destination.parse("mailto:suppressed@example.org"), "perf-team", how=PAGE, at=at
        )
    world.mail.script.reply("RCPT", "451 4.3.0 try later", match="ready@")
    world.mail.script.reply("RCPT", "554 5.7.1 sender rejected", match="held@")
    world.mail.script.reply("RCPT", "550 5.1.1 no such user", match="dead@")
    world.mail.script.drop("END", match="unknown@")
    dying = (DeliveryState.SENDING, "papers")
    maker = MessageMaker(site)
    for claim in claims:
        name = claim.destination.address.strip("#").partition("@")[0]
        report = DeliverReport()
        if name in dying:
            with (
                patch.object(SmtpTransport, "send", side_effect=KeyboardInterrupt),
                patch.object(SlackTransport, "send", side_effect=KeyboardInterrupt),
                suppress(KeyboardInterrupt),
            ):
                deliver_one(site, maker, report, claim, lambda: True)
        elif name != DeliveryState.CLAIMED:
            deliver_one(site, maker, report, claim, lambda: True)
    site.close()


def main() -> None:
    """Write both files."""
    with (
        tempfile.TemporaryDirectory() as name,
        live_in(Path(name)) as world,
        quick_server() as admin,
    ):
        _live(world)
        revision = head_revision()
        database = world.folder / "digest.db"
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(
                "UPDATE deliveries SET body = NULL WHERE state NOT IN ('sending', 'unknown')"
            )
            text = "\n".join(connection.iterdump())
        (KEPT / f"schema_{revision}.sql").write_text(f"{text}\n", encoding="utf-8")
        url = create_database(admin, "kept")
        with closing(open_store(f"sqlite:///{database}")) as store:
            backups.copy_store(store, url, lambda *_: None)
        dump = KEPT / f"schema_{revision}.postgresql.sql"
        run_tool(
            "pg_dump", "--rows-per-insert=99", "--no-owner", "--no-comments", f"--file={dump}", url
        )
        lines = dump.read_text(encoding="utf-8").splitlines()
        left = [line for line in lines if line and not line.startswith(("--", "SET ", "\\"))]
        dump.write_text("\n".join([*left, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
