"""The outbox: list, show, retry, mark-sent, cancel."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from digest.store import workers
from digest.store.workers import JobTurn, Worker
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World


@pytest.mark.usefixtures("world")
def test_the_list_can_be_had_by_state(digest: Shell) -> None:
    lines = digest("delivery", "list", "--state", "failed", "--state", "needs-you").lines[1:3]
    assert [line.split()[0] for line in lines] == ["13", "4"]
    assert digest("delivery", "list", "--state", "needs-you").out == "No delivery: needs-you.\n"
    assert digest("delivery", "list", "--state", "needs-you", "--json").json["deliveries"] == []
    assert "not in the range" in digest("delivery", "list", "--limit", "9" * 30, expect=2).err
    assert "'lost' is not one of" in digest("delivery", "list", "--state", "lost", expect=2).err


def test_a_retried_delivery_goes_out_with_the_next_run(world: World, digest: Shell) -> None:
    world.mail.script.clear()
    said = digest("delivery", "retry", "4", "13", "4")
    assert said.out == (
        "Deliveries 4, 13 will be tried by the next `digest run`, "
        "or at once if `digest serve` runs."
        " What was refused there before is tried first.\n"
    )
    before = len(world.mail.mails)
    digest("run")
    assert [mail.recipients for mail in world.mail.mails[before:]] == [("old@digest.example",)] * 2
    assert digest("delivery", "list", "--state", "failed", "--json").json["deliveries"] == []
    assert "try 2     Fri 20 Nov 09:20  sent" in digest("delivery", "show", "13").out


def test_a_canceled_delivery_is_never_sent_and_needs_nobody_any_more(
    world: World, digest: Shell
) -> None:
    for _ in range(2):
        assert digest("delivery", "cancel", "4", "13").out == "Deliveries 4, 13 will not be sent.\n"
    assert "old@digest.example failed" not in digest("status").out
    before = len(world.mail.mails)
    digest("run")
    assert len(world.mail.mails) == before
    assert "trouble   cancelled by the operator" in digest("delivery", "show", "13").out


@pytest.mark.usefixtures("world")
def test_one_that_cannot_be_moved_leaves_all_of_them_as_they_were(digest: Shell) -> None:
    for command, word in (("retry", "tried again"), ("cancel", "canceled")):
        said = digest("delivery", command, "13", "7", expect=2)
        assert f"delivery 7 (sent) can't be {word}; nothing was changed" in said.err
        assert "there is no delivery 999" in digest("delivery", command, "4", "999", expect=2).err
    assert [
        line.split()[0] for line in digest("delivery", "list", "--state", "failed").lines[1:3]
    ] == ["13", "4"]


def test_a_run_says_from_when_on_what_may_have_arrived_is_looked_into(
    world: World, digest: Shell
) -> None:
    world.mail.script.clear()
    world.mail.script.drop("END")
    digest("delivery", "retry", "13")
    since = " may have arrived. Digest checks that from Fri 20 Nov 09:"
    assert since in digest("run", expect=4).lines[-1]
    said = digest("run")
    assert "Nothing was sent." in said.lines, "which is not to say that there was nothing to send"
    assert since in said.lines[-1]
    assert digest("run", "--json").json["report"]["in_doubt"]["number"] == 1


WHEN = "the next `digest run`, or at once if `digest serve` runs"


def hold_two_by_a_typo(world: World, digest: Shell) -> None:
    """Have two mails held, as a mistake in a template does.

    The mistake is mended when this returns.
    """
    world.mail.script.clear()
    template = world.folder / "templates" / "email" / "text.txt"
    template.parent.mkdir(parents=True)
    template.write_text("{{ no_such_thing }}")
    world.edit("[arxiv]", 'templates = "templates"\n[arxiv]')
    digest("delivery", "retry", "4", "13")
    with (
        world.open_store().begin() as conn
    ):  # what was written before is sent as it is: they are written anew
        conn.exec_driver_sql("UPDATE deliveries SET body = NULL WHERE id IN (4, 13)")
    digest("run", expect=4)
    template.unlink()


def test_what_is_held_is_said_by_every_run_and_sent_all_at_once(
    world: World, digest: Shell
) -> None:
    hold_two_by_a_typo(world, digest)
    said = digest("run", expect=4)
    assert "Nothing was sent." in said.lines
    (line,) = [line for line in said.lines if "--held" in line]
    assert line.startswith("2 messages to old@digest.example need you: ")
    assert "no_such_thing" in line
    held = digest("run", "--json", expect=4).json["report"]["held"]
    assert (held["ids"], held["doubtful"]) == ([4, 13], [])
    assert digest("delivery", "retry", "--held").out == (
        f"Deliveries 4, 13 will be tried by {WHEN}. What was refused there before is tried first.\n"
    )
    before = len(world.mail.mails)
    said = digest("run")
    assert len(world.mail.mails) == before + 2
    assert "held" not in said.out
    assert digest("delivery", "retry", "--held").out == "Nothing needs you that could be sent.\n"


def test_what_waited_for_a_destination_that_was_taken_out_is_named_once_with_a_way_to_read_it(
    world: World, digest: Shell
) -> None:
    hold_two_by_a_typo(world, digest)
    world.edit('to = "mailto:old@digest.example"', 'to = "file:old/"')
    let_go = {
        "subscription": "old-mail",
        "destination": "mailto:old@digest.example",
        "messages": 2,
        "papers": 0,
    }
    assert digest("run", "--json").json["report"]["config"]["dropped"] == [let_go]
    assert digest("run", "--json").json["report"]["config"]["dropped"] == []


@pytest.mark.parametrize(("minutes", "job", "code"), [(16, "", 4), (14, "", 0), (300, "mail", 0)])
def test_a_run_beside_one_that_hangs_says_so_and_ends_badly(
    world: World, digest: Shell, minutes: int, job: str, code: int
) -> None:
    store = world.open_store()
    now = world.clock.now()
    other = Worker("other", "1", "host", 4711, now - timedelta(minutes=minutes))
    with store.begin() as conn:
        workers.save(conn, other)
        workers.save_turns(conn, "other", [JobTurn(job, owner="other")] if job else [])
    with workers.lock_worker(store):
        said = digest("run", expect=code)
    assert "Nothing was done here." in said.out
    assert ("another run has been at work for 16 min" in said.err) == (code == 4)


def test_all_that_failed_is_sent_but_to_nobody_who_unsubscribed_or_whose_mail_was_cancelled(
    world: World, digest: Shell
) -> None:
    ids = have_three_readers_written_to(world, digest)
    world.mail.script.reply("RCPT", "550 5.1.1 no such mailbox", times=3)
    digest("run", expect=4)
    listed = digest("delivery", "list", "--state", "failed", "--json").json["deliveries"]
    failed = [one["delivery"]["id"] for one in listed]
    digest("subscription", "unsubscribe", "gpu-mail", "reader@digest.example")
    digest("delivery", "cancel", str(ids[-1]))
    assert digest("delivery", "retry", "--failed").out.count(", ") == len(failed) - 2
    before = len(world.mail.mails)
    digest("run")
    sent = {mail.recipients[0] for mail in world.mail.mails[before:]}
    assert (len(world.mail.mails) - before, "reader@digest.example" in sent) == (
        len(failed) - 2,
        False,
    )
    assert digest("delivery", "retry", "--failed").out == "Nothing failed that could be sent.\n"


def have_three_readers_written_to(world: World, digest: Shell) -> list[int]:
    """Have the last mail of each of three readers go out once more with the next run."""
    with world.open_store().begin() as conn:
        places = "destination LIKE 'mailto:%' GROUP BY destination"
        ids = [
            row[0] for row in conn.exec_driver_sql(f"SELECT max(id) FROM deliveries WHERE {places}")
        ]
        conn.exec_driver_sql(
            f"UPDATE deliveries SET state = 'dead' WHERE id IN ({', '.join(map(str, ids))})"
        )
    world.mail.script.clear()
    digest("delivery", "retry", *map(str, ids))
    return sorted(ids)


@pytest.mark.parametrize(
    ("replies", "held"),
    [
        (["554 5.7.1 <unknown[172.17.0.2]>: Client host rejected: Access denied"] * 3, 3),
        (["450 4.7.1 <demo>: Helo command rejected: Host not found"] * 3, 3),
        (["550 5.1.8 <d@digest.example>: Sender address rejected: Domain not found"], 1),
        ([f"550 no, session {number}x" for number in (1, 2, 3)], 3),
        (["550 no"] * 2, 0),
        (["550 5.1.1 no such mailbox"] * 3, 0),
    ],
)
def test_a_refusal_of_us_waits_for_the_operator_and_costs_no_reader_a_message(
    world: World, digest: Shell, replies: list[str], held: int
) -> None:
    ids = have_three_readers_written_to(world, digest)
    for reply in replies:
        world.mail.script.reply("RCPT", reply)
    said = digest("run", "--json", expect=4).json["report"]
    steps = Counter(one["step"] for one in said["deliver"]["failures"])
    assert (steps["hold"], steps["give up"]) == (held, len(replies) - held)
    shown = digest("status").out
    causes = shown.count("needs you:") + shown.count("need you:")
    assert (len(said["held"]["ids"]), causes) == (held, held > 0)
    before = len(world.mail.mails)
    digest("delivery", "retry", "--held")
    digest("run")
    assert len(world.mail.mails) == before + held
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("state", "refusal", "is_paused"),
    [
        ("dead", "reader", True),
        ("dead", "content", False),
        ("dead", None, False),
        ("sent", None, False),
    ],
)
def test_an_address_refused_in_three_digests_in_a_row_is_paused_until_it_is_resubscribed(
    world: World, digest: Shell, state: str, refusal: str | None, *, is_paused: bool
) -> None:
    resume = "`digest subscription resubscribe gpu-mail reader@digest.example`"
    said = (
        "reader@digest.example was refused in three digests in a row, so gpu-mail is paused for it"
    )
    world.mail.script.clear()
    world.mail.script.reply("RCPT", "550 5.1.1 no such mailbox", times=2)
    with (
        world.open_store().begin() as conn
    ):  # the second of three, of which the first and the last go out anew
        theirs = "destination = 'mailto:reader@digest.example'"
        second = (state, refusal)
        conn.exec_driver_sql(f"UPDATE deliveries SET state = 'ready' WHERE {theirs}")
        conn.exec_driver_sql(
            f"UPDATE deliveries SET {theirs}, state = ?, refusal = ? WHERE id = 4", second
        )
    digest("run", expect=4)
    assert (said in digest("status").out, resume in digest("status").out) == (is_paused, is_paused)
    assert ("paused since" in digest("subscription", "show", "gpu-mail").out) == is_paused
    if is_paused:
        digest(*resume.strip("`").split()[1:])
        assert resume not in digest("status").out
