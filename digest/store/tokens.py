"""Secrets of the installation: tokens in links, kept only as hashes, and the secret they are derived from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from digest.store.bulk import ManyRows
from digest.store.schema import installation, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection


class TokenPurpose(StrEnum):
    """What a token opens, and nothing else."""

    LEAVE = "leave"
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
    """

    purpose: TokenPurpose
    destination: str
    subscription: str
    digest_id: int | None
    created_at: datetime


def remember_tokens(conn: Connection, rows: Sequence[tuple[Any, ...]], *, at: datetime) -> None:
    """Keep what tokens stand for from a moment (UTC) on, in one statement; each as `make_token_row` wrote it."""
    _TOKENS.insert(conn, rows, created_at=at)


_TOKENS = ManyRows(
    tokens,
    ("hash", "purpose", "destination", "subscription", "digest_id"),
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
) -> tuple[Any, ...]:
    """Return what is kept of a token, by its hash (`digest.signing.token_hash`)."""
    return token_hash, TokenPurpose(purpose).value, destination, subscription, digest_id


def find_token(conn: Connection, token_hash: str) -> StoredToken | None:
    """Return what a token stands for; None where it is unknown."""
    row = conn.execute(select(tokens).where(tokens.c.hash == token_hash)).one_or_none()
    if row is None:
        return None
    return StoredToken(
        purpose=TokenPurpose(row.purpose),
        destination=row.destination,
        subscription=row.subscription,
        digest_id=row.digest_id,
        created_at=row.created_at,
    )


def installation_secret(conn: Connection) -> str:
    """Return the secret this installation was given when its tables were made."""
    return str(conn.execute(select(installation.c.secret)).scalar_one())
