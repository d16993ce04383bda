from hypothesis import given
from hypothesis import strategies as st

from digest.model.subscriptions import Abstracts
from digest.render.mail import STEPS, Fit, fit_papers

FULL, SHORT, NONE = STEPS
SIZES = {FULL: 1_000, SHORT: 170, NONE: 0}


def _measure(fit: Fit) -> int:
    return 500 + fit.papers * (300 + SIZES[fit.abstracts])


def test_whole_abstracts_are_kept_as_long_as_they_fit() -> None:
    assert fit_papers(10, _measure, 13_500) == Fit(10, FULL)


def test_abstracts_shorten_in_steps_before_any_paper_is_left_out() -> None:
    assert [fit_papers(10, _measure, budget) for budget in (13_499, 5_199)] == [Fit(10, SHORT), Fit(10, NONE)]


def test_no_more_is_shown_of_an_abstract_than_is_wanted() -> None:
    assert [fit_papers(10, _measure, wanted=wanted).abstracts for wanted in Abstracts] == list(Abstracts)


def test_then_as_many_papers_are_shown_as_fit() -> None:
    assert fit_papers(10, _measure, 2_000) == Fit(5, NONE)
    assert fit_papers(10, _measure, 100) == Fit(0, NONE)
    assert fit_papers(0, _measure, 500) == Fit(0, FULL)


@given(st.integers(0, 400), st.integers(500, 200_000))
def test_the_choice_fits_and_a_fuller_one_would_not(most: int, budget: int) -> None:
    fit = fit_papers(most, _measure, budget)
    assert _measure(fit) <= budget
    if fit.papers < most:
        assert _measure(Fit(fit.papers + 1, NONE)) > budget
    elif fit.abstracts is not FULL:
        assert _measure(Fit(most, STEPS[STEPS.index(fit.abstracts) - 1])) > budget
