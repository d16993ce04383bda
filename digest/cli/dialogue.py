"""The dialogue of `digest init`: asks one question after the other on a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click

from digest import tex
from digest.cli.output import cut, find_width, wrap
from digest.config import addresses
from digest.config.providers import OUTLOOK, OWN, PROVIDERS, Provider, add_login, guess_provider
from digest.config.starter import (
    Answers,
    Question,
    complete_schedule,
    list_open,
    make_name,
    read_title,
    suggest_schedule,
)
from digest.model import taxonomy
from digest.model.errors import ArxivError, DigestError, UsageError, count
from digest.model.subscriptions import Destination, DestinationKind
from digest.query import parse_query
from digest.query.wording import describe_query, name_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from digest.model.messages import Digest
    from digest.query import Query

T = TypeVar("T")

PASSWORD_FILE = "mail.password"  # noqa: S105 - where it is kept
TOKEN_FILE = "slack.token"  # noqa: S105 - the same
_WEEK = timedelta(days=7)
_PLACES = ("mail", "a Slack channel", "a feed", "this terminal")
_SECURITY = {"STARTTLS, as on port 587": "smtp+starttls", "TLS, as on port 465": "smtps", "not at all": "smtp"}
_MENDED: dict[str, dict[str, object]] = {
    "the password or token": {"password_file": "", "token_file": ""},
    "the mail server": {"provider": None, "smtp": "", "sender": "", "password_file": ""},
    "the address or channel": {"to": (), "sender": ""},
}
"""What may have been wrong where a test failed, and which answers are then asked for anew."""


def read_followed(text: str) -> Query:
    """Read what somebody follows: a query, or a category alone, which a query would look for as a word.

    Raises:
        QueryError: it can't be read.
    """
    return parse_query(f"cat:{text.strip()}" if taxonomy.is_category(text.strip()) else text)


def describe_week(digest: Digest) -> str:
    """Say what the last week would have brought, and what to do where that is nothing or too much."""
    week = [one.paper for one in digest.entries if one.paper.published >= digest.planned_at - _WEEK]
    if not week:
        return "The last 7 days brought nothing. Fewer words bring more, and so does a whole category."
    if len(week) == len(digest.entries) and digest.coverage.total:
        return f"The last 7 days brought more than {len(week)} papers. More words bring fewer."
    title = cut(tex.to_plain(week[0].title), 80)
    return f"The last 7 days brought {count(len(week), 'paper')}, the newest “{title}”."


def suggest_title(known: Answers) -> str:
    """Return a few words that the first saved query is about."""
    return name_query(parse_query(known.queries[0]).tree) or "papers"


@dataclass
class Dialogue:
    """One dialogue.

    Attributes:
        folder: where the file will lie.
        zone: the machine's own.
        look_up: asks arXiv for a query; raises `ArxivError`.
        send_test: sends a message that says it is a test; raises `DigestError`.
        secrets: what was typed unseen, by the file it is to be kept in.
    """

    folder: Path
    zone: str
    look_up: Callable[[Query], Digest]
    send_test: Callable[[Answers, dict[str, str]], None]
    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    def ask(self, known: Answers) -> Answers:
        """Ask for all that is open."""
        while questions := list_open(known):
            click.echo()
            known = replace(known, **self._answer(questions[0], known))
        return known

    def test(self, known: Answers) -> Answers:
        """Send a test until it arrives or is given up; return the answers, mended where it failed."""
        while True:
            try:
                self.send_test(known, self.secrets)
            except DigestError as error:
                _say(click.style(f"✗ {error.message}", fg="red"), error.hint)
            else:
                return known
            choices = [*_MENDED, "nothing: keep it as it is"]
            mended = _MENDED.get(choices[_choose("What do you want to change?", choices)])
            if mended is None:
                return known
            known = self.ask(replace(known, **mended))  # type: ignore[arg-type] # fields by their names

    def _answer(self, question: Question, known: Answers) -> dict[str, object]:
        """Ask one question; return what its answer says, by the names of `Answers`."""
        ask: dict[Question, Callable[[], dict[str, object]]] = {
            Question.QUERY: lambda: {"queries": (self._ask_query(),)},
            Question.NAME: lambda: {"name": _ask("What shall it be called?", read_title, suggest_title(known))},
            Question.TO: lambda: {"to": (_ask_place(),)},
            Question.PROVIDER: lambda: _ask_server(known.provider, known.address),
            Question.FROM: lambda: {
                "sender": _ask("From which address?", addresses.read_mail_address, known.address)
            },
            Question.PASSWORD: lambda: {
                "password_file": self._ask_secret((known.provider or OWN).secret, PASSWORD_FILE)
            },
            Question.TOKEN: lambda: {"token_file": self._ask_token()},
            Question.BASE_URL: lambda: _ask_base_url(known),
            Question.WHEN: lambda: {
                "when": _ask("When?", partial(complete_schedule, zone=self.zone), suggest_schedule(self.zone))
            },
            Question.CONTACT: lambda: {
                "contact": _ask(
                    "How can arXiv reach you? Type a mail address or a web page.", addresses.read_reachable
                )
            },
        }
        return ask[question]()

    def _ask_query(self) -> str:
        click.echo(_bold("What do you follow?"))
        _say("Words, a category such as cs.PF, or the address of a search on arXiv.")
        query: Query | None = _ask("", read_followed)
        while query is not None:
            chosen = query
            _say(f"Read as: {describe_query(query.tree)}.", *(f"Note: {note.message}." for note in query.notes))
            try:
                _say(describe_week(self.look_up(query)))
            except ArxivError as error:
                _say(f"{error.message}. What it brings is not known yet. You can go on.")
            query = _ask(
                "Enter keeps it. Or type another:", lambda text: read_followed(text) if text else None, ""
            )
        return chosen.expression

    def _ask_token(self) -> str:
        click.echo(_bold("Slack wants an app of your own."))
        _say(
            "Make it at https://api.slack.com/apps from a manifest: `digest slack manifest` prints it.",
            "Install it, copy its bot token, and write /invite @Digest in the channel.",
        )
        return self._ask_secret("Bot token (xoxb-…)", TOKEN_FILE)

    def _ask_secret(self, called: str, name: str) -> str:
        """Ask for a secret, unless its file is there already; return the file."""
        is_there = (self.folder / name).exists() and name not in self.secrets
        if is_there and click.confirm(_bold(f"{name} is there already. Use what it holds?"), default=True):
            return name
        self.secrets[name] = click.prompt(_bold(called), hide_input=True, prompt_suffix="  > ").strip()
        _say(f"Kept in {name}, which only you can read.")
        return name


def _ask_place() -> Destination:
    place = _choose("Where shall it go?", _PLACES)
    if place == 0:
        return Destination(DestinationKind.MAIL, _ask("Your mail address?", addresses.read_mail_address))
    if place == 1:
        return _ask("Which channel?", lambda text: addresses.read_destination(f"slack:#{text.lstrip('#')}"))
    return Destination((DestinationKind.FEED, DestinationKind.CONSOLE)[place - 2])


def _ask_server(provider: Provider | None, address: str) -> dict[str, object]:
    """Ask who sends the mail, and what it takes to log in there."""
    usual = guess_provider(address)
    if provider is None and usual is OUTLOOK:
        _say(*OUTLOOK.notes)
    offered = list(PROVIDERS.values())
    while provider is None or provider is OUTLOOK:
        names = [one.name for one in offered]
        provider = offered[_choose("Which mail server sends it?", names, usual.name if usual else "")]
        _say(*provider.notes)
    if provider is OWN:
        return {"provider": OWN, "smtp": _ask_own_server()}
    region = _ask("Which region?", str.lower, "us-east-1") if provider.has_regions else ""
    _say(f"{provider.secret}: {provider.page}")
    if not provider.is_account:
        return {"provider": provider, "smtp": provider.write_server(_ask(f"{provider.login}?", str.strip), region)}
    account = address
    if provider is not usual:
        account = _ask(f"Your address at {provider.name}?", addresses.read_mail_address, address)
    return {"provider": provider, "smtp": provider.write_server(account), "sender": account}


def _ask_own_server() -> str:
    while True:
        host = _ask("Its name and port?", lambda text: addresses.read_smtp_url(f"smtp://{text}"), "localhost:25")
        scheme = _SECURITY[list(_SECURITY)[_choose("How does it encrypt?", list(_SECURITY))]]
        login = _ask("Login name? Enter for none.", str.strip, "")
        url = add_login(f"{scheme}://{host.removeprefix('smtp://')}", login)
        if scheme != "smtp" or not login or addresses.is_loopback(url):
            return url
        _say("The password would travel unencrypted. Choose STARTTLS or TLS.")


def _ask_base_url(known: Answers) -> dict[str, object]:
    click.echo(_bold("At which https address will people reach `digest serve`?"))
    _say("Enter for none: the feed is then a file that each run writes.")
    base_url = _ask("", lambda text: addresses.read_secure_url(text) if text else "", "")
    file = Destination(DestinationKind.FILE, f"{make_name(known.name)}.atom")
    return {"base_url": base_url, **({} if base_url else {"to": (file,)})}


def _choose(question: str, choices: Sequence[str], usual: str = "") -> int:
    """Let somebody choose by number, or by how the words begin; return the index."""
    click.echo(_bold(question))
    for number, choice in enumerate(choices, 1):
        click.echo(f"  {number}  {choice}")

    def read(text: str) -> int:
        wanted = text.strip().lower()
        for number, choice in enumerate(choices):
            if wanted == str(number + 1) or choice.lower().startswith(wanted):
                return number
        raise UsageError(f"Type a number from 1 to {len(choices)}.")

    return _ask("", read, str(list(choices).index(usual) + 1) if usual in choices else None)


def _ask(question: str, read: Callable[[str], T], usual: str | None = None) -> T:
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
        for line in wrap(sentence, find_width() - 2):
            click.echo(f"  {line}")


def _bold(text: str) -> str:
    return click.style(text, bold=True) if text else ""
