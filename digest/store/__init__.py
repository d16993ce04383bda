"""What Digest remembers: SQLAlchemy Core over SQLite or PostgreSQL, one module per aggregate.

Every function takes the caller's connection first. `Store.begin` opens the transaction, so that
what belongs together is committed together; `Store.read` promises to change nothing. Every change
of state is one conditional UPDATE whose row count says whether it was ours to make. A join without
a condition goes by the references between the tables.
"""

from digest.store.engine import MigrationReport, Store, migrate, open_store
from digest.store.gate import StoreGate, create_standalone
from digest.store.workers import lock_worker

__all__ = [
    "MigrationReport",
    "Store",
    "StoreGate",
    "create_standalone",
    "lock_worker",
    "migrate",
    "open_store",
]
