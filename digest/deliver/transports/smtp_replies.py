"""What a mail server's refusal is about: by its code (RFC 3463) first, then by its words."""

from __future__ import annotations

import re
from enum import StrEnum

from digest.model.errors import DeliveryError


class Cause(StrEnum):
    """What a refusal is about, as far as its code and its words tell."""

    CONNECTIONS = "connections"
    """How many of them the server takes at once."""
    LOGINS = "logins"
    """How often one may log in."""
    LIMIT = "limit"
    """How many mails the server takes from us."""
    NO_PASSWORD = "no password"  # noqa: S105 - no secret
    """The server takes other passwords than this, or none at all."""
    ENCRYPTION = "encryption"
    MAILBOX = "mailbox"
    """The reader's mailbox is full, or switched off."""


LIMITS = {
    Cause.CONNECTIONS: "your mail server's limit of connections is reached",
    Cause.LOGINS: "your mail server wants a pause between logins",
    Cause.LIMIT: "your mail server's limit of mails is reached",
}
"""Of us, and over by itself: no reader is to blame, and nobody's mail is given up for it."""

SCHEMES = "smtp+starttls:// is usual on port 587, smtps:// on 465."

HINTS = {
    Cause.CONNECTIONS: "It is tried again by itself. A smaller `mail.connections` may help.",
    Cause.LOGINS: "It is tried again by itself. Does another program log in there too often?",
    Cause.LIMIT: "It is tried again by itself. The server's provider says how many mails an hour or a day you have.",
    Cause.NO_PASSWORD: "Use an app password, if the provider has them. Else use a relay or another provider:"
    " `digest help mail`.",
    Cause.ENCRYPTION: f"Check how `mail.smtp` encrypts: {SCHEMES}",
    Cause.MAILBOX: "The mailbox is full or switched off, or the mail too large: a smaller `show` shortens it.",
}
"""What the operator can do."""


class LimitReached(DeliveryError):
    """The mail server takes nothing more from us for a while."""


_SAYS_NOTHING = re.compile(
    r"(?<!\S)[^\s@]+@\S*"
    r"|recipient address rejected"
    r"|requested (?:mail )?action (?:not taken|aborted)(?:: mailbox unavailable)?",
    re.IGNORECASE,
)
"""Addresses, and what Postfix and RFC 5321 say before any reason."""

_OF_ONE_MAIL = re.compile(
    r"\bsize|too (?:large|big|long)|length|\bhops?\b|\bloop|\bscore|time-?out|\btime limit"
    r"|spam (?:limit|threshold|level)|too many (?:urls|links|parts|attachments|received|headers|lines)",
    re.IGNORECASE,
)
"""Limits that the next mail does not meet: of a mail's size, its way, its content."""

_OF_SENDER = re.compile(
    r"\bsend(?:er|ers|er's|ing)?(?: \w+){0,2} (?:limit|quota|rate)|(?:quota|limit)(?: \w+){0,3} sender"
    r"|daily|hourly|\bper (?:second|minute|hour|day|month)\b|submission|out(?:going|bound)|\brecipients\b"
    r"|\byou(?:'ve| have) (?:reached|exceeded|sent)",
    re.IGNORECASE,
)
"""Words that beat a reader's code."""

_OF_READER = re.compile(
    r"\A552|(?<![\d.])[45]\.(?:1\.(?:[1236]|10)|2\.[12])(?!\.?\d)"
    r"|mail ?box|\binbox|over ?quota|over (?:its|the|their) (?:storage|quota)|storage|\bdisk\b|receiving"
    r"|recipient(?:'s)? (?:has|is|account|quota|rate|limit)|\buser (?:has|is|quota)|account that you",
    re.IGNORECASE,
)

# Each pattern reads a few words from where it begins, so an answer's length costs no more than itself.
_WORDS = {
    Cause.CONNECTIONS: r"concurrent|too many(?: \w+){0,2} (?:connections|sessions)|connections? (?:rate|limit)"
    r"|maximum number of (?:\w+ ){0,3}(?:connections|sessions)",
    Cause.LOGINS: r"too many (?:\w+ ){0,3}(?:log-?ins?|auth\w*|attempts|passwords?)\b"
    r"|(?:log-?in|auth\w*) (?:rate|limit|attempts|failures)",
    Cause.LIMIT: r"quota|(?<!de)limit|\brates?\b|exceed|throttl|\bcredits\b|slow(?:ing)? down|unusual sending"
    r"|too (?:many|much|fast|often|quickly|frequent)|\bmax(?:imum)? (?:number|\d)",
    Cause.NO_PASSWORD: r"app(?:lication)?[- ](?:specific )?password|web browser|security defaults|oauth"
    r"|(?:basic|smtpclient) ?auth\w* is disabled|unrecognized authentication type",
    Cause.ENCRYPTION: r"starttls|encrypt\w*(?: \w+){0,2} (?:required|needed)|requires?(?: \w+){0,2} encrypt"
    r"|\b(?:ssl|tls)(?: \w+){0,2} (?:required|needed|available)|(?:requires?|needs?|use|using) (?:ssl|tls)\b"
    r"|(?<![\d.])[45]\.7\.1[01](?!\.?\d)",
    Cause.MAILBOX: r"\A552|(?<![\d.])[45]\.2\.[123](?!\.?\d)|over ?quota"
    r"|(?:mail ?box|\binbox)[^.;]{0,40}(?:\bfull|exceed|quota|limit)",
}
_PATTERNS = {cause: re.compile(words, re.IGNORECASE) for cause, words in _WORDS.items()}


def find_cause(code: int, text: str, *, is_early: bool) -> Cause | None:
    """Return what a refusal is about. `is_early`: no reader was named yet, so no limit is a reader's."""
    said = f"{code} {_SAYS_NOTHING.sub(' ', text)}"
    is_readers = not (is_early or _OF_SENDER.search(said)) and _OF_READER.search(said)
    has_limit = not (is_readers or _OF_ONE_MAIL.search(said))
    found = (cause for cause, pattern in _PATTERNS.items() if pattern.search(said))
    return next((cause for cause in found if has_limit or cause not in LIMITS), None)
