from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from digest.model.announcements import Kind
from digest.model.messages import DayCount
from digest.model.subscriptions import QueryOutcome
from digest.store import Store, matches, queries
from digest.store.queries import AskedQuery, SyncReport
from digest.store.schema import query_revisions
from tests.contract.store.made import DAY, NOW, make_paper, store_papers

PERF = ("cat:cs.PF", "cat:cs.PF", "")
GPU = ("abs:GPU", "abs:gpu", "")
BROKEN = ("abs:(GPU", "", "an opening parenthesis is not closed")


def sync(
    store: Store, wanted: dict[str, tuple[str, str, str]], origin: str = "file", at: datetime = NOW
) -> SyncReport:
    with store.begin() as conn:
        return queries.sync(conn, wanted, origin, at)


def active(store: Store) -> dict[str, tuple[int, str, int]]:
    with store.read() as conn:
        return {
            revision.name: (revision.id, revision.text, revision.active_from_change)
            for revision in queries.active_revisions(conn)
        }


def test_reading_the_same_file_twice_changes_nothing(store: Store) -> None:
    assert sync(store, {"perf": PERF, "gpu": GPU}) == SyncReport(added=("perf", "gpu"))
    before = active(store)
    assert sync(store, {"perf": PERF, "gpu": GPU}, at=NOW + DAY) == SyncReport()
    assert active(store) == before
    assert list(before) == ["gpu", "perf"]


def test_a_new_query_starts_where_matching_stands(store: Store) -> None:
    store_papers(store, [make_paper(1), make_paper(2)])
    with store.begin() as conn:
        matches.set_matched_mark(conn, 1, expected=0)
    sync(store, {"perf": PERF})
    _, text, active_from = active(store)["perf"]
    assert (text, active_from) == ("cat:cs.PF", 1)


def test_an_edited_query_goes_on_where_matching_stands(store: Store) -> None:
    sync(store, {"perf": PERF})
    store_papers(store, [make_paper(1), make_paper(2), make_paper(3)])
    with store.begin() as conn:
        matches.set_matched_mark(conn, 2, expected=0)
    old, _, _ = active(store)["perf"]
    assert sync(store, {"perf": GPU}).edited == ("perf",)
    new, text, active_from = active(store)["perf"]
    assert new != old
    assert text == "abs:GPU"
    assert active_from == 2


def test_another_way_of_writing_the_same_query_keeps_its_revision(store: Store) -> None:
    sync(store, {"perf": PERF})
    revision, _, _ = active(store)["perf"]
    spaced = ("  cat:cs.PF ", "cat:cs.PF", "")
    assert sync(store, {"perf": spaced}).edited == ("perf",)
    assert active(store)["perf"] == (revision, "  cat:cs.PF ", 0)


def list_revisions(store: Store) -> list[tuple[str, datetime | None]]:
    """Return every text there was, with when it ended, in the order in which they began."""
    with store.read() as conn:
        rows = conn.execute(select(query_revisions).order_by(query_revisions.c.id))
        return [(row.text, row.ended_at) for row in rows]


def test_a_query_that_is_missing_in_the_file_for_a_week_at_most_never_ended(store: Store) -> None:
    sync(store, {"perf": PERF, "gpu": GPU})
    before = active(store)
    assert sync(store, {"gpu": GPU}).ended == ("perf",)
    assert list(active(store)) == ["gpu"]
    with store.read() as conn:
        kept = queries.active_revisions(conn, ended_since=NOW)
    assert [revision.name for revision in kept] == ["gpu", "perf"], (
        "what is found meanwhile is matched"
    )
    store_papers(store, [make_paper()])
    assert sync(store, {"perf": PERF, "gpu": GPU}, at=NOW + 7 * DAY) == SyncReport(added=("perf",))
    assert active(store) == before
    assert sorted(list_revisions(store)) == [("abs:GPU", None), ("cat:cs.PF", None)]


def test_a_query_that_returns_later_begins_anew(store: Store) -> None:
    sync(store, {"perf": PERF})
    sync(store, {})
    store_papers(store, [make_paper()])
    with store.begin() as conn:
        matches.set_matched_mark(conn, 1, expected=0)
    later = NOW + 7 * DAY + timedelta(seconds=1)
    assert sync(store, {"perf": PERF}, at=later).added == ("perf",)
    _, text, active_from = active(store)["perf"]
    assert (text, active_from) == ("cat:cs.PF", 1)
    assert list_revisions(store) == [("cat:cs.PF", NOW), ("cat:cs.PF", None)]


def test_a_query_that_returns_with_another_text_begins_with_that(store: Store) -> None:
    sync(store, {"perf": PERF})
    sync(store, {})
    assert sync(store, {"perf": GPU}, at=NOW + DAY).changed == {"perf": "cat:cs.PF"}
    assert list_revisions(store) == [("cat:cs.PF", NOW + DAY), ("abs:GPU", None)]


def test_a_query_that_never_could_be_read_is_listed_and_matches_nothing_until_mended(
    store: Store,
) -> None:
    sync(store, {"gpu": BROKEN, "perf": PERF})
    assert list(active(store)) == ["perf"]
    with store.read() as conn:
        listed = queries.load(conn)
    problems = {query.name: query.problem for query in listed if query.problem}
    assert problems == {"gpu": BROKEN[2]}
    report = sync(store, {"gpu": GPU, "perf": PERF})
    assert report == SyncReport(edited=("gpu",), changed={"gpu": ""})
    assert list(active(store)) == ["gpu", "perf"]


