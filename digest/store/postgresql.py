"""Reaches PostgreSQL: over which hosts, how long anything is waited for, what every session keeps to.

The server ends statements, lock waits and forgotten transactions, and the kernels on both sides notice a peer
that acknowledges nothing.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, text

from digest import __version__
from digest.model.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from psycopg import Connection as Session
    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.engine import ExceptionContext

POOL = 10
"""Connections a process opens at most: each of its jobs one, the threads that send and the pages the rest."""

POOL_WAIT = 30.0
"""Seconds somebody waits for one of them to become free."""

CONNECTION: dict[str, str] = {
    "connect_timeout": "5",  # a host that is down, of several: the next is tried
    "keepalives_idle": "15",  # with the two below: a dead link is noticed after half a minute
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""What libpq is told unless the URL says otherwise (https://www.postgresql.org/docs/current/libpq-connect.html)."""

SESSION: dict[str, str] = {
    "synchronous_commit": "on",  # what was sent and forgotten would be sent again
    "statement_timeout": "30s",  # ours take milliseconds; the longest, over millions of rows, seconds
    "lock_timeout": "20s",  # longer than anybody lawfully holds a row, shorter than a claim's lease
    "idle_in_transaction_session_timeout": "120s",  # matching a large batch thinks in between, but not so long
    "tcp_keepalives_idle": "15",  # the server's side: a client that is gone must not go on holding its locks
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""What each session is set to, unless the URL's `options` say otherwise."""

_HOSTS = "several-hosts"

_READ_ONLY = "25006"
"""The error of a server that takes no writes: a primary that became a standby."""

_AUTHORITY = re.compile(
    r"(?P<scheme>\w+(?:\+\w+)?://)(?:(?P<user>[^/@]*)@)?(?P<hosts>[^/?]+)(?P<rest>.*)", re.DOTALL
)


def open_engine(url: URL, *, pool: int = POOL) -> Engine:
    """Return an engine for a PostgreSQL; nothing is asked of it yet.

    Args:
        url: its address, `postgresql+psycopg://…`.
        pool: connections at most.

    Raises:
        ConfigurationError: the driver is not installed.
    """
    try:
        engine = create_engine(
            url,
            isolation_level="READ COMMITTED",  # what every fence and lock of ours is written for
            pool_size=pool,
            max_overflow=0,
            pool_timeout=POOL_WAIT,
            pool_use_lifo=True,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "PostgreSQL needs the psycopg driver, which is not installed",
            hint="Install it with: pip install 'preprint-digest[postgres]'",
        ) from error
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "handle_error", _leave_standby)
    return engine


def spread_hosts(url: str) -> str:
    """Rewrite libpq's way to name several hosts, `//user@h1:5432,h2:5432/name`, to the one SQLAlchemy reads.

    The one that takes writes is sought, if the URL asks for no other.
    """
    found = _AUTHORITY.fullmatch(url)
    if found is None or "," not in found["hosts"]:
        return url
    hosts, ports = zip(*(_split_port(host) for host in found["hosts"].split(",")), strict=True)
    path, _, query = found["rest"].partition("?")
    named = [f"host={','.join(hosts)}", f"port={','.join(ports)}", *filter(None, [query])]
    if "target_session_attrs=" not in query:
        named.append("target_session_attrs=read-write")
    user = f"{found['user']}@" if found["user"] is not None else ""
    return f"{found['scheme']}{user}{path or '/'}?{'&'.join(named)}"


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "5432"
    return name.strip("[]"), port


def show_url(url: URL) -> str:
    """Return an address for messages: without its password, several hosts as `spread_hosts` found them."""
    shown = url.render_as_string(hide_password=True)
    hosts, ports = url.query.get("host"), url.query.get("port")
    if not (isinstance(hosts, str) and isinstance(ports, str) and "," in hosts):
        return shown
    several = ",".join(map(":".join, zip(hosts.split(","), ports.split(","), strict=False)))
    plain = url.difference_update_query(["host", "port", "target_session_attrs"]).set(host=_HOSTS)
    return plain.render_as_string(hide_password=True).replace(_HOSTS, several)


def be_patient(conn: Connection) -> None:
    """Let this transaction wait as long as it takes, for locks and for slow statements."""
    for name in ("lock_timeout", "statement_timeout"):
        conn.execute(text("SELECT set_config(:name, '0', true)"), {"name": name})


def find_weakness(conn: Connection) -> str:
    """Return in what way the server may forget what it answered, "" where it does not."""
    if conn.dialect.name != "postgresql":
        return ""
    if conn.execute(text("SELECT current_setting('fsync')")).scalar() == "off":
        return "PostgreSQL runs with fsync = off: a power cut may lose what was sent, and send it again"
    return ""


def _connect(_dialect: object, _record: object, arguments: list[Any], named: dict[str, Any]) -> Session[Any]:
    import psycopg  # noqa: PLC0415 - an extra: SQLite works without

    settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    session = psycopg.connect(
        *arguments,
        **{
            **CONNECTION,
            "application_name": f"digest {__version__} ({os.getpid()})",
            **named,
            "options": f"{settings} {named.get('options', '')}".rstrip(),
            "client_encoding": "UTF8",  # whatever the surroundings say
        },
    )
    encoding, name = session.info.parameter_status("server_encoding"), session.info.dbname
    if encoding not in (None, "UTF8"):  # something in between may keep it to itself
        session.close()
        raise StoreError(
            f"the database {name} has the encoding {encoding}, and Digest needs UTF8",
            hint="Make another with `createdb -E UTF8 -T template0 NAME`, and name it in url under [store].",
        )
    return session


def _leave_standby(context: ExceptionContext) -> None:
    """Drop every connection to a server that takes no writes any more: the primary is to be looked for anew."""
    wants_to_write = context.connection is None or not context.connection.get_execution_options().get(
        "postgresql_readonly"
    )
    if wants_to_write and getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True
