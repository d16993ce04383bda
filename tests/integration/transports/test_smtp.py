"""Mail over real connections: who takes it, and on which side of the final dot a failure lies."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digest.deliver.transports.smtp_connection import Timeouts
from digest.model.clock import ManualClock, monotonic
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import DeliveryError
from digest.model.messages import Message
from tests.fakes.mailscript import Step
from tests.integration.transports.conftest import SENDER, make_mail
from tests.integration.transports.slack_posts import NOW
from tests.integration.transports.wire import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.deliver.transports.smtp import SmtpTransport
    from tests.fakes.mail import MailSink
    from tests.integration.transports.conftest import WatchedScript

    OpenMail = Callable[..., SmtpTransport]

READER = Destination(DestinationKind.MAIL, "reader@example.org")
PLAIN = "plain\r\n"


def _fail(transport: SmtpTransport, destination: Destination = READER) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        transport.send(make_mail(), destination)
    return caught.value


def make_reader(number: int) -> Destination:
    return Destination(DestinationKind.MAIL, f"reader{number}@example.org")


def test_a_mail_arrives_byte_for_byte_with_its_envelope(
    sink: MailSink, open_mail: OpenMail
) -> None:
    mail = make_mail("Ten percent of 100% is 10.\r\n\r\n.\r\n..two\r\n")
    receipt = open_mail(sink.url).send(mail, READER)
    (taken,) = sink.mails
    assert taken.raw == mail.body
    assert (taken.sender, taken.recipients) == (SENDER, ("reader@example.org",))
    assert receipt.detail.startswith("250 ")


@pytest.mark.parametrize(
    ("step", "reply", "verdict", "connections"),
    [
        ("RCPT", "451 4.2.1 try later", (False, False), 1),
        ("RCPT", "550 5.1.1 no such mailbox", (True, False), 1),
        ("MAIL", "421 4.3.2 going down", (False, True), 2),
        ("CONNECT", "554 5.7.1 no mail service for you", (True, True), 2),
    ],
)
def test_a_refusal_is_certain_concerns_one_reader_or_all_and_leaves_the_way_open_for_the_next_mail(
    step: str, reply: str, sink: MailSink, script: WatchedScript, open_mail: OpenMail, *,
    verdict: tuple[bool, bool], connections: int,
) -> None:  # fmt: skip
    script.reply(step, reply)
    transport = open_mail(sink.url)
    failure = _fail(transport)
    assert not failure.ambiguous
    assert (failure.permanent, failure.whole_transport) == verdict
    assert reply[4:] in failure.message
    assert transport.send(make_mail(), READER).detail.endswith("queued as 1")
    assert script.count(Step.CONNECT) == connections


def test_a_server_that_is_not_there_concerns_every_mail(open_mail: OpenMail) -> None:
    with WireServer() as server:
        absent = f"smtp://{server.address}"
    failure = _fail(open_mail(absent))
    assert (failure.permanent, failure.ambiguous, failure.whole_transport) == (False, False, True)


@pytest.mark.parametrize("reply", ["250", "252 2.5.0 taken", "200 OK", "299 queued as 4711"])
def test_behind_the_final_dot_the_first_digit_says_that_it_was_taken(
    script: WatchedScript, sink: MailSink, open_mail: OpenMail, reply: str
) -> None:
    script.reply("END", reply)
    assert open_mail(sink.url).send(make_mail(), READER).detail.startswith(reply[:3])


@pytest.mark.parametrize("step", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_connection_lost_before_the_final_dot_delivered_nothing_and_the_next_mail_reconnects(
    step: str, sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    script.drop(step)
    transport = open_mail(sink.url)
    failure = _fail(transport)
    assert not failure.ambiguous
    assert not failure.permanent
    assert sink.mails == ()
    transport.send(make_mail(), READER)
    assert len(sink.mails) == 1
    assert script.count(Step.CONNECT) == 2


def test_a_connection_lost_within_the_mails_body_delivered_nothing(open_mail: OpenMail) -> None:
    with WireServer(reads=200) as server:
        transport = open_mail(f"smtp://{server.address}")
        with pytest.raises(DeliveryError) as caught:
            # More than the sockets' buffers hold, so that the cut is felt while the body is on its
            # way.
            transport.send(make_mail("x" * 70 + "\r\n" + ("y" * 70 + "\r\n") * 200_000), READER)
    assert not caught.value.ambiguous
    assert server.bodies == []


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_connection_lost_after_the_final_dot_is_ambiguous_whether_the_mail_was_kept_or_not(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail, *, is_stored: bool
) -> None:
    script.drop("END", is_stored=is_stored)
    failure = _fail(open_mail(sink.url))
    assert failure.ambiguous
    assert not failure.permanent
    assert "Message-ID" in failure.hint
    assert len(sink.mails) == int(is_stored)


def test_silence_after_the_final_dot_is_ambiguous_and_waited_for_longer_than_any_other_answer(
    open_mail: OpenMail,
) -> None:
    assert Timeouts().final == 600
    assert Timeouts().command == 60
    with WireServer(verdict=None) as server:
        transport = open_mail(f"smtp://{server.address}", timeouts=Timeouts(command=0.5, final=0.8))
        started = monotonic()
        failure = _fail(transport)
        waited = monotonic() - started
    assert failure.ambiguous
    assert waited >= 0.8


@pytest.mark.parametrize("piece", [b"220-wait\r\n", b"2", b"220-" + b"x" * 1000 + b"\r\n"])
@pytest.mark.parametrize(
    "place", ["GREETING", "EHLO", "TLS", "AUTH", "MAIL", "RCPT", "DATA", "END", "RSET", "QUIT"]
)
def test_a_server_that_dribbles_has_one_deadline_for_each_answer(
    open_mail: OpenMail, place: str, piece: bytes
) -> None:
    scheme = {"TLS": "smtp+starttls://", "AUTH": "smtp://me@"}.get(place, "smtp://")
    replies = {"STARTTLS": "220 go on", "RCPT": "550 no" if place == "RSET" else "250 ok"}
    offers = ("STARTTLS", "AUTH PLAIN")
    with WireServer(dribbles=(place, piece), replies=replies, offers=offers) as server:
        timeouts = Timeouts(command=0.4, final=0.6)
        transport = open_mail(f"{scheme}{server.address}", timeouts=timeouts, password="secret")
        started = monotonic()
        if place == "QUIT":
            transport.send(make_mail(), READER)
        else:
            assert _fail(transport).ambiguous == (place == "END")
        transport.close()
        assert monotonic() - started < 2


def test_a_server_that_let_one_mail_wait_in_vain_is_not_asked_for_the_others(
    open_mail: OpenMail,
) -> None:
    with WireServer(dribbles=("GREETING", b"220-")) as server:
        transport = open_mail(f"smtp://{server.address}", timeouts=Timeouts(command=0.4))
        told = str(_fail(transport))
        started = monotonic()
        again = _fail(transport)
        assert monotonic() - started < 0.3
    assert str(again) == told
    assert again.whole_transport


def test_a_slow_refusal_of_one_reader_keeps_no_other_mail_back(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.deliver.transports.smtp._LONG", 0.2)
    script.reply("RCPT", "550 5.1.1 no such user", delay=0.4)
    transport = open_mail(sink.url)
    assert _fail(transport).permanent
    transport.send(make_mail(), READER)


def test_the_name_of_this_machine_is_said_as_configured(open_mail: OpenMail) -> None:
    with WireServer() as server:
        open_mail(f"smtp://{server.address}", helo="mail.example.org").send(make_mail(), READER)
    assert server.commands[0].lower() == "ehlo mail.example.org"


def test_a_verdict_that_comes_too_late_is_not_taken_for_the_next_mails(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    script.delay("END", 0.8)
    transport = open_mail(sink.url, timeouts=Timeouts(command=5, final=0.4))
    assert _fail(transport).ambiguous
    sink.wait_for(1)
    threading.Event().wait(0.5)
    transport.send(make_mail(), READER)
    assert script.count(Step.CONNECT) == 2
    assert len(sink.mails) == 2


def test_many_mails_share_one_connection_until_its_hundred_is_full(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    assert Timeouts().mails == 100
    transport = open_mail(sink.url)
    for _ in range(5):
        transport.send(make_mail(), READER)
    assert script.count(Step.CONNECT) == 1
    frugal = open_mail(sink.url, timeouts=Timeouts(mails=2))
    for _ in range(5):
        frugal.send(make_mail(), READER)
    assert script.count(Step.CONNECT) == 1 + 3
    assert len(sink.mails) == 10


def test_a_connection_idle_for_too_long_is_replaced(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    assert Timeouts().idle == 60
    transport = open_mail(sink.url, timeouts=Timeouts(idle=0.05))
    transport.send(make_mail(), READER)
    threading.Event().wait(0.1)
    transport.send(make_mail(), READER)
    assert script.count(Step.CONNECT) == 2


def test_a_connection_that_does_not_survive_a_refusal_is_replaced_and_the_refusal_reported(
    open_mail: OpenMail,
) -> None:
    with WireServer(replies={"RCPT": "550 5.1.1 no such mailbox", "RSET": ""}) as server:
        transport = open_mail(f"smtp://{server.address}")
        for _ in range(2):
            assert "no such mailbox" in _fail(transport).message
    assert server.connections == 2


def test_bare_line_ends_cannot_smuggle_in_a_second_mail(open_mail: OpenMail) -> None:
    smuggled = "one\n.\nMAIL FROM:<evil@example.org>\r.\rtwo\r\n.\rthree\n.\r\nfour"
    with WireServer() as server:
        open_mail(f"smtp://{server.address}").send(make_mail(smuggled), READER)
    assert len(server.bodies) == 1
    body = server.bodies[0].partition(b"\r\n\r\n")[2]
    assert body == (
        b"one\r\n..\r\nMAIL FROM:<evil@example.org>\r\n..\r\ntwo\r\n..\r\nthree\r\n..\r\nfour\r\n"
    )
    assert not any("evil" in command for command in server.commands)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(
        st.sampled_from([b".", b"..", b"", b".x", b"text", "é".encode(), b"\x00\x0b", b"From x"]),
        max_size=8,
    )
)
def test_every_mail_with_crlf_line_ends_arrives_byte_for_byte(
    lines: list[bytes], sink: MailSink, open_mail: OpenMail
) -> None:
    body = b"Subject: x\r\n\r\n" + b"".join(line + b"\r\n" for line in lines)
    open_mail(sink.url).send(Message("message/rfc822", body, "key"), READER)
    assert sink.mails[-1].raw == body


@pytest.mark.parametrize(
    "address",
    [
        "x@example.org>\r\nRCPT TO:<other@example.org",
        "jürgen@example.org",
        "two words@example.org",
        "<x@y.org>",
        "",
    ],
)
def test_an_address_that_could_end_a_command_never_reaches_the_server(
    address: str, sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    destination = Destination(DestinationKind.MAIL, address)
    transport = open_mail(sink.url)
    failure = _fail(transport, destination)
    assert failure.permanent
    assert not failure.whole_transport
    with pytest.raises(DeliveryError, match="not a mail address"):
        transport.resolve(destination)
    assert script.steps == []


def test_closing_breaks_off_a_mail_that_waits_for_its_verdict_and_leaves_it_ambiguous(
    open_mail: OpenMail,
) -> None:
    with WireServer(verdict=None) as server:
        transport = open_mail(f"smtp://{server.address}")
        failures: list[DeliveryError] = []
        sending = threading.Thread(target=lambda: failures.append(_fail(transport)))
        sending.start()
        _wait_until(lambda: len(server.bodies) == 1)
        transport.close()
        sending.join(timeout=5)
        assert not sending.is_alive()
    assert failures[0].ambiguous


@pytest.mark.parametrize("weary", ["", "421 4.4.2 you were silent for too long"])
def test_a_connection_that_turns_out_to_be_gone_is_replaced_and_the_mail_sent_once(
    weary: str, open_mail: OpenMail
) -> None:
    with WireServer(weary=weary) as server:
        transport = open_mail(f"smtp://{server.address}")
        for _ in range(3):
            transport.send(make_mail(), READER)
    assert len(server.bodies) == 3
    assert server.connections == 3


def _wait_until(is_true: Callable[[], bool]) -> None:
    until = monotonic() + 5
    while not is_true():
        assert monotonic() < until, "it did not happen within 5 seconds"
        threading.Event().wait(0.01)


def test_a_limit_of_one_connection_is_met_by_another(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    script.reply("RCPT", "452 4.5.3 Too many messages in this connection", skip=1)
    transport = open_mail(sink.url)
    for _ in range(3):
        transport.send(make_mail(), READER)
    assert (len(sink.mails), script.count(Step.CONNECT)) == (3, 2)


def test_one_connection_too_many_keeps_no_mail_from_the_others(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    script.reply("CONNECT", "421 4.7.0 Error: too many connections from 127.0.0.1", skip=1)
    script.delay("END", 0.4)
    transport = open_mail(sink.url)
    other = threading.Thread(target=lambda: transport.send(make_mail(), READER))
    other.start()
    while not script.count(Step.DATA):
        threading.Event().wait(0.01)
    assert "your mail server's limit" in str(_fail(transport))
    other.join()
    transport.send(make_mail(), READER)
    assert len(sink.mails) == 2


@pytest.mark.parametrize(
    ("refusal", "asked"),
    [
        ("RCPT 550 5.4.5 Daily user sending limit exceeded", 3),
        ("RCPT 452 4.5.3 Too many recipients", 3),
        ("MAIL 550 5.4.5 Daily user sending limit exceeded", 1),
        ("CONNECT 421 too many connections", 1),
        ("END 451 4.7.1 slow down", 3),
    ],
)
def test_after_a_limit_of_two_readers_or_of_none_the_server_rests_for_a_minute(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail, refusal: str, asked: int
) -> None:
    step, _, reply = refusal.partition(" ")
    clock = ManualClock(NOW)
    script.reply(step, reply, times=100)
    transport = open_mail(sink.url, now=clock.now)
    for number in range(5):
        assert "your mail server's limit" in str(_fail(transport, make_reader(number)))
    assert script.count(Step(step)) == asked  # the second mail over a fresh connection, too
    script.clear()
    clock.sleep(61)
    transport.send(make_mail(), READER)
    assert len(sink.mails) == 1


@pytest.mark.parametrize(
    "reply",
    ["550 5.4.5 Daily limit exceeded", "452 4.5.3 Too many messages", "550 Quota exceeded"],
)
def test_a_limit_that_is_said_to_one_reader_alone_keeps_no_mail_from_the_others(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail, reply: str
) -> None:
    script.reply("RCPT", reply, match="reader0@", times=100)
    transport = open_mail(sink.url)
    for number in (0, 0, 1, 0, 2, 0, 3):
        if number:
            transport.send(make_mail(), make_reader(number))
        else:
            assert "your mail server's limit" in str(_fail(transport, make_reader(0)))
    assert len(sink.mails) == 3


def test_mailboxes_that_are_full_in_words_of_a_limit_keep_no_mail_from_the_others(
    sink: MailSink, script: WatchedScript, open_mail: OpenMail
) -> None:
    script.reply("RCPT", "550 Quota exceeded", times=3)
    transport = open_mail(sink.url)
    for number in range(3):
        _fail(transport, make_reader(number))
    transport.send(make_mail(), make_reader(3))
    assert len(sink.mails) == 1
