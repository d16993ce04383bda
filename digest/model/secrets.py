"""Makes tokens of addresses, and keys by which a delivery is known again; masks secrets. All pure.

A token is derived rather than drawn, so that every part and every retry of a digest has the same
link. The store finds a token by its hash. The secret that tokens derive from is in the database,
too: who has that can make them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping

from digest.model.errors import ConfigurationError

TOKEN_BYTES = 16
"""128 bits: 22 characters, so few that `List-Unsubscribe` is never folded (RFC 5322 §2.1.1)."""

_DELIVERIES = uuid.UUID("6b0a7c1e-5d0f-5f0c-9d54-2a4b8f3e9c17")
"""Namespace of delivery keys (RFC 9562 §5.5). It never changes: a new one repeats what was sent."""

_FEEDS = uuid.UUID("b3f5f9a4-7f0b-5c55-8d5e-1f1c64a0d2c7")
"""Namespace of feeds and their entries. It never changes: a new one shows everything once more."""

_write_json = json.JSONEncoder(ensure_ascii=False).encode

MASK = "***"

_END = r"\s/?#\"'<>,:;)\]}"
"""What ends a part of an address."""

_MAIL_END = _END + r"(@\[{=&"
"""What ends a part of a mail address."""

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), mask)
    for pattern, mask in (
        # smtps://name:password@host
        (r"(?<=://)(?:[^\s/@:]*:[^\s\"'<>]{0,1000}|[^\s/?#\"'<>@]*)@(?=[^\s/])", f"{MASK}@"),
        # https://hooks.slack.com/services/T0001/B0002/abcDEF123
        (r"\b(hooks\.slack(?:-gov)?\.com/\w+/)[^\s\"'<>,:;)\]}]+", rf"\g<1>{MASK}"),
        # https://discord.com/api/webhooks/1234/abc-DEF
        (r"(?<=/webhooks/)\d+/[\w-]+", MASK),
        # Slack's path, without its host
        (r"(?<=/services/)[a-z0-9]+/[a-z0-9]+/\w+", MASK),
        # xoxb-1234-abcd, xapp-1-A0-abcd
        (r"\b(x(?:ox[a-z]|app))-[\w.-]+", rf"\g<1>-{MASK}"),
        # Authorization: Bearer abcd
        (r"\b(bearer|basic)\s+[\w.~+/=-]+", rf"\g<1> {MASK}"),
        # postgresql:///base?password=abcd
        (r"(password|secret|token)=[^\s&\"']+", rf"\g<1>={MASK}"),
        # /f/abcd, the links that `digest.web.guards` has
        (rf"/([fudapck])/[^{_END}]+", rf"/\g<1>/{MASK}"),
        # reader@example.org, reader%40example.org
        (rf"(?<![^{_MAIL_END}*])[^{_MAIL_END}*]+(?:@|%40)[^{_MAIL_END}]+", f"{MASK}@{MASK}"),
    )
)

_SECRET_NAMES = re.compile(r"(?i)password|secret|token|authori[sz]ation|webhook")


def derive_token(secret: str, purpose: str, *parts: str) -> str:
    """Derive an unguessable token of 22 URL-safe characters (HMAC-SHA256 cut to 128 bits).

    Args:
        purpose: what the token opens (`leave`, `feed` …); one purpose's token is none of another's.
        parts: what it is bound to, such as a destination and a subscription, in a fixed order.
    """
    if not secret:
        raise ConfigurationError(
            "links can't be signed: the installation has no secret",
            hint="`digest db migrate` makes one.",
        )
    mac = hmac.digest(_encode(secret), _join((purpose, *parts)), hashlib.sha256)
    return urlsafe_b64encode(mac[:TOKEN_BYTES]).rstrip(b"=").decode("ascii")


def token_hash(token: str) -> str:
    """Return what is stored of a token: its SHA-256 in hex digits. Finding it leaks no timing."""
    return hashlib.sha256(_encode(token)).hexdigest()


def idempotency_key(scope: str, slot: str, destination: str, part: int) -> str:
    """Return the key (a UUID) of one part of a digest for one destination, for every attempt.

    Args:
        scope: names the subscription apart from every other one of every installation.
        destination: as `kind:address`.
    """
    name = _write_json([scope, slot, destination, part])
    return str(uuid.uuid5(_DELIVERIES, name))


def _join(parts: tuple[str, ...]) -> bytes:
    """Join with lengths in front, so that no two lists of parts give the same bytes."""
    joined = b""
    for part in map(_encode, parts):
        length = len(part).to_bytes(8, "big")
        joined += length + part
    return joined


def _encode(text: str) -> bytes:
    """Encode any text: a lone surrogate in a request must not break the comparing."""
    return text.encode("utf-8", "surrogatepass")


def feed_uri(scope: str, *parts: str) -> str:
    """Return the permanent name of a feed or of an entry in it (a `urn:uuid:`, RFC 9562 §5.5).

    No host is in it: a feed may move, and its readers must not be shown again what they have read.

    Args:
        scope: names the installation apart from every other one, and never changes.
        parts: what is named, such as `subscription`, its key, and a paper's id without version.
    """
    name = _write_json([scope, *parts])
    return uuid.uuid5(_FEEDS, name).urn


def sign_webhook(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the `webhook-signature` of a message, as https://www.standardwebhooks.com has it.

    The id is the same for every attempt, the timestamp (seconds since 1970) that of this one.
    """
    head = f"{message_id}.{timestamp}."
    mac = hmac.digest(key, head.encode("ascii") + body, hashlib.sha256)
    signature = b64encode(mac).decode("ascii")
    return f"v1,{signature}"


def redact(text: str) -> str:
    """Return a text with tokens, secret addresses, passwords and mail addresses masked."""
    for pattern, mask in _PATTERNS:
        text = pattern.sub(mask, text)
    return text


def redact_field(name: str, value: object) -> object:
    """Return a field's value fit for a log line: numbers and truth values as they are.

    All else becomes masked text.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if _SECRET_NAMES.search(name):
        return MASK
    if isinstance(value, Mapping):
        return {str(key): redact_field(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact_field(name, inner) for inner in value]
    return redact(str(value))
