"""What a paper was before a moment: told where it is sure, and where it does not matter which it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import event, example, given
from hypothesis import strategies as st

from digest.comparing import Change, Horizon, KnownPaper, compare_papers, content_hash
from digest.papers import Paper, Version
from digest.planning.beforehand import MARGIN, Past, PastText, list_states, meet_states
from tests.unit.made_up import make_paper

WATCHING = Horizon()
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HISTORY = (Version(1, NOON - timedelta(days=30)), Version(2, NOON - timedelta(days=20)))


def harvested(**fields: Any) -> Paper:  # noqa: ANN401 - any field of Paper
    return make_paper(versions=HISTORY[: fields.get("version", 1)], datestamp=NOON.date(), **fields)


def store_text(paper: Paper, at: datetime, *, is_dated: bool = True) -> PastText:
    return PastText(replace(paper, datestamp=None), content_hash(paper), at, is_dated)


def test_a_state_told_before_the_moment_is_the_one_of_today() -> None:
    text = store_text(harvested(), NOON - timedelta(days=4))
    told = NOON - timedelta(days=2)
    (state,) = list_states(Past((text,), 0, date(2026, 11, 18), told), NOON, was_harvested=True)
    assert (state.paper.datestamp, state.as_of) == (date(2026, 11, 18), told)


def test_of_a_paper_that_moved_since_the_text_is_known_and_its_dates_are_not() -> None:
    first, second = (store_text(harvested(version=number), NOON - timedelta(days=9 - number)) for number in (1, 2))
    states = list_states(Past((first, second), None, NOON.date(), NOON), NOON, was_harvested=True)
    assert {state.version_id for state in states} == {1}
    assert states[0].as_of == second.stored_at
    assert states[0].paper.datestamp == second.stored_at.date()
    assert all(state.earlier == {first.content_hash} for state in states)


def test_a_paper_only_searches_told_of_has_no_datestamp() -> None:
    states = list_states(
        Past((store_text(make_paper(), NOON - timedelta(days=9)),), None, None, NOON), NOON, was_harvested=True
    )
    assert {state.paper.datestamp for state in states} == {None}


def test_texts_of_a_release_that_kept_no_datestamps_may_have_none() -> None:
    text = store_text(harvested(), NOON - timedelta(days=9), is_dated=False)
    states = list_states(Past((text,), None, NOON.date(), NOON), NOON, was_harvested=True)
    assert {state.paper.datestamp for state in states} > {None}


def test_a_replacement_comes_out_whatever_was_known_before_it() -> None:
    text = store_text(harvested(), NOON - timedelta(days=9))
    states = list_states(Past((text,), None, NOON.date(), NOON), NOON, was_harvested=True)
    after = meet_states(states, [harvested(version=2)], NOON)
    assert after is not None
    assert [(state.paper.version, state.as_of, state.paper.datestamp) for state in after] == [
        (2, NOON, NOON.date())
    ]


def test_of_two_texts_of_one_version_either_may_have_been_the_last() -> None:
    plain, crossed = harvested(), harvested(categories=("cs.PF", "cs.DC"))
    texts = (store_text(plain, NOON - timedelta(days=30)), store_text(crossed, NOON - timedelta(days=20)))
    states = list_states(Past(texts, 0, NOON.date(), NOON + timedelta(days=3)), NOON, was_harvested=True)
    assert {state.version_id for state in states} == {0, 1}
    assert meet_states(states, [plain], NOON) is None


@dataclass(frozen=True)
class Answer:
    """An answer of arXiv's: what it says, hours after the one before, and how old it is."""

    paper: Paper
    hours: int
    minutes_late: int
    days_ago: int
    is_harvest: bool

    def date_from(self, told: datetime) -> Paper:
        if not self.is_harvest:
            return self.paper
        day = told.date() - timedelta(days=self.days_ago)
        return replace(self.paper, versions=HISTORY[: self.paper.version], datestamp=day)


