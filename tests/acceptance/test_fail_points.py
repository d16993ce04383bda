"""Whatever a process was at when it was killed, every reader gets the day's digest.

The table says how. Every death is a real `kill -9` of a process of its own, with a real mail
server, Slack over HTTP, arXiv over HTTP, and a real database. By night each row is lived on both
databases; always, a few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from digest.store import backups
from tests.conftest import IS_NIGHTLY
from tests.postgres_servers import own_server
from tests.simulator.deaths import ForkedProcesses, Point, find
from tests.simulator.fail_points import (
    MEDIA,
    MOMENTS,
    NEWS,
    OLD,
    PLANNED,
    POINTS,
    TABLE,
    Row,
    find_told,
    live_on,
    look_into,
    perf_team,
)
from tests.simulator.life import Life, ask
from tests.simulator.oracle import Watch

Live = Callable[[str], AbstractContextManager[Life]]
DATABASES = ("sqlite", "postgresql")
ALL_NEWS = {f"2603.{number:05d}" for number in range(OLD + 1, OLD + NEWS + 1)}
ALWAYS = {("C3", "sqlite"), ("C11, mail", "sqlite"), ("C11, Slack", "postgresql")}
BY_NIGHT = pytest.mark.skipif(
    not IS_NIGHTLY, reason="a few deaths are died every day, all of them by night"
)
ON_BOTH = pytest.mark.parametrize("database", DATABASES)

CELLS = [
    pytest.param(
        database,
        row,
        id=f"{row.name} on {database}",
        marks=() if (row.name, database) in ALWAYS else BY_NIGHT,
    )
    for row in TABLE
    for database in DATABASES
]


@pytest.mark.parametrize(("database", "row"), CELLS)
def test_every_reader_gets_the_digest_as_the_table_says(
    database: str, row: Row, live: Live
) -> None:
    with live(database) as life:
        life.make_pass(row.point)
        assert life.deaths == ("death" in row.point.happens)
        assert look_into(life) == row.stored, "at death"
        expected = {medium: row.path(medium, is_sqlite=life.is_sqlite) for medium in MEDIA}
        assert live_on(life) == expected, f"between {row.between}"
        assert look_into(life) == PLANNED, "in the end"
        assert find_told(life) == ALL_NEWS
        Watch(life).look_at_the_end()


def test_the_table_names_every_point_of_one_death_for_every_medium_it_lies_on() -> None:
    names = {row.name for row in TABLE}
    assert {name.partition(",")[0] for name in names} == {f"C{number}" for number in range(1, 14)}
    for number in (9, 10, 11, 13):
        assert {f"C{number}, mail", f"C{number}, Slack", f"C{number}, feed"} <= names


@pytest.mark.parametrize("path", sorted({point.at for point in POINTS}))
def test_a_point_of_death_names_a_function_that_exists(path: str) -> None:
    assert callable(find(path))


# Slack refuses messages for their size: each comes once with fewer papers, whichever moment the
# process dies at.

TOO_LITTLE = 400
"""Bytes that two of the day's papers fit into.

Neither all four do, nor the message that lists their titles.
"""

SHORTENED = {
    "Slack has refused it → the mark": Point("digest.store.attempts:mark_unsent"),
    "the mark is written → committed": Point("digest.store.attempts:mark_unsent", after=True),
    "the mark is committed → the shorter message": Point(
        "digest.deliver.step:_mark_failure", after=True
    ),
    "the shorter message is taken → the mark": Point("digest.deliver.step:_mark_sent"),
    "the shorter message is marked → the next part": Point(
        "digest.deliver.step:_mark_sent", after=True
    ),
}


@BY_NIGHT
@ON_BOTH
@pytest.mark.parametrize("name", SHORTENED)
def test_every_paper_is_shown_or_counted_once_whenever_the_process_dies(
    database: str, name: str, live: Live
) -> None:
    with live(database) as life:
        life.slack.workspace.most_text = TOO_LITTLE
        life.make_pass(SHORTENED[name])
        assert life.deaths == 1
        live_on(life, MOMENTS[:3])
        parent, part = life.slack.messages
        assert part.thread_ts == parent.ts
        text = " ".join(part.block_texts)
        shown = list(dict.fromkeys(re.findall(r"2603\.\d{5}", text)))
        assert 0 < len(shown) < NEWS
        assert f"{NEWS - len(shown)} more" in text
        with life.site.store.read() as conn:
            assert {row.state for row in ask(conn, "SELECT DISTINCT state FROM deliveries")} == {
                "sent"
            }
            assert backups.load_violations(conn) == []


# C15: PostgreSQL's power goes at the worst moments: what was committed is there after it, as after
# any death.

WORST_NAMES = ("C3", "C7", "C9, mail", "C11, mail", "C11, Slack", "C11, feed", "C13, mail")


@BY_NIGHT
@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.name in WORST_NAMES], ids=lambda row: row.name
)
def test_a_server_that_lost_its_power_has_all_it_committed(
    row: Row, quick_folder: Path, forked_processes: ForkedProcesses
) -> None:
    with own_server() as server:
        server.do("CREATE DATABASE mortal")
        with perf_team(quick_folder, forked_processes, server.url("mortal"), server.url()) as life:
            life.make_pass(row.point)
            life.close()
            server.crash()
            server.start()
            assert life.deaths == 1
            assert look_into(life) == row.stored
            assert live_on(life) == {medium: row.path(medium, is_sqlite=False) for medium in MEDIA}
