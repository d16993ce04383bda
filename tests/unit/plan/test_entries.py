"""What an entry holds a paper against: the text its reader had; and what became of it since."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry, Occasion, Seen
from digest.model.papers import Paper
from digest.plan.digests import Shown, find_sequel, find_shown_change, make_entry, merge_kinds
from digest.query import parse_query
from tests.unit.made_up import FOUND, make_change, make_paper

QUERIES = {"perf": parse_query("cat:cs.PF")}
V1, V2, V3 = (make_paper(version=number) for number in (1, 2, 3))
GONE = make_paper(version=2, is_withdrawn=True, comment="An error in Section 4.")
DAY = timedelta(days=1)


def tell(*changes: object, seen: Seen | None = None) -> DigestEntry:
    return make_entry(Shown(changes, Occasion.SCHEDULED, seen), QUERIES)  # type: ignore[arg-type]  # StoredChange


def test_a_replacement_is_held_against_the_text_its_reader_had() -> None:
    as_seen = replace(V1, title="As the reader had it")
    change = make_change(9, V3, Kind.REPLACEMENT, V2, previous_key=52)
    entry = tell(change, seen=Seen(1, 41, as_seen))
    assert entry.before is not None
    assert (entry.before.paper, entry.before.key, entry.label) == (as_seen, 41, "v1 → v3")


def test_a_paper_is_new_to_a_reader_who_never_had_it_whatever_was_stored() -> None:
    changes = (
        make_change(8, V2, Kind.REPLACEMENT, V1, previous_key=1),
        make_change(9, V3, Kind.REPLACEMENT, V2),
    )
    for entry in (tell(*changes), tell(changes[1]), tell(make_change(9, V3, Kind.CROSS_LIST, V2))):
        assert (entry.before, entry.shows_change) == (None, False)


def test_a_cross_list_of_what_the_reader_had_tells_a_change() -> None:
    assert tell(make_change(9, V1, Kind.CROSS_LIST, V1), seen=Seen(1, 41, V1)).shows_change


def test_a_paper_withdrawn_before_its_digest_went_out_is_told_as_withdrawn_whatever_it_comes_as() -> (
    None
):
    sequel = find_sequel(
        [make_change(1, V1)], [make_change(2, GONE, Kind.WITHDRAWAL, V1)], Occasion.SCHEDULED
    )
    since = make_entry(Shown([make_change(1, V1)], Occasion.SCHEDULED, None, sequel), QUERIES)
    sample = make_entry(Shown([make_change(2, GONE)], Occasion.FIRST_DIGEST), QUERIES)
    assert all(entry.is_withdrawn and entry.shows_change for entry in (since, sample))


def test_an_edit_of_what_the_reader_had_says_so() -> None:
    change = make_change(
        9, replace(V1, journal_ref="J. Made Up 3"), Kind.METADATA, V1, fields=("journal_ref",)
    )
    assert tell(change, seen=Seen(1, 41, V1)).label == "edited"


def test_a_paper_that_was_withdrawn_and_touched_again_is_withdrawn_not_new() -> None:
    edited = replace(GONE, comment="Errors in Sections 4 and 5.")
    kinds = [(V1, Kind.NEW), (GONE, Kind.WITHDRAWAL), (edited, Kind.METADATA)]
    changes = [make_change(number, paper, kind) for number, (paper, kind) in enumerate(kinds, 1)]
    assert merge_kinds(changes, Occasion.SCHEDULED) is Kind.WITHDRAWAL
    assert (
        merge_kinds([*changes, make_change(9, V3, Kind.REPLACEMENT)], Occasion.SCHEDULED)
        is Kind.NEW
    )


def sequel_of(
    *told: tuple[Paper, Kind], later: tuple[tuple[Paper, Kind], ...] = ()
) -> tuple[object, ...] | None:
    changes = [
        make_change(number, paper, kind, found_at=FOUND + number * DAY, text_key=100 + number)
        for number, (paper, kind) in enumerate((*told, *later), 1)
    ]
    found = find_sequel(changes[: len(told)], changes[len(told) :], Occasion.SCHEDULED)
    return None if found is None else (found.kind, found.before.key, found.after.key, found.day)


def test_what_was_new_and_is_replaced_within_one_digest_says_so_whether_that_is_told_or_not() -> (
    None
):
    replaced = (Kind.REPLACEMENT, 101, 102, date(2026, 11, 19) + 2 * DAY - DAY)
    assert sequel_of((V1, Kind.NEW), (V2, Kind.REPLACEMENT)) == sequel_of(
        (V1, Kind.NEW), later=((V2, Kind.REPLACEMENT),)
    )
    found = sequel_of((V1, Kind.NEW), later=((V2, Kind.REPLACEMENT),))
    assert found is not None
    assert found[:3] == replaced[:3]


def test_a_withdrawal_that_nobody_asked_for_is_told_all_the_same() -> None:
    found = sequel_of((V1, Kind.NEW), later=((GONE, Kind.WITHDRAWAL),))
    assert found is not None
    assert found[0] is Kind.WITHDRAWAL


def test_a_new_paper_is_told_under_its_own_day_though_it_was_replaced_since() -> None:
    new = make_change(1, V1)
    replaced = make_change(2, V2, Kind.REPLACEMENT, V1)
    assert find_shown_change([new, replaced], Occasion.SCHEDULED) is new
    again = make_change(3, V3, Kind.REPLACEMENT, V2)
    assert find_shown_change([replaced, again], Occasion.SCHEDULED) is again
