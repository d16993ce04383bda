"""One digest per subscription and slot: its papers once each, in order, labelled, with reasons."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from digest.match.rules import choose_first_digest, choose_sample
from digest.model.announcements import Kind, StoredChange
from digest.model.cadences import Cadence, QuietHours
from digest.model.destinations import Destination
from digest.model.messages import Coverage, Digest, Form, Occasion, Seen, Share
from digest.model.papers import Paper
from digest.model.subscriptions import ActiveRevision, DueSubscription, Grouping, Subscription
from digest.plan.digests import plan_deliveries, plan_digest
from digest.query import parse_query
from tests.unit.made_up import FOUND, make_change, make_paper

COVERAGE = Coverage(
    None, is_complete=True, compared=412, matched=0, checked_at=FOUND, source="harvest"
)
TEXTS = {"perf": "cat:cs.PF", "gpu": "ti:GPUs", "ada": 'au:"Ada Example"'}


def plan(
    *changes: StoredChange,
    seen: dict[int, Seen] | None = None,
    cap: int | None = 40,
    occasion: Occasion = Occasion.SCHEDULED,
    queries: tuple[str, ...] = ("perf", "gpu"),
    coverage: Coverage = COVERAGE,
    **wishes: Any,  # noqa: ANN401 - any field of Subscription, and `later`
) -> Digest:
    subscription = Subscription(
        name="team",
        queries=queries,
        destinations=(Destination.parse("mailto:a@example.org"),),
        cadence=Cadence.parse("weekdays at 09:00 Europe/Berlin"),
        show=cap,
    )
    later = wishes.pop("later", {})
    subscription = replace(subscription, **wishes)
    revisions = tuple(
        ActiveRevision(number, number, name, TEXTS[name], "", 0)
        for number, name in enumerate(queries, start=1)
    )
    return plan_digest(
        DueSubscription(1, subscription, "active", FOUND, 0, "", FOUND, revisions),
        changes,
        {name: parse_query(TEXTS[name]) for name in queries},
        seen or {},
        coverage,
        slot="2026-11-20",
        occasion=occasion,
        now=FOUND,
        load_later=lambda: later,
    )


def test_a_digest_is_dated_where_its_cadence_or_its_quiet_hours_lie_or_at_arxiv() -> None:
    following = Cadence.parse("on announcement")
    quiet = QuietHours.parse("22:00-07:00 Asia/Tokyo")
    assert plan(quiet_hours=quiet).zone == "Europe/Berlin"
    assert plan(cadence=following, quiet_hours=quiet).zone == "Asia/Tokyo"
    assert plan(cadence=following).zone == "America/New_York"


def label(kind: Kind, version: int, *, previous: str | None = None, seen: int | None = None) -> str:
    paper = make_paper(version=version)
    before = make_paper(version=version - 1, categories=(previous,)) if previous else None
    change = make_change(9, paper, kind, before)
    known = {paper.id.number: Seen(seen)} if seen else {}
    return plan(change, seen=known).entries[0].label


def test_a_replacement_is_labelled_with_what_the_reader_saw() -> None:
    assert label(Kind.REPLACEMENT, 3, previous="cs.PF", seen=1) == "v1 → v3"


def test_a_replacement_that_did_not_match_before_says_so() -> None:
    before = make_paper(version=2, categories=("cs.NI",), title="Else")
    assert (
        plan(make_change(9, make_paper(version=3), Kind.REPLACEMENT, before)).entries[0].label
        == "now matches (v3)"
    )


def test_a_replacement_of_a_paper_the_reader_never_got_is_there_for_the_first_time() -> None:
    assert label(Kind.REPLACEMENT, 3) == "first time here (v3)"
    assert label(Kind.REPLACEMENT, 3, previous="cs.PF") == "first time here (v3)"


def test_what_was_withdrawn_and_matches_no_more_is_ascribed_to_the_queries_it_matched_when_it_last_did() -> (
    None
):
    first = make_paper(title="Tail latency on shared GPUs", categories=("cs.DC",))
    second = replace(first, version=2, title="Tail latency")
    withdrawn = replace(second, version=3, is_withdrawn=True)
    change = make_change(2, withdrawn, Kind.WITHDRAWAL, previous=second)

    def ascribed(*changes: StoredChange, seen: Paper | None) -> tuple[str, ...]:
        told = {first.id.number: Seen(1, paper=seen)} if seen else {}
        (entry,) = plan(*changes, seen=told, queries=("perf", "gpu", "ada")).entries
        assert entry.kind is Kind.WITHDRAWAL
        return entry.queries

    nobody = replace(change, paper=replace(withdrawn, authors=()))
    assert ascribed(replace(nobody, previous=first), seen=None) == ("gpu", "ada")
    assert ascribed(nobody, seen=first) == ("ada",), (
        "the reader's text is older than what was stored since"
    )
    assert ascribed(replace(nobody, previous=replace(second, authors=())), seen=first) == (
        "gpu",
        "ada",
    )


def test_a_cross_list_names_the_new_categories() -> None:
    change = make_change(
        9,
        make_paper(categories=("cs.NI", "cs.PF")),
        Kind.CROSS_LIST,
        make_paper(categories=("cs.NI",)),
    )
    assert plan(change).entries[0].label == "cross-listed into cs.PF"


def test_several_changes_of_one_paper_become_one_entry_at_its_latest_version() -> None:
    first = make_paper()
    second = make_paper(version=2, comment="accepted")
    digest = plan(
        make_change(7, first), make_change(8, second, Kind.REPLACEMENT, first, fields=("version",))
    )
    assert [(entry.kind, entry.paper.version) for entry in digest.entries] == [(Kind.NEW, 2)]


def test_a_cap_shortens_what_is_shown_and_loses_nothing() -> None:
    changes = [make_change(number, make_paper(f"2611.{number:05d}")) for number in range(1, 6)]
    digest = plan(*changes, show=2)
    assert (len(digest.entries), digest.shown) == (5, 2)
    assert plan(*changes, show=None).shown == 5


def test_each_destination_and_part_gets_one_delivery_and_feeds_none() -> None:
    digest = plan(make_change(7, make_paper()))
    destinations = [
        Destination.parse(text)
        for text in ("mailto:a@example.org", "slack:#papers", "feed", "file:x.atom")
    ]
    shares = (Share(0, 0, 10), Share(0, 5, 5, Form.SENTENCE), Share(5, 9, 4, Form.SENTENCE))
    plans = plan_deliveries(
        digest, destinations, lambda to: shares if to.kind == "slack" else (None,), scope="a:1"
    )
    assert [(str(plan.destination), plan.part, plan.parts, str(plan.share)) for plan in plans] == [
        ("mailto:a@example.org", 0, 1, "None"),
        ("slack:#papers", 0, 3, "0-0-10-title"),
        ("slack:#papers", 1, 3, "0-5-5-one sentence"),
        ("slack:#papers", 2, 3, "5-9-4-one sentence"),
    ]
    assert len({plan.idempotency_key for plan in plans}) == 4


def test_a_first_digest_holds_fifteen_papers_taken_from_each_new_query_in_turns() -> None:
    many = [make_change(number, make_paper(f"2611.{number:05d}")) for number in range(1, 31)]
    few = [make_change(number, make_paper(f"2610.{number:05d}")) for number in (41, 42)]
    sample = choose_sample([many, [], [many[0], *few]])
    assert [change.id for change in sample] == [1, 2, 41, 3, 42, *range(4, 14)]
    assert plan(*sample, occasion=Occasion.FIRST_DIGEST).shown == 15


def test_a_first_digest_goes_back_some_days_or_to_the_newest_fifteen() -> None:
    old = [
        make_change(
            number, make_paper(f"2601.{number:05d}", updated=FOUND - timedelta(days=30 + number))
        )
        for number in range(1, 31)
    ]
    assert [change.id for change in choose_first_digest(old, 7, FOUND)] == list(range(1, 16))
    fresh = [
        make_change(100 + n, make_paper(f"2611.{n:05d}", updated=FOUND - timedelta(days=1)))
        for n in range(20)
    ]
    assert {change.id for change in choose_first_digest([*old, *fresh], 7, FOUND)} == {
        100 + n for n in range(20)
    }


MERGED = replace(
    COVERAGE, announcement=date(2026, 11, 19), since=date(2026, 11, 17), announcements=3
)


def test_a_digest_of_several_announcements_says_what_became_of_its_papers_since() -> None:
    new = make_paper("2611.00001")
    replaced = make_paper("2611.00001", version=2)
    later = {1: [make_change(8, replaced, Kind.REPLACEMENT, new)]}
    (entry,) = plan(make_change(7, new), coverage=MERGED, later=later).entries
    assert (entry.kind, entry.paper.version) == (Kind.NEW, 1)
    assert entry.sequel is not None
    assert (entry.sequel.kind, entry.sequel.after.paper.version) == (Kind.REPLACEMENT, 2)
    (alone,) = plan(make_change(7, new), later=later).entries
    assert alone.sequel is None


def test_below_saved_queries_each_paper_stands_once() -> None:
    both = make_change(1, make_paper("2611.00001"))
    perf = make_change(2, make_paper("2611.00002", title="Else"))
    digest = plan(both, perf, queries=("gpu", "perf"), group_by=Grouping.QUERY)
    assert [entry.queries for entry in digest.entries] == [("gpu", "perf"), ("perf",)]
    assert digest.group_by is Grouping.QUERY
