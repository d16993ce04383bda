"""Opens an installation, and gives its signs of life."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from digest import __version__
from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.branch.step import Branch
from digest.config import Config
from digest.deliver.transports.registry import open_transport
from digest.model.clock import Clock, Gate, SystemClock
from digest.model.errors import StoreError
from digest.model.polls import RequestLog
from digest.site import Progress, Silent, Site
from digest.store import Store, open_store, runs, workers
from digest.store.gate import StoreGate
from digest.store.workers import BEAT, JobTurn, Worker

if TYPE_CHECKING:
    from digest.render.renderer import Renderer

_log = logging.getLogger("digest.worker")

POLLING = "poll"
"""The job that one worker at a time does: it asks arXiv, over all its interfaces."""


def open_site(
    config: Config,
    clock: Clock,
    *,
    owner: str,
    jitter: Callable[[], float],
    progress: Progress | None = None,
    create: bool = True,
    branch: Branch | None = None,
) -> Site:
    """Open an installation for work. Close the site when done.

    `owner` and `jitter`: see `Site`.
    """

    def spread(seconds: float) -> float:
        return seconds * (0.5 + jitter() / 2)

    store = branch.store if branch else open_store(config.store.url, create=create)
    gate = StoreGate(store, clock, owner, jitter=spread)
    return Site(
        config=config,
        store=store,
        clock=clock,
        client=open_client(config, gate, clock, on_request=partial(_log_request, store)),
        open_transport=partial(open_transport, config=config, clock=clock),
        open_renderer=open_renderer,
        owner=owner,
        jitter=jitter,
        progress=progress or Silent(),
        branch=branch,
    )


def open_renderer(config: Config) -> Renderer:
    """Return what renders messages: the operator's templates come before the shipped ones."""
    from digest.render.renderer import Renderer  # noqa: PLC0415 - most checks render nothing

    folders = [config.templates] if config.templates else []
    return Renderer(folders)


def open_client(
    config: Config,
    gate: Gate,
    clock: Clock,
    *,
    on_request: Callable[[RequestLog], None] | None = None,
) -> ArxivClient:
    """Return the client for the configured addresses; it says who asks and how to reach them."""
    arxiv = config.arxiv
    home = f"+{config.web.base_url}" if config.web.base_url else ""
    contact = f"mailto:{arxiv.contact}" if "@" in arxiv.contact else arxiv.contact
    who = "; ".join(filter(None, (home, contact))) or "no contact given"
    return ArxivClient(
        ArxivAddresses(arxiv.api_url, arxiv.oai_url),
        f"preprint-digest/{__version__} ({who})",
        gate,
        clock,
        on_request=on_request,
        choose_proxy=config.choose_proxy,
    )


def _log_request(store: Store, request: RequestLog) -> None:
    with store.begin() as conn:
        runs.log_request(conn, asdict(request))


class Heartbeat:
    """What one process lets the others know of itself.

    It gives signs of life, again and again, and signs off at the end.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._worker = Worker(
            site.owner, __version__, socket.gethostname(), os.getpid(), site.clock.now()
        )
        self._lock = threading.Lock()
        self._is_over = False

    def beat(self, turns: Iterable[JobTurn] = ()) -> None:
        """Give a sign of life, and say when the jobs had their last turns."""
        with self._lock:
            if self._is_over:
                return
            with self._site.store.begin() as conn:
                workers.save(conn, self._worker)
                workers.save_turns(conn, self._site.owner, turns)

    def sign_off(self) -> None:
        """Give no more signs; if the database can't record that, the silence shows it."""
        with self._lock:
            self._is_over = True
            try:
                with self._site.store.begin() as conn:
                    workers.remove(conn, self._site.owner)
            except StoreError as error:
                _log.warning(
                    "the database does not record that this process ends: %s", error.message
                )


@contextmanager
def keep_beating(site: Site) -> Iterator[None]:
    """Give signs of life for as long as the block lasts."""
    signs = Heartbeat(site)
    signs.beat()
    try:
        with workers.keep_calling(signs.beat, BEAT):
            yield
    finally:
        signs.sign_off()


@contextmanager
def poll_alone(site: Site) -> Iterator[str]:
    """Be the one worker that asks arXiv.

    Yield "" if the caller may ask, else the worker that is asking already. If two ask all the same,
    no harm is done: they keep the pace together, and each paper is stored once.
    """
    if site.store.path is not None:  # a worker on a file holds the lock of the file
        yield ""
        return
    # Turns of jobs have real moments, whatever clock the site lives by.
    with site.store.begin() as conn:
        other = workers.begin_job(conn, site.owner, POLLING, SystemClock().now())
    try:
        yield other
    finally:
        if not other:
            try:
                with site.store.begin() as conn:
                    workers.end_job(conn, site.owner, POLLING, SystemClock().now())
            except StoreError as error:
                _log.warning(
                    "other processes do not check arXiv until this one checks again: %s",
                    error.message,
                )
