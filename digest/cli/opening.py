"""From words to a working installation: the configuration found, the clock chosen, the site opened."""

from __future__ import annotations

import os
import random
import secrets
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from digest.clock import RemoteClock, SystemClock
from digest.config import open_config
from digest.pipeline import open_site
from digest.store.gate import PASSER_BY
from digest.telemetry import configure_logging

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.clock import Clock
    from digest.config import Config
    from digest.pipeline import Progress, Site


def load(ctx: click.Context, *, warns: bool = False) -> Config:
    """Return the configuration the call means.

    Args:
        ctx: the call.
        warns: what may keep digests from going out, such as a token that is missing, goes to standard error:
            for commands that send, or say how everything stands. Others would only repeat it.
    """
    config = open_config(ctx.obj["config_path"])
    for warning in config.warnings if warns else ():
        click.echo(f"warning: {warning}", err=True)
    return config


def choose_clock(config: Config) -> Clock:
    """Return the machine's clock, or the simulated one a test points at."""
    return RemoteClock(config.test_clock) if config.test_clock else SystemClock()


def set_up_logging(ctx: click.Context) -> None:
    """Let warnings stand among a command's own words; with `--verbose`, let everything be logged line by line."""
    configure_logging("DEBUG" if ctx.obj["verbose"] else "WARNING", plain=not ctx.obj["verbose"])


@contextmanager
def opened(
    ctx: click.Context,
    *,
    progress: Progress | None = None,
    create: bool = True,
    passer_by: bool = False,
    warns: bool = False,
) -> Iterator[Site]:
    """Open the installation the call means, and close it afterwards.

    Args:
        ctx: the call.
        progress: is told what happens.
        create: make the database where there is none.
        passer_by: only ask arXiv a few things, perhaps beside the worker, which then waits for its turn.
        warns: see `load`.

    Raises:
        ConfigurationError: as described in `digest.errors`.
    """
    config = load(ctx, warns=warns)
    set_up_logging(ctx)
    site = open_site(
        config,
        choose_clock(config),
        owner=f"{PASSER_BY if passer_by else ''}{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}",
        jitter=random.SystemRandom().random,
        progress=progress,
        create=create,
    )
    try:
        yield site
    finally:
        site.close()
