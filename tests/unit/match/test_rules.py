"""What entered a saved query, what changed in it, what left it.

And what of that a subscription is told.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.match.rules import match_changes, select_for_subscription
from digest.model.announcements import Kind, StoredChange
from digest.model.subscriptions import ActiveRevision, QueryOutcome
from digest.query import matches, parse_query
from tests.unit.made_up import make_change, make_paper


def revision(text: str, id_: int = 1, active_from: int = 0) -> ActiveRevision:
    return ActiveRevision(id_, id_, f"q{id_}", text, parse_query(text).canonical, active_from)


GPU = make_paper(title="On GPUs")


def test_changes_from_before_a_query_was_active_are_not_matched_against_it() -> None:
    changes = [make_change(4, GPU), make_change(5, make_paper("2611.15013"))]
    assert match_changes(changes, [revision("cat:cs.PF", active_from=4)])[1] == QueryOutcome(
        new=(5,)
    )


def test_equal_queries_have_equal_outcomes_and_queries_without_any_are_left_out() -> None:
    revisions = [
        revision("ti:GPUs AND cat:cs.PF", 1),
        revision("cat:cs.PF AND ti:GPUs", 2),
        revision("ti:else", 3),
    ]
    outcomes = match_changes([make_change(7, GPU)], revisions)
    assert outcomes == {1: QueryOutcome(new=(7,)), 2: QueryOutcome(new=(7,))}


def select(kinds: tuple[Kind, ...], kind: Kind, result: QueryOutcome) -> tuple[int, ...]:
    return select_for_subscription(kinds, [result], {7: kind})


def test_a_subscription_is_told_of_the_kinds_it_asked_for() -> None:
    default = (Kind.NEW, Kind.CROSS_LIST)
    assert select(default, Kind.NEW, QueryOutcome(new=(7,))) == (7,)
    assert select(default, Kind.REPLACEMENT, QueryOutcome(changed=(7,))) == ()
    assert select((*default, Kind.REPLACEMENT), Kind.REPLACEMENT, QueryOutcome(changed=(7,))) == (
        7,
    )


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
        select(
            tuple(kind for kind in everything if kind is not Kind.KNOWN),
            Kind.KNOWN,
            QueryOutcome(new=(7,)),
        )
        == ()
    )


def make_many_changes() -> list[StoredChange]:
    texts = ("On GPUs", "On CPUs", "Tail latency of GPUs", "Zero")
    changes = []
    for number in range(60):
        before = (
            make_paper(f"2611.{number + 1:05}", title=texts[number % 4]) if number % 3 else None
        )
        now = make_paper(
            f"2611.{number + 1:05}", title=texts[number // 4 % 4], version=1 + bool(before)
        )
        changes.append(
            make_change(number + 1, now, Kind.REPLACEMENT if before else Kind.NEW, before)
        )
    return changes


CLAUSES = (
    "ti:GPUs",
    "ti:CPUs",
    "ti:latency",
    "cat:cs.PF",
    "au:example",
    'ti:"tail latency"',
    "id:2611.00007",
)
TREES = st.recursive(
    st.sampled_from(CLAUSES),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(" AND ".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda texts: f"({' OR '.join(texts)})"),
        inner.map("NOT ({})".format),
    ),
    max_leaves=5,
)


@given(queries=st.lists(st.tuples(TREES, st.integers(0, 70)), min_size=1, max_size=12))
def test_an_outcome_tells_what_a_query_means_now_and_what_it_meant_before(
    queries: list[tuple[str, int]],
) -> None:
    changes = make_many_changes()
    revisions = [
        revision(text, id_, active_from) for id_, (text, active_from) in enumerate(queries, start=1)
    ]
    outcomes = match_changes(changes, revisions)
    for one in revisions:
        query = parse_query(one.text)
        outcome = outcomes.get(one.id, QueryOutcome())
        for change in changes:
            before = change.previous is not None and matches(query, change.previous)
            met = (
                (matches(query, change.paper), before)
                if change.id > one.active_from_change
                else (False, False)
            )
            told = [change.id in ids for ids in (outcome.new, outcome.changed, outcome.gone)]
            assert told == [met == (True, False), met == (True, True), met == (False, True)]


def test_a_text_that_cannot_be_read_means_no_paper_and_stops_no_other() -> None:
    broken = ActiveRevision(2, 2, "q2", "ti:(GPUs", "broken", 0)
    assert match_changes([make_change(7, GPU)], [revision("ti:GPUs"), broken]) == {
        1: QueryOutcome(new=(7,))
    }
