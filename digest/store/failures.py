"""What a database's own errors mean to us, and what the operator can do about them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DatabaseError, IntegrityError, InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from digest.errors import StoreBusy, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = (IntegrityError, ProgrammingError)
"""A broken constraint or statement is a mistake of the code, never of the database: it is not explained away."""

_BUSY = ("database is locked", "deadlock detected", "could not serialize", "lock timeout", "not obtain lock")

_HINTS = {
    "is full": "Make room on its disk; nothing that was stored is lost, and work resumes by itself.",
    "no space left": "Make room on its disk; nothing that was stored is lost, and work resumes by itself.",
    "readonly": "Make the file and its folder writable for this account.",
    "read-only": "Connect to the primary, or end its read-only mode.",
    "unable to open": "Check that the folder is there and writable for this account.",
    "not a database": "The file holds something else; change url under [store] in digest.toml.",
    "malformed": "Restore the latest backup: the file is damaged.",
    "disk i/o": "Check the disk; if it is well, the file may be damaged: restore the latest backup.",
    "password": "Check the name and the password in url under [store].",
    "does not exist": "Create the database, or change url under [store].",
    "connection": "Check that the server is up and can be reached from here.",
}


@contextmanager
def explaining(where: str) -> Iterator[None]:
    """Turn errors of the database, inside the block, into errors that say what to do.

    Args:
        where: the database's address without its password.

    Raises:
        StoreBusy: somebody else holds what is needed; the same may pass later.
        StoreError: the database is away, full, read-only, or not what it should be.
    """
    try:
        yield
    except PoolTimeout as error:
        raise StoreBusy("every connection to the database is taken", hint="Use fewer workers.") from error
    except _OURS:
        raise
    except (OperationalError, InterfaceError, DatabaseError) as error:
        raise _explain(error, where) from error


def _explain(error: DatabaseError | InterfaceError, where: str) -> StoreError:
    said = " ".join(str(error.orig).split())
    lowered = said.lower()
    if any(sign in lowered for sign in _BUSY):
        return StoreBusy(
            f"the database {where} is held by another process: {said}",
            hint="Try again; if it lasts, see which process holds it.",
        )
    hint = next((hint for sign, hint in _HINTS.items() if sign in lowered), "")
    return StoreError(f"the database {where} can't be used: {said}", hint=hint)
