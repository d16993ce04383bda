"""What `digest verify` says of listings that prove nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from digest.cli.verify import _print, describe_verdict
from digest.papers import ArxivId
from digest.pipeline.verifying import FailedSlice, Verification
from digest.planning.slices import SLICES
from digest.planning.verifying import Comparison, ListedPaper, SliceState, SliceVerdict

WED, THU = date(2026, 11, 18), date(2026, 11, 19)
CS1, CS2, CS3, PHYSICS1, PHYSICS2, MATH, REST = SLICES
ALL_READ = tuple(SliceVerdict(one, SliceState.READ, THU, 9) for one in SLICES)


def test_each_slice_that_proves_nothing_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = (
        SliceVerdict(CS1, SliceState.READ, THU, 412, unreadable=2),
        SliceVerdict(CS2, SliceState.CUT, THU, 1_950),
        SliceVerdict(CS3, SliceState.OTHER, WED, 380),
        SliceVerdict(PHYSICS1, SliceState.EMPTY, THU),
        SliceVerdict(PHYSICS2, SliceState.EMPTY, THU, 3, unreadable=3),
        SliceVerdict(MATH, SliceState.UNREAD),
        SliceVerdict(REST, SliceState.UNREAD),
    )
    failed = FailedSlice(MATH, datetime(2026, 11, 20, 5, 35, tzinfo=UTC), "arXiv asks to be spared (503)")
    _print(Verification(THU, Comparison(THU, verdicts, new=98, stale=("cs.LG",)), failed=(failed,)))
    assert capsys.readouterr().out.splitlines() == [
        "mailing of Thu 19 Nov: 98 listed as new, all stored; 1 of 7 slices compared.",
        "",
        "not compared:",
        "  cs 1 of 3: 2 lines of 412 can't be read",
        "  cs 2 of 3: 1,950 lines are so many that arXiv may have cut new papers off",
        "  cs 3 of 3: shows the mailing of Wed 18 Nov",
        "  physics 1 of 2: lists nothing",
        "  physics 2 of 2: 3 lines of 3 can't be read",
        "  math: not read, Fri 00:35 ET: arXiv asks to be spared (503)",
        "  econ, eess, q-bio, q-fin, stat: not read",
        "  cs.LG: lists nothing but papers of older mailings as new",
    ]


def test_where_nothing_was_proved_what_is_plain_is_not_listed_slice_by_slice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    verdicts = (
        SliceVerdict(CS1, SliceState.EMPTY, THU),
        SliceVerdict(CS2, SliceState.OTHER, WED, 380),
        *(SliceVerdict(one, SliceState.UNREAD) for one in SLICES[2:]),
    )
    _print(Verification(THU, Comparison(THU, verdicts), why_not="no listing shows it"))
    assert capsys.readouterr().out.splitlines() == [
        "mailing of Thu 19 Nov: not verified, no listing shows it.",
        "",
        "not compared:",
        "  cs 2 of 3: shows the mailing of Wed 18 Nov",
    ]


@pytest.mark.parametrize(
    ("new", "crosses", "words"),
    [
        (3, 0, "1,412 listed as new; 3 of them NOT stored"),
        (0, 1, "1,412 listed as new; 1 cross-list NOT stored"),
        (3, 2, "1,412 listed as new; 3 of them and 2 cross-lists NOT stored"),
        (
            1_400,
            0,
            "1,412 listed as new, 1,400 not stored: it has not come here yet, `digest run --now` asks for it",
        ),
    ],
)
def test_the_verdict_counts_what_is_missing(new: int, crosses: int, words: str) -> None:
    kinds = ["new"] * new + ["cross"] * crosses
    missing = tuple(
        ListedPaper(ArxivId(202611, number), 1, kind, "cs.PF") for number, kind in enumerate(kinds, start=1)
    )
    found = Comparison(THU, ALL_READ, new=1_412, missing=missing, missing_new=new)
    assert describe_verdict(Verification(THU, found)) == words


def test_what_makes_the_difference_to_the_count_of_the_mailing_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known, elsewhere = (ArxivId(202611, 485),), (ArxivId(202611, 14_900), ArxivId(202611, 14_901))
    _print(Verification(THU, Comparison(THU, ALL_READ, new=329, known=known, elsewhere=elsewhere)))
    first, *rest = capsys.readouterr().out.splitlines()
    apart = "1 of them known from before, by their ids; 2 of them counted with another mailing"
    assert first == f"mailing of Thu 19 Nov: 329 listed as new, all stored; {apart}."
    assert rest == [
        "",
        "no news here, for their ids are no newer than the first look's (1):",
        "  2611.00485",
        "",
        "counted with another mailing, as the order of ids has it (2):",
        "  2611.14900 2611.14901",
    ]
    _print(Verification(THU, Comparison(THU, ALL_READ, new=1, known=known)))
    assert capsys.readouterr().out.splitlines() == [
        "mailing of Thu 19 Nov: 1 listed as new, all stored; all of them known from before, by their ids."
    ]


def test_very_many_ids_are_cut_and_the_rest_counted(capsys: pytest.CaptureFixture[str]) -> None:
    unlisted = tuple(ArxivId(202611, number) for number in range(1, 402))
    _print(Verification(THU, Comparison(THU, ALL_READ, new=900, unlisted=unlisted)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("all stored; 401 stored but not listed.")
    assert lines[-1] == "  … and 101 more; --json names all"
    assert max(map(len, lines)) <= 102
