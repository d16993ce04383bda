"""One screen: what works, what does not, what comes next."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from digest.cli.status import mark_states
from digest.model.clock import SystemClock
from digest.store import hold_worker, workers
from digest.store.workers import JobTurn, Worker, save_turns
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import NOW, World


def attention(digest: Shell) -> list[str]:
    return [line for line in digest("status").lines if line.startswith("ATTENTION")]


@pytest.mark.usefixtures("world")
def test_the_same_facts_are_had_as_json_in_utc(digest: Shell) -> None:
    facts = digest("status", "--json").json
    assert facts["now"] == "2026-11-20T08:20:00+00:00"
    assert facts["troubles"][0]["remedy"] == "digest delivery show 10"
    assert (facts["intake"]["is_complete"], facts["intake"]["looked_at"]) == (True, 20)
    assert facts["next_mailing"] == "2026-11-22"
    assert facts["outbox"]["counts"] == {"dead": 2, "sent": 8}
    lines = {line["name"]: line for line in facts["subscriptions"]}
    assert lines["perf-mail"]["state"] == "paused"
    assert lines["perf-mail"]["waiting"] == 7
    assert [(day["day"], day["papers"]) for day in lines["gpu-mail"]["days"]] == [
        ("2026-11-11", 1),
        ("2026-11-20", 4),
    ]


@pytest.mark.usefixtures("empty")
def test_a_database_without_a_run_shows_what_the_file_names_and_what_to_do(digest: Shell) -> None:
    digest("db", "migrate")
    said = digest("status")
    assert said.lines[0] == "ATTENTION  arXiv has not been looked at completely yet  → digest run"
    assert (
        "arXiv      not looked at yet: `digest run` takes the first look · harvest, breaker closed" in said.lines
    )
    assert "takes over: query perf, query gpu, query follow, query broken," in said.out


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (["sent"], "✓"),
        (["sent", "superseded"], "✓"),
        (["suppressed", "sent"], "✓ in part, the rest not sent"),
        (["sent", "dead", "unknown"], "✓ in part, the rest dead, in doubt"),
        (["sending", "claimed"], "on its way"),
        (["held"], "held"),
        ([], ""),
    ],
)
def test_what_came_of_the_last_digest_is_said_in_a_few_words(states: list[str], words: str) -> None:
    assert mark_states(states) == words


def test_an_edit_of_the_file_is_told_until_a_run_takes_it_over(world: World, digest: Shell) -> None:
    world.edit_config('perf = "cat:cs.PF"', 'perf = "cat:cs.PF OR cat:cs.AR"')
    world.edit_config('broken = "ti:(gpu OR"', 'fresh = "ti:gpu"')
    world.edit_config('"broken"', '"fresh"')
    drift = "query perf, query fresh, subscription gpu-static, query broken."
    for command in (["status"], ["query", "list"], ["subscription", "list"]):
        assert digest(*command).out.count(f"takes over: {drift}") == 1
    digest("run")
    assert "takes over" not in digest("status").out


def test_a_server_that_refuses_for_now_needs_attention_with_the_reason(world: World, digest: Shell) -> None:
    world.mail.script.reply("RCPT", "451 4.3.0 try later", times=9, match="reader@digest.example")
    world.clock.set(datetime(2026, 11, 23, 8, 40, tzinfo=UTC))
    world.arxiv.replace("2611.15012", comment="now with a second half")
    world.clock.set(datetime(2026, 11, 24, 8, 40, tzinfo=UTC))
    digest("run", expect=4)  # the delivery to old@ dies again
    (line,) = (line for line in attention(digest) if "reader@" in line)
    assert line.startswith("ATTENTION  1 delivery to reader@digest.example has failed so far (planned 0 s ago): ")
    assert "451" in line
    assert "→ digest run tries again; see digest delivery show" in line
    assert re.search("ready 1 · .* · oldest due: none yet", digest("status").out)
    world.clock.set(datetime(2026, 11, 24, 20, 40, tzinfo=UTC))
    assert any("reader@" in line and "has been waiting since" in line for line in attention(digest))


def test_an_arxiv_that_fails_or_asks_for_a_pause_needs_attention(world: World, digest: Shell) -> None:
    world.arxiv.faults.add("403", times=9)
    said = digest("run", "--now", expect=4)
    assert not [line for line in said.err.splitlines() if line.startswith((" compare ", " match "))]
    assert "403" in said.err
    assert "`digest delivery list`" not in said.err, "that lists messages"
    assert "`digest status` says how all stands" in said.err
    (line,) = (line for line in attention(digest) if "arXiv" in line)
    assert line.startswith("ATTENTION  arXiv is left alone for 4 h: it blocks this client (403)  → check [arxiv]")
    assert line.endswith("; digest run tries again then"), "and that the look failed is not told beside it"
    assert "breaker open for 4 h" in digest("status").out
    world.clock.sleep(5 * 3600)
    (line,) = (line for line in attention(digest) if "arXiv" in line)
    assert "the last look at arXiv failed: " in line
    assert line.endswith("→ digest run tries again")


def test_days_without_a_complete_look_need_attention(world: World, digest: Shell) -> None:
    world.clock.set(NOW + timedelta(days=4))
    lines = attention(digest)
    assert any(
        line.startswith("ATTENTION  the last complete look at arXiv was 4 days ago  → digest run, from cron")
        for line in lines
    )
    assert "mailing of Mon 23 Nov: not complete yet, last looked Fri 03:05 ET" in digest("status").out


def test_many_stuck_deliveries_are_told_by_destination_and_no_more_than_five(world: World, digest: Shell) -> None:
    store = world.open_store()
    with store.begin() as conn:
        for number in range(7):
            columns = (
                "digest_id, part, parts, not_before, attempts, token, owner, name, remote_address,"
                " remote_id, created_at, share, replaces"
            )
            conn.exec_driver_sql(
                f"INSERT INTO deliveries (destination, state, idempotency_key, last_error, {columns})"
                f" SELECT 'mailto:r{number}@digest.example', 'held', 'key-{number}', 'nobody can tell', {columns}"
                " FROM deliveries WHERE id = 10"
            )
    store.close()
    held = [line for line in attention(digest) if "held" in line]
    assert len(held) == 6
    assert held[0].startswith("ATTENTION  1 delivery to r6@digest.example is held: nobody can tell  → ")
    assert held[-1] == "ATTENTION  2 more deliveries are held  → digest delivery list --state held"


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who holds a lock")
def test_the_process_at_work_is_named_and_not_disturbed(world: World, digest: Shell) -> None:
    store = world.open_store()
    with hold_worker(store):
        with store.begin() as conn:
            workers.sign(conn, Worker("lab1:x", "9.1", "lab1", os.getpid(), SystemClock().now()))
        (line,) = (line for line in digest("status").lines if line.startswith("Workers"))
        assert re.fullmatch(
            rf"Workers    lab1:{os.getpid()} at work since .*, release 9\.1, last sign \d+ s ago", line
        )
        assert [worker["pid"] for worker in digest("status", "--json").json["workers"]] == [os.getpid()]
        assert "already" in digest("run").out
        with store.begin() as conn:
            workers.sign_off(conn, "lab1:x")
    assert "at work" not in digest("status").out
    store.close()


def test_why_a_process_is_not_ready_is_said(world: World, digest: Shell) -> None:
    store, now = world.open_store(), SystemClock().now()
    began = now - timedelta(hours=5)
    turns = [
        JobTurn("poll", began_at=began),
        JobTurn("watch", 7, 1, 0, began, now, None, "StoreError"),
        JobTurn("plan", began_at=now),
    ]
    with hold_worker(store):
        with store.begin() as conn:
            workers.sign(conn, Worker("lab1:x", "9.1", "lab1", os.getpid(), began))
            save_turns(conn, "lab1:x", turns)
        said = [line.partition("  →")[0] for line in attention(digest) if "the job " in line]
    assert said == [
        "ATTENTION  the job poll has been at the same turn for 300 min",
        "ATTENTION  the job watch failed last time: StoreError",
    ]
    store.close()
