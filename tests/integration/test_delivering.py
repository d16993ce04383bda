"""What becomes of messages when the other side fails for long (real servers, a clock we set)."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest

from digest.deliver import dispatch
from digest.deliver.rules import Step as NextStep
from digest.model.clock import ManualClock
from digest.model.messages import DeliveryState
from digest.serve.steps import PassReport, run_pass
from digest.store import attempts
from digest.store.attempts import Attempt, StoredDelivery
from tests.command_line import run_process
from tests.fakes.mailscript import Step
from tests.integration.transports.conftest import WatchedScript
from tests.integration.web.world import World

FOR_EVER = 1_000
READER = ("mailto:reader@example.org",)
CHANNEL = ("slack:#papers",)


def pass_by(world: World, times: int, pause: timedelta = timedelta(minutes=20)) -> list[PassReport]:
    """Make so many passes, with a pause after each; return what each did."""
    assert isinstance(world.clock, ManualClock)
    reports = []
    for _ in range(times):
        with closing(world.open()) as site:
            reports.append(run_pass(site))
        world.clock.set(world.clock.now() + pause)
    return reports


def look(world: World) -> tuple[StoredDelivery, list[Attempt]]:
    with closing(world.open()) as site, site.store.read() as conn:
        (first,) = (
            one.delivery.id
            for one in attempts.load_stored_deliveries(conn)
            if not one.delivery.part
        )
        return attempts.load_delivery(conn, first)


def test_a_mail_of_unknown_fate_is_sent_again_once_as_it_was_and_then_held(world: World) -> None:
    world.write_config(to=READER)
    world.mail.script.drop("END", times=FOR_EVER)
    (said,) = (one.reason for one in pass_by(world, 6)[0].deliver.failures)
    assert str(said).endswith("; is sent again after 15 min, once")
    assert len(world.mail.mails) == 2
    assert len({mail.raw for mail in world.mail.mails}) == 1
    stored, tries = look(world)
    assert stored.delivery.state is DeliveryState.HELD
    assert [one.outcome for one in tries] == ["repeated", "in doubt"]
    assert str(tries[0].detail) == (
        "it is not known whether it arrived: "
        "a mail server can't be asked which mails it took; sent again"
    )


def test_a_refusal_in_between_does_not_use_up_the_one_repetition(world: World) -> None:
    world.write_config(to=READER)
    world.mail.script.reply("RCPT", "451 4.7.1 greylisted")
    world.mail.script.drop("END")
    pass_by(world, 4)
    stored, tries = look(world)
    assert stored.delivery.state is DeliveryState.SENT
    assert [one.outcome for one in tries] == ["ready", "repeated", "sent"]
    assert len(world.mail.mails) == 2


def test_what_is_configured_wrongly_is_held_until_the_operator_mends_it(world: World) -> None:
    world.write_config(to=CHANNEL)
    token = world.environ.pop("DIGEST_SLACK_TOKEN")
    pass_by(world, 1)
    stored, _ = look(world)
    assert stored.delivery.state is DeliveryState.HELD
    assert "DIGEST_SLACK_TOKEN" in str(stored.delivery.last_error)
    world.environ["DIGEST_SLACK_TOKEN"] = token
    assert world.call("delivery", "retry", str(stored.delivery.id)).returncode == 0
    pass_by(world, 1)
    assert look(world)[0].delivery.state is DeliveryState.SENT
    assert len(world.slack.messages) == 2


def test_how_long_a_mail_of_unknown_fate_is_left_alone_can_be_chosen(world: World) -> None:
    world.write_config(to=READER)
    world.environ["DIGEST_MAIL_AMBIGUOUS_WAIT"] = "7200"
    world.mail.script.drop("END")
    pass_by(world, 6)  # five times twenty minutes later
    assert len(world.mail.mails) == 1
    pass_by(world, 2)
    assert len(world.mail.mails) == 2


def test_a_post_to_an_incoming_webhook_whose_answer_was_lost_is_held(world: World) -> None:
    world.write_config(to=("slack-webhook:team",))
    world.environ["DIGEST_SLACK_WEBHOOKS_TEAM"] = world.slack.webhook_url
    world.slack.faults.add("drop_after")
    pass_by(world, 3)
    assert (len(world.slack.messages), look(world)[0].delivery.state) == (1, "held")


@pytest.mark.parametrize("to", [READER, CHANNEL])
def test_what_was_lost_while_on_its_way_is_not_handed_over(
    world: World, to: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write_config(to=to)
    with monkeypatch.context() as patch:
        patch.setattr(dispatch.Leases, "is_ours", lambda *_: False)
        pass_by(world, 1)
    assert (world.mail.mails, world.slack.messages) == ((), ())
    pass_by(world, 1)
    assert look(world)[0].delivery.state is DeliveryState.SENT
    is_mail = to == READER
    assert len(world.mail.mails) == (1 if is_mail else 0)
    assert len(world.slack.messages) == (0 if is_mail else 2)


def test_a_run_that_finds_nothing_to_do_loads_nothing_to_ask_render_or_send_with(
    world: World,
) -> None:
    world.write_config(to=READER)
    pass_by(world, 2, timedelta(seconds=5))
    done = run_process(world.folder, {**world.environment(), "PYTHONPROFILEIMPORTTIME": "1"}, "run")
    assert "Nothing new to send" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "sqlalchemy" in loaded
    assert loaded & {"httpx", "jinja2", "numpy", "rich.console", "slack_sdk", "smtplib"} == set()


READERS = ("mailto:ada@example.org", "mailto:ben@example.org", "mailto:cam@example.org")


@pytest.mark.parametrize(
    ("step", "reply"),
    [
        ("CONNECT", "421 4.7.0 Your daily limit of mails is reached"),
        ("MAIL", "452 4.5.3 Too many messages from this sender today"),
        ("RCPT", "550 5.4.5 Daily user sending limit exceeded"),
        ("RCPT", "452 4.5.3 Too many messages"),
        ("END", "554 5.7.1 You have exceeded your hourly quota"),
    ],
)
def test_the_mail_servers_own_limit_holds_for_days_and_loses_no_readers_mail(
    world: World, step: str, reply: str
) -> None:
    world.write_config(to=READERS, when="daily at 02:00 UTC")
    world.mail.script.reply(step, reply, skip=step != "CONNECT", times=FOR_EVER)
    reports = pass_by(world, 9, timedelta(hours=24))
    came = len(world.mail.mails)
    first = reports[0].deliver
    assert came == (0 if step == "CONNECT" else 1)
    assert len(first.failures) == len(READERS) - came
    assert all(
        "your mail server's limit of mails is reached" in str(one.reason) for one in first.failures
    )
    steps = set()
    for report in reports:
        steps |= {one.step for one in report.deliver.failures}
    assert steps == {NextStep.RETRY}
    said = world.call("status").stdout
    assert "Check the address" not in said
    assert "your mail server's limit of mails" in " ".join(said.split())
    world.mail.script.clear()
    pass_by(world, 1)
    got = {mail.recipients for mail in world.mail.mails}
    assert got == {(reader.removeprefix("mailto:"),) for reader in READERS}
    assert world.call("delivery", "list", "--state", "waiting").stdout.count("@") == 0


@pytest.mark.parametrize(
    "reply",
    [
        "550 5.4.5 Daily user sending limit exceeded",
        "452 4.5.3 Too many messages",
        "554 5.7.0 Daily email cap reached",
    ],
)
def test_once_a_limit_was_named_to_two_readers_the_other_mails_of_the_pass_ask_no_more(
    world: World, reply: str
) -> None:
    many = tuple(f"mailto:reader{number}@example.org" for number in range(20))
    world.environ["DIGEST_MAIL_CONNECTIONS"] = "1"
    world.write_config(to=many)
    script = WatchedScript()
    world.mail.script = script
    script.reply("RCPT", reply, skip=1, times=FOR_EVER)
    (report,) = pass_by(world, 1)
    assert [one.step for one in report.deliver.failures] == [NextStep.RETRY] * (len(many) - 1)
    assert (
        script.count(Step.RCPT) == 5
    )  # one mail went; two were refused, on a fresh connection, too


def test_a_full_mailbox_is_the_readers_and_keeps_nobody_else_waiting(world: World) -> None:
    world.write_config(to=READERS)
    world.mail.script.reply("RCPT", "552 5.2.2 Mailbox over quota", match="ben@")
    (report,) = pass_by(world, 1)
    (refused,) = report.deliver.failures
    assert (str(refused.destination), refused.step) == ("mailto:ben@example.org", NextStep.GIVE_UP)
    assert len(world.mail.mails) == 2
