from __future__ import annotations

import re
import shutil
import signal
import socket
import sqlite3
from contextlib import closing
from datetime import timedelta

import httpx

from digest.plan.links import LinkMaker
from tests.harness.serving import Served, wait_until
from tests.integration.web.world import PAPERS, World

STOPPED_WITHIN = 15.0


def states(world: World) -> dict[str, str]:
    """Return how the deliveries stand, by destination."""
    with sqlite3.connect(world.folder / "digest.db", timeout=10) as connection:
        rows = connection.execute(
            "SELECT destination, state FROM deliveries ORDER BY id"
        ).fetchall()
    connection.close()
    return dict(rows)


def get_metrics(served: Served) -> str:
    return httpx.get(served.lines[0].partition(" · metrics at ")[2].split()[0]).text


def accepts(url: str) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) == 0


def links(world: World) -> LinkMaker:
    with closing(world.open()) as site:
        return world.links(site)


def test_serving_sends_what_is_due_and_hands_out_the_feed(world: World) -> None:
    world.environ["DIGEST_WEB_METRICS_BIND"] = "127.0.0.1:0"
    with world.serve() as served:
        first_lines = " ".join(served.lines[:3])
        assert re.fullmatch(
            r"Serving at http://127\.0\.0\.1:\d+ · metrics at http://127\.0\.0\.1:\d+/metrics"
            r" · next check of arXiv at once"
            r" · next digest: perf-team Sat 21 Nov 02:00 UTC"
            r" · Ctrl-C stops",
            first_lines,
        )
        world.mail.wait_for(2)
        wait_until(lambda: len(world.slack.messages) > 0)
        feed = httpx.get(f"{served.url}/f/{links(world).feed_token('perf-team', 0)}.atom")
        assert feed.status_code == 200
        assert all(paper.id in feed.text for paper in PAPERS)
        tag = {"If-None-Match": feed.headers["ETag"]}
        assert httpx.get(feed.request.url, headers=tag).status_code == 304
        wait_until(lambda: httpx.get(f"{served.url}/readyz").status_code == 200)
        wait_until(lambda: set(states(world).values()) == {"sent"})
        wait_until(
            lambda: (
                'digest_deliveries_total{state="sent",transport="mailto"} 2.0'
                in get_metrics(served)
            )
        )
        code, seconds = served.stop()
    assert code == 0
    assert seconds < STOPPED_WITHIN / 3
    assert served.lines[-1] == "stopped"
    assert "Traceback" not in "\n".join(served.log)


def test_serving_ends_with_a_word_where_its_database_is_replaced_and_sends_nothing_after_it(
    world: World,
) -> None:
    with world.serve() as served:
        world.mail.wait_for(2)
        wait_until(lambda: set(states(world).values()) == {"sent"})
        file = world.folder / "digest.db"
        shutil.copy(file, world.folder / "copy.db")
        file.unlink()
        try:
            assert httpx.get(f"{served.url}/readyz").status_code == 503
        except httpx.TransportError:
            assert served.process.poll() is None, "it takes no more requests while it stops"
        (world.folder / "copy.db").rename(file)
        assert served.process.wait(STOPPED_WITHIN) == 3
        wait_until(
            lambda: any(
                "digest.db was deleted or replaced while it was in use" in line
                for line in served.log
            )
        )
    assert len(world.mail.mails) == 2
    assert "Traceback" not in "\n".join(served.log)


def test_run_beside_serve_says_so_and_does_nothing(world: World) -> None:
    with world.serve() as served:
        done = world.call("run")
        assert done.returncode == 0, done.stderr
        assert f"process {served.process.pid} already works on this database" in done.stdout
        again = world.call("serve")
        assert again.returncode == 3
        assert f"process {served.process.pid} already works on this database" in again.stderr


def test_without_the_web_everything_else_is_done_and_an_edited_file_is_taken_over_on_request(
    world: World,
) -> None:
    with world.serve("--no-web") as served:
        assert served.lines[0].startswith("Working, listening nowhere · ")
        world.mail.wait_for(2)
        file = world.folder / "digest.toml"
        file.write_text(
            file.read_text()
            + '\n[[subscriptions]]\nname = "added"\nfollow = ["perf"]\nto = "feed"\n'
        )
        served.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("digest.toml is in use" in line for line in served.log))
        assert served.stop(signal.SIGINT)[0] == 0
    with sqlite3.connect(world.folder / "digest.db") as connection:
        names = connection.execute(
            "SELECT name FROM subscriptions WHERE state = 'active' ORDER BY name"
        ).fetchall()
    connection.close()
    assert names == [("added",), ("perf-team",)]


def test_a_second_signal_ends_it_at_once(world: World) -> None:
    world.arxiv.faults.add("hang", times=10, seconds=120.0)
    with world.serve() as served:
        wait_until(lambda: bool(world.arxiv.requests))
        served.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not accepts(served.url))
        code, seconds = served.stop()
    assert code == 128 + signal.SIGTERM
    assert seconds < 2


def test_a_healthcheck_sees_that_serving_works_that_it_died_and_that_nothing_runs_any_more(
    world: World,
) -> None:
    def examine(expect: int) -> str:
        done = world.call("doctor", "--quick")
        assert done.returncode == expect, done.stdout
        return done.stdout

    assert world.call("run").returncode == 0
    assert "digest serve" not in examine(0)
    with world.serve("--no-web") as served:
        wait_until(lambda: "`digest serve` is at work" in world.call("doctor", "--quick").stdout)
        served.process.kill()
        served.process.wait(STOPPED_WITHIN)
    with closing(sqlite3.connect(world.folder / "digest.db", timeout=10)) as connection, connection:
        connection.execute("UPDATE workers SET seen_at = seen_at - 200")
    assert re.search(r"✗ work +`digest serve` has given no sign of life for \d min", examine(1))
    with closing(sqlite3.connect(world.folder / "digest.db", timeout=10)) as connection, connection:
        connection.execute("UPDATE workers SET host = 'another'")
    assert "✗" not in examine(0)
    world.clock.sleep(timedelta(days=3).total_seconds())
    assert "the last complete check of arXiv was 3 d" in examine(1)
