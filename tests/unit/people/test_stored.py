from __future__ import annotations

import re

from digest.model.people import UNCONFIRMED
from digest.people.stored import STORED
from digest.store import schema
from digest.store.outbox import KEPT_DAYS

_OTHERS = (
    "papers versions changes marks gaps gate workers job_turns match_runs installation word_counts"
    " forgotten forgotten_days"
)
NOTHING_OF_PEOPLE = set(_OTHERS.split(" "))
"""Tables of papers, and of the machines that do the work."""

PERSONAL = re.compile(r"address|destination|subscri|quer(y|ies)|digest|url")
"""What columns are called that hold something of a person, or lead to it."""

TABLES = schema.papers.metadata.tables


def test_every_table_stands_on_the_page_or_holds_nothing_of_people() -> None:
    named = [table for kind in STORED for table in kind.tables]
    assert sorted([*named, *NOTHING_OF_PEOPLE]) == sorted(TABLES)
    columns = [column for name in NOTHING_OF_PEOPLE for column in TABLES[name].columns]
    assert not [str(column) for column in columns if PERSONAL.search(column.name)]


def test_the_figures_are_those_by_which_things_are_deleted() -> None:
    how_long = {table: kind.how_long for kind in STORED for table in kind.tables}
    assert how_long["signups"].startswith(f"{UNCONFIRMED.total_seconds() / 3600:.0f} hours")
    assert how_long["deliveries"].startswith(f"{KEPT_DAYS['deliveries']} days")
    assert how_long["destination_addresses"] == how_long["subscribers"]
    figures = {int(figure) for kind in STORED for figure in re.findall(r"\d+", kind.how_long)}
    assert figures == {48, 31, *KEPT_DAYS.values()}
