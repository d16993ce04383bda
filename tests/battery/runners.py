"""Runs without a server, killed, doubled, paused and cut off.

Run it by `python -m tests.battery.runners --seed 1`.

Each run is a real process in a fresh clone, which knows the repository and the secrets. What
arrived is judged, and every object that was ever pushed is searched for what is hidden.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from sqlalchemy import select

from digest.branch.step import opened_branch
from digest.config import load_config
from digest.model.clock import ManualClock
from digest.model.messages import DeliveryState
from digest.plan.links import make_links
from digest.store import digests
from digest.store.schema import deliveries
from tests.battery.kill_book import Book
from tests.battery.runners_size import measure_size
from tests.battery.runners_verdict import Evidence, Lifetime, judge
from tests.battery.runners_world import (
    Chance,
    Hooks,
    Origin,
    Trap,
    TrappedMail,
    TrappedSlack,
    make_papers,
    make_secrets,
    write_installation,
)
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.loopback import LoopbackServer
from tests.fakes.slackfaults import AFTER, BEFORE
from tests.fakes.spoiling import KINDS
from tests.harness.oracle import Verdict

BEGIN = datetime(2026, 1, 5, 8, 40, tzinfo=UTC)
RUN = ("run", "--wait", "30m")
DEADLY = 0.08
"""The part of days on which each run dies at a mail server that never says hello."""

_HANGS_AFTER = 240.0
_CHECKED_EVERY = 50
_LEASE = timedelta(minutes=65)
_INTERRUPTED = 130


@dataclass(frozen=True)
class Fate:
    """What befalls one start.

    Attributes:
        at: when it is started.
        signal: what strikes it: KILL, STOP, INT (a cancelled workflow, started again at once), or
            "" for nothing.
        by: "git" or "message": before, after or (git) amid so many of them; "time": after a `share`
            of a run's; "silence": when the mail server, which never says hello, is called.
        away: how long a stopped one stays so, by the clock that all share.
        is_double: a second one is started with it.
        pushes: how each push in turn goes wrong: "", fail, lost or "late SECONDS".
        lost_mail: the mail whose answer is lost, from 0; -1 for none.
        lost_part: the part of answers of Slack and of webhooks that are lost.
        arxiv_part: the part of requests to arXiv that are spoilt.
    """

    at: datetime
    signal: str = ""
    by: str = "git"
    count: int = 0
    order: str = "before"
    share: float = 0.0
    away: timedelta = timedelta(0)
    is_double: bool = False
    pushes: tuple[str, ...] = ()
    lost_mail: int = -1
    lost_part: float = 0.0
    arxiv_part: float = 0.2


def draw_fates(seed: int, runs: int) -> Iterator[Fate]:
    """Yield so many starts, as many as 400 in a year."""
    draw = random.Random(seed)  # noqa: S311 - drawn again for the same seed
    day = BEGIN + timedelta(days=1)
    left = runs
    while left > 0:
        if draw.random() < 0.03:
            day += timedelta(days=draw.randrange(2, 9))
        starts: tuple[int, ...] = ()
        if draw.random() < 0.8:
            starts = (0, 90) if draw.random() < 0.5 else (0,)
        if draw.random() < DEADLY:  # so two runs in a row die at the same mails
            for minutes in (0, 90, 180)[: min(draw.choice((2, 3)), left)]:
                left -= 1
                at = day + timedelta(minutes=minutes)
                yield Fate(at, "KILL", "silence", arxiv_part=0.0)
            starts = ()
        for minutes in starts[:left]:
            left -= 1
            yield _draw_fate(draw, day + timedelta(minutes=minutes))
        day += timedelta(days=1)


def _draw_fate(draw: random.Random, at: datetime) -> Fate:
    """Return what befalls one start, a little after a moment."""
    struck = draw.random()
    by = draw.choice(("git", "git", "git", "message", "time"))
    lateness = [f"late {draw.choice((0.05, 0.3, 1.0, 3.0))}" for _ in range(2)]
    faults = ("fail", "lost", *lateness, "", "", "")
    is_by_git = by == "git"
    orders = ("before", "after", "amid") if is_by_git else ("before", "after")
    return Fate(
        at + timedelta(minutes=draw.randrange(25)),
        signal=_choose_signal(struck),
        by=by,
        count=draw.randrange(1, draw.choice((15, 30)) if is_by_git else 17),
        order=draw.choice(orders),
        share=draw.uniform(0.1, 1.0),
        away=timedelta(minutes=draw.choice((10, 66, 70, 130, 400))),
        is_double=draw.random() < 0.1,
        pushes=_draw_pushes(draw, faults),
        lost_mail=draw.randrange(12) if draw.random() < 0.1 else -1,
        lost_part=draw.choice((0.0, 0.0, 0.05, 0.2)),
    )


def _choose_signal(struck: float) -> str:
    """Return what strikes a run: a kill most often, and mostly nothing."""
    if struck < 0.28:
        return "KILL"
    if struck < 0.33:
        return "INT"
    return "STOP" if struck < 0.4 else ""


def _draw_pushes(draw: random.Random, faults: Sequence[str]) -> tuple[str, ...]:
    """Return how each push goes wrong in one start of five; nothing for the others."""
    if draw.random() >= 0.2:
        return ()
    return tuple(draw.choice(faults) for _ in range(9))


@dataclass
class Run:
    """A process, when it lived (`time.monotonic()`), and what befell it."""

    process: subprocess.Popen[bytes]
    box: Path
    began: float
    ended: float = 0.0
    events: set[str] = field(default_factory=set)

    @property
    def said(self) -> str:
        return (self.box / "log").read_text(errors="replace")

    @property
    def pushes(self) -> int:
        return int((self.box / "pushes").read_text())

    @property
    def is_stopped(self) -> bool:
        """Whether the kernel says that it is stopped, which stands behind its name in brackets."""
        line = Path(f"/proc/{self.process.pid}/stat").read_text()
        state = line.rpartition(")")[2].split()[0]
        return state == "T"

    def strike(self, name: str) -> None:
        if self.process.poll() is None:
            self.process.send_signal(getattr(signal, f"SIG{name}"))


class Battery:
    def __init__(self, folder: Path, seed: int, days: int, stack: ExitStack) -> None:
        draw = random.Random(seed)  # noqa: S311 - drawn again for the same seed
        self.folder = folder
        self.clock = ManualClock(BEGIN)
        self.trap = Trap()
        self.length = 2.0
        papers = list(make_papers(draw, BEGIN.date() - timedelta(days=9), days + 9))
        self.arxiv = stack.enter_context(DemoArxiv(papers, self.clock, pace=3.0, is_strict=False))
        self.mail = stack.enter_context(TrappedMail(self.trap))
        self.slack = stack.enter_context(TrappedSlack(self.trap, self.clock))
        self.hooks = Hooks(self.trap, draw)
        self.arxiv.faults = Chance(KINDS, draw)
        self.slack.faults = Chance((*BEFORE, *AFTER), draw)
        hooks = stack.enter_context(LoopbackServer(self.hooks.take)).url
        self.origin = Origin(folder)
        key = draw.randbytes(32)
        places = {
            "arxiv": self.arxiv.url,
            "mail": self.mail.url,
            "slack": self.slack.url,
            "hooks": hooks,
        }
        self.origin.begin(write_installation(**places))
        self.secrets = make_secrets(hooks, b64encode(key).decode())
        self.seen = Evidence([paper for paper in papers if paper.announced > BEGIN], key)
        self.verdict = self.seen.verdict
        self.runs = list[Run]()

    def start(self, *command: str, fate: Fate | None = None) -> Run:
        number = len(self.runs)
        box = self.folder / f"box{number}"
        home = self.folder / f"home{number}"
        shutil.rmtree(self.folder / f"home{number - 6}", ignore_errors=True)
        box.mkdir()
        strike = "0 KILL never"
        pushes = ""
        if fate is not None:
            pushes = "\n".join(fate.pushes)
            if fate.signal and fate.by == "git":
                strike = f"{fate.count} {fate.signal} {fate.order}"
        texts = {"calls": "0", "pushes": "0", "strike": strike, "faults": pushes}
        for name, text in texts.items():
            (box / name).write_text(f"{text}\n")
        self.origin.clone(home)
        with (box / "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", "digest", *command],
                cwd=home,
                env=self.origin.make_environment(box, self.secrets, self.arxiv.clock_url),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.runs.append(Run(process, box, time.monotonic()))
        return self.runs[-1]

    def live(self, fate: Fate) -> None:
        """Let one start, and what befalls it, happen."""
        self.clock.set(max(fate.at, self.clock.now()))
        self._spoil(fate.arxiv_part, fate.lost_part)
        if fate.lost_mail >= 0:
            self.mail.script.drop("END", skip=fate.lost_mail)
        mails = len(self.mail.arrivals)
        hasty = len(self.arxiv.violations)
        run = self.start(*RUN, fate=fate)
        double = self.start(*RUN) if fate.is_double else None
        timer = threading.Timer(fate.share * self.length, run.strike, (fate.signal,))
        self.mail.script.is_silent = fate.by == "silence"
        if fate.by == "silence":
            self.trap.set(1, "silence", lambda: self._die_at_silence(run))
        elif fate.signal and fate.by == "message":
            self.trap.set(fate.count, fate.order, lambda: run.strike(fate.signal))
        elif fate.signal and fate.by == "time":
            timer.start()
        if self._await(run):
            self._note(run, f"paused for {'more' if fate.away > _LEASE else 'less'} than a lease")
            self.clock.advance(fate.away)
            self._await(self.start(*RUN))
            run.strike("CONT")
            self._await(run)
        elif run.process.returncode == _INTERRUPTED:
            self._note(run, "interrupted")
            self._await(self.start(*RUN))
        timer.cancel()
        self.mail.script.is_silent = False
        self.trap.set(0, "", lambda: None)
        if double:
            self._note(double, "started twice at once")
            self._await(double)
        if fate.lost_mail >= 0 and not self.mail.script.waiting:
            self.seen.lost.add(self.mail.arrivals[mails + fate.lost_mail].key)
        self.mail.script.clear()
        self._judge_pace(hasty, run)
        for fault in filter(None, fate.pushes[: run.pushes]):
            self._note(run, f"push {fault.split()[0]}")

    def settle(self, *command: str) -> Run:
        """Run a command to which nothing happens."""
        self._spoil(0.0, 0.0)
        run = self.start(*command)
        self._await(run)
        well = (0, 4) if command == RUN else (0,)  # 4 if something is held
        if run.process.returncode not in well:
            self.verdict.accuse(f"digest {command[0]}", f"{run.box.name}: {run.said[-300:]}")
        return run

    def look(self) -> None:
        """Let the commands and the database say how it is."""
        self.settle("status")
        self.settle("db", "check")
        config = load_config(
            self.folder / f"home{len(self.runs) - 1}" / "digest.toml", self.secrets
        )
        held = select(deliveries.c.destination, deliveries.c.digest_id)
        with opened_branch(config, self.clock, "judge") as branch, branch.store.read() as conn:
            self.seen.rows |= {
                row.key: row
                for row in Book(branch.store, make_links(conn, config), []).list_planned()
            }
            for row in conn.execute(held.where(deliveries.c.state == DeliveryState.HELD)):
                entries = digests.load(conn, row.digest_id).entries
                self.seen.held |= {(row.destination, str(entry.paper.id)) for entry in entries}

    def gather(self) -> Evidence:
        self.seen.arrivals = [*self.mail.arrivals, *self.slack.arrivals, *self.hooks.arrivals]
        self.seen.lives = [
            Lifetime(run.box.name, run.began, run.ended, run.events) for run in self.runs
        ]
        if not any(run.pushes for run in self.runs):
            self.verdict.accuse(
                "the battery itself", "no push went through the git that goes wrong"
            )
        self.seen.tried = self.mail.tried
        self.seen.printed = {run.box.name: run.said.encode() for run in self.runs}
        return self.seen

    def _spoil(self, arxiv: float, others: float) -> None:
        self.arxiv.faults.rate = arxiv  # type: ignore[attr-defined]  # it is ours
        self.slack.faults.rate = self.hooks.rate = others  # type: ignore[attr-defined]  # the same

    def _await(self, run: Run) -> bool:
        """Wait until a run was stopped, then true, or has ended, and judge how."""
        until = time.monotonic() + _HANGS_AFTER
        while run.process.poll() is None:
            if run.is_stopped:
                return True
            if time.monotonic() > until:
                self.verdict.accuse("hangs", run.box.name)
                run.process.kill()
            time.sleep(0.02)
        run.ended = time.monotonic()
        code = run.process.returncode
        if code == -signal.SIGKILL:
            self._note(run, "killed")
            if (run.box / "struck").exists():
                self._note(run, "killed at a push")
                self.seen.one_in_hand.append(self.clock.now().date())
        elif code not in (0, 4, _INTERRUPTED) or "Traceback" in run.said:
            self.verdict.accuse("exit code", f"{run.box.name} ended with {code}: {run.said[-300:]}")
        elif not code and not run.events:
            self.length = run.ended - run.began
        self.verdict.counts["met a lease"] += "is at work on this state" in run.said
        return False

    def _die_at_silence(self, run: Run) -> None:
        run.strike("KILL")
        self._note(run, "killed at a silence")
        self.seen.one_in_hand.append(self.clock.now().date())

    def _judge_pace(self, since: int, run: Run) -> None:
        for visit in self.arxiv.violations[since:]:
            if any("paused" in event for event in run.events):
                self.verdict.counts["requests to arXiv too soon after a pause"] += 1
            else:
                self.verdict.accuse(
                    "pace", f"{visit.at:%d %b %H:%M:%S} {visit.path} after {visit.gap or 0:.2f} s"
                )

    def _note(self, run: Run, event: str) -> None:
        run.events.add(event)
        self.verdict.counts[event] += 1


def run_battery(
    folder: Path,
    seed: int,
    fates: Sequence[Fate],
    tell: Callable[[str], object] = lambda _: None,
    rest: int = 8,
) -> Verdict:
    """Live through all that befalls an installation without a server, in an empty folder.

    Args:
        rest: how many starts settle what is left at the end, half a day apart.
    """
    with ExitStack() as stack:
        battery = Battery(folder, seed, (fates[-1].at - BEGIN).days, stack)
        battery.settle(*RUN)
        for number, fate in enumerate(fates, 1):
            battery.live(fate)
            if number % _CHECKED_EVERY == 0:
                battery.look()
                found = sum(map(len, battery.verdict.findings.values()))
                done = f"{number} of {len(fates)} starts, {len(battery.runs)} processes"
                tell(f"{done}, {found} findings")
        for _ in range(rest):
            battery.clock.advance(timedelta(hours=13))
            battery.settle(*RUN)
        battery.look()
        battery.verdict.counts["processes"] = len(battery.runs)
        return judge(battery.gather(), battery.origin)


@click.command(help=__doc__)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--runs", type=int, default=400, show_default=True, help="Starts; 400 are a year.")
@click.option("--size", is_flag=True, help="Measure what a year of 1,500 papers a day pushes.")
@click.option(
    "--days", type=int, default=40, show_default=True, help="Days that are lived for that."
)
@click.option(
    "--folder", type=click.Path(path_type=Path), help="An empty folder, which stays afterwards."
)
def main(*, seed: int, runs: int, size: bool, days: int, folder: Path | None) -> None:
    """Live one battery, print its figures, and exit with 1 if anything is wrong."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    began = time.monotonic()
    what = f"{days} days" if size else f"seed {seed}, {runs} starts"
    with tempfile.TemporaryDirectory(prefix="runners-") as scratch:
        home = folder or Path(scratch)
        if size:
            verdict = measure_size(home, days, click.echo)
        else:
            verdict = run_battery(home, seed, list(draw_fates(seed, runs)), click.echo)
    click.echo("\n".join(verdict.list_lines()))
    said = "BREACHED" if verdict.findings else "held"
    click.echo(f"{said}: {what}, {time.monotonic() - began:.0f} s")
    raise SystemExit(bool(verdict.findings))


if __name__ == "__main__":
    main()
