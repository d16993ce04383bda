"""The processes at work and their jobs, in words: part of `digest status`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from digest.cli.storing import opened_store
from digest.cli.telling import lay_out, print_json
from digest.cli.wording import write_moment
from digest.store.job_turns import list_turns
from digest.store.workers import list_workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from digest.cli.storing import Installation
    from digest.store.job_turns import JobTurn
    from digest.store.workers import Worker

_HEADER = ("WORKER", "JOB", "LAST TURN", "NEXT", "TURNS", "FAILED", "OVERRUN", "TROUBLE")


def describe_workers(here: Installation, workers: Sequence[Worker]) -> list[str]:
    """Return a line for each process at work, and for each that fell silent."""
    lines = []
    for worker in workers:
        since = write_moment(worker.started_at, here.zone)
        if worker.is_gone:
            state = f"silent for {_write_age(worker.silent_for)}: it has died, or can't reach the database"
        else:
            state = f"at work since {since}"
        signed = f", release {worker.release}, last sign {_write_age(worker.silent_for)} ago"
        lines.append(f"{name_worker(worker)} {state}{'' if worker.is_gone else signed}")
    return lines


def name_worker(worker: Worker) -> str:
    """Return a process as people look for it: its machine and its number there."""
    return f"{worker.host}:{worker.pid}"


def worker_as_json(worker: Worker) -> dict[str, object]:
    """Return a process as JSON has it."""
    return {
        "name": worker.owner,
        "host": worker.host,
        "pid": worker.pid,
        "release": worker.release,
        "since": worker.started_at,
        "silent_for": round(worker.silent_for, 1),
        "is_gone": worker.is_gone,
    }


def show_jobs(ctx: click.Context, *, as_json: bool) -> None:
    """Print how each job of each process at work stands."""
    with opened_store(ctx) as here, here.store.read() as conn:
        workers = {worker.owner: worker for worker in list_workers(conn)}
        turns = [turn for turn in list_turns(conn) if turn.owner in workers]
    if as_json:
        print_json(
            {"workers": [worker_as_json(worker) for worker in workers.values()], "jobs": turns_as_json(turns)}
        )
        return
    if not turns:
        click.echo("No process with jobs is at work: `digest serve` has them; `digest run` does all once.")
        return
    rows = [_HEADER, *(_describe_turn(here, workers[turn.owner], turn) for turn in turns)]
    for number, text in enumerate(lay_out(rows)):
        click.echo(click.style(text, bold=True) if number == 0 else text)


def turns_as_json(turns: Sequence[JobTurn]) -> list[dict[str, object]]:
    """Return jobs as JSON has them."""
    return [{**asdict(turn), "is_under_way": turn.is_under_way} for turn in turns]


def _describe_turn(here: Installation, worker: Worker, turn: JobTurn) -> tuple[str, ...]:
    silent = f" (silent for {_write_age(worker.silent_for)})" if worker.is_gone else ""
    return (
        f"{name_worker(worker)}{silent}",
        turn.job,
        _describe_last(here, turn),
        _write_second(here, turn.next_at) if turn.next_at else "when woken",
        f"{turn.turns:,}",
        f"{turn.failures:,}",
        f"{turn.overruns:,}",
        turn.trouble,
    )


def _describe_last(here: Installation, turn: JobTurn) -> str:
    if turn.began_at is None:
        return "none yet"
    began = _write_second(here, turn.began_at)
    if turn.is_under_way or turn.ended_at is None:
        return f"{began}, under way"
    return f"{began}, {_write_age((turn.ended_at - turn.began_at).total_seconds())}"


def _write_second(here: Installation, moment: datetime) -> str:
    return f"{moment.astimezone(here.zone):%a %H:%M:%S}"


def _write_age(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
