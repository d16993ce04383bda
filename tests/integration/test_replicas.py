"""Several replicas over one PostgreSQL: side by side, each at the same thing at the same moment."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from digest.config import load_config
from digest.match.step import match
from digest.plan.step import plan
from digest.poll.step import poll
from digest.serve.configuration import sync_config
from digest.serve.installation import keep_beating, open_site, poll_alone
from digest.serve.steps import run_pass
from digest.site import Site
from digest.store import migrate, open_store
from digest.store.dialect import unpack
from digest.store.engine import current_revision, head_revision
from digest.store.schema import digests, match_runs, matches, subscription_queries
from tests.conftest import IS_NIGHTLY
from tests.integration.web.world import LATER, SUNDAY, World, live_in
from tests.later_release import LATER as LATER_REVISION
from tests.later_release import later_release, write_later_release
from tests.threads import do_together

REPLICAS = 3
SUBSCRIPTIONS = 4
for_the_night = pytest.mark.skipif(
    not IS_NIGHTLY, reason="takes its time: .ci/nightly sets DIGEST_NIGHTLY"
)
MORE = "".join(
    f'\n[[subscriptions]]\nname = "team-{number}"\nfollow = ["perf", "queues"]\n'
    f'to = "mailto:team{number}@example.org"\n'
    for number in range(SUBSCRIPTIONS)
)


@pytest.fixture
def world(tmp_path: Path, postgresql_url: str) -> Iterator[World]:
    """An installation on a database of its own."""
    with live_in(tmp_path) as world:
        store = f'\n[store]\nurl = "{postgresql_url}"\n'
        world.write_config(
            to=("mailto:reader@example.org", "file:feeds/perf.atom"), extra=MORE + store
        )
        file = tmp_path / "digest.toml"
        file.write_text(
            file.read_text().replace("[queries]\n", '[queries]\nqueues = "ti:queues OR ti:tail"\n')
        )
        yield world


@contextmanager
def side_by_side(world: World) -> Iterator[list[Site]]:
    """Open the installation once for each replica."""
    config = load_config(world.folder / "digest.toml", world.environ)
    with ExitStack() as stack:
        sites = [
            open_site(config, world.clock, owner=f"replica {number}", jitter=lambda: 0.5)
            for number in range(REPLICAS)
        ]
        for site in sites:
            stack.callback(site.close)
        sync_config(sites[0])
        yield sites


def told_papers(site: Site) -> dict[int, Counter[int]]:
    """Return by subscription how often each change was matched for it."""
    with site.store.read() as conn:
        rows = conn.execute(select(matches.c.subscription_id, matches.c.changes)).all()
    told: dict[int, Counter[int]] = {}
    for row in rows:
        told.setdefault(row.subscription_id, Counter()).update(unpack(row.changes))
    return told


def test_who_finds_another_asking_arxiv_leaves_it_alone_until_that_one_is_gone(
    world: World,
) -> None:
    with side_by_side(world) as sites, keep_beating(sites[0]), poll_alone(sites[0]) as other:
        assert other == ""
        report = run_pass(sites[1])
        assert report.poll.why_not == "another process, replica 0, is checking arXiv right now"
        assert not report.match.first_digests, "what the other fetches for them is not there yet"
        assert not world.arxiv.requests
        with sites[1].store.begin() as conn:
            conn.execute(text("UPDATE workers SET seen_at = 0 WHERE owner = 'replica 0'"))
        assert run_pass(sites[1]).poll.runs


def test_changes_are_matched_once_and_first_digests_given_once_however_many_match_at_once(
    world: World,
) -> None:
    with side_by_side(world) as sites:
        poll(sites[0])
        do_together(sites, match)
        world.arxiv.add(LATER)
        world.clock.sleep((SUNDAY - world.clock.now()).total_seconds())
        poll(sites[0])
        do_together(sites, match)
        with sites[0].store.read() as conn:
            batches = conn.execute(
                select(func.count()).where(match_runs.c.occasion == "poll")
            ).scalar()
            owed = select(func.count()).where(subscription_queries.c.first_digest_run_id.is_(None))
            assert conn.execute(owed).scalar() == 0
        told = told_papers(sites[0])
        assert len(told) == SUBSCRIPTIONS + 1
        assert all(set(counts.values()) == {1} for counts in told.values()), (
            "two saved queries bring a paper once"
        )
        assert batches == 2


def test_a_digest_is_frozen_once_however_many_plan_it_at_once(world: World) -> None:
    with side_by_side(world) as sites:
        run_pass(sites[0])
        before = len(world.mail.mails)
        world.arxiv.add(LATER)
        world.clock.sleep((SUNDAY - world.clock.now()).total_seconds())
        poll(sites[0])
        match(sites[0])
        reports = do_together(sites, plan)
        for report in reports:
            assert not report.failures
        do_together(sites, run_pass)
        with sites[0].store.read() as conn:
            slots = conn.execute(select(digests.c.subscription_id, digests.c.slot)).all()
            left = conn.execute(select(func.count()).where(matches.c.digest_id.is_(None))).scalar()
        assert len(set(slots)) == len(slots) == 2 * (SUBSCRIPTIONS + 1)
        assert left == 0
        assert len(world.mail.mails) - before == SUBSCRIPTIONS + 1


MIGRATE = (
    "import sys, pathlib\n"
    "from digest.store import migrate, engine as migrating\n"
    "migrating.MIGRATIONS = pathlib.Path(sys.argv[2])\n"
    "migrate(sys.argv[1])\n"
)


def migrate_to_later(url: str, folder: Path) -> str:
    """Bring a database to a later release's tables; return their revision."""
    with later_release(folder):
        return migrate(url).after


def find_revision(url: str) -> str:
    store = open_store(url)
    with store.read() as conn:
        revision = current_revision(conn)
    store.close()
    return revision


@pytest.fixture(params=[pytest.param("sqlite", marks=for_the_night), "postgresql"])
def own_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each kind with every table."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'digest.db'}"
        open_store(url, create=True).close()
        return url
    return str(request.getfixturevalue("postgresql_url"))


def test_a_migration_that_is_killed_leaves_the_tables_as_they_were_and_the_next_one_makes_them(
    own_url: str, tmp_path: Path
) -> None:
    later = write_later_release(tmp_path / "later", 60)
    killed = subprocess.Popen(  # noqa: S603 - our own interpreter, our own words
        [sys.executable, "-c", MIGRATE, own_url, str(later)], stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "half\n"
    killed.kill()
    killed.communicate()
    assert find_revision(own_url) == head_revision()
    assert migrate_to_later(own_url, tmp_path / "later") == LATER_REVISION
