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
    canonical = parse_query(text).canonical
    return ActiveRevision(id_, id_, f"q{id_}", text, canonical, active_from)


GPU = make_paper(title="On GPUs")


def test_changes_from_before_a_query_was_active_are_not_matched_against_it() -> None:
    changes = [make_change(4, GPU), make_change(5, make_paper("2611.15013"))]
    outcomes = match_changes(changes, [revision("cat:cs.PF", active_from=4)])
    assert outcomes[1] == QueryOutcome(new=(5,))


def test_equal_queries_have_equal_outcomes_and_queries_without_any_are_left_out() -> None:
    revisions = [
        revision("ti:GPUs AND cat:cs.PF", 1),
        revision("cat:cs.PF AND ti:GPUs", 2),
        revision("ti:else", 3),
    ]
    outcomes = match_changes([make_change(7, GPU)], revisions)
    assert outcomes == {1: QueryOutcome(new=(7,)), 2: QueryOutcome(new=(7,))}


ENTERED = QueryOutcome(new=(7,))


STAYED = QueryOutcome(changed=(7,))


LEFT = QueryOutcome(gone=(7,))


def is_selected(kinds: tuple[Kind, ...], kind: Kind, result: QueryOutcome) -> bool:
    """Say whether a subscription to some kinds gets a change."""
    selected = select_for_subscription(kinds, [result], {7: kind})
    assert selected in ((), (7,))
    return bool(selected)


def test_a_subscription_gets_the_kinds_it_asked_for() -> None:
    default = (Kind.NEW, Kind.CROSS_LIST)
    assert is_selected(default, Kind.NEW, ENTERED)
    assert not is_selected(default, Kind.REPLACEMENT, STAYED)
    assert is_selected((*default, Kind.REPLACEMENT), Kind.REPLACEMENT, STAYED)


def test_a_cross_list_is_reported_only_where_it_brings_the_paper_into_a_query() -> None:
    assert is_selected((Kind.CROSS_LIST,), Kind.CROSS_LIST, ENTERED)
    assert not is_selected((Kind.CROSS_LIST,), Kind.CROSS_LIST, STAYED)


def test_an_edit_that_brings_a_paper_into_a_query_is_reported_like_a_cross_list() -> None:
    assert is_selected((Kind.CROSS_LIST,), Kind.METADATA, ENTERED)
    assert not is_selected((Kind.NEW,), Kind.METADATA, ENTERED)


def test_a_withdrawal_is_reported_even_where_its_last_words_no_longer_match() -> None:
    assert is_selected((Kind.WITHDRAWAL,), Kind.WITHDRAWAL, LEFT)


def test_what_was_there_before_digest_looked_is_never_news() -> None:
    kinds = tuple(kind for kind in Kind if kind is not Kind.KNOWN)
    assert not is_selected(kinds, Kind.KNOWN, ENTERED)


def make_many_changes() -> list[StoredChange]:
    texts = ("On GPUs", "On CPUs", "Tail latency of GPUs", "Zero")
    changes = []
    for number in range(1, 61):
        id_ = f"2611.{number:05}"
        place = number - 1
        title_now = texts[place // 4 % 4]
        if place % 3 == 0:
            paper = make_paper(id_, title=title_now)
            change = make_change(number, paper)
        else:
            before = make_paper(id_, title=texts[place % 4])
            paper = make_paper(id_, title=title_now, version=2)
            change = make_change(number, paper, Kind.REPLACEMENT, before)
        changes.append(change)
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
    revisions = []
    for id_, (text, active_from) in enumerate(queries, start=1):
        revisions.append(revision(text, id_, active_from))
    outcomes = match_changes(changes, revisions)
    for one in revisions:
        query = parse_query(one.text)
        outcome = outcomes.get(one.id, QueryOutcome())
        for change in changes:
            is_active = change.id > one.active_from_change
            is_met = is_active and matches(query, change.paper)
            was_met = False
            if is_active and change.previous is not None:
                was_met = matches(query, change.previous)
            assert (change.id in outcome.new) is (is_met and not was_met)
            assert (change.id in outcome.changed) is (is_met and was_met)
            assert (change.id in outcome.gone) is (was_met and not is_met)


def test_a_text_that_cannot_be_read_means_no_paper_and_stops_no_other() -> None:
    broken = ActiveRevision(2, 2, "q2", "ti:(GPUs", "broken", 0)
    outcomes = match_changes([make_change(7, GPU)], [revision("ti:GPUs"), broken])
    assert outcomes == {1: ENTERED}
