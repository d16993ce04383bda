"""Three weeks of cadences beside the fake arXiv: the battery's year in small."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.battery.year import live_year
from tests.battery.year_plan import Plan
from tests.conftest import IS_NIGHTLY


@pytest.mark.skipif(not IS_NIGHTLY, reason="half a minute: .ci/nightly sets DIGEST_NIGHTLY")
@pytest.mark.timeout(600)
def test_weeks_of_edits_pauses_outages_and_new_zones_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    plan = Plan(
        seed=5,
        first=date(2026, 3, 22),
        last=date(2026, 4, 12),
        subscriptions=16,
        a_mailing=6,
        a_week=12,
        downtimes=2,
        outages=2,
        releases=2,
        longest_pause=7,
    )
    verdict = live_year(plan, tmp_path, lambda _: None, explainers=1)
    assert not verdict.accusations, "\n".join(verdict.describe())
    assert verdict.counts["downtimes"] == verdict.counts["outages"] == verdict.counts["releases"] == 2
    assert verdict.counts["edits"] > 3
    assert verdict.counts["papers told, each to one subscription"] > 500
