from __future__ import annotations

import pytest
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from digest.model.errors import StoreBusy, StoreError
from digest.store.engine import explaining

WHERE = "postgresql://digest@db/digest"


def fail(error: Exception) -> None:
    with explaining(WHERE):
        raise error


def operational(said: str) -> OperationalError:
    return OperationalError("SELECT 1", {}, Exception(said))


@pytest.mark.parametrize(
    "said",
    [
        *("database is locked", "deadlock detected", "could not serialize access"),
        "canceling statement due to lock timeout",
        (
            "canceling statement due to statement timeout while locking tuple (0,1) in "
            'relation "installation"'
        ),
    ],
)
def test_what_another_process_holds_may_pass_later(said: str) -> None:
    with pytest.raises(StoreBusy, match="locked by another process") as caught:
        fail(operational(said))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("database or disk is full", "Make room"),
        ('could not extend file "base/1": No space left on device', "Make room"),
        ("attempt to write a readonly database", "writable"),
        ("cannot execute UPDATE in a read-only transaction", "primary"),
        ("unable to open database file", "folder"),
        ("file is not a database", "something else"),
        ("database disk image is malformed", "backup"),
        ("disk I/O error", "disk"),
        ('password authentication failed for user "digest"', "password"),
        ('database "digest" does not exist', "Create the database"),
        ("connection to server at 127.0.0.1 failed: Connection refused", "server is up"),
        ("server closed the connection unexpectedly", "server is up"),
    ],
)
def test_each_failure_of_a_database_says_where_and_what_to_do(said: str, hint: str) -> None:
    with pytest.raises(StoreError, match="can't be used") as caught:
        fail(DatabaseError("SELECT 1", {}, Exception(said)))
    assert not isinstance(caught.value, StoreBusy)
    assert WHERE in caught.value.message
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_too_many_users_of_the_pool_is_busy_too() -> None:
    with pytest.raises(StoreBusy, match="every connection"):
        fail(PoolTimeout("QueuePool limit"))


def test_a_mistake_of_the_code_stays_what_it_is() -> None:
    with pytest.raises(IntegrityError):
        fail(IntegrityError("INSERT", {}, Exception("UNIQUE constraint failed")))
    with pytest.raises(ZeroDivisionError):
        fail(ZeroDivisionError())
