"""Mail addresses as they may appear in an SMTP envelope, and nothing that could end a command early."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from email_validator import EmailNotValidError, validate_email

_PRIVATE_DOMAIN = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*(?:local|localhost|test|invalid)", re.ASCII | re.IGNORECASE
)
"""Domains no public mail server knows, but a machine's or an office's own may (RFC 6761, RFC 6762)."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address for MAIL FROM or RCPT TO.

    Attributes:
        address: as it goes on the wire, without angle brackets; the domain in ASCII wherever it can be.
        needs_utf8: its local part is beyond ASCII, so the server must offer SMTPUTF8 (RFC 6531).
    """

    address: str
    needs_utf8: bool


@lru_cache(maxsize=1024)  # a mail's address is read when it is resolved, and again when it is sent
def parse_mailbox(text: str) -> Mailbox:
    """Read one bare mail address.

    Raises:
        ValueError: it is none; the reason is the message.
    """
    local, _, domain = text.rpartition("@")
    is_private = _PRIVATE_DOMAIN.fullmatch(domain) is not None
    try:
        checked = validate_email(
            f"{local}@example.org" if is_private else text,
            check_deliverability=False,
            globally_deliverable=False,
        )
    except EmailNotValidError as error:
        raise ValueError(str(error)) from error
    if is_private:
        return Mailbox(f"{checked.local_part}@{domain.lower()}", checked.smtputf8)
    return Mailbox(checked.ascii_email or checked.normalized, checked.smtputf8)
