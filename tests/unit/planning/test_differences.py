"""What comes out otherwise is named, and what proves nothing is told apart."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from digest.planning.differences import (
    Difference,
    Doubt,
    Found,
    Subject,
    compare_changes,
    compare_fields,
    compare_figures,
    weigh_differences,
    write_figures,
)


def make_found(run: int = 1, paper: str = "2611.00001", **fields: Any) -> Found:  # noqa: ANN401 - any field of Found
    defaults: dict[str, Any] = {"kind": "new", "version": 1, "fields": "", "content_hash": "a" * 64}
    return Found(run, paper, **(defaults | fields))


founds = st.lists(
    st.builds(
        make_found,
        st.integers(1, 3),
        st.sampled_from(["2611.00001", "2611.00002"]),
        kind=st.sampled_from(["new", "metadata"]),
        version=st.integers(1, 2),
    ),
    max_size=6,
)


@given(founds)
def test_the_same_changes_differ_in_nothing(found: list[Found]) -> None:
    assert compare_changes(found, list(found)) == []


@given(founds, founds)
def test_changes_differ_wherever_they_are_not_the_same_in_the_same_order(
    one: list[Found], other: list[Found]
) -> None:
    def sort(found: list[Found]) -> dict[tuple[int, str], list[Found]]:
        keys = {(change.run_id, change.paper) for change in (*one, *other)}
        return {key: [change for change in found if (change.run_id, change.paper) == key] for key in keys}

    before, after = sort(one), sort(other)
    expected = {key for key in before if before[key] != after[key]}
    assert {(difference.run_id, difference.name) for difference in compare_changes(one, other)} == expected


def test_a_change_that_comes_out_otherwise_is_told_in_words_on_both_sides() -> None:
    before = make_found(
        kind="replacement", version=2, fields="version comment", content_hash="b" * 64, previous="c" * 64
    )
    after = make_found(kind="replacement", version=2, fields="version", content_hash="d" * 64, previous="c" * 64)
    (difference,) = compare_changes([before], [after])
    assert difference.recorded == "replacement v2 (version, comment), text bbbbbbbb after cccccccc"
    assert difference.replayed == "replacement v2 (version), text dddddddd after cccccccc"


def test_a_change_that_only_one_side_has_stands_against_nothing() -> None:
    lost, gained = compare_changes([make_found(1)], [make_found(2)])
    assert (lost.run_id, lost.recorded, lost.replayed) == (1, "new v1, text aaaaaaaa", "nothing")
    assert (gained.run_id, gained.recorded, gained.replayed) == (2, "nothing", "new v1, text aaaaaaaa")


def test_of_two_texts_the_fields_that_differ_are_named_and_long_ones_cut() -> None:
    before = {"title": "One", "abstract": "x" * 100, "license": ""}
    after = {"title": "One", "abstract": "y" * 100, "license": "free"}
    (difference,) = compare_fields(4, Subject.TEXT, "2611.00001", before, after)
    assert difference.recorded == f"abstract '{'x' * 58}…, license ''"
    assert difference.replayed == f"abstract '{'y' * 58}…, license 'free'"
    assert compare_fields(4, Subject.TEXT, "2611.00001", before, dict(before)) == []


def test_figures_of_a_run_are_held_against_each_other_one_by_one() -> None:
    differences = compare_figures(4, write_figures(1200, 2, 0, ""), write_figures(1200, 3, 0, "2611.00003"))
    assert [(difference.name, difference.recorded, difference.replayed) for difference in differences] == [
        ("new", "2", "3"),
        ("highest", "nothing", "2611.00003"),
    ]


def make_difference(run: int, subject: Subject, name: str) -> Difference:
    return Difference(run, subject, name, "this", "that")


def test_what_hangs_on_a_missing_page_is_doubted_and_the_missing_page_is_not() -> None:
    differences = [
        make_difference(7, Subject.PAGE, "pages"),
        make_difference(7, Subject.CHANGE, "2611.00001"),
        make_difference(7, Subject.COUNT, "papers"),
        make_difference(7, Subject.SET_ASIDE, "page 1, entry 3"),
        make_difference(8, Subject.CHANGE, "2611.00001"),
        make_difference(8, Subject.COUNT, "new"),
        make_difference(8, Subject.COUNT, "papers"),
        make_difference(8, Subject.CHANGE, "2611.00002"),
        make_difference(9, Subject.PAPER, "2611.00001"),
        make_difference(9, Subject.COUNT, "new"),
    ]
    weighed = weigh_differences(differences, {}, {7: "page 1 of 2 is missing"})
    plain = [(difference.run_id, difference.name) for difference in weighed if not difference.doubt]
    assert plain == [(7, "pages"), (8, "papers"), (8, "2611.00002"), (9, "new")]
    assert {difference.doubt for difference in weighed} == {"", "run 7: page 1 of 2 is missing"}


def test_what_comes_of_a_paper_before_its_doubt_begins_counts() -> None:
    differences = [make_difference(run, Subject.CHANGE, "2611.00001") for run in (3, 4, 5)]
    weighed = weigh_differences(differences, {"2611.00001": Doubt(4, "why")}, {})
    assert [difference.doubt for difference in weighed] == ["", "why", "why"]


def test_a_doubt_that_is_there_already_stays() -> None:
    doubted = Difference(3, Subject.PAPER, "2611.00001", "this", "that", "why")
    assert weigh_differences([doubted], {}, {}) == [doubted]
