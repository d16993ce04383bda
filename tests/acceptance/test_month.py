"""A few days beside a bad-tempered arXiv, with real processes that are killed: the battery's month in small."""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from tests.battery.month import live_month
from tests.battery.month_life import Plan
from tests.battery.month_made_up import MadeUpArxiv
from tests.conftest import IS_NIGHTLY

SUNDAY = datetime(2026, 3, 8, 17, tzinfo=UTC)
CRON = (time(6, 15), time(9, 15), time(22, 45))


@pytest.mark.skipif(not IS_NIGHTLY, reason="takes a minute; single deaths and faults are tried every day")
@pytest.mark.timeout(300)
def test_three_mailings_through_faults_and_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    plan = Plan(seed=1, mailings=3, cross_lists=6, withdrawals=6, edits=2, kills=3, at=CRON)
    with MadeUpArxiv(SUNDAY, plan.mailings, plan.seed) as arxiv:
        month = live_month(plan, arxiv, tmp_path)
    assert not month.findings, "\n".join((*month.table, *month.findings))
    assert month.tally.kills >= 2
    assert month.verdict.counts["announced"] > 60
