"""`digest missed`: what arXiv announced in the last days near a library, and not in it."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from pathlib import Path

import click

from digest.cli.commands import name_command
from digest.cli.context import Workbench, opened_client, opened_workbench
from digest.cli.output import (
    Block,
    Part,
    ProgressLines,
    answers,
    echo,
    find_width,
    list_fields,
    mark_ours,
    shows_colors,
    wants_json,
)
from digest.cli.preview import write_output
from digest.config import find_config, find_state_folder, read_environment
from digest.config.addresses import resolve_sources
from digest.inspect.missed import find_missed
from digest.interest.libraries import read_source, store_library
from digest.interest.tables import StoredLibrary, load_libraries, load_states
from digest.model.errors import OutsideError, UsageError
from digest.model.libraries import ZOTERO
from digest.model.polls import Source
from digest.poll.step import poll_days
from digest.render.contexts import MissedContext
from digest.render.renderer import Renderer
from digest.render.terminal import lay_out_lines
from digest.serve.installation import open_site
from digest.site import Site
from digest.store import migrate, open_store, papers, runs, workers

_HINT = "Call it again later. `digest demo` shows everything on a made-up arXiv, without a network."
_LONGEST_BEFORE = timedelta(days=180)
"""What was fetched is kept, unless it begins longer than this before the first day wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed(MissedContext):
    """What was missed, and the operator's folder of templates to show it with."""

    templates: Path | None

    @property
    def exit_code(self) -> int:
        """4 if not all of the days could be read."""
        return OutsideError.exit_code if self.failure else 0


def _show(missed: Missed, *, shape: str, output: Path | None) -> Iterator[Part]:
    folders = [missed.templates] if missed.templates else []
    renderer = Renderer(folders)
    if output or shape == "html":
        page = renderer.render_web("missed.html", missed)
        write_output(page.encode(), output)
    else:
        text = renderer.templates.render("terminal/missed.txt", missed)
        screen = lay_out_lines(text, find_width(), color=shows_colors())
        yield Block(mark_ours(screen))


@click.command()
@click.argument("library", metavar="LIBRARY")
@click.option(
    "--days", type=click.IntRange(1, 90), default=30, show_default=True, help="How many days back."
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="How many papers to show.",
)
@click.option(
    "--as",
    "shape",
    type=click.Choice(["terminal", "html"]),
    default="terminal",
    help="What to show.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it here, as a page."
)
@answers(_show, "shape", "output")
@click.pass_context
def command(ctx: click.Context, /, library: str, *, days: int, limit: int) -> Missed:
    """See what you missed: papers of the last month that are near your library and not in it.

    LIBRARY is a file (BibTeX, RIS, CSL-JSON, or a text with an arXiv id or address on each line),
    or a library at Zotero. Only arXiv is asked, and Zotero for what is there. Nothing is sent.

    What arXiv announced is kept for the next time: the first call takes some minutes. If you stop
    it with Ctrl-C, the next call goes on. Exit code 4 if not all of the days could be read.

    \b
    digest missed thesis.bib
    digest missed zotero:1234567/Thesis --days 60
    digest missed lab.ris --output missed.html
    """  # noqa: D301 - click reads the backspace, which must be one
    (source,) = resolve_sources([library], Path.cwd())
    output: Path | None = ctx.params["output"]
    if output:
        _check_output(output)
    is_set_up = find_config(ctx.obj["config_path"], read_environment()).exists()
    with opened_workbench(ctx) as bench:
        today = bench.here.now.astimezone(UTC).date()
        first = today - timedelta(days=days)
        followers = [one.name for one in bench.config.subscriptions if source in one.library]
        with _opened_site(bench, first, ProgressLines()) as site:
            failure, held = _fetch(bench, site, source, days)
            found = find_missed(
                site,
                held,
                first,
                library=library,
                failure=failure,
                days=days,
                limit=limit,
                follow="",  # below, if there are papers
                followed_by=", ".join(followers),
            )
    if failure and not found.announced:
        raise OutsideError(failure, hint=_HINT)
    if found.papers and not followers:
        follow = _write_follow_command(found, library, is_set_up=is_set_up)
        found = replace(found, follow=follow)
    return Missed(**list_fields(found), templates=bench.config.templates)


def _check_output(output: Path) -> None:
    """Refuse a page that can't be written, before anything is fetched for it."""
    if wants_json():
        raise UsageError(
            "--output writes a page, and --json none", hint="Write --json > missed.json instead."
        )
    place = output if output.exists() else output.absolute().parent
    if not os.access(place, os.W_OK):
        raise UsageError(f"{output} can't be written", hint="Check the folder and its permissions.")


def _write_follow_command(found: MissedContext, library: str, *, is_set_up: bool) -> str:
    """Return the command by which digests bring papers that are near the library.

    `add` follows the categories that most of the papers found are of. `init` proposes categories.
    """
    words = ["init"]
    if is_set_up:
        categories = Counter(view.entry.paper.primary_category for view in found.papers)
        query = " OR ".join(f"cat:{name}" for name, _ in categories.most_common(3))
        words = ["add", query]
    said = shlex.join([*words, "--library", library])
    return f"{name_command()} {said}"


@contextmanager
def _opened_site(bench: Workbench, first: date, progress: ProgressLines) -> Iterator[Site]:
    """Open the database of what was fetched before, for this call alone.

    If it does not reach back to the first day wanted, begin anew.
    """
    path = find_state_folder(read_environment()) / "missed.db"
    url = f"sqlite:///{path}"
    config = replace(bench.config, store=replace(bench.config.store, url=url))
    with workers.lock_file(path):
        migrate(url)
        if not _covers(url, first):
            path.unlink()
            migrate(url)
        site = open_site(
            config,
            bench.clock,
            owner=f"missed:{os.getpid()}",
            jitter=lambda: 0.0,
            progress=progress,
        )
        site.has_gate = False  # the installation or the account has it, not this database
        with closing(site):
            yield site


def _covers(url: str, first: date) -> bool:
    """Whether what was fetched reaches back to the first day wanted, and not far beyond it.

    If no paper came yet, what the last harvest asked for counts. An empty database is as good.
    """
    with closing(open_store(url)) as store, store.read() as conn:
        reach = papers.load_stored_span(conn)
        harvests = runs.load_last(conn, Source.HARVEST, 1)
    since = reach.since if reach else None
    if since is None and harvests:
        since = harvests[0].window_from
    return since is None or first - _LONGEST_BEFORE <= since <= first


def _fetch(bench: Workbench, site: Site, source: str, days: int) -> tuple[str, StoredLibrary]:
    """Read the library, and fetch what is missing of the days.

    Return why not all is there, and the library.
    """
    try:
        with opened_client(bench.config, bench.clock, bench.store, quiet=True) as client:
            site.client = client
            version = ""  # a file is read in any case
            if source.startswith(ZOTERO):
                with site.store.read() as conn:
                    states = load_states(conn, [source])
                version = states[source].version if states else ""
            reading = read_source(site.config, site.clock, source, version)
            if reading is not None and not reading.papers:  # None: it is as it was
                raise UsageError(
                    f"{source} has no papers", hint="Name a library with a paper at least."
                )
            report = poll_days(site, days)
            store_library(site, report, source, reading)
    except KeyboardInterrupt:
        echo("\nWhat came is kept. Call it again to go on.", err=True)
        raise click.Abort from None
    with site.store.read() as conn:
        held = load_libraries(conn, [source])[source]
    return "; ".join(map(str, report.failures)), held
