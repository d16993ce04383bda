"""What messages are made from is read once for many, and kept no longer than there is room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from digest.deliver.dispatch import deliver
from digest.deliver.step import Drawer
from digest.match.step import match
from digest.model.errors import StoreError, UnknownName
from digest.model.messages import Delivery
from digest.plan.step import plan
from digest.poll.installation import Site
from digest.poll.step import poll
from digest.serve.configuration import sync_roster
from digest.store import digests as digest_store
from digest.store import views
from tests.integration.web.world import live_in

READERS = 5
SECOND = '\n[[subscriptions]]\nname = "second"\nqueries = ["perf"]\nto = "mailto:second@example.org"\n'


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """An installation whose outbox holds a digest for several readers, and one for another."""
    with live_in(tmp_path) as world:
        world.write_config(to=tuple(f"mailto:reader-{n}@example.org" for n in range(READERS)), extra=SECOND)
        site = world.open()
        sync_roster(site)
        poll(site)
        match(site)
        plan(site)
        yield site
        site.close()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Which digests were read."""
    read: list[int] = []
    load = digest_store.load_digest

    def load_noted(conn: Any, id_: int) -> Any:  # noqa: ANN401 - passed on
        read.append(id_)
        return load(conn, id_)

    monkeypatch.setattr(digest_store, "load_digest", load_noted)
    return read


def waiting(site: Site) -> list[Delivery]:
    with site.store.read() as conn:
        return [stored.delivery for stored in views.list_deliveries(conn)]


def test_a_pass_reads_a_digest_once_however_many_it_goes_to(site: Site, reads: list[int]) -> None:
    assert deliver(site).total == READERS + 1
    assert len(reads) == len(set(reads)) == 2


def test_a_full_drawer_gives_up_what_was_used_least_recently(site: Site, reads: list[int]) -> None:
    one, *_, other = sorted(waiting(site), key=lambda delivery: delivery.digest_id)
    drawer = Drawer(site, most=1)
    assert drawer.take(one)[0].id == drawer.take(one)[0].id == one.digest_id
    assert drawer.take(other)[0].id == other.digest_id
    assert drawer.take(one)[0].id == one.digest_id
    assert reads == [one.digest_id, other.digest_id, one.digest_id]


def test_what_cannot_be_read_beforehand_is_said_to_whoever_needs_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, *_, other = sorted(waiting(site), key=lambda delivery: delivery.digest_id)
    drawer, load = Drawer(site), digest_store.load_digest

    def load_some(conn: Any, id_: int) -> Any:  # noqa: ANN401 - passed on
        if id_ == other.digest_id:
            raise UnknownName(f"there is no digest {id_}")
        return load(conn, id_)

    monkeypatch.setattr(digest_store, "load_digest", load_some)
    drawer.fill([one, other])
    assert drawer.take(one)[0].id == one.digest_id
    with pytest.raises(UnknownName, match="no digest"):
        drawer.take(other)
    site.store.close()
    monkeypatch.setattr(site.store, "read", _away)
    drawer.fill([other])
    with pytest.raises(StoreError):
        drawer.take(other)


def _away() -> Any:  # noqa: ANN401 - never returns
    raise StoreError("the database is away")
