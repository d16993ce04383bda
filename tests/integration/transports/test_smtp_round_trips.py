"""What is not asked of a mail server twice, or one by one, and that no failure is misjudged for it."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from digest.errors import DeliveryError
from digest.subscriptions import Destination, DestinationKind
from digest.transports import smtp_connection
from tests.conftest import IS_NIGHTLY
from tests.integration.transports.conftest import SENDER, make_mail
from tests.integration.transports.wire import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.transports.smtp import SmtpTransport

    OpenMail = Callable[..., SmtpTransport]

READER = Destination(DestinationKind.MAIL, "reader@example.org")
GONE = Destination(DestinationKind.MAIL, "gone@example.org")
PIPELINING = ("8BITMIME", "PIPELINING")

either_way = pytest.mark.parametrize("offers", [("8BITMIME",), PIPELINING], ids=["one by one", "together"])


def refuse(transport: SmtpTransport, destination: Destination = READER) -> DeliveryError:
    """Send a mail that is not taken; return why."""
    with pytest.raises(DeliveryError) as caught:
        transport.send(make_mail(), destination)
    return caught.value


def verbs(server: WireServer) -> list[str]:
    return [command.split(" ")[0].upper() for command in server.commands]


def test_sender_recipient_and_data_go_out_together_where_the_server_takes_that(open_mail: OpenMail) -> None:
    with WireServer(offers=PIPELINING, is_slow=True) as server:
        transport = open_mail(f"smtp://{server.address}", patience=smtp_connection.Patience(command=5))
        for _ in range(2):
            assert transport.send(make_mail(), READER).remote_id == "WIRE1"
    assert server.bodies == [make_mail().body] * 2
    assert server.connections == 1
    assert [one for one in server.commands if "<" in one] == [
        f"MAIL FROM:<{SENDER}>",
        f"RCPT TO:<{READER.address}>",
    ] * 2


def test_a_server_that_does_not_offer_it_is_told_one_by_one(open_mail: OpenMail) -> None:
    with WireServer(replies={"RCPT": "550 5.1.1 no such mailbox"}) as server:
        refuse(open_mail(f"smtp://{server.address}"))
    assert verbs(server) == ["EHLO", "MAIL", "RCPT", "RSET"]


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize(
    ("replies", "stage", "is_permanent", "is_general"),
    [
        ({"MAIL": "550 5.7.1 not from there"}, "MAIL FROM", True, True),
        ({"MAIL": "451 4.3.0 later", "RCPT": "503 5.5.1 who from?"}, "MAIL FROM", False, True),
        ({"RCPT TO:<gone": "550 5.1.1 no such mailbox"}, "RCPT TO", True, False),
        ({"RCPT TO:<gone": "451 4.2.1 greylisted"}, "RCPT TO", False, False),
    ],
)
def test_whoever_refuses_among_commands_that_went_out_together_is_told_apart(
    replies: dict[str, str],
    stage: str,
    open_mail: OpenMail,
    *,
    is_permanent: bool,
    is_general: bool,
    is_slow: bool,
) -> None:
    with WireServer(offers=PIPELINING, replies=replies, is_slow=is_slow) as server:
        transport = open_mail(f"smtp://{server.address}")
        failure = refuse(transport, GONE)
        refuse(transport, GONE)
    assert f" at {stage}: " in failure.message
    assert (failure.permanent, failure.whole_transport, failure.ambiguous) == (is_permanent, is_general, False)
    assert server.bodies == []
    assert server.connections == 1, "every reply was read, so the next mail went over the same connection"


def test_a_server_that_awaits_the_text_of_a_mail_it_takes_for_nobody_gets_none(open_mail: OpenMail) -> None:
    with WireServer(offers=PIPELINING, replies={"RCPT TO:<gone": "550 5.1.1 no"}, is_eager=True) as server:
        transport = open_mail(f"smtp://{server.address}", patience=smtp_connection.Patience(command=2))
        failure = refuse(transport, GONE)
        assert failure.permanent
        assert " 550 at RCPT TO: " in failure.message
        transport.send(make_mail(), READER)
    assert server.bodies == [make_mail().body]
    assert server.unfinished == [b""]
    assert server.connections == 2


@pytest.mark.parametrize(
    ("replies", "word"), [({"RCPT": ""}, "broke at RCPT TO"), ({"MAIL": ""}, "broke at MAIL FROM")]
)
def test_a_connection_lost_among_commands_that_went_out_together_delivered_nothing(
    replies: dict[str, str], word: str, open_mail: OpenMail
) -> None:
    with WireServer(offers=PIPELINING, replies=replies) as server:
        failure = refuse(open_mail(f"smtp://{server.address}"))
    assert word in failure.message
    assert not failure.ambiguous
    assert server.bodies == []


def test_a_refusal_counts_although_the_connection_is_lost_right_behind_it(open_mail: OpenMail) -> None:
    with WireServer(offers=PIPELINING, replies={"MAIL": "550 5.7.1 not from there", "RCPT": ""}) as server:
        failure = refuse(open_mail(f"smtp://{server.address}"))
    assert failure.permanent
    assert "not from there" in failure.message


def test_a_421_among_commands_that_went_out_together_ends_the_connection(open_mail: OpenMail) -> None:
    with WireServer(offers=PIPELINING, replies={"RCPT TO:<gone": "421 4.3.2 going down"}) as server:
        transport = open_mail(f"smtp://{server.address}")
        assert not refuse(transport, GONE).permanent
        transport.send(make_mail(), READER)
    assert server.connections == 2
    assert len(server.bodies) == 1


def test_a_connection_used_a_moment_ago_is_not_asked_whether_it_is_there(
    open_mail: OpenMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireServer() as server:
        transport = open_mail(f"smtp://{server.address}")
        transport.send(make_mail(), READER)
        transport.send(make_mail(), READER)
        assert "NOOP" not in verbs(server)
        monkeypatch.setattr(smtp_connection, "_REST", 0.0)
        transport.send(make_mail(), READER)
        assert "NOOP" in verbs(server)
    assert server.connections == 1


@either_way
@pytest.mark.parametrize("weary", ["", "421 4.4.2 you were silent for too long"])
def test_a_connection_that_turns_out_to_be_gone_is_replaced_and_the_mail_sent_once(
    offers: tuple[str, ...], weary: str, open_mail: OpenMail
) -> None:
    with WireServer(offers=offers, weary=weary) as server:
        transport = open_mail(f"smtp://{server.address}")
        for _ in range(3):
            transport.send(make_mail(), READER)
    assert len(server.bodies) == 3
    assert server.connections == 3


@either_way
def test_a_server_that_was_left_for_gone_and_does_not_come_back_is_reported(
    offers: tuple[str, ...], open_mail: OpenMail
) -> None:
    with WireServer(offers=offers) as server:
        transport = open_mail(f"smtp://{server.address}")
        transport.send(make_mail(), READER)
    failure = refuse(transport)
    assert failure.whole_transport
    assert not failure.ambiguous
    assert "can't be reached" in failure.message


@pytest.mark.skipif(not IS_NIGHTLY, reason="starts a whole mail server: .ci/nightly sets DIGEST_NIGHTLY")
@pytest.mark.skipif(shutil.which("postfix") is None or os.geteuid() != 0, reason="needs Postfix, and root")
def test_a_real_server_takes_commands_together_and_its_refusals_are_told_apart(open_mail: OpenMail) -> None:
    from tests.bench.sending import postfix  # noqa: PLC0415 - it needs what benchmarks need

    with postfix() as port:
        transport = open_mail(f"smtp://127.0.0.1:{port}")
        for _ in range(3):
            assert transport.send(make_mail(), READER).remote_id
        with pytest.raises(DeliveryError) as caught:
            transport.send(make_mail("too much of it\r\n" * 700_000), READER)
        assert " 552 at MAIL FROM: " in caught.value.message
        assert transport.send(make_mail("..\r\n.\r\n"), READER).remote_id
