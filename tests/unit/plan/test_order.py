"""The shape of a digest.

One order, whatever came first, every paper in it once, and headings that fit the day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.model.announcements import Kind
from digest.model.libraries import Near
from digest.model.messages import HIDDEN_LIBRARY, DigestEntry, Form, Group, NearLibrary, StoredText
from digest.model.papers import ArxivId, Field, Reason, Span
from digest.model.subscriptions import Grouping
from digest.plan.order import (
    MOST_WITH_ONE,
    MOST_WITH_TWO,
    READ_FIRST,
    Precedence,
    arrange,
    find_near,
    find_why_first,
    is_minor,
    rank_entries,
)
from digest.render.precedence import say_near, say_why_first
from tests.conftest import IS_NIGHTLY
from tests.unit.made_up import FOUND, make_paper

DAY = FOUND.date()
NONE = Precedence()
QUERIES = ("perf", "gpu", "follow")
CLAUSES = (
    "cat:cs.PF",
    "ti:GPUs",
    'ti:"tail latency"',
    "au:lindquell",
    'author:"keiko lindquell"',
    "abs:GPU",
)
FIELDS = {"cat": Field.CATEGORIES, "ti": Field.TITLE, "au": Field.AUTHORS, "author": Field.AUTHORS}


def say_first(entry: DigestEntry, precedence: Precedence) -> str:
    return say_why_first(entry, find_why_first(entry, precedence))


def say_reasons(ordered: Sequence[DigestEntry], group: Group) -> tuple[str, ...]:
    return tuple(map(say_why_first, ordered, group.reasons))


def explain(clause: str, query: str = "perf") -> Reason:
    return Reason(
        clause, (Span(FIELDS.get(clause.partition(":")[0], Field.ABSTRACT), 0, 4),), query
    )


def make_entry(
    id_: str | ArxivId,
    *clauses: str,
    kind: Kind = Kind.NEW,
    queries: tuple[str, ...] = ("perf",),
    announced: date = DAY,
    **fields: Any,  # noqa: ANN401 - any field of Paper
) -> DigestEntry:
    paper = make_paper(str(id_), **fields)
    reasons = tuple(explain(clause) for clause in clauses)
    return DigestEntry(kind, paper, "", queries, reasons, announced)


def order(
    *entries: DigestEntry, group_by: Grouping = Grouping.KIND, precedence: Precedence = NONE
) -> list[str]:
    return [
        str(entry.paper.id) for entry in arrange(entries, group_by, QUERIES, None, precedence)[0]
    ]


def prefer(
    first: Iterable[DigestEntry] = (),
    last: Iterable[DigestEntry] = (),
    near: Iterable[DigestEntry] = (),
) -> Precedence:
    """Put some entries first, some last, and be near to some, the first of them most."""
    nearness = {entry.paper.id: 900 - place for place, entry in enumerate(near)}
    return Precedence(
        {entry.paper.id: "ti:majorana" for entry in first}, {one.paper.id for one in last}, nearness
    )


def outline(
    entries: Iterable[DigestEntry], group_by: Grouping = Grouping.KIND, show: int | None = None
) -> list[str]:
    groups = arrange(entries, group_by, QUERIES, show)[1]
    return [f"{group.title} {group.count}: {group.form}" for group in groups]


def many(count: int, *clauses: str, first: int = 1, **fields: Any) -> list[DigestEntry]:  # noqa: ANN401 - as make_entry
    return [make_entry(f"2611.{first + number:05d}", *clauses, **fields) for number in range(count)]


IDS = st.one_of(
    st.integers(1, 99).map(lambda number: f"2611.{number:05d}"),
    st.tuples(st.sampled_from(["math", "hep-th"]), st.integers(1, 2)).map(
        lambda one: f"{one[0]}/030900{one[1]}"
    ),
)
ENTRIES = st.lists(
    st.builds(
        lambda id_, clauses, kind, queries, category: make_entry(
            id_, *clauses, kind=kind, queries=queries, categories=(category,)
        ),
        IDS,
        st.lists(st.sampled_from(CLAUSES), max_size=4),
        st.sampled_from(Kind),
        st.lists(st.sampled_from(QUERIES), unique=True, max_size=3).map(tuple),
        st.sampled_from(["cs.PF", "cs.DC", "math.CO", "hep-th"]),
    ),
    max_size=45,
    unique_by=lambda entry: entry.paper.id,
)


@settings(max_examples=200 if IS_NIGHTLY else 25)
@given(
    ENTRIES,
    st.sampled_from(Grouping),
    st.one_of(st.none(), st.integers(1, 50)),
    st.randoms(use_true_random=False),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
)
def test_whatever_came_first_there_is_one_order_with_every_paper_in_it_once_under_a_heading(
    entries: list[DigestEntry],
    group_by: Grouping,
    show: int | None,
    chance: Random,
    steps: tuple[int, int, int],
) -> None:
    entries = [
        replace(one, near=NearLibrary("A")) if place % 7 == 0 else one
        for place, one in enumerate(entries)
    ]
    precedence = prefer(*(entries[:: step + place] for place, step in enumerate(steps)))
    ordered, groups = arrange(entries, group_by, QUERIES, show, precedence)
    mixed = list(entries)
    chance.shuffle(mixed)
    assert arrange(mixed, group_by, QUERIES, show, precedence) == (ordered, groups)
    ranked = [entry for entry in rank_entries(entries, precedence) if not entry.shows_change]
    count = min(show or len(ranked), len(ranked))
    assert {entry.paper.id for entry in ordered[:count]} == {
        entry.paper.id for entry in ranked[:count]
    }
    is_last = [entry.paper.id in precedence.last for entry in ordered[:count]]
    assert is_last == sorted(is_last)
    assert not any(entry.shows_change for entry in ordered[: len(ranked)])
    assert sorted(str(entry.paper.id) for entry in ordered) == sorted(
        str(entry.paper.id) for entry in entries
    )
    assert sum(group.count for group in groups) == len(entries)
    assert all(
        group.count and (not group.reasons or len(group.reasons) == group.count) for group in groups
    )


def test_a_digest_says_less_of_each_paper_the_more_there_are() -> None:
    assert outline(many(MOST_WITH_TWO)) == ["New 8: two sentences"]
    assert outline(many(MOST_WITH_TWO + 1)) == ["New 9: one sentence"]
    assert outline(many(MOST_WITH_ONE)) == ["New 25: one sentence"]
    assert outline(many(MOST_WITH_ONE + 1)) == ["cs.PF 26: title"]
    assert outline(many(63), show=5) == ["New 5: two sentences", "cs.PF 58: title"]


def test_categories_of_few_papers_share_a_heading() -> None:
    papers = [
        *many(20, categories=("quant-ph",)),
        *many(5, first=21, categories=("cs.PF", "quant-ph")),
        *many(2, first=31, categories=("cs.DC",)),
        *many(1, first=33, categories=("cs.AR",)),
        *many(2, first=41, categories=("math.CO",)),
    ]
    headings = ["quant-ph 20: title", "cs.PF 5: title", "Others 5: title"]
    assert outline(papers) == headings
    assert outline(papers, Grouping.QUERY) == ["perf 30: title"]
    near = Precedence(
        nearness={papers[20].paper.id: 2, papers[-1].paper.id: 3, papers[0].paper.id: 1}
    )
    _, groups = arrange(
        papers, Grouping.KIND, QUERIES, None, near
    )  # the heading of the nearest paper comes first
    assert [group.title for group in groups] == ["cs.PF", "quant-ph", "Others"]


def test_five_at_most_are_read_first_each_for_a_reason() -> None:
    telling = [
        make_entry("2611.90001", "au:lindquell"),
        make_entry("2611.90002", "cat:cs.PF", queries=("perf", "gpu", "follow")),
        make_entry("2611.90003", "ti:GPUs"),
        make_entry("2611.90004", "cat:cs.PF", comment="12 pages, accepted at SOSP 2026"),
    ]
    ordered, groups = arrange([*many(26), *telling], Grouping.KIND, QUERIES)
    assert [str(entry.paper.id) for entry in ordered[:4]] == [
        str(entry.paper.id) for entry in telling
    ]
    reasons = (
        "by Ada Example",
        "in three of your queries",
        "your words in its title",
        "accepted at SOSP 2026",
    )
    assert say_reasons(ordered, groups[0]) == reasons
    assert [group.title for group in groups] == ["Read first", "cs.PF"]
    every = make_entry("2611.90006", "au:lindquell", "ti:GPUs", queries=QUERIES)
    assert say_first(every, NONE) == "by Ada Example · in three of your queries"
    crowd = make_entry("2611.90005", authors=tuple(f"Ada {number}" for number in range(300)))
    asked = Reason("au:ada", tuple(Span(Field.AUTHORS, 0, 3, number) for number in range(300)))
    assert say_first(replace(crowd, reasons=(asked,)), NONE) == "by Ada 0, Ada 1, Ada 2"
    assert arrange(many(40, "ti:GPUs"), Grouping.KIND, QUERIES)[1][0].count == READ_FIRST


def test_new_versions_and_withdrawals_come_last_whatever_the_headings_are() -> None:
    gone = make_entry("2611.00100", kind=Kind.WITHDRAWAL)
    typos = revise("2611.00101", comment="v2: typos")
    weighty = revise("2611.00102", title="Another one")
    last = ["New versions 1: change", "New versions 1: minor", "Withdrawn 1: change"]
    crossed = make_entry("2611.00050", kind=Kind.CROSS_LIST, queries=("gpu",))
    unseen = make_entry("2611.00051", kind=Kind.REPLACEMENT, queries=("gpu",))
    papers = [gone, typos, weighty, *many(2), crossed, unseen]
    news = [
        "New 2: two sentences",
        "Cross-listed 1: two sentences",
        "Older papers, new to you 1: two sentences",
    ]
    assert outline(papers) == [*news, *last]
    assert outline(papers, Grouping.QUERY) == [
        "perf 2: two sentences",
        "gpu 2: two sentences",
        *last,
    ]


def revise(id_: str = "2611.00001", kind: Kind = Kind.REPLACEMENT, **changes: Any) -> DigestEntry:  # noqa: ANN401 - any field of Paper
    entry = make_entry(id_, kind=kind)
    return replace(entry, paper=replace(entry.paper, **changes), before=StoredText(entry.paper))


WORDS = make_paper().abstract


@pytest.mark.parametrize(
    ("changes", "is_small"),
    [
        ({}, True),
        ({"comment": "9 pages, typos corrected"}, True),
        ({"comment": "Accepted for publication in Physical Review Letters"}, True),
        (
            {
                "journal_ref": "Phys. Rev. B 94, 045106 (2016)",
                "dois": ("10.1103/PhysRevB.94.045106",),
            },
            True,
        ),
        ({"categories": ("cs.PF", "cs.DC")}, True),
        ({"abstract": f"{WORDS} Five words come at most."}, True),
        ({"abstract": f"{WORDS} Six words are more than minor."}, False),
        ({"comment": "Major revision"}, False),
        ({"comment": "Theorem 2 was wrong"}, False),
        ({"comment": "v2: an extended version"}, False),
        ({"comment": "v2: new experiments"}, False),
        ({"comment": "The assumption of Lemma 3 is stated, and its proof is longer"}, False),
        ({"title": "Another title"}, False),
        ({"authors": ()}, False),
    ],
)
def test_a_change_is_minor_if_few_words_tell_it_and_none_is_weighty(
    changes: dict[str, Any], *, is_small: bool
) -> None:
    assert is_minor(revise(**changes)) is is_small


def test_authors_come_before_queries_titles_mentions_places_and_newest_ids() -> None:
    assert order(
        make_entry("2611.00007", "cat:cs.PF"),
        make_entry("2611.00006", "cat:cs.PF"),
        make_entry("2611.00005", "cat:cs.PF", "abs:GPU"),
        make_entry("2611.00011", "cat:cs.PF", comment="Accepted to SOSP"),
        make_entry("2611.00004", "ti:GPUs"),
        make_entry("2611.00003", 'ti:"tail latency"'),
        make_entry("2611.00008", 'ti:="tail latency"'),
        make_entry("2611.00010", "cat:cs.PF", queries=("perf", "gpu")),
        make_entry("2611.00002", "au:lindquell"),
        make_entry("2611.00001", 'author:"keiko lindquell"'),
    ) == [f"2611.000{number:02d}" for number in (2, 1, 10, 8, 4, 3, 5, 11, 7, 6)]


def test_by_hand_and_by_a_library_papers_come_after_followed_authors_and_before_all_else() -> None:
    near, nearest = (make_entry(f"2611.0000{number}", "cat:cs.PF") for number in (1, 2))
    accepted = make_entry("2611.00003", comment="Accepted to SOSP")
    hand = make_entry("2611.00004")
    by_author = make_entry("2611.00005", "au:lindquell")
    often = make_entry("2611.00006", queries=QUERIES)
    survey = make_entry("2611.00007", "au:lindquell", "ti:GPUs", queries=QUERIES)
    weighty = revise("2611.00008", title="Another one")
    changed = revise("2611.00009", title="Another one")
    precedence = prefer([hand, survey], [survey, changed], [survey, nearest, near, changed])
    told = (near, nearest, accepted, hand, by_author, often, survey, weighty, changed)
    assert order(*told, precedence=precedence) == [
        f"2611.0000{number}" for number in (5, 4, 2, 1, 6, 3, 7, 8, 9)
    ]
    titles = [
        (group.title, group.count) for group in arrange(told, Grouping.KIND, (), 5, precedence)[1]
    ]
    assert titles == [("New", 5), ("Others", 1), ("Read last", 1), ("New versions", 2)]


def test_what_is_near_never_crowds_out_a_followed_author_nor_what_is_read_first() -> None:
    near = [replace(one, near=NearLibrary(str(place))) for place, one in enumerate(many(20))]
    by_author = [make_entry(f"2611.9000{number}", "au:lindquell") for number in range(2)]
    hand = replace(make_entry("2611.80000"), near=NearLibrary("Mine"))
    told = [*near, *by_author, hand, *many(9, first=40)]
    precedence = prefer([hand], near[:2], near)
    ordered, groups = arrange(told, Grouping.KIND, QUERIES, precedence=precedence)
    reasons = ("by Ada Example",) * 2 + (
        "put first by ti:majorana · like “Mine”",
        "like “2”",
        "like “3”",
    )
    assert replace(groups[0], reasons=()) == Group("Read first", READ_FIRST, Form.SENTENCE)
    assert say_reasons(ordered, groups[0]) == reasons
    assert [entry.paper.id for entry in ordered[-2:]] == [entry.paper.id for entry in near[:2]]
    few = arrange(told[:MOST_WITH_ONE], Grouping.KIND, QUERIES, precedence=precedence)
    assert [group.title for group in few[1]] == ["New", "Read last"]
    assert few[0][:3] == (*reversed(by_author), hand)


@pytest.mark.parametrize(
    ("title", "said"),
    [
        (
            "Phase structure of driven quantum systems",
            "like “Phase structure of driven quantum systems”",
        ),
        ("The $\\mathcal{O}(n^2)$\n  law.", "like “The 𝒪(n²) law”"),
        ("On \"spin\" ``ice'' and “glass”", "like “On ‘spin’ ‘ice’ and ‘glass’”"),
        ("Seven words " * 9, "like “Seven words Seven words Seven words Seven …”"),
        *(("\u200b ", "near your library"), ("", "near your library")),
    ],
)
def test_a_title_of_a_library_is_plain_in_one_line_and_for_its_owner_alone(
    title: str, said: str
) -> None:
    assert say_near(find_near(Near(1, is_top=True, title=title), is_owner=True)) == said
    assert find_near(Near(1, is_top=True, title=title), is_owner=False) == HIDDEN_LIBRARY
    assert say_near(HIDDEN_LIBRARY) == "near this list's library"


def test_the_papers_of_several_announcements_take_turns() -> None:
    ordered = order(*many(2, announced=DAY - timedelta(days=1)), *many(2, first=3))
    assert ordered == [f"2611.0000{number}" for number in (4, 2, 3, 1)]


def test_by_query_a_paper_stands_under_the_first_it_matches_in_the_subscriptions_order() -> None:
    assert order(
        make_entry("2611.00001", queries=("follow",)),
        make_entry("2611.00002", queries=("gpu", "follow")),
        make_entry("2611.00003", queries=("gpu",)),
        make_entry("2611.00004", queries=("perf", "gpu", "follow")),
        make_entry("2611.00005", queries=()),
        group_by=Grouping.QUERY,
    ) == [f"2611.0000{number}" for number in (4, 2, 3, 1, 5)]
