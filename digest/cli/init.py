"""`digest init`: asks for what is missing on a terminal, and writes a digest.toml that runs as it is."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfoNotFoundError

import click
import tzlocal

from digest.arxiv.client import IDS_LIMIT
from digest.arxiv.pages import fetch_papers
from digest.cli.add import LIBRARY
from digest.cli.commands import name_command
from digest.cli.context import (
    choose_clock,
    explain_unreachable,
    opened_client,
    read_followed,
    write_sources,
)
from digest.cli.output import cut, echo, find_width, fold, say, settle, style, writing_files
from digest.cli.starts import NEW, SECRETS, SITE, STARTS, Facts, read_package, render_start
from digest.config import Config, find_config, load_config, read_environment
from digest.config.addresses import (
    expand_home,
    is_loopback,
    read_destination,
    read_mail_address,
    read_reachable,
    read_secure_url,
    read_smtp_url,
    resolve_sources,
)
from digest.config.edits import compare_texts
from digest.config.providers import OUTLOOK, OWN, PROVIDERS, add_login, guess_provider
from digest.config.replacement import read_config_file
from digest.config.starter import (
    Answers,
    Question,
    complete_schedule,
    drop_unused,
    list_missing,
    list_open,
    log_in,
    make_name,
    read_answers,
    suggest_schedule,
    write_starter,
)
from digest.inspect.preview import describe_found, note_found, try_query
from digest.interest.libraries import read_source
from digest.model.destinations import OWN_FEED, Destination, DestinationKind, mail_to
from digest.model.errors import ArxivError, ArxivUnreachable, DigestError, UsageError
from digest.query.description import describe_query
from digest.serve.alarms import send_test
from digest.serve.installation import open_site
from digest.tex import to_plain

T = TypeVar("T")

_PASSWORD_FILE = "mail.password"  # noqa: S105 - where it is kept
_TOKEN_FILE = "slack.token"  # noqa: S105 - the same
_SECURITY = {
    "STARTTLS, as on port 587": "smtp+starttls",
    "TLS, as on port 465": "smtps",
    "not at all": "smtp",
}
_UNTESTED = (DestinationKind.CONSOLE, DestinationKind.FILE, DestinationKind.FEED)
_CATEGORIES, _SHARE = 5, 10
"""At most that many categories of a library are followed, each with one in that many of its papers."""

_VARIABLES = {_PASSWORD_FILE: "DIGEST_MAIL_PASSWORD", _TOKEN_FILE: "DIGEST_SLACK_TOKEN"}


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
    if site:
        if start != "github":
            raise UsageError(
                "--site goes with --start github",
                hint=f'Elsewhere write to = "{SITE}": see `digest help feeds`.',
            )
        flags["destinations"] += (SITE,)
    is_beside = chosen is not None and target.exists()
    _require_room(target, [*chosen.files, target.name + NEW] if chosen else (), is_beside=is_beside)
    if re.search(r"://|\.whl$", flags["sender"] or ""):
        raise UsageError(
            f"--from {flags['sender']} is no mail address",
            hint="A wheel or a commit goes to --package, by an address: nobody else has your file.",
        )
    if is_beside and any(flags.values()):
        raise UsageError(
            f"{target} is there already, and --start takes what it says",
            hint="`digest subscription edit` and `digest add` change what it says.",
        )
    package = read_package(package)
    if chosen:
        chosen.check(target, package)
    secrets: dict[str, str] = {}
    if is_beside:
        config = load_config(target, environ)
        text = read_config_file(target).text
        known = drop_unused(read_answers(config, target.name))
    else:
        hides = bool(chosen and chosen.hides)
        read = partial(_read_config, target, environ, secrets)
        dialogue = Dialogue(
            target.parent,
            zone or find_zone(),
            environ,
            lambda known: _send_tests(read(drop_unused(known))),
            secrets,
            hides=hides,
        )
        known = _answer_all(dialogue, flags, target, tests=tests, no_input=no_input)
        shown = replace(known, password_file="", token_file="") if hides else known
        config = read(known)
        text = _write(target, shown, chosen.settings if chosen else {})
    files = {name: f"{secret}\n" for name, secret in secrets.items() if f'"{name}"' in text}
    wanted = text
    steps = ""
    if chosen:
        facts = Facts(
            target,
            text,
            known,
            config,
            package,
            clock=choose_clock(config),
            environ=environ,
            draw_bytes=token_bytes,
        )
        made, steps, wanted = render_start(chosen, facts)
        files |= made
    change = compare_texts(text, wanted, target.name) if is_beside else []
    if change:
        files[target.name + NEW] = wanted
    _save(target, None if is_beside else wanted, files, {*secrets, SECRETS, target.name + NEW})
    _report(target, config, [*([] if is_beside else [target.name]), *files], steps, change)


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
        proposed = _propose_query(
            target,
            dialogue.environ,
            known.library,
            is_asked=not known.queries,
        )
        known = replace(known, queries=known.queries or proposed)
    if no_input or not (sys.stdin.isatty() and sys.stdout.isatty()):
        known = _fill_in(known, dialogue.zone, may_lack=dialogue.hides)
        if tests:
            dialogue.send_tests(known)
    else:
        known = _run_dialogue(dialogue, known, tests=tests)
    return drop_unused(known)


def find_zone() -> str:
    """Return the name of the machine's own time zone; UTC where it has none."""
    try:
        zone = tzlocal.get_localzone_name()
    except ZoneInfoNotFoundError:
        return "UTC"
    return "UTC" if zone in (None, "Etc/UTC") else zone


