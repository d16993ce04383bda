"""`digest init`: reads flags, asks for the rest, and writes a digest.toml that runs as it is."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import click
import tzlocal

from digest.arxiv.client import IDS_LIMIT
from digest.arxiv.pages import fetch_papers
from digest.cli.add import LIBRARY
from digest.cli.commands import name_command
from digest.cli.context import choose_clock, opened_client, read_followed, write_sources
from digest.cli.dialogue import PASSWORD_FILE, TOKEN_FILE, VARIABLES, Dialogue, read_defaults
from digest.cli.output import echo, echo_folded, settle, style, writing_files
from digest.cli.starts import NEW, SECRETS, SITE, STARTS, Facts, Start, read_package, render_start
from digest.config import Config, find_config, load_config, read_environment
from digest.config.addresses import (
    expand_home,
    read_destination,
    read_mail_address,
    read_reachable,
    read_secure_url,
    read_smtp_url,
    resolve_sources,
)
from digest.config.edits import compare_texts
from digest.config.providers import OUTLOOK, OWN, PROVIDERS
from digest.config.replacement import read_config_file
from digest.config.starter import (
    Answers,
    complete_schedule,
    drop_unused,
    list_missing,
    log_in,
    make_name,
    read_answers,
    suggest_schedule,
    write_starter,
)
from digest.interest.libraries import read_source
from digest.model.errors import ArxivError, UsageError
from digest.model.papers import Paper
from digest.serve.alarms import send_test
from digest.serve.installation import open_site

_MOST_CATEGORIES = 5
_ONE_PAPER_IN = 10
"""At most five categories of a library are followed, each with one in ten of its papers or more."""


@click.command()
@click.option(
    "--query", "queries", metavar="QUERY", multiple=True, help="What to follow; repeatable."
)
@click.option("--library", "libraries", metavar="SOURCE", multiple=True, help=LIBRARY)
@click.option(
    "--show", metavar="NUMBER", type=click.IntRange(1), help="How many papers a digest shows."
)
@click.option(
    "--to", "destinations", metavar="TO", multiple=True, help="you@…, #papers, feed, console, …"
)
@click.option("--provider", type=click.Choice(list(PROVIDERS)), help="Who sends the mail.")
@click.option("--region", metavar="REGION", default="", help="Of Amazon SES.")
@click.option(
    "--login", metavar="NAME", default="", help="Your login name there, if it is not your address."
)
@click.option("--smtp", metavar="URL", help="Your own mail server: smtp+starttls://name@host:587.")
@click.option("--from", "sender", metavar="ADDRESS", help="The address mail comes from.")
@click.option(
    "--password-file", metavar="FILE", default="", help="A file that holds the mail password."
)
@click.option(
    "--token-file", metavar="FILE", default="", help="A file that holds Slack's bot token."
)
@click.option("--base-url", metavar="URL", help="The public address of `digest serve`, for feeds.")
@click.option("--when", metavar="TIMES", default="", help='As "weekdays at 09:00".')
@click.option(
    "--zone",
    metavar="ZONE",
    default="",
    help="The time zone of --when; the machine's own by default.",
)
@click.option(
    "--contact", metavar="ADDRESS", help="How arXiv can reach you; your mail address by default."
)
@click.option(
    "--start",
    type=click.Choice(list(STARTS)),
    help="Write what it takes to run by itself, too; also beside a digest.toml that is there.",
)
@click.option(
    "--package",
    metavar="URL",
    default="",
    help="With --start: the wheel or commit that Digest is installed from.",
)
@click.option(
    "--site", is_flag=True, help="With --start github: show digests to everybody, on GitHub Pages."
)
@click.option(
    "--test/--no-test", "tests", default=None, help="Send a test message. On a terminal it asks."
)
@click.option("--no-input", is_flag=True, help="Ask nothing, even on a terminal.")
@click.argument(
    "path", metavar="[FILE]", required=False, type=click.Path(dir_okay=False, path_type=Path)
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    path: Path | None,
    zone: str,
    tests: bool | None,
    no_input: bool,
    start: str | None,
    package: str,
    site: bool,
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
    digest init --start github
    """  # noqa: D301 - click reads the backspace, which must be one
    environ = read_environment()
    target = path or find_config(ctx.obj["config_path"], environ)
    chosen = STARTS.get(start or "")
    beside_name = target.name + NEW
    if site:
        _check_site(start)
        flags["destinations"] += (SITE,)
    is_beside = chosen is not None and target.exists()
    others = [*chosen.files, beside_name] if chosen else []
    _check_nothing_there(target, others, is_beside=is_beside)
    _check_flags(flags, target, is_beside=is_beside)
    package = read_package(package)
    if chosen:
        chosen.check(target, package)
    secrets: dict[str, str] = {}  # the dialogue adds those that are typed, by their files' names
    if is_beside:
        draft = _read_draft(target, environ)
    else:
        hides = chosen is not None and chosen.hides
        dialogue = _make_dialogue(target, zone, environ, secrets, hides=hides)
        draft = _plan_draft(target, flags, dialogue, chosen, tests=tests, no_input=no_input)
    files = {}
    for name, secret in secrets.items():
        is_named = f'"{name}"' in draft.text  # else the start has a file of its own for secrets
        if is_named:
            files[name] = f"{secret}\n"
    text = draft.text
    steps = ""
    if chosen:
        facts = Facts(
            target,
            draft.text,
            draft.answers,
            draft.config,
            package,
            clock=choose_clock(draft.config),
            environ=environ,
            draw_bytes=token_bytes,
        )
        made, steps, text = render_start(chosen, facts)
        files |= made
    change: list[str] = []
    if is_beside:
        change = compare_texts(draft.text, text, target.name)
        if change:
            files[beside_name] = text
    private = {*secrets, SECRETS, beside_name}
    _save(target, None if is_beside else text, files, private)
    written = list(files) if is_beside else [target.name, *files]
    _report(target, draft.config, written, steps, change)


