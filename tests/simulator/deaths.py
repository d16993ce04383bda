"""Real processes that die at a named point.

Forked from one that has loaded all there is, so each costs little.

A death here is `kill -9`: nothing of ours runs afterwards, no `finally` gives anything back, the
kernel closes what was open. That matters: an exception that is thrown through the product would let
it release the gate to arXiv, sign off and say goodbye to the mail server. Run as `python -m
tests.simulator.deaths` it is the process that forks; it takes orders line by line.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from sqlalchemy import create_engine, make_url, text

from digest.config import load_config
from digest.deliver.dispatch import Lane
from digest.deliver.step import DeliverReport
from digest.model.clock import RemoteClock
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from digest.site import Site
from tests.simulator.planted import PLANTS

ROOT = Path(__file__).parents[2]
KILLED = -signal.SIGKILL
ENDED = 0

_LOADED_BEFORE = (
    "digest.deliver.transports.slack",
    "digest.deliver.transports.smtp",
    "tests.simulator.planted",
)
_MARKS_THAT_FAIL = 3


@dataclass(frozen=True)
class Point:
    """A place in the product's code, and what happens to the process there.

    The place is written such as `module:Class.method`. In an `outage` the database goes away, and
    comes back when three marks have failed, or the process is killed.
    """

    at: str
    after: bool = False
    skip: int = 0
    happens: str = "death"


class ForkedProcesses:
    """The process that forks others, for as long as its context lasts."""

    def __enter__(self) -> Self:
        self._log = tempfile.TemporaryFile()
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith("DIGEST_")
        }
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.simulator.deaths"],
            cwd=ROOT,
            env=environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(30)
        self._server.stdout.close()
        self._log.close()

    def run(
        self,
        point: Point,
        *,
        folder: Path,
        environ: Mapping[str, str],
        owner: str,
        admin: str = "",
        fault: str = "",
        patience: timedelta = timedelta(0),
    ) -> int:
        """Live through one `digest run`; return how it ended: `KILLED`, `ENDED`, or another code.

        From `admin`, a database of the same PostgreSQL server, the installation's can be shut.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        order = {
            "point": asdict(point),
            "folder": str(folder),
            "environ": dict(environ),
            "owner": owner,
            "admin": admin,
            "fault": fault,
            "patience": patience.total_seconds(),
        }
        self._server.stdin.write(json.dumps(order).encode() + b"\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def read_log(self) -> str:
        """Return what the processes said last."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-3000:]


def _serve() -> None:
    """Take orders until there are no more."""
    for module in _LOADED_BEFORE:
        importlib.import_module(module)
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            _live(json.loads(line))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        print(code, flush=True)  # noqa: T201 - the answer to the order


def _live(order: Mapping[str, Any]) -> None:
    """Be one `digest run`, and end."""
    code = 1
    try:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        environ = order["environ"]
        config = load_config(Path(order["folder"]) / "digest.toml", environ)
        clock = RemoteClock(environ["DIGEST_TEST_CLOCK"])
        site = open_site(config, clock, owner=order["owner"], jitter=lambda: 0.5)
        _keep_in_line()
        with PLANTS[order["fault"]]() if order["fault"] else nullcontext():
            arm(Point(**order["point"]), site, order["admin"])
            run_pass(site, patience=timedelta(seconds=order["patience"]))
        site.close()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent reads it in the log
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _keep_in_line() -> None:
    """Let one lane go after the other, mail first.

    What stands where at a death is then the same every time.

    What a death leaves of one delivery is the same beside others; the kill battery has deaths amid
    several.
    """
    deliver = find("digest.deliver.dispatch:deliver")

    def in_turn(
        site: Site, *, lanes: Sequence[Lane], should_stop: Callable[[], bool]
    ) -> DeliverReport:
        for lane in lanes:
            deliver(site, lanes=[lane], should_stop=should_stop)
        return DeliverReport()

    replace_function("digest.deliver.dispatch:deliver", in_turn)
    # Nor does it look for more while a mark is tried: what an outage meets does not depend on how
    # fast we are.
    dispatch = importlib.import_module("digest.deliver.dispatch")
    setattr(dispatch, "_ASK_AGAIN", math.inf)  # noqa: B010 - mypy knows it is not ours to change


def arm(point: Point, site: Site, admin: str) -> None:
    """Let something happen at a point of this process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a full disk is an error here, not the end
    original = find(point.at)
    calls = 0

    def fateful(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - stands for any function
        nonlocal calls
        calls += 1
        if calls != point.skip + 1:
            return original(*args, **keywords)
        if not point.after:
            _strike(point, site, admin)
        result = original(*args, **keywords)
        if point.after:
            _strike(point, site, admin)
        return result

    replace_function(point.at, fateful)


def find(path: str) -> Any:  # noqa: ANN401 - any function
    """Return the function at `module:function` or `module:Class.method`."""
    owner, name = _find_owner(path)
    return getattr(owner, name)


def replace_function(path: str, other: Callable[..., Any]) -> Callable[[], None]:
    """Put another function in the place of one, wherever it was imported by name.

    Return what undoes that.
    """
    owner, name = _find_owner(path)
    original = getattr(owner, name)
    modules = [
        module for key, module in sys.modules.items() if key.startswith(("digest.", "tests."))
    ]
    holders = [
        owner,
        *(one for one in modules if one is not owner and vars(one).get(name) is original),
    ]

    def put(function: Callable[..., Any]) -> None:
        for holder in holders:
            setattr(holder, name, function)

    put(other)
    return lambda: put(original)


def _find_owner(path: str) -> tuple[Any, str]:
    module, _, name = path.partition(":")
    owner: Any = importlib.import_module(module)
    *classes, name = name.split(".")
    for part in classes:
        owner = getattr(owner, part)
    return owner, name


def _strike(point: Point, site: Site, admin: str) -> None:
    if point.happens == "death":
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        bring_back = _take_database_away(site, admin)
        _await_failures(bring_back, is_deadly=point.happens == "outage, death")


def _take_database_away(site: Site, admin: str) -> Callable[[], None]:
    """Let the database take nothing any more; return what ends that.

    SQLite's disk is full: the kernel lets this process write to no file. PostgreSQL ends every
    connection and takes no other.
    """
    if site.store.path is not None:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)
    shut_database(admin, str(site.store.engine.url.database), is_open=False)
    return lambda: shut_database(admin, str(site.store.engine.url.database), is_open=True)


def shut_database(admin: str, name: str, *, is_open: bool) -> None:
    """Shut a database of a PostgreSQL server to everybody, or open it again."""
    engine = create_engine(
        make_url(admin).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as conn:
        conn.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {str(is_open).lower()}"))
        if not is_open:
            end = text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
            )
            conn.execute(end, {"name": name})
    engine.dispose()


def _await_failures(bring_back: Callable[[], None], *, is_deadly: bool) -> None:
    """Let so many marks fail; the product waits after each."""
    original = Site.wait
    waits = 0

    def wait(self: Site, seconds: float, since: int) -> bool:
        nonlocal waits
        waits += 1
        if waits == _MARKS_THAT_FAIL:
            if is_deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            bring_back()
        return original(self, seconds, since)

    Site.wait = wait  # type: ignore[method-assign]  # for the rest of this process's short life


if __name__ == "__main__":
    _serve()