def _require_room(target: Path, others: Iterable[str], *, is_beside: bool) -> None:
    if target.exists() and not is_beside:
        hint = "`digest add` adds a query or a subscription to it. Or name another file: `digest init FILE`."
        raise UsageError(f"{target} is there already, and was left as it is", hint=hint)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{target} can't be written", hint="Check the folder and its permissions.")
    if there := [str(target.parent / one) for one in others if (target.parent / one).exists()]:
        hint = "Move away what is there, or begin in an empty folder. Nothing was written."
        raise UsageError(
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already", hint=hint
        )


def _read_flags(
    flags: Mapping[str, Any], target: Path, zone: str, environ: Mapping[str, str]
) -> Answers:
    """Return what the command line says, and that the environment gives a secret."""
    queries = [read_followed(text) for text in flags["queries"]]
    for query in queries:
        for note in query.notes:
            echo(f"note: {query.text}: {note.message}", err=True)

    def find_file(flag: str, variable: str) -> str | None:
        if flags[flag]:
            return os.path.relpath(expand_home(flags[flag]), target.parent)
        return None if {variable, f"{variable}_FILE"} & environ.keys() else ""

    def read(flag: str, reader: Callable[[object], str]) -> str:
        return reader(flags[flag]) if flags[flag] else ""

    known = Answers(
        queries=tuple(query.expression for query in queries),
        library=tuple(write_sources(flags["libraries"], target.parent)),
        show=flags["show"] or 0,
        to=tuple(map(read_destination, flags["destinations"])),
        smtp=read("smtp", read_smtp_url),
        sender=read("sender", read_mail_address),
        password_file=find_file("password_file", _VARIABLES[_PASSWORD_FILE]),
        token_file=find_file("token_file", _VARIABLES[_TOKEN_FILE]),
        base_url=None if flags["base_url"] is None else read("base_url", read_secure_url),
        when=flags["when"] and complete_schedule(flags["when"], zone),
        contact=read("contact", read_reachable),
    )
    if known.smtp or not flags["provider"]:
        return replace(known, provider=OWN if known.smtp else None)
    provider = PROVIDERS[flags["provider"]]
    if provider is OUTLOOK:
        raise UsageError(OUTLOOK.notes[0], hint=OUTLOOK.notes[1])
    return log_in(known, provider, flags["login"], flags["region"])


