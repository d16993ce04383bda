"""What entered a saved query, what changed in it, what left it; and what of that a subscription is told."""

from __future__ import annotations

from digest.announcements import Kind
from digest.comparing import StoredChange
from digest.matching import ActiveRevision, QueryOutcome, match_changes, select_for_subscription
from digest.query import Query, parse_query
from tests.unit.made_up import make_change, make_paper


def revision(text: str, id_: int = 1, active_from: int = 0) -> tuple[ActiveRevision, Query]:
    query = parse_query(text)
    return ActiveRevision(id_, id_, f"q{id_}", text, query.canonical, active_from), query


def outcome(text: str, *changes: StoredChange) -> QueryOutcome:
    return match_changes(changes, [revision(text)]).get(1, QueryOutcome())


GPU = make_paper(title="On GPUs")
CPU = make_paper(title="On CPUs", version=2)


def test_a_paper_never_stored_before_enters() -> None:
    assert outcome("ti:GPUs", make_change(7, GPU)) == QueryOutcome(new=(7,))


def test_a_version_that_now_matches_enters() -> None:
    assert outcome("ti:CPUs", make_change(8, CPU, Kind.REPLACEMENT, GPU)) == QueryOutcome(new=(8,))


def test_a_version_that_still_matches_has_changed() -> None:
    assert outcome("cat:cs.PF", make_change(8, CPU, Kind.REPLACEMENT, GPU)) == QueryOutcome(changed=(8,))


def test_a_version_that_no_longer_matches_is_gone() -> None:
    assert outcome("ti:GPUs", make_change(8, CPU, Kind.REPLACEMENT, GPU)) == QueryOutcome(gone=(8,))


def test_changes_from_before_a_query_was_active_are_not_matched_against_it() -> None:
    changes = [make_change(4, GPU), make_change(5, make_paper("2611.15013"))]
    assert match_changes(changes, [revision("cat:cs.PF", active_from=4)])[1] == QueryOutcome(new=(5,))


def test_equal_queries_have_equal_outcomes_and_queries_without_any_are_left_out() -> None:
    pairs = [revision("ti:GPUs AND cat:cs.PF", 1), revision("cat:cs.PF AND ti:GPUs", 2), revision("ti:else", 3)]
    outcomes = match_changes([make_change(7, GPU)], pairs)
    assert outcomes == {1: QueryOutcome(new=(7,)), 2: QueryOutcome(new=(7,))}


def select(kinds: tuple[Kind, ...], kind: Kind, result: QueryOutcome) -> tuple[int, ...]:
    return select_for_subscription(kinds, [result], {7: kind})


def test_a_subscription_is_told_of_the_kinds_it_asked_for() -> None:
    default = (Kind.NEW, Kind.CROSS_LIST)
    assert select(default, Kind.NEW, QueryOutcome(new=(7,))) == (7,)
    assert select(default, Kind.REPLACEMENT, QueryOutcome(changed=(7,))) == ()
    assert select((*default, Kind.REPLACEMENT), Kind.REPLACEMENT, QueryOutcome(changed=(7,))) == (7,)


def test_a_cross_list_is_told_only_where_it_brings_the_paper_into_a_query() -> None:
    assert select((Kind.CROSS_LIST,), Kind.CROSS_LIST, QueryOutcome(new=(7,))) == (7,)
    assert select((Kind.CROSS_LIST,), Kind.CROSS_LIST, QueryOutcome(changed=(7,))) == ()


def test_an_edit_that_brings_a_paper_into_a_query_is_told_like_a_cross_list() -> None:
    assert select((Kind.CROSS_LIST,), Kind.METADATA, QueryOutcome(new=(7,))) == (7,)
    assert select((Kind.NEW,), Kind.METADATA, QueryOutcome(new=(7,))) == ()


def test_a_withdrawal_is_told_even_where_its_last_words_no_longer_match() -> None:
    assert select((Kind.WITHDRAWAL,), Kind.WITHDRAWAL, QueryOutcome(gone=(7,))) == (7,)


def test_what_was_there_before_digest_looked_is_never_news() -> None:
    everything = tuple(Kind)
    assert (
        select(tuple(kind for kind in everything if kind is not Kind.KNOWN), Kind.KNOWN, QueryOutcome(new=(7,)))
        == ()
    )
