"""The order of a digest's papers: one order, whatever came first, and every paper in it once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry
from digest.model.papers import ArxivId, Field, Reason, Span
from digest.model.subscriptions import Grouping
from digest.plan.digests import KIND_ORDER, order_entries, rank_entry
from tests.conftest import IS_NIGHTLY
from tests.unit.made_up import FOUND, make_paper

QUERIES = ("perf", "gpu", "follow")
CLAUSES = ("cat:cs.PF", "ti:GPUs", 'ti:"tail latency"', "au:lindquell", 'author:"keiko lindquell"', "abs:GPU")
FIELDS = {"cat": Field.CATEGORIES, "ti": Field.TITLE, "au": Field.AUTHORS, "author": Field.AUTHORS}


def explain(clause: str, query: str = "perf") -> Reason:
    return Reason(clause, (Span(FIELDS.get(clause.partition(":")[0], Field.ABSTRACT), 0, 4),), query)


def make_entry(
    id_: str | ArxivId,
    *clauses: str,
    kind: Kind = Kind.NEW,
    queries: tuple[str, ...] = ("perf",),
) -> DigestEntry:
    paper = make_paper(str(id_))
    reasons = tuple(explain(clause) for clause in clauses)
    return DigestEntry(kind, paper, "", queries, reasons, FOUND.date())


def order(*entries: DigestEntry, group_by: Grouping = Grouping.KIND) -> list[str]:
    return [str(entry.paper.id) for entry in order_entries(entries, group_by, QUERIES)]


IDS = st.one_of(
    st.integers(1, 9).map(lambda number: f"2611.{number:05d}"),
    st.tuples(st.sampled_from(["math", "hep-th"]), st.integers(1, 2)).map(lambda one: f"{one[0]}/030900{one[1]}"),
)
ENTRIES = st.lists(
    st.builds(
        lambda id_, clauses, kind, queries: make_entry(id_, *clauses, kind=kind, queries=queries),
        IDS,
        st.lists(st.sampled_from(CLAUSES), max_size=4),
        st.sampled_from(Kind),
        st.lists(st.sampled_from(QUERIES), unique=True, max_size=3).map(tuple),
    ),
    max_size=12,
    unique_by=lambda entry: entry.paper.id,
)


@settings(max_examples=200 if IS_NIGHTLY else 25)
@given(ENTRIES, st.sampled_from(Grouping), st.randoms(use_true_random=False))
def test_whatever_came_first_there_is_one_order_with_every_paper_in_it_once(
    entries: list[DigestEntry], group_by: Grouping, chance: object
) -> None:
    ordered = order_entries(entries, group_by, QUERIES)
    mixed = list(entries)
    chance.shuffle(mixed)  # type: ignore[attr-defined]  # random.Random
    assert order_entries(mixed, group_by, QUERIES) == ordered
    assert sorted(str(entry.paper.id) for entry in ordered) == sorted(str(entry.paper.id) for entry in entries)
    assert len({rank_entry(entry) for entry in entries}) == len(entries)


@settings(max_examples=200 if IS_NIGHTLY else 25)
@given(ENTRIES, st.sampled_from(Grouping))
def test_groups_hang_together(entries: list[DigestEntry], group_by: Grouping) -> None:
    places = [
        KIND_ORDER.index(entry.kind)
        if group_by is Grouping.KIND
        else ([*QUERIES, ""].index(entry.queries[0]) if entry.queries else len(QUERIES))
        for entry in order_entries(entries, group_by, QUERIES)
    ]
    assert places == sorted(places)


def test_inside_a_group_whole_names_come_before_parts_phrases_before_words_then_clauses_and_newest_ids() -> None:
    assert order(
        make_entry("2611.00007", "cat:cs.PF"),
        make_entry("2611.00006", "cat:cs.PF"),
        make_entry("2611.00005", "cat:cs.PF", "abs:GPU"),
        make_entry("2611.00004", "ti:GPUs"),
        make_entry("2611.00003", 'ti:"tail latency"'),
        make_entry("2611.00008", 'ti:="tail latency"'),
        make_entry("2611.00002", "au:lindquell"),
        make_entry("2611.00001", 'author:"keiko lindquell"'),
    ) == [f"2611.0000{number}" for number in (1, 2, 8, 3, 4, 5, 7, 6)]


def test_by_query_a_paper_stands_under_the_first_it_matches_in_the_subscriptions_order_whatever_its_kind() -> None:
    assert order(
        make_entry("2611.00001", queries=("follow",)),
        make_entry("2611.00002", queries=("gpu", "follow"), kind=Kind.WITHDRAWAL),
        make_entry("2611.00003", queries=("gpu",)),
        make_entry("2611.00004", queries=("perf", "gpu", "follow"), kind=Kind.REPLACEMENT),
        make_entry("2611.00005", queries=()),
        group_by=Grouping.QUERY,
    ) == [f"2611.0000{number}" for number in (4, 3, 2, 1, 5)]
