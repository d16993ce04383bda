from __future__ import annotations

import re

from digest.model.people import REQUEST_LIFETIME
from digest.people.stored import STORED
from digest.store import schema
from digest.store.outbox import KEPT_DAYS

_OTHERS = (
    "papers versions changes marks gaps gate workers job_turns match_runs installation word_counts"
    " forgotten forgotten_days words"
)
NOTHING_OF_PEOPLE = set(_OTHERS.split(" "))
"""Tables of papers, and of the machines that do the work."""

PERSONAL = re.compile(r"address|destination|subscri|quer(y|ies)|digest|url")
"""What columns are called that hold something of a person, or lead to it."""

TABLES = schema.papers.metadata.tables


def test_every_table_stands_on_the_page_or_holds_nothing_of_people() -> None:
    named = [*NOTHING_OF_PEOPLE]
    for kind in STORED:
        named += kind.tables
    assert sorted(named) == sorted(TABLES)
    personal = []
    for name in NOTHING_OF_PEOPLE:
        personal += [column for column in TABLES[name].columns if PERSONAL.search(column.name)]
    assert not personal


def test_the_figures_are_those_by_which_things_are_deleted() -> None:
    how_long: dict[str, str] = {}
    figures: set[int] = set()
    for kind in STORED:
        how_long |= dict.fromkeys(kind.tables, kind.how_long)
        figures.update(map(int, re.findall(r"\d+", kind.how_long)))
    assert how_long["signups"].startswith(f"{REQUEST_LIFETIME.total_seconds() / 3600:.0f} hours")
    assert how_long["deliveries"].startswith(f"{KEPT_DAYS['deliveries']} days")
    assert how_long["destination_addresses"] == how_long["subscribers"]
    assert figures == {48, 31, *KEPT_DAYS.values()}