@dataclass(frozen=True, slots=True)
class Draft:
    """A digest.toml that is there or will be, in three forms.

    Attributes:
        text: what is written in it.
        answers: how it answers the questions of `init`.
        config: what it configures.
    """

    text: str
    answers: Answers
    config: Config


def _check_site(start: str | None) -> None:
    if start != "github":
        raise UsageError(
            "--site goes with --start github",
            hint=f'Elsewhere write to = "{SITE}": see `digest help feeds`.',
        )


def _read_draft(target: Path, environ: Mapping[str, str]) -> Draft:
    """Return the digest.toml that is there."""
    config = load_config(target, environ)
    text = read_config_file(target).text
    return Draft(text, drop_unused(read_answers(config, target.name)), config)


def _make_dialogue(
    target: Path, zone: str, environ: Mapping[str, str], secrets: dict[str, str], *, hides: bool
) -> Dialogue:
    """Return a dialogue that tests with the file as it would be written.

    `hides`: as `Dialogue` has it.
    """

    def send_tests(known: Answers) -> None:
        _send_tests(_read_config(target, environ, secrets, drop_unused(known)))

    return Dialogue(target.parent, zone or find_zone(), environ, send_tests, secrets, hides=hides)


def _plan_draft(
    target: Path,
    flags: Mapping[str, Any],
    dialogue: Dialogue,
    chosen: Start | None,
    *,
    tests: bool | None,
    no_input: bool,
) -> Draft:
    """Return the digest.toml to write; ask for what it lacks."""
    known = _answer_all(dialogue, flags, target, tests=tests, no_input=no_input)
    config = _read_config(target, dialogue.environ, dialogue.secrets, known)
    shown = replace(known, password_file="", token_file="") if dialogue.hides else known
    text = _write(target, shown, chosen.settings if chosen else {})
    return Draft(text, known, config)


def _check_flags(flags: Mapping[str, Any], target: Path, *, is_beside: bool) -> None:
    """Refuse a package that is given as --from, and any flag if a file there answers instead."""
    sender = flags["sender"] or ""
    if re.search(r"://|\.whl$", sender):
        raise UsageError(
            f"--from {sender} is no mail address",
            hint="A wheel or a commit goes to --package, by an address: nobody else has your file.",
        )
    if is_beside and any(flags.values()):
        raise UsageError(
            f"{target} is there already, and --start takes what it says",
            hint="`digest subscription edit` and `digest add` change what it says.",
        )


def _answer_all(
    dialogue: Dialogue,
    flags: Mapping[str, Any],
    target: Path,
    *,
    tests: bool | None,
    no_input: bool,
) -> Answers:
    """Return all answers: what flags say, and what is asked or usual for the rest."""
    known = _read_flags(flags, target, dialogue.zone, dialogue.environ)
    if known.library:
        is_wanted = not known.queries
        proposed = _propose_query(target, dialogue.environ, known.library, is_wanted=is_wanted)
        known = replace(known, queries=known.queries or proposed)
    can_ask = sys.stdin.isatty() and sys.stdout.isatty() and not no_input
    if can_ask:
        known = _run_dialogue(dialogue, known, tests=tests)
    else:
        known = _fill_in(known, dialogue.zone, may_lack=dialogue.hides)
        if tests:
            dialogue.send_tests(known)
    return drop_unused(known)


