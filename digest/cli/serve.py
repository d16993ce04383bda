"""`digest serve`: polls, plans, delivers and serves until it is stopped."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from types import FrameType

import click

from digest.cli.context import load, opened
from digest.cli.output import echo, echo_folded
from digest.config import Config, open_config
from digest.config.addresses import split_bind
from digest.inspect.coverage import find_next_check
from digest.inspect.subscriptions import load_lines
from digest.model.clock import write_with_zone
from digest.model.errors import ConfigurationError, DigestError, StoreError
from digest.serve.configuration import sync_config
from digest.serve.schedule import Schedule
from digest.serve.steps import recover
from digest.serve.telemetry import configure_logging
from digest.site import Site
from digest.store import lock_worker
from digest.web import WebServer, create_app, create_metrics_app

LIMIT = 14.0
"""Seconds after which the process ends, whatever still hangs: the next start mends what it left."""

_GRACE = 6.0
"""Seconds of these that work under way has to end by itself."""

_MARGIN = 1.5
"""Seconds of these that are left for the web server, and for giving up in words what the database
never took."""

_LOOK = 1.0

_MONITORS = 16
"""Connections at once to what is counted."""


_ARENAS = -8
"""`M_ARENA_MAX` of glibc's `mallopt`."""


@click.command()
@click.option("--no-web", is_flag=True, help="Listen nowhere: no feeds over HTTP, no pages.")
@click.pass_context
def command(ctx: click.Context, *, no_web: bool) -> None:
    """Keep doing all that is due, and serve feeds and pages, until stopped.

    SIGTERM or Ctrl-C stops within 15 seconds, a second one at once. SIGHUP reads an edited
    digest.toml.
    """
    stop = threading.Event()
    reload = threading.Event()
    _listen(stop.set, reload.set)
    # By itself glibc keeps apart the memory that each thread once needed.
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_ARENAS, 1)
    _refuse_branch(load(ctx, warns=True))
    with ExitStack() as stack:
        site = stack.enter_context(opened(ctx))
        stack.enter_context(lock_worker(site.store))
        configure_logging(logging.DEBUG if ctx.obj["verbose"] else logging.INFO)
        schedule = Schedule(site)
        webs = [] if no_web else _open_webs(site, schedule)
        for web in webs:
            stack.callback(web.stop)
        recover(site)
        _take_over_file(site)
        greeting = _describe(site, webs)
        schedule.start()
        for web in webs:
            web.start()
        echo_folded(greeting)
        reread = partial(open_config, ctx.obj["config_path"])
        lost = _wait(webs, stop, reload, site.store.check_file, partial(schedule.reload, reread))
        for web in webs:
            web.ask_to_stop()
        has_ended = schedule.stop(grace=_GRACE, force=LIMIT - _MARGIN - _GRACE)
    if lost is not None:
        raise lost
    if not stop.is_set():
        raise DigestError("the web server ended by itself", hint="The log above says why.")
    echo("stopped" if has_ended else "stopped; what was under way is taken up by the next start")
    if not has_ended:
        os._exit(0)  # a thread that hangs would keep the process


def _refuse_branch(config: Config) -> None:
    branch = config.store.git_branch
    if branch:
        raise ConfigurationError(
            f"`digest serve` would keep the state on the branch {branch} to itself",
            hint="Without a server, `digest run` does all that is due. "
            "For a server, remove git_branch under [store].",
        )


def _take_over_file(site: Site) -> None:
    """Bring the database in line with the file, and say what is worth a word."""
    report = sync_config(site)
    for doubt in report.doubts:
        echo(doubt, err=True)
    for remark in report.remarks:
        echo(f"{remark}.", err=True)


def _open_webs(site: Site, schedule: Schedule) -> list[WebServer]:
    """Open what answers readers and, where that is asked for, what answers a monitor."""
    settings = site.config.web
    webs = [WebServer(create_app(site, schedule.pulse), *split_bind(settings.bind))]
    if settings.metrics_bind:
        app = create_metrics_app(site, schedule.pulse, schedule.jobs.metrics)
        webs.append(WebServer(app, *split_bind(settings.metrics_bind), room=_MONITORS))
    return webs


def _wait(
    webs: list[WebServer],
    stop: threading.Event,
    reload: threading.Event,
    check_file: Callable[[], None],
    take_over: Callable[[], None],
) -> StoreError | None:
    """Return once a stop is asked for, or the web server has ended.

    Meanwhile take the file over when asked. If the database is another one now, return that error.
    """
    while not stop.wait(_LOOK):
        try:
            check_file()
        except StoreError as error:
            return error
        if reload.is_set():
            reload.clear()
            take_over()
        if not all(web.is_alive for web in webs):
            break
    return None


def _listen(stop: Callable[[], None], reload: Callable[[], None]) -> None:
    """Let the first signal stop, a second one end the process at once, and SIGHUP reload."""
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(128 + number)
        # A thread that hangs must not keep the process: nothing is lost by ending it.
        limit = threading.Timer(LIMIT, os._exit, (0,))
        limit.daemon = True
        limit.start()
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    signal.signal(signal.SIGHUP, lambda _number, _frame: reload())


def _describe(site: Site, webs: list[WebServer]) -> str:
    zone = site.config.zone
    now = site.clock.now()
    with site.store.read() as conn:
        live = load_lines(conn, site.config, site.clock, now)
        next_poll_at = find_next_check(conn, site.config.arxiv.source, site.clock, now)
    next_check = "at once"
    if next_poll_at > now:
        next_check = write_with_zone(next_poll_at, zone, now)
    next_digest = "none is due"
    turns = [(one.next_due_at, one.settings.name) for one in live if one.next_due_at is not None]
    if turns:
        due_at, name = min(turns)
        next_digest = f"{name} {write_with_zone(due_at, zone, now)}"
    place = f"Serving at {webs[0].url}" if webs else "Working, listening nowhere"
    for web in webs[1:]:
        place += f" · metrics at {web.url}/metrics"
    return f"{place} · next check of arXiv {next_check} · next digest: {next_digest} · Ctrl-C stops"
