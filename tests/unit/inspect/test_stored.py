from __future__ import annotations

import re

from digest.inspect.stored import STORED
from digest.model.people import UNCONFIRMED
from digest.store import schema
from digest.store.database import KEPT_DAYS

NOTHING_OF_PEOPLE = {
    "papers",
    "versions",
    "changes",
    "marks",
    "gaps",
    "gate",
    "workers",
    "job_turns",
    "match_runs",
    "installation",
}
"""Tables of papers, and of the machines that do the work."""

PERSONAL = re.compile(r"address|destination|subscri|quer(y|ies)|digest|url")
"""What columns are called that hold something of a person, or lead to it."""


def test_every_table_stands_on_the_page_or_holds_nothing_of_people() -> None:
    named = [table for kind in STORED for table in kind.tables]
    assert len(named) == len(set(named))
    assert set(named) | NOTHING_OF_PEOPLE == set(schema.papers.metadata.tables)
    assert not set(named) & NOTHING_OF_PEOPLE


def test_no_column_of_a_table_without_people_is_called_as_if_it_held_some() -> None:
    tables = schema.papers.metadata.tables
    columns = [column for name in NOTHING_OF_PEOPLE for column in tables[name].columns]
    assert not [str(column) for column in columns if PERSONAL.search(column.name)]


def test_the_figures_are_those_by_which_things_are_deleted() -> None:
    how_long = {table: kind.how_long for kind in STORED for table in kind.tables}
    assert how_long["signups"].startswith(f"{UNCONFIRMED.total_seconds() / 3600:.0f} hours")
    assert how_long["deliveries"].startswith(f"{KEPT_DAYS['deliveries']} days")
    assert f" {KEPT_DAYS['rendered bytes']} days" in how_long["deliveries"]
    assert f" {KEPT_DAYS['raw pages']} days" in how_long["raw_pages"]
    figures = {int(figure) for kind in STORED for figure in re.findall(r"\d+", kind.how_long)}
    assert figures == {48, 31, *KEPT_DAYS.values()}