def _fill_in(known: Answers, zone: str, *, may_lack: bool) -> Answers:
    """Return the answers with the usual ones where none is given; some starts may lack secrets."""
    known = replace(
        known,
        password_file=known.password_file or (None if may_lack else known.password_file),
        token_file=known.token_file or (None if may_lack else known.token_file),
        sender=known.sender or known.address,
        when=known.when or ("" if known.is_pulled else suggest_schedule(zone)),
    )
    if missing := list_missing(known):
        raise UsageError(
            f"init has nobody to ask, and needs {', '.join(missing)}",
            hint="Nothing was written. `digest init --help` explains each flag, and on a terminal it asks."
            + " Instead of --provider, --smtp names a server of your own."
            * ("--provider" in missing),
        )
    return known


def _propose_query(
    target: Path, environ: Mapping[str, str], library: Sequence[str], *, is_asked: bool
) -> tuple[str, ...]:
    """Read a library; if a query is asked for, return that for the categories of its papers at arXiv, if any."""
    config = _read_defaults(environ)
    clock = choose_clock(config)
    sources = resolve_sources(library, target.parent.absolute())
    readings = [read_source(config, clock, source) for source in sources]
    ids = {paper.arxiv_id for one in readings if one for paper in one.papers if paper.arxiv_id}
    if not (ids and is_asked):
        return ()
    echo("Asking arXiv for the categories of your library's papers …")
    newest = sorted(ids, reverse=True)[:IDS_LIMIT]
    with opened_client(config, clock, None) as client:
        try:
            papers = [
                paper for fetched in fetch_papers(client, newest) for paper in fetched.page.papers
            ]
        except ArxivError as error:
            echo(f"note: {error.message}, so what to follow is not known.", err=True)
            return ()
    often = Counter(paper.categories[0] for paper in papers).most_common(_CATEGORIES)
    chosen = [name for name, number in often if number * _SHARE >= len(papers)]
    query = " OR ".join(f"cat:{name}" for name in chosen)
    there = sum(not set(chosen).isdisjoint(paper.categories) for paper in papers)
    held = f"{there} of your library's {len(papers)} newest papers with an arXiv id, of {len(ids):,} in all"
    if query:
        say(
            f"You follow {query}: it has {held}. `digest add` follows more, --query something else."
        )
    return (query,) if query else ()


def _read_defaults(environ: Mapping[str, str]) -> Config:
    """Return what counts without a file: a password for mail still lacks its server."""
    return load_config(
        None, {name: text for name, text in environ.items() if not name.startswith("DIGEST_MAIL_")}
    )


def _run_dialogue(dialogue: Dialogue, known: Answers, *, tests: bool | None) -> Answers:
    echo("A few questions, then digest.toml is written. Ctrl-C stops and writes nothing.")
    try:
        known = dialogue.ask(known)
        if tests is not False and any(not one.traits.is_own for one in known.to):
            echo()
            if tests or click.confirm(
                settle(style("Send a test message now?", bold=True)), default=True
            ):
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
                    echo(f"  {style('✓ sent', fg='green')}")


def _read_config(
    target: Path, environ: Mapping[str, str], secrets: Mapping[str, str], known: Answers
) -> Config:
    """Read the file as it is about to be written, with the secrets that are still to be kept."""
    files = (known.password_file, known.token_file)
    typed = {_VARIABLES[file]: secret for file, secret in secrets.items() if file in files}
    return load_config(target, {**environ, **typed}, content=_write(target, known, {}).encode())