def test_a_query_that_cannot_be_read_any_more_goes_on_as_before_and_mending_it_is_no_edit(
    store: Store,
) -> None:
    sync(store, {"gpu": GPU})
    before = active(store)
    revision, _, _ = before["gpu"]
    report = sync(store, {"gpu": BROKEN}, at=NOW + DAY)
    assert report == SyncReport(edited=("gpu",), used_as_before=("gpu",))
    report = sync(store, {"gpu": BROKEN}, at=NOW + DAY)
    assert report == SyncReport(used_as_before=("gpu",))
    assert active(store) == {"gpu": (revision, "abs:gpu", 0)}
    with store.read() as conn:
        (query,) = queries.load(conn)
        (asked,) = queries.load_asked(conn)
    assert query.text == BROKEN[0]
    assert query.problem == BROKEN[2]
    assert query.revision == 1
    assert asked == AskedQuery("abs:gpu", NOW, ())
    assert sync(store, {"gpu": GPU}, at=NOW + 2 * DAY) == SyncReport(edited=("gpu",))
    assert active(store) == before
    with store.read() as conn:
        (query,) = queries.load(conn)
    assert query.problem == ""


def test_a_query_mended_into_another_meaning_is_an_edit_of_what_went_on_meanwhile(
    store: Store,
) -> None:
    sync(store, {"perf": PERF})
    sync(store, {"perf": BROKEN}, at=NOW + DAY)
    store_papers(store, [make_paper(1)])
    with store.begin() as conn:
        matches.set_matched_mark(conn, 1, expected=0)
    assert sync(store, {"perf": GPU}, at=NOW + 2 * DAY).changed == {"perf": "cat:cs.PF"}
    _, text, active_from = active(store)["perf"]
    assert (text, active_from) == ("abs:GPU", 1)
    with store.read() as conn:
        (asked,) = queries.load_asked(conn)
    old_text = ("cat:cs.PF",)
    assert asked == AskedQuery("abs:gpu", NOW + 2 * DAY, old_text, replaced=old_text)


def test_a_query_in_place_of_others_names_them_though_they_had_other_names(store: Store) -> None:
    sync(store, {"cat:cs.PF": PERF, "abs:GPU": GPU, "ti:x": ("ti:x", "ti:x", "")})
    sync(store, {"abs:GPU": GPU}, at=NOW + DAY)
    narrower = ("cat:cs.PF AND ti:y", "cat:cs.PF AND ti:y", "")
    sync(store, {"perf": narrower}, at=NOW + 2 * DAY)
    with store.read() as conn:
        (asked,) = queries.load_asked(conn)
    assert asked.earlier == ()
    assert asked.replaced == ("abs:gpu",)


@pytest.mark.parametrize(("days", "goes_on"), [(7, True), (8, False)])
def test_a_query_that_comes_back_unreadable_goes_on_as_before_within_a_week(
    store: Store, days: int, *, goes_on: bool
) -> None:
    sync(store, {"gpu": GPU})
    sync(store, {})
    used = ("gpu",) if goes_on else ()
    report = sync(store, {"gpu": BROKEN}, at=NOW + days * DAY)
    assert report == SyncReport(added=("gpu",), used_as_before=used)
    assert tuple(active(store)) == used


def test_queries_of_the_store_are_not_touched_by_the_file(store: Store) -> None:
    sync(store, {"perf": PERF}, "store")
    assert sync(store, {"perf": GPU}) == SyncReport(added=("perf",))
    assert sync(store, {}) == SyncReport(ended=("perf",))
    with store.read() as conn:
        assert queries.load(conn) == [], "those of the file alone are listed"
        (revision,) = queries.active_revisions(conn)
    assert revision.text == "cat:cs.PF"


def test_papers_that_entered_a_query_are_counted_by_day_over_all_its_revisions(
    store: Store,
) -> None:
    sync(store, {"perf": PERF, "gpu": GPU})
    perf, _, _ = active(store)["perf"]
    gpu, _, _ = active(store)["gpu"]
    (known,) = store_papers(store, [make_paper(1)], kind=Kind.KNOWN)
    entered = QueryOutcome((3, known.id, 6), (2,), (4,))
    with store.begin() as conn:
        first = matches.begin_run(conn, from_change=0, to_change=9, at=NOW, occasion="poll")
        matches.save_for_query(conn, first, {perf: entered, gpu: QueryOutcome((5,))})
    sync(store, {"perf": GPU, "gpu": GPU})
    edited, _, _ = active(store)["perf"]
    with store.begin() as conn:
        second = matches.begin_run(conn, from_change=9, to_change=12, at=NOW + DAY, occasion="poll")
        matches.save_for_query(conn, second, {edited: QueryOutcome(changed=(11,))})
    with store.read() as conn:
        assert queries.load_counts(conn, "perf", NOW) == [DayCount(NOW.date(), 2)]
        assert queries.load_counts(conn, "perf", NOW + DAY) == []
        assert queries.load_matched(conn, "perf", NOW) == dict.fromkeys((3, 6), NOW.date())
