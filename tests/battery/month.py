"""A month beside arXiv on bad days, judged against an oracle: `python -m tests.battery.month --seed 1`.

Real `digest` processes live through thirty announcements of real papers under the stand-in's simulated clock.
One request in five goes wrong, processes are killed, papers are cross-listed, withdrawn and edited; in the
end every paper must be stored once and told once, every change once, and no quiet day may have been false.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click

from tests.battery.month_arxiv import MonthArxiv, list_cut
from tests.battery.month_installation import MonthInstallation
from tests.battery.month_life import Life, Plan, Tally
from tests.battery.month_oracle import Oracle
from tests.battery.month_table import write_table
from tests.battery.month_verdict import MonthVerdict, judge
from tests.fakes.mail import MailSink

BEGIN = datetime(2016, 8, 5, 12, tzinfo=UTC)
"""A Friday noon, so that thirty announcements are six whole weeks of the papers there are."""

_FEWEST = {"cross-listed": 50, "withdrawn": 50}
_FEWEST_KILLS = 20
_LEAST_SPOILED = 0.15
_FINE_EXITS = (0, 4)


@dataclass(frozen=True)
class Month:
    """A month lived through, judged, and as a table; `spoiled` is the share of requests that went wrong."""

    tally: Tally
    verdict: MonthVerdict
    table: tuple[str, ...]
    spoiled: float

    @property
    def findings(self) -> tuple[str, ...]:
        """Everything that is wrong, in lines; () for a good month."""
        return tuple(self.verdict.list_findings())


def live_month(plan: Plan, arxiv: MonthArxiv, folder: Path, *, is_verbose: bool = False) -> Month:
    """Live a month beside an arXiv, in an empty folder, and judge it."""
    tell = click.echo if is_verbose else lambda _: None
    with MailSink() as mail:
        here = MonthInstallation(folder, arxiv.url, mail)
        oracle = Oracle(f"{arxiv.url}/oai", arxiv.advance, arxiv.lag)
        tally = Life(plan, arxiv, here, oracle, tell).live()
        asked = arxiv.list_asked()
        verdict = judge(folder, oracle, tally, mail.mails, list_cut(asked))
    if tally.oracle_missed:
        verdict.accuse("the oracle itself missed something", f"{tally.oracle_missed} states")
    for one in asked:
        if one.violation:
            verdict.accuse("pace violated", f"{one.at} {one.violation}: {one.url}")
    for number, ended in enumerate(here.endings):
        if not ended.was_killed and ended.code not in _FINE_EXITS:
            last = ended.errors.strip().splitlines()[-1:] or [""]
            verdict.accuse("a run ended badly", f"run {number}: exit {ended.code}: {last[0]}")
    spoiled = sum(bool(one.kind) for one in asked) / max(len(asked), 1)
    return Month(tally, verdict, tuple(write_table(tally, verdict, asked, here.endings)), spoiled)


def demand_hardship(month: Month) -> None:
    """Hold a whole month to what it was meant to bring: enough changes, kills and faults."""
    for kind, fewest in _FEWEST.items():
        if month.verdict.expected[kind] < fewest:
            month.verdict.accuse("too easy", f"{month.verdict.expected[kind]} × {kind}, not {fewest}")
    if month.tally.kills < _FEWEST_KILLS:
        month.verdict.accuse("too easy", f"{month.tally.kills} kills, not {_FEWEST_KILLS}")
    if month.spoiled < _LEAST_SPOILED:
        month.verdict.accuse("too easy", f"{month.spoiled:.1%} of requests spoiled")


@click.command(help=__doc__)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--announcements", type=int, default=30, show_default=True)
@click.option("--share", type=float, default=1.0, show_default=True, help="The part of the papers that is served.")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where the installation lives and stays afterwards."
)
def main(*, seed: int, announcements: int, share: float, folder: Path | None) -> None:
    """Live one month, print its table, and exit with 1 where anything is wrong."""
    real_data = os.environ.get("DIGEST_REAL_DATA")
    if not real_data:
        raise click.UsageError("DIGEST_REAL_DATA names no folder of real papers with its stand-in")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="month-") as scratch:
        home = folder or Path(scratch) / "home"
        home.mkdir(parents=True, exist_ok=True)
        plan = scale(Plan(seed), announcements)
        with MonthArxiv(Path(real_data), Path(scratch), BEGIN, share=share) as arxiv:
            click.echo(
                f"seed {seed}: {arxiv.papers:,} papers served, {arxiv.short_ids} with an id short of its last zero"
            )
            month = live_month(plan, arxiv, home, is_verbose=True)
    if announcements >= Plan(seed).announcements:
        demand_hardship(month)
    click.echo("\n".join(("", f"seed {seed}, {time.monotonic() - begun:.0f} s", *month.table, *month.findings)))
    raise SystemExit(bool(month.verdict.findings))


def scale(whole: Plan, announcements: int) -> Plan:
    """Return a plan for fewer announcements with as much in each."""
    counts = ("cross_lists", "withdrawals", "edits", "kills")
    part = {name: round(getattr(whole, name) * announcements / whole.announcements) for name in counts}
    return replace(whole, announcements=announcements, **part)


if __name__ == "__main__":
    main()
