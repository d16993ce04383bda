from hypothesis import given
from hypothesis import strategies as st

from digest.render.mail import STEPS, Fit, fit_papers


def _measure(fit: Fit) -> int:
    abstract = 1_000 if fit.abstract_limit is None else fit.abstract_limit
    return 500 + fit.papers * (300 + abstract)


def test_whole_abstracts_are_kept_as_long_as_they_fit() -> None:
    assert fit_papers(10, _measure, 13_500) == Fit(10, None)


def test_abstracts_shorten_in_steps_before_any_paper_is_left_out() -> None:
    assert [fit_papers(10, _measure, budget) for budget in (13_499, 7_499, 5_499)] == [
        Fit(10, 400),
        Fit(10, 200),
        Fit(10, 0),
    ]


def test_then_as_many_papers_are_shown_as_fit() -> None:
    assert fit_papers(10, _measure, 2_000) == Fit(5, 0)
    assert fit_papers(10, _measure, 100) == Fit(0, 0)
    assert fit_papers(0, _measure, 500) == Fit(0, None)


@given(st.integers(0, 400), st.integers(500, 200_000))
def test_the_choice_fits_and_a_fuller_one_would_not(most: int, budget: int) -> None:
    fit = fit_papers(most, _measure, budget)
    assert _measure(fit) <= budget
    if fit.papers < most:
        assert _measure(Fit(fit.papers + 1, 0)) > budget
    elif fit.abstract_limit is not None:
        assert _measure(Fit(most, STEPS[STEPS.index(fit.abstract_limit) - 1])) > budget
