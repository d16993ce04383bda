"""Tokens: what a secret address opens, and the installation's own secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, select

from digest.store.dialect import dialect_insert
from digest.store.schema import installation, tokens

_BY_HASH = select(tokens).where(tokens.c.hash == bindparam("asked"))


class TokenPurpose(StrEnum):
    """What a token opens, and nothing else. `ENDED`: nothing any more, for good."""

    UNSUBSCRIBE = "unsubscribe"
    WEB = "web"
    PREFERENCES = "preferences"
    ARCHIVE = "archive"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class StoredToken:
    """What a token is for, and whose it is, as `kind:address`.

    "" is for no destination, or all subscriptions.
    """

    purpose: TokenPurpose
    destination: str
    subscription: str
    digest_id: int | None


def save(conn: Connection, rows: Sequence[dict[str, Any]], *, at: datetime) -> None:
    """Keep what tokens are for from a moment (UTC) on, in one statement.

    Each is as `make_row` wrote it.
    """
    if not rows:
        return
    keep = dialect_insert(conn, tokens).on_conflict_do_nothing(index_elements=["hash"])
    begun = {"created_at": at}
    conn.execute(keep, [row | begun for row in rows])


def make_row(
    token_hash: str,
    purpose: str,
    *,
    destination: str = "",
    subscription: str = "",
    digest_id: int | None = None,
) -> dict[str, Any]:
    """Return what is kept of a token, by its hash (`digest.model.secrets.token_hash`)."""
    return {
        "hash": token_hash,
        "purpose": TokenPurpose(purpose).value,
        "destination": destination,
        "subscription": subscription,
        "digest_id": digest_id,
    }


def load(conn: Connection, token_hash: str) -> StoredToken | None:
    """Return what a token is for; None if it is unknown."""
    row = conn.execute(_BY_HASH, {"asked": token_hash}).one_or_none()
    if row is None:
        return None
    return StoredToken(TokenPurpose(row.purpose), row.destination, row.subscription, row.digest_id)


def load_secret(conn: Connection) -> str:
    """Return the secret this installation was given when its tables were made."""
    return str(conn.execute(select(installation.c.secret)).scalar_one())
