"""What a mail server's refusal is about: by its code (RFC 3463) first, then by its words."""

from __future__ import annotations

import re
from enum import StrEnum

from digest.model.errors import DeliveryError
from digest.model.said import Said, Saying

_OF_OTHERS = re.compile(
    r"(?<![\d.])[45]\.(?:1\.(?:[1236]|10)|2\.3|3\.4)(?!\.?\d)|gr[ae]y-?list"
    r"|no such (?:user|address)"
    r"|\bincoming (?:e-?)?(?:mail|message)"
    r"|\bsize|too (?:large|big|long)|\blarger|length|\bbytes\b|\d ?[kmg]i?b\b"
    r"|\bhops?\b|\bloop|\bscore|spam (?:limit|threshold|level|rate)|time-?out|\btime limit"
    r"|\bmime\b|\bheaders?\b|\blines?\b|\battachments?\b|\bcredit card"
    r"|too many (?:urls|links|parts|received|caps)",
)
"""What no mail but this one meets: addresses that don't exist, sizes, ways, contents."""

OF_SENDER = re.compile(
    r"(?<![\d.])[45]\.(?:4\.5|7\.28)(?!\.?\d)"
    r"|\bsend(?:er|ers|er's|ing)?(?: \w+){0,2} (?:limit|quota|rate|allowance|cap|credit)"
    r"|\bsender(?: has)? exceed|sender address rejected|unusual sending|allowed to send|smtp relay"
    r"|(?:quota|limit)(?: \w+){0,3} sender"
    r"|\byou(?: \(\w+\))?(?:['’]ve| have)? (?:reached|exceeded|sent)"
    r"|\byour (?:\w+ )?(?:account|plan|quota|limit|allowance|domain|tenant)\b"
    r"|from (?:the |this )?sender\b|\btenant\b|\borgani[sz]ation\b|throttling failure"
    r"|submission|out(?:going|bound)",
)
"""What says that a limit is ours for certain, whatever the code."""

OF_SENDER_MAYBE = re.compile(
    OF_SENDER.pattern + r"|daily|hourly|\bper (?:second|minute|hour|day|month)\b|\brecipients\b"
    r"|monthly|\b(?:mails?|messages?)(?: \w+){0,3} (?:an?|this|each|every) (?:hour|day|month)\b"
    r"|\btoday\b|this (?:session|connection)|\bcredits?\b|allowance|tageslimit|versand|envoi",
)
"""What most servers say of ours, and a few of a reader's."""

_OF_READER = re.compile(
    r"\A552|(?<![\d.])[45]\.2\.[12](?!\.?\d)"
    r"|mail ?box|\binbox|over ?quota|over (?:its|the|their) (?:storage|quota)|storage|\bdisk\b"
    r"|receiving|recipient(?:'s)? (?:has|is|exceed|account|quota|rate|limit)"
    r"|(?:for|to|of) th(?:is|e|at) recipient\b|\bmembers\b"
    r"|\b(?:user|subscriber)(?:'s)? (?:has|is|quota|account|limit)|account that you",
)
"""What says that it is a reader's: first the codes of mailboxes, and 552."""


class Cause(StrEnum):
    """What a refusal is about, as far as that can be told."""

    LIMIT = "limit"
    """The server takes nothing more from us for a while. No reader is to blame."""

    LOGIN = "login"
    """The server takes another kind of password, or none at all."""

    ENCRYPTION = "encryption"
    """The server wants it, or cannot do it."""

    MAILBOX = "mailbox"
    """The reader's mailbox takes nothing."""

    @property
    def advice(self) -> Said:
        """What the operator can do."""
        return Said.of(_ADVICE[self])


_ADVICE = {
    Cause.LIMIT: Saying.LIMIT_PASSES,
    Cause.LOGIN: Saying.OTHER_LOGIN,
    Cause.ENCRYPTION: Saying.CHECK_ENCRYPTION,
    Cause.MAILBOX: Saying.MAILBOX_FULL,
}


class LimitReached(DeliveryError):
    """The mail server takes nothing more for a while, from us or for one reader."""


# Each pattern reads a few words from where it begins, so the time it takes grows as an answer does.
_WORDS = {
    Cause.LIMIT: r"quota|(?<!de)l[ií]mit(?!ed)"
    r"|\b(?:rate|mails?|messages?|you)(?:[- ]\w+)?[- ]limited"
    r"|\brates?\b|exceed|throttl|\bcredits?\b|\bcaps?\b"
    r"|allow(?:ance|ed number)|allot|contingent|kontingent"
    r"|too (?:many|much|fast|often|quickly|frequent)"
    r"|\bmax(?:imum)? (?:number|of|\d)|slow(?:ing)? down"
    r"|\b(?:mails?|messages?|recipients)(?: \w+){0,3}"
    r" (?:an?|per|this|each|every) (?:hour|day|month)\b"
    r"|\b(?:for|no more(?: \w+)?) today\b|unusual sending|mail ?box[^.;]{0,20}full",
    Cause.LOGIN: r"app(?:lication)?[- ](?:specific )?password|web browser|security defaults"
    r"|oauth|(?:basic|smtpclient) ?auth\w{0,20} is disabled|unrecognized authentication type",
    Cause.ENCRYPTION: r"starttls|encrypt\w{0,20}(?: \w+){0,2} (?:required|needed)"
    r"|requires?(?: \w+){0,2} encrypt|\b(?:ssl|tls)(?: \w+){0,2} (?:required|needed|available)"
    r"|(?:requires?|needs?|use|using) (?:ssl|tls)\b|(?<![\d.])[45]\.7\.1[01](?!\.?\d)",
    Cause.MAILBOX: r"\A552|(?<![\d.])[45]\.2\.[123](?!\.?\d)|over ?quota"
    r"|(?:mail ?box|\binbox)[^.;]{0,40}(?:\bfull|exceed|quota|limit)",
}


def find_cause(said: str, *, is_early: bool) -> Cause | None:
    """Return what a refusal is about, by its code and words, in small letters, without addresses.

    If `is_early`, no reader was named, so no limit is theirs.
    """
    is_another_limit = _OF_OTHERS.search(said) or (
        _OF_READER.search(said) and not (is_early or OF_SENDER_MAYBE.search(said))
    )
    return next(
        (
            cause
            for cause, words in _WORDS.items()
            if re.search(words, said) and not (is_another_limit and cause is Cause.LIMIT)
        ),
        None,
    )
