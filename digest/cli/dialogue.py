"""The dialogue of `digest init`: asks one question after the other on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from digest import tex
from digest.cli.context import read_followed
from digest.cli.output import cut, find_width, fold
from digest.config.addresses import (
    is_loopback,
    read_destination,
    read_mail_address,
    read_reachable,
    read_secure_url,
    read_smtp_url,
)
from digest.config.providers import OUTLOOK, OWN, PROVIDERS, add_login, guess_provider
from digest.config.starter import Answers, Question, complete_schedule, list_open, log_in, suggest_schedule
from digest.inspect.preview import describe_found, note_found
from digest.model.errors import ArxivError, DigestError, UsageError
from digest.model.messages import Digest
from digest.model.subscriptions import Destination, DestinationKind
from digest.query import Query
from digest.query.description import describe_query

T = TypeVar("T")

PASSWORD_FILE = "mail.password"  # noqa: S105 - where it is kept
TOKEN_FILE = "slack.token"  # noqa: S105 - the same
_SECURITY = {"STARTTLS, as on port 587": "smtp+starttls", "TLS, as on port 465": "smtps", "not at all": "smtp"}


def describe_week(digest: Digest) -> str:
    """Say how much a query brings, and what to do if that is nothing."""
    said = f"It brings {describe_found(digest)}."
    if not digest.entries:
        return f"{said} Fewer words bring more, and so does a whole category."
    return f"{said} The newest: “{cut(tex.to_plain(digest.entries[0].paper.title), 80)}”."


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue; `secrets` is given what was typed unseen, by the file it is kept in."""

    folder: Path
    zone: str
    look_up: Callable[[Query], Digest]
    send_tests: Callable[[Answers], None]
    secrets: dict[str, str]

    def ask(self, known: Answers) -> Answers:
        """Ask for all that is open."""
        while questions := list_open(known):
            click.echo()
            known = self._answer(questions[0], known)
        return known

    def test(self, known: Answers) -> Answers:
        """Send a test until it arrives or is given up; return the answers, mended where it failed."""
        while True:
            try:
                self.send_tests(known)
            except DigestError as error:
                _say(click.style(f"✗ {error.message}", fg="red"), error.hint)
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
                return replace(known, to=(_ask_destination(),))
            case Question.PROVIDER:
                return _ask_server(known)
            case Question.FROM:
                return replace(known, sender=ask("From which address?", read_mail_address, known.address))
            case Question.PASSWORD:
                called = (known.provider or OWN).secret
                return replace(known, password_file=self._ask_secret(called, PASSWORD_FILE))
            case Question.TOKEN:
                _say(
                    "Slack wants an app of your own. `digest slack manifest` prints what describes it.",
                    "Paste that at https://api.slack.com/apps: Create New App, From a manifest.",
                    "Install the app. Under OAuth & Permissions copy its bot token.",
                    "In the channel write /invite @Digest.",
                )
                return replace(known, token_file=self._ask_secret("Bot token (xoxb-…)", TOKEN_FILE))
            case Question.BASE_URL:
                offer = "`digest serve` can offer the feed at an https address."
                _say(f"{offer} Without one, each run writes it into a file.")
                base_url = ask("Which address? Enter for none.", lambda text: text and read_secure_url(text), "")
                return replace(known, base_url=base_url)
            case Question.WHEN:
                read = partial(complete_schedule, zone=self.zone)
                return replace(known, when=ask("When?", read, suggest_schedule(self.zone)))
            case Question.CONTACT:
                _say("Each request tells arXiv how to reach you: a mail address or a web page.")
                return replace(known, contact=ask("Your address for arXiv?", read_reachable))

    def _ask_query(self) -> str:
        click.echo(_bold("What do you follow?"))
        _say("Words, a category such as cs.PF, or the address of a search on arXiv.")
        query = ask("", read_followed)
        while True:
            _say(f"Read as: {describe_query(query.tree)}.", *(f"Note: {note.message}." for note in query.notes))
            try:
                found = self.look_up(query)
                _say(describe_week(found), *map("Note: {}.".format, note_found(query, found)))
            except ArxivError as error:
                _say(f"{error.message}.", "So what it brings is not known yet. You can go on.")
            other = ask("Enter keeps it. Or type another.", lambda text: read_followed(text) if text else None, "")
            if other is None:
                return query.expression
            query = other

    def _ask_secret(self, called: str, name: str) -> str:
        """Ask for a secret, unless its file is there already; return the file."""
        is_there = (self.folder / name).exists() and name not in self.secrets
        if is_there and click.confirm(_bold(f"{name} is there already. Use what it holds?"), default=True):
            return name
        _say(f"What you type is not shown. It goes into the file {name}, which only you can read.")
        self.secrets[name] = click.prompt(_bold(called), hide_input=True, prompt_suffix="  > ").strip()
        return name


