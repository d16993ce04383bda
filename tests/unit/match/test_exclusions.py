"""What a subscription never hears of.

Papers by id, and what a query brings, as if each query ended in ANDNOT.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.match.rules import (
    Exclusion,
    exclude_changes,
    match_changes,
    read_exclusion,
    select_for_subscription,
)
from digest.model.announcements import Kind, StoredChange
from digest.model.cadences import Cadence
from digest.model.papers import ArxivId
from digest.model.subscriptions import ActiveRevision, QueryOutcome, Subscription
from digest.query import parse_query
from tests.unit.made_up import make_change, make_paper

MINE = make_paper(authors=("Keiko Lindquell",), categories=("cs.PF",))
NAMESAKES = make_paper(authors=("K. Lindquell",), categories=("cs.PF", "math.CO"))
NOT_THIS_PERSON = 'author:"Keiko Lindquell" AND cat:math.CO'


def subscribe(**fields: Any) -> Subscription:  # noqa: ANN401 - any field of Subscription
    return Subscription("team", ("perf",), (), Cadence.parse("on announcement"), **fields)


def outcome(text: str, *changes: StoredChange) -> QueryOutcome:
    query = parse_query(text)
    revision = ActiveRevision(1, 1, "perf", text, query.canonical, 0)
    return match_changes(changes, [revision]).get(1, QueryOutcome())


def test_a_person_of_the_same_name_can_be_excluded() -> None:
    exclusion = read_exclusion(subscribe(exclude=(NOT_THIS_PERSON,)))
    assert exclusion.find_cause(NAMESAKES) == f"exclude = {NOT_THIS_PERSON}"
    assert exclusion.find_cause(MINE) == ""


@pytest.mark.parametrize("version", [1, 2])
def test_a_paper_is_excluded_in_whichever_version(version: int) -> None:
    first = ArxivId.parse("2611.15012v1")
    exclusion = read_exclusion(subscribe(exclude_papers=(first,)))
    paper = make_paper(version=version)
    assert exclusion.find_cause(paper) == "exclude_papers names 2611.15012"


def test_without_exclusions_nothing_is_compared() -> None:
    assert not read_exclusion(subscribe())
    result = QueryOutcome(new=(7,))
    assert exclude_changes(result, Exclusion(), {}) is result


def test_a_query_that_cannot_be_read_excludes_nothing_and_is_named() -> None:
    exclusion = read_exclusion(subscribe(exclude=("author:Lindquell", "cat:math.CO")))
    assert [query.text for query in exclusion.queries] == ["cat:math.CO"]
    assert exclusion.find_cause(MINE) == ""
    assert exclusion.find_cause(NAMESAKES) == "exclude = cat:math.CO"


def exclude_category(*changes: StoredChange, text: str = "cat:cs.PF") -> QueryOutcome:
    """Return what a query brings a subscription that excludes math.CO."""
    exclusion = read_exclusion(subscribe(exclude=("cat:math.CO",)))
    by_id = {change.id: change for change in changes}
    return exclude_changes(outcome(text, *changes), exclusion, by_id)


def test_a_version_that_stops_being_excluded_is_new_to_the_subscription() -> None:
    change = make_change(7, MINE, Kind.REPLACEMENT, NAMESAKES)
    assert exclude_category(change) == QueryOutcome(new=(7,))


def test_a_withdrawal_is_reported_where_the_paper_was_not_excluded_before() -> None:
    withdrawn = make_change(7, NAMESAKES, Kind.WITHDRAWAL, MINE)
    found = exclude_category(withdrawn)
    selected = select_for_subscription((Kind.WITHDRAWAL,), [found], {7: Kind.WITHDRAWAL})
    assert selected == (7,)
    elsewhere = make_paper(categories=("cs.DC",))
    hidden = make_change(7, elsewhere, Kind.WITHDRAWAL, NAMESAKES)
    assert exclude_category(hidden) == QueryOutcome()
    exclusion = read_exclusion(subscribe(exclude=("cat:math.CO",)))
    assert exclusion.covers(hidden)


CATEGORIES = st.sampled_from(
    [("cs.PF",), ("cs.DC",), ("math.CO",), ("cs.PF", "math.CO"), ("cs.DC", "math.CO")]
)
CHANGES = st.lists(st.tuples(CATEGORIES, st.none() | CATEGORIES), max_size=5)


@given(CHANGES, st.sampled_from(["cat:cs.PF", "cat:cs.PF OR cat:cs.DC"]))
def test_to_exclude_a_query_is_to_end_each_saved_query_in_andnot(
    written: list[tuple[tuple[str, ...], tuple[str, ...] | None]], text: str
) -> None:
    changes = []
    for number, (now, before) in enumerate(written, 1):
        id_ = f"2611.{number:05d}"
        paper = make_paper(id_, version=2, categories=now)
        previous = make_paper(id_, categories=before) if before else None
        changes.append(make_change(number, paper, Kind.REPLACEMENT, previous))
    narrowed = exclude_category(*changes, text=text)
    assert narrowed == outcome(f"({text}) ANDNOT cat:math.CO", *changes)