def find_zone() -> str:
    """Return the name of the machine's own time zone; UTC where it has none."""
    try:
        zone = tzlocal.get_localzone_name()
    except ZoneInfoNotFoundError:
        return "UTC"
    return "UTC" if zone in (None, "Etc/UTC") else zone


def _check_nothing_there(target: Path, others: Iterable[str], *, is_beside: bool) -> None:
    """Refuse to write over a file, or into a folder where nothing can be written.

    If `is_beside`, digest.toml itself may be there.
    """
    if target.exists() and not is_beside:
        raise UsageError(
            f"{target} is there already, and was left as it is",
            hint="`digest add` adds a query or a subscription to it. "
            "Or name another file: `digest init FILE`.",
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{target} can't be written", hint="Check the folder and its permissions.")
    paths = [target.parent / one for one in others]
    present = [str(path) for path in paths if path.exists()]
    if present:
        verb = "is" if len(present) == 1 else "are"
        raise UsageError(
            f"{', '.join(present)} {verb} there already",
            hint="Move away what is there, or begin in an empty folder. Nothing was written.",
        )


def _read_flags(
    flags: Mapping[str, Any], target: Path, zone: str, environ: Mapping[str, str]
) -> Answers:
    """Return what the command line says, and which secrets the environment gives."""
    queries = [read_followed(text) for text in flags["queries"]]
    for query in queries:
        for note in query.notes:
            echo(f"note: {query.text}: {note.message}", err=True)

    def find_file(flag: str, variable: str) -> str | None:
        """Return a secret's file; "" if it is not known, None if the environment has the secret."""
        if flags[flag]:
            return os.path.relpath(expand_home(flags[flag]), target.parent)
        is_given = variable in environ or f"{variable}_FILE" in environ
        return None if is_given else ""

    def read(flag: str, reader: Callable[[object], str]) -> str:
        return reader(flags[flag]) if flags[flag] else ""

    known = Answers(
        queries=tuple(query.expression for query in queries),
        library=tuple(write_sources(flags["libraries"], target.parent)),
        show=flags["show"] or 0,
        to=tuple(map(read_destination, flags["destinations"])),
        smtp=read("smtp", read_smtp_url),
        sender=read("sender", read_mail_address),
        password_file=find_file("password_file", VARIABLES[PASSWORD_FILE]),
        token_file=find_file("token_file", VARIABLES[TOKEN_FILE]),
        base_url=None if flags["base_url"] is None else read("base_url", read_secure_url),
        when=flags["when"] and complete_schedule(flags["when"], zone),
        contact=read("contact", read_reachable),
    )
    if known.smtp:
        return replace(known, provider=OWN)
    if not flags["provider"]:
        return known
    provider = PROVIDERS[flags["provider"]]
    if provider is OUTLOOK:
        said, hint, *_ = OUTLOOK.notes
        raise UsageError(said, hint=hint)
    return log_in(known, provider, flags["login"], flags["region"])


def _fill_in(known: Answers, zone: str, *, may_lack: bool) -> Answers:
    """Return the answers with the usual ones where none is given.

    If they `may_lack` secrets, a secret's file that is not known is None: it is not asked for.
    """
    when = known.when
    if not when and not known.is_pulled:
        when = suggest_schedule(zone)
    known = replace(known, sender=known.sender or known.address, when=when)
    if may_lack:
        known = replace(
            known,
            password_file=known.password_file or None,
            token_file=known.token_file or None,
        )
    missing = list_missing(known)
    if missing:
        hint = (
            "Nothing was written. "
            "`digest init --help` explains each flag, and on a terminal it asks."
        )
        if "--provider" in missing:
            hint += " Instead of --provider, --smtp names a server of your own."
        raise UsageError(f"init has nobody to ask, and needs {', '.join(missing)}", hint=hint)
    return known


def _propose_query(
    target: Path, environ: Mapping[str, str], library: Sequence[str], *, is_wanted: bool
) -> tuple[str, ...]:
    """Return a query for the categories of a library's papers, if it `is_wanted` and there are any.

    The library is read in any case: so it is known to be readable.
    """
    config = read_defaults(environ)
    clock = choose_clock(config)
    ids = set()
    for source in resolve_sources(library, target.parent.absolute()):
        reading = read_source(config, clock, source)
        if reading:
            ids |= {paper.arxiv_id for paper in reading.papers if paper.arxiv_id}
    if not (ids and is_wanted):
        return ()
    echo("Asking arXiv for the categories of your library's papers …")
    newest = sorted(ids, reverse=True)[:IDS_LIMIT]
    papers: list[Paper] = []
    with opened_client(config, clock, None) as client:
        try:
            for fetched in fetch_papers(client, newest):
                papers += fetched.page.papers
        except ArxivError as error:
            echo(f"note: {error.message}, so what to follow is not known.", err=True)
            return ()
    chosen = _choose_categories(papers)
    if not chosen:
        return ()
    query = " OR ".join(f"cat:{name}" for name in chosen)
    met = [paper for paper in papers if not set(chosen).isdisjoint(paper.categories)]
    echo_folded(
        f"You follow {query}: it has {len(met)} of your library's {len(papers)} newest papers "
        f"with an arXiv id, of {len(ids):,} in all. "
        "`digest add` follows more, --query something else."
    )
    return (query,)


def _choose_categories(papers: Sequence[Paper]) -> list[str]:
    """Return the primary categories that many of the papers have, the most frequent first."""
    numbers = Counter(paper.categories[0] for paper in papers)
    most_frequent = numbers.most_common(_MOST_CATEGORIES)
    return [name for name, number in most_frequent if number * _ONE_PAPER_IN >= len(papers)]


def _run_dialogue(dialogue: Dialogue, known: Answers, *, tests: bool | None) -> Answers:
    echo("A few questions, then digest.toml is written. Ctrl-C stops and writes nothing.")
    try:
        known = dialogue.ask(known)
        can_test = any(not one.traits.is_own for one in known.to)
        if can_test and tests is not False:
            echo()
            question = settle(style("Send a test message now?", bold=True))
            if tests or click.confirm(question, default=True):
                known = dialogue.test(known)
    except (click.Abort, KeyboardInterrupt) as error:
        echo("\nNothing was written.", err=True)
        raise click.Abort from error
    return known


def _send_tests(config: Config) -> None:
    with TemporaryDirectory(prefix="digest-") as folder:
        store = replace(config.store, url=f"sqlite:///{folder}/test.db")
        site = open_site(
            replace(config, store=store), choose_clock(config), owner="init", jitter=lambda: 0.0
        )
        with closing(site):
            for destination in config.subscriptions[0].destinations:
                if not destination.traits.is_own:
                    echo(f"  Sending a test to {destination.address} …")
                    send_test(site, destination)
                    sent = style("✓ sent", fg="green")
                    echo(f"  {sent}")


def _read_config(
    target: Path, environ: Mapping[str, str], secrets: Mapping[str, str], known: Answers
) -> Config:
    """Read the file as it is about to be written, with the secrets that were typed for it.

    Their files are not there yet. So they are read as if their variables held them.
    """
    named = (known.password_file, known.token_file)
    typed = {VARIABLES[file]: secret for file, secret in secrets.items() if file in named}
    content = _write(target, known, {}).encode()
    return load_config(target, {**environ, **typed}, content=content)


def _write(target: Path, known: Answers, more: Mapping[str, object]) -> str:
    """Return the text of the file.

    A file beside another one has a database of its own: in one they would end each other's
    subscriptions.
    """
    url = "" if target.name == "digest.toml" else f"sqlite:///{make_name(target.stem)}.db"
    return write_starter(known, {"store.url": url, **more})


def _save(
    target: Path,
    text: str | None,
    files: Mapping[str, str],
    private: Container[str],
) -> None:
    """Write the files, those that are private for their owner alone, and then digest.toml.

    There is no text for a digest.toml that is there already.
    """
    with writing_files():
        for name, content in files.items():
            file = target.parent / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if name in private:
                file.touch(0o600)
                file.chmod(0o600)
            file.write_text(content, encoding="utf-8")
        if text is not None:
            with target.open("x", encoding="utf-8") as opened:
                opened.write(text)


def _report(
    target: Path,
    config: Config,
    written: Sequence[str],
    steps: str,
    change: Sequence[str],
) -> None:
    call = name_command()
    if find_config(None, read_environment()) != target:
        call += f" --config {shlex.quote(str(target))}"
    if written:
        *before, last = [str(target.parent / name) for name in written]
        others = f"{', '.join(before)} and " if before else ""
        echo_folded(f"\nWrote {others}{last}.")
    if change:
        echo_folded(f"{target.name} was left as it is. This start needs it so:\n")
        echo("\n".join([*change, ""]))
        if config.store.git_branch:
            echo(f"  first  {call} db backup digest.db")
        echo(f"  first  mv {target.name}{NEW} {target.name}")
    if steps:
        echo(steps)
        return
    for warning in config.warnings:
        echo(f"  to do  {warning}")
    echo(f"  next   {call} run     check arXiv and send the first digest")
    echo(f"         {call} serve   keep doing it; or run it each morning from cron")
