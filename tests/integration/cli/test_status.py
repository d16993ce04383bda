"""One screen: what works, what does not, what comes next."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.cells import cell_len

from digest.cli.status import mark_states
from digest.model.clock import SystemClock
from digest.model.said import Said
from digest.store import lock_worker, workers
from digest.store.workers import JobTurn, Worker
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import NOW, World


def list_problems(digest: Shell) -> list[tuple[str, str]]:
    """Return what the screen calls a problem, each with what to do."""
    return [(one["what"], one["remedy"]) for one in digest("status", "--json").json["troubles"]]


@pytest.mark.usefixtures("world")
def test_the_same_facts_are_had_as_json_in_utc(digest: Shell) -> None:
    facts = digest("status", "--json").json
    assert facts["here"]["now"] == "2026-11-20T08:20:00+00:00"
    assert facts["summary"] == "2 messages failed. 1 other problem."
    assert "`digest delivery retry --failed`" in facts["troubles"][0]["remedy"]
    assert (facts["intake"]["is_complete"], facts["intake"]["compared"]) == (True, 20)
    assert facts["next_announcement"] == "2026-11-22"
    assert facts["outbox"]["counts"] == {"dead": 2, "sent": 11}
    lines = {line["settings"]["name"]: line for line in facts["subscriptions"]}
    assert lines["perf-mail"]["state"] == "paused"
    assert (lines["perf-mail"]["waiting"], lines["perf-mail"]["settings"]["queries"]) == (
        7,
        ["perf"],
    )
    assert lines["perf-mail"]["volume"] == "about 4 papers a week"
    assert [(day["day"], day["papers"]) for day in lines["gpu-mail"]["days"]] == [
        ("2026-11-11", 1),
        ("2026-11-20", 4),
    ]


@pytest.mark.usefixtures("empty")
def test_a_database_that_a_run_had_only_begun_is_said_to_be_made_by_the_next(digest: Shell) -> None:
    Path("digest.db").touch()
    assert "`digest run` makes them" in digest("status", expect=3).err
    digest("run", expect=4)
    digest("status")


@pytest.mark.usefixtures("empty")
def test_a_database_without_a_run_shows_what_the_file_names_and_what_to_do(digest: Shell) -> None:
    digest("db", "migrate")
    said = digest("status")
    assert said.lines[0] == "2 problems."
    assert list_problems(digest)[1:] == [
        ("arXiv was never checked completely", "`digest run --now` checks it.")
    ]
    assert "takes over: query perf, query gpu, query follow, subscription" in said.out


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (["sent"], "sent"),
        (["suppressed", "sent"], "sent in part, not sent"),
        (["sent", "dead", "unknown"], "sent in part, failed, may have arrived"),
        (["sending", "claimed"], "sending"),
        (["held"], "needs you"),
        ([], ""),
    ],
)
def test_what_came_of_the_last_digest_is_said_in_a_few_words(states: list[str], words: str) -> None:
    assert mark_states(states) == words


def test_an_edit_of_the_file_is_told_until_a_run_takes_it_over(world: World, digest: Shell) -> None:
    world.edit('perf = "cat:cs.PF"', 'perf = "cat:cs.PF OR cat:cs.AR"')
    world.edit('broken = "ti:(gpu OR"', 'fresh = "ti:gpu"')
    world.edit('"broken"', '"fresh"')
    drift = "query perf, query fresh, subscription gpu-static, query broken."
    for command in (["status"], ["query", "list"], ["subscription", "list"]):
        assert digest(*command).out.count(f"takes over: {drift}") == 1
    digest("run")
    assert "takes over" not in digest("status").out


def test_an_edit_that_cannot_be_read_is_a_problem_before_a_run_and_not_taken_over(
    world: World, digest: Shell
) -> None:
    world.edit('perf = "cat:cs.PF"', 'perf = "abs:(=news OR"')
    world.edit('gpu = "ti:GPU OR abs:GPU"', 'gpu = "cat:cs.CVV"')
    for command in (["status"], ["run", "--dry-run"]):
        said = " ".join(digest(*command).out.split())
        assert (
            "saved query perf can't be read: OR has nothing after it; the text before stays in use"
            in said
        )
        assert "saved query gpu brings nothing: 'cs.CVV' is not a category of arXiv" in said
        assert "takes over: query gpu." in said


def test_nothing_goes_out_with_an_announcement_before_the_check_that_finds_it(
    world: World, digest: Shell
) -> None:
    world.edit("daily at 07:30 Europe/Berlin", "on announcement")
    world.clock.set(datetime(2026, 11, 22, 23, 0, tzinfo=UTC))
    digest("run")
    facts = digest("status", "--json").json
    lists = (facts["subscriptions"], digest("subscription", "list", "--json").json["subscriptions"])
    shown = digest("subscription", "show", "gpu-mail", "--json").json["subscription"]
    lines = [
        *(one for each in lists for one in each if one["settings"]["name"] == "gpu-mail"),
        shown,
    ]
    assert [one["next_due_at"] for one in lines] == [facts["next_poll_at"]] * 3
    digest("subscription", "pause", "gpu-mail")
    said = digest("subscription", "resume", "gpu-mail").out
    assert (
        said.removeprefix("gpu-mail goes on. Its next digest: ").rstrip(".\n")
        in digest("subscription", "list").out
    )


def test_a_server_that_refuses_for_now_needs_attention_with_the_reason(
    world: World, digest: Shell
) -> None:
    world.mail.script.reply("RCPT", "451 4.3.0 try later", times=9, match="reader@digest.example")
    world.clock.set(datetime(2026, 11, 23, 8, 40, tzinfo=UTC))
    world.arxiv.replace("2611.15012", comment="now with a second half")
    world.clock.set(datetime(2026, 11, 24, 8, 40, tzinfo=UTC))
    digest("run", expect=4)  # the delivery to old@ dies again
    ((what, remedy),) = (one for one in list_problems(digest) if "reader@" in one[0])
    assert re.match("1 message to reader@digest.example has been waiting since today 09:40: ", what)
    assert "451" in what
    assert re.fullmatch(
        r"The next try is from .* on\. Sooner: `digest delivery retry \d+`\.", remedy
    )
    assert re.search(", 1 waiting$", digest("status").out, re.MULTILINE), (
        "old@ is paused, and needs nobody"
    )
    assert " waiting " in digest("delivery", "list", "--state", "waiting").out
    assert "retrying" not in digest("delivery", "list").out
    world.clock.set(datetime(2026, 11, 24, 20, 40, tzinfo=UTC))
    ((what, _),) = (one for one in list_problems(digest) if "reader@" in one[0])
    assert "has been waiting since today 09:40: " in what, (
        "which says why, and that it waits is not said beside it"
    )


def test_an_arxiv_that_fails_or_asks_for_a_pause_needs_attention(
    world: World, digest: Shell
) -> None:
    world.arxiv.faults.add("403", times=9)
    said = digest("run", "--now", expect=4)
    assert not [line for line in said.err.splitlines() if line.startswith((" compare ", " match "))]
    assert "403" in said.err
    assert "`digest delivery list`" not in said.err, "that lists messages"
    assert "`digest status` says what needs you" in said.err
    (problem,) = (one for one in list_problems(digest) if "arXiv" in one[0])
    assert problem == (
        "arXiv is not asked for 4 h: it blocks this client (403)",
        "Check that `arxiv.contact` is an address of yours, then wait. `digest run` tries again.",
    ), "and that the check failed is not said beside it"
    world.clock.sleep(5 * 3600)
    ((what, remedy),) = (one for one in list_problems(digest) if "arXiv" in one[0])
    assert "the last check of arXiv failed: " in what
    assert remedy == "`digest run --now` tries again."


def test_days_without_a_complete_check_are_a_problem(world: World, digest: Shell) -> None:
    world.clock.set(NOW + timedelta(days=4))
    what = "the last complete check of arXiv was 4 days ago"
    remedy = "Call `digest run` from cron, or keep"
    ((told, todo),) = (one for one in list_problems(digest) if "arXiv" in one[0] or "due" in one[0])
    assert told.startswith(f"{what}; digests are due and not planned, that of gpu-mail since ")
    assert told.endswith("; the announcement of Sun 22 Nov was not checked")
    assert todo.startswith(remedy), "and no log is named where there is none"
    assert "Last check Fri 09:05, next digest: due, with the next run." in digest("status").out
    assert (
        "announcement of Mon 23 Nov: not checked yet, last check Fri 09:05" in digest("status").out
    )


def test_stuck_deliveries_are_told_by_cause(world: World, digest: Shell) -> None:
    store = world.open_store()
    with store.begin() as conn:
        for number in range(5):
            columns = (
                "digest_id, part, parts, not_before, attempts, token, owner, name, remote_address,"
                " remote_id, created_at, share"
            )
            place = f"r{number}@digest.example"
            why = f"no room for {place}" if number < 4 else "nobody can tell"
            why = Said.plain(why).dump()
            conn.exec_driver_sql(
                "INSERT INTO deliveries"
                f" (destination, state, idempotency_key, last_error, {columns})"
                f" SELECT 'mailto:{place}', 'held', 'key-{number}', '{why}', {columns}"
                " FROM deliveries WHERE id = 10"
            )
    store.close()
    other, cause = (one for one in list_problems(digest) if "need" in one[0])
    places = ", ".join(f"r{number}@digest.example" for number in (3, 2, 1))
    assert other[0] == "1 message to r4@digest.example needs you: nobody can tell"
    assert cause[0] == f"4 messages to {places} and 1 more need you: no room for r3@digest.example"
    assert cause[1].endswith("`digest delivery retry --held`.")


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who holds a lock")
def test_the_process_at_work_is_named_and_not_disturbed(world: World, digest: Shell) -> None:
    store = world.open_store()
    with lock_worker(store):
        with store.begin() as conn:
            workers.save(conn, Worker("lab1:x", "9.1", "lab1", os.getpid(), SystemClock().now()))
        (line,) = (line for line in digest("status").lines if line.startswith("Process"))
        assert re.fullmatch(
            rf"Process    lab1:{os.getpid()} at work since .*, release 9\.1, last sign \d+ s ago",
            line,
        )
        assert [worker["pid"] for worker in digest("status", "--json").json["workers"]] == [
            os.getpid()
        ]
        assert "already" in digest("run").out
        with store.begin() as conn:
            workers.remove(conn, "lab1:x")
    assert "at work" not in digest("status").out
    store.close()


def test_why_a_process_is_not_ready_is_said(world: World, digest: Shell) -> None:
    store = world.open_store()
    now = SystemClock().now()
    began = now - timedelta(hours=5)
    turns = [
        JobTurn("poll", began_at=began),
        JobTurn("watch", 7, began, now, Said.plain("StoreError")),
        JobTurn("plan", began_at=now),
    ]
    with lock_worker(store):
        with store.begin() as conn:
            workers.save(conn, Worker("lab1:x", "9.1", "lab1", os.getpid(), began))
            workers.save_turns(conn, "lab1:x", turns)
        said = [what for what, _ in list_problems(digest) if "the job " in what]
    assert said == [
        "the job poll does not end: 300 min so far",
        "the job watch failed last time: StoreError",
    ]
    store.close()


@pytest.mark.parametrize("troubled", [False, True])
def test_the_screen_fits_a_terminal_of_80_columns_and_24_lines_however_much_there_is(
    world: World,
    digest: Shell,
    monkeypatch: pytest.MonkeyPatch,
    troubled: bool,  # noqa: FBT001 - a parameter
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    world.edit('broken = "ti:(gpu OR"', f'broken = "ti:{"(gpu OR" if troubled else "gpu"}"')
    more = (
        f'\n[[subscriptions]]\nname = "a-team-with-a-name-{number}"\nfollow = ["gpu"]\n'
        f'to = ["mailto:t{number}@digest.example", "mailto:u{number}@digest.example"]\n'
        for number in range(30)
    )
    world.edit('to = "file:feeds/gpu.atom"\n', 'to = "file:feeds/gpu.atom"\n' + "".join(more))
    world.mail.script.reply(
        "RCPT", "550 5.1.1 no such user", times=99, match="t1" if troubled else "nobody"
    )
    digest("delivery", "cancel", "4", "13")
    if troubled:
        world.mail.script.drop("END", times=9)
    said = digest("run", expect=4 if troubled else 0)
    if troubled:
        error = said.err.splitlines()[-2]
        assert error.count("5.1.1 no such user") == error.count("the connection broke") == 1
        assert (
            "mailto:t10@digest.example, mailto:t11@digest.example and 8 more: the mail server"
            in error
        )
        states = [
            set(one["last_states"]) for one in digest("status", "--json").json["subscriptions"]
        ]
        assert {"dead", "unknown"} in states, "which is said in many words"
        world.edit('name = "a-team-with', 'name = "another-team-with')
    lines = digest("status").lines
    assert len(lines) <= 24
    assert max(map(cell_len, lines)) <= 80
    assert lines[0].startswith("All is well." if not troubled else "11 messages failed.")
    assert any("more: `digest subscription list`" in line for line in lines)
    assert len(digest("status", "--all").lines) > 30
