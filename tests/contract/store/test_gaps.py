"""Missing ids are kept with what became of them, alike on both databases."""

from __future__ import annotations

from dataclasses import replace

from digest.compare import content_hash
from digest.model.announcements import Change, Kind
from digest.model.papers import ArxivId
from digest.poll.rules import SPARSE
from digest.store import Store, changes, gaps, papers
from digest.store.gaps import GapState
from tests.contract.store.made import DAY, NOW
from tests.unit.made_up import make_paper

IDS = [ArxivId.parse(f"2611.1500{number}") for number in range(1, 5)]


def store_paper(store: Store, id_: str, kind: Kind = Kind.NEW) -> None:
    change = Change(kind, make_paper(id_))
    with store.begin() as conn:
        changes.save(conn, [change], content_hash, run_id=1, at=NOW, as_of=NOW)


def test_an_id_is_noted_once_however_often_it_is_missed(store: Store) -> None:
    with store.begin() as conn:
        assert gaps.save(conn, IDS[:2], NOW) == 2
        assert gaps.save(conn, IDS, NOW + DAY) == 2
        first, *_ = gaps.load_open(conn)
        assert first.id == IDS[0]
        assert first.missed_at == NOW
        assert first.asks == 0
        old_id = ArxivId.parse("math/0309136")
        assert gaps.save(conn, [old_id], NOW) == 0, "old ids are not dense"


def test_an_id_that_is_stored_after_all_is_found_also_when_it_was_given_up(store: Store) -> None:
    with store.begin() as conn:
        gaps.save(conn, IDS[:2], NOW)
        first, _ = gaps.load_open(conn)
        gaps.give_up(conn, [(first, SPARSE)], NOW)
    store_paper(store, str(IDS[0]))
    store_paper(store, "1608.0001")
    with store.begin() as conn:
        assert gaps.close_found(conn, NOW) == 1
        assert gaps.count_gaps(conn) == {GapState.FOUND: 1, GapState.OPEN: 1}


def test_an_id_of_odd_spelling_fills_no_gap(store: Store) -> None:
    store_paper(store, "1608.0001")
    with store.begin() as conn:
        gaps.save(conn, [ArxivId.parse("1608.00001")], NOW)
        assert gaps.close_found(conn, NOW) == 0
        assert gaps.load_announced_numbers(conn) == {201608: set()}


def test_asking_is_counted_and_giving_up_has_its_reason(store: Store) -> None:
    with store.begin() as conn:
        gaps.save(conn, IDS[:2], NOW)
        (first, second) = gaps.load_open(conn)
        gaps.mark_asked(conn, [first, second], NOW + DAY)
        gaps.give_up(conn, [(first, SPARSE)], NOW + DAY)
        lines = {line.gap.id: line for line in gaps.load(conn)}
    given_up = lines[IDS[0]]
    assert given_up.state == "given up"
    assert given_up.reason == SPARSE
    asked = lines[IDS[1]]
    assert asked.state == "open"
    assert asked.gap.asks == 1
    assert asked.gap.asked_at == NOW + DAY


def test_numbers_are_listed_of_the_latest_two_months(store: Store) -> None:
    for id_ in ("2609.00001", "2610.00007", "2611.15001", "2611.15002", "hep-th/9901001"):
        store_paper(store, id_)
    with store.read() as conn:
        assert gaps.load_announced_numbers(conn) == {202610: {7}, 202611: {15001, 15002}}


def test_each_new_paper_is_assigned_to_its_announcement_once(store: Store) -> None:
    store_paper(store, "2611.15001")
    store_paper(store, "2611.15002", Kind.KNOWN)
    with store.begin() as conn:
        (key,) = papers.load_unassigned(conn)
        papers.assign_announcements(conn, {key: NOW.date()})
        papers.assign_announcements(conn, {})
        assert papers.load_unassigned(conn) == {}
        assert papers.count_announced(conn, NOW.date(), NOW.date()) == {NOW.date(): 1}


def test_the_newest_paper_is_known_with_the_day_it_was_touched(store: Store) -> None:
    with store.read() as conn:
        assert papers.load_newest_paper(conn) is None
    touched = replace(make_paper("2611.15003"), datestamp=NOW.date())
    change = Change(Kind.NEW, touched)
    with store.begin() as conn:
        changes.save(conn, [change], content_hash, run_id=1, at=NOW, as_of=NOW)
    store_paper(store, "2611.15002")
    with store.read() as conn:
        assert papers.load_newest_paper(conn) == (touched.id, NOW.date())
        known = papers.load_known(conn, [touched.id])[touched.id]
    assert known.as_of == NOW
    assert known.paper.datestamp == NOW.date()
    assert known.earlier == frozenset()
