"""A year of cadences, judged against an oracle: `python -m tests.battery.year --seed 1`.

One installation lives through a year of made-up mailings beside the fake arXiv, by the real pipeline on a
real SQLite file, in process under a simulated clock: holidays, deferred mailings, outages, downtimes, weeks by
cron, edits of cadences, zones and quiet hours, pauses by file and by command.
In the end every paper must be in exactly one digest of each subscription that asked for it, in time, under slots
that grow; and `digest explain` must say the same of every paper and subscription.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path

import click

from digest.model.announcements import EASTERN
from digest.model.clock import ManualClock
from tests.battery.year_explained import compare_explanations
from tests.battery.year_installation import YearInstallation
from tests.battery.year_life import Life
from tests.battery.year_oracle import Year, YearVerdict
from tests.battery.year_papers import judge, make_year
from tests.battery.year_plan import Plan
from tests.fakes.arxiv import DemoArxiv


def live_year(plan: Plan, folder: Path, tell: Callable[[str], None], *, explainers: int = 1) -> YearVerdict:
    """Live a year in an empty folder, and judge it; so many `explainers` ask about every paper, 0 for nobody."""
    rng = random.Random(plan.seed)  # noqa: S311 - made-up papers, no secret
    papers = list(make_year(plan.first, plan.last, a_mailing=plan.a_mailing, rng=rng))
    begin = datetime.combine(plan.first - timedelta(days=2), time_of_day(12), tzinfo=EASTERN)
    clock = ManualClock(begin)
    home = folder / "home"
    home.mkdir()
    known = list(make_year(date(2025, 12, 15), date(2025, 12, 17), a_mailing=6, rng=rng))
    with DemoArxiv([*known, *papers], clock, pace=3.0) as arxiv:
        here = YearInstallation(home, arxiv)
        life = Life(plan, arxiv, clock, here, tell=tell)
        life.live()
        made = {paper.id: judge(paper) for paper in papers}
        verdict = Year(here.database, life.diary, made).judge()
        verdict.counts |= life.diary.counts
        for visit in arxiv.violations:
            verdict.accuse("arXiv was asked too soon", str(visit))
    if explainers:
        tell("\n".join(("what was told:", *verdict.list_lines(), "", "what is explained:")))
        compare_explanations(here.database, life.diary, made, verdict, tell, workers=explainers)
    return verdict


@click.command(help=__doc__)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--weeks", type=int, default=52, show_default=True)
@click.option("--subscriptions", type=int, default=Plan(1).subscriptions, show_default=True)
@click.option("--explain/--no-explain", default=True, help="Ask about each paper and subscription in the end.")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where the installation lives and stays afterwards."
)
def main(*, seed: int, weeks: int, subscriptions: int, explain: bool, folder: Path | None) -> None:
    """Live one year, print what it came to, and exit with 1 where anything is wrong."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="year-") as scratch:
        home = folder or Path(scratch)
        home.mkdir(parents=True, exist_ok=True)
        plan = scale(replace(Plan(seed), subscriptions=subscriptions), weeks)
        workers = len(os.sched_getaffinity(0)) if explain else 0
        verdict = live_year(plan, home, click.echo, explainers=workers)
    click.echo("\n".join((f"seed {seed}, {time.monotonic() - begun:.0f} s", *verdict.list_lines())))
    raise SystemExit(bool(verdict.findings))


def scale(whole: Plan, weeks: int) -> Plan:
    """Return a plan for so many weeks with as much in each."""
    share = weeks / 52
    counts = ("downtimes", "outages")
    part = {name: max(round(getattr(whole, name) * share), 1) for name in counts}
    return replace(whole, last=min(whole.last, whole.first + timedelta(weeks=weeks)), **part)


if __name__ == "__main__":
    main()
