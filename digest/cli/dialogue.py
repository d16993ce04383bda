"""The questions of `digest init`: asked on a terminal, one after the other, until all is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import click

from digest.cli.context import choose_clock, explain_unreachable, opened_client, read_followed
from digest.cli.output import cut, echo, find_width, fold, settle, style
from digest.cli.starts import SECRETS
from digest.config import Config, load_config
from digest.config.addresses import (
    is_loopback,
    read_destination,
    read_mail_address,
    read_reachable,
    read_secure_url,
    read_smtp_url,
)
from digest.config.providers import OUTLOOK, OWN, PROVIDERS, Provider, add_login, guess_provider
from digest.config.starter import (
    Answers,
    Question,
    complete_schedule,
    list_open,
    log_in,
    suggest_schedule,
)
from digest.inspect.preview import describe_found, note_found, try_query
from digest.model.destinations import OWN_FEED, Destination, mail_to
from digest.model.errors import ArxivError, ArxivUnreachable, DigestError, UsageError
from digest.query import Query
from digest.query.description import describe_query
from digest.tex import to_plain

T = TypeVar("T")

PASSWORD_FILE = "mail.password"  # noqa: S105 - where it is kept
TOKEN_FILE = "slack.token"  # noqa: S105 - the same
VARIABLES = {PASSWORD_FILE: "DIGEST_MAIL_PASSWORD", TOKEN_FILE: "DIGEST_SLACK_TOKEN"}
"""The variables that give the same secrets, by their files."""

_SECURITY = {
    "STARTTLS, as on port 587": "smtp+starttls",
    "TLS, as on port 465": "smtps",
    "not at all": "smtp",
}
_LONGEST_TITLE = 80


def read_defaults(environ: Mapping[str, str]) -> Config:
    """Return what counts without a file: a password for mail still lacks its server."""
    others = {name: text for name, text in environ.items() if not name.startswith("DIGEST_MAIL_")}
    return load_config(None, others)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue.

    `secrets` is given what was typed unseen, by the file it is kept in unless all is in one.
    """

    folder: Path
    zone: str
    environ: Mapping[str, str]
    send_tests: Callable[[Answers], None]
    secrets: dict[str, str]
    hides: bool = False

    def ask(self, known: Answers) -> Answers:
        """Ask for all that is open."""
        questions = list_open(known)
        while questions:
            echo()
            known = self._answer(questions[0], known)
            questions = list_open(known)
        return known

    def test(self, known: Answers) -> Answers:
        """Send a test until it arrives or is given up; return the answers, mended where needed."""
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

    def _answer(self, question: Question, known: Answers) -> Answers:  # noqa: PLR0911 - one each
        match question:
            case Question.QUERY:
                return replace(known, queries=(self._ask_query(),))
            case Question.TO:
                return replace(known, to=(_ask_destination(is_sent=self.hides),))
            case Question.PROVIDER:
                return _ask_server(known)
            case Question.FROM:
                sender = ask("From which address?", read_mail_address, known.address)
                return replace(known, sender=sender)
            case Question.PASSWORD:
                called = (known.provider or OWN).secret
                return replace(known, password_file=self._ask_secret(called, PASSWORD_FILE))
            case Question.TOKEN:
                return replace(known, token_file=self._ask_token())
            case Question.BASE_URL:
                return replace(known, base_url=_ask_base_url())
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
            notes = [f"Note: {note.message}." for note in query.notes]
            _say(f"Read as: {describe_query(query.tree)}.", *notes)
            echo("  Asking arXiv …")
            self._say_what_comes(query)
            other = ask(
                "Enter keeps it. Or type another.",
                lambda text: read_followed(text) if text else None,
                "",
            )
            if other is None:
                return query.expression
            query = other

    def _say_what_comes(self, query: Query) -> None:
        """Say what a query brings, or that arXiv does not answer."""
        config = read_defaults(self.environ)
        clock = choose_clock(config)
        try:
            with opened_client(config, clock, None) as client:
                found = try_query(client, clock, query, days=7)
            newest = "Fewer words bring more, and so does a whole category."
            if found.entries:
                title = cut(to_plain(found.entries[0].paper.title), _LONGEST_TITLE)
                newest = f"The newest: “{title}”."
            _say(f"It brings {describe_found(found)}. {newest}")
            _say(*(f"Note: {note}." for note in note_found(query, found)))
        except ArxivError as error:
            said = explain_unreachable(error) if isinstance(error, ArxivUnreachable) else error
            _say(f"{said.message}.", "So what it brings is not known yet. You can go on.")

    def _ask_token(self) -> str:
        _say(
            "Slack wants an app of your own. `digest slack manifest` prints what describes it.",
            "Paste that at https://api.slack.com/apps: Create New App, From a manifest.",
            "Install the app. Under OAuth & Permissions copy its bot token.",
            "In the channel write /invite @Digest.",
        )
        return self._ask_secret("Bot token (xoxb-…)", TOKEN_FILE)

    def _ask_secret(self, called: str, name: str) -> str:
        """Ask for a secret, unless its file is there already; return the file."""
        is_there = (self.folder / name).exists() and name not in self.secrets
        question = f"{name} is there already. Use what it holds? Else it is replaced."
        if is_there and click.confirm(settle(style(question, bold=True)), default=True):
            return name
        file = SECRETS if self.hides else name
        _say(f"What you type is not shown. It goes into the file {file}, which only you can read.")
        label = settle(style(called, bold=True))
        typed = click.prompt(label, hide_input=True, prompt_suffix="  > ")
        self.secrets[name] = typed.strip()
        return name


