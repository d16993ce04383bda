"""What the commands around a query share: the query found, the store where there is one, the way to arXiv.

None of them needs an installation. Where there is none, a query is what is typed and papers come from arXiv.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import click

from digest.arxiv.client import RETRIES
from digest.arxiv.documents import TRY_AGAIN
from digest.arxiv.search import ASKED_AGAIN
from digest.cli.naming import find_saved
from digest.cli.opening import choose_clock, set_up_logging
from digest.config import find_state_folder, open_config_or_defaults, read_environment
from digest.config.zones import choose_zone
from digest.errors import ArxivError, ArxivUnreachable, SchemaMismatch, StoreError, UsageError
from digest.pipeline import open_client
from digest.pipeline.previewing import find_beginnings
from digest.query import parse_query
from digest.store import Gate, create_standalone, open_store
from digest.store import queries as query_store
from digest.store.gate import GOES_ON, PASSER_BY, adopt_gate
from digest.store.worker import hold_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from digest.arxiv.client import ArxivClient
    from digest.arxiv.trials import RequestLog
    from digest.clock import Clock
    from digest.config import Config
    from digest.query import Query
    from digest.store import Store


class NamedQuery(NamedTuple):
    """A query and the name it is saved by, "" where it was typed."""

    name: str
    query: Query

    @property
    def title(self) -> str:
        """What to call it: its name, else its text."""
        return self.name or " ".join(self.query.text.split())


file_option = click.option(
    "--file",
    "path",
    metavar="FILE",
    help="Read the query from a file, - for standard input.",
)
"""`--file`, the same wherever a query may come from a file."""


def read_query(text: str | None, path: str | None, command: str) -> str:
    """Return a query's text, from the command line or from a file.

    Args:
        text: as typed; None where nothing was.
        path: of the file; None where none was named.
        command: how the command is called, for the message.

    Raises:
        UsageError: there is none, or both, or the file can't be read.
    """
    if (text is None) == (path is None):
        raise UsageError(
            f"{command} takes a query, or --file with one",
            hint=f'digest query {command} "cat:cs.PF AND abs:GPU"',
        )
    if path is None:
        return text or ""
    try:
        with click.open_file(path, encoding="utf-8-sig") as file:
            return str(file.read()).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{path} can't be read: {why}") from error


@dataclass(frozen=True, slots=True)
class Workbench:
    """What such a command works with.

    Attributes:
        config: what the operator configured; defaults where nothing is.
        clock: the time.
        now: the moment the command was called (UTC).
        zone: the zone times are shown in; None for the machine's own.
        store: the database; None where there is none that can be used.
        why_not: why there is none, "" where there is.
        saved: saved queries by name, from the file and from the store.
    """

    config: Config
    clock: Clock
    now: datetime
    zone: tzinfo | None
    store: Store | None
    why_not: str = ""
    saved: dict[str, str] = field(default_factory=dict)

    def find_query(self, text: str) -> NamedQuery:
        """Return the saved query of that name, else the text as a query.

        Raises:
            QueryError: it can't be read.
        """
        saved = find_saved(text, self.saved)
        return NamedQuery("", parse_query(text)) if saved is None else NamedQuery(text, parse_query(saved))

    def tell_beginnings(self, query: Query) -> None:
        """Say on standard error which words of a query no stored paper has, but many begin with."""
        if self.store is None:
            return
        with self.store.read() as conn:
            for note in find_beginnings(conn, query):
                click.echo(f"note: {note.message}", err=True)

    @contextmanager
    def asking(self, instead: str = "") -> Iterator[ArxivClient]:
        """Open the way to arXiv, behind the gate of the installation, or of this account where there is none.

        Args:
            instead: what can be done where arXiv can't be reached; "" for the demo.

        Raises:
            ArxivUnreachable: from within, with what to do without a network.
            ArxivError: from within, with what to do where nothing asks again by itself.
        """
        with opened_client(self.config, self.clock, self.store) as client:
            try:
                yield client
            except ArxivUnreachable as error:
                raise explain_unreachable(error, instead) from error
            except ArxivError as error:
                error.hint = advise_again(error)
                raise


def advise_again(error: ArxivError) -> str:
    """Return what to do about an error of arXiv's where no poll comes that would ask again."""
    if error.hint == GOES_ON:
        return "Call it again then: until then nothing is asked."
    return "Call it again later." if error.hint in (TRY_AGAIN, ASKED_AGAIN) else error.hint