def _write(target: Path, known: Answers, more: Mapping[str, object]) -> str:
    """Return the text of the file.

    A file beside another one has a database of its own: in one they would end each other's subscriptions.
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
    is_usual = find_config(None, read_environment()) == target
    call = name_command() + ("" if is_usual else f" --config {shlex.quote(str(target))}")
    if written:
        *before, last = (str(target.parent / name) for name in written)
        say(f"\nWrote {', '.join(before)}{' and ' if before else ''}{last}.")
    if change:
        say(f"{target.name} was left as it is. This start needs it so:\n")
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


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue; `secrets` is given what was typed unseen, by the file it is kept in unless all is in one."""

    folder: Path
    zone: str
    environ: Mapping[str, str]
    send_tests: Callable[[Answers], None]
    secrets: dict[str, str]
    hides: bool = False

    def ask(self, known: Answers) -> Answers:
        """Ask for all that is open."""
        while questions := list_open(known):
            echo()
            known = self._answer(questions[0], known)
        return known

    def test(self, known: Answers) -> Answers:
        """Send a test until it arrives or is given up; return the answers, mended where it failed."""
        while True:
            try:
                self.send_tests(known)
            except DigestError as error:
                _say(style(f"✗ {error.message}", fg="red"), error.hint)
            else:
                return known
            mended = {**_list_mended(known), "nothing: keep it as it is": None}
            changed = mended[_choose("What do you want to change?", list(mended))]
            if changed is None:
                return known
            known = self.ask(changed)

    def _answer(self, question: Question, known: Answers) -> Answers:  # noqa: PLR0911 - one for each question
        match question:
            case Question.QUERY:
                return replace(known, queries=(self._ask_query(),))
            case Question.TO:
                return replace(known, to=(_ask_destination(is_sent=self.hides),))
            case Question.PROVIDER:
                return _ask_server(known)
            case Question.FROM:
                return replace(
                    known, sender=ask("From which address?", read_mail_address, known.address)
                )
            case Question.PASSWORD:
                called = (known.provider or OWN).secret
                return replace(known, password_file=self._ask_secret(called, _PASSWORD_FILE))
            case Question.TOKEN:
                _say(
                    "Slack wants an app of your own. `digest slack manifest` prints what describes it.",
                    "Paste that at https://api.slack.com/apps: Create New App, From a manifest.",
                    "Install the app. Under OAuth & Permissions copy its bot token.",
                    "In the channel write /invite @Digest.",
                )
                return replace(
                    known, token_file=self._ask_secret("Bot token (xoxb-…)", _TOKEN_FILE)
                )
            case Question.BASE_URL:
                offer = "`digest serve` can offer the feed at an https address."
                _say(f"{offer} Without one, each run writes it into a file.")
                base_url = ask(
                    "Which address? Enter for none.",
                    lambda text: text and read_secure_url(text),
                    "",
                )
                return replace(known, base_url=base_url)
            case Question.WHEN:
                read = partial(complete_schedule, zone=self.zone)
                return replace(known, when=ask("When?", read, suggest_schedule(self.zone)))
            case Question.CONTACT:
                _say("Each request tells arXiv how to reach you: a mail address or a web page.")
                return replace(known, contact=ask("Your address for arXiv?", read_reachable))

    def _ask_query(self) -> str:
        echo(style("What do you follow?", bold=True))
        _say("Words, a category such as cs.PF, or the address of a search on arXiv.")
        query = ask("", read_followed)
        while True:
            _say(
                f"Read as: {describe_query(query.tree)}.",
                *(f"Note: {note.message}." for note in query.notes),
            )
            echo("  Asking arXiv …")
            config = _read_defaults(self.environ)
            clock = choose_clock(config)
            try:
                with opened_client(config, clock, None) as client:
                    found = try_query(client, clock, query, days=7)
                newest = "Fewer words bring more, and so does a whole category."
                if found.entries:
                    newest = f"The newest: “{cut(to_plain(found.entries[0].paper.title), 80)}”."
                _say(f"It brings {describe_found(found)}. {newest}")
                _say(*map("Note: {}.".format, note_found(query, found)))
            except ArxivError as error:
                said = explain_unreachable(error) if isinstance(error, ArxivUnreachable) else error
                _say(f"{said.message}.", "So what it brings is not known yet. You can go on.")
            other = ask(
                "Enter keeps it. Or type another.",
                lambda text: read_followed(text) if text else None,
                "",
            )
            if other is None:
                return query.expression
            query = other

    def _ask_secret(self, called: str, name: str) -> str:
        """Ask for a secret, unless its file is there already; return the file."""
        is_there = (self.folder / name).exists() and name not in self.secrets
        question = f"{name} is there already. Use what it holds? Else it is replaced."
        if is_there and click.confirm(settle(style(question, bold=True)), default=True):
            return name
        file = SECRETS if self.hides else name
        _say(f"What you type is not shown. It goes into the file {file}, which only you can read.")
        self.secrets[name] = click.prompt(
            settle(style(called, bold=True)), hide_input=True, prompt_suffix="  > "
        ).strip()
        return name


