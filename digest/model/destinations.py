"""Destinations: where digests go, and what is true of each kind of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from digest.model.errors import ConfigurationError, UsageError

FEED_SUFFIXES = (".atom", ".xml", ".json")

LONGEST_POST = 2_000
"""Characters of a message in Markdown: what the strictest of the places that show it takes."""

_LOCAL_DOMAIN = re.compile(r"@(?:[a-z0-9-]+\.)*(?:localhost|local|test)", re.ASCII | re.IGNORECASE)
"""Domains that no mail from outside reaches (RFC 6761, RFC 6762): right on one's own machines."""


class DestinationKind(StrEnum):
    """The kinds of destination. `FEED` is pulled; `FILE` with a feed's suffix is written whole."""

    MAIL = "mailto"
    SLACK = "slack"
    SLACK_WEBHOOK = "slack-webhook"
    DISCORD = "discord"
    WEBHOOK = "webhook"
    FEED = "feed"
    FILE = "file"
    CONSOLE = "console"

    @property
    def traits(self) -> KindTraits:
        """What is true of all destinations of this kind."""
        return TRAITS[self]


class Medium(StrEnum):
    """What a digest is rendered as. Feeds hold many digests, and are rendered whole."""

    MAIL = "mail"
    SLACK = "slack"
    POST = "post"
    EVENT = "event"
    PAGE = "page"
    TERMINAL = "terminal"
    FEED = "feed"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTraits:
    """What is true of one kind of destination.

    Attributes:
        medium: what a digest is rendered as.
        address: how the address is written after the kind; "" if there is none.
        pattern: the regular expression of a whole address; "" if none judges it.
        what: what an address that matches is, in the refusal of one that does not.
        hint: how to write one, in the same refusal.
        needs: the setting without which nothing arrives there; "" for none.
        can_be_asked: the other side says whether it has a message, so that none is sent twice.
        knows_repeats: the other side drops a second copy, so that it does no harm.
        is_capped: a message shows no more papers than `show` allows; others hold every paper.
        is_paced: one message a second and channel, so that a digest comes in several.
        is_named: the address is a name that the configuration gives to a secret address.
        is_personal: it is one reader's, who gets links of their own.
        is_path: the address is a path on this machine.
        is_own: it shows nothing to anybody but its owner, so nothing is tested by sending.
    """

    medium: Medium
    address: str = ":name"
    pattern: str = ""
    what: str = ""
    hint: str = ""
    needs: str = ""
    can_be_asked: bool = False
    knows_repeats: bool = False
    is_capped: bool = False
    is_paced: bool = False
    is_named: bool = False
    is_personal: bool = False
    is_path: bool = False
    is_own: bool = False


TRAITS: dict[DestinationKind, KindTraits] = {
    DestinationKind.MAIL: KindTraits(
        medium=Medium.MAIL,
        address=":…",
        needs="mail.from",
        is_capped=True,
        is_personal=True,
    ),
    DestinationKind.SLACK: KindTraits(
        medium=Medium.SLACK,
        address=":#…",
        pattern=r"#[^\s#,:]{1,80}|[A-Z][A-Z0-9]{7,}",
        what="a Slack channel",
        hint="Write slack:#papers or the channel's id. A name has no space, comma or colon.",
        needs="slack.token",
        can_be_asked=True,
        is_capped=True,
        is_paced=True,
    ),
    DestinationKind.SLACK_WEBHOOK: KindTraits(
        medium=Medium.SLACK,
        is_capped=True,
        is_paced=True,
        is_named=True,
    ),
    DestinationKind.DISCORD: KindTraits(
        medium=Medium.POST,
        is_named=True,
    ),
    DestinationKind.WEBHOOK: KindTraits(
        medium=Medium.EVENT,
        knows_repeats=True,
        is_named=True,
    ),
    DestinationKind.FEED: KindTraits(
        medium=Medium.FEED,
        address="",
        needs="web.base_url",
        is_own=True,
    ),
    DestinationKind.FILE: KindTraits(
        medium=Medium.PAGE,
        address=":…",
        can_be_asked=True,
        is_path=True,
        is_own=True,
    ),
    DestinationKind.CONSOLE: KindTraits(
        medium=Medium.TERMINAL,
        address="",
        is_own=True,
    ),
}
"""One row for each kind: all other rooms ask this table."""