answers = st.builds(
    Answer,
    paper=st.builds(
        make_paper,
        version=st.sampled_from([1, 1, 1, 2]),
        comment=st.sampled_from(["", "accepted"]),
        categories=st.sampled_from([("cs.PF",), ("cs.PF", "cs.DC")]),
    ),
    hours=st.sampled_from([1, 5, 20, 30, 80]),
    minutes_late=st.integers(0, 59),
    days_ago=st.integers(0, 3),
    is_harvest=st.booleans(),
)


Outcome = tuple[tuple[object, ...], ...]


class Shelf:
    """One paper as a store keeps it: every text once, and which of them it has now."""

    def __init__(self) -> None:
        self.texts: list[PastText] = []
        self.known: KnownPaper | None = None

    def meet(self, came: Paper, now: datetime, told: datetime) -> Outcome:
        known = {came.id: self.known} if self.known else {}
        changes = compare_papers([came], known, WATCHING, told)
        for change in changes:
            key = (change.paper.version, content_hash(change.paper))
            if key not in self.keys:
                self.texts.append(store_text(change.paper, now))
            place = self.keys.index(key)
            paper = replace(self.texts[place].paper, datestamp=change.paper.datestamp)
            earlier = frozenset(text.content_hash for text in self.texts) - {key[1]}
            self.known = KnownPaper(0, place, paper, told, earlier)
        return describe(changes)

    @property
    def keys(self) -> list[tuple[int, str]]:
        return [(text.paper.version, text.content_hash) for text in self.texts]

    def remember(self, count: int) -> Past:
        """Return what is still to be seen today of the time when there were so many texts."""
        assert self.known is not None
        present = self.known.version_id if self.known.version_id < count else None
        return Past(tuple(self.texts[:count]), present, self.known.paper.datestamp, self.known.as_of)


def describe(changes: Sequence[Change]) -> Outcome:
    return tuple((change.kind, change.fields, content_hash(change.paper)) for change in changes)


def answer(version: int, comment: str, *, is_harvest: bool) -> Answer:
    paper = make_paper(version=version, comment=comment, categories=("cs.PF",))
    return Answer(paper, hours=1, minutes_late=0, days_ago=0, is_harvest=is_harvest)


@given(st.lists(answers, min_size=1, max_size=6), st.lists(answers, min_size=1, max_size=5))
@example(  # a version the search told first keeps the history of the one before it
    [answer(1, "", is_harvest=True), answer(2, "", is_harvest=False)], [answer(2, "accepted", is_harvest=False)]
)
def test_where_all_states_agree_they_say_what_the_true_one_says(before: list[Answer], since: list[Answer]) -> None:
    """Live through answers before and since a moment, then go through the latter with what is still to be seen."""
    shelf, now, moment, count = Shelf(), NOON, NOON, 0
    later: list[tuple[Paper, datetime, Outcome]] = []
    for number, answer in enumerate((*before, *since)):
        now += timedelta(hours=answer.hours)
        if number == len(before):
            moment, count = now, len(shelf.texts)
        told = now - timedelta(minutes=answer.minutes_late)
        came = answer.date_from(told)
        outcome = shelf.meet(came, now, told)
        if number >= len(before):
            later.append((came, told, outcome))
    states: tuple[KnownPaper, ...] | None = list_states(
        shelf.remember(count), moment, was_harvested=any(answer.is_harvest for answer in before)
    )
    for came, told, outcome in later:
        assert states is not None
        again = compare_papers([came], {came.id: states[0]}, WATCHING, told)
        states = meet_states(states, [came], told)
        if states is None:
            event("which state it was matters")
            return
        assert describe(again) == outcome
    event("it is sure what comes out")


def test_the_margin_is_as_long_as_a_list_may_lie_in_a_cache() -> None:
    assert timedelta(hours=1) == MARGIN
