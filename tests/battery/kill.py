"""Kills the product while it works, and judges what came of it.

Run it by `python -m tests.battery.kill --seed 1`.

Real processes of `digest serve` over a real database, beside a small arXiv, a mail server and a
Slack that loses answers. They are killed, paused and in the end restarted in good order; nothing
may be lost, nothing may come twice in Slack or in a feed, and few mails may. With `--planted`
faults are built in on purpose, and the same judge must find each.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
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
from tests.battery.kill_life import KillRun, Surroundings, Tally
from tests.battery.kill_plan import LEASE, MODES, KillPlan, Reader, write_installation
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
from tests.harness.installation import installed
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
    clock = PacedClock(BEGIN)
    channels: list[str] = []
    for reader in readers:
        channels += reader.channels
    with (
        open_database(plan.mode, folder) as database,
        installed(
            Surroundings,
            folder,
            DemoArxiv((), clock, pace=_PACE, is_strict=False),
            mail=CountingMail(),
            slack=LossySlack(clock, tuple(channels), seed=plan.seed, lossy=plan.lossy),
            press=Press(plan.seed),
            marker=folder / "now",
        ) as world,
        closing(open_store(database, create=True)) as store,
        ExitStack() as stack,
    ):
        world.write(_write_file(world, readers, database))
        if plan.skew:
            del world.environ["DIGEST_TEST_CLOCK"]
        with store.read() as conn:
            links = make_links(conn, load_config(world.config_file, world.environ))
        world.book = Book(store, links, [reader.name for reader in readers])
        replicas = [_make_replica(plan, world, number, fault) for number in range(plan.replicas)]
        for replica in replicas:
            stack.callback(replica.kill)
        run = KillRun(plan, world, replicas, tell)
        tally = run.live()
        categories = world.press.categories
        mails = world.mail.arrivals
        posts = world.slack.arrivals
        verdict = judge(Evidence(plan, readers, tally, world.book, categories, mails, posts))
        verdict.add(_judge_last_feeds(run, world, readers, replicas))
        _judge_processes(verdict, replicas)
        _judge_pace(verdict, world)
        lines = _write_table(plan, tally, verdict, replicas, world.press.late)
    return Outcome(tally, verdict, tuple(lines))


def _judge_last_feeds(
    run: KillRun, world: Surroundings, readers: tuple[Reader, ...], replicas: list[Replica]
) -> KillVerdict:
    """Judge the feeds at the end, again and again until they are right or it has taken too long."""
    window = world.clock.now() - timedelta(days=FEED_DAYS)
    known_by = run.tally.known_by
    old = {paper for paper, found_by in known_by.items() if found_by < window}
    until = time.monotonic() + _FEEDS_WITHIN
    while True:
        verdict = KillVerdict()
        feeds = {}
        for reader in readers:
            feeds[reader.name] = [run.read_feed(replica, reader.name) for replica in replicas]
        judge_feeds(verdict, readers, world.press.categories, feeds, old)
        if not verdict.findings or time.monotonic() >= until:
            return verdict


def _judge_processes(verdict: KillVerdict, replicas: list[Replica]) -> None:
    """Stop all processes; none ended by itself before."""
    for replica in replicas:
        replica.ask_to_stop()
    for replica in replicas:
        replica.await_stop()
        for strange in replica.strange_exits:
            verdict.accuse("ended by itself", strange)


def _judge_pace(verdict: KillVerdict, world: Surroundings) -> None:
    for visit in world.arxiv.violations:
        gap = f"{visit.gap or 0:.2f} s after the last"
        verdict.accuse("pace", f"{visit.at:%H:%M:%S} {visit.path} came {gap}")
    verdict.figures |= {
        "requests to arXiv": len(world.arxiv.requests),
        "answers lost": world.slack.lost,
        "posts too soon": world.slack.limited,
    }


def _write_file(world: Surroundings, readers: tuple[Reader, ...], database: str) -> str:
    """Return the digest.toml of all replicas."""
    return write_installation(
        readers,
        arxiv=world.arxiv.url,
        mail=world.mail.url,
        slack=world.slack.url,
        database=database,
        ambiguous_wait=_AMBIGUOUS_WAIT,
    )


def _make_replica(plan: KillPlan, world: Surroundings, number: int, fault: str) -> Replica:
    command = _command(plan, fault, world.marker)
    clock = _make_clock(plan, world.clock, world.folder, number)
    return Replica(number, world.folder, world.environ, command, clock)


def _make_clock(plan: KillPlan, clock: PacedClock, folder: Path, number: int) -> HostClock | None:
    if not plan.skew:
        return None
    return HostClock(clock, folder / f"host-{number}.clock", plan.skew, f"{plan.seed} {number}")


def _command(plan: KillPlan, fault: str, marker: Path) -> list[str]:
    if not fault and plan.lease == LEASE:
        return ["digest", "serve"]
    command = ["tests.battery.kill_launcher", "--lease", f"{plan.lease:g}"]
    if fault:
        command += ["--fault", fault, "--marker", str(marker)]
    return command


def _write_table(
    plan: KillPlan, tally: Tally, verdict: KillVerdict, replicas: list[Replica], late: int
) -> list[str]:
    long_pauses = f"{tally.long_pauses} longer than a lease of {plan.lease:g} s"
    done = {
        "seed": plan.seed,
        "kills": tally.kills,
        "pauses": f"{tally.pauses} ({long_pauses})",
        "restarts": tally.restarts,
        "steps": tally.steps,
        "papers out late": late,
        "processes": sum(replica.starts for replica in replicas),
        "feeds read on the way": tally.feeds_read,
        "held mails sent again by the operator": len(tally.helped),
        "seconds": {name: round(seconds) for name, seconds in tally.seconds.items()},
    }
    figures = {**done, **verdict.figures}
    complaints = count_complaints(replicas).most_common(6)
    return [
        *(f"{name:>40}: {value}" for name, value in figures.items()),
        *(f"{'log':>40}: {count} × {line}" for line, count in complaints),
        *verdict.list_findings(),
    ]


def run_planted(seed: int, tell: Callable[[str], object]) -> bool:
    """Run one small battery without and one with each fault.

    Return whether all came out as they should.
    """
    control = run_fault("", seed)
    are_right = [not control.verdict.findings]
    found = _describe_findings(control) or "nothing found, as it should be"
    tell(f"{'no fault':>17}: {found}")
    for name, fault in FAULTS.items():
        outcome = run_fault(name, seed)
        is_found = not outcome.verdict.findings.keys().isdisjoint(fault.found_by)
        are_right.append(is_found)
        result = "found" if is_found else "NOT FOUND"
        tell(f"{name:>17}: {result} · {fault.what} · {_describe_findings(outcome)}")
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
    findings = sorted(outcome.verdict.findings.items())
    return ", ".join(f"{check} × {len(found)}" for check, found in findings)


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
def main(
    *,
    mode: str,
    folder: Path | None,
    planted: bool,
    **figures: Any,  # noqa: ANN401 - of a plan
) -> None:
    """Live one battery on each kind of database and print its figures.

    Exit with 1 if anything is wrong.
    """
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
