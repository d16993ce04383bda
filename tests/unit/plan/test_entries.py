"""What an entry holds a paper against: the text its reader had; and what became of it since."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from digest.model.announcements import Kind, StoredChange
from digest.model.messages import DigestEntry, Occasion, Seen, Sequel
from digest.model.papers import Paper
from digest.plan.digests import Shown, find_sequel, find_shown_change, make_entry, merge_kinds
from digest.query import parse_query
from tests.unit.made_up import FOUND, make_change, make_paper

QUERIES = {"perf": parse_query("cat:cs.PF")}
V1 = make_paper(version=1)
V2 = make_paper(version=2)
V3 = make_paper(version=3)
GONE = make_paper(version=2, is_withdrawn=True, comment="An error in Section 4.")
DAY = timedelta(days=1)


def make_shown_entry(*changes: StoredChange, seen: Seen | None = None) -> DigestEntry:
    shown = Shown(changes, Occasion.SCHEDULED, seen)
    return make_entry(shown, QUERIES)


def test_a_replacement_is_held_against_the_text_its_reader_had() -> None:
    as_seen = replace(V1, title="As the reader had it")
    change = make_change(9, V3, Kind.REPLACEMENT, V2, previous_key=52)
    entry = make_shown_entry(change, seen=Seen(1, 41, as_seen))
    assert entry.before is not None
    assert entry.before.paper == as_seen
    assert entry.before.key == 41
    assert entry.label == "v1 → v3"


def test_a_paper_is_new_to_a_reader_who_never_had_it_whatever_was_stored() -> None:
    second = make_change(8, V2, Kind.REPLACEMENT, V1, previous_key=1)
    third = make_change(9, V3, Kind.REPLACEMENT, V2)
    crossed = make_change(9, V3, Kind.CROSS_LIST, V2)
    for changes in ([second, third], [third], [crossed]):
        entry = make_shown_entry(*changes)
        assert entry.before is None
        assert not entry.shows_change


def test_a_cross_list_of_what_the_reader_had_shows_a_change() -> None:
    crossed = make_change(9, V1, Kind.CROSS_LIST, V1)
    entry = make_shown_entry(crossed, seen=Seen(1, 41, V1))
    assert entry.shows_change


def test_a_paper_withdrawn_before_its_digest_went_out_is_shown_as_withdrawn() -> None:
    new = make_change(1, V1)
    gone = make_change(2, GONE, Kind.WITHDRAWAL, V1)
    sequel = find_sequel([new], [gone], Occasion.SCHEDULED)
    withdrawn_since = Shown([new], Occasion.SCHEDULED, None, sequel)
    in_first_digest = Shown([make_change(2, GONE)], Occasion.FIRST_DIGEST)
    for shown in (withdrawn_since, in_first_digest):
        entry = make_entry(shown, QUERIES)
        assert entry.is_withdrawn
        assert entry.shows_change


def test_an_edit_of_what_the_reader_had_says_so() -> None:
    edited = replace(V1, journal_ref="J. Made Up 3")
    change = make_change(9, edited, Kind.METADATA, V1, fields=("journal_ref",))
    entry = make_shown_entry(change, seen=Seen(1, 41, V1))
    assert entry.label == "edited"


def test_a_paper_that_was_withdrawn_and_touched_again_is_withdrawn_not_new() -> None:
    edited = replace(GONE, comment="Errors in Sections 4 and 5.")
    changes = [
        make_change(1, V1, Kind.NEW),
        make_change(2, GONE, Kind.WITHDRAWAL),
        make_change(3, edited, Kind.METADATA),
    ]
    assert merge_kinds(changes, Occasion.SCHEDULED) is Kind.WITHDRAWAL
    changes.append(make_change(9, V3, Kind.REPLACEMENT))
    assert merge_kinds(changes, Occasion.SCHEDULED) is Kind.NEW


def find_sequel_of(
    *told: tuple[Paper, Kind], later: tuple[tuple[Paper, Kind], ...] = ()
) -> Sequel | None:
    """Return what became of a paper, whose changes come a day apart."""
    changes = []
    for number, (paper, kind) in enumerate((*told, *later), 1):
        found_at = FOUND + number * DAY
        change = make_change(number, paper, kind, found_at=found_at, text_key=100 + number)
        changes.append(change)
    of_digest = changes[: len(told)]
    since = changes[len(told) :]
    return find_sequel(of_digest, since, Occasion.SCHEDULED)


def test_what_was_new_and_is_replaced_within_one_digest_says_so_whether_it_matches_or_not() -> None:
    new = (V1, Kind.NEW)
    replaced = (V2, Kind.REPLACEMENT)
    found = find_sequel_of(new, later=(replaced,))
    assert find_sequel_of(new, replaced) == found
    assert found is not None
    assert found.kind is Kind.REPLACEMENT
    assert found.before.key == 101
    assert found.after.key == 102


def test_a_withdrawal_that_nobody_asked_for_is_shown_all_the_same() -> None:
    found = find_sequel_of((V1, Kind.NEW), later=((GONE, Kind.WITHDRAWAL),))
    assert found is not None
    assert found.kind is Kind.WITHDRAWAL


def test_a_new_paper_stands_under_its_own_day_though_it_was_replaced_since() -> None:
    new = make_change(1, V1)
    replaced = make_change(2, V2, Kind.REPLACEMENT, V1)
    assert find_shown_change([new, replaced], Occasion.SCHEDULED) is new
    again = make_change(3, V3, Kind.REPLACEMENT, V2)
    assert find_shown_change([replaced, again], Occasion.SCHEDULED) is again