def _list_mended(known: Answers) -> dict[str, Answers]:
    """Return what may have been wrong where a test failed, and the answers without it."""
    if not known.address:
        return {"the token": replace(known, token_file=""), "the channel": replace(known, to=())}
    return {
        "the password": replace(known, password_file=""),
        "the mail server": replace(known, provider=None, smtp="", sender="", password_file=""),
        "the address": replace(known, to=(), provider=None, smtp="", sender=""),
    }


def _ask_destination() -> Destination:
    match _choose("Where shall it go?", ("mail", "a Slack channel", "a feed", "this terminal")):
        case "mail":
            return Destination(DestinationKind.MAIL, ask("Your mail address?", read_mail_address))
        case "a Slack channel":
            return ask("Which channel?", lambda text: read_destination(f"slack:#{text.lstrip('#')}"))
        case "a feed":
            return Destination(DestinationKind.FEED)
        case _:
            return Destination(DestinationKind.CONSOLE)


def _ask_server(known: Answers) -> Answers:
    """Ask who sends the mail, and what it takes to log in there."""
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
        region = ask("Which region?", lambda text: read_smtp_url(server.format(region=text)) and text, "us-east-1")
    _say(f"{provider.secret}: {provider.page}")
    if not provider.is_account:
        login = ask(f"{provider.login}?", str.strip)
    else:
        asks = provider is not usual
        login = (
            ask(f"Your address at {provider.name}?", read_mail_address, known.address) if asks else known.address
        )
    return log_in(known, provider, login, region)


def _ask_own_server() -> str:
    while True:
        # How it encrypts is asked next, whatever scheme somebody wrote before its name.
        host = ask(
            "Its name and port?", lambda text: read_smtp_url(f"smtp://{text.rpartition('://')[2]}"), "localhost:25"
        )
        scheme = _SECURITY[_choose("How does it encrypt?", list(_SECURITY))]
        login = ask("Login name? Enter for none.", str.strip, "")
        url = add_login(f"{scheme}://{host.removeprefix('smtp://')}", login)
        if scheme != "smtp" or not login or is_loopback(url):
            return url
        _say("The password would travel unencrypted. Choose STARTTLS or TLS.")


def _choose(question: str, choices: Sequence[str], usual: str = "") -> str:
    """Let somebody choose by number, or by how the words begin; Enter stands for `usual`."""
    click.echo(_bold(question))
    numbered = {str(number): choice for number, choice in enumerate(choices, 1)}
    for number, choice in numbered.items():
        click.echo(f"  {number}  {choice}")

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
        text = click.prompt(_bold(question), default=usual, show_default=bool(usual), prompt_suffix=suffix)
        try:
            return read(str(text))
        except DigestError as error:
            _say(click.style(error.message, fg="red"), error.hint)


def _say(*sentences: str) -> None:
    """Print sentences, indented, in lines that fit."""
    for sentence in filter(None, sentences):
        for line in fold(sentence, find_width() - 2):
            click.echo(f"  {line}")


def _bold(text: str) -> str:
    return click.style(text, bold=True) if text else ""