FORMS = ", ".join(f"{kind}{traits.address}" for kind, traits in TRAITS.items())
"""How destinations are written."""


@dataclass(frozen=True, slots=True, order=True)
class Destination:
    """Where a digest goes, as `kind:address`.

    Attributes:
        address: a mail address, `#channel` or a Slack id, a webhook's configured name, a path;
            "" for `feed` and `console`.
    """

    kind: DestinationKind
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `mailto:a@b.c`, `slack:#papers`, `discord:team`, `feed`, `file:x.atom` …."""
        word, colon, address = text.strip().partition(":")
        try:
            kind = DestinationKind(word.lower())
        except ValueError:
            raise ConfigurationError(
                f"{text!r} is not a destination", hint=f"Write {FORMS}."
            ) from None
        takes_address = kind.traits.address != ""
        if takes_address and not address.strip():
            raise ConfigurationError(
                f"{text!r} has no address after {word}:", hint=f"Write {FORMS}."
            )
        if not takes_address and colon:
            raise ConfigurationError(f"{word} has no address", hint=f"Write just {kind}.")
        return cls(kind, address.strip())

    @property
    def traits(self) -> KindTraits:
        """What is true of all destinations of its kind."""
        return self.kind.traits

    @property
    def is_pulled(self) -> bool:
        """Whether readers fetch it or it is a whole feed file: no digest, no slot, no delivery."""
        return self.traits.medium is Medium.FEED or self.is_feed_file

    @property
    def is_site(self) -> bool:
        """Whether it is a folder of pages, one for each digest."""
        return self.traits.medium is Medium.PAGE and not self.is_feed_file

    @property
    def is_feed_file(self) -> bool:
        """Whether it is a file that holds a whole feed."""
        is_file = self.kind is DestinationKind.FILE
        return is_file and self.address.lower().endswith(FEED_SUFFIXES)

    @property
    def is_member_list(self) -> bool:
        """Whether it is a file of mail addresses: `mailto:@members.txt`."""
        return self.traits.is_personal and self.address.startswith("@")

    def __str__(self) -> str:
        return f"{self.kind}:{self.address}" if self.address else str(self.kind)


OWN_FEED = Destination(DestinationKind.FEED)
"""The feed that this installation serves."""


def mail_to(address: str) -> Destination:
    """Return the destination of a mail address, as it is written."""
    return Destination(DestinationKind.MAIL, address)


def normalise_address(text: str) -> str:
    """Return a mail address in the one spelling it is stored and compared in: ASCII, lower case.

    Case is folded on both sides of the @, since no mail server in use tells `Reader@` apart from
    `reader@` and who left under one spelling must not be written to under the other. Only the form
    is judged, by RFC 5321 and 5322 (as the package email-validator reads them); no server is asked.
    """
    import email_validator  # noqa: PLC0415 - costs 40 ms that a command without mail need not pay

    address = text.strip()
    name, at, domain = address.rpartition("@")
    is_local = _LOCAL_DOMAIN.fullmatch(at + domain) is not None
    judged = f"{name}@example.org" if is_local else address
    try:
        valid = email_validator.validate_email(
            judged, check_deliverability=False, allow_smtputf8=False, strict=True
        )
    except email_validator.EmailNotValidError as error:
        reason = str(error).rstrip(".")
        raise UsageError(
            f"{address[:80]!r} is not an e-mail address: {reason}",
            hint="Write just the address, such as reader@example.org.",
        ) from error
    if not is_local:
        domain = valid.ascii_domain
    return f"{valid.local_part}@{domain}".lower()
