"""Which looks can be replayed: those whose pages are kept, and the reason for every other."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from digest.planning.polls import Source
from digest.planning.replays import KeptPage, LedgerRun, find_resumed, plan_replay

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def make_run(id_: int, pages: int = 1, **fields: Any) -> LedgerRun:  # noqa: ANN401 - any field of LedgerRun
    defaults: dict[str, Any] = {
        "source": Source.HARVEST,
        "started_at": START + timedelta(days=id_),
        "is_ended": True,
        "is_complete": True,
        "is_bootstrap": False,
        "papers": 10 * pages,
        "new": 0,
        "changed": 0,
        "highest_id": "",
        "next_token": "",
        "has_judge": True,
    }
    return LedgerRun(id=id_, pages=pages, **(defaults | fields))


def keep(*runs: LedgerRun, without: tuple[tuple[int, int], ...] = ()) -> list[KeptPage]:
    """Keep every page of these runs but some, named by run and number."""
    places = [(run, number) for run in runs for number in range(run.pages) if (run.id, number) not in without]
    return [
        KeptPage(id_, run.id, number, "http://arxiv.example/oai", run.started_at, "")
        for id_, (run, number) in enumerate(places, start=1)
    ]


def ids(runs: tuple[LedgerRun, ...]) -> list[int]:
    return [run.id for run in runs]


def test_everything_is_replayed_whose_pages_are_kept_in_the_order_they_were_committed() -> None:
    runs = [make_run(1, 2), make_run(2, 0), make_run(3, 1)]
    plan = plan_replay(runs, keep(*runs))
    assert (ids(plan.runs), plan.forgotten, plan.broken) == ([1, 2, 3], (), {})
    assert [(page.run_id, page.number) for page in plan.pages] == [(1, 0), (1, 1), (3, 0)]


def test_a_span_is_counted_in_utc_days_on_which_looks_started() -> None:
    runs = [make_run(number) for number in range(1, 9)]
    plan = plan_replay(runs, keep(*runs), date(2026, 11, 5), date(2026, 11, 7))
    assert ids(plan.runs) == [3, 4, 5]


def test_pages_given_up_for_their_age_are_no_damage() -> None:
    runs = [make_run(1, 2), make_run(2, 3), make_run(3, 1)]
    plan = plan_replay(runs, keep(*runs, without=((1, 0), (1, 1), (2, 0))), date(2026, 11, 1))
    assert [(run.id, reason) for run, reason in plan.forgotten] == [
        (1, "its pages are no longer kept"),
        (2, "its first pages are no longer kept"),
    ]
    assert (ids(plan.runs), plan.broken) == ([3], {})
    assert [page.run_id for page in plan.pages] == [3]


def test_a_page_that_is_missing_behind_one_that_is_kept_is_damage() -> None:
    runs = [make_run(1, 3), make_run(2, 2), make_run(3, 1)]
    plan = plan_replay(runs, keep(*runs, without=((1, 1), (1, 2), (2, 0), (2, 1))))
    assert (ids(plan.runs), plan.forgotten) == ([1, 2, 3], ())
    assert plan.broken == {1: "pages 2, 3 of 3 are missing", 2: "pages 1, 2 of 2 are missing"}


def test_without_any_page_nothing_is_replayed_and_the_reason_is_told() -> None:
    runs = [make_run(1), make_run(2)]
    plan = plan_replay(runs, [], date(2026, 11, 1))
    assert (plan.runs, plan.pages) == ((), ())
    assert [run.id for run, _ in plan.forgotten] == [1, 2]


def test_runs_that_kept_no_horizon_lie_before_the_first_that_can_be_judged() -> None:
    runs = [
        make_run(1, has_judge=False),
        make_run(2, 0, has_judge=False),
        make_run(3, has_judge=False),
        make_run(4),
    ]
    plan = plan_replay(runs, keep(*runs))
    assert [run.id for run, _ in plan.forgotten] == [1, 2, 3]
    assert ids(plan.runs) == [4]


def test_a_look_that_is_under_way_is_left_out_with_those_begun_since() -> None:
    runs = [make_run(1), make_run(2, is_ended=False), make_run(3)]
    assert ids(plan_replay(runs, keep(*runs)).runs) == [1]


@given(
    st.lists(st.integers(0, 3), max_size=6),
    st.sets(st.tuples(st.integers(1, 6), st.integers(0, 2))),
    st.integers(0, 8),
    st.integers(0, 8),
)
def test_every_run_of_a_span_is_replayed_or_has_a_reason_not_to_be(
    counts: list[int], without: set[tuple[int, int]], first: int, last: int
) -> None:
    runs = [make_run(number, pages) for number, pages in enumerate(counts, start=1)]
    pages = keep(*runs, without=tuple(without))
    since, until = (START + timedelta(days=first)).date(), (START + timedelta(days=last)).date()
    plan = plan_replay(runs, pages, since, until)
    told = [*(run.id for run, _ in plan.forgotten), *ids(plan.runs)]
    assert told == [run.id for run in runs if first <= run.id <= last]
    oldest = min(((page.run_id, page.number) for page in pages), default=(0, 0))
    for run in plan.runs:
        missing = [number for number in range(run.pages) if (run.id, number) in without]
        assert (run.id in plan.broken) == bool(missing)
        assert not missing or (run.id, missing[-1]) > oldest


def test_a_run_that_read_a_listing_is_no_look_at_papers() -> None:
    runs = [make_run(1), make_run(2, source=Source.LISTING, has_judge=False), make_run(3)]
    plan = plan_replay(runs, keep(*runs))
    assert (ids(plan.runs), plan.broken) == ([1, 3], {})
    assert [page.run_id for page in plan.pages] == [1, 3]


def test_a_harvest_goes_on_with_the_one_broken_off_that_day_shortly_before_it() -> None:
    def find(run: LedgerRun, *before: LedgerRun) -> LedgerRun | None:
        return find_resumed(run, before, timedelta(hours=6))

    broken = make_run(1, is_complete=False, next_token="more", highest_id="2611.00007")
    other = make_run(2, source=Source.GAPS)
    assert find(make_run(3, started_at=broken.started_at + timedelta(hours=3)), other, broken) is broken
    assert find(make_run(3, started_at=broken.started_at + timedelta(hours=7)), other, broken) is None
    late = make_run(1, is_complete=False, next_token="more", started_at=START.replace(hour=23))
    assert (
        find(make_run(3, started_at=late.started_at + timedelta(hours=2)), late) is None
    )  # tokens end at midnight
    resumed = make_run(3, started_at=broken.started_at)
    assert find(resumed, make_run(1, next_token="more")) is None  # that one was complete
    assert find(resumed, make_run(2, is_complete=False), broken) is None  # the last one has no page to go on from
    assert find(make_run(3, source=Source.QUERY, started_at=broken.started_at), broken) is None
    assert find(resumed) is None