def explain_unreachable(error: ArxivUnreachable, instead: str = "") -> ArxivUnreachable:
    """Return the error in one line, with what to do without a network."""
    said = error.message.removeprefix(f"{error.request}: ").replace(" can't be reached: ", ": ")
    return ArxivUnreachable(
        f"arXiv can't be reached from here ({said})",
        hint=instead or "`digest demo` shows everything on a made-up arXiv, without a network.",
    )


@contextmanager
def opened_client(config: Config, clock: Clock, store: Store | None) -> Iterator[ArxivClient]:
    """Open a client for a few requests, at one pace with run, serve and all else that asks.

    Args:
        config: whom to ask, and what to say of us.
        clock: the time.
        store: an installation's database, whose gate is asked; without one, this account keeps a gate, but for
            simulated clocks.
    """
    with ExitStack() as stack:
        if store is None:
            folder = find_state_folder(read_environment())
            if config.test_clock:
                # Every simulated clock tells a time of its own, which says nothing under the next one; and only
                # what is on this machine is asked under one, which needs no patience.
                folder = Path(stack.enter_context(TemporaryDirectory(prefix="digest-")))
            store = create_standalone(folder / "try.db")
            stack.callback(store.close)
            stack.enter_context(hold_file(folder / "try.db"))  # no installation: nobody works on it but for this
            with store.begin() as conn:
                adopt_gate(conn, clock, passers_by=True)
        gate = Gate(store, clock, f"{PASSER_BY}{os.getpid()}", patience=30.0)
        client = open_client(config, gate, clock, on_request=_Doubts().tell)
        stack.callback(client.close)
        yield client


@dataclass
class _Doubts:
    """Says when arXiv gives no answer and is asked again, so that nobody waits in silence."""

    unanswered: int = 0

    def tell(self, request: RequestLog) -> None:
        """Take one request as it went."""
        self.unanswered = self.unanswered + 1 if request.status is None else 0
        if 0 < self.unanswered <= RETRIES:
            line_start = "\r\x1b[K" if sys.stderr.isatty() else ""
            click.echo(f"{line_start}no answer from arXiv; asking again …", err=True)


@contextmanager
def opened_workbench(ctx: click.Context, *, is_quiet: bool = False) -> Iterator[Workbench]:
    """Open what there is of an installation, and close it afterwards.

    Args:
        ctx: the call.
        is_quiet: don't say that there is a database that can't be used.

    Raises:
        ConfigurationError: there is a configuration, and it can't be used.
    """
    config = open_config_or_defaults(ctx.obj["config_path"])
    set_up_logging(ctx)
    store, why_not = None, ""
    saved = {query.name: query.text for query in config.queries}
    with ExitStack() as stack:
        try:
            store = open_store(config.store.url, is_reading=True)
            stack.callback(store.close)
            with store.read() as conn:
                saved = {query.name: query.text for query in query_store.load_queries(conn)} | saved
        except StoreError as error:
            why_not = error.message
            if isinstance(error, SchemaMismatch) and not is_quiet:
                click.echo(f"note: {error.message}; it is left alone. {error.hint}", err=True)
        clock = choose_clock(config)
        yield Workbench(config, clock, clock.now(), choose_zone(config), store, why_not, saved)


def require_store(bench: Workbench) -> Store:
    """Return the database.

    Raises:
        UsageError: there is none.
    """
    if bench.store is None:
        raise UsageError(
            f"nothing is stored here: {bench.why_not}", hint="`digest run` begins to store; or ask arXiv."
        )
    return bench.store
