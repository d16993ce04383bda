"""Whatever a process was at when it was killed, every reader gets the day's digest, as the table says.

Every death is a real `kill -9` of a process of its own, with a real mail server, Slack over HTTP, arXiv over
HTTP, and a real database. By night each row is lived on both databases; always, a few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.acceptance.dying import ENDED, KILLED
from tests.acceptance.fail_points import PLANNED, TABLE, Row, live_on
from tests.acceptance.mortals import MEDIA, NEWS, OLD, Mortal
from tests.conftest import IS_NIGHTLY

DATABASES = ("sqlite", "postgresql")
ALWAYS = {("C4", "sqlite"), ("C11, mail", "sqlite"), ("C11, Slack", "postgresql")}

CELLS = [
    pytest.param(
        database,
        row,
        id=f"{row.name} on {database}",
        marks=pytest.mark.skipif(
            not IS_NIGHTLY and (row.name, database) not in ALWAYS, reason="a few deaths are died every day"
        ),
    )
    for row in TABLE
    for database in DATABASES
]


@pytest.mark.parametrize(("database", "row"), CELLS)
def test_every_reader_gets_the_digest_as_the_table_says(
    database: str, row: Row, live: Callable[[str], AbstractContextManager[Mortal]]
) -> None:
    with live(database) as here:
        here.run(row.point, expect=KILLED if "death" in row.point.happens else ENDED)
        assert here.stored == row.stored, "at death"
        expected = {medium: row.path(medium, is_sqlite=here.is_sqlite) for medium in MEDIA}
        assert live_on(here) == expected, f"between {row.between}"
        assert here.stored == PLANNED, "in the end"
        assert here.find_told() == {f"2603.{number:05d}" for number in range(OLD + 1, OLD + NEWS + 1)}


def test_the_table_names_every_point_of_one_death_for_every_medium_it_lies_on() -> None:
    names = {row.name for row in TABLE}
    assert {name.partition(",")[0] for name in names} == {f"C{number}" for number in range(1, 14)}
    for number in (9, 10, 11, 13):
        assert {f"C{number}, mail", f"C{number}, Slack", f"C{number}, feed"} <= names
