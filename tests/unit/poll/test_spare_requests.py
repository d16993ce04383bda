"""What can wait never takes more requests than the budget of a run and of a day has left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.poll.rules import REQUESTS_A_DAY, REQUESTS_A_RUN, spare_requests

MADE = st.integers(0, 200)


@given(MADE, MADE)
def test_what_is_spare_fits_into_the_run_and_into_the_day(made_in_run: int, made_in_day: int) -> None:
    spare = spare_requests(made_in_run, made_in_day)
    assert spare == 0 or made_in_run + spare <= REQUESTS_A_RUN
    assert spare == 0 or made_in_day + spare <= REQUESTS_A_DAY


def test_a_run_that_has_asked_nothing_yet_may_spend_its_whole_budget() -> None:
    assert spare_requests(0, 0) == REQUESTS_A_RUN
