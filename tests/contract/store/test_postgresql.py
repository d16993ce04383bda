"""What holds of every session with a PostgreSQL, over links that are cut or dead."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
from sqlalchemy import Engine, literal, make_url, select, text, update

from digest.model.errors import StoreBusy, StoreError
from digest.store import Store, migrate, open_store
from digest.store.engine import connect
from digest.store.schema import marks
from tests.links import Link
from tests.threads import do_together


@pytest.fixture
def database() -> str:
    return "postgresql"


@pytest.fixture
def link(url: str) -> Iterator[Link]:
    """A line to the server, over TCP."""
    with Link(f"{make_url(url).query['host']}/.s.PGSQL.5432") as link:
        yield link


def over(link: Link, url: str, more: str = "") -> str:
    """Return the URL of the same database over a line."""
    user = make_url(url).username
    name = make_url(url).database
    return f"postgresql://{user}@127.0.0.1:{link.port}/{name}{more}"


def show(store: Store, *names: str) -> list[str]:
    with store.begin() as conn:
        return [str(conn.execute(text(f"SHOW {name}")).scalar()) for name in names]


def work_until_it_fails(store: Store, fault: Callable[[], None]) -> None:
    """Let a fault happen in the middle of a transaction."""
    with store.begin() as conn:
        conn.execute(update(marks).values(value=5))
        fault()
        while True:
            conn.execute(select(marks))


def test_nothing_waits_for_ever_and_what_is_answered_is_durable(store: Store) -> None:
    waits = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    assert show(store, *waits) == ["30s", "20s", "2min"]
    assert show(store, "synchronous_commit", "transaction_isolation") == ["on", "read committed"]
    assert str(os.getpid()) in show(store, "application_name")[0]


def test_the_server_itself_answers_before_it_could(postgresql_server: Engine) -> None:
    with postgresql_server.connect() as conn:
        assert conn.execute(text("SHOW synchronous_commit")).scalar() == "off", (
            "so it was we who switched it on"
        )


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_name_is_refused_before_anything_is_made(
    url: str, postgresql_server: Engine, encoding: str
) -> None:
    name = f"in_{encoding.lower()}"
    with postgresql_server.connect() as admin:
        admin.execute(
            text(f"CREATE DATABASE {name} ENCODING {encoding} LOCALE 'C' TEMPLATE template0")
        )
    narrow = make_url(url).set(database=name)
    for call in (migrate, open_store, lambda url: open_store(url, create=True)):
        with pytest.raises(
            StoreError, match=f"{name} has the encoding {encoding}, and Digest needs UTF8"
        ) as caught:
            call(narrow.render_as_string(hide_password=False))
        assert "createdb -E UTF8 -T template0" in caught.value.hint
    with psycopg.connect(make_url(narrow).render_as_string(hide_password=False)) as conn:
        assert conn.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone() in (
            (0,),
            (b"0",),
        )


def test_text_of_any_script_is_kept_whatever_the_surroundings_say(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    store = open_store(url)
    with store.read() as conn:
        assert conn.execute(select(literal("Ž. Łoś, 林"))).scalar() == "Ž. Łoś, 林"
    store.close()


def test_a_url_may_ask_for_other_limits(url: str, link: Link) -> None:
    more = "?options=-c%20lock_timeout=100&application_name=mine"
    store = open_store(over(link, url, more))
    assert show(store, "lock_timeout", "statement_timeout", "application_name") == [
        "100ms",
        "30s",
        "mine",
    ]
    with store.begin() as conn:
        conn.execute(update(marks).values(value=1))
        with pytest.raises(StoreBusy, match="lock timeout"), store.begin() as other:
            other.execute(update(marks).values(value=2))
    store.close()


def test_of_several_hosts_the_one_that_can_be_reached_is_used(url: str, link: Link) -> None:
    with Link("/nowhere") as dead:
        user = make_url(url).username
        name = make_url(url).database
        places = (
            f"host=127.0.0.1,127.0.0.1&port={dead.port},{link.port}&target_session_attrs=read-write"
        )
        store = open_store(f"postgresql://{user}@/{name}?{places}")
        with store.read() as conn:
            assert conn.execute(select(marks)).all()
        store.close()


def test_a_password_among_the_options_of_an_address_is_shown_nowhere() -> None:
    store = connect("postgresql://u:one@h1/n?password=two&sslpassword=three&connect_timeout=2")
    assert store.url_masked == "postgresql://u:***@h1/n?connect_timeout=2"
    store.close()


def test_cut_links_are_noticed_and_made_anew(url: str, link: Link) -> None:
    store = open_store(over(link, url))
    with store.read() as conn:
        conn.execute(select(marks))
    with pytest.raises(StoreError, match="can't be used"):
        work_until_it_fails(store, link.cut)
    for _ in range(3):
        with store.begin() as conn:
            conn.execute(update(marks).values(value=5))
    store.close()


def test_links_cut_while_nobody_looks_are_made_anew_without_a_failure(url: str, link: Link) -> None:
    store = open_store(over(link, url), pool=2)
    with store.read() as one, store.begin() as other:
        assert one.execute(select(marks)).all() == other.execute(select(marks)).all()
    for _ in range(3):
        link.cut()
        with store.begin() as conn:
            conn.execute(update(marks).values(value=5))
    store.close()


def test_a_primary_that_became_a_standby_is_left(
    url: str, link: Link, postgresql_server: Engine
) -> None:
    store = open_store(over(link, url), pool=1)
    name = make_url(url).database
    with postgresql_server.connect() as admin:
        admin.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
        try:
            link.cut()
            with pytest.raises(StoreError, match="read-only"), store.begin() as conn:
                conn.execute(update(marks).values(value=5))
        finally:
            admin.execute(text(f"ALTER DATABASE {name} RESET default_transaction_read_only"))
    with store.begin() as conn:
        conn.execute(update(marks).values(value=6))
    store.close()


def test_a_process_opens_no_more_connections_than_it_may(url: str, link: Link) -> None:
    store = open_store(over(link, url), pool=2)
    inside = [0]
    most = [0]
    lock = threading.Lock()

    def work(_: int) -> None:
        with store.read() as conn:
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            conn.execute(text("SELECT pg_sleep(0.02)"))
            with lock:
                inside[0] -= 1

    do_together(range(8), work)
    store.close()
    assert most == [2]
