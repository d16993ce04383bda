"""What became of a change on its way to a subscription, and which change speaks for its paper."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.inspect.explain import (
    ORDER,
    Asked,
    Judged,
    KeptMatch,
    Met,
    Verdict,
    judge_change,
    judge_deliveries,
    judge_feed,
    judge_paper,
)
from digest.model.announcements import Kind
from digest.model.cadences import Cadence
from digest.model.destinations import Destination
from digest.model.messages import DeliveryState
from digest.model.papers import ArxivId
from digest.model.subscriptions import DueSubscription, Subscription
from tests.unit.made_up import FOUND, make_change, make_paper

MAIL = Destination.parse("mailto:reader@digest.example")
FEED = Destination.parse("feed")
PAPER = make_paper("2611.15012", categories=("cs.PF",))


def due(
    state: str = "active", plan_after: int = 0, to: Destination = MAIL, **fields: object
) -> DueSubscription:
    subscription = Subscription("team", ("perf",), (to,), Cadence.parse("daily at 09:00 UTC"))
    changed = replace(subscription, **fields)  # type: ignore[arg-type]  # any field of Subscription
    return DueSubscription(1, changed, state, FOUND, plan_after, "", FOUND)


def judge(
    kind: Kind = Kind.NEW,
    met: Met = Met.NEVER,
    row: KeptMatch | None = None,
    *,
    of: DueSubscription | None = None,
    would_meet: bool = False,
    is_matched: bool = True,
    is_overtaken: bool = False,
) -> Verdict:
    change = make_change(5, PAPER, kind)
    failing = "" if would_meet else "lacks cat:cs.PF"
    asked = Asked("perf", met, would_meet=would_meet, failing=failing)
    stored = of or due()
    judged = judge_change(
        change, stored, (asked,), row, is_matched=is_matched, is_overtaken=is_overtaken
    )
    return judged.verdict


def test_a_change_in_a_digest_was_sent_whatever_else_is_known_of_it() -> None:
    sent = KeptMatch(3, 9, Verdict.SENT)
    assert judge(Kind.NEW, Met.ENTERED, sent) is Verdict.SENT
    ended = due("ended")
    assert judge(Kind.REPLACEMENT, Met.NEVER, sent, of=ended) is Verdict.SENT


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (("dead", "ready", "sent"), Verdict.SENT),
        (("dead", "unknown", "ready"), Verdict.DOUBTFUL),
        (("held",), Verdict.UNDERWAY),
        (("dead", "ready"), Verdict.UNDERWAY),
        (("claimed",), Verdict.UNDERWAY),
        (("dead", "suppressed"), Verdict.UNSENT),
        ((), Verdict.UNSENT),  # whoever was to get it had left
    ],
)
def test_a_paper_in_a_digest_came_as_far_as_the_farthest_delivery_that_holds_it(
    states: tuple[str, ...], verdict: Verdict
) -> None:
    deliveries = [DeliveryState(state) for state in states]
    assert judge_deliveries(deliveries) is verdict


def test_a_paper_whose_message_is_held_since_it_may_have_arrived_is_in_doubt() -> None:
    verdict = judge_deliveries([DeliveryState.HELD], has_doubtful_hold=True)
    assert verdict is Verdict.DOUBTFUL


@pytest.mark.parametrize(
    ("stored", "verdict"),
    [
        (due(), Verdict.WAITING),
        (due("paused"), Verdict.WAITING),
        (due("ended"), Verdict.DROPPED),
        (due(plan_after=3), Verdict.DROPPED),
        (due(to=FEED), Verdict.SHOWN),
        (due(destinations=()), Verdict.DROPPED),  # all have left
    ],
)
def test_a_match_without_a_digest_waits_unless_none_is_to_come(
    stored: DueSubscription, verdict: Verdict
) -> None:
    waiting = KeptMatch(3, None, Verdict.WAITING)
    assert judge(Kind.NEW, Met.ENTERED, waiting, of=stored) is verdict


@pytest.mark.parametrize(
    ("stored", "words"), [(due(), "the next digest"), (due("paused"), "the end of the pause")]
)
def test_what_waits_says_for_what(stored: DueSubscription, words: str) -> None:
    change = make_change(5, PAPER, Kind.NEW)
    waiting = KeptMatch(3, None, Verdict.WAITING)
    judged = judge_change(change, stored, (), waiting, is_matched=True)
    assert judged.verdict is Verdict.WAITING
    assert judged.why.endswith(words)


def test_a_feed_that_is_too_short_for_a_paper_says_how_far_back_it_goes() -> None:
    too_short = judge_feed(is_open=True, was_matched=True, is_shown=False, is_excluded=False)
    assert too_short == "it holds the newest 200 papers, of 30 days at most"
    shown = judge_feed(is_open=True, was_matched=True, is_shown=True, is_excluded=True)
    assert shown == ""


def test_where_nothing_is_asked_for_any_more_that_is_said() -> None:
    change = make_change(5, PAPER, Kind.NEW)
    judged = judge_change(change, due("ended"), (), None, is_matched=True)
    assert judged == Judged(Verdict.UNMET, "the saved queries that it follows are gone")


def test_what_was_found_since_the_last_pass_is_not_matched_yet() -> None:
    assert judge(is_matched=False, would_meet=True) is Verdict.PENDING


@pytest.mark.parametrize(
    ("kind", "met", "verdict"),
    [
        (Kind.REPLACEMENT, Met.STAYED, Verdict.OTHER_KIND),
        (Kind.REPLACEMENT, Met.ENTERED, Verdict.OTHER_KIND),
        (Kind.WITHDRAWAL, Met.LEFT, Verdict.OTHER_KIND),
        (Kind.CROSS_LIST, Met.STAYED, Verdict.NOT_NEW),
        (Kind.METADATA, Met.STAYED, Verdict.NOT_NEW),
        (Kind.REPLACEMENT, Met.LEFT, Verdict.NOT_NEW),
        (Kind.KNOWN, Met.ENTERED, Verdict.EARLIER),
        (Kind.NEW, Met.ENTERED, Verdict.EARLIER),
    ],
)
def test_what_a_saved_query_knew_and_the_subscription_did_not_get_has_one_reason(
    kind: Kind, met: Met, verdict: Verdict
) -> None:
    assert judge(kind, met) is verdict


def test_a_replacement_of_what_nobody_could_meet_before_counts_as_new() -> None:
    overtaken = judge(Kind.REPLACEMENT, Met.ENTERED, is_overtaken=True)
    assert overtaken is Verdict.EARLIER
    known = judge(Kind.REPLACEMENT, Met.ENTERED)
    assert known is Verdict.OTHER_KIND


def test_what_is_excluded_says_so() -> None:
    stored = due(exclude_papers=(ArxivId.parse("2611.15012"),))
    assert judge(Kind.NEW, Met.ENTERED, of=stored) is Verdict.EXCLUDED


def test_what_no_saved_query_knew_was_met_too_early_or_not_at_all() -> None:
    assert judge(would_meet=True) is Verdict.EARLIER
    assert judge(would_meet=False) is Verdict.UNMET


@given(st.lists(st.sampled_from(ORDER), min_size=1))
def test_a_paper_came_as_far_as_the_farthest_of_its_changes(verdicts: list[Verdict]) -> None:
    judged = [Judged(verdict, str(number)) for number, verdict in enumerate(verdicts)]
    chosen = judge_paper(judged)
    farthest = min(verdicts, key=ORDER.index)
    assert chosen.verdict is farthest
    alike = [number for number, verdict in enumerate(verdicts) if verdict is farthest]
    assert int(chosen.why) == max(alike)
