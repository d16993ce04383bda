"""What `digest init` must know, which of it is still open, and the `digest.toml` that it writes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, count
from urllib.parse import urlsplit

from digest.config.addresses import read_smtp_url, see_from
from digest.config.display import write_toml
from digest.config.providers import Provider, add_login
from digest.config.settings import Config
from digest.model.cadences import Cadence
from digest.model.destinations import Destination
from digest.model.errors import ConfigurationError

_LONGEST_NAME = 40

_FEED_FILE = Destination.parse("file:digest.atom")
"""What is written in place of a feed that no server serves."""


class Question(StrEnum):
    """What must be known, in the order it is asked; each is called by the flag that answers it."""

    QUERY = "--query"
    TO = "--to"
    PROVIDER = "--provider"
    FROM = "--from"
    PASSWORD = "--password-file"  # noqa: S105 - the flag
    TOKEN = "--token-file"  # noqa: S105 - the flag
    BASE_URL = "--base-url"
    WHEN = "--when"
    CONTACT = "--contact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What is known so far; "" and None are for what is not.

    A `show` of 0 is the usual number. `smtp` has the login name. A secret's file is None if the
    environment gives it. `base_url` is "" for none, None if it was not asked for.
    """

    queries: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    show: int = 0
    to: tuple[Destination, ...] = ()
    provider: Provider | None = None
    smtp: str = ""
    sender: str = ""
    password_file: str | None = ""
    token_file: str | None = ""
    base_url: str | None = None
    when: str = ""
    contact: str = ""

    def needs(self, setting: str) -> bool:
        """Whether something goes to a kind of destination that needs this setting."""
        return any(place.traits.needs == setting for place in self.to)

    @property
    def address(self) -> str:
        """The first mail address that gets digests; "" for none."""
        for place in self.to:
            if place.traits.needs == "mail.from":
                return place.address
        return ""

    @property
    def logs_in(self) -> bool:
        """Whether the mail server wants a login name, so that there is a password."""
        return bool(urlsplit(self.smtp).username)

    @property
    def is_pulled(self) -> bool:
        """Whether nothing is sent, so that nothing is ever due."""
        return all(place.is_pulled for place in self.to)


_IS_OPEN: dict[Question, Callable[[Answers], bool]] = {
    Question.QUERY: lambda known: not known.queries,
    Question.TO: lambda known: not known.to,
    Question.PROVIDER: lambda known: bool(known.address) and not known.smtp,
    Question.FROM: lambda known: bool(known.address) and not known.sender,
    Question.PASSWORD: lambda known: known.logs_in and known.password_file == "",
    Question.TOKEN: lambda known: known.needs("slack.token") and known.token_file == "",
    Question.BASE_URL: lambda known: known.needs("web.base_url") and known.base_url is None,
    Question.WHEN: lambda known: not known.is_pulled and not known.when,
    Question.CONTACT: lambda known: not (known.contact or known.address),
}


def list_open(known: Answers) -> list[Question]:
    """Return the questions that are open, as they are asked in turn; an answer may open others."""
    return [question for question, is_open in _IS_OPEN.items() if is_open(known)]


def list_missing(known: Answers) -> list[str]:
    """Return the flags of what is open.

    Once the provider is known, those of what its server lacks stand in place of its own.
    """
    flags: list[str] = []
    for question in list_open(known):
        if question is Question.PROVIDER and known.provider is not None:
            flags += _list_server_flags(known.provider)
        else:
            flags.append(question)
    return flags


def _list_server_flags(provider: Provider) -> list[str]:
    """Return the flags that say which server of a provider one logs in at, and how."""
    if not provider.server:
        return ["--smtp"]
    if provider.has_regions:
        return ["--region", "--login"]
    return ["--login"]


def drop_unused(known: Answers) -> Answers:
    """Return the answers without those that the destinations have no use for.

    A feed at no address is a file.
    """
    if known.base_url == "":
        known = replace(known, to=tuple(map(_serve_by_file, known.to)))
    if not known.needs("slack.token"):
        known = replace(known, token_file="")
    if not known.address:
        known = replace(known, smtp="", sender="")
    if not known.logs_in:
        known = replace(known, password_file="")
    return known


def _serve_by_file(place: Destination) -> Destination:
    """Return the destination that does without an address on the web."""
    return _FEED_FILE if place.traits.needs == "web.base_url" else place


def log_in(known: Answers, provider: Provider, login: str, region: str = "") -> Answers:
    """Return the answers with a provider's server; it stays open without a login name or region.

    If one logs in with an address, mail comes from it.
    """
    sender = known.sender
    if provider.is_account:
        login = login or sender or known.address
        sender = sender or login
    lacks_region = provider.has_regions and not region
    if not provider.server or not login or lacks_region:
        smtp = ""
    else:
        server = provider.server.format(region=region)
        smtp = add_login(read_smtp_url(server), login)
    return replace(known, provider=provider, smtp=smtp, sender=sender)


