"""What every test shares: how hypothesis draws, and that nothing of the surroundings leaks in."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Connection, Engine, event
from sqlalchemy.util import LRUCache

from digest.model.clock import RemoteClock
from tests.fakes.arxiv import RUNNING

settings.register_profile(
    "suite", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "nightly", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("DIGEST_HYPOTHESIS", "suite"))

_MEMORY = Path("/dev/shm")  # noqa: S108 - every folder below it has a name of its own
_ENOUGH = 4 * 2**30
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH:  # no test waits for a disk
    tempfile.tempdir = os.environ["TMPDIR"] = str(_MEMORY)

os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # each process a test starts would compile all modules anew
sys.dont_write_bytecode = False

IS_NIGHTLY = bool(os.environ.get("DIGEST_NIGHTLY"))
"""Whether there is time for stories with thousands of papers, and for every fault.

`.ci/nightly` sets it.
"""

_FOR_THE_NIGHT = (
    "integration/*_real_papers.py",
    "integration/test_faults_*.py",
    "integration/test_politeness.py",
    "integration/test_standing_in.py",
)
_BY_NAME_ALONE = ("browser",)
"""What needs more than Python: collected where its path is given, as `.ci/browser` does."""

collect_ignore_glob = [*_BY_NAME_ALONE, *(() if IS_NIGHTLY else _FOR_THE_NIGHT)]

_KEPT = {"DIGEST_REAL_DATA", "DIGEST_HYPOTHESIS", "DIGEST_WHEEL"}


class _Compiled(LRUCache[Any, Any]):
    """Compiled statements by the kind of database.

    An engine would compile its own, and tests open thousands.
    """

    def get(self, key: Any, default: Any = None) -> Any:  # noqa: ANN401 - SQLAlchemy's
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, value: Any) -> None:  # noqa: ANN401 - the same
        super().__setitem__((key[0].name, *key[1:]), value)


_COMPILED = _Compiled(4000)


@event.listens_for(Engine, "engine_connect")
def _share_compiled(connection: Connection) -> None:
    connection.execution_options(compiled_cache=_COMPILED)


_compile_template = jinja2.Environment.compile
_TEMPLATES: dict[tuple[object, ...], CodeType] = {}


def _compile_once(
    self: jinja2.Environment, source: str, name: str | None = None, filename: str | None = None
) -> CodeType:
    """Compile each template once.

    An installation would compile its own, and tests open hundreds.
    """
    key = (self.autoescape, self.finalize, source, name, filename)
    if key not in _TEMPLATES:
        _TEMPLATES[key] = _compile_template(self, source, name, filename)
    return _TEMPLATES[key]


jinja2.Environment.compile = _compile_once  # type: ignore[method-assign, assignment]  # same use


_ask_over_http = RemoteClock._ask


def _ask_clock(self: RemoteClock, query: str, method: str = "GET") -> datetime:
    """Ask a clock of this process by a call.

    A command asks it a dozen times, and a thread would answer.
    """
    arxiv = RUNNING.get(self._url)
    if arxiv is None:
        return _ask_over_http(self, query, method)
    return datetime.fromisoformat(arxiv.ask_clock(query.removeprefix("?advance="))["now"])


RemoteClock._ask = _ask_clock  # type: ignore[method-assign]  # the same, only nearer


def pytest_collection_finish() -> None:
    """Keep the thousands of tests out of every later look for garbage."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew and show what changed",
    )


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Engine]:
    """One PostgreSQL for the session."""
    from tests.postgres_servers import quick_server  # noqa: PLC0415 - most tests need none

    with quick_server() as admin:
        yield admin


@pytest.fixture(scope="session", autouse=True)
def _no_state_from_outside(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what is kept without a store away from what the machine's own commands have left."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the machine's own settings and proxies away from what is tested."""
    for name in list(os.environ):
        is_ours = name.startswith("DIGEST_") and name not in _KEPT
        if is_ours or name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_log_left_to_the_next() -> Iterator[None]:
    """Take back the place for log lines that a command run in this process set up.

    It is closed with its test.
    """
    root = logging.getLogger()
    level = root.level
    yield
    for handler in [one for one in root.handlers if type(one).__module__.startswith("digest.")]:
        root.removeHandler(handler)
    root.setLevel(level)
