"""A made-up later release.

One revision more than there is, which makes a database of today the older one.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from digest.cli import run_cli
from digest.serve import schedule
from digest.store import engine

LATER = f"{int(engine.head_revision()) + 1:04}"

_REVISION = '''
"""A later release's: two more columns, and one more table."""

import time

from alembic import op

from digest.store import dialect as col

revision, down_revision, branch_labels, depends_on = "{later}", "{head}", None, None


def upgrade():
    op.add_column("digests", col.text("mood", server_default="calm"))
    op.add_column("deliveries", col.number("weight", server_default="0"))
    op.create_table("moods", col.name_key("mood"))
    print("half", flush=True)
    time.sleep({seconds})
'''


def write_later_release(folder: Path, seconds: float = 0) -> Path:
    """Write down the migrations of the later release, which stops in the middle for so long."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(engine.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    later = _REVISION.format(later=LATER, head=engine.head_revision(), seconds=seconds)
    (folder / "versions" / f"{LATER}_later.py").write_text(later)
    return folder


@contextmanager
def later_release(folder: Path) -> Iterator[None]:
    """Be the later release for a while."""
    migrations = write_later_release(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "MIGRATIONS", migrations)
        yield


if (
    __name__ == "__main__"
):  # `python -m tests.later_release FOLDER run`: its command line, as a process of its own
    engine.MIGRATIONS = Path(sys.argv.pop(1))
    defaults = schedule.Schedule.__init__.__kwdefaults__ or {}
    defaults["every"] = {**schedule.EVERY, "plan": 1.0}  # no test waits half a minute for a turn
    sys.exit(run_cli(sys.argv[1:]))