def _list_mended(known: Answers) -> dict[str, Answers]:
    """Return what may be wrong if a test fails, each with the answers that ask for it again."""
    if not known.address:
        return {"the token": replace(known, token_file=""), "the channel": replace(known, to=())}
    return {
        "the password": replace(known, password_file=""),
        "the mail server": replace(known, provider=None, smtp="", sender="", password_file=""),
        "the address": replace(known, to=(), provider=None, smtp="", sender=""),
    }


def _ask_destination(*, is_sent: bool) -> Destination:
    choices = ["mail", "a Slack channel"]
    if not is_sent:
        choices += ["a feed", "this terminal"]
    match _choose("Where shall it go?", choices):
        case "mail":
            return mail_to(ask("Your mail address?", read_mail_address))
        case "a Slack channel":
            return ask("Which channel?", _read_channel)
        case "a feed":
            return OWN_FEED
        case _:
            return Destination.parse("console")


def _read_channel(text: str) -> Destination:
    name = text.lstrip("#")
    return read_destination(f"slack:#{name}")


def _ask_base_url() -> str:
    offer = "`digest serve` can offer the feed at an https address."
    _say(f"{offer} Without one, each run writes it into a file.")
    return ask(
        "Which address? Enter for none.",
        lambda text: text and read_secure_url(text),
        "",
    )


def _ask_server(known: Answers) -> Answers:
    usual = guess_provider(known.address)
    if known.provider is None and usual is OUTLOOK:
        _say(*OUTLOOK.notes)
    provider = known.provider
    while provider is None or provider is OUTLOOK:
        provider = _choose_provider(usual)
        _say(*provider.notes)
    if provider is OWN:
        return replace(known, provider=OWN, smtp=_ask_own_server())
    region = _ask_region(provider.server) if provider.has_regions else ""
    _say(f"{provider.secret}: {provider.page}")
    if not provider.is_account:
        login = ask(f"{provider.login}?", str.strip)
    elif provider is usual:
        login = known.address
    else:
        login = ask(f"Your address at {provider.name}?", read_mail_address, known.address)
    return log_in(known, provider, login, region)


def _choose_provider(usual: Provider | None) -> Provider:
    named = {one.name: one for one in PROVIDERS.values()}
    offered = ""
    if usual is not None and usual is not OUTLOOK:
        offered = usual.name
    return named[_choose("Which mail server sends it?", list(named), offered)]


def _ask_region(server: str) -> str:
    def read(text: str) -> str:
        read_smtp_url(server.format(region=text))
        return text

    return ask("Which region?", read, "us-east-1")


def _ask_own_server() -> str:
    while True:
        server = ask("Its name and port?", _read_server, "localhost:25")
        if "://" not in server:
            security = _SECURITY[_choose("How does it encrypt?", list(_SECURITY))]
            server = f"{security}://{server}"
        has_login = urlsplit(server).username is not None
        login = "" if has_login else ask("Login name? Enter for none.", str.strip, "")
        url = add_login(server, login)
        is_plain = url.startswith("smtp://") and urlsplit(url).username
        if not is_plain or is_loopback(url):
            return url
        _say("The password would travel unencrypted. Choose STARTTLS or TLS.")


def _read_server(text: str) -> str:
    """Check a server's name or address; an address says how it encrypts, a name does not."""
    read_smtp_url(text if "://" in text else f"smtp://{text}")
    return text


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
    """Ask until the answer can be read.

    `usual` is what Enter stands for, None where it stands for nothing.
    """
    while True:
        text = click.prompt(
            settle(style(question, bold=True)),
            default=usual,
            show_default=bool(usual),
            prompt_suffix="  > " if question else "> ",
        )
        try:
            return read(str(text))
        except DigestError as error:
            _say(style(error.message, fg="red"), error.hint)


def _say(*sentences: str) -> None:
    for sentence in filter(None, sentences):
        for line in fold(sentence, find_width() - 2):
            echo(f"  {line}")
