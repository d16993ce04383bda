"""Opens configuration, store and arXiv for a command, and finds what a name or a day means."""

from __future__ import annotations

import logging
import os
import random
import re
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
from sqlalchemy import Connection

from digest.arxiv.client import ArxivClient
from digest.arxiv.documents import TRY_AGAIN
from digest.arxiv.pages import ASKED_AGAIN
from digest.branch.step import opened_branch
from digest.cli.output import echo
from digest.config import (
    Config,
    find_state_folder,
    open_config,
    open_config_or_defaults,
    read_environment,
)
from digest.config.values import complete_word, suggest
from digest.inspect.here import Here
from digest.model.clock import Clock, RemoteClock, SystemClock
from digest.model.errors import (
    ArxivError,
    ArxivUnreachable,
    ConfigurationError,
    OutsideError,
    SchemaMismatch,
    UnknownName,
    UsageError,
)
from digest.model.libraries import ZOTERO
from digest.model.polls import RequestLog
from digest.model.said import Said, Saying
from digest.model.subscriptions import DueSubscription, SubscriptionState
from digest.query import Query, parse_query
from digest.serve.installation import open_client, open_site
from digest.serve.telemetry import configure_logging
from digest.site import Progress, Site
from digest.store import (
    Store,
    StoreGate,
    create_standalone,
    open_store,
    queries,
    subscriptions,
    workers,
)
from digest.store.gate import GOES_ON, PASSER_BY, free_gate
from digest.store.subscribers import LETTERS

_NAME = re.compile(r"[\w.-]+")
"""What may be a name: no query of more than one word."""


def find_saved(
    text: str, saved: Mapping[str, str], *, others: Iterable[str] | None = None
) -> str | None:
    """Return the text of the saved query that is meant, None where a query itself was typed.

    A word that looks like a name, and is none, is searched for, with a note on standard error. If
    others are given, such as subscriptions, a word near a name is refused.
    """
    if text in saved:
        return saved[text]
    near = get_close_matches(text, [*saved, *(others or ())], n=1, cutoff=0.6)
    if near and others is not None and _NAME.fullmatch(text):
        what = "subscription or saved query" if others else "saved query"
        raise UnknownName(f"there is no {what} {text!r}", hint=f"Did you mean {near[0]!r}?")
    if saved and text.replace("-", "_").isidentifier():
        hint = f" (there is {near[0]!r})" if near else ""
        echo(f"note: No saved query is called {text!r}{hint}. The word is searched for.", err=True)
    return None


def suggest_name(name: str, known: Iterable[str], listing: str) -> str:
    """Return a hint that names the nearest known name, else the command that shows all."""
    return suggest(name, known, "") or f"`{listing}` shows them all."


def require_subscription(
    config: Config, conn: Connection, name: str, *, include_ended: bool = False
) -> DueSubscription:
    """Return a subscription by name."""
    stored = {due.subscription.name: due for due in subscriptions.load(conn, include_ended=True)}
    written = [subscription.name for subscription in config.subscriptions]
    if name not in stored and name in written:
        raise UnknownName(
            f"subscription {name} is new in digest.toml", hint="`digest run` takes it over."
        )
    if name not in stored:
        hint = suggest_name(name, [*stored, *written], "digest subscription list")
        raise UnknownName(f"there is no subscription {name!r}", hint=hint)
    if stored[name].state == SubscriptionState.ENDED and (name == LETTERS or not include_ended):
        raise UnknownName(
            f"subscription {name} has ended", hint="Named in digest.toml again, it goes on."
        )
    return stored[name]


def load(ctx: click.Context, *, warns: bool = False) -> Config:
    """Return the configuration the call means.

    A command that sends `warns` of what may keep digests back.
    """
    config = open_config(ctx.obj["config_path"])
    if warns:
        for warning in config.warnings:
            echo(f"warning: {warning}", err=True)
    return config


def choose_clock(config: Config) -> Clock:
    """Return the machine's clock, or the simulated one a test points at."""
    return RemoteClock(config.test_clock) if config.test_clock else SystemClock()


def find_here(config: Config, clock: Clock) -> Here:
    """Return where and when the answers of an installation are read."""
    return Here(clock.now(), config.zone, config.folder)


def set_up_logging(ctx: click.Context) -> None:
    """Log warnings among a command's own words; with `--verbose`, log everything line by line."""
    is_verbose = ctx.obj["verbose"]
    level = logging.DEBUG if is_verbose else logging.WARNING
    configure_logging(level, plain=not is_verbose)


@contextmanager
def opened(
    ctx: click.Context,
    *,
    progress: Progress | None = None,
    create: bool = True,
    start_new: bool = False,
    migrates: bool = False,
    warns: bool = False,
) -> Iterator[Site]:
    """Open the installation the call means, and close it afterwards.

    `create` and `start_new`: see `Branch.fetch`; `migrates`: see `Branch`.
    """
    config = load(ctx, warns=warns)
    set_up_logging(ctx)
    clock = choose_clock(config)
    owner = _name_process()
    with ExitStack() as stack:
        branch = None
        if config.store.git_branch:
            opening_branch = opened_branch(
                config, clock, owner, create=create, start_new=start_new, migrates=migrates
            )
            branch = stack.enter_context(opening_branch)
        elif start_new:
            raise UsageError(
                "only a state on a branch is started new", hint="See git_branch under [store]."
            )
        site = open_site(
            config,
            clock,
            owner=owner,
            jitter=random.SystemRandom().random,
            progress=progress,
            create=create,
            branch=branch,
        )
        yield stack.enter_context(closing(site))


def _name_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


