"""What a mail server's refusal is about: by its code (RFC 3463) first, then by its words."""

from __future__ import annotations

import re
from enum import StrEnum

from digest.model.errors import DeliveryError

_OF_ONE_MAIL = re.compile(
    r"(?<![\d.])[45]\.(?:2\.3|3\.4)(?!\.?\d)|\bsize|too (?:large|big|long)|length"
    r"|\bhops?\b|\bloop|\bscore|spam (?:limit|threshold|level)|time-?out|\btime limit"
    r"|too many (?:urls|links|parts|attachments|received|headers|lines)",
)
"""Limits that the next mail does not meet: of a mail's size, its way, its content."""

_OF_SENDER = re.compile(
    r"\bsend(?:er|ers|er's|ing)?(?: \w+){0,2} (?:limit|quota|rate)"
    r"|(?:quota|limit)(?: \w+){0,3} sender|\byou(?:['’]ve| have) (?:reached|exceeded|sent)"
    r"|daily|hourly|\bper (?:second|minute|hour|day|month)\b"
    r"|submission|out(?:going|bound)|\brecipients\b",
)
"""What says that a limit is ours, whatever the code."""

_OF_READER = re.compile(
    r"\A552|(?<![\d.])[45]\.(?:1\.(?:[1236]|10)|2\.[12])(?!\.?\d)"
    r"|mail ?box|\binbox|over ?quota|over (?:its|the|their) (?:storage|quota)|storage|\bdisk\b"
    r"|receiving|recipient(?:'s)? (?:has|is|exceed|account|quota|rate|limit)"
    r"|(?:for|to|of) th(?:is|e|at) recipient\b"
    r"|\buser (?:has|is|quota)|account that you",
)
"""What says that it is a reader's: first the codes of addresses, of mailboxes, and 552."""


class Cause(StrEnum):
    """What a refusal is about, as far as that can be told; as text, what the operator can do."""

    LIMIT = (
        "It is tried again by itself, after a pause."
        " Your mail provider says how many mails, connections and logins you may have."
    )
    """The server takes nothing more from us for a while. No reader is to blame."""

    LOGIN = (
        "Use an app password, if your mail provider has them."
        " Else use a relay or another provider: `digest help mail`."
    )
    """The server takes another kind of password, or none at all."""

    ENCRYPTION = "Check `mail.smtp`: smtp+starttls:// is usual on port 587, smtps:// on 465."
    """The server wants it, or cannot do it."""

    MAILBOX = (
        "The reader's mailbox is full or switched off, or the mail is too large."
        " A smaller `show` makes it shorter."
    )
    """The reader's mailbox takes nothing."""


class LimitReached(DeliveryError):
    """The mail server takes nothing more from us for a while."""


# Each pattern reads a few words from where it begins, so the time it takes grows as an answer does.
_WORDS = {
    Cause.LIMIT: r"quota|(?<!de)limit|\brates?\b|exceed|throttl|\bcredits\b|slow(?:ing)? down"
    r"|too (?:many|much|fast|often|quickly|frequent)|\bmax(?:imum)? (?:number|\d)|unusual sending"
    r"|mail ?box[^.;]{0,20}full",
    Cause.LOGIN: r"app(?:lication)?[- ](?:specific )?password|web browser|security defaults"
    r"|oauth|(?:basic|smtpclient) ?auth\w{0,20} is disabled|unrecognized authentication type",
    Cause.ENCRYPTION: r"starttls|encrypt\w{0,20}(?: \w+){0,2} (?:required|needed)"
    r"|requires?(?: \w+){0,2} encrypt|\b(?:ssl|tls)(?: \w+){0,2} (?:required|needed|available)"
    r"|(?:requires?|needs?|use|using) (?:ssl|tls)\b|(?<![\d.])[45]\.7\.1[01](?!\.?\d)",
    Cause.MAILBOX: r"\A552|(?<![\d.])[45]\.2\.[123](?!\.?\d)|over ?quota"
    r"|(?:mail ?box|\binbox)[^.;]{0,40}(?:\bfull|exceed|quota|limit)",
}


def find_cause(code: int, text: str, *, is_early: bool) -> Cause | None:
    """Return what a refusal is about. If `is_early`, no reader was named, so no limit is theirs."""
    # No word of an address says why.
    said = f"{code} " + re.sub(r"(?<!\S)[^\s@]+@\S*", " ", text).lower()
    is_another_limit = _OF_ONE_MAIL.search(said) or (
        _OF_READER.search(said) and not (is_early or _OF_SENDER.search(said))
    )
    return next(
        (
            cause
            for cause, words in _WORDS.items()
            if re.search(words, said) and not (is_another_limit and cause is Cause.LIMIT)
        ),
        None,
    )