def _list_mended(known: Answers) -> dict[str, Answers]:
    if not known.address:
        return {"the token": replace(known, token_file=""), "the channel": replace(known, to=())}
    return {
        "the password": replace(known, password_file=""),
        "the mail server": replace(known, provider=None, smtp="", sender="", password_file=""),
        "the address": replace(known, to=(), provider=None, smtp="", sender=""),
    }


def _ask_destination(*, is_sent: bool) -> Destination:
    choices = ("mail", "a Slack channel", "a feed", "this terminal")
    match _choose("Where shall it go?", choices[:2] if is_sent else choices):
        case "mail":
            return mail_to(ask("Your mail address?", read_mail_address))
        case "a Slack channel":
            return ask(
                "Which channel?", lambda text: read_destination(f"slack:#{text.lstrip('#')}")
            )
        case "a feed":
            return OWN_FEED
        case _:
            return Destination(DestinationKind.CONSOLE)


def _ask_server(known: Answers) -> Answers:
    provider, usual = known.provider, guess_provider(known.address)
    if provider is None and usual is OUTLOOK:
        _say(*OUTLOOK.notes)
    named = {one.name: one for one in PROVIDERS.values()}
    while provider is None or provider is OUTLOOK:
        offered = usual.name if usual not in (None, OUTLOOK) else ""
        provider = named[_choose("Which mail server sends it?", list(named), offered)]
        _say(*provider.notes)
    if provider is OWN:
        return replace(known, provider=OWN, smtp=_ask_own_server())
    server, region = provider.server, ""
    if provider.has_regions:
        region = ask(
            "Which region?",
            lambda text: read_smtp_url(server.format(region=text)) and text,
            "us-east-1",
        )
    _say(f"{provider.secret}: {provider.page}")
    if not provider.is_account:
        login = ask(f"{provider.login}?", str.strip)
    elif provider is usual:
        login = known.address
    else:
        login = ask(f"Your address at {provider.name}?", read_mail_address, known.address)
    return log_in(known, provider, login, region)


def _ask_own_server() -> str:
    while True:
        # An address says how it encrypts; for a name alone that is asked.
        server = ask(
            "Its name and port?",
            lambda text: read_smtp_url(text if "://" in text else f"smtp://{text}") and text,
            "localhost:25",
        )
        if "://" not in server:
            server = f"{_SECURITY[_choose('How does it encrypt?', list(_SECURITY))]}://{server}"
        has_login = urlsplit(server).username is not None
        login = "" if has_login else ask("Login name? Enter for none.", str.strip, "")
        url = add_login(server, login)
        if not (url.startswith("smtp://") and urlsplit(url).username) or is_loopback(url):
            return url
        _say("The password would travel unencrypted. Choose STARTTLS or TLS.")


def _choose(question: str, choices: Sequence[str], usual: str = "") -> str:
    """Let somebody choose by number, or by how the words begin; Enter stands for `usual`."""
    echo(style(question, bold=True))
    numbered = {str(number): choice for number, choice in enumerate(choices, 1)}
    for number, choice in numbered.items():
        echo(f"  {number}  {choice}")

    def read(text: str) -> str:
        typed = text.strip().lower()
        begun = [choice for choice in choices if choice.lower().startswith(typed)]
        if typed not in numbered and len(begun) != 1:
            raise UsageError(f"Type a number from 1 to {len(choices)}.")
        return numbered.get(typed) or begun[0]

    return ask("", read, usual or None)


def ask(question: str, read: Callable[[str], T], usual: str | None = None) -> T:
    """Ask until the answer can be read; `usual` is what Enter stands for, None where it stands for nothing."""
    while True:
        suffix = "  > " if question else "> "
        text = click.prompt(
            settle(style(question, bold=True)),
            default=usual,
            show_default=bool(usual),
            prompt_suffix=suffix,
        )
        try:
            return read(str(text))
        except DigestError as error:
            _say(style(error.message, fg="red"), error.hint)


def _say(*sentences: str) -> None:
    for sentence in filter(None, sentences):
        for line in fold(sentence, find_width() - 2):
            echo(f"  {line}")
