"""The upgrade from the release before while it sends, with that release's own code from the project's history."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from digest.store import migrating
from tests.battery.database_world import DATABASE, ROOT, open_world

_BEFORE, _NEWEST = "0008", "0009"
"""The release before's revision, and the one whose first commit ends it."""

_PARTS = ("digest", "templates", "pyproject.toml", "README.md")


def upgrade_under_load(folder: Path) -> bool:
    """Upgrade beneath two replicas of the release before that send, and replace them one by one.

    Returns:
        Whether nothing was lost, nothing came twice, and nobody ended by itself.
    """
    before = unpack_release_before(folder / "before")
    if before is None:
        print("upgrade: the history does not reach back to the release before, so it was not tried")  # noqa: T201 - a command
        return False
    old = {"PYTHONPATH": str(before)}
    with open_world(folder, 3, standby=False, of_before=True) as world:
        for _ in range(2):
            world.add_replica(old)
        first = world.begin_wave()
        arrived = [world.end_wave(first)]
        revision = world.primary.do("SELECT version_num FROM alembic_version", DATABASE)[0][0]
        second = world.begin_wave()
        world.await_first(second, 0.2)
        begun = time.monotonic()
        report = _migrate(world.primary.url(DATABASE))
        took = time.monotonic() - begun
        new = {"PYTHONPATH": str(ROOT)}
        codes = [replica.restart(new) for replica in world.replicas]
        arrived.append(world.end_wave(second))
        third = world.begin_wave()
        arrived.append(world.end_wave(third))
        exits = world.find_exits()
        again = world.count([*first, *second, *third])
        codes += [replica.stop() for replica in world.replicas]
    lost = [place for wave in arrived for place in wave.lost]
    doubled = [place for place, count in again.items() if count > 1]
    print(f"upgrade from revision {revision} to {report} in {took:.1f} s beneath two replicas that sent")  # noqa: T201
    print(f"  messages {len(again)}, lost {len(lost)}, doubled {len(doubled)}, exits {len(exits)}, codes {codes}")  # noqa: T201
    return revision == _BEFORE and report == _NEWEST and not (lost or doubled or exits) and set(codes) == {0}


def unpack_release_before(folder: Path) -> Path | None:
    """Unpack the last commit before the newest revision; None where the history does not have it."""
    versions = f"digest/store/migrations/versions/{migrating.head_revision()}_*.py"
    added = _git("log", "--diff-filter=A", "--format=%H", "--", versions).decode().split()
    if not added:
        return None
    try:
        # The last of them: before the first release, revisions were numbered anew once.
        packed = _git("archive", f"{added[0]}^", *_PARTS)
    except subprocess.CalledProcessError:
        return None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def _migrate(url: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own interpreter, our own words
        [
            sys.executable,
            "-c",
            "import sys; from digest.store import migrate; print(migrate(sys.argv[1]).after)",
            url,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr[-800:]


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603, S607 - its own name
