"""Secrets of the installation: tokens in links, kept only as hashes, and the key they are signed with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


class TokenPurpose(StrEnum):
    """What a token opens, and nothing else."""

    LEAVE = "leave"
    FEED = "feed"
    CONFIRM = "confirm"
    MANAGE = "manage"
    WEB = "web"


@dataclass(frozen=True, slots=True)
class StoredToken:
    """What a token stands for; times are UTC, `expires_at` None for never."""

    purpose: TokenPurpose
    destination: str
    subscription: str
    digest_id: int | None
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


def remember_token(
    conn: Connection,
    token: str,
    purpose: str,
    at: datetime,
    *,
    destination: str = "",
    subscription: str = "",
    digest_id: int | None = None,
    expires_at: datetime | None = None,
) -> None:
    """Keep what a token stands for, by its hash; a token kept already stays as it is."""
    raise NotImplementedError


def find_token(conn: Connection, token: str, purpose: str, now: datetime) -> StoredToken | None:
    """Return what a token stands for; None for one unknown, expired, or made for something else."""
    raise NotImplementedError


def use_token(conn: Connection, token: str, now: datetime) -> bool:
    """Record a token's first use; False where it was used before or is unknown."""
    raise NotImplementedError


def installation_secret(conn: Connection, fresh: str, at: datetime) -> str:
    """Return this installation's secret; `fresh` becomes it the first time, and never again."""
    raise NotImplementedError
