"""`digest init`: asks for what is missing on a terminal, and writes a digest.toml that runs as it is."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import click
import tzlocal

from digest.arxiv.client import IDS_LIMIT
from digest.arxiv.pages import fetch_papers
from digest.cli.add import LIBRARY
from digest.cli.commands import name_command
from digest.cli.context import choose_clock, explain_unreachable, opened_client, read_followed, write_sources
from digest.cli.dialogue import PASSWORD_FILE, TOKEN_FILE, Dialogue
from digest.cli.output import say
from digest.config import Config, addresses, find_config, load_config, read_environment
from digest.config.providers import OUTLOOK, OWN, PROVIDERS
from digest.config.starter import (
    Answers,
    complete_schedule,
    drop_unused,
    list_missing,
    log_in,
    make_name,
    suggest_schedule,
    write_starter,
)
from digest.inspect.preview import try_query
from digest.interest.libraries import read_source
from digest.model.errors import ArxivError, ArxivUnreachable, UsageError, count
from digest.model.messages import Digest
from digest.model.subscriptions import DestinationKind
from digest.query import Query
from digest.serve.alarms import send_test
from digest.serve.installation import open_site

_UNTESTED = (DestinationKind.CONSOLE, DestinationKind.FILE, DestinationKind.FEED)
_CATEGORIES, _SHARE = 5, 10
"""At most so many categories of a library are followed, each with one in so many of its papers."""

_VARIABLES = {PASSWORD_FILE: "DIGEST_MAIL_PASSWORD", TOKEN_FILE: "DIGEST_SLACK_TOKEN"}


@click.command()
@click.option("--query", "queries", metavar="QUERY", multiple=True, help="What to follow; repeatable.")
@click.option("--library", "libraries", metavar="SOURCE", multiple=True, help=LIBRARY)
@click.option("--show", metavar="NUMBER", type=click.IntRange(1), help="How many papers a digest shows.")
@click.option("--to", "destinations", metavar="TO", multiple=True, help="you@…, #papers, feed, console, …")
@click.option("--provider", type=click.Choice(list(PROVIDERS)), help="Who sends the mail.")
@click.option("--region", metavar="REGION", default="", help="Of Amazon SES.")
@click.option("--login", metavar="NAME", default="", help="Your login name there, if it is not your address.")
@click.option("--smtp", metavar="URL", help="Your own mail server: smtp+starttls://name@host:587.")
@click.option("--from", "sender", metavar="ADDRESS", help="The address mail comes from.")
@click.option("--password-file", metavar="FILE", default="", help="A file that holds the mail password.")
@click.option("--token-file", metavar="FILE", default="", help="A file that holds Slack's bot token.")
@click.option("--base-url", metavar="URL", help="The public address of `digest serve`, for feeds.")
@click.option("--when", metavar="TIMES", default="", help='As "weekdays at 09:00".')
@click.option("--zone", metavar="ZONE", default="", help="The time zone of --when; the machine's own by default.")
@click.option("--contact", metavar="ADDRESS", help="How arXiv can reach you; your mail address by default.")
@click.option("--test/--no-test", "tests", default=None, help="Send a test message. On a terminal it asks.")
@click.option("--no-input", is_flag=True, help="Ask nothing, even on a terminal.")
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    path: Path | None,
    zone: str,
    tests: bool | None,
    no_input: bool,
    **flags: Any,  # noqa: ANN401 - as many types as flags
) -> None:
    """Set up your own, step by step: asks a few questions and writes digest.toml.

    Each question has a flag. With all of them it asks nothing. It never writes over a file.

    With --library and without --query, you follow the categories of your library's papers.

    \b
    digest init
    digest init --to you@gmail.com --provider gmail
    digest init --library thesis.bib --show 5 --to you@gmail.com --provider gmail
    digest init --query "abs:GPU" --to console --contact you@example.org
    """  # noqa: D301 - click reads the backspace, which must be one
    environ = read_environment()
    target = path or find_config(ctx.obj["config_path"], environ)
    _require_room(target)
    zone = zone or find_zone()
    known = _read_flags(flags, target, zone, environ)
    if known.library:
        proposed = _propose_query(target, environ, known.library, is_asked=not known.queries)
        known = replace(known, queries=known.queries or proposed)
    secrets: dict[str, str] = {}
    read = partial(_read_config, target, environ, secrets)

    def send_tests(known: Answers) -> None:
        _send_tests(read(drop_unused(known)))

    if no_input or not (sys.stdin.isatty() and sys.stdout.isatty()):
        known = _fill_in(known, zone)
        if tests:
            send_tests(known)
    else:
        dialogue = Dialogue(target.parent, zone, partial(_look_up, environ), send_tests, secrets)
        known = _run_dialogue(dialogue, known, tests=tests)
    known = drop_unused(known)
    config = read(known)
    kept = {name: secret for name, secret in secrets.items() if name in (known.password_file, known.token_file)}
    _save(target, _write(target, known), kept)
    _report(target, config, kept)


def find_zone() -> str:
    """Return the name of the machine's own time zone; UTC where it has none."""
    try:
        zone = tzlocal.get_localzone_name()
    except ZoneInfoNotFoundError:
        return "UTC"
    return "UTC" if zone in (None, "Etc/UTC") else zone


