from __future__ import annotations

import gzip
from dataclasses import replace

import feedparser
import pytest
from sqlalchemy import update

from digest.deliver.feeds import load_feed
from digest.serve.steps import run_pass
from digest.store.schema import subscriptions
from digest.store.subscriptions import bump_feed_generation, revoke_feed
from digest.store.subscriptions import load as load_subscriptions
from digest.web import feeds
from tests.integration.web.conftest import ServedSite
from tests.integration.web.world import PAPERS, TO

REPEATED = ("ETag", "Last-Modified", "Cache-Control", "Vary", "Referrer-Policy", "X-Robots-Tag")


@pytest.fixture
def look_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every request look at the store, so that no test waits ten seconds."""
    monkeypatch.setattr(feeds, "CHECK_AGAIN", 0.0)


def test_a_feed_carries_what_matched(shared: ServedSite) -> None:
    answer = shared.http.get(shared.feed_path())
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    read = feedparser.parse(answer.content)
    assert not read.bozo
    assert {entry.title for entry in read.entries} == {paper.title for paper in PAPERS}
    assert read.feed.links[0]["href"] == f"https://localhost:8000{shared.feed_path()}"


def test_a_feed_that_moves_to_another_address_repeats_no_entry(shared: ServedSite) -> None:
    here = shared.site
    elsewhere = replace(
        here,
        config=replace(here.config, web=replace(here.config.web, base_url="https://moved.example")),
    )
    with here.store.read() as conn:
        (due, *_) = load_subscriptions(conn)
        first = load_feed(conn, here, due)
        second = load_feed(conn, elsewhere, due)
    assert first.entries
    assert [entry.id for entry in first.entries] == [entry.id for entry in second.entries]
    assert first.id == second.id


def test_the_head_of_a_feed_is_that_of_the_whole_and_by_tag_nothing_is_sent_but_that(
    shared: ServedSite,
) -> None:
    whole = shared.http.get(shared.feed_path())
    head = shared.http.head(shared.feed_path())
    assert head.status_code == 200
    assert head.content == b""
    for name in (*REPEATED, "Content-Length", "Content-Type"):
        assert head.headers[name] == whole.headers[name]
    tag = {"If-None-Match": f'"other", {whole.headers["ETag"]}'}
    for method in ("GET", "HEAD"):
        again = shared.http.request(method, shared.feed_path(), headers=tag)
        assert again.status_code == 304
        assert again.content == b""
        for name in REPEATED:
            assert again.headers[name] == head.headers[name]


def test_a_packed_feed_has_the_same_tag_and_the_same_bytes_each_time(shared: ServedSite) -> None:
    plain = shared.http.get(shared.feed_path())
    with shared.http.stream(
        "GET", shared.feed_path(), headers={"Accept-Encoding": "gzip"}
    ) as answer:
        packed = b"".join(answer.iter_raw())
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["ETag"] == plain.headers["ETag"]
    assert gzip.decompress(packed) == plain.content
    assert packed == gzip.compress(plain.content, mtime=0)


@pytest.mark.usefixtures("look_always")
def test_a_revoked_feed_is_gone_and_a_new_address_works(served: ServedSite) -> None:
    assert served.http.get(served.feed_path()).status_code == 200
    with served.site.store.begin() as conn:
        (due,) = load_subscriptions(conn, names=["perf-team"])
        revoke_feed(conn, due.id, served.world.clock.now())
    answer = served.http.get(served.feed_path())
    assert answer.status_code == 410
    assert answer.headers["Cache-Control"] == "no-store"
    with served.site.store.begin() as conn:
        generation = bump_feed_generation(conn, due.id)
    assert served.http.get(served.feed_path(generation=generation)).status_code == 200
    assert served.http.get(served.feed_path(generation=0)).status_code == 410


@pytest.mark.usefixtures("look_always")
def test_a_subscription_that_has_ended_or_has_no_feed_any_more_takes_its_feed_along(
    served: ServedSite,
) -> None:
    path = served.feed_path()
    served.world.write_config(to=TO[:1])
    without = served.world.open()
    run_pass(without)
    without.close()
    assert served.http.get(path).status_code == 410


@pytest.mark.usefixtures("look_always")
def test_no_feed_is_handed_out_while_the_database_is_away(served: ServedSite) -> None:
    path = served.feed_path()
    assert served.http.get(path).status_code == 200
    with served.site.store.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE subscriptions RENAME TO lost")
    answer = served.http.get(path)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "30"
    with served.site.store.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE lost RENAME TO subscriptions")


@pytest.mark.usefixtures("look_always")
def test_an_edited_title_does_not_wait_for_a_match_run(
    served: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "KEPT", 1e-6)
    first = served.http.get(served.feed_path())
    assert "Performance" not in first.text
    by_tag = {"If-None-Match": first.headers["ETag"]}
    with served.site.store.begin() as conn:
        conn.execute(update(subscriptions).values(title="Performance"))
    assert "Performance" in served.http.get(served.feed_path(), headers=by_tag).text
