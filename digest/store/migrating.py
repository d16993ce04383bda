"""From one release's schema to the next: `digest migrate`, and the first start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a migration did: the revision `before` ("" for an empty database) and `after`."""

    before: str
    after: str


def migrate(url: str) -> MigrationReport:
    """Bring the database at a URL to this release's schema, in one transaction and under a lock.

    Raises:
        SchemaMismatch: it was written by a newer release.
        StoreError: it can't be reached or written.
    """
    raise NotImplementedError
