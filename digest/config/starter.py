"""What `digest init` must know, which of it is still open, and the `digest.toml` that it writes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, count
from urllib.parse import urlsplit

from digest.config.addresses import read_smtp_url, see_from
from digest.config.display import write_toml
from digest.config.providers import Provider, add_login
from digest.config.settings import Config
from digest.model.cadences import Cadence
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import ConfigurationError

_LONGEST_NAME = 40


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

    A `show` of 0 is the usual number. `smtp` has the login name. A secret's file is None if the environment gives
    it. `base_url` is "" for none, None if it was not asked for.
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

    def has(self, kind: DestinationKind) -> bool:
        """Whether something goes to this kind of destination."""
        return any(one.kind is kind for one in self.to)

    @property
    def address(self) -> str:
        """The first mail address that gets digests; "" for none."""
        return next((one.address for one in self.to if one.kind is DestinationKind.MAIL), "")

    @property
    def is_pulled(self) -> bool:
        """Whether nothing is sent, so that nothing is ever due."""
        return all(one.is_pulled for one in self.to)


_IS_OPEN: dict[Question, Callable[[Answers], bool]] = {
    Question.QUERY: lambda known: not known.queries,
    Question.TO: lambda known: not known.to,
    Question.PROVIDER: lambda known: bool(known.address) and not known.smtp,
    Question.FROM: lambda known: bool(known.address) and not known.sender,
    Question.PASSWORD: lambda known: (
        bool(urlsplit(known.smtp).username) and known.password_file == ""
    ),
    Question.TOKEN: lambda known: known.has(DestinationKind.SLACK) and known.token_file == "",
    Question.BASE_URL: lambda known: known.has(DestinationKind.FEED) and known.base_url is None,
    Question.WHEN: lambda known: not known.is_pulled and not known.when,
    Question.CONTACT: lambda known: not (known.contact or known.address),
}


def list_open(known: Answers) -> list[Question]:
    """Return the questions that are open, in the order they are asked; an answer may open others."""
    return [question for question, is_open in _IS_OPEN.items() if is_open(known)]


def list_missing(known: Answers) -> list[str]:
    """Return the flags of what is open; of a provider that is known, those of what its server lacks."""
    flags: list[str] = [*list_open(known)]
    if Question.PROVIDER in flags and known.provider is not None:
        server = (
            ["--region"] * known.provider.has_regions + ["--login"]
            if known.provider.server
            else ["--smtp"]
        )
        flags[flags.index(Question.PROVIDER) : flags.index(Question.PROVIDER) + 1] = server
    return flags


def drop_unused(known: Answers) -> Answers:
    """Return the answers without those that the destinations have no use for; a feed at no address is a file."""
    file = Destination(DestinationKind.FILE, "digest.atom")
    sends_mail, logs_in = bool(known.address), bool(urlsplit(known.smtp).username)
    return replace(
        known,
        to=tuple(
            file if one.kind is DestinationKind.FEED and known.base_url == "" else one
            for one in known.to
        ),
        smtp=known.smtp * sends_mail,
        sender=known.sender * sends_mail,
        password_file=known.password_file if sends_mail and logs_in else "",
        token_file=known.token_file if known.has(DestinationKind.SLACK) else "",
    )


def log_in(known: Answers, provider: Provider, login: str, region: str = "") -> Answers:
    """Return the answers with a provider's server; it stays open without a login name or region.

    If one logs in with an address, mail comes from it.
    """
    login = login or (known.sender or known.address) * provider.is_account
    lacks = not (provider.server and login) or (provider.has_regions and not region)
    return replace(
        known,
        provider=provider,
        smtp=""
        if lacks
        else add_login(read_smtp_url(provider.server.format(region=region)), login),
        sender=known.sender or login * provider.is_account,
    )


def suggest_schedule(zone: str) -> str:
    """Return the schedule that is offered."""
    return f"weekdays at 09:00 {zone}"


def complete_schedule(phrase: str, zone: str) -> str:
    """Return a schedule in its usual words, in a zone if it names none itself."""
    try:
        return str(Cadence.parse(phrase))
    except ConfigurationError:
        return str(Cadence.parse(f"{phrase} {zone}"))


def make_name(text: str) -> str:
    """Return the name that is for words: `GPU performance` → `gpu-performance`; `papers` for none."""
    letters = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text.casefold()))
    return re.sub(r"[^a-z0-9_]+", "-", letters)[:_LONGEST_NAME].strip("-_") or "papers"


def read_answers(config: Config, name: str) -> Answers:
    """Return what a file of some name answers that a start asks for, from its configuration."""
    places = chain(*(one.destinations for one in config.subscriptions), config.alarms.to)
    sources = chain(*(one.library + one.not_like for one in config.subscriptions))
    # A secret is in a file of its own, or in this very file, or comes from a variable.
    seen = {one: see_from(config.folder, one) for one in config.origins.values()}
    files = {one: str(path) for one, path in seen.items() if (config.folder / path).is_file()}
    files[name] = ""
    return Answers(
        library=tuple(str(see_from(config.folder, one)) for one in sources),
        to=tuple(dict.fromkeys(places)),
        smtp=config.mail.smtp,
        sender=config.mail.from_address,
        password_file=files.get(config.origins["mail.password"]),
        token_file=files.get(config.origins["slack.token"]),
        contact=config.arxiv.contact,
    )


def hide_addresses(
    known: Answers, text: str, given: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """Return a file's text with `$NAME` for each address, and the variables of all its names.

    `given` are the names that stand there already, each with its value.
    """
    mails = [one.address for one in known.to if one.kind is DestinationKind.MAIL]
    numbered = chain(["READER"], map("READER_{}".format, count(2)))
    free = (one for one in numbered if f"${one}" not in given)
    readers = dict(zip((one for one in mails if one not in given.values()), free, strict=False))
    others = {known.contact: "ARXIV_CONTACT", known.smtp: "MAIL_SMTP", known.sender: "MAIL_FROM"}
    hidden = dict(given)
    for address, name in {**readers, **others, **readers}.items():
        written = rf"""(?i)(["'](?:mailto:)?)(?!["']){re.escape(address)}(?=["'])"""
        text, found = re.subn(written, rf"\1${name}", text)
        hidden |= {f"${name}": address} if found else {}
    return text, {f"DIGEST_VALUE_{name[1:]}": value for name, value in hidden.items()}


def write_starter(known: Answers, more: Mapping[str, object]) -> str:
    """Return the text of the file; `more` are further settings by their keys."""
    lines: dict[str, object] = {
        "follow": known.queries if len(known.queries) > 1 else known.queries[0],
        "library": known.library if len(known.library) > 1 else "".join(known.library),
        "show": known.show,
        "to": [*map(str, known.to)] if len(known.to) > 1 else str(known.to[0]),
        "when": known.when,
        "mail.from": known.sender,
        "mail.smtp": known.smtp,
        "mail.password_file": known.password_file,
        "slack.token_file": known.token_file,
        "web.base_url": known.base_url,
        "arxiv.contact": known.contact,
        **more,
    }
    written = (f"{key} = {write_toml(value)}\n" for key, value in lines.items() if value)
    return f"# `digest help settings` lists all that can be written here.\n{''.join(written)}"
