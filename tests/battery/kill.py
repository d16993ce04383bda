"""Kills the product while it works, and judges what came of it: `python -m tests.battery.kill --seed 1`.

Real processes of `digest serve` over a real database, beside a small arXiv, a mail server and a Slack that
loses answers. They are killed, paused and in the end restarted in good order; nothing may be lost, nothing
may come twice in Slack or in a feed, and few mails may. With `--planted` faults are built in on purpose, and
the same judge must find each.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from digest.config import load_config
from digest.model.messages import FEED_DAYS
from digest.plan.links import make_links
from digest.store import open_store
from tests.battery.kill_book import Book
from tests.battery.kill_clocks import HostClock
from tests.battery.kill_life import Life, Tally, World
from tests.battery.kill_plan import LEASE, MODES, KillPlan, write_installation
from tests.battery.kill_verdict import Evidence, KillVerdict, judge, judge_feeds
from tests.battery.kill_world import (
    BEGIN,
    CountingMail,
    LossySlack,
    PacedClock,
    Press,
    open_database,
)
from tests.battery.replicas import Replica, count_complaints
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.slack import TOKEN
from tests.simulator.planted import FAULTS

_AMBIGUOUS_WAIT = 5
_PACE = 3.0
_FEEDS_WITHIN = 60.0
"""Seconds for which feeds may go on lacking something at the end, however busy the machine is."""


@dataclass(frozen=True)
class Outcome:
    """A battery lived through and judged."""

    tally: Tally
    verdict: KillVerdict
    lines: tuple[str, ...]


def run_battery(
    plan: KillPlan, folder: Path, tell: Callable[[str], object] = lambda _: None, *, fault: str = ""
) -> Outcome:
    """Live through one battery in an empty folder; `fault` is the name of one that is planted."""
    readers = plan.list_readers()
    channels = tuple(channel for reader in readers for channel in reader.channels)
    clock = PacedClock(BEGIN)
    press = Press(plan.seed)
    marker = folder / "now"
    with ExitStack() as stack:
        arxiv = stack.enter_context(DemoArxiv((), clock, pace=_PACE, is_strict=False))
        mail = stack.enter_context(CountingMail())
        slack = stack.enter_context(LossySlack(clock, channels, seed=plan.seed, lossy=plan.lossy))
        database = stack.enter_context(open_database(plan.mode, folder))
        file = folder / "digest.toml"
        places = {"arxiv": arxiv.url, "mail": mail.url, "slack": slack.url, "database": database}
        file.write_text(
            write_installation(readers, **places, ambiguous_wait=_AMBIGUOUS_WAIT), encoding="utf-8"
        )
        environment = {"DIGEST_SLACK_TOKEN": TOKEN} | (
            {} if plan.skew else {"DIGEST_TEST_CLOCK": arxiv.clock_url}
        )
        store = open_store(database, create=True)
        stack.callback(store.close)
        with store.read() as conn:
            links = make_links(conn, load_config(file, environment))
        book = Book(store, links, [reader.name for reader in readers])
        replicas = [
            Replica(
                number,
                folder,
                environment,
                _command(plan, fault, marker),
                _make_clock(plan, clock, folder, number),
            )
            for number in range(plan.replicas)
        ]
        for replica in replicas:
            stack.callback(replica.kill)
        life = Life(plan, World(clock, arxiv, mail, slack, press, book, marker), replicas, tell)
        tally = life.live()
        verdict = judge(
            Evidence(plan, readers, tally, book, press.categories, mail.arrivals, slack.arrivals)
        )
        window = clock.now() - timedelta(days=FEED_DAYS)
        old = {paper for paper, found_by in tally.known_by.items() if found_by < window}
        until = time.monotonic() + _FEEDS_WITHIN
        seen = KillVerdict()
        while not seen.figures or (seen.findings and time.monotonic() < until):
            seen = KillVerdict()
            feeds = {
                one.name: [life.read_feed(replica, one.name) for replica in replicas]
                for one in readers
            }
            judge_feeds(seen, readers, press.categories, feeds, old)
        verdict.add(seen)
        for replica in replicas:
            replica.ask_to_stop()
        for replica in replicas:
            replica.await_stop()
            for strange in replica.strange_exits:
                verdict.accuse("ended by itself", strange)
        for visit in arxiv.violations:
            verdict.accuse(
                "pace",
                f"{visit.at:%H:%M:%S} {visit.path} came {visit.gap or 0:.2f} s after the last",
            )
        verdict.figures |= {
            "requests to arXiv": len(arxiv.requests),
            "answers lost": slack.lost,
            "posts too soon": slack.limited,
        }
        lines = _write_table(plan, tally, verdict, replicas, press.late)
    return Outcome(tally, verdict, tuple(lines))


def _make_clock(plan: KillPlan, clock: PacedClock, folder: Path, number: int) -> HostClock | None:
    if not plan.skew:
        return None
    return HostClock(clock, folder / f"host-{number}.clock", plan.skew, f"{plan.seed} {number}")


def _command(plan: KillPlan, fault: str, marker: Path) -> list[str]:
    if not fault and plan.lease == LEASE:
        return ["digest", "serve"]
    options = [
        "--lease",
        f"{plan.lease:g}",
        *(["--fault", fault, "--marker", str(marker)] if fault else []),
    ]
    return ["tests.battery.kill_launcher", *options]


def _write_table(
    plan: KillPlan, tally: Tally, verdict: KillVerdict, replicas: list[Replica], late: int
) -> list[str]:
    done = {
        "seed": plan.seed,
        "kills": tally.kills,
        "pauses": f"{tally.pauses} ({tally.long_pauses} longer than a lease of {plan.lease:g} s)",
        "restarts": tally.restarts,
        "steps": tally.steps,
        "papers out late": late,
        "processes": sum(replica.starts for replica in replicas),
        "feeds read on the way": tally.feeds_read,
        "held mails sent again by the operator": len(tally.helped),
        "seconds": {name: round(seconds) for name, seconds in tally.seconds.items()},
    }
    complaints = count_complaints(replicas).most_common(6)
    return [
        *(f"{name:>40}: {value}" for name, value in {**done, **verdict.figures}.items()),
        *(f"{'log':>40}: {count} × {line}" for line, count in complaints),
        *verdict.list_findings(),
    ]


def run_planted(seed: int, tell: Callable[[str], object]) -> bool:
    """Run one small battery without and one with each fault.

    Return whether all came out as they should.
    """
    control = run_fault("", seed)
    are_right = [not control.verdict.findings]
    tell(f"{'no fault':>17}: {_describe_findings(control) or 'nothing found, as it should be'}")
    for name, fault in FAULTS.items():
        outcome = run_fault(name, seed)
        is_found = bool(outcome.verdict.findings.keys() & {*fault.found_by})
        are_right.append(is_found)
        tell(
            f"{name:>17}: {'found' if is_found else 'NOT FOUND'} · {fault.what} · {_describe_findings(outcome)}"
        )
    tell(f"{sum(are_right)} of {len(are_right)} as they should be, seed {seed}")
    return all(are_right)


def run_fault(name: str, seed: int) -> Outcome:
    """Run one small battery; `name` is "" for none."""
    fault = FAULTS.get(name)
    plan = KillPlan(
        seed=seed,
        mode="sqlite",
        deliveries=60,
        kills=2,
        pauses=0,
        long_pauses=0,
        restarts=fault.restarts if fault else 0,
        lossy=0.2,
        at_marks=fault is not None and fault.needs_death,
    )
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        return run_battery(plan, Path(folder), fault=name)


def _describe_findings(outcome: Outcome) -> str:
    return ", ".join(
        f"{check} × {len(found)}" for check, found in sorted(outcome.verdict.findings.items())
    )


@click.command(help=__doc__)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--mode", type=click.Choice([*MODES, "both"]), default="both", show_default=True)
@click.option("--kills", type=int, default=200, show_default=True)
@click.option("--deliveries", type=int, default=8_000, show_default=True)
@click.option("--pauses", type=int, default=24, show_default=True)
@click.option(
    "--long-pauses", type=int, default=2, show_default=True, help="Of these, longer than a lease."
)
@click.option("--restarts", type=int, default=54, show_default=True)
@click.option(
    "--lease",
    type=float,
    default=LEASE,
    show_default=True,
    help="Seconds; shorter ones only for a try.",
)
@click.option(
    "--lossy",
    type=float,
    default=0.03,
    show_default=True,
    help="The part of Slack's answers that is lost.",
)
@click.option(
    "--skew",
    type=float,
    default=0.0,
    help="Seconds that hosts' clocks are ahead or behind, by libfaketime.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where the installations live and stay afterwards.",
)
@click.option(
    "--planted", is_flag=True, help="Build faults in, one after the other, and see each found."
)
def main(*, mode: str, folder: Path | None, planted: bool, **figures: Any) -> None:  # noqa: ANN401 - of a plan
    """Live one battery on each kind of database, print its figures, and exit with 1 if anything is wrong."""
    signal.signal(signal.SIGTERM, _leave)
    if planted:
        raise SystemExit(not run_planted(figures["seed"], click.echo))
    are_held = []
    for kind in MODES if mode == "both" else (mode,):
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kill-") as scratch:
            home = (folder or Path(scratch)) / kind
            home.mkdir(parents=True, exist_ok=True)
            outcome = run_battery(KillPlan(mode=kind, **figures), home, click.echo)
        click.echo("\n".join(outcome.lines))
        are_held.append(not outcome.verdict.findings)
        said = "held" if are_held[-1] else "BREACHED"
        click.echo(f"{said}: seed {figures['seed']}, {kind}, {time.monotonic() - begun:.0f} s")
    raise SystemExit(not all(are_held))


def _leave(number: int, _frame: object) -> None:
    """End as an error would, so that no process stays behind."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