def _require_room(target: Path) -> None:
    """Make sure, before anything is asked, that the file can be written."""
    if target.exists():
        hint = "`digest add` adds a query or a subscription to it. Or name another file: `digest init FILE`."
        raise UsageError(f"{target} is there already, and was left as it is", hint=hint)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{target} can't be written", hint="Check the folder and its permissions.")


def _read_flags(flags: Mapping[str, Any], target: Path, zone: str, environ: Mapping[str, str]) -> Answers:
    """Return what the command line says, and that the environment gives a secret."""
    queries = [read_followed(text) for text in flags["queries"]]
    for query in queries:
        for note in query.notes:
            click.echo(f"note: {query.text}: {note.message}", err=True)

    def find_file(flag: str, variable: str) -> str | None:
        if flags[flag]:
            return os.path.relpath(addresses.expand_home(flags[flag]), target.parent)
        return None if {variable, f"{variable}_FILE"} & environ.keys() else ""

    def read(flag: str, reader: Callable[[object], str]) -> str:
        return reader(flags[flag]) if flags[flag] else ""

    known = Answers(
        queries=tuple(query.expression for query in queries),
        library=tuple(write_sources(flags["libraries"], target.parent)),
        show=flags["show"] or 0,
        to=tuple(map(addresses.read_destination, flags["destinations"])),
        smtp=read("smtp", addresses.read_smtp_url),
        sender=read("sender", addresses.read_mail_address),
        password_file=find_file("password_file", _VARIABLES[PASSWORD_FILE]),
        token_file=find_file("token_file", _VARIABLES[TOKEN_FILE]),
        base_url=None if flags["base_url"] is None else read("base_url", addresses.read_secure_url),
        when=flags["when"] and complete_schedule(flags["when"], zone),
        contact=read("contact", addresses.read_reachable),
    )
    if known.smtp or not flags["provider"]:
        return replace(known, provider=OWN if known.smtp else None)
    provider = PROVIDERS[flags["provider"]]
    if provider is OUTLOOK:
        raise UsageError(OUTLOOK.notes[0], hint=OUTLOOK.notes[1])
    return log_in(known, provider, flags["login"], flags["region"])


def _fill_in(known: Answers, zone: str) -> Answers:
    """Return the answers with the usual ones where none is given."""
    known = replace(
        known,
        sender=known.sender or known.address,
        when=known.when or ("" if known.is_pulled else suggest_schedule(zone)),
    )
    if missing := list_missing(known):
        raise UsageError(
            f"init has nobody to ask, and needs {', '.join(missing)}",
            hint="Nothing was written. `digest init --help` explains each flag, and on a terminal it asks."
            + " Instead of --provider, --smtp names a server of your own." * ("--provider" in missing),
        )
    return known