def suggest_schedule(zone: str) -> str:
    """Return the schedule that is offered."""
    return f"weekdays at 09:00 {zone}"


def complete_schedule(phrase: str, zone: str) -> str:
    """Return a schedule in its usual words, in a zone if it names none itself."""
    try:
        cadence = Cadence.parse(phrase)
    except ConfigurationError:
        cadence = Cadence.parse(f"{phrase} {zone}")
    return str(cadence)


def make_name(text: str) -> str:
    """Return the name made of words: `GPU performance` → `gpu-performance`; `papers` for none."""
    with_accents_apart = unicodedata.normalize("NFKD", text.casefold())
    letters = re.sub(r"[\u0300-\u036f]", "", with_accents_apart)
    words = re.sub(r"[^a-z0-9_]+", "-", letters)
    return words[:_LONGEST_NAME].strip("-_") or "papers"


def read_answers(config: Config, name: str) -> Answers:
    """Return what a file of some name answers that a start asks for, from its configuration."""
    places: list[Destination] = []
    sources: list[str] = []
    for subscription in config.subscriptions:
        places += subscription.destinations
        sources += subscription.library + subscription.not_like
    places += config.alarms.to
    return Answers(
        library=tuple(str(see_from(config.folder, source)) for source in sources),
        to=tuple(dict.fromkeys(places)),
        smtp=config.mail.smtp,
        sender=config.mail.from_address,
        password_file=find_secret_file(config, "mail.password", name),
        token_file=find_secret_file(config, "slack.token", name),
        contact=config.arxiv.contact,
    )


def find_secret_file(config: Config, key: str, name: str) -> str | None:
    """Return the file that holds a secret alone; None if a variable gives it, or nothing does.

    "" if the configuration itself holds it, the file of some name.
    """
    origin = config.origins[key]
    if origin == name:
        return ""
    path = see_from(config.folder, origin)
    return str(path) if (config.folder / path).is_file() else None


def hide_addresses(
    known: Answers, text: str, given: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """Return a file's text with `$NAME` for each address, and the variables of all its names.

    `given` are the names that stand there already, each with its value.
    """
    hidden = dict(given)
    for address, name in _name_addresses(known, given).items():
        # In quotes, alone or after `mailto:`; "" is no address, though two quotes hold it.
        written = rf"""(?i)(["'](?:mailto:)?)(?!["']){re.escape(address)}(?=["'])"""
        text, found = re.subn(written, rf"\1${name}", text)
        if found:
            hidden[f"${name}"] = address
    variables = {f"DIGEST_VALUE_{name[1:]}": value for name, value in hidden.items()}
    return text, variables


def _name_addresses(known: Answers, given: Mapping[str, str]) -> dict[str, str]:
    """Return each address with the name it is hidden behind; a reader's name beats others."""
    names: dict[str, str] = {}
    free_names = _list_free_names(given)
    for place in known.to:
        if place.traits.is_personal and place.address not in given.values():
            names[place.address] = next(free_names)
    others = {known.contact: "ARXIV_CONTACT", known.smtp: "MAIL_SMTP", known.sender: "MAIL_FROM"}
    return names | {address: name for address, name in others.items() if address not in names}


def _list_free_names(given: Mapping[str, str]) -> Iterator[str]:
    """Yield READER, READER_2, … without those that are taken."""
    numbered = (f"READER_{number}" for number in count(2))
    for name in chain(["READER"], numbered):
        if f"${name}" not in given:
            yield name


def write_starter(known: Answers, more: Mapping[str, object]) -> str:
    """Return the text of the file; `more` are further settings by their keys."""
    settings: dict[str, object] = {
        "follow": _write_one_alone(known.queries),
        "library": _write_one_alone(known.library),
        "show": known.show,
        "to": _write_one_alone([str(place) for place in known.to]),
        "when": known.when,
        "mail.from": known.sender,
        "mail.smtp": known.smtp,
        "mail.password_file": known.password_file,
        "slack.token_file": known.token_file,
        "web.base_url": known.base_url,
        "arxiv.contact": known.contact,
        **more,
    }
    text = "# `digest help settings` lists all that can be written here.\n"
    for key, value in settings.items():
        if value:
            text += f"{key} = {write_toml(value)}\n"
    return text


def _write_one_alone(texts: Sequence[str]) -> str | Sequence[str]:
    """Return a list as it is written by hand: one text needs no brackets."""
    return texts[0] if len(texts) == 1 else texts