@contextmanager
def _opened_database(config: Config, clock: Clock) -> Iterator[Store]:
    """Open the database that is there, of an installation or of its branch.

    On a branch, a first write takes the lease.
    """
    if config.store.git_branch:
        with opened_branch(config, clock, _name_process()) as branch:
            yield branch.store
    else:
        with closing(open_store(config.store.url)) as store:
            yield store


class NamedQuery(NamedTuple):
    """A query and the name it is saved by, "" where it was typed."""

    name: str
    query: Query


@dataclass(frozen=True)
class Workbench:
    """What there is of an installation.

    `config` is its settings or the defaults, `store` its database if it can be used.
    """

    config: Config
    clock: Clock
    here: Here
    store: Store | None
    saved: Mapping[str, str] = field(default_factory=dict)

    def find_query(self, text: str, *, others: Iterable[str] | None = None) -> NamedQuery:
        """Return the saved query of that name, else the text as a query.

        `others`: see `find_saved`.
        """
        saved = find_saved(text, self.saved, others=others)
        if saved is None:
            return NamedQuery("", read_followed(text))
        return NamedQuery(text, parse_query(saved))

    @contextmanager
    def asking(self) -> Iterator[ArxivClient]:
        """Open the way to arXiv, through the gate of the installation, else of this account.

        Its errors say what to do if there is no network, and if nothing asks again by itself.
        """
        gate = (
            None if self.config.store.git_branch else self.store
        )  # a question alone takes no lease
        with opened_client(self.config, self.clock, gate) as client:
            try:
                yield client
            except ArxivUnreachable as error:
                raise explain_unreachable(error) from error
            except ArxivError as error:
                if error.advice == GOES_ON:
                    error.advice = Said.plain("Call it again then: until then nothing is asked.")
                elif error.advice in (TRY_AGAIN, ASKED_AGAIN):
                    error.advice = Said.plain("Call it again later.")
                raise


@dataclass(frozen=True)
class Installation(Workbench):
    """One that has a database."""

    store: Store


def read_followed(text: str) -> Query:
    """Read what somebody follows: a query, or a category or a word alone, which gets its prefix."""
    return parse_query(complete_word(text.strip()) or text)


def write_sources(sources: Iterable[str], folder: Path) -> list[str]:
    """Return sources of libraries, typed here, as they are written in a file of a folder."""
    written = []
    for one in sources:
        stays = one.startswith((ZOTERO, "~")) or Path(one).is_absolute()
        written.append(one if stays else os.path.relpath(one, folder))
    return written


def explain_unreachable(error: ArxivUnreachable) -> ArxivUnreachable:
    """Return the error in one line, with what to do without a network."""
    return ArxivUnreachable(
        f"arXiv can't be reached from here ({_name_obstacle(error.bare)})",
        hint="`digest demo` shows everything on a made-up arXiv, without a network.",
    )


def _name_obstacle(said: Said) -> str:
    """Say who was not reached and why, without saying that it was not reached."""
    args = [_name_obstacle(one) if isinstance(one, Said) else one for one in said.args]
    code = Saying.OF_ONE if said.code is Saying.UNREACHABLE else said.code
    return str(Said.of(code, *args))


@contextmanager
def opened_client(
    config: Config, clock: Clock, store: Store | None, *, quiet: bool = False
) -> Iterator[ArxivClient]:
    """Open a client for a few requests, at one pace with run, serve and all else that asks.

    Without a database that keeps the gate, this account does. If `quiet`, the caller says that
    nothing answers.
    """
    with ExitStack() as stack:
        if store is None:
            folder = find_state_folder(read_environment())
            if config.test_clock:
                # Every simulated clock tells a time of its own, which says nothing under the next
                # one; and only what is on this machine is asked under one, which needs no patience.
                temporary = stack.enter_context(TemporaryDirectory(prefix="digest-"))
                folder = Path(temporary)
            path = folder / "try.db"
            store = create_standalone(path)
            stack.callback(store.close)
            # No installation: nobody works on it but for this.
            stack.enter_context(workers.lock_file(path))
            with store.begin() as conn:
                free_gate(conn, clock, passers_by=True)
        gate = StoreGate(store, clock, f"{PASSER_BY}{os.getpid()}", patience=30.0)
        client = open_client(config, gate, clock, on_request=None if quiet else _report_silence)
        stack.callback(client.close)
        yield client


def _report_silence(request: RequestLog) -> None:
    """Say when arXiv gives no answer, so that nobody waits in silence."""
    if request.status is None:
        echo("no answer from arXiv", err=True)


@contextmanager
def opened_store(ctx: click.Context, *, warns: bool = False) -> Iterator[Installation]:
    """Open the database of the installation the call means, and close it afterwards."""
    config = load(ctx, warns=warns)
    set_up_logging(ctx)
    clock = choose_clock(config)
    with _opened_database(config, clock) as store:
        yield Installation(config, clock, find_here(config, clock), store)


@contextmanager
def opened_workbench(ctx: click.Context) -> Iterator[Workbench]:
    """Open what there is of an installation, and close it afterwards."""
    config = open_config_or_defaults(ctx.obj["config_path"])
    set_up_logging(ctx)
    store = None
    clock = choose_clock(config)
    saved = {query.name: query.text for query in config.queries}
    with ExitStack() as stack:
        try:
            store = stack.enter_context(_opened_database(config, clock))
            with store.read() as conn:
                saved = {query.name: query.text for query in queries.load(conn)} | saved
        except (ConfigurationError, OutsideError) as error:
            if isinstance(error, SchemaMismatch | OutsideError):
                echo(f"note: {error.message}; it is not used. {error.hint}", err=True)
        yield Workbench(config, clock, find_here(config, clock), store, saved)