def _propose_query(
    target: Path, environ: Mapping[str, str], library: Sequence[str], *, is_asked: bool
) -> tuple[str, ...]:
    """Read a library; if a query is asked for, return that for the categories of its papers at arXiv, if any."""
    config = _read_defaults(environ)
    clock = choose_clock(config)
    sources = addresses.resolve_sources(library, target.parent.absolute())
    readings = [read_source(config, clock, source) for source in sources]
    ids = {paper.arxiv_id for one in readings if one for paper in one.papers if paper.arxiv_id}
    if not (ids and is_asked):
        return ()
    click.echo("Asking arXiv for the categories of your library's papers …")
    newest = sorted(ids, reverse=True)[:IDS_LIMIT]
    with opened_client(config, clock, None) as client:
        try:
            papers = [paper for fetched in fetch_papers(client, newest) for paper in fetched.page.papers]
        except ArxivError as error:
            click.echo(f"note: {error.message}, so what to follow is not known.", err=True)
            return ()
    often = Counter(paper.categories[0] for paper in papers).most_common(_CATEGORIES)
    chosen = [name for name, number in often if number * _SHARE >= len(papers)]
    query = " OR ".join(f"cat:{name}" for name in chosen)
    there = sum(not set(chosen).isdisjoint(paper.categories) for paper in papers)
    held = f"{there} of the {len(papers)} newest of your library's {count(len(ids), 'paper')} at arXiv"
    if query:
        say(f"You follow {query}: it has {held}. `digest add` follows more, --query something else.")
    return (query,) if query else ()


def _read_defaults(environ: Mapping[str, str]) -> Config:
    """Return what counts without a file: a password for mail still lacks its server."""
    return load_config(None, {name: text for name, text in environ.items() if not name.startswith("DIGEST_MAIL_")})


def _run_dialogue(dialogue: Dialogue, known: Answers, *, tests: bool | None) -> Answers:
    click.echo("A few questions, then digest.toml is written. Ctrl-C stops and writes nothing.")
    try:
        known = dialogue.ask(known)
        if tests is not False and any(one.kind not in _UNTESTED for one in known.to):
            click.echo()
            if tests or click.confirm(click.style("Send a test message now?", bold=True), default=True):
                known = dialogue.test(known)
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo("\nNothing was written.", err=True)
        raise click.Abort from error
    return known


def _look_up(environ: Mapping[str, str], query: Query) -> Digest:
    """Ask arXiv for what a query brings."""
    config = _read_defaults(environ)
    clock = choose_clock(config)
    click.echo("  Asking arXiv …")
    with opened_client(config, clock, None) as client:
        try:
            return try_query(client, clock, query, days=7)
        except ArxivUnreachable as error:
            raise explain_unreachable(error) from error


def _send_tests(config: Config) -> None:
    """Send a message that says it is a test to every place that messages are sent to."""
    with TemporaryDirectory(prefix="digest-") as folder:
        store = replace(config.store, url=f"sqlite:///{folder}/test.db")
        site = open_site(replace(config, store=store), choose_clock(config), owner="init", jitter=lambda: 0.0)
        with closing(site):
            for destination in config.subscriptions[0].destinations:
                if destination.kind not in _UNTESTED:
                    click.echo(f"  Sending a test to {destination.address} …")
                    send_test(site, destination)
                    click.echo(f"  {click.style('✓ sent', fg='green')}")


def _read_config(target: Path, environ: Mapping[str, str], secrets: Mapping[str, str], known: Answers) -> Config:
    """Read the file as it is about to be written, with the secrets that are still to be kept."""
    files = (known.password_file, known.token_file)
    typed = {_VARIABLES[file]: secret for file, secret in secrets.items() if file in files}
    return load_config(target, {**environ, **typed}, content=_write(target, known).encode())


def _write(target: Path, known: Answers) -> str:
    """Return the text of the file.

    A file beside another one has a database of its own: in one they would end each other's subscriptions.
    """
    return write_starter(known, database="" if target.name == "digest.toml" else make_name(target.stem))


def _save(target: Path, text: str, secrets: Mapping[str, str]) -> None:
    """Write the secrets, each into a file that only its owner can read, and then the file."""
    try:
        for name, secret in secrets.items():
            file = target.parent / name
            file.touch(0o600)
            file.chmod(0o600)
            file.write_text(f"{secret}\n", encoding="utf-8")
        with target.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        hint = "Check the folder and its permissions."
        raise UsageError(f"{error.filename} can't be written: {error.strerror}", hint=hint) from error


def _report(target: Path, config: Config, secrets: Mapping[str, str]) -> None:
    """Say what was written, what is still to be done, and what comes next."""
    click.echo(f"\nWrote {target}{''.join(f' and {target.parent / name}' for name in secrets)}.")
    for warning in config.warnings:
        click.echo(f"  to do  {warning}")
    is_usual = find_config(None, read_environment()) == target
    call = name_command() + ("" if is_usual else f" --config {shlex.quote(str(target))}")
    click.echo(f"  next   {call} run     check arXiv and send the first digest")
    click.echo(f"         {call} serve   keep doing it; or run it each morning from cron")
