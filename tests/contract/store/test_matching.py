"""What is found is matched once, even if others match or edit saved queries at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from digest.config import load_config
from digest.match import step
from digest.match.rules import match_changes
from digest.match.step import match
from digest.model.announcements import StoredChange
from digest.model.clock import ManualClock
from digest.model.subscriptions import FILE, ActiveRevision, QueryOutcome
from digest.query import PaperIndex
from digest.serve.installation import open_site
from digest.site import Site
from digest.store import Store, papers, queries, subscriptions
from digest.store.dialect import unpack
from digest.store.papers import MATCHED
from digest.store.schema import match_runs, matches
from tests.contract.store.made import NOW, make_paper, make_subscription, store_papers, subscribe


@pytest.fixture
def site(store: Store, tmp_path: Path) -> Iterator[Site]:
    """An installation on the store, with a subscription to what has `tail` in it.

    Its first digest is owed.
    """
    file = tmp_path / "digest.toml"
    file.write_text(
        f'[arxiv]\ncontact = "ops@example.org"\n[store]\nurl = "sqlite:///{tmp_path}/other.db"\n'
    )
    subscribe(store, make_subscription(queries=("tail",)))
    site = open_site(load_config(file, {}), ManualClock(NOW), owner="test", jitter=lambda: 0.5)
    with closing(site), closing(site.store):
        site.store = store
        yield site


def interrupt(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[int]:
    """Let something happen once, after matches are worked out and before they are kept.

    Returns:
        how many changes were looked at, each time matches are worked out.
    """
    looked_at: list[int] = []

    def work_out(
        changes: Sequence[StoredChange], revisions: Collection[ActiveRevision], index: PaperIndex
    ) -> dict[int, QueryOutcome]:
        outcomes = match_changes(changes, revisions, index)
        looked_at.append(len(changes))
        if len(looked_at) == 1:
            act()
        return outcomes

    monkeypatch.setattr(step, "match_changes", work_out)
    return looked_at


def list_matched(store: Store) -> list[int]:
    """Return the changes that were matched for any subscription, as often as they were."""
    with store.read() as conn:
        in_order = select(matches.c.changes).order_by(matches.c.match_run_id)
        matched: list[int] = []
        for packed in conn.execute(in_order).scalars():
            matched += unpack(packed)
        return matched


def test_who_finds_everything_matched_meanwhile_keeps_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = store_papers(site.store, [make_paper(1), make_paper(2)])
    looked_at = interrupt(monkeypatch, lambda: match(site, first_digests=False))
    assert match(site, first_digests=False).changes == 0
    assert looked_at == [2, 2]
    assert list_matched(site.store) == [change.id for change in found]
    with site.store.read() as conn:
        assert papers.load_mark(conn, MATCHED) == found[-1].id
        assert len(conn.execute(select(match_runs)).all()) == 1


def test_an_edit_of_a_saved_query_meanwhile_is_worked_out_too(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = store_papers(site.store, [make_paper(1), make_paper(2, title="Clocks")])

    def edit() -> None:
        with site.store.begin() as conn:
            queries.sync(conn, {"tail": ("ti:clocks", "ti:clocks", "")}, FILE, NOW)

    looked_at = interrupt(monkeypatch, edit)
    assert match(site, first_digests=False).changes == 2
    assert looked_at == [2, 2]
    assert list_matched(site.store) == [found[1].id]


def test_an_edit_while_matches_are_kept_waits_for_them(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    if site.store.dialect != "postgresql":
        pytest.skip("nobody else writes to SQLite meanwhile")
    (found,) = store_papers(site.store, [make_paper(1)])

    def edit() -> None:
        with site.store.begin() as conn:
            queries.sync(conn, {"tail": ("ti:clocks", "ti:clocks", "")}, FILE, NOW)

    editing = threading.Thread(target=edit)
    load_followers = subscriptions.load_followers

    def keep(conn: Connection, queries: Collection[int]) -> list[int]:
        editing.start()
        return load_followers(conn, queries)

    monkeypatch.setattr("digest.store.subscriptions.load_followers", keep)
    assert match(site, first_digests=False).changes == 1
    editing.join(30)
    assert list_matched(site.store) == [found.id]
    with site.store.read() as conn:
        assert [(one.text, one.active_from_change) for one in queries.active_revisions(conn)] == [
            ("ti:clocks", found.id)
        ]


def test_a_query_saved_meanwhile_is_held_against_all_that_was_not_matched(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = store_papers(site.store, [make_paper(1)])

    def save() -> None:
        with site.store.begin() as conn:
            both = {"tail": ("all:tail", "all:tail", ""), "other": ("ti:latency", "ti:latency", "")}
            queries.sync(conn, both, FILE, NOW)

    interrupt(monkeypatch, save)
    assert match(site, first_digests=False).by_query == {"tail": 1, "other": 1}
    assert list_matched(site.store) == [found.id]


def test_what_is_found_meanwhile_comes_next(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = store_papers(site.store, [make_paper(1)])
    looked_at = interrupt(monkeypatch, lambda: store_papers(site.store, [make_paper(2)]))
    assert match(site, first_digests=False).changes == 2
    assert looked_at == [1, 1]
    assert list_matched(site.store) == [first[0].id, first[0].id + 1]


def test_others_write_while_matches_are_worked_out(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_papers(site.store, [make_paper(1)])
    held: list[int] = []

    def write() -> None:
        with site.store.begin() as conn:
            held.append(papers.load_mark(conn, MATCHED, lock=True))

    interrupt(monkeypatch, write)
    assert match(site, first_digests=False).changes == 1
    assert held == [0]
