"""Secrets of the installation: tokens in links, kept only as hashes, and the secret they are derived from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from digest.store.bulk import ManyRows
from digest.store.schema import installation, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection


class TokenPurpose(StrEnum):
    """What a token opens, and nothing else."""

    LEAVE = "leave"
    FEED = "feed"
    WEB = "web"


@dataclass(frozen=True, slots=True)
class StoredToken:
    """What a token stands for.

    Attributes:
        purpose: what it opens.
        destination: whose it is, as `kind:address`; "" where it belongs to no destination.
        subscription: which subscription it is about; "" for all.
        digest_id: which digest it shows; None where it shows none.
        created_at: when it was kept (UTC).
        expires_at: from when on it opens nothing (UTC); None for never.
        used_at: when it was first used (UTC); None before.
    """

    purpose: TokenPurpose
    destination: str
    subscription: str
    digest_id: int | None
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


def remember_token(
    conn: Connection,
    token_hash: str,
    purpose: str,
    *,
    at: datetime,
    destination: str = "",
    subscription: str = "",
    digest_id: int | None = None,
    expires_at: datetime | None = None,
) -> None:
    """Keep what a token stands for, by its hash (`digest.signing.token_hash`); one kept already stays as it is."""
    row = make_token_row(
        token_hash,
        purpose,
        destination=destination,
        subscription=subscription,
        digest_id=digest_id,
        expires_at=expires_at,
    )
    remember_tokens(conn, [row], at=at)


def remember_tokens(conn: Connection, rows: Sequence[tuple[Any, ...]], *, at: datetime) -> None:
    """Keep what tokens stand for from a moment (UTC) on, in one statement; each as `make_token_row` wrote it."""
    _TOKENS.insert(conn, rows, created_at=at)


_TOKENS = ManyRows(
    tokens,
    ("hash", "purpose", "destination", "subscription", "digest_id", "expires_at"),
    ("created_at",),
    unless=("hash",),
)


def make_token_row(
    token_hash: str,
    purpose: str,
    *,
    destination: str = "",
    subscription: str = "",
    digest_id: int | None = None,
    expires_at: datetime | None = None,
) -> tuple[Any, ...]:
    """Return what is kept of a token; see `remember_token`."""
    return token_hash, TokenPurpose(purpose).value, destination, subscription, digest_id, expires_at


def find_token(conn: Connection, token_hash: str) -> StoredToken | None:
    """Return what a token stands for, None where it is unknown. Whether it has expired is the caller's to see."""
    row = conn.execute(select(tokens).where(tokens.c.hash == token_hash)).one_or_none()
    if row is None:
        return None
    return StoredToken(
        purpose=TokenPurpose(row.purpose),
        destination=row.destination,
        subscription=row.subscription,
        digest_id=row.digest_id,
        created_at=row.created_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
    )


def use_token(conn: Connection, token_hash: str, now: datetime) -> bool:
    """Record a token's first use; False where it was used before or is unknown."""
    use = update(tokens).where(tokens.c.hash == token_hash, tokens.c.used_at.is_(None)).values(used_at=now)
    return conn.execute(use).rowcount == 1


def installation_secret(conn: Connection) -> str:
    """Return the secret this installation was given when its tables were made."""
    return str(conn.execute(select(installation.c.secret)).scalar_one())
