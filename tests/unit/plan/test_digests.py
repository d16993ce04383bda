"""One digest per subscription and slot: its papers once each, in order, labelled, with reasons."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from digest.match.rules import choose_first_digest, choose_sample
from digest.model.announcements import Kind, StoredChange
from digest.model.cadences import Cadence, QuietHours
from digest.model.destinations import Destination
from digest.model.messages import Coverage, Digest, DigestEntry, Form, Occasion, Seen, Share
from digest.model.papers import Paper
from digest.model.subscriptions import ActiveRevision, DueSubscription, Grouping, Subscription
from digest.plan.digests import plan_deliveries, plan_digest
from digest.query import parse_query
from tests.unit.made_up import FOUND, make_change, make_changes, make_paper

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
    later = wishes.pop("later", {})
    subscription = Subscription(
        name="team",
        queries=queries,
        destinations=(Destination.parse("mailto:a@example.org"),),
        cadence=Cadence.parse("weekdays at 09:00 Europe/Berlin"),
        show=cap,
    )
    subscription = replace(subscription, **wishes)
    revisions = []
    for number, name in enumerate(queries, start=1):
        revisions.append(ActiveRevision(number, number, name, TEXTS[name], "", 0))
    due = DueSubscription(1, subscription, "active", FOUND, 0, "", FOUND, tuple(revisions))
    parsed = {name: parse_query(TEXTS[name]) for name in queries}
    return plan_digest(
        due,
        changes,
        parsed,
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


def plan_entry(*changes: StoredChange, **wishes: Any) -> DigestEntry:  # noqa: ANN401 - as plan
    """Return the only entry of a digest."""
    (entry,) = plan(*changes, **wishes).entries
    return entry


def label(kind: Kind, version: int, *, previous: str | None = None, seen: int | None = None) -> str:
    paper = make_paper(version=version)
    before = make_paper(version=version - 1, categories=(previous,)) if previous else None
    change = make_change(9, paper, kind, before)
    known = {paper.id.number: Seen(seen)} if seen else {}
    return plan_entry(change, seen=known).label


def test_a_replacement_is_labelled_with_what_the_reader_saw() -> None:
    assert label(Kind.REPLACEMENT, 3, previous="cs.PF", seen=1) == "v1 → v3"


def test_a_replacement_that_did_not_match_before_says_so() -> None:
    before = make_paper(version=2, categories=("cs.NI",), title="Else")
    after = make_paper(version=3)
    entry = plan_entry(make_change(9, after, Kind.REPLACEMENT, before))
    assert entry.label == "now matches (v3)"


def test_a_replacement_of_a_paper_the_reader_never_got_is_there_for_the_first_time() -> None:
    assert label(Kind.REPLACEMENT, 3) == "first time here (v3)"
    assert label(Kind.REPLACEMENT, 3, previous="cs.PF") == "first time here (v3)"


def name_queries(*changes: StoredChange, seen: Paper | None) -> tuple[str, ...]:
    """Return the queries to which a withdrawal is ascribed."""
    number = changes[0].paper.id.number
    had = {number: Seen(1, paper=seen)} if seen else {}
    entry = plan_entry(*changes, seen=had, queries=("perf", "gpu", "ada"))
    assert entry.kind is Kind.WITHDRAWAL
    return entry.queries


def test_what_was_withdrawn_and_matches_no_more_is_ascribed_to_the_queries_it_met_last() -> None:
    first = make_paper(title="Tail latency on shared GPUs", categories=("cs.DC",))
    second = replace(first, version=2, title="Tail latency")
    withdrawn = replace(second, version=3, is_withdrawn=True)
    change = make_change(2, withdrawn, Kind.WITHDRAWAL, previous=second)
    nobody = replace(change, paper=replace(withdrawn, authors=()))
    from_first = replace(nobody, previous=first)
    assert name_queries(from_first, seen=None) == ("gpu", "ada")
    assert name_queries(nobody, seen=first) == ("ada",), (
        "the reader's text is older than what was stored since"
    )
    without_authors = replace(nobody, previous=replace(second, authors=()))
    assert name_queries(without_authors, seen=first) == ("gpu", "ada")


def test_a_cross_list_names_the_new_categories() -> None:
    before = make_paper(categories=("cs.NI",))
    after = make_paper(categories=("cs.NI", "cs.PF"))
    entry = plan_entry(make_change(9, after, Kind.CROSS_LIST, before))
    assert entry.label == "cross-listed into cs.PF"


def test_several_changes_of_one_paper_become_one_entry_at_its_latest_version() -> None:
    first = make_paper()
    second = make_paper(version=2, comment="accepted")
    new = make_change(7, first)
    replaced = make_change(8, second, Kind.REPLACEMENT, first, fields=("version",))
    entry = plan_entry(new, replaced)
    assert entry.kind is Kind.NEW
    assert entry.paper.version == 2


def test_a_cap_shortens_what_is_shown_and_loses_nothing() -> None:
    changes = make_changes(range(1, 6))
    digest = plan(*changes, show=2)
    assert len(digest.entries) == 5
    assert digest.shown == 2
    assert plan(*changes, show=None).shown == 5


def test_each_destination_and_part_gets_one_delivery_and_feeds_none() -> None:
    digest = plan(make_change(7, make_paper()))
    addresses = ("mailto:a@example.org", "slack:#papers", "feed", "file:x.atom")
    destinations = [Destination.parse(address) for address in addresses]
    shares = (Share(0, 0, 10), Share(0, 5, 5, Form.SENTENCE), Share(5, 9, 4, Form.SENTENCE))

    def divide(to: Destination) -> tuple[Share | None, ...]:
        return shares if to.kind == "slack" else (None,)

    plans = plan_deliveries(digest, destinations, divide, scope="a:1")
    found = [(str(plan.destination), plan.part, plan.parts, str(plan.share)) for plan in plans]
    assert found == [
        ("mailto:a@example.org", 0, 1, "None"),
        ("slack:#papers", 0, 3, "0-0-10-title"),
        ("slack:#papers", 1, 3, "0-5-5-one sentence"),
        ("slack:#papers", 2, 3, "5-9-4-one sentence"),
    ]
    keys = {plan.idempotency_key for plan in plans}
    assert len(keys) == 4


def test_a_first_digest_holds_fifteen_papers_taken_from_each_new_query_in_turns() -> None:
    many = make_changes(range(1, 31))
    few = make_changes(range(41, 43))
    sample = choose_sample([many, [], [many[0], *few]])
    assert [change.id for change in sample] == [1, 2, 41, 3, 42, *range(4, 14)]
    first = plan(*sample, occasion=Occasion.FIRST_DIGEST)
    assert first.shown == 15


def test_a_first_digest_goes_back_some_days_or_to_the_newest_fifteen() -> None:
    old = []
    for number in range(1, 31):
        updated = FOUND - timedelta(days=30 + number)
        paper = make_paper(f"2601.{number:05d}", updated=updated)
        old.append(make_change(number, paper))
    chosen = choose_first_digest(old, 7, FOUND)
    assert [change.id for change in chosen] == list(range(1, 16))
    fresh = []
    for number in range(20):
        paper = make_paper(f"2611.{number:05d}", updated=FOUND - timedelta(days=1))
        fresh.append(make_change(100 + number, paper))
    chosen = choose_first_digest([*old, *fresh], 7, FOUND)
    assert {change.id for change in chosen} == {change.id for change in fresh}


MERGED = replace(
    COVERAGE, announcement=date(2026, 11, 19), since=date(2026, 11, 17), announcements=3
)


def test_a_digest_of_several_announcements_says_what_became_of_its_papers_since() -> None:
    paper = make_paper("2611.00001")
    replaced = make_paper("2611.00001", version=2)
    new = make_change(7, paper)
    later = {1: [make_change(8, replaced, Kind.REPLACEMENT, paper)]}
    entry = plan_entry(new, coverage=MERGED, later=later)
    assert entry.kind is Kind.NEW
    assert entry.paper.version == 1
    assert entry.sequel is not None
    assert entry.sequel.kind is Kind.REPLACEMENT
    assert entry.sequel.after.paper.version == 2
    alone = plan_entry(new, later=later)
    assert alone.sequel is None


def test_below_saved_queries_each_paper_stands_once() -> None:
    both = make_change(1, make_paper("2611.00001"))
    perf = make_change(2, make_paper("2611.00002", title="Else"))
    digest = plan(both, perf, queries=("gpu", "perf"), group_by=Grouping.QUERY)
    assert [entry.queries for entry in digest.entries] == [("gpu", "perf"), ("perf",)]
    assert digest.group_by is Grouping.QUERY
