"""What a look says it met."""

from __future__ import annotations

import pytest

from digest.model.announcements import Kind
from digest.poll.record import PollReport


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (
            PollReport(is_bootstrap=True, kinds={Kind.KNOWN: 3_158}),
            "3,158 papers, known from now on",
        ),
        (PollReport(is_bootstrap=True, kinds={Kind.KNOWN: 1}), "1 paper, known from now on"),
        (
            PollReport(kinds={Kind.KNOWN: 14, Kind.NEW: 315}),
            "315 new · 14 from before the first check",
        ),
        (PollReport(), "nothing changed"),
    ],
)
def test_a_first_digest_says_how_much_it_met_and_any_other_what_changed(
    report: PollReport, words: str
) -> None:
    assert report.describe_changes() == words
