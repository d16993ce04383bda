"""Starts `digest serve` with something changed on purpose.

Shorter leases for a try, or a planted fault.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import click

from digest.cli import run_cli
from digest.deliver import dispatch
from digest.store import attempts, outbox
from digest.store.outbox import CLAIM_LEASE
from tests.simulator import planted


def shorten_leases(seconds: float) -> None:
    """Let claims lapse sooner, all else in proportion, so that a try does not wait for minutes."""
    part = seconds / CLAIM_LEASE
    for function in (outbox.claim, attempts.begin):
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "lease_seconds": seconds}
    outbox.renew_claims.__defaults__ = (seconds,)
    dispatch.Leases.__init__.__kwdefaults__ = {
        "lease": seconds,
        "beat": dispatch.BEAT * part,
        "margin": dispatch.MARGIN * part,
    }


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--lease", type=float, required=True)
@click.option("--fault", type=click.Choice(sorted(planted.FAULTS)))
@click.option("--marker", type=click.Path(path_type=Path))
def launch(*, lease: float, fault: str | None, marker: Path | None) -> None:
    """Change what is asked for, and serve."""
    shorten_leases(lease)
    with ExitStack() as stack:
        if fault is not None and marker is not None:
            stack.enter_context(patch.object(planted, "between", planted.Weakness(marker)))
            stack.enter_context(planted.FAULTS[fault].plant())
        raise SystemExit(run_cli(["serve"]))


if __name__ == "__main__":
    launch()
